"""What importers of tables share: typed CSV files with the place of each fault, and the run folder.

The first line names the columns, in any order; fields may be quoted; LF and CRLF end a line.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Generic, TypedDict, TypeVar, Unpack

from netlab.errors import Fault, MatrixError, UsageError
from netlab.ethernet import Link
from netlab.experiment.hosts import LETTERS, role_of
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
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')
WHOLE = re.compile(r"[0-9]{1,12}")
_FLOW = re.compile(r"\A(?:to_server_)?(?:to_client_)?")
"""The direction at the beginning of a value's name."""

Row = TypeVar("Row")
Read = Callable[[str], Value | None]
"""Converts a text to a value; ``None`` if the text is the word for the host's default. Raises
ValueError with a sentence for the user."""


@dataclass(frozen=True, slots=True)
class Form(Generic[Row]):
    """The columns of a table, and how a row is read."""

    columns: Mapping[str, Read]
    row: Callable[[Mapping[str, Any]], Row]
    """Makes a row from valid values."""
    key: Callable[[Row], str] | None = None
    """Two rows with the same key are duplicates; ``None``: there are no duplicates."""
    same: str = "the same cell"
    optional: Collection[str] = ()
    across: Callable[[Mapping[str, Any], Mapping[str, str]], Iterable[tuple[str, str]]] = (
        lambda _values, _texts: ()
    )
    """Returns the faults that depend on several columns, as pairs of column and sentence. Its
    arguments: the values of the columns without a fault of their own, and the texts of all."""
    order: Callable[[Line], dict[str, int]] | None = None
    """Returns column → index of its field; ``None``: the first line has the columns' names, and no
    others."""
    separator: str = ","


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


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file, with its place for messages."""

    file: str
    number: int  # from 1
    text: str  # without the line's end
    is_cut: bool = False
    """Whether no line feed follows the line, so that its last characters may be missing."""

    def fault(self, column: int, sentence: str, name: str = "") -> Fault:
        """A fault in the line. ``name``: of the column of the table, if there is one."""
        return Fault(self.file, self.number, column, name, sentence)

    def fields(self, separator: str = ",") -> list[tuple[str, int]]:
        """The fields as the csv module reads them, without spaces around them, each with the
        position of its first character, from 1. Raises MatrixError with the place of the first
        faulty field.
        """
        mark = re.escape(separator)
        fields = []
        for match in re.finditer(rf'(?:^|{mark})((?:[^{mark}"]|"[^"]*"?)*)', self.text):
            text = match[1].strip()
            quoted = _QUOTED.fullmatch(text)
            if quoted is None and ('"' in text or "\r" in text):
                lone = "a carriage return by itself; LF or CRLF ends a line"
                sentence = "the quotes do not match" if '"' in text else lone
                raise MatrixError([self.fault(match.start(1) + 1, sentence)])
            position = match.end() - len(match[1].lstrip()) + 1
            fields.append((quoted[1].replace('""', '"') if quoted else text, position))
        return fields


def parse(text: str, file: str, form: Form[Row]) -> tuple[Row, ...]:
    """The rows of a table's text. Raises MatrixError with every fault, in file order."""
    lines = lines_of(text, file)
    header = next(lines, Line(file, 1, ""))
    order = form.order(header) if form.order else _order(header, form)
    count = len(header.fields(form.separator))
    first_lines: dict[str, int] = {}
    faults: list[Fault] = []
    rows: list[Row] = []
    for line in lines:
        if len(rows) + len(faults) >= MAX_ROWS:
            faults.append(line.fault(1, f"more than {MAX_ROWS} rows"))
            break
        try:
            row = form.row(_values(line, order, count, form))
            key = form.key(row) if form.key else f"{line.number}"
            if (first := first_lines.setdefault(key, line.number)) == line.number:
                rows.append(row)
            else:
                faults.append(line.fault(1, f"{form.same} as in line {first}"))
        except MatrixError as error:
            faults += error.faults
        if len(faults) >= MAX_FAULTS:
            faults.append(line.fault(1, f"{len(faults)} faults; reading stopped here"))
            break
    if not rows and not faults:
        faults.append(Fault(file, 1, 1, "", "no rows below the column names"))
    if faults:
        raise MatrixError(faults)
    return tuple(rows)


