"""Findings by the wire ceiling report falls, missing timestamps and excesses."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from made_findings import BUFFERS, LINK, measured, run_of, stream

from netlab.ethernet import Link
from netlab.findings.analysis import Analysis
from netlab.findings.buffers import above_any, falls, without_timestamps
from netlab.findings.finding import Finding, Group, Kind
from netlab.findings.series import Series, series_of

WITH, WITHOUT = 1e8 * 1448 / 1538, 1e8 * 1460 / 1538
"""TCP's ceilings on 100 Mbit/s, with timestamps and without: 94.148 and 94.928 Mbit/s."""


def column(mbit: Sequence[float | None], **more: Any) -> Analysis:
    return measured({size: [figure] for size, figure in zip(BUFFERS, mbit, strict=False)}, **more)


def keys(*places: int) -> tuple[str, ...]:
    return tuple(f"LL-{BUFFERS[at]}" for at in places)


# ---- a fall from the ceiling ---------------------------------------------------------------------


def fall(run: Analysis, explained: Collection[str] = ()) -> tuple[Finding, ...]:
    return falls(series_of(run), explained)


FULL = [94.0] * 4


def test_a_fall_from_the_ceiling_names_its_cells_and_figures() -> None:
    (finding,) = fall(column([*FULL, 80.0, 70.0, 75.0]))
    assert (finding.kind, finding.severity) == (Kind.UNEXPLAINED_FALL, "note")
    assert (finding.group, finding.cells) == (Group("LL", "TCP", 1500), keys(4, 5, 6))
    assert finding.evidence == {
        "from_socket_buffer_bytes": BUFFERS[4],
        "expected": pytest.approx(94e6),
        "least": pytest.approx(70e6),
        "last": pytest.approx(75e6),
        "ceiling_bit_per_s": pytest.approx(WITH),
        "cells": 7,
        "full_cells": 4,
    }


def test_a_fall_from_the_ceiling_is_reported_with_the_wire_ceiling_of_its_last_cell() -> None:
    small = {BUFFERS[6]: {"mss_bytes": 1000}}
    (finding,) = fall(column([*FULL, 80.0, 70.0, 75.0], effective=small))
    assert finding.evidence["ceiling_bit_per_s"] == pytest.approx(1e8 * 1000 / 1090)


@pytest.mark.parametrize(
    ("mbit", "cell_count"),
    [
        ([*FULL[1:], 80.0, 70.0, 75.0], 0),
        ([*FULL, 80.0, 70.0], 0),
        ([*FULL, 80.0, None, 70.0, 75.0], 3),
        ([*FULL, None, 80.0, 70.0, None], 0),
        ([94.0, 94.0, 60.0, 94.0, 94.0, 80.0, 70.0, 75.0], 3),
        ([94.0, 94.0, 94.0, 80.0, 70.0, 75.0, 94.0], 0),
        # 98 % of the ceiling are 92.265 Mbit/s.
        ([94.0, 94.0, 94.0, 92.3, 80.0, 70.0, 75.0], 3),
        ([94.0, 94.0, 94.0, 92.2, 80.0, 70.0, 75.0], 0),
        # Five times 1 % of 94 are 4.7: 89.3.
        ([*FULL, 89.2, 70.0, 75.0], 3),
        ([*FULL, 89.4, 70.0, 75.0], 0),
        ([*FULL, 70.0, 75.0, 89.4], 0),
    ],
)
def test_a_fall_from_the_ceiling_needs_four_cells_at_the_ceiling_and_then_three_far_below(
    mbit: Sequence[float | None], cell_count: int
) -> None:
    assert [len(finding.cells) for finding in fall(column(mbit))] == (
        [cell_count] if cell_count else []
    )


def test_a_fall_needs_cells_at_98_percent_of_the_ceiling_and_a_drop_of_over_5_percent() -> None:
    link = Link(153_800_000.0, 1500)
    at = 0.98 * 144.8
    assert fall(column([144.0, 144.0, 144.0, at, 90.0, 90.0, 90.0], link=link)) != ()
    # 5 % of 140 are 7.
    slow = Link(153_800_000.0 / 144.8 * 140, 1500)
    assert fall(column([140.0] * 4 + [133.0, 90.0, 90.0], link=slow)) == ()
    assert fall(column([140.0] * 4 + [132.9, 90.0, 90.0], link=slow)) != ()


def test_a_fall_must_be_deeper_if_the_full_cells_scatter_or_printed_figures_are_coarse() -> None:
    # Median 93.2, each 0.8 to 0.9 off it: 5 x 1.4826 x 0.8 are 5.93.
    scattered = [92.4, 92.4, 94.0, 94.1]
    assert fall(column([*scattered, 88.0, 70.0, 70.0])) == ()
    assert fall(column([*scattered, 87.0, 70.0, 70.0])) != ()
    # Five times three steps of 1 Mbit/s are 15.
    coarse = {"printed_step_bit_per_s": 1e6}
    assert fall(column([*FULL, 79.5, 70.0, 70.0], values=coarse)) == ()
    assert fall(column([*FULL, 78.5, 70.0, 70.0], values=coarse)) != ()
    last = {BUFFERS[7]: coarse}
    assert fall(column([*FULL, 79.5, 70.0, 70.0, 70.0], effective=last)) == ()


