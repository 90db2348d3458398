"""Import: a run folder out of a table that a document printed.

The table is a CSV file with the columns ``pairing`` (server first), ``protocol``,
``message_bytes``, ``socket_buffer_bytes`` and ``mbit_per_s``, in any order. A value is a plain
decimal number of 10^6 bit/s, as printed; documents write "MBps" and mean this. It is kept twice:
exactly, in bit/s, and as its text, so that a printed mean can be recomputed to its last digit.
An empty value was not measured: its record is ``pending`` for the reason ``not-recorded``, and
no number stands for it. Nothing that the table does not say (duration, TCP options) is made up.
"""

from __future__ import annotations

import difflib
import hashlib
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from netlab.cells import Cell
from netlab.disk import read_file
from netlab.errors import Fault, MatrixError, UsageError
from netlab.header import Link, Plan, PlannedCell
from netlab.records import Record, Status, Value, utc_now
from netlab.setups import Stream
from netlab.store import RunFolder

COLUMNS = ("pairing", "protocol", "message_bytes", "socket_buffer_bytes", "mbit_per_s")
TEST = "stream"

MAX_FILE_BYTES = 16 * 2**20
MAX_ROWS = 20_000
MAX_LINE_CHARACTERS = 4096
MAX_MBIT_PER_S = Decimal(10**8)
"""100 Tbit/s: more is a slip of the pen, or an attack."""
MAX_FAULTS = 200
MAX_UDP_BYTES = 65527
"""What UDP over IPv6 can carry; over IPv4 it is 65507."""

_FIELD = re.compile(r'\s*("(?:[^"]|"")*"|[^,"]*?)\s*(,|$)')
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
    data = _read(csv_path)
    rows = parse_table(_text(data, str(csv_path)), str(csv_path))
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
    faults: list[Fault] = []
    rows: list[TableRow] = []
    order: dict[str, int] | None = None
    seen: dict[str, int] = {}
    for number, line in _lines(text, file):
        if order is None:
            order = _header(line, number, file)
            continue
        if len(rows) + len(faults) >= MAX_ROWS:
            faults.append(Fault(file, number, 1, "", f"more than {MAX_ROWS} rows"))
            break
        found = _row(line, number, file, order)
        if isinstance(found, list):
            faults += found
        elif (key := found.cell.key) in seen:
            faults.append(Fault(file, number, 1, "", f"the same cell as in line {seen[key]}"))
        else:
            seen[key] = number
            rows.append(found)
        if len(faults) >= MAX_FAULTS:
            faults.append(Fault(file, number, 1, "", f"{len(faults)} faults; not read further"))
            break
    if order is None:
        faults.append(Fault(file, 1, 1, "", f"empty; the columns are {', '.join(COLUMNS)}"))
    elif not rows and not faults:
        faults.append(Fault(file, 1, 1, "", "no rows below the columns' names"))
    if faults:
        raise MatrixError(faults)
    return tuple(rows)


def _read(path: Path) -> bytes:
    try:
        status = path.stat()
    except FileNotFoundError:
        raise UsageError(f"{path}: there is no such file") from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"{path}: not a regular file")
    if status.st_size > MAX_FILE_BYTES:
        limit = MAX_FILE_BYTES // 2**20
        raise UsageError(f"{path}: larger than {limit} MiB, which no printed table is")
    return read_file(path)


