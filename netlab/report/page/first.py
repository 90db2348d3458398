"""The strip of facts about a run, the downloads of its page, and the places of drawings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from netlab.messages import Message, _, counted, joined
from netlab.report.draw.plot import Picture
from netlab.report.page.coverage import HostFacts, by_status
from netlab.results.labels import SYSTEMS, as_words
from netlab.results.run import Run
from netlab.trial.record import Record, Status, utc_of
from netlab.units import format_rate

_SYSTEM = ("distribution", "os_release", "kernel", "os")
"""Facts of a host that name its system, the most detailed first."""
_MOST_HOSTS = 4


_PLACE = re.compile(r'<img data-drawing="(\d+)"')
"""A place for a drawing. No text can contain this, because each ``<`` in a text is escaped."""


def strip(
    run: Run, records: Sequence[Record], hosts: Sequence[HostFacts]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """(name, values): cells with a result, when trials began, overrides, link,
    tool, hosts. The values of hosts are names and their system, in turn.
    """
    number = len({record.cell for record in records})
    ok = f"{len({record.cell for record in records if record.status == Status.OK}):,}"
    with_result = counted("{ok} of {number} cell", "{ok} of {number} cells", number, ok=ok)
    others = by_status(Counter(r.status for r in records if r.status != Status.OK))
    facts: list[tuple[str, str]] = [(_("measured"), joined(", ", [with_result, *others]))]
    times = [at for record in records if (at := utc_of(record.started_at))]
    if times:
        duration = _duration(max(times) - min(times))
        facts.append((_("trials began"), joined("", [_period(times), " (", duration, ")"])))
    if changed := overridden(run):
        facts.append((_("set"), as_words(changed)))
    if run.plan.link is not None:
        facts.append((_("link"), joined("", [format_rate(run.plan.link.rate_bit_per_s)])))
    netlabs = dict.fromkeys(str(s["netlab"]) for s in run.sessions if s.get("netlab"))
    if run.plan.source is not None:
        facts.append((_("measured by"), _("the document of {source}", source=run.plan.source)))
    elif netlabs:
        facts.append((_("measured by"), joined(", ", [f"netlab {name}" for name in netlabs])))
    names = _hosts(hosts, records)
    return (*((name, (value,)) for name, value in facts), *([(_("hosts"), names)] if names else []))


def overridden(run: Run) -> Mapping[str, Any]:
    """The settings that options of the last session changed, as they were typed."""
    changed = run.sessions[-1].get("overrides") if run.sessions else None
    return changed if isinstance(changed, dict) else {}


def _duration(time: timedelta) -> Message:
    seconds = round(time.total_seconds())
    if seconds < 120:
        return counted("{number} second", "{number} seconds", seconds)
    minutes = round(seconds / 60)
    if minutes < 120:
        return counted("{number} minute", "{number} minutes", minutes)
    return _("{hours} h", hours=f"{minutes / 60:.1f}")


def _hosts(hosts: Sequence[HostFacts], records: Sequence[Record]) -> tuple[str, ...]:
    """The hosts by system, or the number of many hosts; without hosts, the pairings' systems."""
    if not hosts:
        letters = dict.fromkeys(c for r in records if "+" not in r.pairing for c in r.pairing)
        system_names = [SYSTEMS[letter] for letter in letters if letter in SYSTEMS]
        return (joined(", ", system_names), "") if system_names else ()
    if len(hosts) > _MOST_HOSTS:
        return counted("{number} host", "{number} hosts", len(hosts)), ""
    systems: dict[str, list[str]] = {}
    for host in hosts:
        system = next((words for fact in _SYSTEM if (words := host.words_of(fact))), "")
        systems.setdefault(system, []).append(host.name)
    return tuple(
        text for system, names in systems.items() for text in (joined(", ", names), system)
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


def _period(times: Sequence[datetime]) -> Message:
    """A text such as ``on 2026-01-31 from 12:00 to 14:05 UTC``."""
    first, last = min(times), max(times)
    day, begin, end = first.date(), f"{first:%H:%M}", f"{last:%H:%M}"
    if day != last.date():
        ends = {"day": day, "begin": begin, "last_day": last.date(), "end": end}
        return _("from {day} {begin} to {last_day} {end} UTC", **ends)
    if begin == end:
        return _("on {day} at {time} UTC", day=day, time=begin)
    return _("on {day} from {begin} to {end} UTC", day=day, begin=begin, end=end)


# Drawings


def with_drawings(html: str, pictures: Sequence[Picture]) -> str:
    """The page with its drawings; the number of a place is the index of its picture."""

    def image(place: re.Match[str]) -> str:
        picture = pictures[int(place[1])]
        size = f'width="{picture.width_px}" height="{picture.height_px}"'
        return f'<img src="{picture.address}" {size}'

    return _PLACE.sub(image, html)
