"""What importers of tables share: typed CSV files with the place of each fault, and the run folder.

The first line names the columns, in any order; fields may be quoted; LF and CRLF end a line.
"""

from __future__ import annotations

import csv
import difflib
import hashlib
import json
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypedDict, TypeVar, Unpack

from netlab.errors import Fault, MatrixError, UsageError
from netlab.ethernet import Link
from netlab.experiment.hosts import LETTERS
from netlab.results.columns import columns_of
from netlab.store.files import disk_errors
from netlab.store.plan import KEY, STATED, Plan, PlannedCell, StatedFacts
from netlab.store.run_folder import RunFolder
from netlab.trial.record import Record, Status, Value, utc_now

NOT_RECORDED = "not-recorded"
"""Reason of a result for which the output has a place but no figure."""

MAX_FILE_BYTES = 16 * 2**20
MAX_ROWS = 20_000
MAX_LINE_CHARACTERS = 4096
MAX_FAULTS = 200
MAX_MBIT_PER_S = Decimal(10**8)
"""100 Tbit/s: a higher value is a typing error or an attack."""

MAX_MESSAGE_BYTES = 2**24
MAX_UDP_BYTES = 65527
"""The longest UDP message over IPv6; over IPv4 it is 65507."""

_DECIMAL = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,12})?")
_WITH_COMMA = re.compile(r"[0-9]+,[0-9]+")
_WHOLE = re.compile(r"[0-9]{1,12}")
_FLOW = re.compile(r"\A(?:to_server_)?(?:to_client_)?")
"""The direction at the beginning of a value's name."""

Row = TypeVar("Row")
Wrong = Callable[[str], Iterable[str]]


@dataclass(frozen=True, slots=True)
class Form(Generic[Row]):
    """The columns of a table, and how a row is read."""

    columns: Mapping[str, Wrong]
    row: Callable[[int, Mapping[str, str]], Row]
    """Makes a row from valid values; the first argument is its line, from 1."""
    key: Callable[[Row], str]
    """Two rows with the same key are duplicates."""
    same: str = "the same cell"
    optional: Collection[str] = ()
    across: Callable[[Mapping[str, str]], Iterable[tuple[str, str]]] = lambda _: ()
    """Returns the faults that depend on several columns, as pairs of column and sentence."""


@dataclass(frozen=True, slots=True)
class PrintedRow:
    """A row with one figure. Its cell has only the settings in the table, no defaults of netlab."""

    cell: PlannedCell
    printed: str
    """Empty where nothing was measured."""
    server: str = ""
    client: str = ""


def fault_at(file: str, line: int, column: int, sentence: str, name: str = "") -> MatrixError:
    """The error for one fault in a file. ``name``: of the column or the key, if there is one."""
    return MatrixError([Fault(file, line, column, name, sentence)])


def parse(text: str, file: str, form: Form[Row]) -> tuple[Row, ...]:
    """The rows of a table's text. Raises MatrixError with every fault, in file order."""
    lines = lines_of(text, file)
    number, names = next(lines, (1, ""))
    if not names:
        columns = ", ".join(form.columns)
        sentence = f"the file is empty; its first line must name the columns {columns}"
        raise fault_at(file, 1, 1, sentence)
    order = _header(names, number, file, tuple(form.columns), form.optional)
    first_lines: dict[str, int] = {}

    def row_of(number: int, line: str) -> Row:
        fields = fields_of_row(line, number, file, len(order))
        texts = {name: fields[place] for name, place in order.items()}
        wrong = [
            (name, fault) for name, text in texts.items() for fault in form.columns[name](text)
        ]
        if wrong := [*wrong, *form.across(texts)]:
            columns = starts_of(line)
            raise MatrixError(
                [Fault(file, number, columns[order[name]], name, fault) for name, fault in wrong]
            )
        row = form.row(number, texts)
        if (first := first_lines.setdefault(form.key(row), number)) != number:
            raise fault_at(file, number, 1, f"{form.same} as in line {first}")
        return row

    return collect_rows(lines, file, row_of)


