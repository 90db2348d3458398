"""Latency under load: which round trips are of which phase, and what is said of each. Pure.

    idle | load begins … settled | loaded | load ends … drained | after

Definitions: docs/matrix.md, "Latency under load".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

EDGES: Mapping[str, tuple[str, str]] = {
    "idle": ("idle_open_ns", "load_open_ns"),
    "loaded": ("settled_ns", "load_close_ns"),
    "after": ("drained_ns", "after_close_ns"),
}
"""Phase → what its begin and its end are called."""
PHASES = tuple(EDGES)

INTERVAL_S = 0.5
"""Length of the intervals in which throughput is looked at for whether it has settled."""
SETTLED_INTERVALS = 3
SETTLED_SPREAD = 0.1
"""So many intervals in a row no further apart than this share of their mean: it has settled."""
LEAST_S = 2.0
"""The loaded phase begins no earlier after the load."""

PERCENTILES: Mapping[str, Fraction] = {
    "p50": Fraction(1, 2),
    "p90": Fraction(9, 10),
    "p99": Fraction(99, 100),
}
RPM_INTERVALS, RPM_INTERVAL_NS = 4, 5_000_000_000
TRIMMED = Fraction(95, 100)
"""Of TM95, the mean of the lowest 95 % (draft-ietf-ippm-responsiveness)."""


@dataclass(frozen=True, slots=True)
class Trip:
    """A request, and what became of it."""

    at_ns: int
    """When it was due, from the first request on."""
    ns: int | None
    """Its round trip; ``None``: lost."""


@dataclass(frozen=True, slots=True)
class Phases:
    """Edges of the phases in ns, from the first request on; a record has them by these names."""

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
    """The round trips of one phase, sorted, those lost counted as longer than any."""

    answered_ns: Sequence[int]
    lost: int

    @property
    def count(self) -> int:
        """All requests of the phase."""
        return len(self.answered_ns) + self.lost

    def percentile_ns(self, share: Fraction) -> int | None:
        """What so large a share of all does not exceed; ``None`` where that is one that is lost."""
        rank = math.ceil(share * self.count)
        return self.answered_ns[rank - 1] if 0 < rank <= len(self.answered_ns) else None

    def trimmed_mean_ns(self) -> float | None:
        """Mean of the lowest 95 %; ``None`` where one of these is lost."""
        return _trimmed(self.answered_ns, self.count)


def _trimmed(sorted_ns: Sequence[int], count: int) -> float | None:
    kept = math.floor(TRIMMED * count)
    if kept == 0 or kept > len(sorted_ns):
        return None
    return sum(sorted_ns[:kept]) / kept


def trips_within(trips: Sequence[Trip], begin_ns: int, end_ns: int) -> PhaseTrips:
    """Those that were due from ``begin_ns`` on and before ``end_ns``."""
    chosen = [trip for trip in trips if begin_ns <= trip.at_ns < end_ns]
    answered_ns = sorted(trip.ns for trip in chosen if trip.ns is not None)
    return PhaseTrips(answered_ns, len(chosen) - len(answered_ns))


def settled_s(interval_bytes: Sequence[int], interval_s: float, load_s: float) -> float:
    """When the loaded phase begins, in seconds after the load.

    After three intervals of 0.5 s in a row within 10 %, 2 s at least, half of the load's time at
    most. ``interval_bytes``: of all flows together.
    """
    latest_s = load_s / 2
    width = max(1, round(INTERVAL_S / interval_s))
    sums = [sum(interval_bytes[i : i + width]) for i in range(0, len(interval_bytes), width)]
    for first in range(len(sums) - SETTLED_INTERVALS + 1):
        looked = sums[first : first + SETTLED_INTERVALS]
        mean = sum(looked) / len(looked)
        if mean > 0 and max(looked) - min(looked) <= SETTLED_SPREAD * mean:
            end_s = (first + SETTLED_INTERVALS) * width * interval_s
            return min(latest_s, max(LEAST_S, end_s))
    return latest_s


def drained_ns(trips: Sequence[Trip], last_sent_ns: int, latest_ns: int) -> int:
    """When the first request that was due after the load's last message has come back: a queue
    that keeps the order has let go of all before it by then. ``latest_ns``: where none has.
    """
    back = [
        trip.at_ns + trip.ns for trip in trips if trip.ns is not None and trip.at_ns >= last_sent_ns
    ]
    return min([*back, latest_ns])


def phase_figures(trips: Sequence[Trip], phases: Phases) -> Iterator[tuple[str, int | float]]:
    """Name and value of each figure; what a phase does not have is left out."""
    medians: dict[str, int] = {}
    for phase in PHASES:
        of_phase = trips_within(trips, *phases.of(phase))
        yield f"{phase}_rtt_count", of_phase.count
        yield f"{phase}_lost_messages", of_phase.lost
        for name, share in PERCENTILES.items():
            found_ns = of_phase.percentile_ns(share)
            if found_ns is not None:
                yield f"{phase}_rtt_{name}_ns", found_ns
        if of_phase.answered_ns:
            yield f"{phase}_rtt_max_ns", of_phase.answered_ns[-1]
        median_ns = of_phase.percentile_ns(PERCENTILES["p50"])
        if median_ns is not None:
            medians[phase] = median_ns
        trimmed_ns = of_phase.trimmed_mean_ns()
        if phase == "loaded" and trimmed_ns:
            yield "round_trips_per_minute_loaded", 60e9 / trimmed_ns
    if {"idle", "loaded"} <= medians.keys():
        yield "increase_ns", medians["loaded"] - medians["idle"]


def connection_figures(
    connections: Sequence[Trip], phases: Phases
) -> Iterator[tuple[str, int | float]]:
    """The same of connections, of which there are few: median and longest."""
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
    """RPM after draft-ietf-ippm-responsiveness-09, over TCP alone, without TLS and HTTP.

    Of each of the last four intervals of 5 s the mean of ``Foreign = 60000 / ((TM(tcp_f) +
    TM(http_f)) / 2)`` and ``Loaded = 60000 / TM(http_l)``, in ms; then their mean. A connection
    with its request is ``tcp_f`` and ``http_f`` together; ``load_rtts``, what TCP says of the
    load's own connections, stand for ``http_l``. ``None`` of a load that is shorter than these
    intervals, and where one of them has fewer than two of either.
    """
    if load_end_ns - load_ns < RPM_INTERVALS * RPM_INTERVAL_NS:
        return None
    found = []
    for number in range(RPM_INTERVALS):
        begin_ns = load_end_ns - (number + 1) * RPM_INTERVAL_NS
        both = [
            trips_within(each, begin_ns, begin_ns + RPM_INTERVAL_NS).trimmed_mean_ns()
            for each in (connections, load_rtts)
        ]
        foreign_ns, loaded_ns = both
        if not foreign_ns or not loaded_ns:
            return None
        found.append((60e9 / (foreign_ns / 2) + 60e9 / loaded_ns) / 2)
    return sum(found) / len(found)
