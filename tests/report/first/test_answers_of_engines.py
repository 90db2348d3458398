"""The first screen states whose figures it gives if several engines measured a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from folders import REPORTS
from made_parts import made_run
from made_readings import of_round_trips, plan_of, planned, result
from made_streams import stream_values

from netlab.ethernet import Link
from netlab.findings.analysis import load
from netlab.report import Report
from netlab.report.first_picture.scenes import HeatPanel, Spot, heat_picture
from netlab.report.language import Wording
from netlab.report.sections import FirstLines, round_trips, streams
from netlab.results.layout import lay_out

LINK = Link(rate_bit_per_s=100_000_000, mtu_bytes=1500)
Figures = Mapping[tuple[str | None, str, int], float]


def said(path: Path, figures: Figures, link: Link | None = LINK) -> list[str]:
    """(Engine, protocol, message size) → Mbit/s of three trials; the lines about streams."""
    cells = {
        key: planned("stream", engine=key[0], protocol=key[1], message_bytes=key[2])
        for key in figures
    }
    records = [
        result(cell, trial, stream_values(figures[key]) or {})
        for key, cell in cells.items()
        for trial in (1, 2, 3)
    ]
    path.mkdir(exist_ok=True)
    run = made_run(path, plan_of([*cells.values()], 3), records)
    return [line.sentence for line in streams.answers(lay_out(run.trials), link)]


def test_the_answer_states_the_figures_of_netprobe_first_and_then_those_of_other_tools(
    tmp_path: Path,
) -> None:
    figures: Figures = {
        (None, "UDP", 64): 48.9,
        (None, "UDP", 1472): 95.7,
        ("iperf3", "UDP", 64): 47.0,
        ("netperf", "UDP", 1472): 98.0,
    }
    assert said(tmp_path, figures) == [
        "UDP reaches the wire ceiling from 64 bytes upwards in LL: 99.3 to 100.0 % of it, by "
        "netprobe; iperf3 and netperf: 95.5 to 102.4 %"
    ]


def test_protocols_that_reach_the_ceiling_alike_share_an_answer(tmp_path: Path) -> None:
    figures: Figures = {
        (None, "UDP", 64): 48.9,
        (None, "UDP", 1472): 95.7,
        (None, "TCP", 64): 94.0,
        (None, "TCP", 1448): 94.1,
    }
    assert said(tmp_path / "a", figures) == [
        "TCP and UDP reach the wire ceiling from 64 bytes upwards in LL: 99.3 to 100.0 % of it"
    ]
    slow = {**figures, (None, "TCP", 64): 60.0}
    assert [line.split()[0] for line in said(tmp_path / "b", slow)] == ["TCP", "UDP"]
    by_tool = {**figures, ("iperf3", "TCP", 64): 94.0}
    assert [line.split()[0] for line in said(tmp_path / "c", by_tool)] == ["TCP", "UDP"]
    later = {key: 94.0 if key[1] == "TCP" else rate for key, rate in figures.items()}
    later[None, "UDP", 64] = 30.0
    assert [line.split()[0] for line in said(tmp_path / "d", later)] == ["TCP", "UDP"]


def test_an_answer_without_netprobe_names_the_tools_only_if_there_are_several(
    tmp_path: Path,
) -> None:
    figures: Figures = {("iperf3", "UDP", 64): 48.9, ("netperf", "UDP", 64): 40.0}
    (line,) = said(tmp_path / "a", figures)
    assert line == (
        "UDP reaches the wire ceiling from 64 bytes upwards in LL (iperf3): 99.3 % of it; lowest: "
        "40.00 Mbit/s, 81.2 % of the ceiling, in LL (netperf) with 64 bytes"
    )
    (line,) = said(tmp_path / "b", {("iperf3", "UDP", 64): 48.9, ("iperf3", "UDP", 1472): 95.7})
    assert "iperf3" not in line


def test_if_the_link_is_unknown_an_answer_states_the_rates_that_other_tools_measured(
    tmp_path: Path,
) -> None:
    figures: Figures = {
        (None, "UDP", 64): 48.9,
        (None, "UDP", 1472): 95.7,
        ("iperf3", "UDP", 64): 47.0,
        ("iperf3", "UDP", 1472): 95.0,
    }
    (line,) = said(tmp_path, figures, None)
    assert line.endswith(", by netprobe; iperf3: 47.00 Mbit/s to 95.00 Mbit/s")


@pytest.mark.parametrize(
    ("slower_ns", "sentence"),
    [
        (104_000, "UDP 18: a round trip takes 100.0 ± 5.0 to 104.0 ± 5.0 µs"),
        (
            120_000,
            "UDP 18: a round trip takes 100.0 ± 5.0 µs (netprobe) to 120.0 ± 5.0 µs (netperf)",
        ),
    ],
)
def test_an_answer_names_engines_only_if_their_intervals_do_not_overlap(
    tmp_path: Path, slower_ns: int, sentence: str
) -> None:
    cells = [
        (planned("round_trip"), 100_000),
        (planned("round_trip", engine="netperf"), slower_ns),
    ]
    records = [
        result(cell, trial, of_round_trips([mean_ns + off_ns] * 9))
        for cell, mean_ns in cells
        for trial, off_ns in enumerate((-2_000, 0, 2_000), 1)
    ]
    run = made_run(tmp_path, plan_of([cell for cell, _mean in cells], 3), records)
    assert [line.sentence for line in round_trips.answers(run.trials)] == [sentence]


# ---- the recorded page of three engines ----------------------------------------------------------


@pytest.fixture(scope="module")
def lines() -> FirstLines:
    return Report(load(REPORTS / "engines-lab"), Wording()).first_lines


def test_the_first_lines_of_the_recorded_run_of_three_engines_state_each_fact_once(
    lines: FirstLines,
) -> None:
    assert lines.answers[0].sentence == (
        "TCP and UDP reach the wire ceiling from 64 bytes upwards in LL: 99.3 to 100.0 % of it, by "
        "netprobe; iperf3 and netperf: 96.3 to 102.4 %"
    )
    assert [line.sentence for line in lines.comparisons] == [
        "No significant difference in any pair of cells: iperf3 against netprobe (throughput, 14 "
        "pairs); netperf against netprobe (throughput, 14 pairs; mean round trip, 4 pairs)"
    ]
    assert [str(line.sentence)[:33] for line in lines.warnings] == [
        "LL TCP 1448: round trips took 123",
        "LL UDP 1472: the figure of netper",
    ]


# ---- the map -------------------------------------------------------------------------------------


def test_panels_of_a_heat_map_with_equal_columns_share_their_column_names() -> None:
    spot = Spot(99.0, "99", "a place")
    wide, narrow = ("TCP 64", "UDP 64"), ("TCP 64",)

    def names(*columns: tuple[str, ...]) -> int:
        panels = [HeatPanel("p", ("row",), names, ((spot,) * len(names),)) for names in columns]
        marks = heat_picture("t", panels, of_what="%").scenes[0].marks
        return sum("TCP 64" in str(mark) for mark in marks)

    assert names(wide, wide, wide, wide) == 2
    assert names(wide, wide, wide) == 2
    assert names(wide, wide, narrow, narrow) == 4
    assert names(wide, narrow, wide, wide) == 3


def test_an_unplanned_heat_map_place_is_empty_and_a_place_without_a_result_is_hatched() -> None:
    def looks(spot: Spot | None) -> tuple[bool, bool]:
        panel = HeatPanel("p", ("row",), ("a", "b"), ((Spot(99.0, "", "x"), spot),))
        picture = heat_picture("t", [panel], of_what="%")
        hatched = any("blank-spot" in str(mark) for mark in picture.scenes[0].marks)
        return hatched, any(look == "blank-spot" for look, _label in picture.legend)

    assert looks(None) == (False, False)
    assert looks(Spot(None, "", "no answer")) == (True, True)
