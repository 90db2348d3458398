"""Requests under load belong to phases, and each phase has its figures."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.kinds.latency_under_load.phases import (
    PERCENTILES,
    PHASES,
    Phases,
    PhaseTrips,
    Trip,
    connection_figures,
    drained_ns,
    phase_figures,
    responsiveness_per_minute,
    settled_s,
    trips_within,
)

MS = 1_000_000
S = 1_000_000_000
LOST = 10**30
"""What a request that is lost stands for here: longer than any."""

EDGES = Phases(
    idle_open_ns=0,
    load_open_ns=2 * S,
    settled_ns=4 * S,
    load_close_ns=8 * S,
    drained_ns=9 * S,
    after_close_ns=11 * S,
)

TIMES = st.integers(0, 12 * S)
TRIPS = st.lists(st.builds(Trip, TIMES, st.none() | st.integers(1, 3 * S)), max_size=60)


def every_100_ms(ns: dict[str, int | None]) -> list[Trip]:
    """Requests from 0 to 11 s: of each phase so long, beside the phases an hour."""
    trips = []
    for number in range(110):
        at_ns = number * 100 * MS
        phase = next((p for p in PHASES if EDGES.of(p)[0] <= at_ns < EDGES.of(p)[1]), None)
        trips.append(Trip(at_ns, 3600 * S if phase is None else ns[phase]))
    return trips


# ---- percentiles and means ----


def by_definition(values: list[int], share: Fraction) -> int | None:
    """The least of the values that so large a share of them does not exceed."""
    for value in sorted(values):
        if Fraction(sum(sample <= value for sample in values), len(values)) >= share:
            return None if value == LOST else value
    return None


@given(
    st.lists(st.integers(1, 50) | st.just(LOST), max_size=250),
    st.sampled_from([*PERCENTILES.values(), Fraction(1, 1000), Fraction(1)]),
)
def test_a_percentile_counts_lost_requests_as_longer_than_any_answer(
    values: list[int], share: Fraction
) -> None:
    answered = sorted(value for value in values if value != LOST)
    trips = PhaseTrips(answered, len(values) - len(answered))
    assert trips.count == len(values)
    assert trips.percentile_ns(share) == by_definition(values, share)


@given(st.lists(st.integers(1, 50) | st.just(LOST), max_size=150))
def test_a_trimmed_mean_covers_the_fastest_95_percent_of_requests_and_needs_all_their_answers(
    values: list[int],
) -> None:
    answered = sorted(value for value in values if value != LOST)
    mean = PhaseTrips(answered, len(values) - len(answered)).trimmed_mean_ns()
    lowest = sorted(values)[: 95 * len(values) // 100]
    if not lowest or LOST in lowest:
        assert mean is None
    else:
        assert mean == pytest.approx(sum(lowest) / len(lowest))


@pytest.mark.parametrize(
    ("answered", "losses", "figures"),
    [
        # p50, p90, p99, trimmed mean.
        ([], 0, (None, None, None, None)),
        ([], 9, (None, None, None, None)),
        ([7], 0, (7, 7, 7, None)),
        ([1, 9], 0, (1, 9, 9, 1.0)),
        ([1, 9], 1, (9, None, None, 5.0)),
        ([1, 9], 2, (9, None, None, None)),
        ([1, 9], 3, (None, None, None, None)),
        (list(range(1, 101)), 0, (50, 90, 99, 48.0)),
        (list(range(1, 100)), 1, (50, 90, 99, 48.0)),
        (list(range(1, 99)), 2, (50, 90, None, 48.0)),
        (list(range(1, 96)), 5, (50, 90, None, 48.0)),
        (list(range(1, 95)), 6, (50, 90, None, None)),
        (list(range(1, 51)), 50, (50, None, None, None)),
        (list(range(1, 50)), 51, (None, None, None, None)),
    ],
)
def test_percentiles_and_trimmed_means_of_few_or_lost_requests_match_a_manual_calculation(
    answered: list[int], losses: int, figures: tuple[float | None, ...]
) -> None:
    trips = PhaseTrips(answered, losses)
    percentiles = [trips.percentile_ns(share) for share in PERCENTILES.values()]
    assert (*percentiles, trips.trimmed_mean_ns()) == figures


@given(TRIPS, TIMES, TIMES)
def test_a_request_belongs_to_the_phase_in_which_the_request_was_due(
    trips: list[Trip], time1: int, time2: int
) -> None:
    begin, end = sorted([time1, time2])
    phase = trips_within(trips, begin, end)
    due = [trip for trip in trips if trip.at_ns in range(begin, end)]
    assert list(phase.answered_ns) == sorted(t.ns for t in due if t.ns is not None)
    assert phase.lost == sum(t.ns is None for t in due)


# ---- the figures of a trial ----


def test_the_figures_of_all_three_phases_match_a_manual_calculation() -> None:
    figures = dict(
        phase_figures(every_100_ms({"idle": 10 * MS, "loaded": 60 * MS, "after": 12 * MS}), EDGES)
    )
    for phase, count, ms in (("idle", 20, 10), ("loaded", 40, 60), ("after", 20, 12)):
        assert figures[f"{phase}_rtt_count"] == count
        assert figures[f"{phase}_lost_messages"] == 0
        for name in ("p50", "p90", "p99", "max"):
            assert figures[f"{phase}_rtt_{name}_ns"] == ms * MS
    assert figures["increase_ns"] == 50 * MS
    assert figures["round_trips_per_minute_loaded"] == pytest.approx(1000.0)
    assert len(figures) == 3 * 6 + 2


def test_figures_that_a_phase_lacks_are_left_out() -> None:
    """All that were due while the load lasted are lost; nothing was asked before and after."""
    only_loaded = [Trip(number * 100 * MS, None) for number in range(40, 80)]
    assert dict(phase_figures(only_loaded, EDGES)) == {
        **{"idle_rtt_count": 0, "idle_lost_messages": 0},
        **{"loaded_rtt_count": 40, "loaded_lost_messages": 40},
        **{"after_rtt_count": 0, "after_lost_messages": 0},
    }


def test_the_increase_is_absent_if_the_median_request_is_lost() -> None:
    trips = every_100_ms({"idle": 10 * MS, "loaded": 60 * MS, "after": 10 * MS})
    losses = 0
    for at, trip in enumerate(trips):
        if 4 * S <= trip.at_ns < 8 * S and losses < 21:
            trips[at] = Trip(trip.at_ns, None)
            losses += 1
    figures = dict(phase_figures(trips, EDGES))
    assert figures["loaded_lost_messages"] == 21
    assert figures["loaded_rtt_max_ns"] == 60 * MS
    assert {"increase_ns", "loaded_rtt_p50_ns", "loaded_rtt_p90_ns"}.isdisjoint(figures)
    assert figures["after_rtt_p50_ns"] == 10 * MS


@given(TRIPS)
def test_phase_figures_match_their_definitions_for_any_round_trips(trips: list[Trip]) -> None:
    figures = dict(phase_figures(trips, EDGES))
    for phase in PHASES:
        begin, end = EDGES.of(phase)
        values = [LOST if t.ns is None else t.ns for t in trips if begin <= t.at_ns < end]
        assert figures[f"{phase}_rtt_count"] == len(values)
        assert figures[f"{phase}_lost_messages"] == values.count(LOST)
        for name, share in PERCENTILES.items():
            assert figures.get(f"{phase}_rtt_{name}_ns") == by_definition(values, share)
        answered = [value for value in values if value != LOST]
        assert figures.get(f"{phase}_rtt_max_ns") == max(answered, default=None)
    medians = "idle_rtt_p50_ns" in figures and "loaded_rtt_p50_ns" in figures
    assert ("increase_ns" in figures) == medians
    if medians:
        assert figures["increase_ns"] == figures["loaded_rtt_p50_ns"] - figures["idle_rtt_p50_ns"]


def test_each_phase_has_the_number_losses_median_and_longest_time_of_its_connections() -> None:
    connections = [
        *(Trip(0, 3 * MS), Trip(1 * S, 5 * MS)),
        *(Trip(4 * S, 40 * MS), Trip(5 * S, None), Trip(7 * S, 90 * MS)),
        Trip(9 * S, None),
    ]
    assert dict(connection_figures(connections, EDGES)) == {
        **{"idle_connections": 2, "idle_lost_connections": 0},
        **{"idle_connect_p50_ns": 3 * MS, "idle_connect_max_ns": 5 * MS},
        **{"loaded_connections": 3, "loaded_lost_connections": 1},
        **{"loaded_connect_p50_ns": 90 * MS, "loaded_connect_max_ns": 90 * MS},
        **{"after_connections": 1, "after_lost_connections": 1},
    }


# ---- the edges ----


def steady(amounts: list[float], interval_s: float = 0.1) -> list[int]:
    """Intervals that carry these amounts in each half second."""
    width = round(0.5 / interval_s)
    return [round(1000 * amount) for amount in amounts for _ in range(width)]


@pytest.mark.parametrize(
    ("amounts", "expected_s"),
    [
        ([100] * 20, 2.0),  # at once: no earlier than 2 s
        ([10, 100, 100, 100] + [100] * 16, 2.0),
        ([10, 20, 100, 100, 100] + [100] * 15, 2.5),
        ([10, 20, 40, 80, 100, 100, 100] + [100] * 13, 3.5),
        ([10, 20, 40, 80, 100, 120, 140, 160, 160, 160], 5.0),
        ([10 * number for number in range(1, 21)], 5.0),  # never: half of the load
        ([100, 10] * 10, 5.0),
        ([0] * 20, 5.0),  # nothing at all is no throughput that settled
        ([0, 0, 0, 0, 100, 100, 100] + [100] * 13, 3.5),
        ([95, 100, 105] + [10, 100] * 8, 2.0),  # 10 % of the mean apart
        ([94.9, 100, 105.1] + [10, 100] * 8, 5.0),
        ([], 5.0),
        ([100, 100], 5.0),
    ],
)
def test_the_loaded_phase_begins_once_throughput_has_settled(
    amounts: list[float], expected_s: float
) -> None:
    assert settled_s(steady(amounts), 0.1, 10.0) == pytest.approx(expected_s)


@pytest.mark.parametrize(("load_s", "expected_s"), [(1, 0.5), (3, 1.5), (4, 2.0), (60, 2.0)])
def test_the_loaded_phase_of_a_short_load_begins_after_half_of_the_load(
    load_s: float, expected_s: float
) -> None:
    assert settled_s(steady([100] * 40), 0.1, load_s) == expected_s


@pytest.mark.parametrize("interval_s", [0.05, 0.1, 0.25, 0.5])
def test_the_beginning_of_the_loaded_phase_does_not_depend_on_the_interval_length(
    interval_s: float,
) -> None:
    amounts = [10.0, 20, 40, 80, *([100.0] * 16)]
    assert settled_s(steady(amounts, interval_s), interval_s, 10.0) == pytest.approx(3.5)


def test_intervals_longer_than_half_a_second_are_used_as_they_are() -> None:
    assert settled_s([1, 50, 100, 100, 100, 100], 2.0, 3600.0) == pytest.approx(10.0)


@given(st.lists(st.integers(0, 10**9), max_size=80), st.floats(0.5, 100))
def test_the_loaded_phase_begins_between_2_s_and_half_of_the_load(
    series: list[int], load_s: float
) -> None:
    begin_s = settled_s(series, 0.1, load_s)
    assert min(2.0, load_s / 2) <= begin_s <= load_s / 2


def test_the_queue_has_drained_when_a_request_due_after_the_load_is_answered() -> None:
    trips = [Trip(7 * S, 5 * S), Trip(8 * S, 400 * MS), Trip(8 * S + 100 * MS, 350 * MS)]
    assert drained_ns(trips, 8 * S, 11 * S) == 8 * S + 400 * MS
    # One that overtakes it shows that the queue is empty.
    assert drained_ns([*trips, Trip(8 * S + 200 * MS, 10 * MS)], 8 * S, 11 * S) == 8 * S + 210 * MS
    assert drained_ns([], 8 * S, 11 * S) == 11 * S
    late_trips = [Trip(7 * S, 10 * MS), Trip(8 * S, None), Trip(9 * S, None)]
    assert drained_ns(late_trips, 8 * S, 11 * S) == 11 * S
    assert drained_ns([Trip(9 * S, 5 * S)], 8 * S, 11 * S) == 11 * S


@given(TRIPS, TIMES)
def test_the_queue_drains_between_the_end_of_the_load_and_one_time_out_later(
    trips: list[Trip], last_ns: int
) -> None:
    drained = drained_ns(trips, last_ns, last_ns + 3 * S)
    assert last_ns <= drained <= last_ns + 3 * S


# ---- RPM ----


def each_second(begin_s: int, end_s: int, ms: int) -> list[Trip]:
    return [Trip(at_s * S, ms * MS) for at_s in range(begin_s, end_s)]


def test_the_responsiveness_of_an_example_matches_a_manual_calculation() -> None:
    """A load from 5 to 25 s. Connections with their request take 80 ms: 40 ms each of the two, so
    that Foreign is 1500; the load's own round trip is 100 ms: Loaded is 600. RPM is their mean.
    """
    rpm = responsiveness_per_minute(each_second(0, 30, 80), each_second(5, 25, 100), 5 * S, 25 * S)
    assert rpm == pytest.approx(1050.0)


def test_responsiveness_is_the_mean_of_four_trimmed_intervals() -> None:
    """5 s each with 20 connections of 80 ms, of which the longest is left out; in the last of the
    four they take 40 ms: Foreign is 3000 there.
    """
    connections = [Trip(5 * S + number * 250 * MS, 80 * MS) for number in range(60)]
    connections += [Trip(20 * S + number * 250 * MS, 40 * MS) for number in range(20)]
    for number in (3, 27, 44, 79):
        connections[number] = Trip(connections[number].at_ns, 4 * S)
    rpm = responsiveness_per_minute(connections, each_second(5, 25, 100), 5 * S, 25 * S)
    assert rpm == pytest.approx((3 * (1500 + 600) / 2 + (3000 + 600) / 2) / 4)


@pytest.mark.parametrize(
    ("connections", "rtts", "load_s"),
    [
        (each_second(0, 30, 80), [], 5),  # a system that tells no round trip
        ([], each_second(5, 25, 100), 5),
        (each_second(11, 30, 80), each_second(5, 25, 100), 5),  # none in the first interval
        (each_second(9, 30, 80), each_second(5, 25, 100), 5),  # one in the first interval
        (each_second(0, 30, 80), each_second(7, 25, 100), 7),  # the load is too short
        ([Trip(at_s * S, None) for at_s in range(30)], each_second(5, 25, 100), 5),
        (each_second(0, 30, 80), each_second(5, 25, 0), 5),  # a round trip of nothing
    ],
)
def test_responsiveness_is_absent_without_enough_connections_and_round_trips(
    connections: list[Trip], rtts: list[Trip], load_s: int
) -> None:
    assert responsiveness_per_minute(connections, rtts, load_s * S, 25 * S) is None


def test_responsiveness_trims_one_lost_connection_in_twenty_but_not_two() -> None:
    connections = [Trip(5 * S + number * 250 * MS, 80 * MS) for number in range(80)]
    rtts = each_second(5, 25, 100)
    connections[0] = Trip(connections[0].at_ns, None)
    rpm = responsiveness_per_minute(connections, rtts, 5 * S, 25 * S)
    assert rpm is not None and math.isclose(rpm, 1050.0)
    connections[1] = Trip(connections[1].at_ns, None)
    assert responsiveness_per_minute(connections, rtts, 5 * S, 25 * S) is None
