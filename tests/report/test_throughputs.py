"""The report has a section on throughput searches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from made_readings import failure, plan_of, planned, result
from made_reports import write_undrawn

from netlab.ethernet import frames_per_s
from netlab.findings.analysis import Analysis, load
from netlab.report.sections import parts_of, throughput_search
from netlab.report.tables.elements import Chart, Part, Table, TableCell, blank
from netlab.store.plan import Plan
from netlab.store.run_folder import RunFolder
from netlab.trial.record import HEADLINE_ENDINGS, Record, Status, Value


def of_search(frame_bytes: int, share: float | None, limit: str, **more: Value) -> dict[str, Value]:
    """The values of a search at 1 Gbit/s, with steps of half a per cent."""
    line = frames_per_s(1e9, frame_bytes)
    values: dict[str, Value] = {
        "line_rate_bit_per_s": 1e9,
        "line_frames_per_s": line,
        "limit": limit,
        "monotone": True,
        "trial_line_share": [1.0, 0.5],
        "trial_verdict": [1, 0],
    }
    if share is not None:
        values |= {"line_share": share, "frames_per_s": share * line}
    if limit != "line rate":
        upper = (share or 0.0) + 0.005
        values |= {"upper_line_share": upper, "upper_frames_per_s": upper * line}
    return values | more


def run_of(tmp_path: Path, plan: Plan, records: Sequence[Record]) -> Analysis:
    with RunFolder.open_for_writing(tmp_path / "run", plan) as folder:
        for record in records:
            folder.append(record, durable=False)
    return load(tmp_path / "run")


def made(
    tmp_path: Path, values_of: dict[int, dict[str, Value] | None], **settings: Any
) -> Analysis:
    cells = {
        size: planned("throughput_search", frame_bytes=size, direction="both", **settings)
        for size in values_of
    }
    records = [
        failure(cells[size], reason="tester-bound", detail=f"beta: tester-bound: {BOUND}")
        if values is None
        else result(cells[size], 1, values)
        for size, values in values_of.items()
    ]
    return run_of(tmp_path, plan_of(list(cells.values()), 1), records)


def part_of(run: Analysis) -> Part:
    part = throughput_search.part(run.trials)
    assert part is not None
    return part


def place(sheet: Table, row: str, column: str) -> TableCell:
    line = next(line for line in sheet.lines if line.label == row)
    return line.places[sheet.columns.index(column)]


BOUND = "generator-bound at every rate tried; busiest core: CPU 1 of beta, 100 %"


SEED = {64: 0.5, 256: 0.97, 1518: 1.0}


def seed_run(tmp_path: Path, **settings: Any) -> Analysis:
    """Shares such as the document states: small frames at half the line rate, long ones at it."""
    values_of: dict[int, dict[str, Value] | None] = {
        size: of_search(size, share, "device" if share < 1 else "line rate")
        for size, share in SEED.items()
    }
    return made(tmp_path, values_of, **settings)


def test_the_table_of_a_search_gives_each_frame_size_its_rate_line_rate_and_limit(
    tmp_path: Path,
) -> None:
    part = part_of(seed_run(tmp_path))
    (sheet,) = part.sheets
    assert [line.label for line in sheet.lines] == ["64", "256", "1518"]
    assert place(sheet, "64", "frames/s").text == "744,048"
    assert place(sheet, "64", "line rate, frames/s").text == "1,488,095"
    assert place(sheet, "64", "of the line rate, %").text == "50.00"
    assert place(sheet, "64", "did not pass, frames/s").text == "751,488"
    assert place(sheet, "64", "limit").text == "device"
    assert place(sheet, "1518", "line rate, frames/s").text == "81,274"
    assert place(sheet, "1518", "frames/s").text == "81,274"
    assert place(sheet, "1518", "did not pass, frames/s").text == ""
    assert place(sheet, "1518", "limit").text == "line rate"
    assert any("both ways at once" in text for text in part.paragraphs)


def test_the_chart_of_throughput_searches_shows_the_theoretical_maximum(tmp_path: Path) -> None:
    share, frames, _ = part_of(seed_run(tmp_path)).charts
    assert isinstance(share, Chart) and isinstance(frames, Chart)
    assert share.as_bars and frames.as_bars
    assert share.alt.startswith("Bar chart: ")
    assert [label for _, label in share.x_ticks] == ["64", "256", "1518"]
    assert share.lines[0].points == ((0.0, 50.0), (1.0, 97.0), (2.0, 100.0))
    (theory,) = frames.ceilings
    assert theory.label == "theoretical maximum, 1 Gbit/s"
    assert [round(y or 0) for _, y in theory.points] == [1488, 453, 81]
    for (_, values_of), (_, most) in zip(frames.lines[0].points, theory.points, strict=True):
        assert values_of is not None and most is not None and values_of <= most


def test_pairs_searched_together_are_stated_and_a_rate_searched_alone_has_a_footnote(
    tmp_path: Path,
) -> None:
    values_of: dict[int, dict[str, Value] | None] = {
        64: of_search(64, 0.5, "device", pairs=2),
        128: of_search(128, 0.5, "device", pairs=1),
    }
    part = part_of(made(tmp_path, values_of, together=True))
    (together,) = [text for text in part.paragraphs if "searched together" in text]
    assert "(1 or 2 at once)" in together
    (sheet,) = part.sheets
    letters = {row: place(sheet, row, "frames/s").notes for row in ("64", "128")}
    (letter,) = letters["128"]
    assert letters["64"] == ()
    assert dict(sheet.footnotes)[letter].startswith("Searched alone")


def test_every_rate_tried_is_drawn_and_rates_that_did_not_pass_are_marked(tmp_path: Path) -> None:
    values_of: dict[int, dict[str, Value] | None] = {
        64: of_search(64, 0.5, "device"),
        1518: of_search(1518, 1.0, "line rate") | {"trial_line_share": [1.0], "trial_verdict": [0]},
    }
    (chart,) = [c for c in part_of(made(tmp_path, values_of)).charts if c.name == "rates-tried-1"]
    assert isinstance(chart, Chart)
    small, long, failed = chart.lines
    assert small.points == ((1.0, 100.0), (2.0, 50.0))
    assert long.points == ((1.0, 100.0),)
    assert (failed.label, failed.joined) == ("did not pass", False)
    assert failed.points == ((1.0, 100.0),)


def test_the_title_of_a_search_table_states_the_accepted_loss(tmp_path: Path) -> None:
    part = part_of(seed_run(tmp_path, acceptable_loss=0.0001))
    assert "with a loss of at most 0.01 %" in part.sheets[0].title


def test_a_search_without_a_result_for_the_device_is_blank_with_its_reason(
    tmp_path: Path,
) -> None:
    values_of: dict[int, dict[str, Value] | None] = {
        64: None,
        128: of_search(128, None, "device"),
        256: of_search(256, 0.3, "generator-bound", monotone=False),
    }
    part = part_of(made(tmp_path, values_of))
    (sheet,) = part.sheets
    notes = dict(sheet.footnotes)

    def why(row: str) -> str:
        return " ".join(notes[letter] for letter in place(sheet, row, "frames/s").notes)

    assert place(sheet, "64", "frames/s").value is None
    assert "(tester-bound)" in why("64")
    assert "Generator-bound at every rate tried; busiest core: CPU 1 of beta, 100 %." in why("64")
    assert place(sheet, "128", "frames/s").value is None
    assert place(sheet, "128", "did not pass, frames/s").value is not None
    assert "not even the lowest rate" in why("128")
    assert "Not monotonic" in why("256")
    assert place(sheet, "256", "limit").text == "generator-bound"
    share = part.charts[0]
    assert isinstance(share, Chart)
    assert share.lines[0].points == ((0.0, None), (1.0, None), (2.0, 30.0))


def test_losses_are_listed_by_offered_rate_and_blank_if_they_do_not_concern_the_device(
    tmp_path: Path,
) -> None:
    more: dict[str, Value] = {
        "loss_line_share": [1.0, 0.9, 0.8, 0.7],
        "loss_sent_frames": [1000, 900, 800, 700],
        "loss_received_frames": [500, 450, 800, 700],
        "loss_verdict": [1, 3, 0, 0],
    }
    values_of: dict[int, dict[str, Value] | None] = {
        64: of_search(64, 0.8, "device", **more),
        1518: of_search(1518, 1.0, "line rate"),
    }
    part = part_of(made(tmp_path, values_of, frame_loss=True))
    _, losses = part.sheets
    assert [line.label for line in losses.lines] == ["64"]
    assert place(losses, "64", "100 %").text == "50.00"
    assert place(losses, "64", "80 %").value == 0
    ours = place(losses, "64", "90 %")
    assert ours.value is None
    assert "says nothing about the device" in dict(losses.footnotes)[ours.notes[0]]
    assert place(losses, "64", "60 %") == blank()
    chart = next(chart_ for chart_ in part.charts if chart_.name == "frame-loss-1")
    assert isinstance(chart, Chart)
    (line,) = chart.lines
    assert [(round(x), y) for x, y in line.points] == [(70, 0), (80, 0), (100, 50)]
    assert any("frame loss rate" in text for text in part.paragraphs)


WATCHED: dict[str, Value] = {
    "one_machine": True,
    "limit_host": "dut",
    "limit_core": 1,
    "limit_core_share": 0.994,
    "observed_1_host": "dut",
    "observed_1_busy_share": 0.6,
    "observed_1_busiest_core_share": 0.99,
    "observed_1_busiest_core": 1,
    "observed_1_queue_dropped_frames": 1234,
    "server_busy_share": 0.3,
    "server_busiest_core_share": 0.5,
    "server_busiest_core": 0,
    "server_socket_dropped_frames": 0,
}


def test_a_search_names_the_limiting_host_and_its_busiest_core_and_lists_drops_by_place(
    tmp_path: Path,
) -> None:
    values_of: dict[int, dict[str, Value] | None] = {
        64: of_search(64, 0.5, "device", **WATCHED),
        1518: of_search(1518, 1.0, "line rate"),
    }
    run = made(tmp_path, values_of)
    sheet, hosts = part_of(run).sheets
    assert place(sheet, "64", "limit").text == "device (dut: CPU 1, 99 %)"
    assert place(sheet, "1518", "limit").text == "line rate"
    assert [line.label for line in hosts.lines] == ["64, server alpha", "64, observed dut"]
    assert place(hosts, "64, observed dut", "busiest core, %").text == "99.00"
    assert place(hosts, "64, observed dut", "core").text == "CPU 1"
    assert place(hosts, "64, observed dut", "by the queues before them").text == "1,234"
    assert place(hosts, "64, observed dut", "by the receiving socket") == blank()
    assert place(hosts, "64, server alpha", "by the receiving socket").text == "0"
    (sentence,) = dict(hosts.footnotes).values()
    assert "Shared: some of the hosts have the same machine id" in sentence
    cpu = part_of(run).charts[2]
    assert isinstance(cpu, Chart)
    assert {line.label for line in cpu.lines} == {"server alpha", "observed dut"}
    assert all(line.points[1][1] is None for line in cpu.lines)


def test_a_search_lists_round_trips_per_load_and_the_length_of_bursts_per_frame_size(
    tmp_path: Path,
) -> None:
    latency: dict[str, Value] = {
        "latency_found_share": [0.1, 1.0],
        "latency_count": [100, 990],
        "latency_lost_requests": [0, 10],
        "latency_lost_frames": [0, 3],
        **{f"latency_{name}_ns": [50_000, 2_500_000] for name in ("min", "p50", "mean", "max")},
        "latency_failed_share": [0.5],
    }
    bursts: dict[str, Value] = {
        "back_to_back_each_frames": [33, 34],
        "back_to_back_frames": 33.5,
        "back_to_back_waiting_frames": 16.75,
        "back_to_back_limit": "device",
    }
    values_of: dict[int, dict[str, Value] | None] = {
        64: of_search(64, 0.5, "device", **latency, **bursts),
        1518: of_search(1518, 1.0, "line rate", back_to_back_limit="line rate"),
    }
    part = part_of(made(tmp_path, values_of, latency=True, back_to_back=2))
    _, trips, longest = part.sheets
    assert [line.label for line in trips.lines] == ["64, 10 %", "64, 50 %", "64, 100 %"]
    assert place(trips, "64, 100 %", "median, µs").value == 2500
    assert place(trips, "64, 100 %", "requests lost").text == "10"
    assert place(trips, "64, 10 %", "99 %, µs") == blank()
    without = place(trips, "64, 50 %", "round trips")
    assert without.value is None
    assert "no round trip" in dict(trips.footnotes)[without.notes[0]]
    assert place(longest, "64", "frames").text == "33.5"
    assert place(longest, "64", "waiting in the device").value == 16.75
    assert place(longest, "1518", "frames").value is None
    assert (
        "a burst of any length passes"
        in dict(longest.footnotes)[place(longest, "1518", "frames").notes[0]]
    )
    chart = next(chart_ for chart_ in part.charts if chart_.name == "latency-under-load-1")
    assert isinstance(chart, Chart)
    assert chart.lines[0].points == ((10.0, 50.0), (100.0, 2500.0))
    assert any("asks for 120 s" in text for text in part.paragraphs)
    assert any("RFC 9004" in text for text in part.paragraphs)


def test_a_search_has_a_footnote_if_the_link_is_not_the_stated_one(tmp_path: Path) -> None:
    values_of: dict[int, dict[str, Value] | None] = {
        1518: of_search(1518, 1.0, "line rate", link_paced=False)
    }
    (sheet,) = part_of(made(tmp_path, values_of)).sheets
    share = place(sheet, "1518", "of the line rate, %")
    assert "the link is not the stated one" in dict(sheet.footnotes)[share.notes[0]]


def test_the_search_section_states_trial_times_shorter_than_the_standard(tmp_path: Path) -> None:
    full_run, short_run = tmp_path / "whole", tmp_path / "short"
    for folder in (full_run, short_run):
        folder.mkdir()
    paragraphs = part_of(seed_run(full_run)).paragraphs
    assert "trials of 60 s" in paragraphs[1] and "an acceptable loss of 0 %" in paragraphs[1]
    assert not any("Some of these times were shorter" in text for text in paragraphs)
    paragraphs = part_of(seed_run(short_run, duration_s=1.0)).paragraphs
    assert any("Some of these times were shorter" in text for text in paragraphs)


def test_a_record_of_a_failed_search_that_contains_a_rate_is_refused(tmp_path: Path) -> None:
    assert "upper_frames_per_s".endswith(HEADLINE_ENDINGS)
    cell = planned("throughput_search", frame_bytes=64)
    keys: dict[str, Any] = {"status": Status.FAILED, "reason": "tester-bound"}
    with pytest.raises(ValueError, match="but frames_per_s is given"):
        run_of(tmp_path, plan_of([cell], 1), [result(cell, 1, {"frames_per_s": 1.0}, **keys)])


def test_the_page_of_a_throughput_search_has_its_section_and_its_charts(tmp_path: Path) -> None:
    run = seed_run(tmp_path)
    write_undrawn(run)
    page = (run.path / "index.html").read_text(encoding="utf-8")
    assert "The highest rate without loss (RFC 2544)" in page
    assert (run.path / "charts" / "rate-without-loss-share.svg").is_file()


def test_a_run_without_throughput_searches_has_no_section_on_searches(tmp_path: Path) -> None:
    cell = planned("round_trip")
    run = run_of(tmp_path, plan_of([cell], 1), [failure(cell)])
    parts = parts_of(load(run.path), run.trials)
    assert "rate-without-loss" not in {part.name for part in parts}
