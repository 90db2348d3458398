"""Run folder → DataFrame: tidy, one row a trial; columns, dtypes and units documented here.

A trial that is not there yet is a row as well. A failure is a row with a reason and NA.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from netlab.header import Plan, PlannedCell
from netlab.journal import Damage
from netlab.records import Record, Status
from netlab.stored import Note, StoredRun, read

Dtype = Literal["Int64", "Float64", "string", "boolean"]


@dataclass(frozen=True, slots=True)
class Column:
    """What one column holds."""

    dtype: Dtype
    unit: str
    """Empty for words, counts and shares."""
    meaning: str


COLUMNS: Mapping[str, Column] = {
    # The trial.
    "cell": Column("string", "", "key of the cell, made from its content"),
    "trial": Column("Int64", "", "number of the trial, from 1"),
    "attempt": Column("Int64", "", "which attempt at the trial this is, from 1"),
    "status": Column("string", "", "ok, failed, impossible or pending"),
    "reason": Column("string", "", "why there is no result: a word of the closed list"),
    "errno": Column("Int64", "", "the number behind the reason, in the host's own numbering"),
    "detail": Column("string", "", "a sentence about the reason"),
    "pairing": Column("string", "", "server's and client's operating system, server first"),
    "server": Column("string", "", "name of the host that serves"),
    "client": Column("string", "", "name of the host that asks"),
    "test": Column("string", "", "kind of measurement"),
    "started_at": Column("string", "", "the controller's wall clock, ISO 8601, UTC"),
    # What was requested.
    "protocol": Column("string", "", "TCP or UDP"),
    "message_bytes": Column("Int64", "byte", "handed to one send call"),
    "socket_buffer_bytes": Column(
        "Int64", "byte", "asked of SO_SNDBUF and SO_RCVBUF at both ends; NA: the system's tuning"
    ),
    "duration_s": Column("Float64", "s", "length of the window asked for"),
    "count": Column("Int64", "", "messages asked for, in place of a duration"),
    "warm_up_s": Column("Float64", "s", "time before the window"),
    "direction": Column("string", "", "client-sends, server-sends or both"),
    "streams": Column("Int64", "", "parallel streams"),
    "ip_version": Column("Int64", "", "4 or 6"),
    "congestion": Column("string", "", "congestion control asked for; NA: the host's default"),
    "nodelay": Column("boolean", "", "TCP_NODELAY asked for"),
    "dont_fragment": Column("boolean", "", "the DF bit asked for"),
    "rate_bit_per_s": Column("Float64", "bit/s", "offered payload rate; NA: as fast as it goes"),
    "message_rate_per_s": Column("Float64", "1/s", "offered messages a second"),
    "dscp": Column("Int64", "", "code point asked for"),
    "source_port": Column("Int64", "", "of the sender, where one was asked for"),
    "interface": Column("string", "", "device bound to, where one was asked for"),
    "receive": Column("string", "", "blocking or spinning"),
    "server_cpu": Column("Int64", "", "CPU that the server's threads are pinned to"),
    "client_cpu": Column("Int64", "", "CPU that the client's threads are pinned to"),
    "network": Column("string", "", "name of the test addresses; NA: the first of each host"),
    # What was measured.
    "throughput_bit_per_s": Column(
        "Float64", "bit/s", "payload taken in by the receiver, by the receiver's clock"
    ),
    "sent_bit_per_s": Column(
        "Float64", "bit/s", "payload sent (UDP) or acknowledged (TCP), by the sender's clock"
    ),
    "sent_messages": Column("Int64", "", "send calls that succeeded, over the whole test"),
    "received_messages": Column("Int64", "", "distinct messages received, over the whole test"),
    "lost_messages": Column("Int64", "", "sent and not received, after the drain"),
    "duplicate_messages": Column("Int64", "", "received again"),
    "reordered_messages": Column("Int64", "", "received after a later one (RFC 4737)"),
    "elapsed_s": Column("Float64", "s", "length of the receiver's window"),
    "elapsed_ns": Column("Int64", "ns", "length of the receiver's window"),
    "mss_bytes": Column("Int64", "byte", "TCP payload a segment in effect"),
    "tcp_timestamps": Column("boolean", "", "whether TCP timestamps were in use"),
    "same_host": Column("boolean", "", "server and client are one host: no cable was touched"),
    "connected_by": Column("string", "", "server or client: the side that connected"),
    "setup_ns": Column("Int64", "ns", "from the request to open streams"),
    "drain_ns": Column("Int64", "ns", "from the window's end to the last message waited for"),
    "printed_mbit_per_s": Column("string", "10^6 bit/s", "an imported figure as it was printed"),
    "printed_step_bit_per_s": Column(
        "Float64", "bit/s", "step of an imported figure: one in its last digit"
    ),
}
"""The columns that every frame has, in this order; all others follow, sorted by name."""

PREFIXES: Mapping[str, str] = {
    "to_server_": "of the data to the server: ",
    "to_client_": "of the data to the client: ",
    "receiver_": "said by the receiving probe: ",
    "sender_": "said by the sending probe: ",
}
"""What the words before a name mean; they may stand one behind the other."""

_UNITS: tuple[tuple[str, str, Dtype], ...] = (
    ("_bit_per_s", "bit/s", "Float64"),
    ("_per_s", "1/s", "Float64"),
    ("_bytes", "byte", "Int64"),
    ("_ns", "ns", "Int64"),
    ("_us", "us", "Int64"),
    ("_ppm", "ppm", "Float64"),
    ("_share", "", "Float64"),
    ("_messages", "", "Int64"),
    ("_s", "s", "Float64"),
)


def describe(name: str) -> Column:
    """Dtype, unit and meaning of a column, also of those that only some runs have.

    The dtype of a column outside of ``COLUMNS`` is a proposal: the frame widens it where the
    values ask for it, so that none is changed.
    """
    if name in COLUMNS:
        return COLUMNS[name]
    for prefix, words in PREFIXES.items():
        if name.startswith(prefix):
            inner = describe(name.removeprefix(prefix))
            return Column(inner.dtype, inner.unit, words + inner.meaning)
    meaning = f"`{name}` of docs/protocol.md"
    for ending, unit, dtype in _UNITS:
        if name.endswith(ending):
            return Column(dtype, unit, meaning)
    return Column("string", "", meaning)


@dataclass(frozen=True)
class Run:
    """A run folder as it was read, and its records as a table."""

    stored: StoredRun

    @property
    def path(self) -> Path:
        """The run folder."""
        return self.stored.path

    @property
    def plan(self) -> Plan:
        """What was to be measured."""
        return self.stored.plan

    @property
    def records(self) -> tuple[Record, ...]:
        """Every whole record, in the journal's order, repeats and retries with it."""
        return self.stored.records

    @property
    def latest(self) -> Mapping[tuple[str, int], Record]:
        """(cell, trial) → the record that counts."""
        return self.stored.latest

    @property
    def notes(self) -> tuple[Note, ...]:
        """Every line of the journal that is no record."""
        return self.stored.notes

    @property
    def damage(self) -> tuple[Damage, ...]:
        """What was damaged in the journal, with line numbers."""
        return self.stored.damage

    @property
    def sessions(self) -> tuple[Mapping[str, Any], ...]:
        """What was noted when each session began, with ``at``."""
        return self._of_kind("session")

    @property
    def facts(self) -> tuple[Mapping[str, Any], ...]:
        """The hosts' facts, as noted before and after each session, with ``at``."""
        return self._of_kind("facts")

    def _of_kind(self, kind: str) -> tuple[Mapping[str, Any], ...]:
        return tuple({**note.data, "at": note.at} for note in self.notes if note.kind == kind)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row a planned trial, in the plan's order; see ``COLUMNS``."""
        trials = range(1, self.plan.repeats + 1)
        return make_frame(
            _row(cell, trial, self.latest.get((cell.key, trial)))
            for cell in self.plan.cells
            for trial in trials
        )


