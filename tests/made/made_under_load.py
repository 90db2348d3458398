"""Latency under load made up: cells, and records of round trips one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from made_readings import planned, result

from netlab.kinds.latency_under_load.phases import Phases, Trip, connection_figures, phase_figures
from netlab.store.plan import PlannedCell
from netlab.trial.record import Record, Value

RATE_PER_S = 100
PHASES = Phases(
    idle_open_ns=0,
    load_open_ns=1_000_000_000,
    settled_ns=2_000_000_000,
    load_close_ns=5_000_000_000,
    drained_ns=5_100_000_000,
    after_close_ns=6_100_000_000,
)
REQUESTS = 620
INTERVAL_NS = 100_000_000


def under_load_cell(pairing: str = "LL", **settings: Any) -> PlannedCell:
    """Over TCP from the client to the server, unless it is said otherwise."""
    cell_settings = {
        "protocol": "TCP",
        "message_bytes": 1448,
        "direction": "client-sends",
        **settings,
    }
    return planned("latency_under_load", pairing, **cell_settings)


def trips(
    idle_ms: float | None = 0.1, loaded_ms: float | None = 100.0, after_ms: float | None = 0.1
) -> list[Trip]:
    """A request each 10 ms; ``None``: those of that phase are lost."""
    times = {0: idle_ms, 1: loaded_ms, 2: after_ms}
    series = []
    for number in range(REQUESTS):
        at_ns = 10_000_000 * number
        phase = 0 if at_ns < PHASES.load_open_ns else 1 if at_ns < PHASES.drained_ns else 2
        time_ms = times[phase]
        series.append(Trip(at_ns, None if time_ms is None else round(1e6 * time_ms) + number))
    return series


def losing(series: Sequence[Trip], every: int) -> list[Trip]:
    """The same, one of so many lost while the load lasts."""
    return [
        Trip(trip.at_ns, None)
        if PHASES.load_open_ns <= trip.at_ns < PHASES.load_close_ns and number % every == 0
        else trip
        for number, trip in enumerate(series)
    ]


def under_load_values(
    series: Sequence[Trip],
    phases: Phases = PHASES,
    *,
    flows: Mapping[str, float] | None = None,
    **more: Value,
) -> dict[str, Value]:
    """What a record says of these round trips; ``flows``: prefix → Mbit/s."""
    values: dict[str, Value] = dict(phase_figures(series, phases))
    values |= {
        "idle_open_ns": phases.idle_open_ns,
        "load_open_ns": phases.load_open_ns,
        "settled_ns": phases.settled_ns,
        "load_close_ns": phases.load_close_ns,
        "drained_ns": phases.drained_ns,
        "after_close_ns": phases.after_close_ns,
        "trip_ns": [trip.ns for trip in series if trip.ns is not None],
        "lost_trips": [number for number, trip in enumerate(series) if trip.ns is None],
        "same_host": False,
    }
    number = (phases.load_close_ns - phases.load_open_ns) // INTERVAL_NS
    for flow, rate in (flows or {"": 90.0}).items():
        values[f"{flow}throughput_bit_per_s"] = 1e6 * rate
        values[f"{flow}receiver_interval_ns"] = INTERVAL_NS
        values[f"{flow}receiver_interval_bytes"] = [round(rate * 12_500)] * number
        values[f"{flow}receiver_elapsed_ns"] = number * INTERVAL_NS
    return values | more


def connections(idle_ms: float = 0.3, loaded_ms: float = 200.0) -> dict[str, Value]:
    """One a half second, those of the load lasting longer; the last one under load is lost."""
    series = []
    for at_ns in range(0, 6_000_000_000, 500_000_000):
        is_loaded = PHASES.load_open_ns <= at_ns < PHASES.load_close_ns
        series.append(Trip(at_ns, round(1e6 * (loaded_ms if is_loaded else idle_ms))))
    series[9] = Trip(series[9].at_ns, None)
    return dict(connection_figures(series, PHASES))


def under_load_records(cell: PlannedCell, loaded_ms: Sequence[float]) -> list[Record]:
    """A trial each, with that median under load."""
    return [
        result(cell, trial, under_load_values(trips(loaded_ms=median_ms)))
        for trial, median_ms in enumerate(loaded_ms, start=1)
    ]
