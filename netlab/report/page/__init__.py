"""Tables and pictures → index.html: one file that opens offline and can be printed.

The content security policy of the page allows only the page's own script and style sheet, by their
hashes, and forbids network connections. So text from a host or a file can neither run as a script
nor connect.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netlab.ethernet import Link
from netlab.findings.analysis import Analysis
from netlab.kinds.latency_under_load.phases import short
from netlab.messages import Message, _, joined
from netlab.report.first_picture import effects_pictures, pictures
from netlab.report.language import Wording
from netlab.report.page import coverage
from netlab.report.page.cell_data import packed, script_json
from netlab.report.page.coverage import environment
from netlab.report.page.first import downloads, overridden, strip
from netlab.report.page.small_charts import findings_by_cell
from netlab.report.sections.effects import NAME as EFFECTS
from netlab.report.tables.elements import (
    AnswerLine,
    Chart,
    Curve,
    GridTable,
    HeatMap,
    Panel,
    Part,
    Strip,
)
from netlab.report.tables.tables import TableSection
from netlab.report.text.summary import leading, sentences_of
from netlab.results.labels import link_words
from netlab.results.run import Run
from netlab.trial.record import STATUSES, Record, Status
from netlab.version import VERSION

if TYPE_CHECKING:
    from netlab.report import Report

HERE = Path(__file__).parent
_KEPT = frozenset({"journal.jsonl", "matrix.yaml"})
"""Files of the run itself: every copy of the run has them."""
STYLES = ("page.css", "vendor/uPlot.min.css", "charts.css")
SCRIPTS = (
    "script/base.js",
    "vendor/uPlot.iife.min.js",
    *(f"script/{name}.js" for name in ("tables", "cell_charts", "cell", "charts", "heat", "page")),
)
"""Files of the page's script, in their order, wrapped in one function so that nothing is global."""


FOLDER, KEY = "{folder}", "{key}"
"""Placeholders that the script replaces by the run's folder and the cell's key."""
_OTHERWISE = ("every-host-with-every-other",)
"""Sections with the figures of cells that are in no table of a pairing."""
INVENTORY = "HOSTS.yaml"
"""Placeholder for the inventory (the file that describes the hosts), if the run names none."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a page."""

    report: Report
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
    files: frozenset[str]


def cells_json(run: Analysis, wording: Wording) -> str:
    """All cells of a run with their records and findings, packed as JSON for the page's script."""
    return script_json(packed(run, findings_by_cell(run), wording))


def page(contents: Contents) -> str:
    """The page as HTML with places for its drawings; all text is escaped."""
    run, wording = contents.report.run, contents.report.wording
    hosts = coverage.hosts(run)
    charts = packed_charts(contents.charts)
    # Without charts the page needs no library that draws them.
    scripts = [name for name in SCRIPTS if charts or not name.startswith("vendor/")]
    script = "(() => {{\n{}\n}})();".format("\n".join(map(_text, scripts)))
    return _rendered(
        "page.html.j2",
        wording,
        words=script_words(wording),
        charts=charts,
        licence=_text("vendor/LICENSE"),
        style="".join(map(_text, STYLES)),
        script=script,
        repeat=json.dumps(repeat_words(run)),
        **_first(contents, hosts),
        **_sentences(contents),
        **_tables_and_charts(contents),
        hosts=hosts,
        shared=coverage.shared_machines(hosts),
        changes=coverage.changes(hosts),
        sessions=coverage.sessions(run),
    )


def plain_page(template: str, title: str, wording: Wording, **values: Any) -> str:
    """A page without a script; all text is escaped. ``values`` are for the template."""
    style = _text("page.css")
    return _rendered(template, wording, title=title, style=style, places={}, **values)


def _rendered(template: str, wording: Wording, **values: Any) -> str:
    page = environment(HERE, wording).get_template(template)
    return page.render(language=wording.language, version=VERSION, **values)