def load(path: Path) -> Run:
    """Read a run folder; UsageError where there is none, StoreError where it is beyond use."""
    return Run(read(path))


def _row(cell: PlannedCell, trial: int, record: Record | None) -> dict[str, Any]:
    """One row; what is absent is left out. Values never overwrite what names the trial."""
    row: dict[str, Any] = {
        "cell": cell.key,
        "trial": trial,
        "pairing": cell.pairing,
        "test": cell.test,
    }
    if record is None:
        return {
            **cell.settings,
            **row,
            "status": str(Status.PENDING),
            "reason": "not-measured-yet",
        }
    row |= {
        "attempt": record.attempt,
        "status": str(record.status),
        "reason": record.reason,
        "errno": record.errno,
        "detail": record.detail,
        "server": record.server or None,
        "client": record.client or None,
        "started_at": record.started_at or None,
    }
    elapsed = record.values.get("elapsed_ns")
    if isinstance(elapsed, int):
        row["elapsed_s"] = elapsed / 1e9
    return {**record.values, **cell.settings, **record.settings, **row}


def make_frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """A frame out of rows in which absent keys are NA; see ``COLUMNS``."""
    kept = list(rows)
    extra = sorted({name for row in kept for name in row} - COLUMNS.keys())
    return pd.DataFrame(
        {name: _series([row.get(name) for row in kept], name) for name in [*COLUMNS, *extra]}
    )


def _series(values: list[Any], name: str) -> pd.Series[Any]:
    """A column of the documented dtype, or of the next wider one that changes no value."""
    known = [value for value in values if value is not None]
    wanted = describe(name).dtype
    if any(isinstance(value, list | tuple) for value in known):
        dtype: Dtype = "string"
    elif name not in COLUMNS and wanted == "string":
        dtype = next(kind for kind in _NARROW_FIRST if all(_fits(v, kind) for v in known))
    else:
        wider = _NARROW_FIRST[_NARROW_FIRST.index(wanted) :]
        dtype = next(kind for kind in wider if all(_fits(value, kind) for value in known))
    return pd.Series([_cast(value, dtype) for value in values], dtype=dtype, name=name)


_NARROW_FIRST: tuple[Dtype, ...] = ("boolean", "Int64", "Float64", "string")


def _fits(value: object, dtype: Dtype) -> bool:
    """Whether a column of that dtype holds the value unchanged."""
    if dtype == "string":
        return True
    if isinstance(value, bool):
        return dtype == "boolean"
    if isinstance(value, int):
        return (dtype == "Int64" and -(2**63) <= value < 2**63) or (
            dtype == "Float64" and abs(value) <= 2**53
        )
    return dtype == "Float64" and isinstance(value, float) and math.isfinite(value)


def _cast(value: Any, dtype: Dtype) -> Any:
    """A value as its column holds it; series and words in number columns become JSON text."""
    if value is None:
        return pd.NA
    if dtype == "string":
        text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
        # Half a surrogate pair is no text that a file could hold.
        return text.encode("utf-8", "backslashreplace").decode("utf-8")
    return float(value) if dtype == "Float64" else value
