"""Durations: trials that ran longer or shorter than they were asked to. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from netlab.experiment.records import Record, Status
from netlab.findings.evidence import number
from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.series import Point, Series
from netlab.stats import median
from netlab.store.source_facts import Stated

TOLERANCE = 0.02
"""Share of the time asked for that a window may be off it."""

_LONGEST_NS = ("receiver_longest_gap_ns", "rtt_max_ns")
"""A window closes with a message, an answer or its time-out: it may be one of them longer."""


def off_time(series: Iterable[Series], stated: Stated) -> tuple[Finding, ...]:
    """One finding a pairing whose trials were not of the length asked for, measured or stated."""
    points: dict[str, list[Point]] = {}
    for each in series:
        points.setdefault(each.group.pairing, []).extend(each.points)
    measured = (_measured(pairing, those) for pairing, those in points.items())
    return (
        *(found for found in measured if found is not None),
        *_stated(points, stated),
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
    found = [times for each in off.values() for times in each]
    return finding(
        Kind.OFF_TIME,
        Group(pairing),
        tuple(off),
        {
            "trials": len(found),
            "of_trials": trials,
            "asked_s": median([asked for asked, _ in found]),
            "shortest_s": min(took for _, took in found),
            "longest_s": max(took for _, took in found),
        },
    )


def _times(record: Record, prefix: str) -> tuple[float, float, float] | None:
    """Asked for, taken, and what the last message may add; seconds. ``None`` where not known."""
    asked_s = _time(record.settings.get("duration_s"))
    took_ns = _time(record.values.get(f"{prefix}elapsed_ns"))
    if record.status is not Status.OK or asked_s is None or took_ns is None:
        return None
    gaps_ns = (_time(record.values.get(prefix + name)) for name in _LONGEST_NS)
    timeout_ns = 1e9 * (_time(record.settings.get("timeout_s")) or 0)
    slack_ns = max((gap for gap in gaps_ns if gap is not None), default=0.0) + timeout_ns
    return asked_s, took_ns / 1e9, slack_ns / 1e9


def _stated(points: dict[str, list[Point]], stated: Stated) -> Iterable[Finding]:
    """What a document says of how long its trials ran."""
    for said in stated.durations:
        longest, shortest = said.longest_s / said.asked_s, said.shortest_s / said.asked_s
        if longest <= 1 + TOLERANCE and shortest >= 1 - TOLERANCE:
            continue
        for pairing in filter(said.is_of, points):
            yield finding(
                Kind.OFF_TIME,
                Group(pairing),
                tuple(dict.fromkeys(point.cell for point in points[pairing] if point.values)),
                {
                    "asked_s": said.asked_s,
                    "shortest_s": said.shortest_s,
                    "longest_s": said.longest_s,
                },
                {"source": said.source},
            )


def _time(value: object) -> float | None:
    time = number(value)
    return time if time is not None and time > 0 else None
