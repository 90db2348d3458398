"""The house: who may import whom, how long files and functions may be, and what has which name."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from folders import ROOT

LINT = [
    *(sys.executable, "-c", "from importlinter.cli import lint_imports_command as lint; lint()"),
    "--no-cache",
]
MOST_FILES, MOST_LINES, MOST_FUNCTION_LINES = 20, 400, 60

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
    "lab": ("lab/shaping.py", FUNCTION, "netlab.ethernet"),
    "pure": ("experiment/cells.py", FUNCTION, "socket"),
    "paramiko": ("runner/session.py", FOR_TYPES, "paramiko"),
    "dask": ("runner/hosts/trial_place.py", FUNCTION, "distributed"),
    "matplotlib": ("report/page/opening.py", FUNCTION, "matplotlib"),
    "pandas": ("compare/judge.py", FOR_TYPES, "pandas"),
    "duckdb": ("results/export.py", FUNCTION, "duckdb"),
    "pyarrow": ("store/reader.py", FUNCTION, "pyarrow"),
    "pydantic": ("experiment/hosts.py", FUNCTION, "pydantic"),
    "click": ("runner/planning/plan.py", FOR_TYPES, "click"),
    "babel": ("results/labels.py", FUNCTION, "babel"),
    "jinja2": ("report/write/text.py", FUNCTION, "jinja2"),
    "ruptures": ("compare/judge.py", FUNCTION, "ruptures"),
    "yaml": ("store/run_folder.py", FOR_TYPES, "yaml"),
}
"""Contract → a file that is to break it, how it imports for that, and what."""
NEIGHBOURS = {
    "findings/finding.py": "netlab.compare.judge",
    "compare/judge.py": "netlab.findings.finding",
    "runner/planning/plan.py": "netlab.report.live",
    "report/live.py": "netlab.runner.progress",
    "remote/agent.py": "netlab.imports.table",
    "imports/table.py": "netlab.remote.agent",
    "store/journal.py": "netlab.config.document",
    "config/document.py": "netlab.store.journal",
    "units.py": "netlab.errors",
}
"""Files and imports of a neighbour in the same storey."""


def broken(folder: Path) -> set[str]:
    """The first words of the contracts that a copy of the package breaks."""
    process = subprocess.run(
        LINT, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    lines = [line for line in process.stdout.splitlines() if line.endswith((" KEPT", " BROKEN"))]
    assert len(lines) == len(CONTRACTS), process.stdout + process.stderr
    return {line.partition(":")[0] for line in lines if line.endswith(" BROKEN")}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of netlab with its contracts."""
    shutil.copytree(
        ROOT / "netlab", tmp_path / "netlab", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_contracts_hold(package: Path) -> None:
    assert broken(package) == set()
    assert {name.partition(":")[0] for name in CONTRACTS} == PLANTED.keys()


def plant(package: Path, name: str, template: str, imported: str) -> None:
    file = package / "netlab" / name
    file.write_text(file.read_text("utf-8") + template.format(imported), encoding="utf-8")


@pytest.mark.parametrize("contract", PLANTED)
def test_an_import_that_is_not_allowed_breaks_its_contract(package: Path, contract: str) -> None:
    plant(package, *PLANTED[contract])
    assert contract in broken(package)


def test_neighbours_of_one_storey_do_not_know_each_other(package: Path) -> None:
    for name, imported in NEIGHBOURS.items():
        plant(package, name, FUNCTION, imported)
    output = subprocess.run(
        LINT, cwd=package, capture_output=True, text=True, timeout=120, check=False
    ).stdout
    for name, imported in NEIGHBOURS.items():
        module = "netlab." + name.removesuffix(".py").replace("/", ".")
        assert f"{module} -> {imported}" in output


def python_files() -> Iterator[Path]:
    for folder in ("netlab", "tests", "benchmarks", "docs"):
        yield from sorted((ROOT / folder).rglob("*.py"))


def test_what_tests_share_is_in_no_file_of_tests() -> None:
    imported = [
        (path.relative_to(ROOT).as_posix(), name)
        for path in (ROOT / "tests").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        for name in names_imported(node)
        if name.rpartition(".")[2].startswith("test_")
    ]
    assert imported == []


def names_imported(node: ast.AST) -> Iterator[str]:
    """Modules that an import names."""
    if isinstance(node, ast.ImportFrom):
        yield node.module or ""
    elif isinstance(node, ast.Import):
        yield from (name.name for name in node.names)


def test_no_folder_holds_more_files_than_a_person_looks_through() -> None:
    process = subprocess.run(
        ["git", "ls-files", "benchmarks", "docs", "netlab", "probes", "tests"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    names = [Path(name) for name in process.stdout.splitlines() if (ROOT / name).exists()]
    counts = Counter(path.parent.as_posix() for path in names)
    assert {folder: count for folder, count in counts.items() if count > MOST_FILES} == {}
    assert len(counts) > 40


def test_no_file_is_longer_than_a_person_reads_at_a_sitting() -> None:
    long = {
        path.relative_to(ROOT).as_posix(): lines
        for path in [*python_files(), *(ROOT / "probes").glob("[!b]*/**/*.[ch]")]
        if (lines := len(path.read_text("utf-8").splitlines())) > MOST_LINES
    }
    assert long == {}


def test_no_function_is_longer_than_a_screen() -> None:
    long = {
        f"{path.relative_to(ROOT).as_posix()}:{node.lineno}": node.name
        for path in python_files()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno + 1 > MOST_FUNCTION_LINES
    }
    assert long == {}


def types_of(tree: ast.Module) -> Iterator[str]:
    """Names of the classes and of the aliases of types that a file defines."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            name = target.id if isinstance(target, ast.Name) else ""
            if name.lstrip("_")[:1].isupper() and not name.isupper():
                yield name


def test_the_name_of_a_type_exists_once() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / "netlab").rglob("*.py")):
        for name in types_of(ast.parse(path.read_text("utf-8"))):
            places[name].append(path.relative_to(ROOT).as_posix())
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}
    assert len(places) > 300
