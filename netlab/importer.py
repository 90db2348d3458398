"""Import: a run folder out of a table that a document printed.

The table is a CSV file with the columns ``pairing`` (server first), ``protocol``,
``message_bytes``, ``socket_buffer_bytes`` and ``mbit_per_s``, in any order. A value is a plain
decimal number of 10^6 bit/s, as printed; documents write "MBps" and mean this. It is kept twice:
exactly, in bit/s, and as its text, so that a printed mean can be recomputed to its last digit.
An empty value was not measured: its record is ``pending`` for the reason ``not-recorded``, and
no number stands for it. Nothing that the table does not say (duration, TCP options) is made up.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from netlab.cells import Cell
from netlab.header import Link, Plan, PlannedCell
from netlab.printed import Form, parse, read_table, shown, text_of
from netlab.records import Record, Status, Value, utc_now
from netlab.setups import Stream
from netlab.store import RunFolder

COLUMNS = ("pairing", "protocol", "message_bytes", "socket_buffer_bytes", "mbit_per_s")
TEST = "stream"

MAX_MBIT_PER_S = Decimal(10**8)
"""100 Tbit/s: more is a slip of the pen, or an attack."""
MAX_UDP_BYTES = 65527
"""What UDP over IPv6 can carry; over IPv4 it is 65507."""

_WHOLE = re.compile(r"[0-9]{1,10}")
_DECIMAL = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,12})?")
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
    def cell(self) -> Cell:
        """The cell that the row is about."""
        return Cell(
            pairing=self.pairing,
            test=TEST,
            setup=Stream(
                protocol="TCP" if self.protocol == "TCP" else "UDP",
                message_bytes=self.message_bytes,
                socket_buffer_bytes=self.socket_buffer_bytes,
                duration_s=None,
            ),
        )

    @property
    def settings(self) -> dict[str, Value]:
        """What the table says about the cell, and no default of ours."""
        return {
            "protocol": self.protocol,
            "message_bytes": self.message_bytes,
            "socket_buffer_bytes": self.socket_buffer_bytes,
        }


def import_table(
    csv_path: Path,
    into: Path,
    *,
    title: str | None = None,
    rate_bit_per_s: float | None = None,
    mtu_bytes: int = 1500,
    imported_at: str | None = None,
) -> Path:
    """Make the run folder ``into`` out of a printed table; returns ``into``.

    ``rate_bit_per_s`` and ``mtu_bytes`` describe the link it was measured on; without a rate there
    are no wire ceilings. ``imported_at`` (ISO 8601) stands for the wall clock where the same bytes
    are wanted again. Importing the same table again into its folder changes nothing.

    Raises MatrixError with every fault as ``file:line:column``, UsageError (no table; ``into``
    holds something else), StoreError, LockedError.
    """
    data = read_table(csv_path)
    rows = parse_table(text_of(data, str(csv_path)), str(csv_path))
    link = Link(rate_bit_per_s, mtu_bytes) if rate_bit_per_s is not None else None
    plan = _plan(rows, title or csv_path.stem, csv_path.name, data, link)

    def clock() -> str:
        return imported_at or utc_now()

    here = csv_path.parent.resolve() == into.resolve()
    with RunFolder.open_for_writing(
        into,
        plan,
        beside=frozenset({csv_path.name}) if here else frozenset(),
        clock=clock,
        run_id=plan.content_hash[:16],
    ) as run:
        written = run.latest.keys()
        for row in [row for row in rows if (row.cell.key, 1) not in written]:
            run.append(_record(row), durable=False)
    return into


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
    if texts["mbit_per_s"]:
        yield from _wrong_value(texts["mbit_per_s"])


def _wrong_value(text: str) -> Iterator[tuple[str, str]]:
    if not _DECIMAL.fullmatch(text):
        hint = "; write a decimal point" if re.fullmatch(r"[0-9]+,[0-9]+", text) else ""
        yield "mbit_per_s", f"{shown(text)} is not a plain decimal number of 10^6 bit/s{hint}"
    elif Decimal(text) == 0:
        yield "mbit_per_s", "0 is no throughput; leave it empty where nothing was measured"
    elif Decimal(text) > MAX_MBIT_PER_S:
        yield "mbit_per_s", f"{shown(text)} is more than {MAX_MBIT_PER_S} Mbit/s"


_FORM = Form(COLUMNS, wrong=_wrong, row=_row, key=_key)


def _plan(
    rows: tuple[TableRow, ...], title: str, source: str, data: bytes, link: Link | None
) -> Plan:
    digest = hashlib.sha256(data).hexdigest()
    content: dict[str, object] = {"table": {"sha256": digest, "rows": len(rows)}}
    if link is not None:
        content["link"] = {"rate_bit_per_s": link.rate_bit_per_s, "mtu_bytes": link.mtu_bytes}
    return Plan(
        title=title,
        content=content,
        content_hash=hashlib.sha256(repr(sorted(content.items())).encode()).hexdigest(),
        matrix_text="",
        link=link,
        cells=tuple(PlannedCell(row.cell.key, row.pairing, TEST, row.settings) for row in rows),
        repeats=1,
        source=source,
    )


def _record(row: TableRow) -> Record:
    values: dict[str, Value] = {}
    if row.printed:
        exact = Decimal(row.printed) * 10**6
        step = Decimal(10**6).scaleb(int(Decimal(row.printed).as_tuple().exponent))
        values = {
            "throughput_bit_per_s": _number(exact),
            "printed_mbit_per_s": row.printed,
            "printed_step_bit_per_s": _number(step),
        }
    return Record(
        cell=row.cell.key,
        trial=1,
        attempt=1,
        status=Status.OK if row.printed else Status.PENDING,
        reason=None if row.printed else "not-recorded",
        pairing=row.pairing,
        server="",
        client="",
        test=TEST,
        started_at="",
        settings=row.settings,
        values=values,
    )


def _number(exact: Decimal) -> int | float:
    """An int where it is one, so that the last printed digit survives."""
    return int(exact) if exact == exact.to_integral_value() else float(exact)
