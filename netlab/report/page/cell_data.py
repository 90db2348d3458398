"""Records → the data that the page shows when a cell is opened, packed into pieces.

The page contains everything that was measured. A piece holds several cells, and is unpacked when
one of these cells is opened. So a page of ten thousand cells opens as fast as a small page.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from netlab.ethernet import Link
from netlab.kinds import KINDS
from netlab.messages import Message, _, counted, joined
from netlab.report.language import Wording
from netlab.report.page import small_charts
from netlab.report.page.small_charts import CellFinding, SmallChart, levels_of, marks_of
from netlab.results.ceilings import ceiling_of
from netlab.results.labels import figure, setting_name, setting_value
from netlab.results.layout import Bin, TableColumn
from netlab.results.quantities import names_of, quantities_of
from netlab.results.run import Run
from netlab.terminal import printable
from netlab.trial.column import Quantity
from netlab.trial.record import FLOWS, STATUSES, Record, Status, Value, by_cell, server_sends

PIECE_CHARACTERS = 300_000
"""Minimum size of a piece before packing, except the last; unpacking takes milliseconds."""

MAX_LISTED = 12
"""Maximum length of a list of values on the page; charts and the export have longer ones."""

_WITH_STREAMS = frozenset(name for name, kind in KINDS.items() if kind.has_flows)
"""Tests with streams, which have a wire ceiling."""

_Say = Callable[[str], str]
"""Returns a text or a figure in the page's language, without control characters."""


_RecordValues = Mapping[str, Any]
_ENDS: Mapping[str, str] = {
    **{"sender": _("sender"), "receiver": _("receiver")},
    **{"client": _("client"), "server": _("server")},
}
_WAYS: Mapping[str, str] = {"send": _("sends"), "receive": _("receives")}
MOST_SHOWN = 4
"""With more different values of one end, only the smallest and the largest are shown."""
_GIVING = ("sender", "client")
_EVERY = tuple(_ENDS)
_NOTED = ("socket_buffer_bytes", "interface", "dscp")
"""Settings that are shown also if nothing was requested."""


Piece = tuple[int, str]
"""Consecutive cells of the plan: index of the first one, from 0, and gzipped JSON in base64."""


def ceilings_of(trials: Sequence[Record], link: Link | None) -> dict[str, float]:
    """Flow → the wire ceiling of a cell's streams, bit/s; only known ceilings."""
    ceilings = {}
    for flow in FLOWS:
        streams = tuple(r for r in trials if r.test in _WITH_STREAMS and flow in r.flows)
        if streams and streams[0].message_bytes is not None:
            column = TableColumn(streams[0].protocol, streams[0].message_bytes, flow)
            ceiling = ceiling_of(column, [Bin(streams, flow)], link)
            if ceiling is not None:
                ceilings[flow] = ceiling.highest_bit_per_s
    return ceilings


def packed(
    run: Run, findings: Mapping[str, Sequence[CellFinding]], wording: Wording
) -> tuple[Piece, ...]:
    """The cells of a run in the plan's order, in the language of ``wording``; the same cells give
    the same bytes. ``findings`` maps a cell's key to its findings.
    """
    names, groups = names_of(run.trials), by_cell(run.trials)

    def say(words: str) -> str:
        return printable(wording.text(words))

    pieces: list[Future[Piece]] = []
    shapes: dict[tuple[str, ...], int] = {}
    texts: list[str] = []
    first = characters = 0
    # Compression releases the interpreter lock, so this thread prepares the next piece meanwhile.
    with ThreadPoolExecutor(1) as packing:
        for index, cell in enumerate(run.plan.cells):
            trials, own = groups.get(cell.key, []), findings.get(cell.key, ())
            data = _cell(trials, own, ceilings_of(trials, run.plan.link), shapes, say)
            name = joined(": ", [cell.pairing, names.get(cell.key, cell.key)])
            texts.append(_as_json({"key": printable(cell.key), "name": say(name), **data}))
            characters += len(texts[-1])
            if characters >= PIECE_CHARACTERS:
                pieces.append(packing.submit(_piece, first, texts, shapes))
                first, characters, texts, shapes = index + 1, 0, [], {}
        if texts:
            pieces.append(packing.submit(_piece, first, texts, shapes))
    return tuple(piece.result() for piece in pieces)


