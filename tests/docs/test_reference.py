"""The reference pages name every key of a kind of test, and only names that exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from folders import DOCS
from reference_pages import CAPTURE, PAGES, example, page, section

from netlab.cli import cli
from netlab.config.matrix_file import load_matrix
from netlab.findings.finding import Kind
from netlab.kinds import FIELDS, NEEDED, ROWS, SETUPS
from netlab.trial.record import REASONS


def keys_of(fields: frozenset[str]) -> set[str]:
    return {ROWS[field].key for field in fields}


def test_every_kind_of_test_has_a_reference_page() -> None:
    assert set(PAGES.values()) == set(SETUPS)


def test_each_reference_page_names_exactly_the_keys_of_its_kind_of_test() -> None:
    for name, kind in PAGES.items():
        rows = re.findall(r"^\| [a-z].*? \| (`.*) \|$", section(name, "Keys"), re.M)
        keys = re.findall(r"`([a-z_]+)`", " ".join(rows))
        assert len(keys) == len(set(keys)), name
        assert set(keys) == keys_of(FIELDS[kind]), name


def test_each_reference_page_names_the_required_keys_of_its_kind_of_test() -> None:
    for name, kind in PAGES.items():
        (sentence,) = re.findall(r"^(.*?) (?:is|are) required", section(name, "Keys"), re.M)
        assert set(re.findall(r"`([a-z_]+)`", sentence)) == keys_of(NEEDED[kind]), name


def test_the_findings_on_a_reference_page_are_kinds_of_findings() -> None:
    for name in PAGES:
        kinds = re.findall(r"`([a-z/-]+)`", section(name, "Findings"))
        assert kinds, name
        assert [word for word in kinds if word not in {str(kind) for kind in Kind}] == [], name


def test_the_reasons_on_a_reference_page_are_in_the_list_of_reasons() -> None:
    for name in PAGES:
        reasons = re.findall(r"`([a-z]+-[a-z-]+)`", section(name, "When there is no result"))
        assert reasons, name
        assert [word for word in reasons if word not in REASONS] == [], name


def test_the_example_of_a_reference_page_is_a_valid_matrix_and_command(tmp_path: Path) -> None:
    options = {name for param in cli.commands["run"].params for name in param.opts}
    for name in (*PAGES, CAPTURE):
        matrix, command = example(name)
        words = shlex.split(command.removeprefix("sudo "))
        assert words[:2] == ["netlab", "run"]
        file = tmp_path / words[2]
        file.write_text(matrix)
        tests = {grid.test for grid in load_matrix(file).grids}
        assert tests == {PAGES.get(name, "payload_search")}
        assert {word for word in words if word.startswith("--")} <= options


def test_the_index_of_the_documentation_names_every_reference_page() -> None:
    index = (DOCS / "README.md").read_text("utf-8")
    assert [name for name in (*PAGES, CAPTURE) if f"reference/{page(name).name}" not in index] == []
