"""Tables for people: one unit for each table, sensible decimals for each column.

Sections of the report make every table in Mbit/s, and files for programs keep each figure as it was
computed. Figures of an imported document are kept digit for digit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from netlab.messages import Message, joined
from netlab.report.tables.elements import MBIT_PER_S, AnyTable, GridTable, Part, Table, TableCell
from netlab.report.tables.tables import TableSection
from netlab.results.labels import figure

_PLAIN = re.compile(r"-?\d+\.\d\d+")
"""A figure written by ``labels.figure``: at least two decimals."""
_AS_THEY_ARE = 12
_INTERVAL = "±"
_COUNTING = 4
"""Number of significant digits that a reader needs."""

_Place = tuple[int, str]
"""Number of a column, and the unit of a figure in it."""


def align_digits(table: AnyTable) -> AnyTable:
    """The table with one unit for throughputs and one for times, and with sensible decimals.

    Large figures have fewer decimals. If the next column has intervals, these decide the decimals.
    """
    return _evened(with_small_times(in_one_unit(table, unit_of(table))), {})


def align_section_digits(section: TableSection) -> TableSection:
    """Align the digits of all tables of a section.

    A table of intervals gets the unit of the table that has the means, whose decimals it decides.
    """
    evened_tables: list[GridTable] = []
    units: dict[object, str] = {}
    intervals = {half.keys: half for half in section.tables if half.has_half_widths}
    for table in section.tables:
        of_its_own = unit_of(table)
        unit = units.get(table.keys, of_its_own) if table.has_half_widths else of_its_own
        units.setdefault(table.keys, unit)
        interval_decimals: dict[_Place, int] = {}
        if table.keys in intervals:
            half_widths = in_one_unit(intervals[table.keys], unit)
            for place in _places_of(half_widths):
                widths = _figures_of(_column(half_widths, place[0]), place[1])
                if any(widths):
                    interval_decimals[place] = _by_interval(widths)
        evened_tables.append(_evened(in_one_unit(table, unit), interval_decimals))
    return replace(section, tables=tuple(evened_tables))


def align_part_digits(part: Part) -> Part:
    """Align the digits of all tables of a part (a section of the page)."""
    sheets, details = (tuple(map(align_digits, tables)) for tables in (part.sheets, part.details))
    return replace(part, sheets=sheets, details=details)


def _evened(table: AnyTable, interval_decimals: dict[_Place, int]) -> AnyTable:
    """The table with sensible decimals. ``interval_decimals``: decimals that are fixed by another
    table, which has the intervals.
    """
    places = _places_of(table)
    decimals = {
        (at, unit): _decimals_of(_figures_of(_column(table, at), unit), unit) for at, unit in places
    } | interval_decimals
    for at, unit in places:
        if at and table.columns[at].startswith(_INTERVAL):
            half_widths = _figures_of(_column(table, at), unit)
            if unit not in SCALED or any(half_widths):
                decimals[at - 1, unit] = decimals[at, unit] = _by_interval(half_widths)
    # If a column has figures of several units, each line has its own decimals.
    units = [{p.unit for p in _column(table, at) if p.text} for at in range(len(table.columns))]
    by_line = any(len(column - {"", "%"}) > 1 for column in units)
    lines = []
    for line in table.lines:
        along = {
            unit: _decimals_of(_figures_of(line.places, unit), unit)
            for unit in SCALED
            if by_line and any(place.unit == unit for place in line.places)
        }
        shortened = (
            _shortened(place, along.get(place.unit, decimals[at, place.unit]))
            for at, place in enumerate(line.places)
        )
        lines.append(replace(line, places=tuple(shortened)))
    return replace(table, lines=tuple(lines))


def _places_of(table: Table) -> list[_Place]:
    columns = range(len(table.columns))
    return [(at, unit) for at in columns for unit in {place.unit for place in _column(table, at)}]


def _column(table: Table, at: int) -> list[TableCell]:
    return [line.places[at] for line in table.lines if at < len(line.places)]


def _figures_of(places: Iterable[TableCell], unit: str) -> list[float]:
    figures = (_figure_of(place) for place in places if place.unit == unit)
    return [abs(float(text)) for text in figures if _PLAIN.fullmatch(text)]


def _figure_of(place: TableCell) -> str:
    """The figure alone, without the number of trials or the unit that may follow."""
    return place.text.partition(" ")[0] if place.unit in SCALED else place.text


def _decimals_of(figures: Sequence[float], unit: str) -> int:
    """As many as give the largest figure four significant digits. For a unit that is not in
    ``SCALED``: none if the largest figure is at least 1000, one if it is at least 100, otherwise
    all.
    """
    most = max(figures, default=0.0)
    if unit in SCALED and most:
        approximation = float(f"{most:.{_COUNTING - 1}e}")
        return max(0, _COUNTING - 1 - math.floor(math.log10(approximation)))
    return 0 if most >= 1000 else 1 if most >= 100 else _AS_THEY_ARE


def _by_interval(half_widths: Sequence[float]) -> int:
    """The number of decimals, at most four, that gives the smallest interval two digits."""
    widths = [half for half in half_widths if half > 0]
    if not widths:
        return _AS_THEY_ARE
    return min(4, max(0, 1 - math.floor(math.log10(min(widths)))))


def _shortened(place: TableCell, decimals: int) -> TableCell:
    """The place with fewer decimals; more are kept if the figure would otherwise become 0."""
    words = _figure_of(place)
    if not _PLAIN.fullmatch(words) or len(words.partition(".")[2]) <= decimals:
        return place
    value = float(words)
    text: str = f"{value:.{decimals}f}" if place.unit in SCALED else figure(value, decimals)
    if not decimals:
        text = f"{value:.0f}"
    if value and not float(text):
        text = figure(value) if place.unit in SCALED else words
    if isinstance(place.text, Message) and words != place.text:
        text = joined(" ", [text, *list(place.text.values.values())[1:]])
    return replace(place, text=text)


_UNITS = {"kbit/s": 1e3, MBIT_PER_S: 1e6, "Gbit/s": 1e9}
_SQUARE = "²"
SCALED = frozenset(unit + power for unit in _UNITS if unit != MBIT_PER_S for power in ("", _SQUARE))
"""Units of converted figures: their text has more digits than are significant."""

_BASES = {"bit/s": 1.0, MBIT_PER_S: 1e6}
_MS, _US = "ms", "µs"
_DIGITS = 12
_FIGURE = re.compile(r"-?\d+(?:\.\d+)?(?= |$)")


def unit_of(table: AnyTable) -> str:
    """The unit for its throughputs: Gbit/s from 1000 Mbit/s upwards, kbit/s below 1 Mbit/s. The
    largest figure as printed decides, so that no figure reads ``1000.00 Mbit/s``.
    """
    places = (place for line in table.lines for place in line.places)
    rates = (abs(_bit_per_s(place)) for place in places if place.unit in _BASES)
    most = round(max(rates, default=0.0) / 1e6, 2)
    return "Gbit/s" if most >= 1000 else "kbit/s" if 0 < most < 1 else MBIT_PER_S


def in_one_unit(table: AnyTable, unit: str) -> AnyTable:
    """The table with all throughputs in ``unit``, and with that unit in the headings.

    The figures have more digits than a reader wants; ``digits.align_digits`` removes them.
    """
    if unit == MBIT_PER_S:
        return table
    return _renamed(table, lambda place: _place(place, unit), unit)


def with_small_times(table: AnyTable) -> AnyTable:
    """The table with times in µs instead of ms, if all of them are below 1 ms.

    The headings of their columns must name the unit; otherwise the table is unchanged.
    """
    in_ms = [
        (table.columns[at], abs(place.value))
        for line in table.lines
        for at, place in enumerate(line.places)
        if place.unit == _MS and place.value is not None
    ]
    most = max((time for _column, time in in_ms), default=0.0)
    without_unit = any(_with_unit(column, _US, _MS) == column for column, _time in in_ms)
    if not 0 < most < 1 or without_unit:
        return table

    def in_us(place: TableCell) -> TableCell:
        if place.unit != _MS or place.value is None:
            return place
        value = 1e3 * place.value
        return replace(place, text=figure(value), value=value, unit=_US)

    return _renamed(table, in_us, _US, _MS)


def _renamed(
    table: AnyTable, convert: Callable[[TableCell], TableCell], unit: str, of: str = MBIT_PER_S
) -> AnyTable:
    """The table with all places converted, and with the unit in its texts instead of ``of``."""
    lines = []
    for line in table.lines:
        label, of_line = (_with_unit(text, unit, of) for text in (line.label, line.unit))
        places = tuple(map(convert, line.places))
        lines.append(replace(line, label=label, unit=of_line, places=places))
    names = ("title", "corner", "quantity")
    texts: dict[str, Any] = {
        name: _with_unit(getattr(table, name), unit, of) for name in names if hasattr(table, name)
    }
    columns = tuple(_with_unit(column, unit, of) for column in table.columns)
    return replace(table, lines=tuple(lines), columns=columns, **texts)


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