def collect_rows(
    lines: Iterable[tuple[int, str]], file: str, row_of: Callable[[int, str], Row]
) -> tuple[Row, ...]:
    """The rows that ``row_of`` makes of the lines, as pairs of number and text. Raises MatrixError
    with the faults of all rows, in file order.
    """
    faults: list[Fault] = []
    rows: list[Row] = []
    for number, line in lines:
        if len(rows) + len(faults) >= MAX_ROWS:
            faults.append(Fault(file, number, 1, "", f"more than {MAX_ROWS} rows"))
            break
        try:
            rows.append(row_of(number, line))
        except MatrixError as error:
            faults += error.faults
        if len(faults) >= MAX_FAULTS:
            faults.append(Fault(file, number, 1, "", f"{len(faults)} faults; reading stopped here"))
            break
    if not rows and not faults:
        faults.append(Fault(file, 1, 1, "", "no rows below the column names"))
    if faults:
        raise MatrixError(faults)
    return tuple(rows)


def read_table(path: Path) -> bytes:
    """The file's bytes. Raises UsageError if it is missing, not regular, or too long."""
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
        raise UsageError(f"{path}: larger than {limit} MiB, too large for a printed table")
    with disk_errors(path, "read the file"):
        return path.read_bytes()


def text_of(data: bytes, file: str) -> str:
    """The table's text. Raises MatrixError with the place if it is not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        prefix = data[: error.start]
        line = prefix.count(b"\n") + 1
        column = error.start - (prefix.rfind(b"\n") + 1) + 1
        sentence = "not UTF-8: save the table as UTF-8 text"
        raise fault_at(file, line, column, sentence) from None


def lines_of(text: str, file: str) -> Iterator[tuple[int, str]]:
    """The lines that are not empty, with their numbers from 1. Only LF and CRLF end a line."""
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.removesuffix("\r")
        if len(stripped) > MAX_LINE_CHARACTERS:
            message = f"longer than {MAX_LINE_CHARACTERS} characters"
            raise fault_at(file, number, MAX_LINE_CHARACTERS + 1, message)
        if stripped.strip():
            yield number, stripped


@cache
def _as_written(separator: str) -> re.Pattern[str]:
    """Finds a line's fields as written, as the csv module does not say where a fault is."""
    mark = re.escape(separator)
    return re.compile(rf'(?:^|{mark})((?:[^{mark}"]|"[^"]*"?)*)')


def _read(text: str, separator: str) -> list[str] | None:
    """A text's fields as csv reads them, without spaces around them; ``None``: no valid CSV."""
    fields = [match[1].strip() for match in _as_written(separator).finditer(text)]
    if any('"' in field and field[0] != '"' for field in fields):
        return None  # csv would read these quotes as text
    try:
        rows = csv.reader([separator.join(fields)], delimiter=separator, strict=True)
        return next(rows, [])
    except csv.Error:
        return None


def fields_of(line: str, number: int, file: str, separator: str = ",") -> list[str]:
    """The fields of a line. Raises MatrixError with the place of the first faulty field."""
    fields = _read(line, separator)
    if fields is None:
        written = _as_written(separator).finditer(line)
        wrong = next(match for match in written if _read(match[1], separator) is None)
        lone = "a carriage return by itself; LF or CRLF ends a line"
        message = "the quotes do not match" if '"' in wrong[1] else lone
        raise fault_at(file, number, wrong.start(1) + 1, message)
    return fields


def fields_of_row(
    line: str, number: int, file: str, column_count: int, separator: str = ","
) -> list[str]:
    """The fields of a row. Raises MatrixError if there are fewer or more fields than columns."""
    fields = fields_of(line, number, file, separator)
    if len(fields) != column_count:
        message = f"{len(fields)} values for {column_count} columns"
        if len(fields) == column_count + 1 and all(text.isdigit() for text in fields[-2:]):
            message += "; write a decimal point, not a comma"
        raise fault_at(file, number, starts_of(line, separator)[-1], message)
    return fields


def starts_of(line: str, separator: str = ",") -> list[int]:
    """The position in the line, from 1, of the first character of each field."""
    written = _as_written(separator).finditer(line)
    return [match.end() - len(match[1].lstrip()) + 1 for match in written]


