"""Reads a CSV table of any form with a map of its columns. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from netlab.config.document import did_you_mean
from netlab.errors import Fault, MatrixError
from netlab.experiment.records import Value
from netlab.imports.common.column_map import ColumnMap
from netlab.imports.common.csv_table import (
    MAX_FAULTS,
    MAX_ROWS,
    fields_of,
    lines_of,
    starts_of,
    wrong_datagram,
)
from netlab.imports.common.mapped_values import (
    HOSTS,
    TIME,
    Read,
    columns_of_test,
    plain_number,
    table_number,
    text_reader,
)
from netlab.imports.common.tool_result import NOT_RECORDED, ToolResult

THROUGHPUT = "throughput_bit_per_s"


@dataclass(frozen=True, slots=True)
class _FieldPlace:
    """A column of netlab in the rows of a table."""

    name: str
    index: int
    """Of the field in a row, from 0."""
    read: Read


def parse_mapped_table(text: str, file: str, column_map: ColumnMap) -> tuple[ToolResult, ...]:
    """A result for each row. MatrixError with every fault, in the file's order."""
    lines = lines_of(text, file)
    number, heading_line = next(lines, (1, ""))
    places = _places(heading_line, number, file, column_map)
    constants = _constants(column_map)
    faults: list[Fault] = []
    results: list[ToolResult] = []
    headings = fields_of(heading_line, number, file, column_map.separator)
    for number, line in lines:
        if len(results) + len(faults) >= MAX_ROWS:
            faults.append(Fault(file, number, 1, "", f"more than {MAX_ROWS} rows"))
            break
        try:
            fields = _fields(line, number, file, column_map, len(headings))
            values = constants | _values(fields, line, number, file, column_map, places)
            results.append(_result(file, column_map, values, _printed(fields, column_map, places)))
        except MatrixError as error:
            faults += error.faults
        if len(faults) >= MAX_FAULTS:
            faults.append(Fault(file, number, 1, "", f"{len(faults)} faults; reading stopped here"))
            break
    if not results and not faults:
        faults.append(Fault(file, number, 1, "", "no rows below the column names"))
    if faults:
        raise MatrixError(faults)
    mapped_headings = {column.heading for column in column_map.columns}
    if unread := [heading for heading in headings if heading and heading not in mapped_headings]:
        results[0] = replace(results[0], unread=(f"columns not read: {', '.join(unread)}"[:500],))
    return tuple(results)


def _places(line: str, number: int, file: str, column_map: ColumnMap) -> list[_FieldPlace]:
    headings = fields_of(line, number, file, column_map.separator)
    starts = starts_of(line, column_map.separator)
    known_columns = columns_of_test(column_map.test)
    faults = []
    places = []
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
            known = known_columns[column.name]
            read = text_reader(column.name, known, column.unit, column_map.decimal)
            places.append(_FieldPlace(column.name, indices[0], read))
    if faults:
        raise MatrixError(faults)
    return places


def _constants(column_map: ColumnMap) -> dict[str, Value]:
    known_columns = columns_of_test(column_map.test)
    constants = {}
    for name, text in column_map.constants.items():
        value = text_reader(name, known_columns[name], known_columns[name].unit, ".")(text)
        if value is not None:
            constants[name] = value
    return constants


def _fields(
    line: str, number: int, file: str, column_map: ColumnMap, heading_count: int
) -> list[str]:
    fields = fields_of(line, number, file, column_map.separator)
    if len(fields) != heading_count:
        column = starts_of(line, column_map.separator)[-1]
        message = f"{len(fields)} values for {heading_count} columns"
        if len(fields) < 2:
            message += "; is `separator` right?"
        raise MatrixError([Fault(file, number, column, "", message)])
    return fields


def _values(
    fields: list[str],
    line: str,
    number: int,
    file: str,
    column_map: ColumnMap,
    places: list[_FieldPlace],
) -> dict[str, Value]:
    """The values of a row, without those that are blank; MatrixError with all its faults."""
    values: dict[str, Value] = {}
    wrong: list[tuple[_FieldPlace, str]] = []
    for place in places:
        text = fields[place.index]
        if text in column_map.blanks:
            if place.name in (*HOSTS, "protocol"):
                wrong.append((place, "is blank, and belongs to every row"))
            continue
        try:
            value = place.read(text)
        except ValueError as error:
            wrong.append((place, str(error)))
            continue
        if value is not None:
            values[place.name] = value
        if place.name == "message_bytes" and isinstance(value, int):
            protocol = values.get("protocol", column_map.constants.get("protocol"))
            wrong += [(place, fault) for fault in wrong_datagram(str(protocol).upper(), value)]
    if wrong:
        starts = starts_of(line, column_map.separator)
        raise MatrixError(
            [Fault(file, number, starts[place.index], place.name, fault) for place, fault in wrong]
        )
    return values


def _printed(
    fields: list[str], column_map: ColumnMap, places: list[_FieldPlace]
) -> Iterator[tuple[str, Value]]:
    """A throughput as it was printed, and the step of its last digit."""
    units = {column.name: column.unit for column in column_map.columns}
    for place in places:
        text = fields[place.index]
        if place.name != THROUGHPUT or text in column_map.blanks:
            continue
        entry = table_number(text, "bit/s", units[THROUGHPUT], column_map.decimal)
        exponent = int(entry.number.as_tuple().exponent)
        yield "printed_step_bit_per_s", plain_number(entry.factor.scaleb(exponent))
        if entry.factor == 10**6:
            yield "printed_mbit_per_s", entry.digits


def _result(
    file: str,
    column_map: ColumnMap,
    values: Mapping[str, Value],
    printed: Iterator[tuple[str, Value]],
) -> ToolResult:
    known_columns = columns_of_test(column_map.test)
    settings = {name: value for name, value in values.items() if known_columns[name].is_setting}
    measured = {
        name: value
        for name, value in values.items()
        if name not in settings and name not in (*HOSTS, TIME)
    }
    from_columns = {column.name for column in column_map.columns}
    is_blank = not measured.keys() & from_columns
    return ToolResult(
        file=file,
        test=column_map.test,
        server=str(values.get("server", "")),
        client=str(values.get("client", "")),
        pairing=str(values.get("pairing", "")),
        settings=settings,
        values={} if is_blank else {**measured, **dict(printed)},
        started_at=str(values.get(TIME, "")),
        reason=NOT_RECORDED if is_blank else None,
    )
