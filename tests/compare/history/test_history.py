"""netlab history finds changes over many runs, with gaps and unusable folders among them."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from made_streams import netlab
from pseudo_locale import Pseudo, Visible, unsaid

from benchmarks.truth.drawn_histories import draw
from benchmarks.truth.written_histories import (
    LINK,
    round_trip_cell,
    stream_cell,
    write_history,
    write_run,
)
from netlab.compare.history import History, history_of
from netlab.ethernet import Link
from netlab.report.history import as_html, part_of
from netlab.report.language.translated import Translated
from netlab.report.tables.elements import Chart
from netlab.store.run_folder import RunFolder
from netlab.version import VERSION

needs_ruptures = pytest.mark.needs("ruptures")

STREAM, SMALL, TRIPS = stream_cell(1448), stream_cell(64), round_trip_cell(64)
FEW = (94.0, 94.1, 93.9)


@pytest.fixture(scope="module")
def nightly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """30 runs: one cell with a step of 3 % at run 18, one with drift, one with gaps and a step."""
    chance = np.random.default_rng(1)
    folder = tmp_path_factory.mktemp("nightly")
    write_history(
        folder,
        [
            (STREAM, draw(chance, runs=30, steps=[(18, -0.03)]).figures),
            (SMALL, draw(chance, runs=30, drift="line").figures),
            (TRIPS, draw(chance, runs=30, steps=[(12, 0.05)], gaps=0.1).figures),
        ],
    )
    return folder


def of(folder: Path) -> History:
    return history_of([folder])


def a_few(folder: Path, figures: Sequence[float] = FEW) -> Path:
    write_history(folder, [(STREAM, figures)])
    return folder


@needs_ruptures
def test_netlab_history_names_the_run_since_which_a_cell_changed(
    nightly: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    code, out, err = netlab(capfdbinary, "history", str(nightly))
    assert (code, err) == (0, "")
    rows = [line.split() for line in out.splitlines() if "2025-01-" in line and "run" in line][:2]
    assert rows[0][:5] == ["TCP", "1448,", "throughput", "run-018", "2025-01-19"]
    assert rows[1][:6] == ["UDP", "64,", "mean", "round", "trip", "run-012"]
    assert "less" in rows[0]
    assert "longer" in rows[1]
    assert "30 runs, run-000 (2025-01-01) to run-029 (2025-01-30)." in out
    assert "1 figure of a cell has no change point." in out


@needs_ruptures
def test_json_and_csv_of_a_history_have_every_figure_and_leave_gaps_blank(
    nightly: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    _, out, _ = netlab(capfdbinary, "history", str(nightly), "--format", "json")
    document = json.loads(out)
    assert len(document["runs"]) == 30
    stream, small, trips = document["histories"]
    (point,) = stream["change_points"]
    assert (point["run"], stream["unit"]) == ("run-018", "Mbit/s")
    assert point["change_share"] == pytest.approx(-0.03, abs=0.006)
    assert small["change_points"] == []
    assert 20 < len(trips["figures"]) < 30
    _, out, _ = netlab(capfdbinary, "history", str(nightly), "--format", "csv")
    rows = [*csv.DictReader(io.StringIO(out))]
    assert len(rows) == 90
    assert [row["run"] for row in rows if row["change_point"] == "true"] == ["run-018", "run-012"]
    blank = [row for row in rows if not row["figure"]]
    assert {row["quantity"] for row in blank} == {"mean round trip"}
    assert all(not row["level"] for row in blank)
    assert len(blank) == 30 - len(trips["figures"])


@needs_ruptures
def test_the_page_of_a_history_has_a_chart_for_each_cell_in_the_chosen_language(
    nightly: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    page = tmp_path / "history.html"
    words = ("history", str(nightly), "--format", "html", "--lang", "de", "--output", str(page))
    assert netlab(capfdbinary, *words) == (0, "", "")
    html = page.read_text("utf-8")
    assert html.count('src="data:image/svg+xml') == 3
    assert "Änderungspunkte" in html
    assert "weniger ab run-018" in html
    assert "<script" not in html


@needs_ruptures
def test_every_text_of_the_history_page_and_its_charts_is_translated(nightly: Path) -> None:
    wording = Translated("de", Pseudo())
    history = of(nightly)
    page = Visible()
    page.feed(as_html(history, wording))
    part = wording.of(part_of(history, with_charts=True))
    texts = [text for _, text in page.found]
    for chart in part.charts:
        assert isinstance(chart, Chart)
        texts += [chart.title, chart.x_label, *(line.label for line in chart.lines)]
    names = frozenset({VERSION, *(run.name for run in history.runs)})
    assert len(texts) > 30
    assert {text for text in texts if unsaid(text, names)} == set()


@needs_ruptures
def test_netlab_history_prints_a_markdown_table_of_change_points(
    nightly: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    _, out, _ = netlab(capfdbinary, "history", str(nightly), "--format", "markdown")
    assert "### Change points" in out
    assert "run-018 |" in out


def test_a_history_of_three_runs_is_too_short_for_change_points(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    code, out, _ = netlab(capfdbinary, "history", str(a_few(tmp_path)))
    assert code == 0
    assert "1 figure of a cell is known in fewer than 10 runs" in out


def test_the_runs_of_a_history_are_ordered_by_their_start(tmp_path: Path) -> None:
    paths = [
        write_run(tmp_path / name, day, [(STREAM, 90.0 + day)])
        for name, day in (("b", 2), ("a", 5), ("c", 1))
    ]
    history = history_of(paths)
    assert [run.name for run in history.runs] == ["c", "b", "a"]
    assert history.cells[0].figures == (91.0, 92.0, 95.0)


def test_netlab_history_leaves_out_unusable_folders_with_a_sentence_for_each(
    tmp_path: Path,
) -> None:
    a_few(tmp_path)
    (tmp_path / "notes").mkdir()
    (tmp_path / ".hidden").mkdir()
    shutil.copytree(tmp_path / "run-001", tmp_path / "run-001-copy")
    broken = write_run(tmp_path / "run-010", 10, [(STREAM, 94.0)])
    (broken / "run.json").write_text("{", "utf-8")
    damaged = write_run(tmp_path / "run-011", 11, [(STREAM, 94.0)])
    with (damaged / "journal.jsonl").open("ab") as journal:
        journal.write(b"00000000 {}\n")
    write_run(tmp_path / "run-012", 12, [(STREAM, 94.0)], link=Link(1e9, 1500))
    write_run(tmp_path / "run-013", 13, [(SMALL, 94.0), (STREAM, 94.0)])
    write_run(tmp_path / "run-014", 14, [(STREAM, 94.0)])
    history = of(tmp_path)
    assert [run.name for run in history.runs] == [
        *("run-000", "run-001", "run-002", "run-011", "run-013", "run-014")
    ]
    sentences = "\n".join(history.remarks).replace(str(tmp_path) + "/", "")
    assert "notes is not a run folder; left out." in sentences
    assert "run-010/run.json: " in sentences
    assert "run-001-copy started at the same time as run-001; a copy, left out." in sentences
    assert "The journal of run-011 is damaged in 1 place; intact records are used." in sentences
    assert "run-012 is left out: link’s rate: 100 Mbit/s in the baseline" in sentences
    assert "1 cell of older runs is not in run-014; it is left out." in sentences
    assert "hidden" not in sentences
    assert len(history.remarks) == 6


def test_netlab_history_leaves_out_a_run_that_is_being_written(tmp_path: Path) -> None:
    folder = a_few(tmp_path)
    plan = read_plan_of(folder / "run-002")
    with RunFolder.open_for_writing(folder / "run-002", plan):
        history = of(folder)
    assert [run.name for run in history.runs] == ["run-000", "run-001"]
    assert "run-002 is being written by netlab with pid " in history.remarks[0]


def read_plan_of(path: Path):  # type: ignore[no-untyped-def]
    from netlab.store.reader import read_plan

    return read_plan(path)[0]


def test_netlab_history_without_any_run_fails_with_the_reason(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    for folder, words in (
        (tmp_path, f"{tmp_path} is not a run folder and has none in it."),
        (tmp_path / "nowhere", "nowhere: No such file or directory; left out."),
    ):
        code, out, err = netlab(capfdbinary, "history", str(folder))
        assert (code, out) == (2, "")
        assert err.startswith(f"{folder}: no run to make a history of. ")
        assert words in err
        assert err.count("\n") == 1


def test_a_history_joins_equal_cells_and_drops_cells_that_the_last_run_lacks(
    tmp_path: Path,
) -> None:
    write_run(tmp_path / "a", 1, [(STREAM, 90.0), (SMALL, 70.0)])
    write_run(tmp_path / "b", 2, [(STREAM, 91.0)], link=LINK)
    (cell,) = of(tmp_path).cells
    assert (cell.cell, cell.figures) == (STREAM.key, (90.0, 91.0))


def test_netlab_history_refuses_a_language_for_csv(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    words = ("history", str(a_few(tmp_path)), "--format", "csv", "--lang", "de")
    code, _, err = netlab(capfdbinary, *words)
    assert (code, "--lang is for texts" in err) == (2, True)