def script_json(pieces: Iterable[Piece]) -> str:
    """The pieces as JSON for a script element; nothing in the JSON can end the element."""
    text = _as_json([*pieces])
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _piece(first: int, texts: Sequence[str], shapes: Iterable[tuple[str, ...]]) -> Piece:
    names = _as_json([[printable(name) for name in shape] for shape in shapes])
    text = f'{{"shapes":{names},"cells":[{",".join(texts)}]}}'
    # No time stamp, so that the same run gives the same bytes.
    return first, base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode("ascii")


def _cell(
    trials: Sequence[Record],
    findings: Sequence[CellFinding],
    ceilings: Mapping[str, float],
    shapes: dict[tuple[str, ...], int],
    say: _Say,
) -> dict[str, Any]:
    ok = [record for record in trials if record.status is Status.OK]
    marks = {flow: marks_of(ok[: small_charts.MAX_LINES], flow, findings) for flow in FLOWS}
    charts = small_charts.small_charts(ok, ceilings, marks, levels_of(findings))
    settings = trials[0].settings if trials else {}
    quantities = tuple(dict.fromkeys(q for r in trials for q in quantities_of(r)))
    return {
        "settings": [
            [say(setting.name), say(setting.asked), say(setting.effective), setting.differs]
            for setting in effective_settings(settings, [record.values for record in ok])
        ],
        "findings": [
            {
                "text": say(finding.sentence),
                "warning": finding.is_warning,
                "advice": say(finding.advice),
                "evidence": [[name, float(f"{v:.6g}")] for name, v in finding.evidence.items()],
                "trials": finding.trials,
            }
            for finding in findings
        ],
        "charts": [_chart(chart, say) for chart in charts],
        "figures": [say(joined(", ", [quantity.name, quantity.unit])) for quantity in quantities],
        "trials": [_trial(record, quantities, shapes, say) for record in trials],
    }


def _trial(
    record: Record, quantities: Sequence[Quantity], shapes: dict[tuple[str, ...], int], say: _Say
) -> dict[str, Any]:
    """How a trial ended, its figures and values; ``shapes`` has each list of value names once."""
    server, client = record.server, record.client
    ends = _("{server} serves {client}", server=server, client=client) if server and client else ""
    trial = {
        "trial": record.trial,
        "attempt": record.attempt or None,
        "status": say(STATUSES.get(record.status, record.status)),
        "why": "" if record.status == "ok" else say(record.why_blank),
        "detail": printable(record.detail or ""),
        "began": record.started_at,
        "ends": say(ends),
        "figures": [
            "" if (value := quantity.in_unit(record)) is None else say(figure(value))
            for quantity in quantities
        ],
    }
    if not record.values:
        return trial
    values: list[Value] = []
    for measured in record.values.values():
        if isinstance(measured, list) and len(measured) > MAX_LISTED:
            values.append(say(counted("{number} number", "{number} numbers", len(measured))))
        else:
            values.append(printable(measured) if isinstance(measured, str) else measured)
    shape = shapes.setdefault(tuple(record.values), len(shapes))
    return {**trial, "shape": shape, "values": values}