def test_a_fall_from_the_ceiling_with_one_explained_cell_is_not_reported() -> None:
    run = column([*FULL, 80.0, 70.0, 75.0])
    for at in (4, 5, 6):
        assert fall(run, set(keys(at))) == ()
    assert len(fall(run, {*keys(0, 1, 2, 3), "another"})) == 1


def test_a_fall_from_the_ceiling_ignores_loopback_cells_and_needs_a_stated_link() -> None:
    mbit = [*FULL, 80.0, 70.0, 75.0]
    assert fall(column(mbit, link=None)) == ()
    assert fall(column(mbit, values={"same_host": True})) == ()
    loopback = {BUFFERS[4]: {"same_host": True}}
    assert fall(column(mbit, effective=loopback)) == ()
    (finding,) = fall(column([*mbit, 60.0], effective=loopback))
    assert (finding.evidence["cells"], finding.cells) == (7, keys(5, 6, 7))


def both_ways(upload: Sequence[float], download: Sequence[float]) -> Analysis:
    values = {
        size: {
            "to_server_throughput_bit_per_s": server_mbit * 1e6,
            "to_client_throughput_bit_per_s": client_mbit * 1e6,
        }
        for size, server_mbit, client_mbit in zip(BUFFERS, upload, download, strict=False)
    }
    series: dict[int, list[float | None]] = {size: [1.0] for size in BUFFERS[: len(upload)]}
    return measured(series, asked=stream(direction="both"), effective=values)


def test_with_data_both_ways_cells_are_full_at_96_percent_and_directions_are_separate() -> None:
    # 96 % of the ceiling are 90.38 Mbit/s, 98 % are 92.27.
    tail = [60.0, 60.0, 60.0]
    (finding,) = fall(both_ways([90.5] * 4 + tail, [90.3] * 4 + tail))
    assert finding.group.flow == "to server"
    assert fall(column([90.5] * 4 + tail)) == ()


# ---- no timestamps -------------------------------------------------------------------------------


def unrecorded(mbit: Sequence[float | None], **more: Any) -> tuple[Series, ...]:
    """Figures of TCP without recorded options."""
    run = column(mbit, **more)
    records = [
        replace(r, values={k: v for k, v in r.values.items() if k != "tcp_timestamps"})
        for r in run.records
    ]
    return series_of(run_of(run.plan, records))


def bare(mbit: Sequence[float | None], *, imported: bool = False, **more: Any) -> list[Finding]:
    return list(without_timestamps(unrecorded(mbit, **more), imported=imported))


def test_tcp_above_the_ceiling_with_timestamps_is_reported_with_both_ceilings() -> None:
    (finding,) = bare([94.6, 94.0, 94.5, 94.8, None])
    assert (finding.kind, finding.severity) == (Kind.NO_TIMESTAMPS, "note")
    assert (finding.group, finding.cells) == (Group("LL", "TCP", 1500), keys(0, 2, 3))
    assert finding.evidence == {
        "throughput_bit_per_s": pytest.approx(94.6e6),
        "ceiling_without_bit_per_s": pytest.approx(WITHOUT),
        "ceiling_with_bit_per_s": pytest.approx(WITH),
        "cells": 4,
    }


@pytest.mark.parametrize(
    ("mbit", "imported", "presence"),
    [
        ([94.5, 94.0], False, False),
        ([94.5, 94.5, 94.0], False, True),
        ([94.5, 94.5, 94.0, 94.0], False, False),
        # A thousandth above: 94.2424 with them, 95.0234 without; of a print two: 94.3365, 95.1183.
        ([94.25], False, True),
        ([94.24], False, False),
        ([94.34], True, True),
        ([94.33], True, False),
        ([94.5, 94.5, 95.02], False, True),
        ([94.5, 94.5, 95.03], False, False),
        ([94.5, 94.5, 95.11], True, True),
        ([94.5, 94.5, 95.12], True, False),
    ],
)
def test_missing_tcp_timestamps_are_reported_if_most_cells_exceed_the_ceiling_with_timestamps(
    mbit: Sequence[float], imported: bool, presence: bool
) -> None:
    assert bool(bare(mbit, imported=imported)) is presence


@pytest.mark.parametrize(
    "more",
    [
        {"values": {"mss_bytes": 1460}},
        {"asked": stream("UDP", 1472)},
        {"values": {"same_host": True}},
        {"link": None},
    ],
)
def test_timestamps_that_are_known_or_cannot_be_inferred_have_no_finding(
    more: Mapping[str, Any],
) -> None:
    assert bare([94.5] * 3, **more) == []
    assert list(without_timestamps(series_of(column([94.5] * 3)), imported=False)) == []
    mss_values = {BUFFERS[1]: {"mss_bytes": 1460}}
    assert bare([94.5] * 3, effective=mss_values) == []


