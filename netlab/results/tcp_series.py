"""The state of a sender's TCP, recorded while the stream was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from netlab.store.journal import PackedValues
from netlab.trial.column import Column
from netlab.trial.record import FLOWS

if TYPE_CHECKING:
    import pandas as pd

TCP_SERIES: Mapping[str, Column] = {
    "tcp_series_time_us": Column(
        "string", "us", "time of each sample of TCP's state, counted from the window's opening"
    ),
    "tcp_series_cwnd_bytes": Column(
        "string", "byte", "congestion window of the first stream at each sample"
    ),
    "tcp_series_rtt_us": Column("string", "us", "smoothed round trip of the first stream"),
    "tcp_series_pacing_bit_per_s": Column("string", "bit/s", "pacing rate of the first stream"),
    "tcp_series_retransmissions": Column(
        "string", "", "segments retransmitted since the first sample"
    ),
    "tcp_series_delivered_bytes": Column(
        "string", "byte", "bytes acknowledged since the first sample"
    ),
}
"""Column name without prefixes → the column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpSeries:
    """TCP's state of a sender's first stream: lists with one element per sample.

    A list that was not recorded is empty.
    """

    time_us: Sequence[int]
    """Time since the sender's measurement began; ascending, at least one element."""
    cwnd_bytes: Sequence[int] = ()
    rtt_us: Sequence[int] = ()
    """TCP's smoothed round trip (RFC 6298)."""
    pacing_bit_per_s: Sequence[int] = ()
    retransmissions: Sequence[int] = ()
    """Segments retransmitted since the first sample."""
    delivered_bytes: Sequence[int] = ()
    """Bytes acknowledged since the first sample."""


def tcp_series_of(values: Mapping[str, Any], flow: str = "") -> TcpSeries | None:
    """The series of one flow of a record; ``None`` if the flow has none.

    ``values``: the values of the record; ``flow``: the prefix of the names of the flow's values.
    A list that is damaged, or whose length differs from that of the times, counts as missing.
    """
    if f"{flow}sender_tcp_series_time_us" not in values:
        return None
    lists = {
        name.removeprefix("tcp_series_"): _counts(values, f"{flow}sender_{name}")
        for name in TCP_SERIES
    }
    times = lists.pop("time_us")
    if not times or any(earlier >= later for earlier, later in pairwise(times)):
        return None
    complete = {name: series for name, series in lists.items() if len(series) == len(times)}
    return TcpSeries(time_us=times, **complete) if complete else None


def frame_of_series(values: Mapping[str, Any]) -> pd.DataFrame:
    """The series of all flows of a record: one row per sample, with ``time_s``; may be empty."""
    import pandas as pd

    frames = []
    for prefix, name in FLOWS.items():
        series = tcp_series_of(values, prefix)
        if series is not None:
            columns = {column.name: getattr(series, column.name) for column in fields(series)}
            frame = pd.DataFrame({key: list(values) for key, values in columns.items() if values})
            frame.insert(0, "time_s", frame.pop("time_us") / 1e6)
            frames.append(frame if not prefix else frame.assign(flow=str(name)))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _counts(values: Mapping[str, Any], name: str) -> Sequence[int]:
    """A series of counts; empty if the value is invalid. A series in compact form stays compact."""
    compact = values.counts(name) if isinstance(values, PackedValues) else None
    if compact is not None:
        return compact
    value = values.get(name)
    if not isinstance(value, list) or not all(type(n) is int and n >= 0 for n in value):
        return []
    return value
