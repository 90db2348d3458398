"""Tables and pictures → index.html: one file that opens offline and prints.

Its one script and its one style are named by their hashes in the page's own policy, which allows
nothing else and no connection: what a host or a file said can neither run nor call anybody.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netlab.experiment.matrix import Link
from netlab.experiment.records import Status
from netlab.messages import _, counted, joined
from netlab.report.language.wording import Wording
from netlab.report.page import coverage
from netlab.report.page.cell_data import cells_of, packed, script_json
from netlab.report.page.cell_findings import findings_by_cell
from netlab.report.page.chart_data import packed_charts
from netlab.report.page.environment import environment
from netlab.report.page.first import First, anchors, downloads, strip
from netlab.report.page.methods import methods
from netlab.report.page.opening import opening
from netlab.report.page.repeat import repeat_words
from netlab.report.page.script_words import script_words
from netlab.report.tables.elements import Chart, GridTable, HeatMap, Part, Strip
from netlab.report.tables.tables import TableSection
from netlab.report.text.summary import leading, sentences_of
from netlab.results.readings import STATUSES, Reading
from netlab.units import format_rate
from netlab.version import VERSION

if TYPE_CHECKING:
    from netlab.findings.analysis import Analysis

_HERE = Path(__file__).parent
_KEPT = frozenset({"journal.jsonl", "matrix.yaml"})
"""Files of the run itself: they are there wherever the run is."""
STYLES = ("page.css", "vendor/uPlot.min.css", "charts.css")
"""Files of the page's one style, in their order."""
SCRIPTS = (
    "script/base.js",
    "vendor/uPlot.iife.min.js",
    *(f"script/{name}.js" for name in ("tables", "cell_charts", "cell", "charts", "heat", "page")),
)
"""Files of the page's one script, in their order: one function, so that nothing of it is global."""


@dataclass(frozen=True, slots=True)
class Contents:
    """All that a page is made of."""

    run: Analysis
    readings: tuple[Reading, ...]
    overviews: tuple[GridTable, ...]
    sections: tuple[TableSection, ...]
    parts: tuple[Part, ...]
    """What further rooms have to say, in the page's order."""
    charts: tuple[Chart | Strip | HeatMap, ...]
    """Its drawings; each gets into the place that has its number here."""
    left_out: int
    """Diagrams that were not drawn because there would be too many."""
    cells: Callable[[], str]
    """Gives what its script shows of a cell: see ``cells_json``. The page asks at its end."""
    first: First
    """What stands on its first screen."""
    files: frozenset[str]
    """Names of what is written beside it."""


def cells_json(run: Analysis, readings: Sequence[Reading], wording: Wording) -> str:
    """All cells of a run with their records and findings, packed, as the page carries them."""
    return script_json(packed(cells_of(run, readings, findings_by_cell(run)), wording))


def page(contents: Contents, wording: Wording) -> str:
    """The page as HTML, in a language, with places for its drawings. Everything that a host, a
    person or a file said is escaped.
    """
    hosts = coverage.hosts(contents.run)
    charts = packed_charts(contents.charts)
    # What draws charts is of use where there are some.
    scripts = [name for name in SCRIPTS if charts or not name.startswith("vendor/")]
    script = "(() => {{\n{}\n}})();".format("\n".join(map(_text, scripts)))
    return (
        environment(_HERE, wording)
        .get_template("page.html.j2")
        .render(
            language=wording.language,
            words=script_words(wording),
            charts=charts,
            licence=_text("vendor/LICENSE"),
            style="".join(map(_text, STYLES)),
            script=script,
            repeat=json.dumps(repeat_words(contents.run)),
            version=VERSION,
            **_first(contents, hosts),
            **_said(contents),
            **_shown(contents),
            **_of_hosts(contents.run, hosts),
        )
    )


def _text(name: str) -> str:
    """A file of the page's own."""
    return (_HERE / name).read_text(encoding="utf-8")


