"""The top of the page (its first screen): lines with link targets, pictures, facts. No I/O.

A cell is one combination of test, pairing (server and client) and settings; a trial is one
measurement of a cell, and a record is the data of one trial.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netlab.experiment.matrix import Link
from netlab.experiment.records import Record, Status, utc_of
from netlab.messages import _, counted, joined
from netlab.report.answers.answer import AnswerLine
from netlab.report.answers.first_screen import FirstLines
from netlab.report.first_picture.choice import pictures
from netlab.report.first_picture.scene import FirstPicture
from netlab.report.page.coverage import HostFacts
from netlab.results.labels import SYSTEMS
from netlab.results.layout import Layout
from netlab.units import format_rate

if TYPE_CHECKING:
    from netlab.results.run import Run

_SYSTEM = ("distribution", "os_release", "kernel", "os")
"""Facts of a host that name its system, the most detailed first."""
_MOST_HOSTS = 4


@dataclass(frozen=True, slots=True)
class First:
    """The contents of the first screen."""

    lines: FirstLines
    pictures: tuple[FirstPicture, ...]


@dataclass(frozen=True, slots=True)
class LineTarget:
    """The link targets of a line: key of its main cell, and two anchors. An empty field means
    that there is no target.
    """

    cell: str
    section: str
    chart: str


def first_of(
    lines: FirstLines,
    records: Sequence[Record],
    layout: Layout,
    link: Link | None,
    charts: Sequence[object],
) -> First:
    """The first screen with its pictures, which are made from records and untranslated charts."""
    return First(lines, pictures(records, layout, link, charts, lines.judged))


def anchors(
    sections: Iterable[str], grids: Mapping[str, str], charts: Sequence[str]
) -> Callable[[AnswerLine], LineTarget]:
    """A function that returns the link targets of a line. ``grids`` maps a cell of a stream to the
    anchor of its tables.
    """
    section_names = frozenset(sections)

    def target(answer: AnswerLine) -> LineTarget:
        cell = answer.cells[0] if answer.cells else ""
        section = answer.section if answer.section in section_names else grids.get(cell, "")
        if section == answer.section and answer.table:
            section = f"{section}-{answer.table}"
        matches = (name for name in charts if answer.chart and name.startswith(answer.chart))
        chart = next(matches, "")
        return LineTarget(cell, section, f"chart-{chart}" if chart else "")

    return target


def strip(
    run: Run, records: Sequence[Record], hosts: Sequence[HostFacts]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """(name, values) of each fact: cells with a result, duration, link, netlab's version, hosts."""
    cells = {record.cell: False for record in records}
    for record in records:
        cells[record.cell] |= record.status == Status.OK
    cell_count = counted(
        "{ok} of {number} cell", "{ok} of {number} cells", len(cells), ok=f"{sum(cells.values()):,}"
    )
    link = run.plan.link
    facts = [
        (_("ok"), cell_count),
        (_("duration"), _duration(records)),
        (_("link"), "" if link is None else joined("", [format_rate(link.rate_bit_per_s)])),
        (_("measured by"), _measured_by(run)),
    ]
    entries = ((name, (value,)) for name, value in facts if value)
    names = _hosts(hosts, records)
    return (*entries, *([(_("hosts"), names)] if names else []))


def _measured_by(run: Run) -> str:
    if run.plan.source is not None:
        return _("the document of {source}", source=run.plan.source)
    sessions = [session for session in run.sessions if session.get("netlab")]
    versions = dict.fromkeys(str(session["netlab"]) for session in sessions)
    return joined(", ", [f"netlab {version}" for version in versions]) if versions else ""


def _duration(records: Sequence[Record]) -> str:
    """The time from the beginning of the first trial to the beginning of the last one."""
    times = [at for record in records if (at := utc_of(record.started_at))]
    if len(times) < 2:
        return ""
    seconds = round((max(times) - min(times)).total_seconds())
    minutes = max(1, round(seconds / 60))
    return (
        counted("{number} minute", "{number} minutes", minutes)
        if minutes < 120
        else _("{hours} h", hours=f"{minutes / 60:.1f}")
    )


def _hosts(hosts: Sequence[HostFacts], records: Sequence[Record]) -> tuple[str, ...]:
    """The hosts and the name of each system, or the number of hosts if there are many.

    If no hosts were recorded, this function returns the systems that the pairings name.
    """
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
