"""Latency under load: its phases, the values of each, and the course of one trial over time.

    idle | load begins … settled | loaded | load ends … drained | after

The load has settled when its throughput is steady. It has drained when the queues that it filled
are empty. Definitions: docs/matrix.md, "Latency under load".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from netlab.trial.record import FLOWS, Record, as_number

EDGES: Mapping[str, tuple[str, str]] = {
    "idle": ("idle_open_ns", "load_open_ns"),
    "loaded": ("settled_ns", "load_close_ns"),
    "after": ("drained_ns", "after_close_ns"),
}
"""Phase → names of the times at which it begins and ends."""
PHASES = tuple(EDGES)

INTERVAL_S = 0.5
"""Length of the intervals whose throughput decides whether the load has settled."""
SETTLED_INTERVALS = 3
SETTLED_SPREAD = 0.1
"""The load has settled if ``SETTLED_INTERVALS`` successive intervals differ by at most this share
of their mean."""
LEAST_S = 2.0
"""Minimum time from the beginning of the load to the loaded phase."""

PERCENTILES: Mapping[str, Fraction] = {
    "p50": Fraction(1, 2),
    "p90": Fraction(9, 10),
    "p99": Fraction(99, 100),
}
RPM_INTERVALS, RPM_INTERVAL_NS = 4, 5_000_000_000
TRIMMED = Fraction(95, 100)
"""Share of the values that remain for TM95, which is their mean without the highest 5 %
(draft-ietf-ippm-responsiveness)."""


@dataclass(frozen=True, slots=True)
class Trip:
    """A request and its round trip."""

    at_ns: int
    """When the request was due, counted from the first request."""
    ns: int | None
    """Length of the round trip; ``None`` if request or answer was lost."""


@dataclass(frozen=True, slots=True)
class Phases:
    """Begin and end of the phases in ns after the first request; records use the same names."""

    idle_open_ns: int
    load_open_ns: int
    settled_ns: int
    load_close_ns: int
    drained_ns: int
    after_close_ns: int

    def of(self, phase: str) -> tuple[int, int]:
        """Begin and end of a phase."""
        begin, end = EDGES[phase]
        return getattr(self, begin), getattr(self, end)


@dataclass(frozen=True, slots=True)
class PhaseTrips:
    """The round trips of one phase, sorted; lost ones count as longer than all others."""

    answered_ns: Sequence[int]
    lost: int

    @property
    def count(self) -> int:
        """All requests of the phase."""
        return len(self.answered_ns) + self.lost

    def percentile_ns(self, share: Fraction) -> int | None:
        """The round trip that a ``share`` (0 to 1) of all requests does not exceed; ``None`` if the
        request at this rank was lost.
        """
        rank = math.ceil(share * self.count)
        return self.answered_ns[rank - 1] if 0 < rank <= len(self.answered_ns) else None

    def trimmed_mean_ns(self) -> float | None:
        """Mean of the lowest 95 % of the round trips; ``None`` if there are none, or if one of them
        was lost.
        """
        number = math.floor(TRIMMED * self.count)
        return (
            sum(self.answered_ns[:number]) / number if 0 < number <= len(self.answered_ns) else None
        )


def trips_within(trips: Sequence[Trip], begin_ns: int, end_ns: int) -> PhaseTrips:
    """The trips that were due at ``begin_ns`` or later and before ``end_ns``."""
    due_trips = [trip for trip in trips if begin_ns <= trip.at_ns < end_ns]
    answered_ns = sorted(trip.ns for trip in due_trips if trip.ns is not None)
    return PhaseTrips(answered_ns, len(due_trips) - len(answered_ns))


def settled_s(interval_bytes: Sequence[int], interval_s: float, load_s: float) -> float:
    """Begin of the loaded phase, in seconds after the begin of the load.

    The phase begins at the end of three successive intervals of 0.5 s that differ by at most 10 %,
    but not before 2 s, and not after half of the load's time. ``interval_bytes``: bytes of all
    flows together in each interval of ``interval_s``.
    """
    latest_s = load_s / 2
    width = max(1, round(INTERVAL_S / interval_s))
    sums = [sum(interval_bytes[i : i + width]) for i in range(0, len(interval_bytes), width)]
    for first in range(len(sums) - SETTLED_INTERVALS + 1):
        part = sums[first : first + SETTLED_INTERVALS]
        mean = sum(part) / len(part)
        if mean > 0 and max(part) - min(part) <= SETTLED_SPREAD * mean:
            return min(latest_s, max(LEAST_S, (first + SETTLED_INTERVALS) * width * interval_s))
    return latest_s


def drained_ns(trips: Sequence[Trip], last_sent_ns: int, latest_ns: int) -> int:
    """Time of the first answer to a request that was due after the load's last message.

    By then, a queue that keeps the order has sent everything that came before this request. Returns
    ``latest_ns`` if there is no such answer, or if it came later.
    """
    back = [
        trip.at_ns + trip.ns for trip in trips if trip.ns is not None and trip.at_ns >= last_sent_ns
    ]
    return min([*back, latest_ns])


def phase_figures(trips: Sequence[Trip], phases: Phases) -> Iterator[tuple[str, int | float]]:
    """Name and value of each figure; figures that a phase does not have are left out."""
    medians: dict[str, int] = {}
    for phase in PHASES:
        of_phase = trips_within(trips, *phases.of(phase))
        yield f"{phase}_rtt_count", of_phase.count
        yield f"{phase}_lost_messages", of_phase.lost
        for name, share in PERCENTILES.items():
            percentile_ns = of_phase.percentile_ns(share)
            if percentile_ns is not None:
                yield f"{phase}_rtt_{name}_ns", percentile_ns
                # The first percentile is the median; if it is lost, so are the others.
                medians.setdefault(phase, percentile_ns)
        if of_phase.answered_ns:
            yield f"{phase}_rtt_max_ns", of_phase.answered_ns[-1]
        trimmed_ns = of_phase.trimmed_mean_ns()
        if phase == "loaded" and trimmed_ns:
            yield "round_trips_per_minute_loaded", 60e9 / trimmed_ns
    if {"idle", "loaded"} <= medians.keys():
        yield "increase_ns", medians["loaded"] - medians["idle"]


def connection_figures(
    connections: Sequence[Trip], phases: Phases
) -> Iterator[tuple[str, int | float]]:
    """Name and value of each figure of the connections. Connections are few, so only the median and
    the maximum of their times are given.
    """
    for phase in PHASES:
        of_phase = trips_within(connections, *phases.of(phase))
        yield f"{phase}_connections", of_phase.count
        yield f"{phase}_lost_connections", of_phase.lost
        median_ns = of_phase.percentile_ns(PERCENTILES["p50"])
        if median_ns is not None:
            yield f"{phase}_connect_p50_ns", median_ns
        if of_phase.answered_ns:
            yield f"{phase}_connect_max_ns", of_phase.answered_ns[-1]


def responsiveness_per_minute(
    connections: Sequence[Trip], load_rtts: Sequence[Trip], load_ns: int, load_end_ns: int
) -> float | None:
    """RPM (round trips per minute) by draft-ietf-ippm-responsiveness-09, over TCP without TLS and
    HTTP.

    The result is the mean over the last four intervals of 5 s. The value of an interval is the mean
    of ``Foreign = 60000 / ((TM(tcp_f) + TM(http_f)) / 2)`` and ``Loaded = 60000 / TM(http_l)``,
    with ``TM`` in ms. A connection with its request is used for ``tcp_f`` and ``http_f`` together.
    TCP's own round-trip times of the load's connections, ``load_rtts``, are used for ``http_l``.
    Returns ``None`` for a load that is shorter than these intervals, or if an interval has fewer
    than two connections or fewer than two values of ``load_rtts``.
    """
    if load_end_ns - load_ns < RPM_INTERVALS * RPM_INTERVAL_NS:
        return None
    rates = []
    for number in range(RPM_INTERVALS):
        begin_ns = load_end_ns - (number + 1) * RPM_INTERVAL_NS
        foreign_ns, loaded_ns = (
            trips_within(trips, begin_ns, begin_ns + RPM_INTERVAL_NS).trimmed_mean_ns()
            for trips in (connections, load_rtts)
        )
        if not foreign_ns or not loaded_ns:
            return None
        rates.append((60e9 / (foreign_ns / 2) + 60e9 / loaded_ns) / 2)
    return sum(rates) / len(rates)


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
    rate_per_s = as_number(record.settings.get("request_rate_per_s"))
    answered, losses = record.series("trip_ns"), set(record.series("lost_trips"))
    times, trips = iter(answered), list[Trip]()
    for number in range(len(answered) + len(losses) if rate_per_s else 0):
        # Request n was due n / rate after the first one.
        at_ns = round(1e9 * number / (rate_per_s or 1))
        if number in losses:
            trips.append(Trip(at_ns, None))
        elif (ns := next(times, None)) is not None:
            trips.append(Trip(at_ns, int(ns)))
    if not trips:
        return None
    opened_ns = record.number("load_open_ns")
    rates: dict[str, RatePoints] = {}
    for flow in FLOWS:
        interval_bytes = record.series(f"{flow}receiver_interval_bytes")
        interval_ns = record.number(f"{flow}receiver_interval_ns")
        if opened_ns is not None and interval_bytes and interval_ns:
            elapsed_ns = record.number(f"{flow}receiver_elapsed_ns")
            points = interval_rates(interval_bytes, interval_ns, elapsed_ns)
            rates[flow] = tuple((short(opened_ns / 1e9 + x), y) for x, y in points)
    phases = {}
    for phase, edges in EDGES.items():
        begin_ns, end_ns = map(record.number, edges)
        if begin_ns is not None and end_ns is not None and begin_ns < end_ns:
            phases[phase] = (begin_ns / 1e9, end_ns / 1e9)
    return LoadTimeline(tuple(trips), rates, phases)


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
    """The round trips that are visible in a chart, which has room for about ``most`` of them: of
    each group of consecutive ones the shortest, the longest and the first lost one.
    """
    width = max(1, -(-2 * len(trips) // most))
    if width < 3:
        return list(trips)
    kept: list[Trip] = []
    for start in range(0, len(trips), width):
        group = trips[start : start + width]
        answered = [(trip.ns, trip.at_ns) for trip in group if trip.ns is not None]
        visible = {at_ns for _ns, at_ns in (min(answered), max(answered))} if answered else set()
        visible |= {next((trip.at_ns for trip in group if trip.ns is None), -1)}
        kept += [trip for trip in group if trip.at_ns in visible]
    return kept


def short(value: float) -> float:
    """The value with six significant digits."""
    return float(f"{value:.{_DIGITS}g}")