def _first(contents: Contents, hosts: Sequence[coverage.HostFacts]) -> dict[str, Any]:
    """The answers with where they lead, the picture, and the facts in a strip."""
    run, first = contents.run, contents.first
    charts = [chart.name for chart in contents.charts]
    sections = [part.name for part in contents.parts]
    grids = {
        reading.cell: f"pairing-{number}"
        for number, section in enumerate(contents.sections, start=1)
        for reading in section.grid.readings
    }
    to = anchors(sections, grids, charts)
    return {
        "answers": [(each, to(each)) for each in first.lines.answers],
        "compared": [(each, to(each)) for each in first.lines.comparisons],
        "warnings": [(each, to(each)) for each in first.lines.warnings],
        "first_pictures": first.pictures,
        "facts": strip(run, contents.readings, hosts),
        "downloads": downloads(run, contents.files),
        "kept": _KEPT,
    }


def _said(contents: Contents) -> dict[str, Any]:
    """The page's sentences, and what the settings and the coverage come to."""
    run, readings = contents.run, contents.readings
    return {
        "plan": run.plan,
        "opening": joined(" ", opening(run.plan, readings)),
        "leading": leading(run),
        "imported": run.plan.source is not None,
        "summary": coverage.summary(readings),
        "statuses": [STATUSES[status] for status in Status],
        "counts": coverage.counts(readings),
        "blanks": coverage.blanks(readings),
        "again": sum(1 for reading in readings if (reading.attempt or 1) > 1),
        "damage": [str(each) for each in run.damage],
        "settings": list(coverage.settings(readings)),
        "trials": coverage.trials(run.plan),
        "link": link_words(run.plan.link),
        "methods": methods(readings, run.plan.link, source=run.plan.source),
    }


def _shown(contents: Contents) -> dict[str, Any]:
    """Tables, pictures, and the records behind them."""
    run = contents.run
    charts = {chart.name: (number, chart) for number, chart in enumerate(contents.charts)}
    of_parts = {chart.name for part in contents.parts for chart in part.charts}
    of_streams = [
        (number, chart)
        for name, (number, chart) in charts.items()
        if name not in of_parts and isinstance(chart, Chart)
    ]
    findings = sentences_of(run)
    return {
        "overviews": contents.overviews,
        "sections": [(each, _said_of(each, findings)) for each in contents.sections],
        "by_size": [(number, chart) for number, chart in of_streams if chart.log_x],
        "by_row": [(number, chart) for number, chart in of_streams if not chart.log_x],
        "sections_further": [
            (part, [charts[chart.name] for chart in part.charts]) for part in contents.parts
        ],
        "left_out": contents.left_out,
        "places": {cell.key: place for place, cell in enumerate(run.plan.cells)},
        "cells": contents.cells,
    }


def _of_hosts(run: Analysis, hosts: Sequence[coverage.HostFacts]) -> dict[str, Any]:
    return {
        "hosts": hosts,
        "shared": coverage.shared_machines(hosts),
        "changes": coverage.changes(hosts),
        "sessions": coverage.sessions(run),
    }


def link_words(link: Link | None) -> str:
    """``100.00 Mbit/s, MTU 1500 bytes``; or a sentence where it is not known."""
    if link is None:
        return _("not stated")
    said = [
        format_rate(link.rate_bit_per_s),
        _("MTU {size} bytes", size=link.mtu_bytes),
        *([_("with a VLAN tag")] if link.vlan else []),
    ]
    if link.hops:
        said.append(
            counted(
                "{number} router between the hosts", "{number} routers between the hosts", link.hops
            )
        )
    return joined(", ", said)


def _said_of(section: TableSection, findings: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """What is said of any cell of a section, once."""
    cells = dict.fromkeys(reading.cell for reading in section.grid.readings)
    return tuple(dict.fromkeys(text for cell in cells for text in findings.get(cell, ())))
