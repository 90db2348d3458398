"""Import: a run folder out of a table that a document printed.

The table is a CSV file with the columns ``pairing`` (server first), ``protocol``,
``message_bytes``, ``socket_buffer_bytes`` and ``mbit_per_s``, in any order. A value is a plain
decimal number of 10^6 bit/s, as printed; documents write "MBps" and mean this. It is kept twice:
exactly, in bit/s, and as its text, so that a printed mean can be recomputed to its last digit.
An empty value was not measured: its record is ``pending`` for the reason ``not-recorded``, and
no number stands for it. Nothing that the table does not say (duration, TCP options) is made up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from netlab.experiment.cells import Cell
from netlab.experiment.kinds import Stream
from netlab.experiment.matrix import Link
from netlab.experiment.records import Value
from netlab.imports.csv_table import Form, parse, shown, throughput, wrong_rate
from netlab.imports.run_writer import read_source, record_of, write_run
from netlab.store.plan import PlannedCell

COLUMNS = ("pairing", "protocol", "message_bytes", "socket_buffer_bytes", "mbit_per_s")
TEST = "stream"

MAX_UDP_BYTES = 65527
"""What UDP over IPv6 can carry; over IPv4 it is 65507."""

_WHOLE = re.compile(r"[0-9]{1,10}")
_PAIRING = re.compile(r"[A-Z]{2}")


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row of a printed table."""

    line: int
    """In the file, from 1."""
    pairing: str
    protocol: str
    message_bytes: int
    socket_buffer_bytes: int
    printed: str
    """The value as it was printed, empty where nothing was measured."""

    @property
    def cell(self) -> PlannedCell:
        """The cell that the row is about, with what the table says of it and no default of ours."""
        whole = Cell(
            pairing=self.pairing,
            test=TEST,
            setup=Stream(
                protocol="TCP" if self.protocol == "TCP" else "UDP",
                message_bytes=self.message_bytes,
                socket_buffer_bytes=self.socket_buffer_bytes,
                duration_s=None,
            ),
        )
        said: dict[str, Value] = {
            "protocol": self.protocol,
            "message_bytes": self.message_bytes,
            "socket_buffer_bytes": self.socket_buffer_bytes,
        }
        return PlannedCell(whole.key, self.pairing, TEST, said)


def import_table(
    csv_path: Path,
    into: Path,
    *,
    title: str | None = None,
    rate_bit_per_s: float | None = None,
    mtu_bytes: int = 1500,
    facts: Path | None = None,
    imported_at: str | None = None,
) -> Path:
    """Make the run folder ``into`` out of a printed table; returns ``into``.

    ``rate_bit_per_s`` and ``mtu_bytes`` describe the link it was measured on; without a rate there
    are no wire ceilings. ``facts`` is a file of what the document states beside the table (see
    docs/run-folder.md). ``imported_at`` (ISO 8601) stands for the wall clock where the same bytes
    are wanted again. Importing the same table again into its folder changes nothing.

    Raises MatrixError with every fault as ``file:line:column``, UsageError (no table; ``into``
    holds something else), StoreError, LockedError.
    """
    link = Link(rate_bit_per_s, mtu_bytes) if rate_bit_per_s is not None else None
    source = read_source(csv_path, title=title, link=link, facts=facts, imported_at=imported_at)
    rows = parse_table(source.text, source.name)
    cells = {row.line: row.cell for row in rows}
    return write_run(
        into,
        source,
        cells.values(),
        [record_of(cells[row.line], throughput(row.printed), printed=row.printed) for row in rows],
        content={},
    )


def parse_table(text: str, file: str) -> tuple[TableRow, ...]:
    """The rows of a table's text. Pure. MatrixError with every fault, in the file's order."""
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


def _key(row: TableRow) -> str:
    return row.cell.key


def _wrong(texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(column, what is wrong with it) of one row."""
    protocol = texts["protocol"]
    if not _PAIRING.fullmatch(texts["pairing"]):
        yield "pairing", f"{shown(texts['pairing'])} is not two capitals, server first, like WL"
    if protocol not in ("TCP", "UDP"):
        yield "protocol", f"{shown(protocol)} is neither TCP nor UDP"
    for name, most in (("message_bytes", 2**24), ("socket_buffer_bytes", 2**31 - 1)):
        text = texts[name]
        if not _WHOLE.fullmatch(text) or not 1 <= int(text) <= most:
            yield name, f"{shown(text)} is not a whole number of bytes from 1 to {most}"
        elif name == "message_bytes" and protocol == "UDP" and int(text) > MAX_UDP_BYTES:
            yield name, f"UDP cannot carry {text} bytes; {MAX_UDP_BYTES} is the most"
    for sentence in wrong_rate(texts["mbit_per_s"]):
        yield "mbit_per_s", sentence


_FORM = Form(COLUMNS, wrong=_wrong, row=_row, key=_key)
