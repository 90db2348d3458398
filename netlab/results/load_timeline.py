"""The round trips and rates over time of one trial of latency under load. No I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from netlab.kinds.latency_under_load.phases import EDGES, PHASES, Trip
from netlab.trial.record import FLOWS, Record, as_number

RatePoints = tuple[tuple[float, float], ...]
"""(seconds, value) in the order of time."""

_DIGITS = 6
"""Number of significant digits of a value; more would only enlarge the page."""


@dataclass(frozen=True, slots=True)
class LoadTimeline:
    """The round trips and rates of a trial; a field is empty if the trial did not record it."""

    trips: tuple[Trip, ...]
    """All requests, in the order in which they were due."""
    rates: Mapping[str, RatePoints]
    """Flow → (middle of an interval in s after the first request, received Mbit/s)."""
    phases: Mapping[str, tuple[float, float]]
    """Name of a known phase → its begin and end in s after the first request."""

    def trips_of(self, phase: str) -> tuple[Trip, ...]:
        """The round trips that were due within a phase."""
        if phase not in self.phases:
            return ()
        begin_ns, end_ns = (1e9 * edge for edge in self.phases[phase])
        return tuple(trip for trip in self.trips if begin_ns <= trip.at_ns < end_ns)


def timeline_of(record: Record) -> LoadTimeline | None:
    """The timeline of a trial; ``None`` without usable single round trips."""
    rate = as_number(record.settings.get("request_rate_per_s"))
    trips = tuple(_trips(record, rate)) if rate else ()
    if not trips:
        return None
    opened_ns = record.number("load_open_ns")
    rates = {} if opened_ns is None else dict(_rates(record, opened_ns))
    return LoadTimeline(trips, rates, dict(_phases(record)))


def _trips(record: Record, rate_per_s: float) -> Iterator[Trip]:
    """The round trips; request n was due n / rate after the first one."""
    answered, losses = record.series("trip_ns"), set(record.series("lost_trips"))
    times = iter(answered)
    for number in range(len(answered) + len(losses)):
        at_ns = round(1e9 * number / rate_per_s)
        if number in losses:
            yield Trip(at_ns, None)
        elif (ns := next(times, None)) is not None:
            yield Trip(at_ns, int(ns))


def _rates(record: Record, opened_ns: float) -> Iterator[tuple[str, RatePoints]]:
    for flow in FLOWS:
        interval_bytes = record.series(f"{flow}receiver_interval_bytes")
        interval_ns = record.number(f"{flow}receiver_interval_ns")
        if interval_bytes and interval_ns:
            elapsed_ns = record.number(f"{flow}receiver_elapsed_ns")
            points = interval_rates(interval_bytes, interval_ns, elapsed_ns)
            yield flow, tuple((short(opened_ns / 1e9 + x), y) for x, y in points)


def _phases(record: Record) -> Iterator[tuple[str, tuple[float, float]]]:
    for phase in PHASES:
        begin_ns, end_ns = (record.number(edge) for edge in EDGES[phase])
        if begin_ns is not None and end_ns is not None and begin_ns < end_ns:
            yield phase, (begin_ns / 1e9, end_ns / 1e9)


def interval_rates(
    interval_bytes: Sequence[float], interval_ns: float, elapsed_ns: float | None
) -> list[tuple[float, float]]:
    """(middle of the interval in s, Mbit/s) of each interval of a window.

    The window is the time that is measured. The last interval is the rest of the window: 0.5 to 1.5
    times the usual length.
    """
    last_ns = interval_ns
    if elapsed_ns is not None:
        rest_ns = elapsed_ns - interval_ns * (len(interval_bytes) - 1)
        # Another length contradicts the other values, so the usual length is assumed.
        last_ns = rest_ns if 0.5 <= rest_ns / interval_ns < 1.5 else interval_ns
    points = []
    for index, received_bytes in enumerate(interval_bytes):
        length_ns = last_ns if index == len(interval_bytes) - 1 else interval_ns
        middle_s = (index * interval_ns + length_ns / 2) / 1e9
        points.append((short(middle_s), short(8e3 * received_bytes / length_ns)))
    return points


def thinned(trips: Sequence[Trip], most: int) -> list[Trip]:
    """The round trips that are visible in a chart, which has room for about ``most`` of them.

    Each group of consecutive round trips is reduced to its shortest, its longest and its first lost
    round trip.
    """
    width = max(1, -(-2 * len(trips) // most))
    if width < 3:
        return list(trips)
    kept_trips: list[Trip] = []
    for start in range(0, len(trips), width):
        group = trips[start : start + width]
        answered = [(trip.ns, trip.at_ns) for trip in group if trip.ns is not None]
        extreme_at_ns = (
            {at_ns for _ns, at_ns in (min(answered), max(answered))} if answered else set[int]()
        )
        lost_at_ns = next((trip.at_ns for trip in group if trip.ns is None), None)
        kept_trips += [
            trip for trip in group if trip.at_ns in extreme_at_ns or trip.at_ns == lost_at_ns
        ]
    return kept_trips


def short(value: float) -> float:
    """The value with six significant digits."""
    return float(f"{value:.{_DIGITS}g}")
