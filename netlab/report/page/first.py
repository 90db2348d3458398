"""What the page shows before all else: answers and where they lead, the picture, facts. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netlab.experiment.matrix import Link
from netlab.experiment.records import Status, utc_of
from netlab.messages import _, counted, joined
from netlab.report.answers.answer import AnswerLine
from netlab.report.answers.first_screen import FirstLines
from netlab.report.first_picture.choice import pictures
from netlab.report.first_picture.scene import FirstPicture
from netlab.report.page.coverage import HostFacts
from netlab.results.labels import SYSTEMS
from netlab.results.layout import Layout
from netlab.results.readings import Reading
from netlab.units import format_rate

if TYPE_CHECKING:
    from netlab.results.run import Run

_SYSTEM = ("distribution", "os_release", "kernel", "os")
"""Facts of a host that name its system, the fullest first."""
_MOST_HOSTS = 4


@dataclass(frozen=True, slots=True)
class First:
    """What stands on the first screen."""

    lines: FirstLines
    pictures: tuple[FirstPicture, ...]


@dataclass(frozen=True, slots=True)
class LineTarget:
    """Where a line leads: anchors of the page, and its most telling cell."""

    cell: str
    section: str
    chart: str


def first_of(
    lines: FirstLines,
    readings: Sequence[Reading],
    layout: Layout,
    link: Link | None,
    charts: Sequence[object],
) -> First:
    """With its picture, made of the run's records and of the charts as no language has worded
    them yet."""
    return First(lines, pictures(readings, layout, link, charts, lines.judged))


def anchors(
    sections: Iterable[str], grids: Mapping[str, str], charts: Sequence[str]
) -> Callable[[AnswerLine], LineTarget]:
    """``grids`` has the anchor of the tables that a cell of a stream stands in."""
    known = frozenset(sections)

    def target(answer: AnswerLine) -> LineTarget:
        cell = answer.cells[0] if answer.cells else ""
        section = answer.section if answer.section in known else grids.get(cell, "")
        if section == answer.section and answer.table:
            section = f"{section}-{answer.table}"
        named = (each for each in charts if answer.chart and each.startswith(answer.chart))
        chart = next(named, "")
        return LineTarget(cell, section, f"chart-{chart}" if chart else "")

    return target


def strip(
    run: Run, readings: Sequence[Reading], hosts: Sequence[HostFacts]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """(name, values): how much, how long, who, on which link, by which netlab."""
    cells = {reading.cell: False for reading in readings}
    for reading in readings:
        cells[reading.cell] |= reading.status == Status.OK
    whole = counted(
        "{ok} of {number} cell", "{ok} of {number} cells", len(cells), ok=f"{sum(cells.values()):,}"
    )
    link = run.plan.link
    found = [
        (_("ok"), whole),
        (_("duration"), _duration(readings)),
        (_("link"), "" if link is None else joined("", [format_rate(link.rate_bit_per_s)])),
        (_("measured by"), _measured_by(run)),
    ]
    told = ((name, (value,)) for name, value in found if value)
    named = _hosts(hosts, readings)
    return (*told, *([(_("hosts"), named)] if named else []))


def _measured_by(run: Run) -> str:
    if run.plan.source is not None:
        return _("the document of {source}", source=run.plan.source)
    versions = dict.fromkeys(str(each["netlab"]) for each in run.sessions if each.get("netlab"))
    return joined(", ", [f"netlab {each}" for each in versions]) if versions else ""


def _duration(readings: Sequence[Reading]) -> str:
    """From the first trial's beginning to the last one's."""
    times = [at for reading in readings if (at := utc_of(reading.started_at))]
    if len(times) < 2:
        return ""
    seconds = round((max(times) - min(times)).total_seconds())
    minutes = max(1, round(seconds / 60))
    return (
        counted("{number} minute", "{number} minutes", minutes)
        if minutes < 120
        else _("{hours} h", hours=f"{minutes / 60:.1f}")
    )


def _hosts(found: Sequence[HostFacts], readings: Sequence[Reading]) -> tuple[str, ...]:
    """Hosts, then their system, a pair a system; where none is noted the pairings' systems."""
    if not found:
        letters = dict.fromkeys(c for r in readings if "+" not in r.pairing for c in r.pairing)
        known = [SYSTEMS[each] for each in letters if each in SYSTEMS]
        return (joined(", ", known),) if known else ()
    if len(found) > _MOST_HOSTS:
        return (counted("{number} host", "{number} hosts", len(found)),)
    systems: dict[str, list[str]] = {}
    for host in found:
        system = next((words for fact in _SYSTEM if (words := host.words_of(fact))), "")
        systems.setdefault(system, []).append(host.name)
    return tuple(
        each for system, names in systems.items() for each in (joined(", ", names), system) if each
    )


def downloads(run: Run, files: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """(address, name) of the files beside the page."""
    there = frozenset(files)
    found = [
        ("tables.csv", _("tables, CSV")),
        ("figures.csv", _("figures, CSV")),
        ("journal.jsonl", _("records, JSON lines with checksums")),
        ("charts/", _("charts, PDF")),
        ("tables.tex", _("LaTeX")),
        ("matrix.yaml", _("matrix")),
    ]
    always = {"journal.jsonl", *(["matrix.yaml"] if run.plan.matrix_text else [])}
    return tuple((address, name) for address, name in found if address in there | always)
