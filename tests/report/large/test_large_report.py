"""The report of a run with very many trials: made of its segments, with the figures of its table.

Recorded runs stand for large ones: the number of trials that makes a run large is set to a few.
"""

from __future__ import annotations

import csv
import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from folders import REPORTS
from made_reports import RECORDED, copied, undrawn
from pseudo_locale import Pseudo, Visible, names_of, omissions

from netlab.cli import cli
from netlab.findings.analysis import Analysis, load, load_cells
from netlab.report import CELLS, large
from netlab.report.language import Wording
from netlab.report.language.translated import Translated
from netlab.report.large import LargeReport, sample_of
from netlab.report.live import watch
from netlab.report.text.findings import findings_json
from netlab.results.arrow import run_parts as large_runs
from netlab.results.arrow.segment_writer import compact
from netlab.store.journal_reading import WriterLock
from netlab.store.reader import status_of

pytestmark = pytest.mark.needs("pyarrow")

MOST_PAGE_BYTES = 5_000_000
DIFFERENT = {
    "connection-kinds",
    "connection-kinds-lab",
    "engines-lab",
    "latency-under-load-lab",
    "payload-lab",
    "rfc2544-lab",
    "udp-mirror-lab-unshaped",
}
"""Runs with different kinds of tests; at night all runs are looked at."""


def with_segments(recorded: Path, into: Path) -> Path:
    """A recorded run with segments, as a large one has them."""
    folder = copied(recorded, into)
    if "source" not in (folder / "run.json").read_text("utf-8").split('"cells"')[0]:
        assert compact(folder, least_bytes=1, least_lines=1) == 1
    return folder


