"""The commands of README.md exist and print what it shows."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from folders import MATRICES, ROOT
from readme import TEXT, blocks, commands

from netlab.report.text.findings import CALLED

MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
CI = [
    line.strip()
    for line in (ROOT / ".ci" / "run").read_text("utf-8").splitlines()
    if not line.lstrip().startswith("#")
]
LEFT_OUT = "…"
ROW = re.compile(r"(?:TCP|UDP) +\d+ +[\d.]+(?: \([\d.]+ to [\d.]+\))? +2 +[\d.]+ +(.+)")
"""A row of the answer: protocol, messages, mean and range of two cells, CPU time, limit."""
VERDICT = re.compile(r"Throughput: [\d.]+ [GM]bit/s \(.+\) to [\d.]+ Gbit/s \(.+\)")
ADVICE = re.compile(r"[A-Z][^:]+: .+\.")
"""What matters, what to change, or why a limit is unknown."""

MEASURED_HERE = {"make demo", "make test"}
INSTALLED = {"python3 -m venv .venv && .venv/bin/pip install .", ".venv/bin/netlab measure"}
"""test_installed.py types them in an environment of its own."""


def shape(line: str) -> str:
    """A line without its figures, its spaces, the size of its unit, and a time in a name."""
    line = re.sub(r"\b[GM]bit/s", "bit/s", line)
    return re.sub(r"\s+", " ", re.sub(r"\d[\d,.]*(-\d+)*", "N", line)).strip()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the demo's measurement says, line by line."""
    home = tmp_path_factory.mktemp("demo")
    (home / "matrices").symlink_to(MATRICES)
    recipe = re.search(r"^demo:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    assert recipe is not None
    measures = recipe[1].splitlines()[-1]
    assert measures == "\t@$(BIN)/python -m netlab run matrices/loopback.yaml"
    process = subprocess.run(
        [sys.executable, *measures.split()[1:], "--wait", "120"],
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert process.returncode == 0, process.stdout
    return process.stdout.splitlines()


@pytest.mark.demo
@pytest.mark.needs("cc")
def test_make_demo_prints_what_the_readme_shows(demo: list[str]) -> None:
    (block,) = (text for text in blocks() if text.startswith("$ make demo\n"))
    readme_lines = block.splitlines()[1:]
    # Said before there is a netlab: by .ci/set-up.
    assert readme_lines.pop(0) == "setting up .venv (once) ..."
    demo_shapes = [shape(line) for line in demo]
    told = (ROW, VERDICT, ADVICE)
    places = [
        demo_shapes.index(shape(line))
        for line in readme_lines
        if line not in ("", LEFT_OUT) and not any(form.fullmatch(line) for form in told)
    ]
    assert len(places) == 5
    assert all(place < next_place for place, next_place in pairwise(places))
    names = {str(text) for text in CALLED.values()} | {"unknown", "several"}
    for rows in (readme_lines, demo):
        assert sum(VERDICT.fullmatch(row) is not None for row in rows) == 1
        limits = [match[1] for row in rows if (match := ROW.fullmatch(row))]
        assert len(limits) >= 3
        assert {*limits} <= names
        assert any(ADVICE.fullmatch(row) for row in rows)


def test_every_command_of_the_readme_is_typed_by_a_test_or_by_ci() -> None:
    typed = {line for line in commands() if not line.startswith("netlab ")}
    assert typed == MEASURED_HERE | INSTALLED
    for command in MEASURED_HERE:
        target = command.removeprefix("make ")
        assert any(re.match(rf"as_user .*\bmake .*\b{target}( |$)", line) for line in CI), command


def test_every_make_goal_in_the_readme_is_a_target_of_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z-]+)%?:", MAKEFILE, re.MULTILINE))
    goals = set(re.findall(r"(?:`|^)make ([a-z-]+)", TEXT, re.MULTILINE))
    assert {"demo", "test", "site"} <= goals
    assert {
        name for name in goals if name not in targets and not name.startswith("benchmark-")
    } == set()


def test_the_readme_names_the_extra_and_the_pytest_options_for_developers() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert re.findall(r"--editable '\.\[(\w+)\]'", TEXT) == ["dev"]
    assert "dev" in extras["optional-dependencies"]
    assert "pytest --kinds unit,agents" in TEXT
    assert "pytest --kinds unit,agents" in (ROOT / "docs" / "testing.md").read_text("utf-8")


def test_the_readme_has_at_most_113_lines() -> None:
    assert len(TEXT.splitlines()) <= 113


def test_the_readme_links_at_least_six_existing_matrices() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", TEXT)
    assert len([link for link in links if link.startswith("matrices/")]) >= 6
    assert [link for link in links if not Path(ROOT / link).exists()] == []
