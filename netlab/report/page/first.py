"""The top of the page: its first sentences, lines with link targets, pictures, and downloads."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from netlab.experiment.hosts import is_by_name, labels_of, role_of
from netlab.kinds import KINDS
from netlab.messages import Message, _, counted, joined
from netlab.report.draw.plot import Picture
from netlab.report.page.coverage import HostFacts, by_status
from netlab.report.text.phrases import listed
from netlab.results.labels import SYSTEMS, setting_name, setting_value
from netlab.results.layout import ROWS, level, levels_of
from netlab.store.plan import Plan
from netlab.trial.record import Record, Status, utc_of
from netlab.units import format_rate

if TYPE_CHECKING:
    from netlab.results.run import Run

_SYSTEM = ("distribution", "os_release", "kernel", "os")
"""Facts of a host that name its system, the most detailed first."""
_MOST_HOSTS = 4


_MAX_NAMED = 8
"""Maximum number of pairings that a sentence names. If there are more, it gives their number."""
_NOT_NAMED = frozenset({"protocol", "message_bytes", "test", "pairing", ROWS})
_PLACE = re.compile(r'<img data-drawing="(\d+)"')
"""A place for a drawing. No text can contain this, because each ``<`` in a text is escaped."""


def strip(
    run: Run, records: Sequence[Record], hosts: Sequence[HostFacts]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """(name, values): cells with a result, first to last trial, link, tool, hosts."""
    cells = {record.cell: False for record in records}
    for record in records:
        cells[record.cell] |= record.status == Status.OK
    ok = f"{sum(cells.values()):,}"
    with_result = counted("{ok} of {number} cell", "{ok} of {number} cells", len(cells), ok=ok)
    facts = [(_("ok"), with_result)]
    times = [at for record in records if (at := utc_of(record.started_at))]
    if len(times) > 1:
        seconds = round((max(times) - min(times)).total_seconds())
        minutes = max(1, round(seconds / 60))
        duration = counted("{number} minute", "{number} minutes", minutes)
        if minutes >= 120:
            duration = _("{hours} h", hours=f"{minutes / 60:.1f}")
        facts.append((_("duration"), duration))
    if run.plan.link is not None:
        facts.append((_("link"), joined("", [format_rate(run.plan.link.rate_bit_per_s)])))
    netlabs = dict.fromkeys(str(s["netlab"]) for s in run.sessions if s.get("netlab"))
    if run.plan.source is not None:
        facts.append((_("measured by"), _("the document of {source}", source=run.plan.source)))
    elif netlabs:
        facts.append((_("measured by"), joined(", ", [f"netlab {name}" for name in netlabs])))
    names = _hosts(hosts, records)
    return (*((name, (value,)) for name, value in facts), *([(_("hosts"), names)] if names else []))


def _hosts(hosts: Sequence[HostFacts], records: Sequence[Record]) -> tuple[str, ...]:
    """The hosts by system, or the number of many hosts; without hosts, the pairings' systems."""
    if not hosts:
        letters = dict.fromkeys(c for r in records if "+" not in r.pairing for c in r.pairing)
        system_names = [SYSTEMS[letter] for letter in letters if letter in SYSTEMS]
        return (joined(", ", system_names),) if system_names else ()
    if len(hosts) > _MOST_HOSTS:
        return (counted("{number} host", "{number} hosts", len(hosts)),)
    systems: dict[str, list[str]] = {}
    for host in hosts:
        system = next((words for fact in _SYSTEM if (words := host.words_of(fact))), "")
        systems.setdefault(system, []).append(host.name)
    return tuple(
        text for system, names in systems.items() for text in (joined(", ", names), system) if text
    )


def downloads(run: Run, files: Iterable[str], to_run: str = "") -> tuple[tuple[str, str], ...]:
    """(address, name) of the files next to the page, and of the run's own files in ``to_run``."""
    existing = frozenset(files)
    candidates = [
        ("tables.csv", _("tables, CSV")),
        ("figures.csv", _("figures, CSV")),
        ("journal.jsonl", _("records, JSON lines with checksums")),
        ("charts/", _("charts, PDF")),
        ("tables.tex", _("LaTeX")),
        ("matrix.yaml", _("matrix")),
    ]
    always = {"journal.jsonl", *(["matrix.yaml"] if run.plan.matrix_text else [])}
    return tuple(
        (f"{to_run}{address}" if address in always else address, name)
        for address, name in candidates
        if address in existing | always
    )


# The first sentences