@dataclass(frozen=True, slots=True)
class Written:
    """A recorded run, its report as that of a large run, and all of its records."""

    folder: Path
    report: LargeReport
    page: str
    whole: Analysis


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(path, marks=[] if path.name in DIFFERENT else [pytest.mark.night])
        for path in RECORDED
    ],
    ids=lambda path: str(path.name),
)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Written:
    folder = with_segments(request.param, tmp_path_factory.mktemp("large"))
    (folder / "tables.csv").write_text("of the report of a smaller run")
    report = LargeReport(large_runs.large_run(folder), Wording())
    with undrawn():
        page = report.write().read_text("utf-8")
    return Written(folder, report, page, load(folder))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A recorded run with segments, which counts as large; no chart is drawn."""
    monkeypatch.setattr(large_runs, "LARGE_TRIALS", 3)
    with undrawn():
        yield with_segments(REPORTS / "engines-lab", tmp_path)


def test_figures_of_each_cell_in_a_large_report_equal_those_of_the_data_frame(
    written: Written,
) -> None:
    frame = written.whole.frame
    lines = [*csv.DictReader((written.folder / CELLS).read_text("utf-8").splitlines())]
    ok = frame[frame["status"] == "ok"]
    expected: dict[tuple[str, str], pd.Series] = {
        (str(cell), column): rows[column].dropna()
        for cell, rows in ok.groupby("cell")
        for column in {line["column"] for line in lines}
        if column in rows and rows[column].notna().any()
    }
    assert lines
    for line in lines:
        own = expected.pop((line["cell"], line["column"]))
        assert int(line["trials"]) == len(own)
        assert float(line["mean"]) == pytest.approx(own.mean())
        assert (float(line["lowest"]), float(line["highest"])) == (own.min(), own.max())
        if len(own) > 1:
            assert float(line["standard_deviation"]) == pytest.approx(own.std(), rel=1e-9, abs=1e-9)
        else:
            assert line["standard_deviation"] == ""
    assert [key for key in expected if key[1] not in ("rtt_mean_ns", "increase_ns")] == []


def test_a_large_report_shows_every_section_and_the_findings_of_the_whole_run(
    written: Written,
) -> None:
    assert len(written.page.encode()) < MOST_PAGE_BYTES
    text, report = html.unescape(written.page), written.report
    assert "<script" not in text
    for part in report.parts:
        assert part.title in text
        for sheet in (*part.sheets, *part.details):
            assert sheet.title in text
    # All cells are in the sample, so the findings are those of the whole run.
    sample = sample_of(written.folder, report.run.plan)
    assert sorted(map(repr, sample.findings)) == sorted(map(repr, written.whole.findings))
    for chart in (chart for part in report.parts for chart in part.charts):
        assert (written.folder / "charts" / f"{chart.name}.svg").is_file()
        assert len(chart.rows) <= 40 >= len(chart.columns)  # type: ignore[union-attr]  # heat maps
    assert (written.folder / "tables.md").read_text("utf-8").startswith("# ")
    assert not (written.folder / "tables.csv").exists()


def test_no_text_of_a_large_report_bypasses_the_translation_catalogue(written: Written) -> None:
    whole = written.whole
    values = (value for cell in whole.plan.cells for value in cell.settings.values())
    page = Visible()
    with undrawn():
        pseudo = LargeReport(large_runs.large_run(written.folder), Translated("de", Pseudo()))
        page.feed(pseudo.write().read_text("utf-8"))
    assert omissions(page.found, names_of(whole) | {*map(str, values)}) == {}


def test_the_report_command_makes_a_large_report_of_a_large_run(run: Path) -> None:
    result = CliRunner().invoke(cli, ["report", str(run)], catch_exceptions=False)
    assert result.exit_code == 0
    assert "Means by message size" in result.output
    assert result.output.endswith(f"report: {run / 'index.html'}\n")
    assert "made from the columns of its segments" in (run / "index.html").read_text("utf-8")


def test_one_cell_of_a_large_run_has_a_full_report_in_its_own_folder(run: Path) -> None:
    cell = load(run).plan.cells[5]
    words = ["report", str(run), "--cell", cell.key]
    result = CliRunner().invoke(cli, words, catch_exceptions=False)
    assert result.exit_code == 0
    page = run / "cells" / "index.html"
    assert result.output.endswith(f"report: {page}\n")
    text = page.read_text("utf-8")
    means = (page.parent / "tables.csv").read_text("utf-8").splitlines()[1:3]
    frame = load(run).frame
    own = frame[(frame["cell"] == cell.key) & (frame["status"] == "ok")]
    mean, number = (float(line.rstrip(",").rpartition(",")[2]) for line in means)
    assert mean == pytest.approx(own["throughput_bit_per_s"].mean() / 1e6, abs=0.005)
    assert number == 1
    links = [
        link for link in re.findall(r'<a href="([^"#:]+)"', text) if "/" in link or "." in link
    ]
    assert {"../journal.jsonl", "../matrix.yaml", "tables.csv"} <= {*links}
    assert all((page.parent / link).exists() for link in links)


def test_json_findings_of_a_large_run_are_those_of_its_sampled_cells(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large, "SAMPLED_TRIALS", 40)
    monkeypatch.setattr("netlab.findings.analysis.load", None)  # it reads the whole run
    sample = sample_of(run, large_runs.large_run(run).plan)
    result = CliRunner().invoke(cli, ["report", str(run), "--json"], catch_exceptions=False)
    assert json.loads(result.stdout) == json.loads(findings_json(sample))
    assert (
        f"the findings are about {len(sample.plan.cells)} cells of "
        f"{len(large_runs.large_run(run).plan.cells)}, evenly spaced on the axes"
    ) in result.stderr
    words = ["report", str(run), "--json", "--cell", sample.plan.cells[0].key]
    result = CliRunner().invoke(cli, words, catch_exceptions=False)
    own = load_cells(run, {sample.plan.cells[0].key})
    assert json.loads(result.stdout) == json.loads(findings_json(own))


def test_watching_a_large_run_writes_large_reports_that_reload_until_the_end(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages: list[str] = []

    def sleep(_seconds: float) -> None:
        pages.append((run / "index.html").read_text("utf-8"))
        lock.release()

    lock = WriterLock.acquire(run / "lock")
    monkeypatch.setattr("netlab.report.live.measures_here", lambda _stored: False)
    monkeypatch.setattr(
        "netlab.report.live.status_of",
        lambda *words: replace(status_of(*words), pending=1, total=status_of(*words).total + 1),
    )
    messages: list[str] = []
    watch(run, "en", messages.append, sleep=sleep)
    assert "made from the columns of its segments" in pages[0]
    assert '<meta http-equiv="refresh"' in pages[0]
    assert '<meta http-equiv="refresh"' not in (run / "index.html").read_text("utf-8")
    assert messages[0].endswith("trials left: 1")
    assert "1 trial remains" in messages[-1]


def test_the_report_command_refuses_unknown_cells_and_a_linked_cells_folder(run: Path) -> None:
    for words, message in (
        (["--cell", "LL-none"], "no cell has the key 'LL-none'"),
        (["--cell", "x", "--watch"], "--watch is for the report of the whole run"),
        (["--cell", "x", "--json"], "no cell has the key 'x'"),
    ):
        result = CliRunner().invoke(cli, ["report", str(run), *words])
        assert message in str(result.exception)
    (run / "cells").symlink_to(run.parent)
    key = load(run).plan.cells[0].key
    result = CliRunner().invoke(cli, ["report", str(run), "--cell", key])
    assert "link" in str(result.exception)
    assert not (run.parent / "index.html").exists()
