"""Means of a large run over each of its axes, as tables and heat maps. No I/O.

A cell is one combination of test, pairing (server and client) and settings. An axis is a setting,
or an end of the pairing, with several values; each value is a level of the axis. The mean of
several cells is the mean of the cells' means, so each cell has the same weight.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from netlab.experiment.records import Value
from netlab.messages import _, counted, joined
from netlab.report.large.axes import CLIENT, PAIRING, SERVER, CellAxis, axes_of, values_of
from netlab.report.tables.elements import HeatMap, Part, Table, TableCell, TableLine
from netlab.results.arrow.large_run import CellFigures
from netlab.results.labels import figure, setting, setting_name, setting_value
from netlab.results.quantities import Quantity
from netlab.store.plan import PlannedCell
from netlab.units import format_share

MOST_LINES = 25
"""Maximum number of lines of a table; neighbouring levels share a line if there are more."""
MOST_PLACES = 40
"""Maximum number of rows and of columns of a heat map."""
MOST_EXTREMES = 10
_NAMES: Mapping[str, str] = {PAIRING: _("pairing"), SERVER: _("server"), CLIENT: _("client")}
_COLUMNS = (
    *(_("cells"), _("trials"), _("mean"), _("lowest mean of a cell"), _("highest mean of a cell")),
    _("coefficient of variation, median of the cells"),
)

Neighbours = Sequence[Value | None]
"""Neighbouring levels of an axis."""


@dataclass(frozen=True)
class FigureGroup:
    """One quantity of all cells with the same test and protocol."""

    number: int
    """Number of the group in the report, from 1."""
    test: str
    protocol: str
    column: str
    """The column of the run's table that has the quantity."""
    quantity: Quantity
    figures: Mapping[str, CellFigures]
    """Cell → its figures, in the unit of the table's column."""
    cells: tuple[PlannedCell, ...]
    """The cells with figures."""

    @cached_property
    def axes(self) -> tuple[CellAxis, ...]:
        """The axes of the cells, the one with the most levels first."""
        return tuple(sorted(axes_of(self.cells), key=lambda axis: -len(axis.levels)))

    def part(self) -> Part:
        """Tables of the means over each axis, and a heat map of the two longest axes."""
        title = joined(" ", [setting_value("test", self.test), self.protocol])
        maps = [self._map(self.axes[0], self.axes[1])] if len(self.axes) > 1 else []
        return Part(
            name=f"means-{self.number}",
            title=joined(": ", [title, self.quantity.name]),
            paragraphs=(self._opening(), _MEANS),
            sheets=tuple(map(self._over, self.axes))
            or (self._table(_("Mean"), "", [self._all()]),),
            charts=tuple(maps),
            details=(self._varying(),) if any(f.variation for f in self.figures.values()) else (),
        )

    def _opening(self) -> str:
        trials = sum(own.trials for own in self.figures.values())
        return joined(
            ", ",
            [
                counted("{number} cell", "{number} cells", len(self.cells)),
                counted("{number} trial with a result", "{number} trials with a result", trials),
            ],
        )

    def _table(self, title: str, corner: str, lines: Sequence[TableLine]) -> Table:
        return Table(joined(", ", [title, self.quantity.unit]), corner, _COLUMNS, tuple(lines))

    def _all(self) -> TableLine:
        return self._line(_("all"), self.cells)

    def _over(self, axis: CellAxis) -> Table:
        groups = axis.groups(MOST_LINES)
        name = axis_name(axis)
        lines = [
            self._line(levels_words(axis, levels), cells)
            for levels, cells in zip(groups, self._by_group(axis, groups), strict=True)
        ]
        return self._table(_("Means by {axis}", axis=name), name, [*lines, self._all()])

    def _by_group(self, axis: CellAxis, groups: Sequence[Neighbours]) -> list[list[PlannedCell]]:
        places = _places(groups)
        by_group: list[list[PlannedCell]] = [[] for _group in groups]
        for cell in self.cells:
            by_group[places[values_of(cell).get(axis.name)]].append(cell)
        return by_group

    def _line(self, label: str, cells: Sequence[PlannedCell]) -> TableLine:
        own = [self.figures[cell.key] for cell in cells]
        if not own:
            return TableLine(label, (TableCell("0", 0), *[TableCell(n=0)] * (len(_COLUMNS) - 1)))
        means = [figures.mean for figures in own]
        variations = [f.variation for f in own if f.variation is not None]
        variation = statistics.median(variations) if variations else None
        return TableLine(
            label,
            (
                count_cell(len(own)),
                count_cell(sum(figures.trials for figures in own)),
                *map(self._place, (statistics.fmean(means), min(means), max(means))),
                _share(variation),
            ),
        )

    def _place(self, value: float) -> TableCell:
        scaled = value / self.quantity.scale
        return TableCell(figure(scaled), scaled, self.quantity.unit)

    def _map(self, across: CellAxis, down: CellAxis) -> HeatMap:
        """The means over two axes; a place is the mean of the cells in it."""
        columns, rows = across.groups(MOST_PLACES), down.groups(MOST_PLACES)
        column_of, row_of = _places(columns), _places(rows)
        means: dict[tuple[int, int], list[float]] = {}
        for cell in self.cells:
            values = values_of(cell)
            place = row_of[values.get(down.name)], column_of[values.get(across.name)]
            means.setdefault(place, []).append(self.figures[cell.key].mean / self.quantity.scale)
        places = {place: statistics.fmean(own) for place, own in means.items()}
        x_label, y_label = axis_name(across), axis_name(down)
        title = _("{quantity}, {unit}", quantity=self.quantity.name, unit=self.quantity.unit)
        return HeatMap(
            name=f"means-{self.number}",
            title=title,
            unit=self.quantity.unit,
            rows=tuple(levels_words(down, levels) for levels in rows),
            columns=tuple(levels_words(across, levels) for levels in columns),
            values=tuple(
                tuple(places.get((row, column)) for column in range(len(columns)))
                for row in range(len(rows))
            ),
            inside=tuple((None,) * len(columns) for _row in rows),
            x_label=x_label,
            y_label=y_label,
            description=_(
                "Map of colours: {title}, {y_label} by {x_label}. The tables hold the means over "
                "each of the two.",
                title=title,
                x_label=x_label,
                y_label=y_label,
            ),
        )

    def _varying(self) -> Table:
        """The cells whose trials vary most."""
        order = sorted(
            self.cells, key=lambda cell: self.figures[cell.key].variation or 0.0, reverse=True
        )
        lines = [self._of_cell(cell) for cell in order[:MOST_EXTREMES]]
        columns = (_("settings"), *_COLUMNS[1:3], _("lowest trial"), _("highest trial"))
        title = _("Cells with the largest coefficients of variation")
        return Table(
            joined(", ", [title, self.quantity.unit]),
            _("cell"),
            (*columns, _("coefficient of variation")),
            tuple(lines),
        )

    def _of_cell(self, cell: PlannedCell) -> TableLine:
        own, values = self.figures[cell.key], values_of(cell)
        words = joined(", ", [level_words(axis, values.get(axis.name)) for axis in self.axes])
        return TableLine(
            cell.key,
            (
                TableCell(words),
                count_cell(own.trials),
                *map(self._place, (own.mean, own.least, own.most)),
                _share(own.variation),
            ),
            cell=cell.key,
        )


