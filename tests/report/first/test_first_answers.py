"""The first screen answers each test of a run in one sentence."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from folders import REPORTS
from made_parts import made_run
from made_readings import plan_of, planned, result
from made_reports import RECORDED
from made_streams import stream, stream_run

from netlab.ethernet import Link
from netlab.findings.analysis import load
from netlab.report import Report
from netlab.report.language import Wording
from netlab.report.sections import (
    MOST_WARNINGS,
    FirstLines,
    round_trips,
    streams,
    throughput_search,
)
from netlab.results.layout import lay_out


@cache
def lines_of(name: str) -> FirstLines:
    return Report(load(REPORTS / name), Wording()).first_lines


@pytest.mark.parametrize(
    ("name", "sentences"),
    [
        (
            "lab-report",
            [
                "TCP reaches the wire ceiling from 64 bytes upwards in LL and WL; from 65536 bytes "
                "upwards in LW: 99.0 to 100.1 % of it at the median, in 113 of 117 cells; lowest: "
                "0.19 Mbit/s, 0.2 % of the ceiling, in WW with 65536 bytes",
                "UDP reaches the wire ceiling from 64 bytes upwards in LL; from 576 bytes upwards "
                "in WL: 98.3 to 100.0 % of it at the median, in 78 of 88 cells; lowest: "
                "2.58 Mbit/s, 5.2 % of the ceiling, in WL with 64 bytes; no result in WW",
            ],
        ),
        (
            "nettest-lab",
            [
                "TCP, 1448 bytes: 94.014 ± 0.041 Mbit/s of payload (10 trials), 99.9 % of the wire "
                "ceiling (94.15 Mbit/s)",
                "UDP, 1472 bytes: 95.57 ± 0.13 Mbit/s of payload (15 trials), 99.9 % of the wire "
                "ceiling (95.71 Mbit/s)",
            ],
        ),
        (
            "nettest-lab-unshaped",
            [
                "TCP, 1448 bytes: 1.518 ± 0.089 Gbit/s of payload (10 trials)",
                "UDP, 1472 bytes: 1.82 ± 0.12 Gbit/s of payload (15 trials)",
                "TCP 1448: 70.5 ± 6.3 µs a round trip (10 trials), 99 % within 127.7 µs",
            ],
        ),
        (
            "payload-lab",
            [
                "IPv4: one frame carries 1448 bytes over TCP and 1472 bytes over UDP; path MTU "
                "1500 bytes",
                "IPv6: one frame carries 1428 bytes over TCP and 1452 bytes over UDP; path MTU "
                "1500 bytes",
                "UDP: one byte more than fits into a frame costs 4.5 to 6.5 % of throughput",
            ],
        ),
        (
            "connection-kinds",
            [
                "TCP: 85.6 to 93.7 Mbit/s between 7 pairs; slowest colinux-winpcap-bridge to "
                "linux: 26.3 Mbit/s",
                "UDP: 85.5 to 99.3 Mbit/s between 7 pairs; slowest linux to colinux-tap-router: "
                "84.7 Mbit/s",
            ],
        ),
    ],
)
def test_the_answers_of_a_recorded_run_are_one_sentence_per_test(
    name: str, sentences: list[str]
) -> None:
    assert [line.sentence for line in lines_of(name).answers] == sentences


def test_a_comparison_on_the_first_screen_counts_the_cells_that_differ() -> None:
    woken, checksum = lines_of("udp-mirror-lab-unshaped").comparisons
    assert woken.sentence == (
        "A mirror that never sleeps, against one that is woken: mean round trip 26 to 33 % shorter "
        "in 3 of 4 pairs of cells; mean time in the mirror’s stack 65 to 69 % shorter in 4 of 4 "
        "pairs of cells"
    )
    assert checksum.sentence == (
        "Without the UDP checksum, against with it: mean round trip and mean time in the mirror’s "
        "stack without a significant difference in any of 4 pairs of cells"
    )


@pytest.mark.parametrize(
    "name",
    [
        # The pinned run takes longest, and shows what the unpinned one shows.
        pytest.param(path.name, marks=[pytest.mark.night] if "pinned" in path.name else [])
        for path in RECORDED
    ],
)
def test_answers_of_a_recorded_run_link_to_its_cells_and_warnings_are_few(name: str) -> None:
    run = load(REPORTS / name)
    lines, cells = lines_of(name), {cell.key for cell in run.plan.cells}
    assert lines.answers
    for line in (*lines.answers, *lines.comparisons):
        assert line.cells
        assert line.section
    assert all({*line.cells} <= cells for line in (*lines.answers, *lines.warnings))
    assert len(lines.warnings) <= MOST_WARNINGS


def test_an_answer_leads_to_the_slowest_cell() -> None:
    run = load(REPORTS / "lab-report")
    values = {r.cell: r.flows[""].throughput_bit_per_s for r in run.trials if r.status == "ok"}
    udp = lines_of("lab-report").answers[1]
    (slowest_cell,) = (cell for cell in run.plan.cells if cell.key == udp.cells[0])
    rates = [
        values[c.key]
        for c in run.plan.cells
        if c.pairing == slowest_cell.pairing
        and c.settings.get("message_bytes") == 64
        and c.settings.get("protocol") == "UDP"
        and values.get(c.key) is not None
    ]
    assert values[udp.cells[0]] == min(value for value in rates if value is not None)


def test_the_answer_of_a_search_states_the_smallest_frame_at_line_rate_and_shares_below_it(
    tmp_path: Path,
) -> None:
    cells = {size: planned("throughput_search", frame_bytes=size) for size in (64, 512, 1518)}
    shares = {64: 0.51, 512: 0.999, 1518: 1.0}
    records = [
        result(cell, 1, {"line_share": shares[size], "limit": "device"})
        for size, cell in cells.items()
    ]
    (line,) = throughput_search.answers(
        made_run(tmp_path, plan_of([*cells.values()], 1), records).trials
    )
    assert "line rate without loss from 512 bytes upwards; 64 bytes: 51.0 % of the line rate" in (
        line.sentence
    )
    assert line.cells[0] == cells[64].key


def test_a_search_with_equal_shares_at_all_frame_sizes_has_a_single_answer(tmp_path: Path) -> None:
    cells = {size: planned("throughput_search", frame_bytes=size) for size in (64, 512, 1518)}
    records = [result(cell, 1, {"line_share": 0.8, "limit": "device"}) for cell in cells.values()]
    (line,) = throughput_search.answers(
        made_run(tmp_path, plan_of([*cells.values()], 1), records).trials
    )
    assert line.sentence.endswith(
        "80.0 % of the line rate without loss at every frame size; limit: device"
    )
    assert line.cells[0] == cells[64].key


def test_cells_of_one_pairing_and_size_are_answered_with_the_range_of_their_means(
    tmp_path: Path,
) -> None:
    cells = [
        (stream(variant=f"offload={state}"), figures)
        for state, figures in (("on", (900.0, 1100.0)), ("off", (300.0,)), ("mixed", (500.0, None)))
    ]
    report = Report(stream_run(tmp_path / "run", *cells, link=None), Wording())
    (line,) = report.first_lines.answers
    assert line.sentence == (
        "TCP, 1448 bytes: 300.00 Mbit/s to 1.000 Gbit/s of payload, means of 3 cells"
    )


def test_a_run_without_a_result_has_no_answers() -> None:
    assert streams.answers(lay_out([]), Link(rate_bit_per_s=100_000_000, mtu_bytes=1500)) == ()
    assert round_trips.answers([]) == ()
