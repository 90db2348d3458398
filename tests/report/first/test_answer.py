"""The answer of a run: a verdict for each kind of test, few rows, what to doubt, on one screen."""

from __future__ import annotations

import json
import random
from functools import cache
from itertools import pairwise, product
from pathlib import Path

import pytest
from folders import ROOT
from made_parts import made_run
from made_readings import plan_of, planned, result
from made_reports import RECORDED, overview_text
from made_streams import stream, stream_run

from netlab.findings.analysis import Analysis, load
from netlab.findings.finding import Kind
from netlab.report import Report
from netlab.report.answer import MOST_ROWS, MOST_WARNINGS, MOST_WORDS, RunAnswer, answer_of
from netlab.report.first_picture import pictures
from netlab.report.language import Wording, wording_in
from netlab.stats import interval, mean
from netlab.store.plan import PlannedCell

ANSWERS = ROOT / "tests" / "recorded" / "answers.txt"
"""The answers of all recorded runs and of first measurements as an 80-column terminal shows them,
for people to read. Made by ``python tests/report/first/test_answer.py``."""
SCREEN = 24
FIRST = ROOT / "tests" / "recorded" / "runs"
"""What a newcomer measures first: `make demo`, `netlab measure`, and that between two hosts."""
FOLDERS = {path.name: path for path in (*sorted(FIRST.iterdir()), *RECORDED)}
RUNS = [
    # The pinned run takes longest, and shows what the unpinned one shows.
    pytest.param(name, marks=[pytest.mark.night] if "pinned" in name else [])
    for name in FOLDERS
]


@cache
def recorded(name: str) -> Analysis:
    return load(FOLDERS[name])


@cache
def answer(name: str) -> RunAnswer:
    return answer_of(recorded(name))


def shown(name: str) -> str:
    return f"---- {name}\n\n{overview_text(recorded(name), width=80)}\n"


@pytest.mark.parametrize("name", RUNS)
def test_the_answer_of_a_recorded_run_is_as_reviewed(name: str) -> None:
    assert shown(name) in ANSWERS.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", RUNS)
def test_the_answer_of_a_recorded_run_fits_on_one_screen(name: str) -> None:
    lines = overview_text(recorded(name), width=80).split("\n")
    assert len(lines) <= SCREEN
    assert max(map(len, lines)) <= 80
    for line in answer(name).verdicts:
        assert len(line.sentence.split()) <= MOST_WORDS
    assert sum(len(one.rows) for one in answer(name).tables) <= MOST_ROWS
    assert len(answer(name).warnings) <= MOST_WARNINGS


@pytest.mark.parametrize("name", RUNS)
def test_each_row_is_the_mean_of_the_records_of_its_cells(name: str) -> None:
    run = recorded(name)
    measured = {
        record.key: [
            value
            for ending in ("throughput_bit_per_s", "rtt_mean_ns", "increase_ns")
            for flow in ("", "to_server_", "to_client_")
            if (value := record.number(f"{flow}{ending}")) is not None
        ]
        for record in run.latest.values()
    }
    for one in answer(name).tables:
        for row in one.rows:
            assert row.mean == pytest.approx(mean([place.mean for place in row.places]))
            for place in row.places:
                numbers = {n for record in place.trials for n in measured.get(record.key, ())}
                if numbers:
                    of_records = {value * place.quantity.scale for value in place.values}
                    assert all(min(abs(n / v - 1) for n in numbers) < 1e-9 for v in of_records)


@pytest.mark.parametrize("name", RUNS)
def test_the_lines_of_an_answer_lead_to_cells_of_the_run(name: str) -> None:
    cells = {cell.key for cell in recorded(name).plan.cells}
    for line in (*answer(name).verdicts, *answer(name).warnings):
        assert {*line.cells} <= cells
    assert all(line.cells and line.section for line in answer(name).verdicts)


def report_of(name: str) -> Report:
    return Report(recorded(name), Wording())


def test_a_comparison_on_the_first_screen_counts_the_cells_that_differ() -> None:
    woken, checksum = report_of("udp-mirror-lab-unshaped").compared
    assert woken.sentence == (
        "A mirror that never sleeps, against one that is woken: mean round trip 26 to 33 % shorter "
        "in 3 of 4 pairs of cells; mean time in the mirror’s stack 65 to 69 % shorter in 4 of 4 "
        "pairs of cells"
    )
    assert checksum.sentence.startswith("Without the UDP checksum, against with it: ")


