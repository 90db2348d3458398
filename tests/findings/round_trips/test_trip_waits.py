"""Waits for a CPU in round trips, and what they explain, computed by hand."""

from __future__ import annotations

from typing import Any

import pytest
from made_readings import planned, result

from netlab.findings.finding import Group
from netlab.findings.round_trips import TripCell, TripTrial, Waiting, _explains, waiting, waiting_of

MS = 1_000_000
TRIPS = 10_000


def trial(number: int = 1, outstanding: int = 1, **values: Any) -> TripTrial:
    """A trial of 1 s with 10,000 round trips of 100 µs."""
    usual = {"rtt_mean_ns": 100_000, "rtt_count": TRIPS, "elapsed_ns": 1000 * MS}
    cell = planned("round_trip", outstanding=outstanding)
    return TripTrial(result(cell, number, {**usual, **values}))


def wait(mean_ns: float, each_ns: float = 0, under_way: int = 1) -> Waiting:
    """Waits of a trial, per round trip."""
    return Waiting(
        trial=trial(outstanding=under_way),
        waited_ns=each_ns * TRIPS,
        wait="delay",
        end="client",
        longest_ns=each_ns * TRIPS,
        mean_ns=mean_ns,
        number=TRIPS,
    )


def test_the_waits_of_both_ends_add_up_and_the_longest_of_all_is_named() -> None:
    """The steal of both ends is that of one machine: 30 ms count, which the delays exceed."""
    waits: dict[str, Any] = {
        **{"client_run_queue_delay_ns": 50 * MS, "client_quota_throttled_ns": 20 * MS},
        **{"server_run_queue_delay_ns": 5 * MS, "server_quota_throttled_ns": 10 * MS},
        **{"server_host_steal_share": 0.03, "client_host_steal_share": 0.02},
    }
    measured = trial(transactions=500, **waits)
    assert waiting(measured) == Waiting(
        trial=measured,
        waited_ns=60 * MS,
        wait="delay",
        end="client",
        longest_ns=50 * MS,
        mean_ns=100_000,
        number=TRIPS,
    )


@pytest.mark.parametrize("delay_ns", [0, 5 * MS])
def test_waits_count_from_a_window_of_200_ms_even_if_they_are_0(delay_ns: int) -> None:
    known = trial(
        rtt_count=None, transactions=40, elapsed_ns=200 * MS, client_run_queue_delay_ns=delay_ns
    )
    found = waiting(known)
    assert found is not None
    assert (found.waited_ns, found.number) == (delay_ns, 40)


@pytest.mark.parametrize(
    "missing",
    [
        {"rtt_mean_ns": None},
        {"rtt_count": None},
        {"elapsed_ns": None},
        {"elapsed_ns": 200 * MS - 1},
        {"client_run_queue_delay_ns": None},
    ],
)
def test_without_a_mean_a_number_a_long_window_or_a_wait_a_trial_has_no_waits(
    missing: dict[str, Any],
) -> None:
    assert waiting(trial(**{"client_run_queue_delay_ns": 5 * MS, **missing})) is None


@pytest.mark.parametrize(
    ("slow", "means_ns", "explained"),
    [
        # 95 ± 10 µs: four trials need 4.5 times their scatter, 45 µs.
        (wait(139_999, 40_000), (80_000, 90_000, 100_000, 110_000), False),
        (wait(140_000, 40_000), (80_000, 90_000, 100_000, 110_000), True),
        (wait(130_000, 40_000), (80_000, 90_000, 110_000), True),  # three have no scatter
        (wait(60, 40), (56.5, 56.5), True),
        (wait(100_000, 40_000), (95_000, 95_000), True),  # two: a twentieth
        (wait(100_000, 40_000), (95_001, 95_001), False),
        (wait(100_000, 40_000), (80_000,), True),  # one: a fifth
        (wait(100_000, 40_000), (80_001,), False),
        (wait(100_000, 40_000), (50_000, 100_000), False),  # one of them is as slow
        # At least half of 40 µs, in addition to the waits of 6 µs of the other trials.
        (wait(100_000, 25_999), (60_000, 60_000), False),
        (wait(100_000, 26_000), (60_000, 60_000), True),
        (wait(100_000, 16_000, under_way=2), (60_000, 60_000), True),
    ],
)
def test_waits_explain_a_trial_that_is_slower_than_all_others_by_more_than_their_scatter(
    slow: Waiting, means_ns: tuple[float, ...], explained: bool
) -> None:
    each_ns = 0 if slow.mean_ns < 100 else 6_000
    assert _explains(slow, [wait(mean_ns, each_ns) for mean_ns in means_ns]) is explained


@pytest.mark.parametrize(
    ("slow_ms", "others_ms", "reported"),
    [
        (50, 0, True),  # a twentieth of 1 s
        (49, 0, False),
        (400, 199, True),
        (400, 200, False),  # the others waited for half as long
    ],
)
def test_trials_are_compared_from_a_twentieth_of_waits_with_trials_that_waited_less_than_half(
    slow_ms: int, others_ms: int, reported: bool
) -> None:
    others = [
        trial(number, rtt_mean_ns=95_000, client_run_queue_delay_ns=others_ms * MS)
        for number in (2, 3)
    ]
    trials = (trial(1, client_run_queue_delay_ns=slow_ms * MS), *others)
    longer = waiting_of(TripCell(Group(), "cell", "round_trip", trials))
    assert [(slow.trial.record.key[1], best) for slow, best in longer] == [(1, 95_000)] * reported