def test_throughput_of_another_tool_gives_no_missing_timestamps_finding() -> None:
    assert bare([94.5] * 3, asked=stream(engine="netperf")) == []
    assert bare([94.5] * 3, asked=stream()) != []


def test_loopback_cells_do_not_count_for_missing_timestamps() -> None:
    loopback = {BUFFERS[at]: {"same_host": True} for at in (1, 2, 3)}
    (finding,) = bare([94.5, 60.0, 60.0, 99.0], effective=loopback)
    assert (finding.cells, finding.evidence["cells"]) == (keys(0), 1)


# ---- more than any message allows ----------------------------------------------------------------

BEST = 1e8 * 65_112 / (44 * 1538)
"""44 full fragments share one UDP header."""


def unknown(
    mbit: Sequence[float | None], protocol: str = "UDP", *, imported: bool = False, **more: Any
) -> list[Finding]:
    link = more.get("link", LINK)
    settings = {"protocol": protocol, "message_bytes": None, **more.pop("settings", {})}
    run = column(mbit, asked=settings, **more)
    return list(above_any(series_of(run), link, imported=imported))


def test_throughput_above_every_possible_ceiling_is_reported_with_the_highest_ceiling() -> None:
    findings = unknown([96.0, 98.0, 97.0, 60.0, None])
    assert [(finding.kind, finding.group, finding.cells) for finding in findings] == [
        (Kind.ABOVE_WIRE_RATE, Group("LL", "UDP"), keys(1, 2))
    ]
    assert findings[0].evidence == {
        "throughput_bit_per_s": pytest.approx(98e6),
        "highest_ceiling_bit_per_s": pytest.approx(BEST),
    }


@pytest.mark.parametrize(
    ("protocol", "more", "ceiling"),
    [
        ("UDP", {}, BEST),
        ("TCP", {}, WITHOUT),
        ("TCP", {"link": Link(1e8, 1500, vlan=True)}, 1e8 * 1460 / 1542),
        ("TCP", {"link": Link(1e9, 9000)}, 1e9 * 8960 / 9038),
        ("UDP", {"link": Link(1e8, 1500, vlan=True)}, 1e8 * 65_112 / (44 * 1542)),
    ],
)
@pytest.mark.parametrize(("imported", "tolerance"), [(False, 0.001), (True, 0.002)])
def test_an_excess_over_every_ceiling_is_reported_from_0_1_percent_or_in_imports_0_2_percent(
    protocol: str, more: dict[str, Any], ceiling: float, imported: bool, tolerance: float
) -> None:
    for share, presence in ((tolerance + 1e-5, True), (tolerance - 1e-5, False)):
        mbit = ceiling * (1 + share) / 1e6
        assert bool(unknown([mbit], protocol, imported=imported, **more)) is presence


@pytest.mark.parametrize(
    ("protocol", "version", "ceiling"),
    [
        ("TCP", 4, 1e8 * 1460 / 1538),
        ("TCP", 6, 1e8 * 1440 / 1538),
        ("UDP", 4, BEST),
        # Of full fragments with a header of 48 bytes less goes over than of one frame.
        ("UDP", 6, 1e8 * 1452 / 1538),
    ],
)
def test_each_ip_version_has_its_own_highest_ceiling_in_a_mixed_run_too(
    protocol: str, version: int, ceiling: float
) -> None:
    unsized: dict[str, Any] = {"protocol": protocol, "message_bytes": None}
    second_run = column([1.0], asked={**unsized, "ip_version": 10 - version})
    for share, presence in ((1.0011, True), (1.0009, False)):
        settings = {**unsized, "ip_version": version}
        run = column([ceiling * share / 1e6], asked=settings, pairing="WL")
        cells = (*run.plan.cells, *second_run.plan.cells)
        joint_run = run_of(replace(run.plan, cells=cells), (*run.records, *second_run.records))
        for one_run in (run, joint_run):
            findings = above_any(series_of(one_run), LINK, imported=False)
            assert [finding.cells for finding in findings] == [(f"WL-{BUFFERS[0]}",)] * presence


def test_known_sizes_loopback_and_missing_links_have_no_excess_over_every_ceiling() -> None:
    assert unknown([200.0], link=None) == []
    assert unknown([200.0], values={"same_host": True}) == []
    assert unknown([200.0], settings={"message_bytes": 64}) == []
    loopback = {BUFFERS[0]: {"same_host": True}}
    (finding,) = unknown([300.0, 200.0], effective=loopback)
    assert finding.cells == keys(1)


def test_a_series_with_known_message_size_does_not_hide_a_later_series() -> None:
    unsized: dict[str, Any] = {"message_bytes": None}
    first, second = column([200.0]), column([200.0], pairing="WL", asked=unsized)
    plan = replace(first.plan, cells=(*first.plan.cells, *second.plan.cells))
    run = run_of(plan, (*first.records, *second.records))
    findings = above_any(series_of(run), LINK, imported=False)
    assert [finding.group.pairing for finding in findings] == ["WL"]