def _header(
    line: str, number: int, file: str, columns: Sequence[str], optional: Collection[str]
) -> dict[str, int]:
    """Column name → its index."""
    faults: list[Fault] = []
    order: dict[str, int] = {}
    fields = fields_of(line, number, file)
    for place, (column, name) in enumerate(zip(starts_of(line), fields, strict=True)):
        if name in order:
            faults.append(Fault(file, number, column, name, "this column is given twice"))
        elif name not in columns:
            close = difflib.get_close_matches(name, columns, 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            excerpt = name[:40] or "an empty name"
            faults.append(Fault(file, number, column, "", f"no such column: {excerpt}{hint}"))
        else:
            order[name] = place
    absent_columns = [name for name in columns if name not in order and name not in optional]
    if absent_columns:
        message = f"missing: {', '.join(absent_columns)}; columns are separated by commas"
        faults.append(Fault(file, number, len(line) + 1, "", message))
    if faults:
        raise MatrixError(faults)
    return order


def shown(text: str) -> str:
    """A value in quotes for a message, shortened to 40 characters."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def whole(text: str) -> int | None:
    """A whole number of at most 12 digits; ``None`` if the text is not one."""
    return int(text) if _WHOLE.fullmatch(text) else None


def wrong_whole(text: str, most: int, noun: str = "number") -> Iterator[str]:
    """Faults of a whole number from 1 to ``most``."""
    if not 1 <= (whole(text) or 0) <= most:
        yield f"{shown(text)} is not a whole {noun} from 1 to {most}"


def wrong_pairing(text: str) -> Iterator[str]:
    """Faults of a pairing."""
    if not LETTERS.fullmatch(text):
        yield f"{shown(text)} is not two capitals, server first, such as WL"


def wrong_protocol(text: str) -> Iterator[str]:
    """Faults of a protocol."""
    if text not in ("TCP", "UDP"):
        yield f"{shown(text)} is neither TCP nor UDP"


def wrong_datagram(protocol: str, message_bytes: int) -> Iterator[str]:
    """Faults of a message size that the protocol cannot carry."""
    if protocol == "UDP" and MAX_UDP_BYTES < message_bytes <= MAX_MESSAGE_BYTES:
        yield f"UDP cannot carry {message_bytes} bytes; at most {MAX_UDP_BYTES}"


def wrong_decimal(text: str, unit: str) -> Iterator[str]:
    """Faults of a plain decimal number of ``unit``."""
    if not _DECIMAL.fullmatch(text):
        hint = "; write a decimal point" if _WITH_COMMA.fullmatch(text) else ""
        yield f"{shown(text)} is not a plain decimal number of {unit}{hint}"


def wrong_rate(text: str) -> Iterator[str]:
    """Faults of a printed rate in 10^6 bit/s. An empty text is no fault: nothing was measured."""
    if not text:
        return
    faults = list(wrong_decimal(text, "10^6 bit/s"))
    yield from faults
    if not faults and Decimal(text) == 0:
        yield "0 is not a throughput; leave the field empty if nothing was measured"
    elif not faults and Decimal(text) > MAX_MBIT_PER_S:
        yield f"{shown(text)} is more than {MAX_MBIT_PER_S} Mbit/s"


def throughput(text: str) -> dict[str, Value]:
    """A printed rate as values of a record: the exact rate, the text, and the size in bit/s of one
    step in the last digit (for 94.1: 100,000). None for an empty text.
    """
    if not text:
        return {}
    exact = Decimal(text)
    step = Decimal(10**6).scaleb(int(exact.as_tuple().exponent))
    return {
        "throughput_bit_per_s": plain_number(exact * 10**6),
        "printed_mbit_per_s": text,
        "printed_step_bit_per_s": plain_number(step),
    }


def plain_number(exact: Decimal) -> int | float:
    """The number as an int if it is whole, so that no digit is lost; otherwise as a float."""
    return int(exact) if exact == exact.to_integral_value() else float(exact)


OF_AN_END = frozenset({"receiver_jitter_ns", "sender_congestion"})
"""Values that only the receiver or the sender can know, and that other tools print as well.
Findings and reports read them, although they are not columns of every test."""


class TableContext(TypedDict, total=False):
    """Facts about a table that are not in it. Every importer takes them."""

    title: str | None
    """Default: the table's name."""
    link: Link | None
    """The link between the hosts. Without it, there are no wire ceilings (the highest payload rate
    that the link can carry)."""
    facts: Path | None
    """File with facts that the document states outside the table (docs/run-folder.md)."""
    imported_at: str | None
    """ISO 8601. Used instead of the wall clock, so that a repeated import gives the same bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The content of a printed table, and the facts about it."""

    path: Path
    data: bytes
    title: str
    link: Link | None
    facts: Path | None
    stated: StatedFacts
    imported_at: str | None

    def rows(self, form: Form[Row]) -> tuple[Row, ...]:
        """The table's rows. Raises MatrixError with every fault, also if it is not UTF-8."""
        file = str(self.path)
        return parse(text_of(self.data, file), file, form)


def read_source(path: Path, data: bytes | None = None, **context: Unpack[TableContext]) -> Source:
    """Read a table, unless ``data`` has its content, and the facts about it. Raises UsageError (no
    table) or MatrixError (wrong facts).
    """
    data = read_table(path) if data is None else data
    facts = context.get("facts")
    statements = StatedFacts()
    if facts is not None:
        from netlab.imports.common.facts_file import read_stated

        statements = read_stated(facts)
    return Source(
        path=path,
        data=data,
        title=context.get("title") or path.stem,
        link=context.get("link"),
        facts=facts,
        stated=statements,
        imported_at=context.get("imported_at"),
    )


def write_run(
    into: Path,
    source: Source,
    cells: Iterable[PlannedCell],
    records: Sequence[Record],
    *,
    content: Mapping[str, Any],
    repeats: int = 1,
) -> Path:
    """Make the run folder ``into``, or complete it; importing a table again changes nothing.
    ``content``: settings by which two imports of a table differ, as JSON data. Raises UsageError
    (the facts name a pairing that the table lacks; ``into`` has other contents), StoreError,
    LockedError; ValueError if a record has a name that is not a column.
    """
    for record in records:
        # A name that is no column would be read by no finding and no report.
        known_columns = {*columns_of([record.test]), *OF_AN_END}
        given = sorted({*record.settings, *record.values})
        if unknown := [name for name in given if _FLOW.sub("", name) not in known_columns]:
            raise ValueError(f"{record.cell}: no column of netlab.results.columns: {unknown}")
    plan = _plan(source, tuple(cells), content, repeats)
    pairings = list(dict.fromkeys(cell.pairing for cell in plan.cells))
    for stranger in source.stated.strangers(pairings):
        names = ", ".join(pairings)
        raise UsageError(
            f"{source.facts}: {source.path.name} has no pairing {stranger!r}; its pairings: {names}"
        )
    # The run folder may be created in the folder of the table and of the facts file.
    files = [file for file in (source.path, source.facts) if file is not None]
    beside = {file.name for file in files if file.parent.resolve() == into.resolve()}
    with RunFolder.open_for_writing(
        into,
        plan,
        neighbours=frozenset(beside),
        clock=lambda: source.imported_at or utc_now(),
        run_id=plan.content_hash[:16],
    ) as run:
        noted = {note.data.get("host") for note in run.notes if note.kind == "facts"}
        for host in source.stated.hosts:
            if host.name not in noted:
                facts = {**host.facts, "source": host.source}
                run.note("facts", durable=False, host=host.name, when=STATED, facts=facts)
        existing = frozenset(run.latest)
        for record in records:
            if (record.cell, record.trial) not in existing:
                run.append(record, durable=False)
    return into


def cell_of(
    pairing: str,
    test: str,
    settings: Mapping[str, Value],
    words: Sequence[str],
    repeats: int | None = None,
) -> PlannedCell:
    """A cell: a pairing, a test and its settings. Its key has readable ``words`` and a digest."""
    text = json.dumps([pairing, test, settings], sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return PlannedCell("-".join([pairing, test, *words, digest]), pairing, test, settings, repeats)


def record_of(
    cell: PlannedCell,
    values: Mapping[str, Value],
    *,
    printed: str,
    trial: int = 1,
    server: str = "",
    client: str = "",
) -> Record:
    """The record of a printed figure; ``pending`` if ``printed`` is empty."""
    return Record(
        cell=cell.key,
        trial=trial,
        attempt=1,
        status=Status.OK if printed else Status.PENDING,
        reason=None if printed else NOT_RECORDED,
        pairing=cell.pairing,
        server=server,
        client=client,
        test=cell.test,
        started_at="",
        settings=cell.settings,
        values=values,
    )


def _plan(
    source: Source, cells: tuple[PlannedCell, ...], content: Mapping[str, Any], repeats: int
) -> Plan:
    table = {"sha256": hashlib.sha256(source.data).hexdigest()}
    document: dict[str, Any] = {"table": table, **content}
    if (link := source.link) is not None:
        document["link"] = {name: it for name, it in link.content().items() if name != "vlan"}
    if source.stated != StatedFacts():
        document[KEY] = source.stated.data()
    # Normalise to what reading the file gives: tuples become lists.
    text = json.dumps(document, sort_keys=True)
    return Plan(
        title=source.title,
        content=json.loads(text),
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
        matrix_text="",
        link=source.link,
        cells=cells,
        repeats=repeats,
        source=source.path.name,
    )
