"""docs/reference: every key of a kind of test, and nothing that is not there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from folders import DOCS
from reference_pages import CAPTURE, PAGES, example, page, section

from netlab.cli import cli
from netlab.config.matrix_file import load_matrix
from netlab.experiment.kinds import FIELDS, NEEDED, ROWS, SETUPS
from netlab.experiment.records import REASONS
from netlab.findings.finding import Kind


def keys_of(fields: frozenset[str]) -> set[str]:
    return {ROWS[field].key for field in fields}


def test_every_kind_of_test_has_a_page() -> None:
    assert set(PAGES.values()) == set(SETUPS)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_names_every_key_that_its_kind_takes_and_no_other(name: str) -> None:
    rows = re.findall(r"^\| [a-z].*? \| (`.*) \|$", section(name, "Keys"), re.M)
    keys = re.findall(r"`([a-z_]+)`", " ".join(rows))
    assert len(keys) == len(set(keys))
    assert set(keys) == keys_of(FIELDS[PAGES[name]])


@pytest.mark.parametrize("name", PAGES)
def test_required_keys_are_named(name: str) -> None:
    (sentence,) = re.findall(r"^(.*?) (?:is|are) required", section(name, "Keys"), re.M)
    assert set(re.findall(r"`([a-z_]+)`", sentence)) == keys_of(NEEDED[PAGES[name]])


@pytest.mark.parametrize("name", PAGES)
def test_the_findings_that_a_page_names_are_kinds_of_finding(name: str) -> None:
    kinds = re.findall(r"`([a-z-]+)`", section(name, "Findings"))
    assert kinds
    assert [word for word in kinds if word not in {str(kind) for kind in Kind}] == []


@pytest.mark.parametrize("name", PAGES)
def test_the_reasons_that_a_page_names_are_of_the_closed_list(name: str) -> None:
    reasons = re.findall(r"`([a-z]+-[a-z-]+)`", section(name, "When there is no result"))
    assert reasons
    assert [word for word in reasons if word not in REASONS] == []


@pytest.mark.parametrize("name", [*PAGES, CAPTURE])
def test_the_example_is_a_matrix_and_its_command_one_of_netlab(name: str, tmp_path: Path) -> None:
    matrix, command = example(name)
    words = shlex.split(command.removeprefix("sudo "))
    assert words[:2] == ["netlab", "run"]
    file = tmp_path / words[2]
    file.write_text(matrix)
    tests = {grid.test for grid in load_matrix(file).grids}
    assert tests == {PAGES.get(name, "payload_search")}
    options = {name for param in cli.commands["run"].params for name in param.opts}
    assert {word for word in words if word.startswith("--")} <= options


def test_the_index_of_the_documentation_names_every_page() -> None:
    index = (DOCS / "README.md").read_text("utf-8")
    assert [name for name in (*PAGES, CAPTURE) if f"reference/{page(name).name}" not in index] == []
