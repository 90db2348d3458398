"""The table of the night: which rows are valid, and what an ended row leaves in the page."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from folders import ROOT

from benchmarks.night import __main__ as night
from benchmarks.night.rows import NIGHT, WEEK, Row

PAGE = "# Night\n\n<!-- made by make nightly -->\n<!-- end -->\n\nafter\n"
PRINTS = Row("prints", "{python} -c print(7)", ("README.md",), 1)
FAILS = Row("fails", "{python} -c raise(SystemExit(3))", ("README.md",), 1)


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page without rows, and two short rows in place of the night's."""
    file = tmp_path / "night.md"
    file.write_text(PAGE)
    monkeypatch.setattr(night, "PAGE", file)
    monkeypatch.setattr(night, "OUTPUT", tmp_path / "output")
    monkeypatch.setattr(night, "TABLES", {"night": (PRINTS, FAILS)})
    return file


def ended(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["night", "night", *words])
    return night.main()


@pytest.mark.lab
def test_the_nightly_page_has_the_result_of_each_check_and_only_failed_checks_run_again(
    page: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(monkeypatch) == 1
    outcomes = night.outcomes_of(page.read_text(), "night")
    assert [outcome.result for outcome in outcomes.values()] == ["passed: 7", "failed: no output"]
    assert page.read_text().endswith("<!-- end -->\n\nafter\n")
    capsys.readouterr()
    assert ended(monkeypatch) == 1
    output = capsys.readouterr().out
    assert "prints: " not in output and "fails: " in output
    assert ended(monkeypatch, "prints") == 0
    assert ended(monkeypatch, "--again", "prints") == 0
    assert "prints: " in capsys.readouterr().out


def test_a_passed_nightly_check_is_valid_until_one_of_its_files_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    passed = night.Outcome("prints", "passed: 7", "0.0", "2026-11-28", "abc", "digest")
    monkeypatch.setattr(night, "digest", lambda _files: "digest")
    assert night.is_valid(passed, PRINTS)
    assert not night.is_valid(replace(passed, result="failed: 7"), PRINTS)
    assert not night.is_valid(None, PRINTS)
    monkeypatch.setattr(night, "digest", lambda _files: "other")
    assert not night.is_valid(passed, PRINTS)


def test_a_cell_of_the_nightly_table_has_at_most_40_words_of_what_a_check_printed() -> None:
    assert night.short("passed  all = 7") == "passed  all = 7"
    most = "word " * 36
    assert night.short(most) == most
    cut = night.short(most + "more")
    assert (len(cut.split()), cut[-6:]) == (36, "word …")
    result = f"{night.PASSED}{cut} (seed 4e139a53)"
    assert len(result.split()) <= 40


def test_a_digest_of_files_is_repeatable_and_differs_between_files() -> None:
    assert night.digest(["README.md"]) == night.digest(["README.md"])
    assert night.digest(["README.md"]) != night.digest(["LICENSE"])


@pytest.mark.parametrize("row", [*NIGHT, *WEEK], ids=lambda row: row.name)
def test_each_nightly_or_weekly_check_names_only_existing_files(row: Row) -> None:
    assert [name for name in row.files if not [*ROOT.glob(name)]] == []


def test_the_nightly_page_lists_only_checks_that_are_defined() -> None:
    text = night.PAGE.read_text("utf-8")
    for table, rows in night.TABLES.items():
        assert night.outcomes_of(text, table).keys() <= {row.name for row in rows}
