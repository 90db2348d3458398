"""A CSV table of any form, and the file of `netlab import table --map` that assigns its columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from netlab.config.document import Document, Section, did_you_mean, read_document, validate
from netlab.errors import Fault, MatrixError
from netlab.imports.common import csv_table, tool_results
from netlab.imports.common.tool_results import ToolResult
from netlab.kinds import SETUPS
from netlab.trial.record import Value

TESTS = Literal["stream", "round_trip", "connect"]


@dataclass(frozen=True, slots=True)
class MappedColumn:
    """A column of the table that netlab reads."""

    name: str
    heading: str  # heading of the column in the table, without surrounding spaces
    unit: str
    """Unit of the numbers that have no unit of their own in the table; empty if the column has no
    unit."""
    read: tool_results.Read


@dataclass(frozen=True, slots=True)
class ColumnMap:
    """How a table of any form is read."""

    content: Mapping[str, Any]  # the file's data, as plain JSON data
    test: str
    separator: str  # one character, between the fields of a row
    decimal: str  # a decimal point or comma
    blanks: frozenset[str]
    """Texts that mean that nothing was measured; the empty text is one of them."""
    columns: tuple[MappedColumn, ...]
    constants: Mapping[str, Value]
    """Name of a column in netlab → its value, which is the same in every row."""


Word = Annotated[str, Field(min_length=1, max_length=200)]


def _text(value: Any) -> Any:
    text = str(value) if isinstance(value, int | float) else value
    return text.lower() if isinstance(value, bool) else text


Constant = Annotated[str, BeforeValidator(_text), Field(min_length=1, max_length=200)]


class HeadingModel(Section):
    """A column of the table, with the unit of its numbers."""

    heading: Word
    unit: Word | None = None


Heading = Annotated[
    HeadingModel,
    BeforeValidator(lambda value: {"heading": value} if isinstance(value, str) else value),
]


class ColumnMapModel(Section):
    """The whole file."""

    test: TESTS = "stream"
    separator: Literal[",", ";", "|", "tab"] = ","
    decimal: Literal[".", ","] = "."
    blank: list[Word] = Field(default_factory=list)
    columns: dict[Word, Heading] = Field(min_length=1)
    values: dict[Word, Constant] = Field(default_factory=dict)


def read_column_map(path: Path) -> ColumnMap:
    """Read the file. Raises MatrixError with every fault, UsageError if it is not readable."""
    document = read_document(path)
    model = validate(document, ColumnMapModel)
    if faults := list(_faults(document, model)):
        raise MatrixError(faults)
    columns = []
    for name, column in model.columns.items():
        unit = column.unit or tool_results.columns_of_test(model.test)[name].unit
        read = tool_results.text_reader(model.test, name, unit, model.decimal)
        columns.append(MappedColumn(name, column.heading.strip(), unit, read))
    return ColumnMap(
        content=document.data,
        test=model.test,
        separator="\t" if model.separator == "tab" else model.separator,
        decimal=model.decimal,
        blanks=frozenset({"", *model.blank}),
        columns=tuple(columns),
        constants={
            name: value
            for name, text in model.values.items()
            if (value := tool_results.constant_value(model.test, name, text)) is not None
        },
    )


def _faults(document: Document, model: ColumnMapModel) -> Iterator[Fault]:
    """The faults that pydantic cannot find from the types of the model."""
    known_columns = tool_results.columns_of_test(model.test)
    names = [("columns", name) for name in model.columns] + [("values", n) for n in model.values]
    for part, name in names:
        if name not in known_columns:
            message = f"not a column that a table can give for a {model.test} test"
            hint = did_you_mean(name, known_columns) or "; docs/run-folder.md lists them"
            yield document.fault((part, name), message + hint, at_key=True)
    for name, column in model.columns.items():
        factors = tool_results.FACTORS[known_columns[name].unit] if name in known_columns else {}
        if name in known_columns and column.unit is not None and column.unit not in factors:
            units = ", ".join(factors) or "none"
            message = f"`{column.unit}` is not a unit of {name}; its units: {units}"
            yield document.fault(("columns", name, "unit"), message)
    for name, text in model.values.items():
        if name in model.columns:
            message = f"{name} has a column of the table as well: keep one of the two"
            yield document.fault(("values", name), message, at_key=True)
        elif name in known_columns:
            try:
                tool_results.constant_value(model.test, name, text)
            except ValueError as error:
                yield document.fault(("values", name), str(error))
    for message in _absences(model):
        yield document.fault(("columns",), message, at_key=True)


def _absences(model: ColumnMapModel) -> Iterator[str]:
    """A column that a result needs is missing, or columns exclude each other."""
    sources = {*model.columns, *model.values}
    if "pairing" in sources and sources & {"server", "client"}:
        yield "pairing and the names of the hosts exclude each other: keep one of them"
    elif "pairing" not in sources and not sources >= {"server", "client"}:
        yield "name a column for pairing, or columns for server and client"
    if "protocol" not in sources:
        yield "protocol is missing; if all rows have the same, state it in `values`"
    measured_names = tool_results.columns_of_test(model.test).keys() - SETUPS[model.test].names()
    if not measured_names & model.columns.keys() - {*tool_results.HOSTS, tool_results.TIME}:
        yield "no column has a measured value, such as throughput_bit_per_s"


THROUGHPUT = "throughput_bit_per_s"


def parse_mapped_table(text: str, file: str, column_map: ColumnMap) -> tuple[ToolResult, ...]:
    """A result for each row. Raises MatrixError with every fault, in file order."""
    lines = csv_table.lines_of(text, file)
    number, heading_line = next(lines, (1, ""))
    headings = csv_table.fields_of(heading_line, number, file, column_map.separator)
    starts = csv_table.starts_of(heading_line, column_map.separator)
    indices = _indices(headings, starts, number, file, column_map)

    def result_of(number: int, line: str) -> ToolResult:
        fields = csv_table.fields_of_row(line, number, file, len(headings), column_map.separator)
        texts = {name: fields[index] for name, index in indices.items()}
        values, faults = _values(texts, column_map)
        if faults:
            starts = csv_table.starts_of(line, column_map.separator)
            raise MatrixError(
                [Fault(file, number, starts[indices[name]], name, fault) for name, fault in faults]
            )
        return _result(file, column_map, values, texts)

    results = csv_table.collect_rows(lines, file, result_of)
    mapped_headings = {column.heading for column in column_map.columns}
    unread = [heading for heading in headings if heading and heading not in mapped_headings]
    if not unread:
        return results
    remark = f"columns not read: {', '.join(unread)}"[:500]
    return (replace(results[0], unread=(remark,)), *results[1:])


def _indices(
    headings: Sequence[str], starts: Sequence[int], number: int, file: str, column_map: ColumnMap
) -> dict[str, int]:
    faults = []
    found = {}
    for column in column_map.columns:
        indices = [index for index, heading in enumerate(headings) if heading == column.heading]
        if not indices:
            hint = did_you_mean(column.heading, headings)
            message = f"no column has the heading `{column.heading[:60]}`{hint}"
            faults.append(Fault(file, number, 1, column.name, message))
        elif len(indices) > 1:
            message = f"{len(indices)} columns have the heading `{column.heading[:60]}`"
            faults.append(Fault(file, number, starts[indices[1]], column.name, message))
        else:
            found[column.name] = indices[0]
    if faults:
        raise MatrixError(faults)
    return found


def _values(
    texts: Mapping[str, str], column_map: ColumnMap
) -> tuple[dict[str, Value], list[tuple[str, str]]]:
    """The values of a row that are not blank, and the faults as pairs of column and sentence."""
    values = dict(column_map.constants)
    faults: list[tuple[str, str]] = []
    for column in column_map.columns:
        text = texts[column.name]
        if text in column_map.blanks:
            if column.name in (*tool_results.HOSTS, "protocol"):
                faults.append((column.name, "is blank, but every row needs this value"))
            continue
        try:
            value = column.read(text)
        except ValueError as error:
            faults.append((column.name, str(error)))
            continue
        if value is not None:
            values[column.name] = value
    size = values.get("message_bytes")
    if isinstance(size, int):
        sentences = csv_table.wrong_datagram(str(values.get("protocol")), size)
        at = "message_bytes" if "message_bytes" in texts else column_map.columns[0].name
        faults += [(at, sentence) for sentence in sentences]
    return values, faults


def _result(
    file: str, column_map: ColumnMap, values: Mapping[str, Value], texts: Mapping[str, str]
) -> ToolResult:
    names = SETUPS[column_map.test].names()
    settings = {name: value for name, value in values.items() if name in names}
    of_record = {*settings, *tool_results.HOSTS, tool_results.TIME}
    measured = {name: value for name, value in values.items() if name not in of_record}
    is_blank = measured.keys().isdisjoint(texts)
    column = next((column for column in column_map.columns if column.name == THROUGHPUT), None)
    if column is not None and texts[THROUGHPUT] not in column_map.blanks:
        digits, factor = tool_results.table_number(
            texts[THROUGHPUT], "bit/s", column.unit, column_map.decimal
        )
        # One step in the last printed digit.
        step = factor.scaleb(int(Decimal(digits).as_tuple().exponent))
        measured["printed_step_bit_per_s"] = csv_table.plain_number(step)
        if factor == 10**6:
            measured["printed_mbit_per_s"] = digits
    return ToolResult(
        file=file,
        test=column_map.test,
        server=str(values.get("server", "")),
        client=str(values.get("client", "")),
        pairing=str(values.get("pairing", "")),
        settings=settings,
        values={} if is_blank else measured,
        started_at=str(values.get(tool_results.TIME, "")),
        reason=csv_table.NOT_RECORDED if is_blank else None,
    )
