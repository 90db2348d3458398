"""Findings report two groups of round trips and a few far longer round trips."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from folders import ROOT
from made_findings import run_of
from made_histograms import of_values, to_pairs
from made_readings import plan_of, result
from made_trips import found, said, timed, trip_cell, trips_run

from netlab.findings.analysis import load
from netlab.findings.finding import Group, Kind, finding, in_trials
from netlab.findings.round_trips import outliers
from netlab.findings.series import series_of
from netlab.trial.record import Value

RNG = random.Random(21)  # noqa: S311  (no secret)


def about(place_ns: float, number: int, spread: float = 0.04) -> list[int]:
    return [round(place_ns * (1 + RNG.gauss(0, spread))) for _ in range(number)]


TWO = [about(12_000, 300) + about(62_000, 700) for _ in range(3)]
ONE = [about(62_000, 1000) for _ in range(3)]


def test_two_groups_of_round_trips_are_reported_with_their_times_and_shares(tmp_path: Path) -> None:
    trials = [timed(times) for times in (TWO[0], TWO[1], ONE[0])]
    run = trips_run(tmp_path / "r", (trip_cell(), trials), link=None)
    text = said(run, "two-modes")
    assert text.startswith(
        "LL UDP 18: in 2 of 3 trials: the times fall into two groups, 30 % about 1"
    )
    assert " 70 % about 6" in text
    (only,) = found(run, "two-modes")
    assert only.severity == "note"
    assert (only.evidence["trials"], only.evidence["of_trials"]) == (2, 3)
    assert only.evidence["lower_trip_ns"] == pytest.approx(12_000, rel=0.05)
    assert only.evidence["upper_trip_ns"] == pytest.approx(62_000, rel=0.05)
    assert [trial for _cell, trial in only.trials] == [1, 2]


def test_two_groups_in_only_half_of_the_trials_are_not_reported(tmp_path: Path) -> None:
    run = trips_run(tmp_path / "r", (trip_cell(), [timed(TWO[0]), timed(ONE[0])]), link=None)
    assert found(run, "two-modes") == []


DEEP = {"idle_state_deepest": "C6", "idle_state_latency_us": 133}


@pytest.mark.parametrize(
    ("facts", "settings", "words"),
    [
        ({}, {}, ""),
        (
            {"beta": DEEP},
            {},
            "the CPUs of beta may sleep in C6, and need up to 133 µs to wake up",
        ),
        (
            {"alpha": DEEP},
            {},
            "the CPUs of alpha may sleep in C6, and need up to 133 µs to wake up",
        ),
        ({"beta": DEEP}, {"client_receive": "spinning"}, ""),
        ({"beta": {**DEEP, "idle_state_latency_us": 2}}, {}, ""),
        (
            {"alpha": {"interface_coalesce_rx_us": 50}},
            {"server_receive": "spinning"},
            "the interface of alpha delays interrupts by up to 50 µs",
        ),
        ({"alpha": {"interface_coalesce_rx_us": 3}}, {}, ""),
    ],
)
def test_a_cause_of_two_groups_is_named_only_if_host_facts_show_a_long_enough_delay(
    tmp_path: Path, facts: dict[str, Any], settings: dict[str, Any], words: str
) -> None:
    run = trips_run(
        tmp_path / "r", (trip_cell(**settings), [timed(TWO[0])]), link=None, facts=facts
    )
    text = said(run, "two-modes")
    assert text.endswith(f"; {words}." if words else " µs.")


LONG = about(60_000, 990) + about(5_000_000, 10)


def test_a_few_long_round_trips_are_reported_with_the_mean_without_outliers(tmp_path: Path) -> None:
    run = trips_run(tmp_path / "r", (trip_cell(), [timed(LONG), timed(LONG)]), link=None)
    text = said(run, "rtt-outliers")
    assert text.startswith(
        "LL UDP 18: in 2 of 2 trials: 10 of 1000 round trips took more than ten times the "
        "median of "
    )
    (only,) = found(run, "rtt-outliers")
    assert only.evidence["mean_without_trip_ns"] == pytest.approx(60_000, rel=0.02)
    assert only.evidence["mean_trip_ns"] == pytest.approx(109_400, rel=0.03)
    assert text.endswith("µs.")


@pytest.mark.parametrize(
    ("more", "end"),
    [
        (
            {"client_tcp_begin_total_retrans": 0, "client_tcp_end_total_retrans": 10},
            "; TCP sent 10 segments again.",
        ),
        ({"client_tcp_begin_total_retrans": 5, "client_tcp_end_total_retrans": 8}, " µs."),
        (
            {"elapsed_ns": 300_000_000, "server_run_queue_delay_ns": 40_000_000},
            "; the ends waited 40 ms for a CPU in that time.",
        ),
        ({"elapsed_ns": 300_000_000, "server_run_queue_delay_ns": 9_000_000}, " µs."),
    ],
)
def test_retransmissions_or_cpu_waits_that_explain_half_of_the_long_round_trips_are_named(
    tmp_path: Path, more: dict[str, Value], end: str
) -> None:
    run = trips_run(tmp_path / "r", (trip_cell(), [timed(LONG, **more)]), link=None)
    assert said(run, "rtt-outliers").endswith(end)


@pytest.mark.parametrize(
    "times",
    [
        about(60_000, 996) + about(5_000_000, 4),  # too few
        about(60_000, 9950) + about(700_000, 50),  # a twentieth of the time
        about(60_000, 990) + about(500_000, 10),  # not ten times as long
    ],
)
def test_too_few_or_too_short_outliers_of_round_trips_are_not_reported(
    tmp_path: Path, times: list[int]
) -> None:
    run = trips_run(tmp_path / "r", (trip_cell(), [timed(times)]), link=None)
    assert found(run, "rtt-outliers") == []


def test_figures_of_long_round_trips_are_those_of_the_median_trial_with_the_causes_of_all() -> None:
    """Of 100 round trips, all others take 10 µs. The excess times are 2.73, 9.9, 0.95, 3.92 and
    1.74 ms, half of them together 9.62 ms; half of all 36 long round trips are 18.
    """
    counters: list[dict[str, Any]] = [
        {"client_tcp_begin_total_retrans": 3, "client_tcp_end_total_retrans": 8}
        | {"server_tcp_begin_total_retrans": 0, "server_tcp_end_total_retrans": 6},
        {"client_tcp_begin_total_retrans": 10, "client_tcp_end_total_retrans": 14}
        | {"server_tcp_begin_total_retrans": 5, "server_tcp_end_total_retrans": 5},
        {"client_tcp_begin_total_retrans": 7, "server_tcp_end_total_retrans": 7},
        {"client_tcp_begin_total_retrans": 9, "client_tcp_end_total_retrans": 2}
        | {"server_tcp_begin_total_retrans": 0, "server_tcp_end_total_retrans": 3},
        {},
    ]
    long_us = [(7, 400), (10, 1000), (5, 200), (8, 500), (6, 300)]
    cell, values = trip_cell(), [timed([10_000] * 100)]
    for (number, each_us), counts in zip(long_us, counters, strict=True):
        times = [10_000] * (100 - number) + [1000 * each_us] * number
        exact: dict[str, Value] = {
            "rtt_histogram": to_pairs(of_values(times, bits=20)),
            "rtt_histogram_bits": 20,
        }
        waits: dict[str, Value] = {"elapsed_ns": 10**9, "client_run_queue_delay_ns": 9_620_000 // 5}
        values.append(timed(times, **exact, **waits, **counts))
    records = [result(cell, number, trial) for number, trial in enumerate(values, 1)]
    figures = {
        **{"long_trips": 7, "trips": 100, "median_trip_ns": 10_000, "longest_trip_ns": 1_000_000},
        **{"mean_trip_ns": 37_300, "mean_without_trip_ns": 10_000},
        **{"sent_again": 18, "waited_ns": 1_924_000, "trials": 5, "of_trials": 6},
    }
    (only,) = outliers(series_of(run_of(plan_of([cell], 6), records)))
    words = {"what": "round trips", **in_trials(5, 6)}
    trials = tuple((cell.key, number) for number in range(2, 7))
    group = Group("LL", "UDP", 18)
    assert only == finding(Kind.RTT_OUTLIERS, group, (cell.key,), figures, words, trials)


def test_a_stalled_process_is_reported_instead_of_long_round_trips(tmp_path: Path) -> None:
    delayed = timed(LONG, elapsed_ns=1_000_000_000, client_stalled_ns=50_000_000)
    run = trips_run(tmp_path / "r", (trip_cell(), [delayed]), link=None)
    assert {str(finding.kind) for finding in run.findings} - {"off-time"} == {"host-delay/process"}


def test_a_recorded_run_has_two_groups_of_round_trips_only_with_blocking_receive_calls() -> None:
    run = load(ROOT / "tests" / "fixtures" / "two-modes")
    bimodal = found(run, "two-modes")
    assert bimodal
    for reported in bimodal:
        assert ("server_receive", "blocking") in reported.group.conditions
        assert reported.evidence["lower_trip_ns"] < 20_000 < reported.evidence["upper_trip_ns"]