def test_the_first_lines_of_the_recorded_run_of_three_engines_state_each_fact_once() -> None:
    report = report_of("engines-lab")
    assert [line.sentence for line in report.compared] == [
        "No significant difference in any pair of cells: iperf3 against netprobe (throughput, 14 "
        "pairs); netperf against netprobe (throughput, 14 pairs; mean round trip, 4 pairs)"
    ]
    assert [str(line.sentence)[:33] for line in report.answer.warnings] == [
        "LL TCP 1448: round trips took 123",
        "LL UDP 1472: the figure of netper",
        "LL: 9 of 150 trials took 1.02 s t",
    ]


# ---- made runs: what is lowest, what limits, what is averaged


@pytest.mark.parametrize("seed", range(8))
def test_the_lowest_cell_of_a_verdict_is_the_lowest_of_all(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311  (no secret)
    sizes = draw.sample([64, 128, 256, 512, 1024, 1448], draw.randint(2, 5))
    streams = draw.sample([1, 2, 4, 8], draw.randint(1, 4))
    figures = {
        (size, number): [draw.uniform(5.0, 90.0) for _ in range(draw.randint(1, 4))]
        for size, number in product(sizes, streams)
    }
    run = made(tmp_path, figures)
    (one,) = answer_of(run).tables
    (verdict,) = answer_of(run).verdicts
    cells = {
        (cell.settings["message_bytes"], cell.settings["streams"]): cell.key
        for cell in run.plan.cells
    }
    lowest = min(figures, key=lambda at: mean(figures[at]) / ceiling(run, cells[at]))
    assert verdict.cells[0] == cells[lowest]
    shown_cells = [place.cell for row in one.rows for place in row.places]
    assert len(shown_cells) == len({*shown_cells})
    if not one.left_out:
        assert {*shown_cells} == {*cells.values()}
    for row in one.rows:
        assert row.trials == sum(len(place.values) for place in row.places)
        if len(row.places) == 1 and len(row.places[0].values) >= 3:
            bounds = interval(row.places[0].values)
            assert row.ends == (bounds.low, bounds.high)


def made(folder: Path, figures: dict[tuple[int, int], list[float]]) -> Analysis:
    """(message size, streams) → Mbit/s of each trial."""
    cells = [(stream(size=at[0], streams=at[1]), values) for at, values in figures.items()]
    return stream_run(folder, *cells)


def ceiling(run: Analysis, cell: str) -> float:
    (most, *_same) = {s.ceiling_bit_per_s for s in run.samples if s.cell == cell}
    assert most is not None
    return most / 1e6


def test_a_row_with_a_known_limit_says_what_to_change_and_an_unknown_one_says_why(
    tmp_path: Path,
) -> None:
    (one,) = answer_of(stream_run(tmp_path / "a", (stream(), (94.1, 94.1, 94.1)))).tables
    assert (one.rows[0].limit.words, one.rows[0].limit.known) == ("the wire", True)
    report = answer_of(stream_run(tmp_path / "b", (stream(), (94.1, 94.1, 94.1)), link=None))
    limit = report.tables[0].rows[0].limit
    assert (limit.words, limit.known) == ("unknown", False)
    assert limit.advice == "the link’s rate is not stated: give it with --link, or in the matrix"
    assert report.advices == (
        "Unknown: the link’s rate is not stated: give it with --link, or in the matrix.",
    )


def test_rows_are_told_apart_by_settings_that_matter_only_together(tmp_path: Path) -> None:
    # The mean of each value of streams and buffer is the same: only their pair makes a difference.
    cells = []
    for size, streams, buffer in product((64, 576, 1448), (1, 2), (16384, 65536)):
        figure = 80.0 if (streams == 1) == (buffer == 16384) else 20.0
        cell = stream(size=size, streams=streams, socket_buffer_bytes=buffer)
        cells.append((cell, (figure, 1.01 * figure, 0.99 * figure)))
    answer = answer_of(stream_run(tmp_path / "run", *cells))
    (one,) = answer.tables
    assert {*one.axes} == {"streams", "socket_buffer_bytes"}
    assert one.averaged == ("message_bytes",)
    assert [round(row.mean) for row in one.rows] == [80, 20, 20, 80]
    assert [line.sentence for line in answer.matters] == [
        "Throughput over TCP: Socket buffer and streams explain more than 99.9 % of the variation."
    ]


@pytest.mark.parametrize("name", ["engines-lab", "lab-report", "lab-report-lab"])
def test_the_picture_has_each_row_between_the_shares_of_its_lowest_and_highest_cell(
    name: str,
) -> None:
    picture, *_more = pictures(answer(name), ())
    (first, *_others) = (one for one in answer(name).tables if len(one.rows) > 1)
    whiskers = [
        [float(dict(mark.attributes)[end]) for end in ("x1", "x2")]
        for mark in picture.scenes[0].marks
        if dict(mark.attributes).get("class") == "whisker"
    ]
    shares = [[place.share or 0.0 for place in row.places] for row in first.rows]
    ends = [(min(own), max(own)) for own in shares]
    assert len(whiskers) == len(ends)
    for end in (0, 1):
        drawn = sorted(range(len(ends)), key=lambda at: whiskers[at][end])
        values = [ends[at][end] for at in drawn]
        # A pixel is less than 0.5 % of the axis.
        assert all(one <= 1.01 * other for one, other in pairwise(values))


def test_an_answer_as_data_has_the_figures_of_its_tables_and_the_cells_behind_them() -> None:
    data = json.loads(json.dumps(answer("lab-report-lab").as_dict()))
    (shown_table,) = data["tables"]
    (one,) = answer("lab-report-lab").tables
    for row, known in zip(shown_table["rows"], one.rows, strict=True):
        means = [place.mean for place in known.places]
        ends = (mean(means), min(means), max(means))
        assert (row["mean"], row["low"], row["high"]) == pytest.approx(ends)
        assert row["cells"] == [place.cell for place in known.places]
        assert [*row["levels"]] == ["protocol", "message_bytes"]
    verdict = answer("lab-report-lab").verdicts[0]
    assert data["verdicts"] == [{"sentence": verdict.sentence, "cells": [*verdict.cells]}]


@pytest.mark.parametrize("name", RUNS)
def test_the_wire_limits_no_row_whose_mean_is_below_it(name: str) -> None:
    rows = [row for one in answer(name).tables for row in one.rows]
    at_wire = [row for row in rows if row.limit.words == Kind.WIRE_CEILING.limit]
    assert all((row.share or 0.0) >= 0.96 for row in at_wire)


def test_data_that_stays_within_one_host_has_a_row_of_its_own() -> None:
    (one,) = answer("connection-kinds").tables
    assert one.axes[:1] == ("inside",)
    assert [row.levels[0] for row in one.rows] == ["within one host", "over a cable"] * 2
    assert "4.393 Gbit/s" not in answer("connection-kinds").verdicts[0].sentence


def test_the_sender_comes_first_whichever_end_it_is(tmp_path: Path) -> None:
    from netlab.report.answer import way_of

    server_sends = planned("stream", pairing="linux-a+linux-b", direction="server-sends")
    client_sends = planned("stream", pairing="linux-a+linux-b")
    both = planned("stream", pairing="WL", direction="both")
    records = [result(cell, 1, {}) for cell in (server_sends, client_sends, both)]
    assert [str(way_of(record)) for record in records[:2]] == [
        "linux-a to linux-b",
        "linux-b to linux-a",
    ]
    ways = [str(way_of(records[2], flow)) for flow in ("to server", "to client")]
    assert ways == ["Linux to Windows", "Windows to Linux"]


def search(share_of: dict[int, float], folder: Path) -> RunAnswer:
    cells: dict[int, PlannedCell] = {
        size: planned("throughput_search", frame_bytes=size) for size in share_of
    }
    records = [
        result(
            cell,
            1,
            {
                "frames_per_s": share_of[size] * 1e6 / size,
                "line_share": share_of[size],
                "limit": "device",
            },
        )
        for size, cell in cells.items()
    ]
    folder.mkdir()
    return answer_of(made_run(folder, plan_of([*cells.values()], 1), records))


def test_the_verdict_of_a_search_counts_frame_sizes_at_line_rate_and_names_the_lowest(
    tmp_path: Path,
) -> None:
    (line,) = search({64: 0.51, 512: 0.999, 1518: 1.0}, tmp_path / "a").verdicts
    assert (
        line.sentence
        == "2 of 3 cells fill the wire; the lowest (frame size 64 B) reaches 51 %: device"
    )
    (line,) = search({64: 0.8, 512: 0.8, 1518: 0.8}, tmp_path / "b").verdicts
    assert line.sentence == "Every cell reaches 80.0 % of the wire ceiling: device"


def test_a_run_without_a_result_has_no_verdict(tmp_path: Path) -> None:
    run = made_run(tmp_path, plan_of([planned("stream")], 1), [])
    assert not answer_of(run).verdicts
    assert not answer_of(run).tables


def test_the_answer_is_shown_in_german() -> None:
    text = Report(recorded("nettest-lab"), wording_in("de")).overview_text(80)
    assert "Jede Zelle füllt die Leitung: 99,9 % ihrer Obergrenze" in text


if __name__ == "__main__":
    ANSWERS.write_text("\n".join(map(shown, FOLDERS)), encoding="utf-8")