def _text(data: bytes, file: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        column = error.start - (before.rfind(b"\n") + 1) + 1
        fault = Fault(file, line, column, "", "not UTF-8: save the table as UTF-8 text")
        raise MatrixError([fault]) from None


def _lines(text: str, file: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, without empty ones; LF and CRLF end a line, nothing else."""
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.removesuffix("\r")
        if len(stripped) > MAX_LINE_CHARACTERS:
            message = f"longer than {MAX_LINE_CHARACTERS} characters"
            raise MatrixError([Fault(file, number, MAX_LINE_CHARACTERS + 1, "", message)])
        if stripped.strip():
            yield number, stripped


def _fields(line: str) -> list[tuple[int, str]] | int:
    """(column from 1, text) of each field; or the column at which the quoting goes wrong."""
    found: list[tuple[int, str]] = []
    position = 0
    while True:
        match = _FIELD.match(line, position)
        if match is None:
            return position + 1
        raw = match.group(1)
        text = raw[1:-1].replace('""', '"') if raw.startswith('"') else raw
        found.append((match.start(1) + 1, text))
        position = match.end()
        if not match.group(2):
            return found


def _header(line: str, number: int, file: str) -> dict[str, int]:
    """Column name → its place. Nothing below can be read without it: faults are raised."""
    fields = _fields(line)
    if isinstance(fields, int):
        raise MatrixError([Fault(file, number, fields, "", "the quotes do not match")])
    faults: list[Fault] = []
    order: dict[str, int] = {}
    for place, (column, name) in enumerate(fields):
        if name in order:
            faults.append(Fault(file, number, column, name, "this column is here twice"))
        elif name not in COLUMNS:
            close = difflib.get_close_matches(name, COLUMNS, 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            shown = name[:40] or "an empty name"
            faults.append(Fault(file, number, column, "", f"no such column: {shown}{hint}"))
        else:
            order[name] = place
    missing = [name for name in COLUMNS if name not in order]
    if missing:
        message = f"missing: {', '.join(missing)}; columns are separated by commas"
        faults.append(Fault(file, number, len(line) + 1, "", message))
    if faults:
        raise MatrixError(faults)
    return order


def _row(line: str, number: int, file: str, order: dict[str, int]) -> TableRow | list[Fault]:
    fields = _fields(line)
    if isinstance(fields, int):
        return [Fault(file, number, fields, "", "the quotes do not match")]
    if len(fields) != len(order):
        message = f"{len(fields)} values for {len(order)} columns"
        if len(fields) == len(order) + 1 and all(text.isdigit() for _, text in fields[-2:]):
            message += "; a decimal point is meant, not a comma"
        return [Fault(file, number, fields[-1][0], "", message)]
    texts = {name: fields[place][1] for name, place in order.items()}
    faults = [
        Fault(file, number, fields[order[name]][0], name, message)
        for name, message in _wrong(texts)
    ]
    if faults:
        return faults
    return TableRow(
        line=number,
        pairing=texts["pairing"],
        protocol=texts["protocol"],
        message_bytes=int(texts["message_bytes"]),
        socket_buffer_bytes=int(texts["socket_buffer_bytes"]),
        printed=texts["mbit_per_s"],
    )


def _wrong(texts: dict[str, str]) -> Iterator[tuple[str, str]]:
    """(column, what is wrong with it) of one row."""
    protocol = texts["protocol"]
    if not _PAIRING.fullmatch(texts["pairing"]):
        yield "pairing", f"{_shown(texts['pairing'])} is not two capitals, server first, like WL"
    if protocol not in ("TCP", "UDP"):
        yield "protocol", f"{_shown(protocol)} is neither TCP nor UDP"
    for name, most in (("message_bytes", 2**24), ("socket_buffer_bytes", 2**31 - 1)):
        text = texts[name]
        if not _WHOLE.fullmatch(text) or not 1 <= int(text) <= most:
            yield name, f"{_shown(text)} is not a whole number of bytes from 1 to {most}"
        elif name == "message_bytes" and protocol == "UDP" and int(text) > MAX_UDP_BYTES:
            yield name, f"UDP cannot carry {text} bytes; {MAX_UDP_BYTES} is the most"
    if texts["mbit_per_s"]:
        yield from _wrong_value(texts["mbit_per_s"])


def _wrong_value(text: str) -> Iterator[tuple[str, str]]:
    if not _DECIMAL.fullmatch(text):
        hint = "; write a decimal point" if re.fullmatch(r"[0-9]+,[0-9]+", text) else ""
        yield "mbit_per_s", f"{_shown(text)} is not a plain decimal number of 10^6 bit/s{hint}"
    elif Decimal(text) == 0:
        yield "mbit_per_s", "0 is no throughput; leave it empty where nothing was measured"
    elif Decimal(text) > MAX_MBIT_PER_S:
        yield "mbit_per_s", f"{_shown(text)} is more than {MAX_MBIT_PER_S} Mbit/s"


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")


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
