"""Tables and pictures → index.html: one file that opens offline and can be printed.

The content security policy of the page allows only the page's own script and style sheet, by their
hashes, and forbids network connections. So text from a host or a file can neither run as a script
nor connect.

A cell is one combination of test, pairing (server and client) and settings; a trial is one
measurement of a cell, and a record is the data of one trial.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netlab.experiment.matrix import Link
from netlab.experiment.records import STATUSES, Record, Status
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
from netlab.units import format_rate
from netlab.version import VERSION

if TYPE_CHECKING:
    from netlab.findings.analysis import Analysis

HERE = Path(__file__).parent
"""Folder of the templates and style sheets."""
_KEPT = frozenset({"journal.jsonl", "matrix.yaml"})
"""Files of the run itself: every copy of the run has them."""
STYLES = ("page.css", "vendor/uPlot.min.css", "charts.css")
"""Files of the page's style, in their order."""
SCRIPTS = (
    "script/base.js",
    "vendor/uPlot.iife.min.js",
    *(f"script/{name}.js" for name in ("tables", "cell_charts", "cell", "charts", "heat", "page")),
)
"""Files of the page's script, in their order, wrapped in one function so that nothing is global."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a page."""

    run: Analysis
    records: tuple[Record, ...]
    overviews: tuple[GridTable, ...]
    sections: tuple[TableSection, ...]
    parts: tuple[Part, ...]
    """The sections, except the tables of throughput, in the page's order."""
    charts: tuple[Chart | Strip | HeatMap, ...]
    """The drawings. The index of a drawing is the number of its placeholder in the page."""
    left_out: int
    """Number of diagrams that were not drawn because there would be too many."""
    cells: Callable[[], str]
    """Returns the data of all cells for the script, see ``cells_json``. Called last."""
    first: First
    """The contents of the top of the page."""
    files: frozenset[str]
    """Names of the files that are written next to the page."""
    to_run: str = ""
    """Address of the run folder from the page: empty, or ``../``."""


def cells_json(run: Analysis, records: Sequence[Record], wording: Wording) -> str:
    """All cells of a run with their records and findings, packed as JSON for the page's script."""
    return script_json(packed(cells_of(run, records, findings_by_cell(run)), wording))


def page(contents: Contents, wording: Wording) -> str:
    """The page as HTML in the language of ``wording``, with placeholders for its drawings. All text
    from hosts, people and files is escaped.
    """
    hosts = coverage.hosts(contents.run)
    charts = packed_charts(contents.charts)
    # Without charts the page needs no library that draws them.
    scripts = [name for name in SCRIPTS if charts or not name.startswith("vendor/")]
    script = "(() => {{\n{}\n}})();".format("\n".join(map(_text, scripts)))
    return (
        environment(HERE, wording)
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
            **_sentences(contents),
            **_tables_and_charts(contents),
            **_of_hosts(contents.run, hosts),
        )
    )


def _text(name: str) -> str:
    """A file of this folder."""
    return (HERE / name).read_text(encoding="utf-8")


def _first(contents: Contents, hosts: Sequence[coverage.HostFacts]) -> dict[str, Any]:
    """Template values for the top of the page: lines with their link targets, pictures, facts."""
    run, first = contents.run, contents.first
    charts = [chart.name for chart in contents.charts]
    sections = [part.name for part in contents.parts]
    grids = {
        record.cell: f"pairing-{number}"
        for number, section in enumerate(contents.sections, start=1)
        for record in section.grid.records
    }
    target = anchors(sections, grids, charts)
    return {
        "answers": [(line, target(line)) for line in first.lines.answers],
        "compared": [(line, target(line)) for line in first.lines.comparisons],
        "warnings": [(line, target(line)) for line in first.lines.warnings],
        "first_pictures": first.pictures,
        "facts": strip(run, contents.records, hosts),
        "downloads": downloads(run, contents.files, contents.to_run),
        "kept": {contents.to_run + name for name in _KEPT},
    }


def _sentences(contents: Contents) -> dict[str, Any]:
    """Template values: sentences, settings, and numbers of trials by status."""
    run, records = contents.run, contents.records
    return {
        "plan": run.plan,
        "opening": joined(" ", opening(run.plan, records)),
        "leading": leading(run),
        "imported": run.plan.source is not None,
        "summary": coverage.summary(records),
        "statuses": [STATUSES[status] for status in Status],
        "counts": coverage.counts(records),
        "blanks": coverage.blanks(records),
        "again": sum(1 for record in records if (record.attempt or 1) > 1),
        "damage": [str(place) for place in run.damage],
        "settings": list(coverage.settings(records)),
        "trials": coverage.trials(run.plan),
        "link": link_words(run.plan.link),
        "methods": methods(records, run.plan.link, source=run.plan.source),
    }


def _tables_and_charts(contents: Contents) -> dict[str, Any]:
    """Template values: tables, charts, and the data of the cells."""
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
        "sections": [(section, _findings_of(section, findings)) for section in contents.sections],
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
    """The link in words: ``100.00 Mbit/s, MTU 1500 bytes``, or ``not stated``."""
    if link is None:
        return _("not stated")
    parts = [
        format_rate(link.rate_bit_per_s),
        _("MTU {size} bytes", size=link.mtu_bytes),
        *([_("with a VLAN tag")] if link.vlan else []),
    ]
    if link.hops:
        parts.append(
            counted(
                "{number} router between the hosts", "{number} routers between the hosts", link.hops
            )
        )
    return joined(", ", parts)


def _findings_of(section: TableSection, findings: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The findings of all cells of a section, each once."""
    cells = dict.fromkeys(record.cell for record in section.grid.records)
    return tuple(dict.fromkeys(text for cell in cells for text in findings.get(cell, ())))
