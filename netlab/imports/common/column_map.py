"""The file of ``netlab import table --map``: it assigns a table's columns to netlab's columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from netlab.config.document import Document, Section, did_you_mean, read_document, validate
from netlab.errors import Fault, MatrixError
from netlab.experiment.records import Value
from netlab.imports.common.mapped_values import (
    FACTORS,
    HOSTS,
    TIME,
    columns_of_test,
    constant_value,
)

TESTS = Literal["stream", "round_trip", "connect"]


@dataclass(frozen=True, slots=True)
class MappedColumn:
    """A column of the table that netlab reads."""

    name: str
    """Name of the column in netlab."""
    heading: str
    """Heading of the column in the table, without surrounding spaces."""
    unit: str
    """Unit of the numbers that have no unit of their own in the table; empty if the column has no
    unit."""


@dataclass(frozen=True, slots=True)
class ColumnMap:
    """How a table of any form is read."""

    content: Mapping[str, Any]
    """The file's data, as plain JSON data."""
    test: str
    separator: str
    """One character, between the fields of a row."""
    decimal: str
    """A decimal point or comma."""
    blanks: frozenset[str]
    """Texts that mean that nothing was measured; the empty text is one of them."""
    columns: tuple[MappedColumn, ...]
    constants: Mapping[str, Value]
    """Name of a column in netlab → its value, which is the same in every row."""


def _heading(value: Any) -> Any:
    return {"heading": value} if isinstance(value, str) else value


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


Word = Annotated[str, Field(min_length=1, max_length=200)]
Constant = Annotated[str, BeforeValidator(_text), Field(min_length=1, max_length=200)]


class HeadingModel(Section):
    """A column of the table, with the unit of its numbers."""

    heading: Word
    unit: Word | None = None


class ColumnMapModel(Section):
    """The whole file."""

    test: TESTS = "stream"
    separator: Literal[",", ";", "|", "tab"] = ","
    decimal: Literal[".", ","] = "."
    blank: list[Word] = Field(default_factory=list)
    columns: dict[Word, Annotated[HeadingModel, BeforeValidator(_heading)]] = Field(min_length=1)
    values: dict[Word, Constant] = Field(default_factory=dict)


def read_column_map(path: Path) -> ColumnMap:
    """Read the file.

    Raises MatrixError with every fault as ``file:line:column``, UsageError if the file is not
    readable.
    """
    document = read_document(path)
    model = validate(document, ColumnMapModel)
    if faults := list(_faults(document, model)):
        raise MatrixError(faults)
    known_columns = columns_of_test(model.test)
    return ColumnMap(
        content=document.data,
        test=model.test,
        separator="\t" if model.separator == "tab" else model.separator,
        decimal=model.decimal,
        blanks=frozenset({"", *model.blank}),
        columns=tuple(
            MappedColumn(name, column.heading.strip(), column.unit or known_columns[name].unit)
            for name, column in model.columns.items()
        ),
        constants={
            name: value
            for name, text in model.values.items()
            if (value := constant_value(model.test, name, text)) is not None
        },
    )


def _faults(document: Document, model: ColumnMapModel) -> Iterator[Fault]:
    """The faults that pydantic cannot find from the types of the model."""
    known_columns = columns_of_test(model.test)
    names = [("columns", name) for name in model.columns] + [("values", n) for n in model.values]
    for part, name in names:
        if name not in known_columns:
            message = f"not a column that a table can give for a {model.test} test"
            hint = did_you_mean(name, known_columns) or "; docs/run-folder.md lists them"
            yield document.fault((part, name), message + hint, at_key=True)
    for name, column in model.columns.items():
        column_row = known_columns.get(name)
        if (
            column_row is not None
            and column.unit is not None
            and column.unit not in FACTORS[column_row.unit]
        ):
            units = ", ".join(FACTORS[column_row.unit]) or "none"
            message = f"`{column.unit}` is not a unit of {name}; its units: {units}"
            yield document.fault(("columns", name, "unit"), message)
    for name, text in model.values.items():
        if name in model.columns:
            message = f"{name} has a column of the table as well: keep one of the two"
            yield document.fault(("values", name), message, at_key=True)
        elif name in known_columns:
            try:
                constant_value(model.test, name, text)
            except ValueError as error:
                yield document.fault(("values", name), str(error))
    yield from _absences(document, model)


def _absences(document: Document, model: ColumnMapModel) -> Iterator[Fault]:
    """The faults of the set of columns: a column that a result needs is missing, or columns exclude
    each other.
    """
    sources = {*model.columns, *model.values}
    if "pairing" in sources and sources & {"server", "client"}:
        message = "pairing and the names of the hosts exclude each other: keep one of them"
        yield document.fault(("columns",), message, at_key=True)
    elif "pairing" not in sources and not sources >= {"server", "client"}:
        message = "name a column for pairing, or columns for server and client"
        yield document.fault(("columns",), message, at_key=True)
    if "protocol" not in sources:
        message = "protocol is missing; if all rows have the same, state it in `values`"
        yield document.fault(("columns",), message, at_key=True)
    measured_names = {
        name for name, column in columns_of_test(model.test).items() if not column.is_setting
    }
    if not measured_names & model.columns.keys() - {*HOSTS, TIME}:
        message = "no column has a measured value, such as throughput_bit_per_s"
        yield document.fault(("columns",), message, at_key=True)
