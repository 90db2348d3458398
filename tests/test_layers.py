"""Imports between packages, sizes of files and functions, and names of types keep their limits."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest
from folders import ROOT
from source_files import source_files

LINT = [
    *(sys.executable, "-c", "from importlinter.cli import lint_imports_command as lint; lint()"),
    "--no-cache",
]
MOST_LINES, MOST_FUNCTION_LINES = 700, 60

CONTRACTS = [
    contract["name"]
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"][
        "importlinter"
    ]["contracts"]
]
FUNCTION = "\n\ndef planted() -> None:\n    import {}\n"
FOR_TYPES = "\n\nif TYPE_CHECKING:\n    import {}\n"
PLANTED = {
    "storeys": ("experiment/cells.py", FOR_TYPES, "netlab.config.document"),
    "knots": ("lab/programs.py", FUNCTION, "netlab.lab.life"),
    "records": ("store/journal.py", FUNCTION, "netlab.remote.agent"),
    "lab": ("lab/network.py", FUNCTION, "netlab.ethernet"),
    "pure": ("experiment/cells.py", FUNCTION, "socket"),
    "statements": ("findings/buffers.py", FUNCTION, "tempfile"),
    "paramiko": ("runner/session.py", FOR_TYPES, "paramiko"),
    "dask": ("runner/places.py", FUNCTION, "distributed"),
    "matplotlib": ("report/page/first.py", FUNCTION, "matplotlib"),
    "pandas": ("compare/align.py", FOR_TYPES, "pandas"),
    "duckdb": ("results/export.py", FUNCTION, "duckdb"),
    "pyarrow": ("store/reader.py", FUNCTION, "pyarrow"),
    "pydantic": ("experiment/hosts.py", FUNCTION, "pydantic"),
    "click": ("runner/planning.py", FOR_TYPES, "click"),
    "babel": ("results/labels.py", FUNCTION, "babel"),
    "jinja2": ("report/write/text.py", FUNCTION, "jinja2"),
    "ruptures": ("compare/align.py", FUNCTION, "ruptures"),
    "scipy": ("compare/history.py", FUNCTION, "scipy"),
    "yaml": ("store/run_folder.py", FOR_TYPES, "yaml"),
}
"""Contract → a file that is to break it, how it imports for that, and what."""
NEIGHBOURS = {
    "findings/finding.py": "netlab.compare.align",
    "compare/align.py": "netlab.findings.finding",
    "report/live.py": "netlab.runner.progress",
    "remote/agent.py": "netlab.imports.table",
    "imports/table.py": "netlab.remote.agent",
    "store/journal.py": "netlab.config.document",
    "config/document.py": "netlab.store.journal",
    "units.py": "netlab.errors",
}
"""Files and imports of a neighbour in the same storey, or of the storey above."""


def lint(folder: Path) -> str:
    """What the checker of imports prints about a copy of the package."""
    process = subprocess.run(
        LINT, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    lines = [line for line in process.stdout.splitlines() if line.endswith((" KEPT", " BROKEN"))]
    assert len(lines) == len(CONTRACTS), process.stdout + process.stderr
    return process.stdout


def broken_contracts(output: str) -> dict[str, str]:
    """The first word of each contract that is broken, and what is printed about it."""
    _, _, listing = output.partition("\nBroken contracts\n")
    names = [name for name in CONTRACTS if f"{name} BROKEN\n" in output]
    starts = sorted((listing.index(f"{name}\n"), name.partition(":")[0]) for name in names)
    ends = [*(start for start, _ in starts), len(listing)][1:]
    return {name: listing[start:end] for (start, name), end in zip(starts, ends, strict=True)}


def module_of(name: str) -> str:
    return "netlab." + name.removesuffix(".py").replace("/", ".")


@pytest.mark.lab
def test_each_import_that_a_contract_forbids_breaks_this_contract(tmp_path: Path) -> None:
    shutil.copytree(
        ROOT / "netlab", tmp_path / "netlab", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    assert broken_contracts(lint(tmp_path)) == {}
    plants = [*PLANTED.values(), *((name, FUNCTION, of) for name, of in NEIGHBOURS.items())]
    for name, template, imported in plants:
        file = tmp_path / "netlab" / name
        file.write_text(file.read_text("utf-8") + template.format(imported), encoding="utf-8")
    output = lint(tmp_path)
    broken = broken_contracts(output)
    assert broken.keys() == PLANTED.keys()
    for contract, (name, _, imported) in PLANTED.items():
        arrow = rf"\b{Path(name).stem} -> \S*\b{imported.rpartition('.')[2]} "
        assert re.search(arrow, broken[contract]), broken[contract]
    for name, imported in NEIGHBOURS.items():
        assert f"{module_of(name)} -> {imported}" in output


def test_each_import_contract_is_tested_with_a_forbidden_import() -> None:
    assert {name.partition(":")[0] for name in CONTRACTS} == PLANTED.keys()


def test_no_test_file_imports_another_test_file() -> None:
    imported = [
        (file.path, name)
        for file in source_files()
        if file.path.startswith("tests/")
        for name in file.imported
        if name.rpartition(".")[2].startswith("test_")
    ]
    assert imported == []


def test_no_source_file_has_more_than_700_lines() -> None:
    lines = {file.path: file.lines for file in source_files()}
    for path in (ROOT / "probes").glob("[!b]*/**/*.[ch]"):
        lines[path.relative_to(ROOT).as_posix()] = len(path.read_text("utf-8").splitlines())
    assert {path: count for path, count in lines.items() if count > MOST_LINES} == {}


def test_no_function_has_more_than_60_lines() -> None:
    long = {
        f"{file.path}:{first}": name
        for file in source_files()
        for name, first, lines in file.functions
        if lines > MOST_FUNCTION_LINES
    }
    assert long == {}


def test_no_two_types_of_netlab_have_the_same_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for file in source_files():
        if file.path.startswith("netlab/"):
            for name in file.types:
                places[name].append(file.path)
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}
    assert len(places) > 300
