"""Plan and records → the page's first sentences: what was measured, between whom, when. No I/O.

A cell is one combination of test, pairing (server and client) and settings; a trial is one
measurement of a cell, and a record is the data of one trial.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from netlab.experiment.hosts import is_by_name, labels_of, role_of
from netlab.experiment.records import STATUSES, Record, Status, utc_of
from netlab.messages import Message, _, counted, joined
from netlab.report.text.phrases import listed
from netlab.results.labels import SYSTEMS, setting_name, setting_value
from netlab.results.layout import ROWS, level, levels_of
from netlab.store.plan import Plan

_SUBJECTS: Mapping[str, str] = {
    "stream": _("the throughput of streams"),
    "round_trip": _("the time of round trips"),
    "connect": _("the time of TCP connections"),
    "payload_search": _("the largest payload of one frame"),
    "throughput_search": _("the highest rate without loss"),
    "latency_under_load": _("the latency under a load"),
}
_MAX_NAMED = 8
"""Maximum number of pairings that a sentence names. If there are more, it gives their number."""
_NOT_NAMED = frozenset({"protocol", "message_bytes", "test", "pairing", ROWS})


def opening(plan: Plan, records: Sequence[Record]) -> tuple[str, ...]:
    """Sentences on the tests, the varied settings, the pairings, the number and time of trials, and
    their results.

    A sentence whose facts are unknown is left out. An imported run has no hosts and no times.
    """
    sentences = [
        _what(records, imported=plan.source is not None),
        _varied(records),
        _between(records),
        _when(records),
        _ended(records),
    ]
    return tuple(sentence for sentence in sentences if sentence)


def _what(records: Sequence[Record], *, imported: bool) -> str:
    """A text such as ``Measured: the throughput of streams over TCP, messages of 64 bytes.``"""
    subjects = []
    for test in dict.fromkeys(record.test for record in records):
        own = [record for record in records if record.test == test]
        protocols = dict.fromkeys(record.protocol for record in own if record.protocol)
        subject = _SUBJECTS.get(test, test)
        if protocols and test != "connect":
            subject = _("{test} over {protocols}", test=subject, protocols=listed(protocols))
        subjects.append(joined(", ", [subject, *_sizes(own)]))
    if not subjects:
        return ""
    if imported:
        return _("Printed in a document: {tests}.", tests=joined("; ", subjects))
    return _("Measured: {tests}.", tests=joined("; ", subjects))


def _sizes(records: Sequence[Record]) -> list[str]:
    """The sizes of messages or frames, such as ``messages of 64 to 1,472 bytes (5 sizes)``."""
    messages = sorted(n for n in levels_of(records, "message_bytes") if isinstance(n, int))
    if len(messages) == 1:
        size = messages[0]
        return [counted("messages of {number} byte", "messages of {number} bytes", size)]
    if messages:
        return [
            counted(
                "messages of {least} to {most} bytes ({number} size)",
                "messages of {least} to {most} bytes ({number} sizes)",
                len(messages),
                **_ends(messages),
            )
        ]
    frames = sorted(n for n in levels_of(records, "frame_bytes") if isinstance(n, int))
    if len(frames) == 1:
        return [_("frames of {size} bytes", size=f"{frames[0]:,}")]
    if frames:
        return [
            counted(
                "frames of {least} to {most} bytes ({number} size)",
                "frames of {least} to {most} bytes ({number} sizes)",
                len(frames),
                **_ends(frames),
            )
        ]
    return []


def _ends(sizes: Sequence[int]) -> dict[str, str]:
    return {"least": f"{sizes[0]:,}", "most": f"{sizes[-1]:,}"}


def _varied(records: Sequence[Record]) -> str:
    """The settings that differ within one test and protocol, with their values."""
    settings: list[Message] = []
    buffers = levels_of((r for r in records if r.test == "stream"), ROWS)
    if len(buffers) > 1:
        settings.append(
            counted(
                "{number} socket buffer ({levels})",
                "{number} socket buffers ({levels})",
                len(buffers),
                levels=_span(ROWS, buffers),
            )
        )
    names = dict.fromkeys(name for record in records for name in record.settings)
    for name in names:
        if name in _NOT_NAMED or not _varies(records, name):
            continue
        levels = _span(name, levels_of(records, name))
        settings.append(_("{setting} ({levels})", setting=setting_name(name), levels=levels))
    return _("Varied: {settings}.", settings=listed(settings)) if settings else ""


def _varies(records: Sequence[Record], name: str) -> bool:
    """Whether cells with the same test, protocol and message size differ in a setting."""
    levels: dict[tuple[str, str, int | None], set[Any]] = {}
    for record in records:
        kind = (record.test, record.protocol, record.message_bytes)
        levels.setdefault(kind, set()).add(level(record, name))
    return any(len(own) > 1 for own in levels.values())


def _span(name: str, levels: Sequence[Any]) -> str:
    """A range or a list, such as ``16 KiB to 64 KiB``, ``cubic, bbr`` or ``16 KiB, auto``."""
    numbers = [setting_value(name, value) for value in levels if _is_number(value)]
    texts = [setting_value(name, value) for value in levels if not _is_number(value)]
    if len(numbers) > 2:
        numbers = [_("{least} to {most}", least=numbers[0], most=numbers[-1])]
    return joined(", ", [*numbers, *texts])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _between(records: Sequence[Record]) -> str:
    pairings = list(dict.fromkeys(record.pairing for record in records))
    by_name = [pairing for pairing in pairings if is_by_name(pairing)]
    if by_name:
        hosts = {role_of(label).host for pairing in by_name for label in labels_of(pairing)}
        return _(
            "Between: {pairs} of {hosts}, each named server first.",
            pairs=counted("{number} pair", "{number} pairs", len(by_name)),
            hosts=counted("{number} host", "{number} hosts", len(hosts)),
        )
    number = len(pairings)
    if not pairings or number > _MAX_NAMED:
        sentence = counted("Between: {number} pairing.", "Between: {number} pairings.", number)
        return sentence if pairings else ""
    names = listed(pairings)
    letters = dict.fromkeys(letter for pairing in pairings for letter in pairing)
    systems = [joined(" ", [letter, SYSTEMS[letter]]) for letter in letters if letter in SYSTEMS]
    if len(systems) < len(letters):
        return counted(
            "Between: pairing {pairings}.", "Between: pairings {pairings}.", number, pairings=names
        )
    return counted(
        "Between: pairing {pairings}, server first: {systems}.",
        "Between: pairings {pairings}, server first: {systems}.",
        number,
        pairings=names,
        systems=joined(", ", systems),
    )


def _when(records: Sequence[Record]) -> str:
    """A text such as ``Each cell 5 times, on 2026-01-31 from 12:00 to 14:05 UTC.``"""
    trials: dict[str, int] = {}
    for record in records:
        trials[record.cell] = trials.get(record.cell, 0) + 1
    if not trials:
        return ""
    least, most = min(trials.values()), max(trials.values())
    often = _times(least, most)
    times = sorted(at for r in records if (at := utc_of(r.started_at)) is not None)
    if not times:
        return _("Each cell {often}.", often=often)
    return _("Each cell {often}, {when}.", often=often, when=_period(times[0], times[-1]))


def _times(least: int, most: int) -> Message:
    if least < most:
        return counted(
            "{least} to {most} time", "{least} to {most} times", most, least=least, most=most
        )
    if most == 1:
        return _("once")
    if most == 2:
        return _("twice")
    return counted("{times} time", "{times} times", most, times=most)


def _period(first: datetime, last: datetime) -> Message:
    day, begin, end = first.date(), f"{first:%H:%M}", f"{last:%H:%M}"
    if day != last.date():
        return _(
            "from {day} {begin} to {last_day} {end} UTC",
            **{"day": day, "begin": begin, "last_day": last.date(), "end": end},
        )
    if begin == end:
        return _("on {day} at {time} UTC", day=day, time=begin)
    return _("on {day} from {begin} to {end} UTC", day=day, begin=begin, end=end)


def _ended(records: Sequence[Record]) -> str:
    """The number of trials with a result, and the statuses of the others."""
    ok = sum(record.status == Status.OK for record in records)
    if not records or ok == len(records):
        return _("All trials have a result.") if records else ""
    status_counts = [
        joined(" ", [f"{number:,}", STATUSES[status]])
        for status in Status
        if status != Status.OK and (number := sum(r.status == status for r in records))
    ]
    return counted(
        "{ok} of {number} trial has a result, {others}; the footnote of a blank states why.",
        "{ok} of {number} trials have a result, {others}; the footnote of a blank states why.",
        len(records),
        ok=f"{ok:,}",
        others=listed(status_counts),
    )
