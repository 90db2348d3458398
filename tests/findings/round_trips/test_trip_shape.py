"""Causes of two groups of times, and tails of long times, computed by hand."""

from __future__ import annotations

from typing import Any

import pytest
from made_histograms import of_values, to_pairs
from made_readings import planned, result

from netlab.findings.round_trips import TripTrial, _tail, suspect
from netlab.stats.histogram import Modes

APART_40_US = Modes(lower=100_000, upper=140_000, lower_share=0.5)
SLEEPS = "the CPUs of beta may sleep in C6, and need up to 10 µs to wake up"
DELAYS = "the interface of beta delays interrupts by up to 10 µs"


def trial(**values: Any) -> TripTrial:
    return TripTrial(result(planned("round_trip"), 1, values))


def timed(counts: dict[int, int]) -> TripTrial:
    """A trial with these times; with 20 bits, each time has its own bucket."""
    times = of_values([ns for ns, count in counts.items() for _ in range(count)], bits=20)
    return trial(rtt_histogram=to_pairs(times), rtt_histogram_bits=20)


@pytest.mark.parametrize(
    ("facts", "cause"),
    [
        ([{"idle_state_latency_us": 10, "idle_state_deepest": "C6"}, {"cpus": 4}], SLEEPS),
        ([{"idle_state_latency_us": 10}, {"idle_state_deepest": "C6"}], SLEEPS),
        ([{"idle_state_latency_us": 9.995, "idle_state_deepest": "C6"}], None),
        ([{"interface_coalesce_rx_us": 10}], DELAYS),
        ([{"interface_coalesce_rx_us": 9.995}], None),
    ],
)
def test_a_delay_of_at_least_a_quarter_of_the_distance_is_a_cause_of_two_groups(
    facts: list[dict[str, Any]], cause: str | None
) -> None:
    """The distance is 40 µs, a quarter of it 10 µs."""
    assert suspect(trial(), APART_40_US, {"beta": facts}) == cause


@pytest.mark.parametrize("facts", [{}, {"beta": [{}]}])
def test_an_unknown_delay_is_no_cause_of_the_shortest_distance(facts: dict[str, Any]) -> None:
    assert suspect(trial(), Modes(lower=1_000, upper=1_100, lower_share=0.5), facts) is None


def test_a_tail_of_round_trips_is_a_tenth_of_their_time_in_more_than_ten_times_the_median() -> None:
    """5 times 24 µs exceed 1 µs by 115 µs together; all times are 1.15 ms."""
    tail = _tail(timed({1_000: 1_030, 24_000: 5}))
    assert tail is not None
    assert (tail.trips, tail.long, tail.median_ns, tail.longest_ns) == (1_035, 5, 1_000, 24_000)
    assert (tail.beyond_ns, tail.without_ns) == (115_000, 1_000)
    assert tail.mean_ns == pytest.approx(1_150_000 / 1_035)
    assert _tail(timed({1_000: 1_031, 24_000: 5})) is None
    assert _tail(timed({1_000: 1_030, 24_000: 4})) is None


def test_round_trips_of_ten_times_the_median_are_no_tail() -> None:
    assert _tail(timed({1_000: 95, 10_000: 5})) is None
    assert _tail(timed({1_000: 95, 10_001: 5})) is not None


@pytest.mark.parametrize("times", [trial(), timed({1_000: 1}), timed({0: 95, 10_000: 5})])
def test_without_a_median_above_0_there_is_no_tail_of_round_trips(times: TripTrial) -> None:
    assert _tail(times) is None