def axis_name(axis: CellAxis) -> str:
    """The name of an axis as a heading."""
    return _NAMES.get(axis.name) or setting_name(axis.name)


def level_words(axis: CellAxis, level: Value | None) -> str:
    """A level with the name of its axis, such as ``socket buffer 64 KiB``."""
    if axis.name in _NAMES:
        return joined(" ", [axis_name(axis), _level(axis, level)])
    return setting(axis.name, level)


def levels_words(axis: CellAxis, levels: Neighbours) -> str:
    """Neighbouring levels of an axis, such as ``64 to 1472``."""
    first, last = _level(axis, levels[0]), _level(axis, levels[-1])
    return first if len(levels) == 1 else _("{first} to {last}", first=first, last=last)


def _level(axis: CellAxis, level: Value | None) -> str:
    return str(level) if axis.name in _NAMES else setting_value(axis.name, level)


def _places(groups: Sequence[Neighbours]) -> dict[Value | None, int]:
    """Level → number of its group."""
    return {level: place for place, levels in enumerate(groups) for level in levels}


def count_cell(number: int) -> TableCell:
    """A place with a whole number."""
    return TableCell(str(number), float(number))


def _share(share: float | None) -> TableCell:
    return TableCell(n=0) if share is None else TableCell(format_share(share), share)


_MEANS = _(
    "The mean of several cells is the mean of the cells’ means: each cell counts once, however "
    "many trials it has. The coefficient of variation of a cell is the standard deviation of its "
    "trials as a share of their mean."
)
