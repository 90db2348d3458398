"""Import: a run folder out of a table that a document printed.

The table is a CSV file with the columns ``pairing`` (server first), ``protocol``,
``message_bytes``, ``socket_buffer_bytes`` and ``mbit_per_s``, in any order. A value is a plain
decimal number of 10^6 bit/s as printed; documents that write "MBps" mean this. A value is stored
twice: exactly, in bit/s, and as text, so that a printed mean can be recomputed to its last digit.
An empty value means that nothing was measured: the result is ``pending`` with the reason
``not-recorded`` and has no number. Settings that the table does not have (duration, TCP options)
stay unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Unpack

from netlab.experiment.cells import Cell
from netlab.imports import CommandOption, Importer
from netlab.imports.common.csv_table import (
    MAX_MESSAGE_BYTES,
    Form,
    TableContext,
    Wrong,
    parse,
    read_source,
    record_of,
    throughput,
    whole,
    write_run,
    wrong_datagram,
    wrong_pairing,
    wrong_protocol,
    wrong_rate,
    wrong_whole,
)
from netlab.kinds import Stream
from netlab.store.plan import PlannedCell
from netlab.trial.record import Value

TEST = "stream"


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row of a printed table."""

    line: int
    """Number of the row's line in the file, from 1."""
    pairing: str
    protocol: str
    message_bytes: int
    socket_buffer_bytes: int
    printed: str
    """The value as it was printed, empty where nothing was measured."""

    @property
    def cell(self) -> PlannedCell:
        """The cell (combination of pairing, test and settings) of the row. It has only the
        settings in the table and no defaults of netlab.
        """
        full_cell = Cell(
            pairing=self.pairing,
            test=TEST,
            setup=Stream(
                protocol="TCP" if self.protocol == "TCP" else "UDP",
                message_bytes=self.message_bytes,
                socket_buffer_bytes=self.socket_buffer_bytes,
                duration_s=None,
            ),
        )
        settings: dict[str, Value] = {
            "protocol": self.protocol,
            "message_bytes": self.message_bytes,
            "socket_buffer_bytes": self.socket_buffer_bytes,
        }
        return PlannedCell(full_cell.key, self.pairing, TEST, settings)


def import_table(csv_path: Path, into: Path, **context: Unpack[TableContext]) -> Path:
    """Make the run folder ``into`` out of a printed table; returns ``into``.

    Raises MatrixError with every fault as ``file:line:column``, UsageError (no table; ``into`` has
    other contents), StoreError, LockedError.
    """
    source = read_source(csv_path, **context)
    rows = parse_table(source.text, source.name)
    cells = {row.line: row.cell for row in rows}
    return write_run(
        into,
        source,
        cells.values(),
        [record_of(cells[row.line], throughput(row.printed), printed=row.printed) for row in rows],
        content={},
    )


def import_mapped_table(
    csv_path: Path, into: Path, *, columns: Path, **context: Unpack[TableContext]
) -> Path:
    """Make the run folder ``into`` out of a CSV file of any form; returns ``into``.

    The file ``columns`` assigns columns of the table to columns of netlab, and states their units.
    Rows with the same settings between the same hosts are trials of one cell, in the order of their
    start times, or of their lines if they have none. Raises the errors of ``import_table``, and
    MatrixError for faults in ``columns``.
    """
    from netlab.imports.common.mapped import parse_mapped_table, read_column_map
    from netlab.imports.common.tool_results import import_results

    column_map = read_column_map(columns)
    parse = partial(parse_mapped_table, column_map=column_map)
    content = {"columns": column_map.content}
    return import_results([csv_path], into, parse=parse, content=content, **context)


def parse_table(text: str, file: str) -> tuple[TableRow, ...]:
    """The rows of a table's text. No I/O. Raises MatrixError with every fault, in file order."""
    return parse(text, file, _FORM)


def _row(line: int, texts: Mapping[str, str]) -> TableRow:
    return TableRow(
        line=line,
        pairing=texts["pairing"],
        protocol=texts["protocol"],
        message_bytes=int(texts["message_bytes"]),
        socket_buffer_bytes=int(texts["socket_buffer_bytes"]),
        printed=texts["mbit_per_s"],
    )


def _wrong_datagram(texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for sentence in wrong_datagram(texts["protocol"], whole(texts["message_bytes"]) or 0):
        yield "message_bytes", sentence


COLUMNS: Mapping[str, Wrong] = {
    "pairing": wrong_pairing,
    "protocol": wrong_protocol,
    "message_bytes": lambda text: wrong_whole(text, MAX_MESSAGE_BYTES, "number of bytes"),
    "socket_buffer_bytes": lambda text: wrong_whole(text, 2**31 - 1, "number of bytes"),
    "mbit_per_s": wrong_rate,
}
_FORM = Form(COLUMNS, row=_row, key=lambda row: row.cell.key, across=_wrong_datagram)


def _read(
    csv_path: Path, into: Path, *, columns: str | None, **context: Unpack[TableContext]
) -> Path:
    if columns is None:
        return import_table(csv_path, into, **context)
    return import_mapped_table(csv_path, into, columns=Path(columns), **context)


IMPORTER = Importer(
    read=_read,
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
