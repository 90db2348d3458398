"""A CSV table of any form, and the file of `netlab import table --map` that assigns its columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
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
class ColumnMap:
    """How a table of any form is read."""

    content: Mapping[str, Any]  # the file's data, as plain JSON data
    test: str
    separator: str  # one character, between the fields of a row
    headings: Mapping[str, str]
    """Name of a column in netlab → its heading in the table, without surrounding spaces."""
    columns: Mapping[str, csv_table.Read]
    """Name of a column in netlab → the reader of its texts, with ``None`` for those that mean that
    nothing was measured. Of a throughput: the arguments of ``csv_table.throughput``."""
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
    return ColumnMap(
        content=document.data,
        test=model.test,
        separator="\t" if model.separator == "tab" else model.separator,
        headings={name: column.heading.strip() for name, column in model.columns.items()},
        columns={name: _reader(model, name, column) for name, column in model.columns.items()},
        constants={
            name: value
            for name, text in model.values.items()
            if (value := tool_results.constant_value(model.test, name, text)) is not None
        },
    )


def _reader(model: ColumnMapModel, name: str, column: HeadingModel) -> csv_table.Read:
    unit = column.unit or tool_results.columns_of_test(model.test)[name].unit
    known = tool_results.text_reader(model.test, name, unit, model.decimal)

    def read(text: str) -> Any:
        if text and text not in model.blank:
            value = known(text)
            if name == THROUGHPUT:
                return tool_results.table_number(text, "bit/s", unit, model.decimal)
            return value
        if name in (*tool_results.HOSTS, "protocol"):
            raise ValueError("is blank, but every row needs this value")
        return None

    return read


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
        known = known_columns.get(name)
        factors = tool_results.FACTORS[known.unit] if known else {}
        if known and column.unit not in (None, *factors):
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

    def across(values: Mapping[str, Any], texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        at = "message_bytes" if "message_bytes" in texts else next(iter(texts))
        return csv_table.wrong_datagram({**column_map.constants, **values}, texts, at)

    form = csv_table.Form(
        column_map.columns,
        row=partial(_result, file, column_map),
        across=across,
        order=partial(_order, column_map=column_map),
        separator=column_map.separator,
    )
    first, *others = csv_table.parse(text, file, form)
    headings = next(csv_table.lines_of(text, file)).fields(column_map.separator)
    known = ("", *column_map.headings.values())
    unread = [heading for heading, _ in headings if heading not in known]
    if unread:
        first = replace(first, unread=(f"columns not read: {', '.join(unread)}"[:500],))
    return (first, *others)


def _order(header: csv_table.Line, column_map: ColumnMap) -> dict[str, int]:
    """Name of a column in netlab → its index in the table."""
    faults = []
    order = {}
    fields = header.fields(column_map.separator)
    for name, heading in column_map.headings.items():
        indices = [index for index, (text, _) in enumerate(fields) if text == heading]
        if len(indices) == 1:
            order[name] = indices[0]
            continue
        place = fields[indices[1]][1] if indices else 1
        words = f"{len(indices)} columns have" if indices else "no column has"
        hint = "" if indices else did_you_mean(heading, [text for text, _ in fields])
        faults.append(header.fault(place, f"{words} the heading `{heading[:60]}`{hint}", name))
    if faults:
        raise MatrixError(faults)
    return order


def _result(file: str, column_map: ColumnMap, row: Mapping[str, Any]) -> ToolResult:
    stated = {name: value for name, value in row.items() if value is not None}
    values: dict[str, Any] = {**column_map.constants, **stated}
    names = SETUPS[column_map.test].names()
    settings = {name: value for name, value in values.items() if name in names}
    of_record = {*settings, *tool_results.HOSTS, tool_results.TIME}
    measured = {name: value for name, value in values.items() if name not in of_record}
    is_blank = measured.keys().isdisjoint(stated)
    if THROUGHPUT in stated:
        measured |= csv_table.throughput(*stated[THROUGHPUT])
    return ToolResult(
        file=file,
        test=column_map.test,
        server=values.get("server", ""),
        client=values.get("client", ""),
        pairing=values.get("pairing", ""),
        settings=settings,
        values={} if is_blank else measured,
        started_at=values.get(tool_results.TIME, ""),
        reason=csv_table.NOT_RECORDED if is_blank else None,
    )
