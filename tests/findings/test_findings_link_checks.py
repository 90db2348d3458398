"""Findings report slow links and slow directions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest
from made_findings import LINK, plan_of, run_of

from netlab.ethernet import Link
from netlab.findings.finding import Finding, Group, Kind
from netlab.findings.runs import one_way
from netlab.findings.series import Series, series_of
from netlab.findings.validity import links
from netlab.imports.common.csv_table import record_of
from netlab.store.plan import PlannedCell
from netlab.trial.record import Value

CEILING = 1e8 * 1448 / 1538
"""TCP with timestamps on 100 Mbit/s."""


def point(
    pairing: str,
    bit_per_s: float | Sequence[float | None],
    *,
    size: Value = 1500,
    buffer: Value = 16384,
    test: str = "stream",
    values: Mapping[str, Any] | None = None,
    **changes: Value,
) -> Any:
    """A cell with the figure of each trial, and its records."""
    settings = {"protocol": "TCP", "message_bytes": size, "socket_buffer_bytes": buffer, **changes}
    trials = [bit_per_s] if isinstance(bit_per_s, float | int) else list(bit_per_s)
    words = [pairing, test, str(size), str(buffer), *map(str, changes.values())]
    cell = PlannedCell("-".join(words), pairing, test, settings)
    record_values: dict[str, Any] = {"tcp_timestamps": True, **(values or {})}
    quantity = "throughput_bit_per_s" if test == "stream" else "rtt_mean_ns"
    return cell, [
        record_of(cell, {**record_values, quantity: figure}, printed="x", trial=trial)
        for trial, figure in enumerate(trials, 1)
        if figure is not None
    ]


def series(*points: Any, link: Link | None = LINK) -> tuple[Series, ...]:
    cells = [cell for cell, _ in points]
    records = [record for _, its in points for record in its]
    repeats = max(len(its) for _, its in points)
    return series_of(run_of(plan_of(cells, link, repeats=repeats), records))


def suspected(
    *points: Any, link: Link | None = LINK, of_hosts: Iterable[str] = ()
) -> tuple[Finding, ...]:
    return tuple(links(series(*points, link=link), link, frozenset(of_hosts)))


@pytest.mark.parametrize(("share", "far"), [(0.1099, True), (0.1101, False), (0.001, True)])
def test_a_link_is_reported_if_a_pairing_reaches_at_most_11_percent_of_the_ceiling(
    share: float, far: bool
) -> None:
    assert bool(suspected(point("LL", share * CEILING))) is far


def test_a_link_is_reported_at_exactly_11_percent_of_the_ceiling() -> None:
    # A message of 700 bytes over UDP is 766 on the wire: 1e8 of them a second carry 7e10 byte...
    link = Link(1e8 * 766, 1500)
    at = point("LL", 7.7e9, size=700, protocol="UDP")
    (finding,) = suspected(at, link=link)
    assert finding.evidence["ceiling_share"] == 0.11


def test_a_slow_link_finding_states_the_best_figure_and_all_cells_of_its_pairing() -> None:
    findings = suspected(
        point("LL", [1e6, 4e6, 2e6]),
        point("LL", 3e6, buffer=32768),
        point("LL", 1e6, size=64),
        point("WL", 0.5 * CEILING),
        point("WL", 0.25 * CEILING, buffer=32768),
    )
    (of_ll,) = findings
    assert (of_ll.kind, of_ll.severity, of_ll.group) == (
        Kind.LINK_FAR_BELOW,
        "warning",
        Group("LL"),
    )
    assert of_ll.cells == ("LL-stream-1500-16384", "LL-stream-1500-32768", "LL-stream-64-16384")
    assert of_ll.evidence == {
        "throughput_bit_per_s": 4e6,
        "ceiling_share": pytest.approx(4e6 / CEILING),
        "link_rate_bit_per_s": 1e8,
        "others_ceiling_share": pytest.approx(0.5),
    }


def test_a_slow_link_finding_compares_with_other_pairings_only_if_there_are_any() -> None:
    (single_finding,) = suspected(point("LL", 1e6))
    assert "others_ceiling_share" not in single_finding.evidence
    findings = suspected(point("LL", 1e6), point("WL", 2e6))
    assert [finding.group.pairing for finding in findings] == ["LL", "WL"]
    assert findings[0].evidence["others_ceiling_share"] == pytest.approx(2e6 / CEILING)
    assert findings[1].evidence["others_ceiling_share"] == pytest.approx(1e6 / CEILING)


def test_a_slow_link_is_judged_by_the_highest_ceiling_that_tcp_options_may_leave() -> None:
    (finding,) = suspected(point("LL", 1e6, values={"tcp_timestamps": True}))
    with_them = finding.evidence["ceiling_share"]
    unknown = point("LL", 1e6)
    unknown[1][0].values.pop("tcp_timestamps")
    (finding,) = suspected(unknown)
    assert finding.evidence["ceiling_share"] == pytest.approx(1e6 * 1538 / 1460 / 1e8)
    assert with_them > finding.evidence["ceiling_share"]


@pytest.mark.parametrize(("size", "large"), [(700, True), (699, False), (64, False)])
def test_a_slow_link_needs_a_message_of_at_least_half_a_frame(size: int, large: bool) -> None:
    assert bool(suspected(point("LL", 1e6, size=size))) is large
    small = point("LL", 1e6, size=64)
    assert bool(suspected(small, point("LL", 1e5, size=size))) is large


@pytest.mark.parametrize(
    "case",
    [
        point("LL", 5e7, test="round_trip"),
        point("LL", 5e7, size="auto"),
        point("LL", 5e7, rate_bit_per_s=10**8),
        point("LL", 5e7, message_rate_per_s=100),
        point("LL", 5e7, values={"same_host": True}),
        point("LL", [None]),
    ],
)
def test_paced_loopback_and_round_trip_cells_do_not_count_for_a_slow_link(case: Any) -> None:
    assert suspected(case) == ()
    (finding,) = suspected(case, point("LL", 1e6, buffer=4096))
    assert finding.cells == ("LL-stream-1500-4096",)
    assert finding.evidence["throughput_bit_per_s"] == 1e6


def test_a_link_is_not_reported_as_slow_if_a_host_limits_the_best_cell() -> None:
    best, worse = point("LL", 2e6), point("LL", 1e6, buffer=32768)
    assert suspected(best, worse, of_hosts=[best[0].key]) == ()
    assert len(suspected(best, worse, of_hosts=[worse[0].key])) == 1
    assert len(suspected(best, point("WL", 1e6), of_hosts=[best[0].key])) == 1


@pytest.mark.parametrize(("far", "step"), [(0.396, 1e9), (0.41, None), (0.35, None)])
def test_several_cells_at_a_standard_rate_are_reported_as_a_link_of_this_rate(
    far: float, step: float | None
) -> None:
    link = Link(2.5e9, 1500)
    cells = [point("LL", far * 25 * CEILING, buffer=at) for at in (1, 2, 3)]
    steps = [finding.evidence["step_rate_bit_per_s"] for finding in suspected(*cells, link=link)]
    assert steps == ([step] if step else [])
    assert suspected(*cells[:2], link=link) == ()
    assert [*links(series(*cells), link, (), ["LL"])] == []


def test_two_cells_at_a_standard_rate_are_a_link_of_this_rate_if_their_ceilings_differ() -> None:
    def at(size: int, buffer: int) -> Any:
        """A UDP message takes 66 bytes more on the wire."""
        return point("LL", 0.99e9 * size / (size + 66), size=size, buffer=buffer, protocol="UDP")

    link = Link(2.5e9, 1500)
    (finding,) = suspected(at(1472, 1), at(1000, 1), link=link)
    assert finding.evidence["step_rate_bit_per_s"] == 1e9
    assert suspected(at(1472, 1), at(1472, 2), link=link) == ()


def test_a_run_without_a_stated_link_has_no_slow_link_finding() -> None:
    assert suspected(point("LL", 1e6), link=None) == ()


# ---- one direction against the other -------------------------------------------------------------


def ways(*points: Any) -> list[tuple[str, tuple[str, ...], dict[str, float], Mapping[str, str]]]:
    findings = [*one_way(series(*points))]
    assert {finding.kind for finding in findings} <= {Kind.ONE_WAY}
    return [(e.group.pairing, e.cells, dict(e.evidence), e.words) for e in findings]


@pytest.mark.parametrize(
    ("back", "flaw"), [(2.01e7, True), (2e7, False), (1.99e7, False), (9e7, True)]
)
def test_a_direction_with_less_than_half_of_the_other_direction_is_reported(
    back: float, flaw: bool
) -> None:
    pairs = ways(point("WL", 1e7), point("LW", back))
    figures = {"throughput_bit_per_s": 1e7, "other_bit_per_s": back, "ratio": back / 1e7}
    pair = ("WL", ("WL-stream-1500-16384",), figures, {"against": "LW"})
    assert pairs == ([pair] if flaw else [])


def test_directions_are_compared_by_medians_over_their_common_socket_buffers() -> None:
    wl = [point("WL", mbit * 1e6, buffer=at) for at, mbit in ((1, 10.0), (2, 30.0), (3, 20.0))]
    lw = [point("LW", mbit * 1e6, buffer=at) for at, mbit in ((4, 90.0), (3, 60.0), (2, 80.0))]
    ((pairing, cells, figures, _),) = ways(*wl, *lw)
    assert (pairing, cells) == ("WL", ("WL-stream-1500-2", "WL-stream-1500-3"))
    assert figures == {
        "throughput_bit_per_s": 25e6,
        "other_bit_per_s": 70e6,
        "ratio": pytest.approx(2.8),
    }


def test_directions_between_hosts_by_name_are_compared_by_their_names() -> None:
    ((pairing, _, _, words),) = ways(point("nas+pc", 1e6), point("pc+nas", 9e6))
    assert (pairing, words) == ("nas+pc", {"against": "pc+nas"})


@pytest.mark.parametrize(
    ("first_point", "second_point"),
    [
        (point("LL", 1e6), point("WL", 9e6)),
        (point("WL", 1e6), point("LW", 9e6, size=64)),
        (point("WL", 1e6), point("LW", 9e6, protocol="UDP")),
        (point("WL", 1e6), point("LW", 9e6, buffer=4096)),
        (point("WL", 1e6), point("LW", 9e6, values={"same_host": True})),
        (point("WL", 1e6, values={"same_host": True}), point("LW", 9e6)),
        (point("WL", 1e6, test="connect"), point("LW", 9e6, test="connect")),
        (point("WL", [None]), point("LW", 9e6)),
    ],
)
def test_directions_are_compared_only_for_equal_hosts_tests_and_settings_over_a_wire(
    first_point: Any, second_point: Any
) -> None:
    assert ways(first_point, second_point) == []


def test_each_message_size_is_compared_by_direction_separately() -> None:
    pairs = ways(
        point("WL", 4e7),
        point("LW", 4e7),
        point("WL", 1e6, size=64),
        point("LW", 9e6, size=64),
    )
    assert [(pairing, cells) for pairing, cells, _, _ in pairs] == [("WL", ("WL-stream-64-16384",))]


def test_a_direction_without_a_counterpart_does_not_hide_a_later_comparison() -> None:
    ll, points = (point("LL", 1e6), (point("AB", 1e6, buffer=1), point("BA", 9e6, buffer=2)))
    pairs = ways(ll, *points, point("WL", 1e6), point("LW", 9e6))
    assert [pairing for pairing, _, _, _ in pairs] == ["WL"]
