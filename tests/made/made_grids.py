"""Readings made up, and the report's tables of them."""

from __future__ import annotations

from typing import Any

from netlab.experiment.matrix import Link
from netlab.report.tables.elements import GridTable, TableLine
from netlab.report.tables.tables import sections
from netlab.results.layout import lay_out
from netlab.results.readings import FlowReading, Reading

LINK = Link(1e8, 1500)


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
    flows: dict[str, FlowReading] | None = None,
    flow: dict[str, Any] | None = None,
    **settings: Any,
) -> Reading:
    cell_settings = {"protocol": protocol, "message_bytes": message, **settings}
    if buffer is not None:
        cell_settings["socket_buffer_bytes"] = buffer
    rate = None if mbit_per_s is None else mbit_per_s * 1e6
    return Reading(
        cell=f"{pairing}-{sorted(cell_settings.items())}",
        trial=trial,
        attempt=1,
        status=status,
        reason=reason,
        errno=errno,
        detail=None,
        pairing=pairing,
        server=None,
        client=None,
        test="stream",
        same_host=same_host,
        settings=cell_settings,
        flows=flows or {"": FlowReading(throughput_bit_per_s=rate, **(flow or {}))},
    )


def blank(status: str = "failed", reason: str = "no-traffic", **keys: Any) -> Reading:
    return reading(None, status=status, reason=reason, **keys)


def tables_of(
    *readings: Reading, link: Link | None = None, imported: bool = False
) -> list[GridTable]:
    parts = sections(lay_out(readings), link, imported=imported)
    return [table for part in parts for table in part.tables]


def table_of(*readings: Reading, link: Link | None = None, imported: bool = False) -> GridTable:
    return tables_of(*readings, link=link, imported=imported)[0]


def texts(table: GridTable, label: str) -> list[str]:
    row = row_of(table, label)
    return [entry.text for entry in row.places]


def row_of(table: GridTable, label: str) -> TableLine:
    return next(row for row in table.lines if row.label == label)