def _order(header: Line, form: Form[Row]) -> dict[str, int]:
    """Column name → its index."""
    if not header.text:
        columns = ", ".join(form.columns)
        sentence = f"the file is empty; its first line must name the columns {columns}"
        raise MatrixError([header.fault(1, sentence)])
    faults: list[Fault] = []
    order: dict[str, int] = {}
    for index, (name, column) in enumerate(header.fields()):
        if name in order:
            faults.append(header.fault(column, "this column is given twice", name))
        elif name not in form.columns:
            close = difflib.get_close_matches(name, form.columns, 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            excerpt = name[:40] or "an empty name"
            faults.append(header.fault(column, f"no such column: {excerpt}{hint}"))
        else:
            order[name] = index
    absent = [name for name in form.columns if name not in order and name not in form.optional]
    if absent:
        message = f"missing: {', '.join(absent)}; columns are separated by commas"
        faults.append(header.fault(len(header.text) + 1, message))
    if faults:
        raise MatrixError(faults)
    return order


def _values(line: Line, order: Mapping[str, int], count: int, form: Form[Row]) -> dict[str, Any]:
    """The values of a row. Raises MatrixError with every fault of the row, or if it has fewer or
    more fields than the ``count`` of columns.
    """
    fields = line.fields(form.separator)
    if len(fields) != count:
        message = f"{len(fields)} values for {count} columns"
        if len(fields) == count + 1 and all(text.isdigit() for text, _ in fields[-2:]):
            message += "; write a decimal point, not a comma"
        raise MatrixError([line.fault(fields[-1][1], message)])
    texts = {name: fields[index][0] for name, index in order.items()}
    values: dict[str, Any] = {}
    wrong: list[tuple[str, str]] = []
    for name, text in texts.items():
        try:
            values[name] = form.columns[name](text)
        except ValueError as error:
            wrong.append((name, str(error)))
    if wrong := [*wrong, *form.across(values, texts)]:
        raise MatrixError([line.fault(fields[order[name]][1], it, name) for name, it in wrong])
    return values


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


def lines_of(text: str, file: str) -> Iterator[Line]:
    """The lines that are not empty. Only LF and CRLF end a line."""
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        stripped = line.removesuffix("\r")
        if len(stripped) > MAX_LINE_CHARACTERS:
            message = f"longer than {MAX_LINE_CHARACTERS} characters"
            raise fault_at(file, number, MAX_LINE_CHARACTERS + 1, message)
        if stripped.strip():
            yield Line(file, number, stripped, number == len(lines))


def shown(text: str) -> str:
    """A value in quotes for a message, shortened to 40 characters."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def whole_to(most: int, noun: str = "number") -> Callable[[str], int]:
    """The reader of a whole number from 1 to ``most``."""

    def read(text: str) -> int:
        if not WHOLE.fullmatch(text) or not 1 <= int(text) <= most:
            raise ValueError(f"{shown(text)} is not a whole {noun} from 1 to {most}")
        return int(text)

    return read


def pairing(text: str) -> str:
    """Reads a pairing."""
    if not LETTERS.fullmatch(text):
        raise ValueError(f"{shown(text)} is not two capitals, server first, such as WL")
    return text


def host(text: str) -> str:
    """Reads the name of a host, with or without a network."""
    return str(role_of(text))


def protocol(text: str) -> str:
    """Reads a protocol."""
    if text not in ("TCP", "UDP"):
        raise ValueError(f"{shown(text)} is neither TCP nor UDP")
    return text


def wrong_datagram(
    values: Mapping[str, Any], _texts: Mapping[str, str], name: str = "message_bytes"
) -> Iterator[tuple[str, str]]:
    """The fault, at the column ``name``, of a message size that the protocol cannot carry."""
    size = values.get("message_bytes") or 0
    if values.get("protocol") == "UDP" and MAX_UDP_BYTES < size <= MAX_MESSAGE_BYTES:
        yield name, f"UDP cannot carry {size} bytes; at most {MAX_UDP_BYTES}"


def decimal_of(text: str, unit: str) -> Decimal:
    """Reads a plain decimal number of ``unit``."""
    if not _DECIMAL.fullmatch(text):
        hint = "; write a decimal point" if _WITH_COMMA.fullmatch(text) else ""
        raise ValueError(f"{shown(text)} is not a plain decimal number of {unit}{hint}")
    return Decimal(text)


def printed_rate(text: str) -> str:
    """Reads a printed rate in 10^6 bit/s, as text. An empty text: nothing was measured."""
    rate = decimal_of(text, "10^6 bit/s") if text else None
    if rate == 0:
        raise ValueError("0 is not a throughput; leave the field empty if nothing was measured")
    if rate is not None and rate > MAX_MBIT_PER_S:
        raise ValueError(f"{shown(text)} is more than {MAX_MBIT_PER_S} Mbit/s")
    return text


def throughput(text: str, unit: Decimal = Decimal(10**6)) -> dict[str, Value]:
    """A rate as printed, in units of so many bit/s, as values of a record: the exact rate, the
    size in bit/s of one step in the last digit (for 94.1: 100,000), and the text if the unit is
    10^6 bit/s. None for an empty text.
    """
    if not text:
        return {}
    exact = Decimal(text)
    return {
        "throughput_bit_per_s": plain_number(exact * unit),
        **({"printed_mbit_per_s": text} if unit == 10**6 else {}),
        "printed_step_bit_per_s": plain_number(unit.scaleb(int(exact.as_tuple().exponent))),
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
    stated: StatedFacts
    context: TableContext

    def rows(self, form: Form[Row]) -> tuple[Row, ...]:
        """The table's rows. Raises MatrixError with every fault, also if it is not UTF-8."""
        file = str(self.path)
        return parse(text_of(self.data, file), file, form)


def read_source(path: Path, data: bytes | None = None, **context: Unpack[TableContext]) -> Source:
    """Read a table, unless ``data`` has its content, and the facts about it. Raises UsageError (no
    table) or MatrixError (wrong facts).
    """
    data = read_table(path) if data is None else data
    stated = StatedFacts()
    if facts := context.get("facts"):
        from netlab.imports.common.facts_file import read_stated

        stated = read_stated(facts)
    return Source(path=path, data=data, stated=stated, context=context)


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
    facts_file = source.context.get("facts")
    pairings = list(dict.fromkeys(cell.pairing for cell in plan.cells))
    for stranger in source.stated.strangers(pairings):
        names = ", ".join(pairings)
        raise UsageError(
            f"{facts_file}: {source.path.name} has no pairing {stranger!r}; its pairings: {names}"
        )
    # The run folder may be created in the folder of the table and of the facts file.
    files = [file for file in (source.path, facts_file) if file is not None]
    beside = {file.name for file in files if file.parent.resolve() == into.resolve()}
    with RunFolder.open_for_writing(
        into,
        plan,
        neighbours=frozenset(beside),
        clock=lambda: source.context.get("imported_at") or utc_now(),
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
    if (link := source.context.get("link")) is not None:
        document["link"] = {name: it for name, it in link.content().items() if name != "vlan"}
    if source.stated != StatedFacts():
        document[KEY] = source.stated.data()
    # Normalise to what reading the file gives: tuples become lists.
    text = json.dumps(document, sort_keys=True)
    return Plan(
        title=source.context.get("title") or source.path.stem,
        content=json.loads(text),
        content_hash=hashlib.sha256(text.encode()).hexdigest(),
        matrix_text="",
        link=link,
        cells=cells,
        repeats=repeats,
        source=source.path.name,
    )
