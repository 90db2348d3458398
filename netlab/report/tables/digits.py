"""Tables as the page shows them: a column has one number of decimals, as many as it bears. Pure.

Files keep every figure as it was computed; a document's figures are kept digit for digit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from netlab.report.tables.elements import AnyTable, Part, TableCell
from netlab.report.tables.tables import TableSection
from netlab.results.labels import figure

_PLAIN = re.compile(r"-?\d+\.\d\d+")
"""A figure of ``labels.figure``: two decimals at least."""
_AS_THEY_ARE = 12
_INTERVAL = "±"


def evened(table: AnyTable) -> AnyTable:
    """Fewer decimals where figures are large; by the interval where one stands beside them."""
    columns = range(len(table.columns))
    decimals = [_decimals_of(table, at) for at in columns]
    for at in columns[1:]:
        if table.columns[at].startswith(_INTERVAL):
            decimals[at - 1] = decimals[at] = _by_interval(_values(table, at))
    lines = tuple(
        replace(
            line,
            places=tuple(_shortened(place, decimals[at]) for at, place in enumerate(line.places)),
        )
        for line in table.lines
    )
    return replace(table, lines=lines)


def evened_section(section: TableSection) -> TableSection:
    """All tables of a section."""
    return replace(section, tables=tuple(map(evened, section.tables)))


def evened_part(part: Part) -> Part:
    """All sheets of a part."""
    sheets, details = (tuple(map(evened, each)) for each in (part.sheets, part.details))
    return replace(part, sheets=sheets, details=details)


def _values(table: AnyTable, at: int) -> list[float]:
    places = [line.places[at] for line in table.lines if at < len(line.places)]
    return [abs(float(place.text)) for place in places if _PLAIN.fullmatch(place.text)]


def _decimals_of(table: AnyTable, at: int) -> int:
    """By the largest figure: four digits that count are enough for eyes."""
    most = max(_values(table, at), default=0.0)
    return 0 if most >= 1000 else 1 if most >= 100 else _AS_THEY_ARE


def _by_interval(half_widths: Sequence[float]) -> int:
    """Two digits of the least interval of the column."""
    known = [each for each in half_widths if each > 0]
    if not known:
        return _AS_THEY_ARE
    return min(4, max(0, 1 - math.floor(math.log10(min(known)))))


def _shortened(place: TableCell, decimals: int) -> TableCell:
    """Never longer than it was, and never nothing where there was something."""
    if not _PLAIN.fullmatch(place.text) or len(place.text.partition(".")[2]) <= decimals:
        return place
    value = float(place.text)
    text = figure(value, decimals) if decimals else f"{value:.0f}"
    return replace(place, text=text) if float(text) or not value else place