def _chart(chart: SmallChart, say: _Say) -> dict[str, Any]:
    further = {
        "trials": chart.trials,
        "mean": chart.mean,
        "limits": [[level, say(words)] for level, words in chart.limits],
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


def _as_json(data: object) -> str:
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


# Requested and effective settings


@dataclass(frozen=True, slots=True)
class EffectiveSetting:
    """One setting: the requested value, and the effective value that the hosts report."""

    name: str
    asked: str
    effective: str
    """The effective value; empty if no host reports it."""
    differs: bool


def effective_settings(
    settings: Mapping[str, Any], trials: Sequence[_RecordValues]
) -> tuple[EffectiveSetting, ...]:
    """Every setting of a cell, then effective values that the cell does not request.

    ``trials``: the values of each record whose status is ok. A value that was not requested
    cannot differ. A buffer that Linux doubles for its own bookkeeping (socket(7), SO_SNDBUF) does
    differ, and a finding explains that.
    """
    rows = []
    for name in dict.fromkeys((*settings, *_NOTED)):
        requested = settings.get(name)
        every = [report for values in trials for report in _reports(name, settings, values)]
        reports = [(label, value) for label, value in every if value is not None]
        if name in settings or reports:
            differs = requested is not None and any(value != requested for _, value in reports)
            words, asked = setting_name(name), setting_value(name, requested)
            rows.append(EffectiveSetting(words, asked, _in_words(name, reports), differs))
    # Values for which there is no setting; they explain many results.
    for name, words in _UNASKED.items():
        reports = [
            (way, _ENDS.get(value, value) if isinstance(value, str) else value)
            for values in trials
            for prefix, way in FLOWS.items()
            if (value := values.get(prefix + name)) is not None
        ]
        if reports:
            rows.append(EffectiveSetting(words, "–", _in_words(name, reports), differs=False))
    return tuple(rows)


def _reports(
    name: str, settings: Mapping[str, Any], values: _RecordValues
) -> Iterator[tuple[str, Any]]:
    """(end, value) of each effective value of a setting that a record has."""
    side, _underscore, suffix = name.partition("_")
    ending, ends, form = _RULES.get(name, ("", (), str))
    for prefix in FLOWS:
        if name == "socket_buffer_bytes":
            for end, way in product(_ENDS, _WAYS):
                yield _label(prefix, end, way), values.get(f"{prefix}{end}_{way}_buffer_bytes")
        elif name in ("server_cpu", "client_cpu", "server_cpus", "client_cpus"):
            # The server or the client may send in one flow and receive in another.
            sends = server_sends(settings, prefix) == (side == "server")
            for end in (side, "sender" if sends else "receiver"):
                cpu = values.get(f"{prefix}{end}_{suffix}")
                cpu = ",".join(map(str, cpu)) if isinstance(cpu, list) else cpu
                yield _label(prefix, end), cpu
        elif name == "receive":
            # Older TCP records state only whether a receiver was spinning (whether it called
            # receive again and again instead of blocking).
            spin = values.get(f"{prefix}receiver_spin")
            method = values.get(f"{prefix}receiver_receive_method")
            method = _waiting(spin) if method is None and spin is not None else method
            yield _label(prefix, "receiver"), method
        for end in ends:
            value = values.get(f"{prefix}{end}_{ending}")
            yield _label(prefix, end), None if value is None else form(value)


@cache
def _label(prefix: str, end: str, way: str = "") -> str:
    """The name of an end, with its flow and what it does with the data. A page of many cells has
    few of them, each a million times.
    """
    words = _("{end} {way}", end=_ENDS[end], way=FLOWS[prefix]) if prefix else _ENDS[end]
    return _("{end} {way}", end=words, way=_WAYS[way]) if way else words


def _in_words(name: str, reports: Sequence[tuple[str, Any]]) -> str:
    """One value if all ends report the same value, otherwise the values of each end."""
    if not reports:
        return ""
    of_ends: dict[str, list[Any]] = {}
    for label, value in reports:
        distinct = of_ends.setdefault(label, [])
        if value not in distinct:
            distinct.append(value)
    texts: dict[str, str] = {}
    for label, values in of_ends.items():
        several = len(values) > MOST_SHOWN
        words = [
            value if isinstance(value, Message) else setting_value(name, value)
            for value in ((min(values), max(values)) if several else values)
        ]
        texts[label] = (
            _("{low} to {high}", low=words[0], high=words[1]) if several else joined(" / ", words)
        )
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    return joined(", ", [joined(" ", [label, text]) for label, text in texts.items()])


def _waiting(value: Any) -> str:
    return "spinning" if value else "blocking"


_RULES: Mapping[str, tuple[str, tuple[str, ...], Callable[[Any], Any]]] = {
    # No congestion control is requested of the receiver of a stream.
    "congestion": ("congestion", ("sender", "client", "server"), str),
    "nodelay": ("nodelay", ("sender", "client", "server"), bool),
    "dscp": ("dscp", _EVERY, int),
    "dont_fragment": ("dont_fragment", _GIVING, bool),
    "interface": ("interface", _EVERY, str),
    "server_receive": ("spin", ("server",), _waiting),
    "client_receive": ("spin", ("client",), _waiting),
}
"""Setting → (suffix in a record, ends that report it, conversion to the setting's form)."""


_UNASKED: Mapping[str, str] = {
    "mss_bytes": _("maximum segment size"),
    "path_mtu_bytes": _("path MTU"),
    "connected_by": _("connected by"),
    "tcp_timestamps": _("TCP timestamps"),
    "receiver_receive_chosen": _("receive call chosen in the warm-up"),
    "server_engine_version": _("version of the tool at the server"),
    "client_engine_version": _("version of the tool at the client"),
    "engine_remarks": _("what the tool did otherwise"),
}
