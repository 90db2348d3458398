"""Records → the data that the page shows when a cell is opened, packed into pieces. No I/O.

The page contains everything that was measured. A piece holds several cells, and is unpacked when
one of these cells is opened. So a page of ten thousand cells opens as fast as a small page.

A cell is one combination of test, pairing (server and client) and settings; a trial is one
measurement of a cell. A flow is the data of a trial in one direction.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netlab.experiment.matrix import Link
from netlab.experiment.records import FLOWS, STATUSES, Record, Status, Value, by_cell
from netlab.messages import _, counted, joined
from netlab.report.language.wording import Wording
from netlab.report.page.cell_findings import CellFinding
from netlab.report.page.effective import effective_settings
from netlab.report.page.series_marks import levels_of, marks_of
from netlab.report.page.small_charts import MAX_LINES, SmallChart, small_charts
from netlab.results.ceilings import ceiling_of
from netlab.results.labels import figure
from netlab.results.layout import Bin, TableColumn
from netlab.results.quantities import names_of, quantities_of
from netlab.terminal import printable

if TYPE_CHECKING:
    from netlab.results.run import Run

PIECE_CHARACTERS = 300_000
"""Minimum size of a piece before packing, except the last piece. Unpacking a piece takes some
milliseconds."""

MAX_LISTED = 12
"""Maximum number of values of a series (list of values) that the page lists. Longer series are in
charts and in the exported table."""

_WITH_STREAMS = frozenset({"stream", "latency_under_load"})
"""Tests with streams, which have a wire ceiling."""

_Say = Callable[[str], str]
"""Returns a text or a figure in the page's language, without control characters."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive cells of the plan as gzipped JSON in base64."""

    first: int
    """Index of the piece's first cell in the plan, from 0."""
    data: str


@dataclass(frozen=True, slots=True)
class CellView:
    """One cell of the plan with its trials and findings."""

    key: str
    name: str
    records: tuple[Record, ...]
    """Its trials."""
    ceilings: Mapping[str, float]
    """Flow → its wire ceiling (highest payload rate on the link), bit/s; only known ceilings."""
    findings: tuple[CellFinding, ...]


def cells_of(
    run: Run, records: Sequence[Record], findings: Mapping[str, Sequence[CellFinding]]
) -> Iterator[CellView]:
    """The cells of a run in the plan's order; ``findings`` maps a cell's key to its findings."""
    names = names_of(records)
    groups = by_cell(records)
    for planned_cell in run.plan.cells:
        trials = tuple(groups.get(planned_cell.key, ()))
        yield CellView(
            key=planned_cell.key,
            name=joined(
                ": ", [planned_cell.pairing, names.get(planned_cell.key, planned_cell.key)]
            ),
            records=trials,
            ceilings=_ceilings(trials, run.plan.link),
            findings=tuple(findings.get(planned_cell.key, ())),
        )


def packed(cells: Iterable[CellView], wording: Wording) -> tuple[Piece, ...]:
    """All cells in order, in the language of ``wording``; the same cells give the same bytes."""

    def say(words: str) -> str:
        return printable(wording.text(words))

    # Compression releases the interpreter lock, so this thread prepares the next piece meanwhile.
    with ThreadPoolExecutor(1) as packing:
        return _pieces(cells, say, lambda *piece: packing.submit(_piece, *piece))


def _pieces(
    cells: Iterable[CellView], say: _Say, begin: Callable[..., Future[Piece]]
) -> tuple[Piece, ...]:
    pieces: list[Future[Piece]] = []
    shapes: dict[tuple[str, ...], int] = {}
    texts: list[str] = []
    first = characters = 0
    for index, cell in enumerate(cells):
        texts.append(_as_json(_cell(cell, shapes, say)))
        characters += len(texts[-1])
        if characters >= PIECE_CHARACTERS:
            pieces.append(begin(first, texts, shapes))
            first, characters, texts, shapes = index + 1, 0, [], {}
    pieces += [begin(first, texts, shapes)] if texts else []
    return tuple(piece.result() for piece in pieces)


def script_json(pieces: Iterable[Piece]) -> str:
    """The pieces as JSON for a script element; nothing in the JSON can end the element."""
    text = _as_json([[piece.first, piece.data] for piece in pieces])
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _piece(first: int, texts: Sequence[str], shapes: Iterable[tuple[str, ...]]) -> Piece:
    names = _as_json([[printable(name) for name in shape] for shape in shapes])
    text = f'{{"shapes":{names},"cells":[{",".join(texts)}]}}'
    # No time stamp, so that the same run gives the same bytes.
    return Piece(first, base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode("ascii"))


