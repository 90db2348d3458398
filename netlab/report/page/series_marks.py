"""Findings with a time or a rate → marks on the small chart of a cell's throughput. No I/O.

A cell is one combination of test, pairing (server and client) and settings; a trial is one
measurement of a cell. A record is the stored result of a trial. A flow is the data of a trial in
one direction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from netlab.experiment.interruptions import interruptions
from netlab.experiment.records import Record
from netlab.findings.finding import Kind
from netlab.findings.tcp_series import recoveries_of
from netlab.messages import _
from netlab.report.page.cell_findings import CellFinding
from netlab.results.tcp_series import tcp_series_of
from netlab.units import format_rate, format_seconds

MOST_MARKS = 12
"""Maximum number of marks on one chart. If there are more, the longest marks are drawn."""
LEAST_OF_LONGEST = 0.1
"""Gaps shorter than this share of the longest gap are not marked."""


@dataclass(frozen=True, slots=True)
class SeriesMark:
    """A labelled part of the window (the measured time), in seconds since the window opened."""

    from_s: float
    until_s: float
    words: str
    trial: int


@dataclass(frozen=True, slots=True)
class SeriesLevel:
    """A limit of a flow's rate, in Mbit/s."""

    level: float
    words: str


def marks_of(
    records: Sequence[Record], flow: str, findings: Sequence[CellFinding]
) -> tuple[SeriesMark, ...]:
    """The marks of one flow, for those findings of a cell that have a time.

    ``records``: the cell's records whose status is ok. The marks are gaps without data, TCP's
    recoveries after losses, and repeated dips; at most ``MOST_MARKS`` marks, in the order of time.
    """
    kinds = {finding.kind: finding for finding in findings}
    marks: list[SeriesMark] = []
    for record in records:
        if Kind.INTERRUPTION_FINAL in kinds:
            marks += _gaps(record, flow)
        if Kind.LOSS_RECOVERY in kinds:
            marks += _recoveries(record, flow)
        for kind in (Kind.DIPS_UNEXPLAINED, Kind.DIPS_CONGESTION):
            if kind in kinds and record.trial in (kinds[kind].trials or (record.trial,)):
                marks += _dips(record, flow, kinds[kind].evidence)
    longest = sorted(marks, key=lambda mark: mark.from_s - mark.until_s)[:MOST_MARKS]
    return tuple(sorted(longest, key=lambda mark: (mark.from_s, mark.trial)))


def levels_of(findings: Sequence[CellFinding]) -> tuple[SeriesLevel, ...]:
    """The limits of the cell's rate according to its findings, in Mbit/s, each once."""
    levels = {
        SeriesLevel(value / 1e6, _(words, rate=format_rate(value)))
        for finding in findings
        for name, words in _LIMITS.items()
        if (value := finding.evidence.get(name)) is not None
    }
    return tuple(sorted(levels, key=lambda limit: (limit.level, limit.words)))


_LIMITS: Mapping[str, str] = {
    "rate_limit_bit_per_s": _("rate limit, {rate}").id,
    "window_limit_bit_per_s": _("limit of the receive window, {rate}").id,
}


def _gaps(record: Record, flow: str) -> Iterator[SeriesMark]:
    """The gaps in which the receiver got no data, if they amount to an interruption."""
    if not any(interruption.flow == flow for interruption in interruptions(record)):
        return
    pairs = record.values.get(f"{flow}receiver_gaps")
    if not isinstance(pairs, list):
        return
    gaps = [
        (begin, length)
        for begin, length in zip(pairs[::2], pairs[1::2], strict=False)
        if type(begin) is int and type(length) is int and begin >= 0 < length
    ]
    longest = max((length for _begin, length in gaps), default=0)
    for begin, length in gaps:
        if length >= LEAST_OF_LONGEST * longest:
            words = _("no data for {time}", time=_time(length / 1e9))
            yield _mark(record, begin / 1e9, length / 1e9, words)


def _recoveries(record: Record, flow: str) -> Iterator[SeriesMark]:
    series = tcp_series_of(record.values, flow)
    for recovery in recoveries_of(series) if series is not None else ():
        words = _("recovery from loss, {time}", time=_time(recovery.length_us / 1e6))
        yield _mark(record, recovery.from_us / 1e6, recovery.length_us / 1e6, words)


def _dips(record: Record, flow: str, evidence: Mapping[str, float]) -> Iterator[SeriesMark]:
    """The interval with the fewest bytes in each period of the dips."""
    series = record.values.get(f"{flow}receiver_interval_bytes")
    interval_ns: Any = record.values.get(f"{flow}receiver_interval_ns")
    period_ns = evidence.get("period_ns")
    if not isinstance(series, list) or not interval_ns or not period_ns:
        return
    period = period_ns / interval_ns
    edges = [round(n * period) for n in range(int(len(series) / period) + 1)]
    for begin, end in pairwise(edges):
        if begin < end <= len(series):
            lowest = min(range(begin, end), key=series.__getitem__)
            words = _("dip, every {time}", time=_time(period_ns / 1e9))
            yield _mark(record, lowest * interval_ns / 1e9, interval_ns / 1e9, words)


def _mark(record: Record, from_s: float, length_s: float, words: str) -> SeriesMark:
    return SeriesMark(round(from_s, 6), round(from_s + length_s, 6), words, record.trial)


def _time(seconds: float) -> str:
    """A time to three significant digits."""
    return format_seconds(float(f"{seconds:.3g}"))