def opening(plan: Plan, records: Sequence[Record]) -> tuple[str, ...]:
    """Sentences on tests, varied settings, pairings, times and results, if known."""
    subjects = []
    for test in dict.fromkeys(record.test for record in records):
        own = [record for record in records if record.test == test]
        protocols = dict.fromkeys(record.protocol for record in own if record.protocol)
        subject = KINDS[test].subject if test in KINDS else test
        if protocols and test != "connect":
            subject = _("{test} over {protocols}", test=subject, protocols=listed(protocols))
        subjects.append(joined(", ", [subject, *_sizes(own)]))
    if not subjects:
        what = ""
    elif plan.source is not None:
        what = _("Printed in a document: {tests}.", tests=joined("; ", subjects))
    else:
        what = _("Measured: {tests}.", tests=joined("; ", subjects))
    sentences = (what, _varied(records), _between(records), _when(records), _ended(records))
    return tuple(filter(None, sentences))


def _sizes(records: Sequence[Record]) -> list[str]:
    """The sizes of messages or frames, such as ``messages of 64 to 1,472 bytes (5 sizes)``."""
    messages, frames = (
        sorted(n for n in levels_of(records, name) if isinstance(n, int))
        for name in ("message_bytes", "frame_bytes")
    )
    sizes = messages or frames
    if not sizes:
        return []
    ends = {"least": f"{sizes[0]:,}", "most": f"{sizes[-1]:,}"}
    if frames and not messages:
        several = counted(
            "frames of {least} to {most} bytes ({number} size)",
            "frames of {least} to {most} bytes ({number} sizes)",
            len(sizes),
            **ends,
        )
        return [_("frames of {size} bytes", size=ends["least"]) if len(sizes) == 1 else several]
    if len(sizes) == 1:
        return [counted("messages of {number} byte", "messages of {number} bytes", sizes[0])]
    return [
        counted(
            "messages of {least} to {most} bytes ({number} size)",
            "messages of {least} to {most} bytes ({number} sizes)",
            len(sizes),
            **ends,
        )
    ]


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
    for name in dict.fromkeys(name for record in records for name in record.settings):
        if name in _NOT_NAMED:
            continue
        own: dict[tuple[str, str, int | None], set[Any]] = {}
        for record in records:
            kind = (record.test, record.protocol, record.message_bytes)
            own.setdefault(kind, set()).add(level(record, name))
        if any(len(levels) > 1 for levels in own.values()):
            span = _span(name, levels_of(records, name))
            settings.append(_("{setting} ({levels})", setting=setting_name(name), levels=span))
    return _("Varied: {settings}.", settings=listed(settings)) if settings else ""


def _span(name: str, levels: Sequence[Any]) -> str:
    """A range or a list, such as ``16 KiB to 64 KiB``, ``cubic, bbr`` or ``16 KiB, auto``."""
    words: dict[bool, list[str]] = {True: [], False: []}
    for value in levels:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        words[is_number].append(setting_value(name, value))
    if len(numbers := words[True]) > 2:
        numbers = [_("{least} to {most}", least=numbers[0], most=numbers[-1])]
    return joined(", ", [*numbers, *words[False]])


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
    if not pairings:
        return ""
    if number > _MAX_NAMED:
        return counted("Between: {number} pairing.", "Between: {number} pairings.", number)
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
    trials = Counter(record.cell for record in records)
    if not trials:
        return ""
    least, most = min(trials.values()), max(trials.values())
    if least < most:
        often = counted(
            "{least} to {most} time", "{least} to {most} times", most, least=least, most=most
        )
    elif most <= 2:
        often = _("once") if most == 1 else _("twice")
    else:
        often = counted("{times} time", "{times} times", most, times=most)
    times = sorted(at for r in records if (at := utc_of(r.started_at)) is not None)
    if not times:
        return _("Each cell {often}.", often=often)
    first, last = times[0], times[-1]
    day, begin, end = first.date(), f"{first:%H:%M}", f"{last:%H:%M}"
    if day != last.date():
        ends = {"day": day, "begin": begin, "last_day": last.date(), "end": end}
        period = _("from {day} {begin} to {last_day} {end} UTC", **ends)
    elif begin == end:
        period = _("on {day} at {time} UTC", day=day, time=begin)
    else:
        period = _("on {day} from {begin} to {end} UTC", day=day, begin=begin, end=end)
    return _("Each cell {often}, {when}.", often=often, when=period)


def _ended(records: Sequence[Record]) -> str:
    """The number of trials with a result, and the statuses of the others."""
    others = Counter(record.status for record in records)
    ok = others.pop(Status.OK, 0)
    if not records or ok == len(records):
        return _("All trials have a result.") if records else ""
    return counted(
        "{ok} of {number} trial has a result, {others}; the footnote of a blank states why.",
        "{ok} of {number} trials have a result, {others}; the footnote of a blank states why.",
        len(records),
        ok=f"{ok:,}",
        others=listed(by_status(others)),
    )


# Drawings


def with_drawings(html: str, pictures: Sequence[Picture]) -> str:
    """The page with its drawings; the number of a place is the index of its picture."""

    def image(place: re.Match[str]) -> str:
        picture = pictures[int(place[1])]
        size = f'width="{picture.width_px}" height="{picture.height_px}"'
        return f'<img src="{picture.address}" {size}'

    return _PLACE.sub(image, html)