def _cell(cell: CellView, shapes: dict[tuple[str, ...], int], say: _Say) -> dict[str, Any]:
    ok = [record for record in cell.records if record.status is Status.OK]
    marks = {flow: marks_of(ok[:MAX_LINES], flow, cell.findings) for flow in FLOWS}
    charts = small_charts(ok, cell.ceilings, marks, levels_of(cell.findings))
    settings = cell.records[0].settings if cell.records else {}
    quantities = tuple(dict.fromkeys(q for r in cell.records for q in quantities_of(r)))
    return {
        "key": printable(cell.key),
        "name": say(cell.name),
        "settings": [
            [say(setting.name), say(setting.asked), say(setting.effective), setting.differs]
            for setting in effective_settings(settings, [record.values for record in ok])
        ],
        "findings": [_finding(finding, say) for finding in cell.findings],
        "charts": [_chart(chart, say) for chart in charts],
        "figures": [say(joined(", ", [quantity.name, quantity.unit])) for quantity in quantities],
        "trials": [
            {
                **_trial(record, say),
                "figures": [
                    "" if (value := quantity.in_unit(record)) is None else say(figure(value))
                    for quantity in quantities
                ],
                **_values(record, shapes, say),
            }
            for record in cell.records
        ],
    }


def _trial(record: Record, say: _Say) -> dict[str, Any]:
    """How a trial ended, and the reason if the trial has no figure."""
    server, client = record.server, record.client
    ends = _("{server} serves {client}", server=server, client=client) if server and client else ""
    return {
        "trial": record.trial,
        "attempt": record.attempt or None,
        "status": say(STATUSES.get(record.status, record.status)),
        "why": "" if record.status == "ok" else say(record.why_blank),
        "detail": printable(record.detail or ""),
        "began": record.started_at,
        "ends": say(ends),
    }


def _values(record: Record, shapes: dict[tuple[str, ...], int], say: _Say) -> dict[str, Any]:
    """All measured values. Records of a piece with equal value names share one list of names."""
    if not record.values:
        return {}
    shape = shapes.setdefault(tuple(record.values), len(shapes))
    return {"shape": shape, "values": [_value(value, say) for value in record.values.values()]}


def _value(value: Value, say: _Say) -> Value:
    if isinstance(value, list):
        number = len(value)
        if number <= MAX_LISTED:
            return value
        return say(counted("{number} number", "{number} numbers", number))
    return printable(value) if isinstance(value, str) else value


def _finding(finding: CellFinding, say: _Say) -> dict[str, Any]:
    return {
        "text": say(finding.sentence),
        "warning": finding.is_warning,
        "advice": say(finding.advice),
        "evidence": [[name, float(f"{v:.6g}")] for name, v in finding.evidence.items()],
        "trials": finding.trials,
    }


def _chart(chart: SmallChart, say: _Say) -> dict[str, Any]:
    further = {
        "trials": chart.trials,
        "mean": chart.mean,
        "limits": [[limit.level, say(limit.words)] for limit in chart.limits],
        "afloat": not chart.from_zero,
        "marks": [[mark.from_s, mark.until_s, say(mark.words), mark.trial] for mark in chart.marks],
    }
    return {
        "title": say(chart.title),
        "x": say(chart.x_label),
        "y": say(chart.y_label),
        "level": chart.level,
        "lines": [
            {"label": say(line.label), "joined": line.joined, "points": line.points}
            for line in chart.lines
        ],
        # Empty fields are left out, which keeps the page small.
        **{name: value for name, value in further.items() if value},
    }


def _ceilings(records: Sequence[Record], link: Link | None) -> dict[str, float]:
    """Flow → its wire ceiling in bit/s, for the flows whose ceiling is known."""
    ceilings = {}
    for flow in FLOWS:
        streams = tuple(
            record for record in records if record.test in _WITH_STREAMS and flow in record.flows
        )
        if streams and streams[0].message_bytes is not None:
            column = TableColumn(streams[0].protocol, streams[0].message_bytes, flow)
            ceiling = ceiling_of(column, [Bin(streams, flow)], link)
            if ceiling is not None:
                ceilings[flow] = ceiling.highest_bit_per_s
    return ceilings


def _as_json(data: object) -> str:
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
