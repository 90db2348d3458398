"""Trials made up, and the report's tables of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netlab.ethernet import Link
from netlab.report.tables.elements import GridTable, TableLine
from netlab.report.tables.tables import sections
from netlab.results.layout import lay_out
from netlab.trial.record import Record, Status

LINK = Link(1e8, 1500)


def trial_of(
    values: Mapping[str, Any] | None = None,
    *,
    status: str = "ok",
    same_host: bool = False,
    **fields: Any,
) -> Record:
    """A trial with these values, of which ``None`` is not recorded."""
    known = {name: value for name, value in (values or {}).items() if value is not None}
    names = {"cell": "cell", "trial": 1, "attempt": 1, "pairing": "LL", "server": "", "client": ""}
    more = {"test": "stream", "started_at": "", "settings": {}}
    return Record(
        **{**names, **more, **fields},
        status=Status(status),
        values={**known, "same_host": True} if same_host else known,
    )


def reading(
    mbit_per_s: float | None = 90.0,
    *,
    pairing: str = "LL",
    protocol: str = "TCP",
    message: int = 64,
    buffer: int | None = 16384,
    trial: int = 1,
    status: str = "ok",
    reason: str | None = None,
    errno: int | None = None,
    same_host: bool = False,
    flows: dict[str, float | None] | None = None,
    flow: dict[str, Any] | None = None,
    **settings: Any,
) -> Record:
    cell_settings = {"protocol": protocol, "message_bytes": message, **settings}
    if buffer is not None:
        cell_settings["socket_buffer_bytes"] = buffer
    values = {
        f"{prefix}throughput_bit_per_s": None if rate is None else rate * 1e6
        for prefix, rate in (flows or {"": mbit_per_s}).items()
    }
    return trial_of(
        {**values, **(flow or {})},
        cell=f"{pairing}-{sorted(cell_settings.items())}",
        trial=trial,
        status=status,
        reason=reason,
        errno=errno,
        pairing=pairing,
        same_host=same_host,
        settings=cell_settings,
    )


def blank(status: str = "failed", reason: str = "no-traffic", **keys: Any) -> Record:
    return reading(None, status=status, reason=reason, **keys)


def tables_of(
    *readings: Record, link: Link | None = None, imported: bool = False
) -> list[GridTable]:
    parts = sections(lay_out(readings), link, imported=imported)
    return [table for part in parts for table in part.tables]


def table_of(*readings: Record, link: Link | None = None, imported: bool = False) -> GridTable:
    return tables_of(*readings, link=link, imported=imported)[0]


def texts(table: GridTable, label: str) -> list[str]:
    row = row_of(table, label)
    return [entry.text for entry in row.places]


def row_of(table: GridTable, label: str) -> TableLine:
    return next(row for row in table.lines if row.label == label)