def _text(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _first(contents: Contents, hosts: Sequence[coverage.HostFacts]) -> dict[str, Any]:
    """Template values for the top of the page: lines with their link targets, pictures, facts."""
    report, run, answer = contents.report, contents.report.run, contents.report.answer
    to_run = "../" if report.below else ""  # the address of the run folder from the page
    sections = {part.name for part in contents.parts}
    grids = {
        record.cell: f"pairing-{number}"
        for number, section in enumerate(contents.sections, start=1)
        for record in section.grid.records
    }

    def target(line: AnswerLine) -> dict[str, str]:
        """Key of the line's main cell, and anchor of a section; empty if none."""
        cell = line.cells[0] if line.cells else ""
        section = line.section if line.section in sections else grids.get(cell, "")
        section = section or next((name for name in sections if name in _OTHERWISE), "")
        if section == line.section and line.table:
            section = f"{section}-{line.table}"
        return {"cell": cell, "section": section}

    return {
        "answers": [(line, target(line)) for line in answer.verdicts],
        "answer_tables": report.answer_sheets,
        "matters": [(line, target(line)) for line in answer.matters],
        "pictures_of": {EFFECTS: effects_pictures(run.effects)},
        "advices": answer.advices,
        "compared": [(line, target(line)) for line in report.compared],
        "warnings": [(line, target(line)) for line in answer.warnings],
        "first_pictures": pictures(answer, report.judged),
        "facts": strip(run, run.trials, hosts),
        "overrides": overridden(run),
        "downloads": downloads(run, contents.files, to_run),
        "kept": {to_run + name for name in _KEPT},
    }


def _sentences(contents: Contents) -> dict[str, Any]:
    """Template values: sentences, settings, and numbers of trials by status."""
    run, records = contents.report.run, contents.report.run.trials
    return {
        "plan": run.plan,
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
    run = contents.report.run
    charts = {chart.name: (number, chart) for number, chart in enumerate(contents.charts)}
    of_parts = {chart.name for part in contents.parts for chart in part.charts}
    of_streams = [
        (number, chart)
        for name, (number, chart) in charts.items()
        if name not in of_parts and isinstance(chart, Chart)
    ]
    findings = sentences_of(run)
    sections = []
    for section in contents.sections:
        # The findings of all cells of a section, each once.
        cells = dict.fromkeys(record.cell for record in section.grid.records)
        words = dict.fromkeys(text for cell in cells for text in findings.get(cell, ()))
        sections.append((section, tuple(words)))
    return {
        "overviews": contents.overviews,
        "sections": sections,
        "by_size": [(number, chart) for number, chart in of_streams if chart.log_x],
        "by_row": [(number, chart) for number, chart in of_streams if not chart.log_x],
        "sections_further": [
            (part, [charts[chart.name] for chart in part.charts]) for part in contents.parts
        ],
        "left_out": contents.left_out,
        "places": {cell.key: place for place, cell in enumerate(run.plan.cells)},
        "cells": contents.cells,
    }


# Methods


def methods(records: Sequence[Record], link: Link | None, *, source: str | None) -> tuple[str, ...]:
    """A paragraph for each kind of figure, and for each unknown fact."""
    paragraphs = list(_IMPORTED if source is not None else _MEASURED)
    paragraphs.append(_MEANS)
    if len(records) > len({record.cell for record in records}):
        paragraphs.append(_REPEATS)
    paragraphs.append(_WITH_LINK if link is not None else _WITHOUT_LINK)
    engines = dict.fromkeys(
        str(record.settings["engine"]) for record in records if "engine" in record.settings
    )
    if engines:
        paragraphs.append(
            _(
                "The figures of {engines} are those that the tool printed for its receiver, by the "
                "tool’s own clock. The details of a cell have the tool’s version, and what it did "
                "otherwise than the cell requests.",
                engines=joined(", ", engines),
            )
        )
    if any(record.settings.get("direction") == "both" for record in records):
        paragraphs.append(_BOTH)
    if any(record.same_host for record in records):
        paragraphs.append(_SAME_HOST)
    streams = {
        _("{protocol} of {pairing}", protocol=record.protocol, pairing=record.pairing): None
        for record in records
        if "opening" not in record.settings
        and any(flow.connected_by == "server" for flow in record.flows.values())
    }
    if streams:
        paragraphs.append(
            _(
                "Where a firewall blocks connections to the server, the server connects "
                "instead. It then decides whether TCP timestamps are used, which changes the "
                "MSS ({streams}).",
                streams=joined(", ", streams),
            )
        )
    return tuple(paragraphs)


_MEASURED = (
    _(
        "Throughput is the payload that the receiver read between two of its receive "
        "calls, divided by the time between them on the receiver’s clock. The bytes of "
        "the call that starts the clock are not counted. Mbit/s means 10⁶ bit/s."
    ),
    _(
        "Message size is the number of bytes handed to one send call. TCP has no packets, and a "
        "UDP message may be several frames. The socket buffer is the size requested for both "
        "buffers at both ends. The exported table (netlab export) has the effective sizes."
    ),
    _(
        "A UDP message is lost if its sequence number never arrives: sent = received + "
        "lost, over the whole test and after the queues have drained."
    ),
)
_IMPORTED = (
    _(
        "These figures come from a document and are kept digit for digit; netlab measured none of "
        "them. Mbit/s means 10⁶ bit/s; the document may write it differently."
    ),
    _(
        "What the document does not state is unknown: TCP options and segment size, "
        "effective buffer sizes, lost messages, facts of the hosts. A place that it "
        "leaves empty was not measured. It stays blank, and no mean counts it as zero."
    ),
)
_MEANS = _(
    "A blank is never a zero: its footnote states why there is no figure. Means and medians are "
    "taken over the cells that have a figure; the number of these cells is in parentheses. It "
    "differs between columns, and a mean of few cells is less certain."
)
_REPEATS = _(
    "The figure of a cell is the mean of its trials; their number is in parentheses. From three "
    "trials upwards the mean has an interval, by Student’s t on the trials."
)
_WITH_LINK = _(
    "The wire ceiling is the highest payload rate that the link’s framing allows. It takes into "
    "account preamble, header, checksum and gap of each frame, IP and transport headers, and the "
    "fragments of a long UDP message. Clocks differ, so a figure counts as above the ceiling only "
    "if it exceeds it by more than 0.1 % (0.2 % for printed tables). Acknowledgements are not "
    "counted: if data flows both ways, the ceiling is an upper bound."
)
_WITHOUT_LINK = _("The link’s rate was not stated, so there are no wire ceilings.")
_BOTH = _(
    "Tests that send both ways have two receivers, each with its own clock. Each "
    "direction has its own columns; the directions are not added."
)
_SAME_HOST = _(
    "If server and client are the same host, the traffic crosses no cable. Such "
    "pairings are labelled, have no wire ceiling, and are not averaged with others."
)


# The command that measures a cell again


def repeat_words(run: Run) -> tuple[str, ...]:
    """Words of the command; empty for an imported run, which cannot be measured again."""
    plan = run.plan
    if plan.source is not None or not plan.matrix_text:
        return ()
    again = ("--redo", KEY)
    if any(note.kind == "asked" for note in run.stored.notes):
        return ("netlab", "resume", FOLDER, *again)
    # An older run: all options of its last session except the inventory, which it did not record.
    return (
        *("netlab", "run", f"{FOLDER}/matrix.yaml", "--hosts", INVENTORY, "--into", FOLDER),
        *(word for name, value in overridden(run).items() for word in ("--set", f"{name}={value}")),
        *again,
    )


_WORDS: Mapping[str, Message] = {
    "trials": _("Trials"),
    "trial": _("trial"),
    "trial_number": _("trial {number}"),
    "attempt": _("{trial} (attempt {attempt})"),
    "ended": _("ended"),
    "began": _("began"),
    "why": _("why there is no result"),
    "asked": _("requested"),
    "effective": _("effective"),
    "asked_and_effective": _("Settings: requested and effective values"),
    "differs": _("(not as requested)"),
    "seen": _("seen in trials"),
    "rests": _("evidence"),
    "evidence": _("Figures of this finding, units in their names"),
    "figure": _("figure"),
    "repeat": _("Measure this cell again:"),
    "copy": _("copy"),
    "copied": _("copied"),
    "selected": _("selected: copy it by the keyboard"),
    "setting": _("setting"),
    "value": _("value"),
    "values": _("Values of the record, units in their names"),
    "filter": _("Show names that contain"),
    "filter_rows": _("Show rows that contain"),
    "sort": _("sort by this column"),
    "measured": _("All measured values: {number}"),
    "line": _("{line}: {number} points, {least} to {most}, mean {mean}"),
    "chart": _("{title}, {unit}. {lines}."),
    "chart_and_ceiling": _("{title}, {unit}. {lines}. Wire ceiling {ceiling}."),
    "marked": _("At {from} s: {word}."),
    "means": _("means"),
    "trial_mean": _("trial {number}: mean {mean}"),
    "mean_interval": _("mean {mean}, 95 % interval {low} to {high}"),
    "ceiling": _("wire ceiling {ceiling}"),
    "explore": _("Point at the chart, or tap on it, for its figures."),
    "explore_keys": _(
        "The left and right arrow keys move from point to point, up and down from line "
        "to line; plus and minus zoom, 0 shows the whole chart."
    ),
    "explore_map_keys": _("The arrow keys move from place to place."),
    "spot": _("{row}, {column}: {value} {unit}"),
    "spot_blank": _("{row}, {column}: no figure"),
    "whole": _("whole chart"),
    "share": _("share of the ceiling"),
    "logarithmic": _("logarithmic"),
    "zoom_in": _("zoom in"),
    "zoom_out": _("zoom out"),
    "not_shown": _("This cell cannot be shown"),
    "not_unpacked": _(
        "This browser could not unpack the page’s records ({error}). Use a newer "
        "browser; or netlab export, which writes the records as a table."
    ),
}
"""The script fills in the values in braces."""


# For the script


def script_words(wording: Wording) -> str:
    """All texts as JSON, by the names that the script uses for them."""
    texts = {name: wording.text(words) for name, words in _WORDS.items()}
    return json.dumps(texts, separators=(",", ":"), ensure_ascii=False)


def packed_charts(charts: Iterable[Chart | Strip | HeatMap]) -> str:
    """Gzipped JSON in base64: an object for each chart, by name; the same charts, the same bytes.

    Charts with bars, or with a line whose x values do not increase, are shown as pictures only.
    Empty if the script can draw none of the charts.
    """
    by_name = {chart.name: data for chart in charts if (data := _data(chart)) is not None}
    if not by_name:
        return ""
    text = json.dumps(by_name, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode("ascii"), 6, mtime=0)).decode("ascii")


def _data(chart: Chart | Strip | HeatMap) -> dict[str, Any] | None:
    """What the script needs to draw a chart; ``None`` if it cannot draw it."""
    if isinstance(chart, HeatMap):
        return {
            "title": chart.title,
            "unit": chart.unit,
            "x": chart.x_label,
            "y": chart.y_label,
            "rows": chart.rows,
            "columns": chart.columns,
            "values": [_short_of(row) for row in chart.values],
            "inside": [_short_of(row) for row in chart.inside],
            "insideLabel": chart.inside_label,
        }
    if isinstance(chart, Strip):
        curves = [line for panel in chart.panels for line in panel.lines]
    else:
        curves = [*chart.lines, *chart.ceilings]
    has_figure = any(y is not None for curve in curves for _x, y in curve.points)
    is_ordered = all(x < beyond for c in curves for (x, _), (beyond, _) in pairwise(c.points))
    if not has_figure or not is_ordered or (isinstance(chart, Chart) and chart.as_bars):
        return None
    data = {"title": chart.title, "x": chart.x_label}
    if isinstance(chart, Strip):
        return data | {
            "ticks": [],
            "fromZero": chart.from_zero,
            "bands": [
                [short(band.from_x), short(band.until_x), band.label] for band in chart.bands
            ],
            "panels": [_panel(panel, "", ()) for panel in chart.panels],
        }
    panels = chart.panels or (Panel("", chart.unit, chart.lines),)
    return data | {
        "ticks": [[short(x), label] for x, label in chart.x_ticks],
        "logX": chart.log_x,
        "logY": chart.log_y,
        "fromZero": chart.from_zero,
        "panels": [_panel(panel, chart.quantity, chart.ceilings) for panel in panels],
    }


def _panel(panel: Panel, quantity: str, ceilings: Sequence[Curve]) -> dict[str, Any]:
    drawn, bounds = (
        [
            {
                "label": curve.label,
                "place": curve.place,
                "joined": curve.joined,
                "x": [short(x) for x, _y in curve.points],
                "y": _short_of(y for _x, y in curve.points),
                "half": _short_of(curve.half_widths),
            }
            for curve in curves
        ]
        for curves in (panel.lines, ceilings)
    )
    data = {"title": panel.title, "unit": panel.unit, "quantity": quantity}
    return {**data, "lines": drawn, "ceilings": bounds}


def _short_of(values: Iterable[float | None]) -> list[float | None]:
    return [None if value is None else short(value) for value in values]
