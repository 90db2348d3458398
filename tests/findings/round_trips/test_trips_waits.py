"""Findings report CPU waits that explain longer round trips."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from draws import chance, drawn
from made_readings import result
from made_trips import found, said, trip_cell, trips_run

from netlab.findings.finding import Group
from netlab.findings.round_trips import TripCell, TripTrial, waiting_of
from netlab.trial.record import Value

KIND = "trip-waited-for-cpu"
WINDOW_NS = 1_000_000_000


def trial(mean_us: float, waited_share: float = 0.0, **more: Value) -> dict[str, Value]:
    """A trial of 1 s in which the client had no CPU for a share of the time."""
    number = round(WINDOW_NS / (1e3 * mean_us))
    return {
        "transactions": number,
        "rtt_count": number,
        "rtt_mean_ns": WINDOW_NS / number,
        "elapsed_ns": WINDOW_NS,
        "same_host": False,
        "client_run_queue_delay_ns": round(waited_share * WINDOW_NS),
        **more,
    }


def test_a_trial_that_waited_for_a_cpu_is_reported_with_the_mean_of_the_other_trials(
    tmp_path: Path,
) -> None:
    trials = [trial(60, 0.01), trial(100, 0.4), trial(61, 0.01)]
    run = trips_run(tmp_path / "r", (trip_cell(), trials), link=None)
    assert said(run, KIND) == (
        "LL UDP 18: in 1 of 3 trials: the client was ready to run and had no CPU for 40 µs of the "
        "mean time of 100 µs; the mean of trials with shorter waits is 60.5 µs."
    )
    (only,) = found(run, KIND)
    assert (only.severity, [number for _cell, number in only.trials]) == ("warning", [2])


@pytest.mark.parametrize(
    "trials",
    [
        [trial(60, 0.01), trial(100, 0.1), trial(61, 0.01)],  # too short for what is missing
        [trial(60, 0.01), trial(60, 0.4), trial(61, 0.01)],  # nothing is missing
        [trial(60, 0.4), trial(60, 0.4), trial(61, 0.4)],  # nothing to compare with
        [trial(60, 0.01), trial(62, 0.04), trial(61, 0.01)],  # a twentieth is not reached
        [trial(60, 0.01), trial(100, 0.4), trial(130, 0.01)],  # one with fewer took longer
        [trial(60, 0.01), trial(70, 0.14)],  # one trial against one
        [
            trial(60, 0.01, elapsed_ns=10**8),
            trial(100, 0.4, elapsed_ns=10**8),
            trial(61, elapsed_ns=10**8),
        ],
        [trial(60, 0.01), trial(100, 0.4, client_stalled_ns=10**8), trial(61, 0.01)],
    ],
)
def test_cpu_waits_that_do_not_explain_longer_round_trips_are_not_reported(
    tmp_path: Path, trials: list[dict[str, Value]]
) -> None:
    run = trips_run(tmp_path / "r", (trip_cell(), trials), link=None)
    assert found(run, KIND) == []


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (
            {"server_host_steal_share": 0.4},
            "the server’s CPUs were given to other machines for 40 µs",
        ),
        (
            {"server_run_queue_delay_ns": 4 * 10**8},
            "the server was ready to run and had no CPU for",
        ),
        (
            {"server_quota_throttled_ns": 9 * 10**9 // 10},
            "a CPU quota throttled the server for",
        ),
    ],
)
def test_a_cpu_wait_is_reported_with_its_cause_and_with_server_or_client(
    tmp_path: Path, more: dict[str, Value], words: str
) -> None:
    trials = [trial(60, 0.01), trial(100, 0.02, **more), trial(61, 0.01)]
    run = trips_run(tmp_path / "r", (trip_cell(), trials), link=None)
    assert words in said(run, KIND)


def test_a_cpu_quota_that_throttles_every_trial_is_reported_without_a_comparison(
    tmp_path: Path,
) -> None:
    quota: dict[str, Value] = {
        "client_quota_periods": 10,
        "client_quota_throttled_periods": 9,
        "client_quota_throttled_ns": 7 * 10**8,
    }
    run = trips_run(tmp_path / "r", (trip_cell(), [trial(200, 0.0, **quota)] * 3), link=None)
    assert said(run, KIND) == (
        "LL UDP 18: in 3 of 3 trials: a CPU quota throttled the client for 140 µs of the mean "
        "time of 200 µs."
    )


@pytest.mark.parametrize(
    ("periods", "throttled", "trials"),
    [(100, 5, 0), (100, 6, 2), (10, None, 0), (None, 6, 0), (0, 6, 0)],
)
def test_a_quota_alone_explains_trials_only_if_it_throttled_more_than_5_percent_of_its_periods(
    periods: int | None, throttled: int | None, trials: int
) -> None:
    quota: dict[str, Any] = {
        "client_quota_periods": periods,
        "client_quota_throttled_periods": throttled,
    }
    values = trial(200, 0.0, client_quota_throttled_ns=7 * 10**8, **quota)
    cell = trip_cell()
    two = tuple(TripTrial(result(cell, number, values)) for number in (1, 2))
    waits = waiting_of(TripCell(Group(), cell.key, "round_trip", two))
    assert [(wait.trial, best_ns) for wait, best_ns in waits] == [
        (quota_trial, None) for quota_trial in two[:trials]
    ]


def test_random_trials_have_a_cpu_wait_finding_exactly_if_waiting_for_a_cpu_slowed_the_trial(
    tmp_path: Path,
) -> None:
    """Some trials are longer by their waits, others are slow for another reason."""
    rng, number = chance(17), drawn(60, 400)
    right = wrong = missed = 0
    cells = []
    for index in range(number):
        base, scatter = rng.uniform(20, 500), rng.choice([0.003, 0.01, 0.03])
        truth = rng.choice(["waits", "other", "none", "beside"])
        means = [base * (1 + rng.gauss(0, scatter)) for _ in range(5)]
        waited = [rng.uniform(0, 0.02) for _ in means]
        if truth == "waits":
            share = rng.uniform(0.2, 0.6)
            means[2], waited[2] = means[2] / (1 - share), share
        elif truth == "other":
            means[2] *= rng.uniform(1.2, 3)
        elif truth == "beside":  # it waited a little, and took three times as long
            means[2], waited[2] = 3 * means[2], rng.uniform(0.05, 0.25)
        trials = [trial(mean, share) for mean, share in zip(means, waited, strict=True)]
        cells.append((trip_cell(source_port=index + 1), trials, truth))
    run = trips_run(tmp_path / "r", *((cell, trials) for cell, trials, _truth in cells), link=None)
    findings = {finding.cells[0]: finding for finding in found(run, KIND)}
    for cell, _trials, truth in cells:
        waits_finding = findings.get(cell.key)
        right += (
            waits_finding is not None
            and truth == "waits"
            and waits_finding.trials == ((cell.key, 3),)
        )
        wrong += waits_finding is not None and truth != "waits"
        missed += waits_finding is None and truth == "waits"
    assert (wrong, missed) == (0, 0)
    assert right >= number / 6
