"""Durations: trials that ran longer or shorter than requested."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from netlab.experiment.records import Record, Status
from netlab.findings.evidence import number
from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.series import Point, Series
from netlab.stats import median
from netlab.store.plan import StatedFacts

TOLERANCE = 0.02
"""Maximum difference between a window (the time that a trial measured) and the requested time, as a
share of the requested time."""

_LONGEST_NS = ("receiver_longest_gap_ns", "rtt_max_ns")
"""Names of the values for the longest gap between messages and the longest round trip. A window
ends only with the next message or answer, or with the time-out of an answer. So a window may exceed
the requested time by the larger one of these values plus the time-out."""


def off_time(series: Iterable[Series], statements: StatedFacts) -> tuple[Finding, ...]:
    """Findings about pairings (server and client) whose trials did not last as requested, according
    to their records or to an imported document.
    """
    points: dict[str, list[Point]] = {}
    for one_series in series:
        points.setdefault(one_series.group.pairing, []).extend(one_series.points)
    findings = (_measured(pairing, its_points) for pairing, its_points in points.items())
    return (
        *(result for result in findings if result is not None),
        *_stated(points, statements),
    )


def _measured(pairing: str, points: Sequence[Point]) -> Finding | None:
    off: dict[str, list[tuple[float, float]]] = {}
    trials = 0
    for point in points:
        for record in point.records:
            times = None if record is None else _times(record, point.prefix)
            if times is None:
                continue
            trials += 1
            asked_s, took_s, slack_s = times
            if abs(took_s - asked_s) > TOLERANCE * asked_s + slack_s:
                off.setdefault(point.cell, []).append((asked_s, took_s))
    if not off:
        return None
    off_times = [times for times_of_cell in off.values() for times in times_of_cell]
    return finding(
        Kind.OFF_TIME,
        Group(pairing),
        tuple(off),
        {
            "trials": len(off_times),
            "of_trials": trials,
            "asked_s": median([duration_s for duration_s, _ in off_times]),
            "shortest_s": min(took for _, took in off_times),
            "longest_s": max(took for _, took in off_times),
        },
    )


def _times(record: Record, prefix: str) -> tuple[float, float, float] | None:
    """Requested time, elapsed time, and the additional difference that the last message may cause
    (see ``_LONGEST_NS``), in seconds.

    ``None`` if the requested or the elapsed time is not known.
    """
    asked_s = _time(record.settings.get("duration_s"))
    took_ns = _time(record.values.get(f"{prefix}elapsed_ns"))
    if record.status is not Status.OK or asked_s is None or took_ns is None:
        return None
    gaps_ns = (_time(record.values.get(prefix + name)) for name in _LONGEST_NS)
    timeout_ns = 1e9 * (_time(record.settings.get("timeout_s")) or 0)
    slack_ns = max((gap for gap in gaps_ns if gap is not None), default=0.0) + timeout_ns
    return asked_s, took_ns / 1e9, slack_ns / 1e9


def _stated(points: dict[str, list[Point]], statements: StatedFacts) -> Iterable[Finding]:
    """Findings about the durations that a document states for its trials."""
    for duration in statements.durations:
        longest, shortest = (
            duration.longest_s / duration.asked_s,
            duration.shortest_s / duration.asked_s,
        )
        if longest <= 1 + TOLERANCE and shortest >= 1 - TOLERANCE:
            continue
        for pairing in filter(duration.is_of, points):
            yield finding(
                Kind.OFF_TIME,
                Group(pairing),
                tuple(dict.fromkeys(point.cell for point in points[pairing] if point.values)),
                {
                    "asked_s": duration.asked_s,
                    "shortest_s": duration.shortest_s,
                    "longest_s": duration.longest_s,
                },
                {"source": duration.source},
            )


def _time(value: object) -> float | None:
    time = number(value)
    return time if time is not None and time > 0 else None
