"""Import: a run folder out of a table that a document printed.

A value is a plain decimal number of 10^6 bit/s as printed; documents that write "MBps" mean this.
It is stored exactly, in bit/s, and as text, so that a printed mean can be recomputed to its last
digit. Settings that the table does not have (duration, TCP options) stay unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from netlab.experiment.cells import Cell
from netlab.imports import CommandOption, Importer
from netlab.imports.common import csv_table
from netlab.kinds import Stream
from netlab.store.plan import PlannedCell


def import_table(
    csv_path: Path,
    into: Path,
    *,
    columns: Path | str | None = None,
    **context: Unpack[csv_table.TableContext],
) -> Path:
    """Make the run folder ``into`` out of a printed table, or out of a CSV file of any form, of
    which the file ``columns`` says what its columns are. In the latter, rows with the same settings
    between the same hosts are trials of one cell, by start time or line. Raises MatrixError with
    every fault as ``file:line:column``, UsageError (no table; ``into`` has other contents),
    StoreError, LockedError.
    """
    if columns is not None:
        from netlab.imports.common.mapped import parse_mapped_table, read_column_map
        from netlab.imports.common.tool_results import import_results

        column_map = read_column_map(Path(columns))
        parse = partial(parse_mapped_table, column_map=column_map)
        content = {"columns": column_map.content}
        return import_results([csv_path], into, parse=parse, content=content, **context)
    source = csv_table.read_source(csv_path, **context)
    rows = source.rows(FORM)
    records = [
        csv_table.record_of(row.cell, csv_table.throughput(row.printed), printed=row.printed)
        for row in rows
    ]
    return csv_table.write_run(into, source, [row.cell for row in rows], records, content={})


COLUMNS: Mapping[str, csv_table.Read] = {
    "pairing": csv_table.pairing,
    "protocol": csv_table.protocol,
    "message_bytes": csv_table.whole_to(csv_table.MAX_MESSAGE_BYTES, "number of bytes"),
    "socket_buffer_bytes": csv_table.whole_to(2**31 - 1, "number of bytes"),
    "mbit_per_s": csv_table.printed_rate,
}


def _row(values: Mapping[str, Any]) -> csv_table.PrintedRow:
    names = ("protocol", "message_bytes", "socket_buffer_bytes")
    settings = {name: values[name] for name in names}
    setup = Stream(**settings, duration_s=None)
    key = Cell(pairing=values["pairing"], test="stream", setup=setup).key
    cell = PlannedCell(key, values["pairing"], "stream", settings)
    return csv_table.PrintedRow(cell, values["mbit_per_s"])


FORM = csv_table.Form(
    COLUMNS, row=_row, key=lambda row: row.cell.key, across=csv_table.wrong_datagram
)


IMPORTER = Importer(
    read=import_table,
    help="""Make a run folder out of a printed TABLE, and its report.

    The columns of the CSV file: pairing, protocol, message_bytes, socket_buffer_bytes,
    mbit_per_s (10^6 bit/s). An empty value was not measured, and stays blank. A table with other
    columns needs --map.
    """,
    options=(
        CommandOption(
            "columns",
            "--map",
            "Names the table's columns, units and separator, as YAML: docs/run-folder.md.",
            metavar="FILE",
        ),
    ),
)
