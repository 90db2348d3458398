"""A table's throughputs in one unit, chosen by its largest figure: kbit/s, Mbit/s, Gbit/s. No I/O.

The sections of the report make every table in Mbit/s; files for programs keep that unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from netlab.messages import Message, joined
from netlab.report.tables.elements import MBIT_PER_S, AnyTable, TableCell, TableLine
from netlab.results.labels import figure

_UNITS = {"kbit/s": 1e3, MBIT_PER_S: 1e6, "Gbit/s": 1e9}
_SQUARE = "²"
SCALED = frozenset(unit + power for unit in _UNITS if unit != MBIT_PER_S for power in ("", _SQUARE))
"""Units of converted figures: their text has more digits than are significant."""

_BASES = {"bit/s": 1.0, MBIT_PER_S: 1e6}
_MS, _US = "ms", "µs"
_DIGITS = 12
_FIGURE = re.compile(r"-?\d+(?:\.\d+)?(?= |$)")


def unit_of(table: AnyTable) -> str:
    """The unit for its throughputs: Gbit/s from 1000 Mbit/s upwards, kbit/s below 1 Mbit/s.

    The largest figure as printed decides, so that no figure reads ``1000.00 Mbit/s``. A table
    without any throughput stays in Mbit/s.
    """
    rates = (abs(_bit_per_s(place)) for place in _places(table) if place.unit in _BASES)
    most = round(max(rates, default=0.0) / 1e6, 2)
    return "Gbit/s" if most >= 1000 else "kbit/s" if 0 < most < 1 else MBIT_PER_S


def in_one_unit(table: AnyTable, unit: str) -> AnyTable:
    """The table with all throughputs in ``unit``, and with that unit in the headings.

    The figures have more digits than a reader wants; ``digits.align_digits`` removes them.
    """
    if unit == MBIT_PER_S:
        return table
    return _renamed(
        replace(table, lines=tuple(_line(line, unit) for line in table.lines)),
        unit,
    )


def with_small_times(table: AnyTable) -> AnyTable:
    """The table with times in µs instead of ms, if all of them are below 1 ms.

    The headings of their columns must name the unit; otherwise the table is unchanged.
    """
    columns = {
        at
        for line in table.lines
        for at, place in enumerate(line.places)
        if place.unit == _MS and place.value is not None
    }
    times = [abs(p.value or 0.0) for p in _places(table) if p.unit == _MS]
    headings = {at: _with_unit(table.columns[at], _US, _MS) for at in columns}
    without_unit = any(table.columns[at] == heading for at, heading in headings.items())
    if not any(times) or max(times) >= 1 or without_unit:
        return table
    lines = (replace(line, places=tuple(map(_in_us, line.places))) for line in table.lines)
    return _renamed(replace(table, lines=tuple(lines)), _US, _MS)


def _in_us(place: TableCell) -> TableCell:
    if place.unit != _MS or place.value is None:
        return place
    value = 1e3 * place.value
    return replace(place, text=figure(value), value=value, unit=_US)


def _renamed(table: AnyTable, unit: str, of: str = MBIT_PER_S) -> AnyTable:
    names = ("title", "corner", "quantity")
    texts: dict[str, Any] = {
        name: _with_unit(getattr(table, name), unit, of) for name in names if hasattr(table, name)
    }
    columns = tuple(_with_unit(column, unit, of) for column in table.columns)
    return replace(table, columns=columns, **texts)


def _line(line: TableLine, unit: str) -> TableLine:
    return replace(
        line,
        label=_with_unit(line.label, unit),
        unit=_with_unit(line.unit, unit),
        places=tuple(_place(place, unit) for place in line.places),
    )


def _place(place: TableCell, unit: str) -> TableCell:
    """The figure in another unit. The text after it (such as the number of trials) is kept."""
    square = place.unit == MBIT_PER_S + _SQUARE
    if place.value is None or not _FIGURE.match(place.text):
        return place
    if square:
        value = place.value * (1e6 / _UNITS[unit]) ** 2
    elif place.unit in _BASES:
        value = _bit_per_s(place) / _UNITS[unit]
    else:
        return place
    text: str = figure(value, _DIGITS)
    if isinstance(place.text, Message):
        rest = list(place.text.values.values())[1:]
        text = joined(" ", [text, *(_with_unit(word, unit) for word in rest)])
    return replace(place, text=text, value=value, unit=unit + (_SQUARE if square else ""))


def _places(table: AnyTable) -> Iterator[TableCell]:
    for line in table.lines:
        yield from (place for place in line.places if place.value is not None)


def _bit_per_s(place: TableCell) -> float:
    return (place.value or 0.0) * _BASES[place.unit]


def _with_unit(text: str, unit: str, of: str = MBIT_PER_S) -> str:
    """A text with its unit replaced; in a message the unit is a value of its own."""
    if not isinstance(text, Message):
        return unit if text == of else text
    values = {
        name: _with_unit(value, unit, of) if isinstance(value, str) else value
        for name, value in text.values.items()
    }
    return Message(text.id, values, text.many, text.number, begins=text.begins)
