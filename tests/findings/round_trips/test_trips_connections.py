"""Findings report connections whose first packet was lost."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from made_histograms import of_values, to_pairs
from made_readings import planned, result
from made_trips import found, said, timed, trips_run

from netlab.experiment.records import Value
from netlab.findings.finding import Group
from netlab.findings.round_trips.connections import LostFirst, first_packets
from netlab.findings.round_trips.trips import TripCell, TripTrial

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


def judged(counts: dict[int, int], **more: Value) -> list[LostFirst]:
    """What is found about one trial with these durations, within an hour."""
    durations = of_values([ns for ns, count in counts.items() for _ in range(count)], bits=20)
    values: dict[str, Value] = {"elapsed_ns": 3600 * 10**9, "rtt_histogram": to_pairs(durations)}
    record = result(CELL, 1, {**values, "rtt_histogram_bits": 20, **more})
    return first_packets(TripCell(Group(), CELL.key, "connect", (TripTrial(record),)))


def test_connections_up_to_an_eighth_and_four_medians_late_count_as_lost_first_packets() -> None:
    (loss,) = judged({USUAL_NS: 995, LATEST_NS: 4, TOO_LATE_NS: 1})
    usual_ns, lost_ns = 995 * USUAL_NS + TOO_LATE_NS, 4 * LATEST_NS
    assert [loss.connections, loss.lost, loss.longest_ns] == [1000, 4, LATEST_NS]
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
    assert sum(loss.lost for loss in judged({USUAL_NS: 500, **long}, **more)) == lost


def test_a_single_connection_of_a_second_does_not_count_as_a_lost_first_packet() -> None:
    assert judged({FIRST_NS: 1}) == []
