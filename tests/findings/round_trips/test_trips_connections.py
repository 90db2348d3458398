"""Findings report connections whose first packet was lost."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from made_findings import run_of
from made_histograms import of_values, to_pairs
from made_readings import plan_of, planned, result
from made_trips import found, said, timed, trips_run

from netlab.findings.finding import Group, Kind, finding, in_trials
from netlab.findings.round_trips import (
    LongTrips,
    TripCell,
    TripTrial,
    _near,
    first_packet_lost,
    first_packets,
)
from netlab.findings.series import series_of
from netlab.trial.record import Value

KIND = "first-packet-lost"
CELL = planned("connect", protocol="TCP", message_bytes=64)


def shorts(number: int, place_us: float = 150) -> list[int]:
    rng = Random(number)  # noqa: S311
    return [round(1e3 * place_us * rng.uniform(0.8, 1.5)) for _ in range(number)]


def later(*seconds: float) -> list[int]:
    rng = Random(31)  # noqa: S311
    return [round(1e9 * second * rng.uniform(1.0002, 1.015)) for second in seconds]


def test_connections_delayed_by_a_retransmission_time_out_are_reported(tmp_path: Path) -> None:
    trials = [timed(shorts(496) + later(1, 1, 1, 3)), timed(shorts(500))]
    run = trips_run(tmp_path / "r", (CELL, trials), link=None)
    text = said(run, KIND)
    assert text.startswith("LL TCP 64: in 1 of 2 trials: 4 of 500 connections took up to 3")
    (only,) = found(run, KIND)
    assert only.evidence["mean_trip_ns"] > 10e6
    assert only.evidence["mean_without_trip_ns"] == pytest.approx(172e3, rel=0.05)
    assert found(run, "rtt-outliers") == []


@pytest.mark.parametrize(
    ("times", "more"),
    [
        (shorts(500), {}),
        (shorts(480) + [round(9e8 + 3.7e8 * at) for at in range(20)], {}),
        (shorts(499) + later(1), {"client_stalled_ns": 10**9}),
        ([round(4e8 + 5.3e7 * at) for at in range(50)], {}),
        ([*shorts(499), 1_300_000_000], {}),
    ],
)
def test_other_long_connections_are_not_reported_as_lost_first_packets(
    tmp_path: Path, times: list[int], more: dict[str, Value]
) -> None:
    run = trips_run(tmp_path / "r", (CELL, [timed(times, **more)]), link=None)
    assert found(run, KIND) == []


def test_round_trips_over_an_open_connection_are_not_reported_as_lost_first_packets(
    tmp_path: Path,
) -> None:
    cell = planned("round_trip", protocol="TCP", message_bytes=64)
    run = trips_run(tmp_path / "r", (cell, [timed(shorts(499) + later(1))]), link=None)
    assert found(run, KIND) == []


USUAL_NS = 512_143
"""Below 2^20: with 20 bits, its bucket counts no other value. So are the middles of buckets:"""
FIRST_NS, LATEST_NS = 1_000_000_255, 1_127_047_679
"""1 s, and the last bucket up to 1.125 s and four times the usual time (1,127,048,572 ns)."""
TOO_LATE_NS = 3_377_048_575
"""3 ns more than 3 · 1.125 s and four times the usual time."""
BETWEEN_NS, SECOND_NS = 1_500_000_255, 2_000_000_511


def exactly(counts: dict[int, int]) -> dict[str, Value]:
    """A trial with these durations, within an hour."""
    durations = of_values([ns for ns, count in counts.items() for _ in range(count)], bits=20)
    values: dict[str, Value] = {"elapsed_ns": 3600 * 10**9, "rtt_histogram": to_pairs(durations)}
    return {**values, "rtt_histogram_bits": 20}


def judged(counts: dict[int, int], **more: Value) -> list[LongTrips]:
    """What is found about one trial with these durations."""
    record = result(CELL, 1, {**exactly(counts), **more})
    return first_packets(TripCell(Group(), CELL.key, "connect", (TripTrial(record),)))


def test_connections_up_to_an_eighth_and_four_medians_late_count_as_lost_first_packets() -> None:
    (loss,) = judged({USUAL_NS: 995, LATEST_NS: 4, TOO_LATE_NS: 1})
    usual_ns, lost_ns = 995 * USUAL_NS + TOO_LATE_NS, 4 * LATEST_NS
    assert [loss.trips, loss.long, loss.longest_ns] == [1000, 4, LATEST_NS]
    means_ns = [(usual_ns + lost_ns) / 1000, usual_ns / 996]
    assert [loss.mean_ns, loss.without_ns] == pytest.approx(means_ns)


@pytest.mark.parametrize(
    ("long", "more", "lost"),
    [
        ({FIRST_NS: 3, BETWEEN_NS: 1}, {}, 0),  # three in four
        ({FIRST_NS: 1, SECOND_NS: 2}, {}, 0),  # most took the second time-out
        ({FIRST_NS: 2, SECOND_NS: 2}, {}, 4),
        ({FIRST_NS: 2}, {"client_stalled_ns": FIRST_NS}, 0),  # paused for half of the time
        ({FIRST_NS: 2}, {"client_stalled_ns": FIRST_NS - 1}, 2),
        ({FIRST_NS: 2}, {"server_stalled_ns": FIRST_NS - 1, "client_stalled_ns": 1}, 0),
        ({FIRST_NS: 2}, {"rtt_histogram": None}, 0),
    ],
)
def test_first_packets_count_as_lost_only_if_most_long_connections_took_about_a_first_time_out(
    long: dict[int, int], more: dict[str, Value], lost: int
) -> None:
    assert sum(loss.long for loss in judged({USUAL_NS: 500, **long}, **more)) == lost


def test_a_single_connection_of_a_second_does_not_count_as_a_lost_first_packet() -> None:
    assert judged({FIRST_NS: 1}) == []


def test_lost_first_packets_are_counted_over_all_trials_with_the_means_of_the_worst_one() -> None:
    """Of 1000 connections, four were delayed; of 100, two, which is the larger share."""
    delayed = [{USUAL_NS: 996, FIRST_NS: 4}, {USUAL_NS: 500}, {USUAL_NS: 98, LATEST_NS: 2}]
    records = [result(CELL, number, exactly(counts)) for number, counts in enumerate(delayed, 1)]
    (only,) = first_packet_lost(series_of(run_of(plan_of([CELL], 3), records)))
    figures = {
        **{"lost_connections": 6, "connections": 1100, "longest_trip_ns": LATEST_NS},
        "mean_trip_ns": (98 * USUAL_NS + 2 * LATEST_NS) / 100,
        **{"mean_without_trip_ns": USUAL_NS, "trials": 2, "of_trials": 3},
    }
    trials = ((CELL.key, 1), (CELL.key, 3))
    assert only == finding(
        Kind.FIRST_PACKET_LOST,
        Group("LL", "TCP", 64),
        (CELL.key,),
        figures,
        in_trials(2, 3),
        trials,
    )


def test_a_time_out_is_recognised_from_a_hundredth_early_to_an_eighth_and_four_medians_late() -> (
    None
):
    times_ns = (990_000_000, 1_125_000_400, 1_980_000_000, 7_875_000_400)
    assert [_near(time_ns, 100) for time_ns in times_ns] == [True] * 4
    others_ns = (989_999_999, 1_125_000_401, 1_979_999_999, 7_875_000_401)
    assert [_near(time_ns, 100) for time_ns in others_ns] == [False] * 4
