"""Single round trips are placed on the time axis of the first request."""

from __future__ import annotations

from typing import Any

import pytest
from made_readings import planned, result
from made_under_load import PHASES, losing, trips, under_load_cell, under_load_values

from netlab.kinds.latency_under_load.phases import LoadTimeline, Trip, thinned, timeline_of
from netlab.store.plan import PlannedCell


def timeline(values: dict[str, Any], cell: PlannedCell | None = None) -> LoadTimeline | None:
    return timeline_of(result(cell or under_load_cell(), 1, values))


def test_each_request_is_placed_at_its_number_divided_by_the_rate_even_after_losses() -> None:
    plan = losing(trips(), 7)
    drawn = timeline(under_load_values(plan))
    assert drawn is not None
    assert [*drawn.trips] == plan


def test_the_rate_of_the_load_is_placed_on_the_time_axis_of_the_requests() -> None:
    drawn = timeline(under_load_values(trips(), flows={"": 90.0}))
    assert drawn is not None
    points = drawn.rates[""]
    assert len(points) == 40
    assert points[0] == pytest.approx((1.05, 90.0))
    assert points[-1] == pytest.approx((4.95, 90.0))


def test_a_phase_of_the_timeline_has_exactly_the_requests_due_within_the_phase() -> None:
    drawn = timeline(under_load_values(trips()))
    assert drawn is not None
    assert [*drawn.phases] == ["idle", "loaded", "after"]
    assert {phase: len(drawn.trips_of(phase)) for phase in drawn.phases} == {
        "idle": 100,
        "loaded": 300,
        "after": 100,
    }
    for phase in drawn.phases:
        begin_ns, end_ns = PHASES.of(phase)
        assert all(begin_ns <= trip.at_ns < end_ns for trip in drawn.trips_of(phase))
    assert drawn.trips_of("before all") == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [("trip_ns", []), ("trip_ns", "none"), ("trip_ns", [1, "two"]), ("trip_ns", None)],
)
def test_a_record_without_single_round_trips_has_no_timeline(name: str, value: Any) -> None:
    values = under_load_values(trips(), lost_trips=[]) | {name: value}
    assert timeline(values) is None
    assert timeline(under_load_values(trips()), planned("stream")) is None


def test_missing_rates_and_phases_leave_the_round_trips_of_a_timeline_unchanged() -> None:
    values = under_load_values(trips())
    for name in ("receiver_interval_bytes", "drained_ns"):
        del values[name]
    drawn = timeline(values)
    assert drawn is not None
    assert (len(drawn.trips), drawn.rates, [*drawn.phases]) == (
        620,
        {},
        ["idle", "loaded"],
    )
    del values["load_open_ns"]
    bare = timeline(values)
    assert bare is not None
    assert (bare.rates, [*bare.phases]) == ({}, ["loaded"])


def test_a_thinned_timeline_contains_the_longest_and_the_lost_round_trips() -> None:
    plan = [Trip(number, None if number == 555 else 1000 + number % 10) for number in range(1000)]
    plan[222] = Trip(222, 9_999_999)
    sample = thinned(plan, 100)
    assert len(sample) <= 101
    assert [trip.at_ns for trip in sample] == sorted(trip.at_ns for trip in sample)
    assert Trip(222, 9_999_999) in sample
    assert Trip(555, None) in sample
    assert thinned(plan[:40], 100) == plan[:40]
    assert all(trip.ns is None for trip in thinned([Trip(n, None) for n in range(500)], 50))
