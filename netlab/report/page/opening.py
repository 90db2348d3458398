"""Plan and readings → the page's first sentences: what was measured, between whom, when. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from netlab.experiment.pairings import is_by_name, labels_of, role_of
from netlab.experiment.records import Status
from netlab.results.labels import SYSTEMS, count, setting_name, setting_value
from netlab.results.layout import ROWS, level, levels_of
from netlab.results.readings import Reading
from netlab.store.plan import Plan

_SUBJECTS: Mapping[str, str] = {
    "stream": "the throughput of streams",
    "round_trip": "the time of round trips",
    "connect": "the time of TCP connections",
    "payload_search": "the most payload that travels in one frame",
    "throughput_search": "the highest rate without loss",
}
_MAX_NAMED = 8
"""Pairings that a sentence names; of more it says how many."""
_NOT_NAMED = frozenset({"protocol", "message_bytes", "test", "pairing", ROWS})


def opening(plan: Plan, readings: Sequence[Reading]) -> tuple[str, ...]:
    """A sentence each: what, under which settings, between whom, how often and when, how it ended.

    What nobody noted is not said: an import has no hosts and no time.
    """
    said = [
        _what(readings, imported=plan.source is not None),
        _varied(readings),
        _between(readings),
        _when(readings),
        _ended(readings),
    ]
    return tuple(sentence for sentence in said if sentence)


def _what(readings: Sequence[Reading], *, imported: bool) -> str:
    """``Measured: the throughput of streams over TCP and UDP, messages of 64 to 1,472 bytes.``"""
    subjects = []
    for test in dict.fromkeys(reading.test for reading in readings):
        those = [reading for reading in readings if reading.test == test]
        protocols = dict.fromkeys(reading.protocol for reading in those if reading.protocol)
        over = f" over {_listed(protocols)}" if protocols and test != "connect" else ""
        subjects.append(f"{_SUBJECTS.get(test, test)}{over}{_sizes(those)}")
    if not subjects:
        return ""
    return f"{'Printed in a document' if imported else 'Measured'}: {'; '.join(subjects)}."


def _sizes(readings: Sequence[Reading]) -> str:
    """``, messages of 64 to 1,472 bytes (5 sizes)``; frames where the test is about these."""
    for name, noun in (("message_bytes", "messages"), ("frame_bytes", "frames")):
        sizes = sorted(n for n in levels_of(readings, name) if isinstance(n, int))
        if len(sizes) == 1:
            return f", {noun} of {sizes[0]:,} bytes"
        if sizes:
            return f", {noun} of {sizes[0]:,} to {sizes[-1]:,} bytes ({len(sizes)} sizes)"
    return ""


def _varied(readings: Sequence[Reading]) -> str:
    """The settings that differ within one test and protocol, with their levels."""
    buffers = levels_of((r for r in readings if r.test == "stream"), ROWS)
    said = [f"{count(len(buffers), 'socket buffer')} ({_span(ROWS, buffers)})"] * (len(buffers) > 1)
    names = dict.fromkeys(name for reading in readings for name in reading.settings)
    for name in names:
        if name in _NOT_NAMED or not _varies(readings, name):
            continue
        levels = levels_of(readings, name)
        said.append(f"{setting_name(name)} ({_span(name, levels)})")
    return f"Varied: {_listed(said)}." if said else ""


def _varies(readings: Sequence[Reading], name: str) -> bool:
    """Whether cells of one kind differ in it: what belongs to a kind of test is no variation."""
    levels: dict[tuple[str, str, int | None], set[Any]] = {}
    for reading in readings:
        kind = (reading.test, reading.protocol, reading.message_bytes)
        levels.setdefault(kind, set()).add(level(reading, name))
    return any(len(each) > 1 for each in levels.values())


def _span(name: str, levels: Sequence[Any]) -> str:
    """``16 KiB to 64 KiB``, ``cubic, bbr``, ``16 KiB to 64 KiB, auto``."""
    numbers = [each for each in levels if _is_number(each)]
    others = [setting_value(name, each) for each in levels if not _is_number(each)]
    if len(numbers) > 2:
        ends = (setting_value(name, numbers[0]), setting_value(name, numbers[-1]))
        return ", ".join([f"{ends[0]} to {ends[1]}", *others])
    return ", ".join([*(setting_value(name, each) for each in numbers), *others])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _between(readings: Sequence[Reading]) -> str:
    pairings = list(dict.fromkeys(reading.pairing for reading in readings))
    by_name = [each for each in pairings if is_by_name(each)]
    if by_name:
        hosts = {role_of(label).host for each in by_name for label in labels_of(each)}
        pairs = f"{count(len(by_name), 'pair')} of {count(len(hosts), 'host')}"
        return f"Between: {pairs}, each by name, server and client."
    if not pairings or len(pairings) > _MAX_NAMED:
        return f"Between: {count(len(pairings), 'pairing')}." if pairings else ""
    letters = dict.fromkeys(letter for each in pairings for letter in each)
    known = [f"{letter} {SYSTEMS[letter]}" for letter in letters if letter in SYSTEMS]
    noun = "pairing" if len(pairings) == 1 else "pairings"
    means = f", server first: {', '.join(known)}" if len(known) == len(letters) else ""
    return f"Between: {noun} {_listed(pairings)}{means}."


def _when(readings: Sequence[Reading]) -> str:
    """``Each cell 5 times, on 2026-01-31 from 12:00 to 14:05 UTC.``"""
    trials: dict[str, int] = {}
    for reading in readings:
        trials[reading.cell] = trials.get(reading.cell, 0) + 1
    if not trials:
        return ""
    least, most = min(trials.values()), max(trials.values())
    often = f"{least} to {most} times" if least < most else _times(most)
    times = sorted(at for each in readings if (at := _time(each.started_at)) is not None)
    return f"Each cell {often}{_period(times[0], times[-1]) if times else ''}."


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def _time(text: str | None) -> datetime | None:
    """A controller's wall clock; what is none is not known."""
    try:
        found = datetime.fromisoformat((text or "").replace("Z", "+00:00"))
    except ValueError:
        return None
    return found.astimezone(UTC) if found.tzinfo else None


def _period(first: datetime, last: datetime) -> str:
    if first.date() == last.date():
        if f"{first:%H:%M}" == f"{last:%H:%M}":
            return f", on {first:%Y-%m-%d} at {first:%H:%M} UTC"
        return f", on {first:%Y-%m-%d} from {first:%H:%M} to {last:%H:%M} UTC"
    return f", from {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC"


def _ended(readings: Sequence[Reading]) -> str:
    """How many trials have a result; how the others ended."""
    ok = sum(reading.status == Status.OK for reading in readings)
    if not readings or ok == len(readings):
        return "All of them have a result." if readings else ""
    others = [
        f"{number:,} {status}"
        for status in Status
        if status != Status.OK and (number := sum(r.status == status for r in readings))
    ]
    return (
        f"{ok:,} of {count(len(readings), 'trial')} have a result, {_listed(others)}: a blank in a "
        "table says why."
    )


def _listed(words: Iterable[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
