"""The parts of a round trip's time, computed by hand from what its ends recorded."""

from __future__ import annotations

from typing import Any

import pytest
from made_findings import run_of
from made_readings import plan_of, planned, result

from netlab.ethernet import Link
from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.round_trips import TICK_NS, TripCell, TripTrial, made_of, parts_ns
from netlab.findings.series import series_of
from netlab.findings.stream_end import WINDOW_NS
from netlab.trial.record import Value

CELL = planned("round_trip")
BOTH: dict[str, int] = {"client_thread_ns": 25_001, "server_thread_ns": 20_001}


def trial(number: int = 10_000, mean_ns: float = 100_000, **each_ns: int) -> dict[str, Value]:
    """A trial with this number of round trips; times per round trip in ns."""
    totals = {name: each * number for name, each in each_ns.items()}
    counts = {"transactions": number, "server_received_messages": number}
    return {**counts, "rtt_mean_ns": mean_ns, "elapsed_ns": 10**9, **totals}


def parts_of(*trials: dict[str, Value], link: Link | None = None, **settings: Any) -> list[Finding]:
    cell = planned("round_trip", **settings)
    records = [result(cell, number, values) for number, values in enumerate(trials, 1)]
    return list(made_of(series_of(run_of(plan_of([cell], len(trials)), records)), link))


def figures_of(*trials: dict[str, Value], **settings: Any) -> dict[str, float]:
    (only,) = parts_of(*trials, **settings)
    return dict(only.evidence)


def test_the_parts_of_a_round_trip_are_medians_over_its_trials() -> None:
    first, second = trial(**BOTH), trial(mean_ns=120_000, **{**BOTH, "client_thread_ns": 35_001})
    figures = {"client_cpu_trip_ns": 30_001, "server_cpu_trip_ns": 20_001}
    figures |= {"mean_trip_ns": 110_000, "rest_trip_ns": 59_998}
    trials = ((CELL.key, 1), (CELL.key, 2))
    group = Group("LL", "UDP", 18)
    assert parts_of(first, second) == [
        finding(Kind.TRIP_MADE_OF, group, (CELL.key,), figures, trials=trials)
    ]
    assert parts_of({}, trial(**BOTH))[0].trials == trials[1:]


def test_a_held_answer_replaces_the_cpu_time_of_the_server_unless_its_stack_is_known() -> None:
    held = figures_of(trial(**BOTH), mirror_hold_s=0.00002)
    assert held == pytest.approx(
        {"hold_trip_ns": 20_000, "client_cpu_trip_ns": 25_001}
        | {"mean_trip_ns": 100_000, "rest_trip_ns": 54_999}
    )
    stack: dict[str, Value] = {"server_stack_mean_ns": 18_000.0}
    known = figures_of(trial(**BOTH) | stack, mirror_hold_s=0.00002)
    assert known == {
        **{"stack_trip_ns": 18_000, "client_cpu_trip_ns": 25_001},
        **{"mean_trip_ns": 100_000, "rest_trip_ns": 56_999},
    }


def test_a_spinning_end_has_no_cpu_time_among_the_parts_of_its_round_trips() -> None:
    waits = {**BOTH, "client_run_queue_delay_ns": 10_001}
    for end, other in (("client", "server"), ("server", "client")):
        known = figures_of(trial(**waits), **{f"{end}_receive": "spinning"})
        assert {*known} == {
            *(f"{other}_cpu_trip_ns", "wait_trip_ns", "mean_trip_ns", "rest_trip_ns")
        }


def test_a_wire_time_above_the_shortest_round_trip_is_not_a_part_of_it() -> None:
    """A frame of 64 bytes with its preamble has 72 bytes. Two of them take 11.52 us at
    100 Mbit/s; clocks explain times from 10.4 us.
    """
    link = Link(1e8, 1500)
    least: dict[str, Value] = {"rtt_min_ns": 10_000}
    (below,) = parts_of(trial(**BOTH) | least, link=link)
    assert "wire_trip_ns" not in below.evidence
    shortest: list[dict[str, Value]] = [{}, {"rtt_min_ns": 10_500}]
    for known in shortest:
        (at_least,) = parts_of(trial(**BOTH) | known, link=link)
        assert at_least.evidence["wire_trip_ns"] == pytest.approx(11_520)


@pytest.mark.parametrize(
    ("values", "reported"),
    [
        (trial(client_thread_ns=60_001), False),
        (trial(client_thread_ns=12_501, server_thread_ns=12_499), True),
        (trial(client_thread_ns=12_500, server_thread_ns=12_499), False),
        (trial(client_thread_ns=60_001, server_thread_ns=39_999), True),
        (trial(client_thread_ns=60_001, server_thread_ns=40_000), False),
        ({**trial(**BOTH), "elapsed_ns": WINDOW_NS}, True),
        ({**trial(**BOTH), "elapsed_ns": WINDOW_NS - 1}, False),
        ({**trial(**BOTH), "client_thread_ns": 20 * TICK_NS}, True),
        ({**trial(**BOTH), "client_thread_ns": 19 * TICK_NS}, False),
    ],
)
def test_parts_are_reported_from_a_quarter_to_the_whole_of_a_time_that_is_known_exactly(
    values: dict[str, Value], reported: bool
) -> None:
    assert len(parts_of(values)) == reported


@pytest.mark.parametrize("settings", [{"outstanding": 2}, {"message_rate_per_s": 10_000.0}])
def test_round_trips_that_overlap_or_are_paced_are_not_split(settings: dict[str, Any]) -> None:
    assert parts_of(trial(**BOTH), **settings) == []


def test_every_cell_is_split_whose_own_parts_are_known() -> None:
    cells = [planned("round_trip", message_bytes=size) for size in (18, 19, 20)]
    trials = [trial(), trial(client_thread_ns=1_001, server_thread_ns=1_001), trial(**BOTH)]
    records = [result(cell, 1, values) for cell, values in zip(cells, trials, strict=True)]
    split = made_of(series_of(run_of(plan_of(cells, 1), records)), None)
    assert [each.cells for each in split] == [(cells[2].key,)]


def test_the_parts_of_a_long_hold_and_of_a_connection_on_a_slow_link_are_exact() -> None:
    """Half a second; two messages in frames of 72 bytes with preamble, and two opening packets in
    such frames, at 1 Mbit/s.
    """
    cell = planned("connect", protocol="TCP", message_bytes=6, mirror_hold_s=0.5)
    trip = TripTrial(result(cell, 1, {"rtt_mean_ns": 600_000_000}))
    trips = TripCell(Group(), cell.key, cell.test, (trip,))
    parts = {"wire": 4 * 72 * 8 * 1_000, "hold": 500_000_000}
    assert parts_ns(trip, trips, Link(1e6, 1500)) == parts
