"""Findings report connections whose first packet was lost."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from made_readings import planned
from made_trips import found, said, timed, trips_run

from netlab.experiment.records import Value

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
