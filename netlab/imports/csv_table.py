"""Printed tables: CSV files that people typed off a document, read with the place of every fault.

The first line names the columns, in any order; fields may be quoted; LF and CRLF end a line.
"""

from __future__ import annotations

import difflib
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Generic, TypeVar

from netlab.errors import Fault, MatrixError, UsageError
from netlab.experiment.records import Value
from netlab.store.files import read_file

MAX_FILE_BYTES = 16 * 2**20
MAX_ROWS = 20_000
MAX_LINE_CHARACTERS = 4096
MAX_FAULTS = 200
MAX_MBIT_PER_S = Decimal(10**8)
"""100 Tbit/s: more is a slip of the pen, or an attack."""

_FIELD = re.compile(r'\s*("(?:[^"]|"")*"|[^,"]*?)\s*(,|$)')

_DECIMAL = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,12})?")
_WITH_COMMA = re.compile(r"[0-9]+,[0-9]+")

Texts = dict[str, tuple[int, str]]
"""Column name → (place in the line from 1, its text) of one row."""

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Form(Generic[Row]):
    """What a table's columns are, and how a row is read."""

    columns: Sequence[str]
    wrong: Callable[[Mapping[str, str]], Iterable[tuple[str, str]]]
    """(column, what is wrong with it) of one row."""
    row: Callable[[int, Mapping[str, str]], Row]
    """A row in which nothing is wrong, by its line from 1."""
    key: Callable[[Row], str]
    """Rows of one key are the same thing twice."""
    same: str = "the same cell"
    optional: Collection[str] = ()
    """Columns that may be missing."""


def parse(text: str, file: str, form: Form[Row]) -> tuple[Row, ...]:
    """The rows of a table's text. Pure. MatrixError with every fault, in the file's order."""
    faults: list[Fault] = []
    rows: list[Row] = []
    order: dict[str, int] | None = None
    seen: dict[str, int] = {}
    for number, line in _lines(text, file):
        if order is None:
            order = _header(line, number, file, form.columns, form.optional)
            continue
        if len(rows) + len(faults) >= MAX_ROWS:
            faults.append(Fault(file, number, 1, "", f"more than {MAX_ROWS} rows"))
            break
        found = _row(line, number, file, order, form)
        if isinstance(found, list):
            faults += found
        elif (key := form.key(found)) in seen:
            faults.append(Fault(file, number, 1, "", f"{form.same} as in line {seen[key]}"))
        else:
            seen[key] = number
            rows.append(found)
        if len(faults) >= MAX_FAULTS:
            faults.append(Fault(file, number, 1, "", f"{len(faults)} faults; not read further"))
            break
    if order is None:
        faults.append(Fault(file, 1, 1, "", f"empty; the columns are {', '.join(form.columns)}"))
    elif not rows and not faults:
        faults.append(Fault(file, 1, 1, "", "no rows below the columns' names"))
    if faults:
        raise MatrixError(faults)
    return tuple(rows)


def _row(
    line: str, number: int, file: str, order: dict[str, int], form: Form[Row]
) -> Row | list[Fault]:
    placed = _texts(line, number, file, order)
    if isinstance(placed, list):
        return placed
    texts = {name: text for name, (_, text) in placed.items()}
    faults = [
        Fault(file, number, placed[name][0], name, message) for name, message in form.wrong(texts)
    ]
    return faults or form.row(number, texts)


def read_table(path: Path) -> bytes:
    """The file's bytes; UsageError where there is none, or it is too long to be a table."""
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


def text_of(data: bytes, file: str) -> str:
    """The table's text; MatrixError where it is not UTF-8, with the place."""
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


def _header(
    line: str, number: int, file: str, columns: Sequence[str], optional: Collection[str]
) -> dict[str, int]:
    """Column name → its place. Nothing below can be read without it: faults are raised."""
    fields = _fields(line)
    if isinstance(fields, int):
        raise MatrixError([Fault(file, number, fields, "", "the quotes do not match")])
    faults: list[Fault] = []
    order: dict[str, int] = {}
    for place, (column, name) in enumerate(fields):
        if name in order:
            faults.append(Fault(file, number, column, name, "this column is here twice"))
        elif name not in columns:
            close = difflib.get_close_matches(name, columns, 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            shown = name[:40] or "an empty name"
            faults.append(Fault(file, number, column, "", f"no such column: {shown}{hint}"))
        else:
            order[name] = place
    missing = [name for name in columns if name not in order and name not in optional]
    if missing:
        message = f"missing: {', '.join(missing)}; columns are separated by commas"
        faults.append(Fault(file, number, len(line) + 1, "", message))
    if faults:
        raise MatrixError(faults)
    return order


def _texts(line: str, number: int, file: str, order: dict[str, int]) -> Texts | list[Fault]:
    fields = _fields(line)
    if isinstance(fields, int):
        return [Fault(file, number, fields, "", "the quotes do not match")]
    if len(fields) != len(order):
        message = f"{len(fields)} values for {len(order)} columns"
        if len(fields) == len(order) + 1 and all(text.isdigit() for _, text in fields[-2:]):
            message += "; a decimal point is meant, not a comma"
        return [Fault(file, number, fields[-1][0], "", message)]
    return {name: fields[place] for name, place in order.items()}


def shown(text: str) -> str:
    """A value as a message shows it."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def wrong_decimal(text: str, what: str) -> Iterator[str]:
    """What is wrong with a plain decimal number of ``what``; nothing where it is one."""
    if not _DECIMAL.fullmatch(text):
        hint = "; write a decimal point" if _WITH_COMMA.fullmatch(text) else ""
        yield f"{shown(text)} is not a plain decimal number of {what}{hint}"


def wrong_rate(text: str) -> Iterator[str]:
    """What is wrong with a printed rate in 10^6 bit/s; an empty one was not measured."""
    if not text:
        return
    faults = list(wrong_decimal(text, "10^6 bit/s"))
    yield from faults
    if not faults and Decimal(text) == 0:
        yield "0 is no throughput; leave it empty where nothing was measured"
    elif not faults and Decimal(text) > MAX_MBIT_PER_S:
        yield f"{shown(text)} is more than {MAX_MBIT_PER_S} Mbit/s"


def throughput(text: str) -> dict[str, Value]:
    """A printed rate as values of a record: exact, as its text, and the step of its last digit.

    Empty for an empty text.
    """
    if not text:
        return {}
    step = Decimal(10**6).scaleb(int(Decimal(text).as_tuple().exponent))
    return {
        "throughput_bit_per_s": bit_per_s(text),
        "printed_mbit_per_s": text,
        "printed_step_bit_per_s": _number(step),
    }


def bit_per_s(text: str) -> int | float:
    """A printed rate in 10^6 bit/s, in bit/s."""
    return _number(Decimal(text) * 10**6)


def _number(exact: Decimal) -> int | float:
    """An int where it is one, so that the last printed digit survives."""
    return int(exact) if exact == exact.to_integral_value() else float(exact)
