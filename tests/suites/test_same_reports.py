"""The comparison of reports before and after a change: what it calls a figure and what a word."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from folders import REPORTS

from benchmarks.cost import same_reports
from netlab.findings.analysis import load
from netlab.report import Report
from netlab.report.language import Wording
from netlab.report.text.findings import findings_json
from netlab.results.export import export

RUN = "nettest"
COMMITTED = ("tables.csv", "figures.csv", "tables.md", "tables.tex", "index.html")
SAID = "at the wire\\u2019s limit"
"""Words of a sentence of this run, as JSON."""


@pytest.fixture(scope="module")
def texts() -> same_reports.Texts:
    """What the committed report of a short recorded run says."""
    folder = REPORTS / RUN
    run = load(folder)
    report = Report(run, Wording()).overview_text().encode()
    files = {
        "findings.json": findings_json(run),
        "export.csv": export(folder, "csv"),
        "report.txt": report,
        **{name: (folder / name).read_bytes() for name in COMMITTED},
    }
    parts = {
        k: v for name, data in files.items() for k, v in same_reports.parts_of(name, data).items()
    }
    return {f"{RUN}/{part}": text for part, text in parts.items()}


@pytest.mark.lab
def test_reports_made_twice_say_the_same_and_those_of_another_run_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def asked(task: str) -> int:
        words = ["same_reports", task, str(tmp_path / "kept"), "--runs", RUN, same_reports.DAMAGED]
        monkeypatch.setattr(sys, "argv", words)
        return same_reports.main()

    assert asked("keep") == 0
    assert asked("compare") == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "figures: 0 texts differ, drawings: 0 texts differ, words: 0 texts differ"
    monkeypatch.setitem(same_reports.MADE, same_reports.DAMAGED, "nettest-lab-unshaped")
    assert asked("compare") == 1
    assert "damaged/figures/tables.csv" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "figure"),
    [
        ("figures/report.txt", r"95\.49"),
        ("figures/export.csv", r"63740000000"),
        ("figures/tables.md", r"95\.49"),
        ("figures/tables.tex", r"95\.49"),
        ("figures/tables.csv", r"95\.49"),
        ("figures/figures.csv", r",95\.\d+"),
        ("figures/index.html", r"95\.49"),
        ("figures/index.html.cells", r"95\.\d+"),
        ("figures/findings.json", r'"evidence": {"\w+": \d+\.\d{5}'),
    ],
)
def test_one_changed_digit_of_a_report_is_a_figure_that_differs(
    name: str, figure: str, texts: same_reports.Texts, capsys: pytest.CaptureFixture[str]
) -> None:
    before = texts[f"{RUN}/{name}"]
    found = re.search(figure, before)
    assert found
    digit = before[found.end() - 1]
    other = str((int(digit) + 1) % 10)
    after = before[: found.end() - 1] + other + before[found.end() :]
    assert same_reports.compare(texts, {**texts, f"{RUN}/{name}": after}) == 1
    printed = capsys.readouterr().out
    assert "2 lines, the numbers differ" in printed
    assert "figures: 1 texts differ, drawings: 0 texts differ, words: 0 texts differ" in printed
    assert found[0][-6:-1] + other in printed


def test_a_changed_sentence_is_a_word_that_differs(
    texts: same_reports.Texts, capsys: pytest.CaptureFixture[str]
) -> None:
    findings = f"{RUN}/figures/findings.json"
    other = {**texts, findings: texts[findings].replace(SAID, "full", 1)}
    assert other != texts
    assert same_reports.compare(texts, other) == 0
    printed = capsys.readouterr().out
    assert "2 lines, the numbers are the same" in printed
    assert "figures: 0 texts differ, drawings: 0 texts differ, words: 1 texts differ" in printed


def test_a_renamed_kind_is_a_word_and_with_the_table_of_names_a_figure(
    texts: same_reports.Texts,
) -> None:
    findings = f"{RUN}/figures/findings.json"
    after = {**texts, findings: texts[findings].replace('"wire-ceiling"', '"at-the-wire"')}
    assert after != texts
    assert same_reports.compare(texts, after) == 0
    assert same_reports.compare(texts, after, {"wire-ceiling": "at-the-wire"}) == 0
    assert same_reports.compare(texts, after, {"wire-ceiling": "another"}) == 1


def test_a_damaged_run_has_two_trials_less_and_four_damaged_lines(tmp_path: Path) -> None:
    whole, damaged = (same_reports.made(name, tmp_path) for name in ("nettest-lab", "damaged"))
    assert len(load(whole).records) - 2 == len(load(damaged).records)
    assert len(load(damaged).stored.damage) == 4
