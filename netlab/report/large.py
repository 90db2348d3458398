"""The report of a run with very many trials: its figures come from columns of the run's segments.

Only the records that the findings are about are read. The same run with the same options gives the
same bytes.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import ClassVar

from netlab.experiment.hosts import is_by_name, labels_of
from netlab.findings.analysis import Analysis, load_cells
from netlab.messages import _, counted, joined
from netlab.report import CELLS, FIGURES, reloading
from netlab.report.draw.parallel import drawing_of_several
from netlab.report.draw.style import COLUMN_WIDE, PAGE_WIDE
from netlab.report.language import Wording
from netlab.report.page import plain_page
from netlab.report.page.first import with_drawings
from netlab.report.tables.elements import HeatMap, Part, Table, table
from netlab.report.text.summary import all_findings, leading
from netlab.report.write import latex, text, utf8, write_files
from netlab.results.arrow.run_parts import LARGE_TRIALS, CellFigures, LargeRun
from netlab.results.labels import setting, setting_name, setting_value
from netlab.results.layout import in_order
from netlab.results.quantities import figure_columns
from netlab.store.plan import Plan, PlannedCell
from netlab.terminal import printable
from netlab.trial.column import Quantity
from netlab.trial.figures import FigureColumn, Shown
from netlab.trial.record import STATUSES, Status, Value, grouped
from netlab.units import format_share

PAIRING, SERVER, CLIENT = "pairing", "server", "client"
"""Axes that are no settings. Pairings of two named hosts have the two last ones."""


MOST_LINES = 25
"""Maximum number of lines of a table; neighbouring levels share a line if there are more."""
MOST_PLACES = 40
"""Maximum number of rows and of columns of a heat map."""
MOST_EXTREMES = 10
_NAMES: Mapping[str, str] = {PAIRING: _("pairing"), SERVER: _("server"), CLIENT: _("client")}
_MEANS = _(
    "The mean of several cells is the mean of the cells’ means: each cell counts once, however "
    "many trials it has. The coefficient of variation of a cell is the standard deviation of its "
    "trials as a share of their mean."
)
DAY = slice(0, 10)
"""The date in a time of the journal."""
_HOW = _(
    "This run has more than {number} trials, so its report is made from the columns of its "
    "segments. `netlab report RUN --cell KEY` makes the whole report of single cells.",
    number=LARGE_TRIALS,
)
SAMPLED_TRIALS = 5_000
"""Maximum number of trials that the findings are about."""
_OwnFigures = Sequence[CellFigures]
_FIGURES = ("trials", "mean", "standard_deviation", "lowest", "highest")


@dataclass(frozen=True, slots=True)
class CellAxis:
    """An axis with its levels: numbers by size, words in the order of the plan."""

    name: str
    """Field of a setting, such as ``message_bytes``, or one of the names above."""
    levels: tuple[Value | None, ...]

    def groups(self, most: int) -> tuple[tuple[Value | None, ...], ...]:
        """The levels in at most so many groups of neighbours, of about equal numbers of levels."""
        count = len(self.levels)
        groups = min(most, count)
        ends = [count * number // groups for number in range(groups + 1)]
        return tuple(self.levels[ends[n] : ends[n + 1]] for n in range(groups))


def values_of(cell: PlannedCell) -> dict[str, Value | None]:
    """The values of a cell on all axes that it may have."""
    values: dict[str, Value | None] = dict(cell.settings)
    if is_by_name(cell.pairing):
        values[SERVER], values[CLIENT] = labels_of(cell.pairing)
    else:
        values[PAIRING] = cell.pairing
    return values


def axes_of(cells: Iterable[PlannedCell]) -> tuple[CellAxis, ...]:
    """Everything that has at least two values; levels begin with ``None`` if cells lack a value."""
    every = [values_of(cell) for cell in cells]
    axes = []
    for name in dict.fromkeys(name for values in every for name in values):
        *levels, last = in_order(values.get(name) for values in every)
        if levels:  # an absent setting is a level, too
            axes.append(CellAxis(name, (last, *levels) if last is None else (*levels, last)))
    return tuple(axes)


def thinned(cells: Sequence[PlannedCell], most: int) -> tuple[PlannedCell, ...]:
    """At most so many of the cells, evenly spaced on their axes.

    The axis with the most levels loses every second one until the rest is small enough. Servers and
    clients are thinned alike, so that the remaining hosts are still measured in both directions.
    """
    left = tuple(cells)
    while len(left) > most:
        axes = {axis.name: axis.levels for axis in axes_of(left)}
        longest = max(axes, key=lambda name: len(axes[name]), default=PAIRING)
        names = (SERVER, CLIENT) if longest in (SERVER, CLIENT) else (longest,)
        levels = dict.fromkeys(level for name in names for level in axes.get(name, ()))
        kept = {*[*levels][::2]}
        fewer = []
        for cell in left:
            values = values_of(cell)
            if all(values.get(name) in kept for name in names):
                fewer.append(cell)
        left = tuple(fewer) if 0 < len(fewer) < len(left) else left[::2]
    return left


# Means of a quantity


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

    @cached_property
    def axes(self) -> tuple[CellAxis, ...]:
        """The axes of the cells, the one with the most levels first."""
        return tuple(sorted(axes_of(self.cells), key=lambda axis: -len(axis.levels)))

    def part(self) -> Part:
        """Tables of the means over each axis, and a heat map of the two longest axes."""
        title = joined(" ", [setting_value("test", self.test), self.protocol])
        maps = [self._map(self.axes[0], self.axes[1])] if len(self.axes) > 1 else []
        trials = sum(own.trials for own in self.figures.values())
        counts = [
            counted("{number} cell", "{number} cells", len(self.cells)),
            counted("{number} trial with a result", "{number} trials with a result", trials),
        ]
        return Part(
            name=f"means-{self.number}",
            title=joined(": ", [title, self.quantity.name]),
            paragraphs=(joined(", ", counts), _MEANS),
            sheets=tuple(map(self._over, self.axes)) or (self._table(_("Mean"), "", []),),
            charts=tuple(maps),
            details=(self._varying(),) if any(f.variation for f in self.figures.values()) else (),
        )

    def _over(self, axis: CellAxis) -> Table:
        groups = axis.groups(MOST_LINES)
        place_of = _places(groups)
        by_group: list[list[PlannedCell]] = [[] for _group in groups]
        for cell in self.cells:
            by_group[place_of[values_of(cell).get(axis.name)]].append(cell)
        words = (_levels_words(axis, levels) for levels in groups)
        title = _("Means by {axis}", axis=_name_of(axis))
        return self._table(title, _name_of(axis), [*zip(words, by_group, strict=True)])

    def _table(
        self, title: str, corner: str, rows: Sequence[tuple[str, Sequence[PlannedCell]]]
    ) -> Table:
        """A line for each of several groups of cells, and one for all cells."""

        def means(group: _OwnFigures) -> list[float]:
            return [own.mean for own in group]

        def variation(group: _OwnFigures) -> Shown:
            known = [own.variation for own in group if own.variation is not None]
            return _share(statistics.median(known) if known else None)

        unit, scale = self.quantity.unit, self.quantity.scale
        columns: list[FigureColumn[_OwnFigures]] = [
            FigureColumn(_("cells"), lambda group: _count(len(group))),
            FigureColumn(_("trials"), lambda group: _count(sum(own.trials for own in group))),
            FigureColumn(_("mean"), lambda group: statistics.fmean(means(group)) / scale, unit),
            FigureColumn(_("lowest mean of a cell"), lambda group: min(means(group)) / scale, unit),
            FigureColumn(
                _("highest mean of a cell"), lambda group: max(means(group)) / scale, unit
            ),
            FigureColumn(_("coefficient of variation, median of the cells"), variation),
        ]
        lines = [*rows, (_("all"), self.cells)]
        figures = [(label, "", [self.figures[cell.key] for cell in own]) for label, own in lines]
        return table(joined(", ", [title, unit]), corner, columns, figures)

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
        title = _("{quantity}, {unit}", quantity=self.quantity.name, unit=self.quantity.unit)
        labels = {"x_label": _name_of(across), "y_label": _name_of(down)}
        return HeatMap(
            name=f"means-{self.number}",
            title=title,
            unit=self.quantity.unit,
            rows=tuple(_levels_words(down, levels) for levels in rows),
            columns=tuple(_levels_words(across, levels) for levels in columns),
            values=tuple(
                tuple(places.get((row, column)) for column in range(len(columns)))
                for row in range(len(rows))
            ),
            inside=tuple((None,) * len(columns) for _row in rows),
            description=_(
                "Map of colours: {title}, {y_label} by {x_label}. The tables hold the means over "
                "each of the two.",
                title=title,
                **labels,
            ),
            **labels,
        )

    def _varying(self) -> Table:
        """The cells with the largest coefficients of variation."""

        def own(cell: PlannedCell) -> CellFigures:
            return self.figures[cell.key]

        def settings(cell: PlannedCell) -> str:
            values = values_of(cell)
            words = [
                joined(" ", [_NAMES[axis.name], str(values.get(axis.name))])
                if axis.name in _NAMES
                else setting(axis.name, values.get(axis.name))
                for axis in self.axes
            ]
            return joined(", ", words)

        unit, scale = self.quantity.unit, self.quantity.scale
        columns: list[FigureColumn[PlannedCell]] = [
            FigureColumn(_("settings"), settings),
            FigureColumn(_("trials"), lambda cell: _count(own(cell).trials)),
            FigureColumn(_("mean"), lambda cell: own(cell).mean / scale, unit),
            FigureColumn(_("lowest trial"), lambda cell: own(cell).least / scale, unit),
            FigureColumn(_("highest trial"), lambda cell: own(cell).most / scale, unit),
            FigureColumn(_("coefficient of variation"), lambda cell: _share(own(cell).variation)),
        ]
        order = sorted(self.cells, key=lambda cell: own(cell).variation or 0.0, reverse=True)
        title = joined(", ", [_("Cells with the largest coefficients of variation"), unit])
        rows = [(cell.key, cell.key, cell) for cell in order[:MOST_EXTREMES]]
        return table(title, _("cell"), columns, rows)


def _name_of(axis: CellAxis) -> str:
    return _NAMES.get(axis.name) or setting_name(axis.name)


def _levels_words(axis: CellAxis, levels: Sequence[Value | None]) -> str:
    """Neighbouring levels of an axis, such as ``64 to 1472``."""
    first, last = (
        str(level) if axis.name in _NAMES else setting_value(axis.name, level)
        for level in (levels[0], levels[-1])
    )
    return first if len(levels) == 1 else _("{first} to {last}", first=first, last=last)


def _places(groups: Sequence[Sequence[Value | None]]) -> dict[Value | None, int]:
    return {level: place for place, levels in enumerate(groups) for level in levels}


def _count(number: int) -> Shown:
    return Shown(float(number), text=str(number))


def _share(share: float | None) -> Shown:
    return Shown() if share is None else Shown(share, text=format_share(share))


# Parts


def groups_of(run: LargeRun) -> Iterator[FigureGroup]:
    """The quantities of each test and protocol, with the cells that have a figure of them."""
    cells = grouped(run.plan.cells, lambda c: (c.test, str(c.settings.get("protocol", ""))))
    number = 0
    for (test, protocol), planned in cells.items():
        for column, quantity in figure_columns(test).items():
            figures = run.figures.get(column, {})
            own = tuple(cell for cell in planned if cell.key in figures)
            if own:
                number += 1
                of_cells = {cell.key: figures[cell.key] for cell in own}
                yield FigureGroup(number, test, protocol, column, quantity, of_cells, own)


def _trials(run: LargeRun) -> Part:
    """Numbers of trials by status, the time of the run, and the cells with most failed trials."""
    counts: Counter[Status] = Counter()
    for statuses in run.statuses.values():
        counts.update(statuses)
    numbers = [
        _("{number} {status}", number=counts[status], status=STATUSES[status])
        for status in Status
        if counts[status]
    ]
    cells = counted("{number} cell", "{number} cells", len(run.plan.cells))
    trials = counted("{number} trial", "{number} trials", counts.total())
    totals = {"cells": cells, "trials": trials, "numbers": joined(", ", numbers)}
    words = [_("{cells}, {trials}: {numbers}.", **totals)]
    if run.began_at:
        days = {"first": run.began_at[DAY], "last": run.ended_at[DAY]}
        words.append(_("Measured from {first} to {last}.", **days))
    failed = [cell for cell, statuses in run.statuses.items() if statuses.get(Status.FAILED, 0)]
    failed.sort(key=lambda cell: (-run.statuses[cell][Status.FAILED], cell))
    columns: list[FigureColumn[str]] = [
        FigureColumn(_("failed"), lambda cell: _count(run.statuses[cell][Status.FAILED])),
        FigureColumn(_("trials"), lambda cell: _count(sum(run.statuses[cell].values()))),
    ]
    rows = [(cell, cell, cell) for cell in failed[:MOST_EXTREMES]]
    sheet = table(_("Cells with most failed trials"), _("cell"), columns, rows)
    return Part(
        name="trials",
        title=_("Trials"),
        paragraphs=(joined(" ", words), _HOW, *run.remarks),
        sheets=(sheet,) if failed else (),
    )


# The report


@dataclass(frozen=True)
class LargeReport:
    """The report of a large run in one language."""

    run: LargeRun
    wording: Wording
    narrow: bool = False
    """Whether each chart is also drawn in the width of one column of a page."""
    answer: ClassVar[None] = None
    """There is none: the cells are too many to look for their limits."""

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """All parts in the page's order, not translated yet."""
        run, sample = self.run, sample_of(self.run.folder, self.run.plan)
        about = _(
            "The findings are about {number} of {all}, evenly spaced on the axes, with all their "
            "trials.",
            number=len(sample.plan.cells),
            all=counted("{number} cell", "{number} cells", len(run.plan.cells)),
        )
        if (findings := all_findings(sample)) is not None:
            words = (*leading(sample), about, *findings.paragraphs)
            findings = replace(findings, paragraphs=words)
        else:
            paragraphs = (about, _("None."))
            findings = Part(name="findings", title=_("Findings"), paragraphs=paragraphs)
        return (_trials(run), findings, *(group.part() for group in groups_of(run)))

    @cached_property
    def _worded(self) -> tuple[Part, ...]:
        return tuple(map(self.wording.of, self.parts))

    def write(self, *, reload_s: int | None = None) -> Path:
        """Write index.html, the tables (.md, .tex, .csv), cells.csv and the charts. Returns the
        path of index.html. ``reload_s`` and errors as in ``Report.write``.
        """
        title, parts, worded = self.run.plan.title, self._worded, self.wording
        forms = (PAGE_WIDE, COLUMN_WIDE) if self.narrow else (PAGE_WIDE,)
        with drawing_of_several(forms) as drawing:
            pending = drawing(chart for part in parts for chart in part.charts)
            in_latex = latex.document(title, (), parts, worded)
            files = {
                "tables.md": utf8(text.markdown(title, (), (), parts)),
                "tables.tex": utf8(in_latex),
                FIGURES: utf8(text.figures(self.parts)),
                CELLS: utf8(cells_csv(self.run)),
            }
            # The number of a chart's place is its index in the order of the parts.
            numbers = count()
            numbered = [(part, [(next(numbers), chart) for chart in part.charts]) for part in parts]
            html = plain_page("plain_large.html.j2", title, worded, parts=numbered)
            pictures = pending()
        html = reloading(with_drawings(html, pictures), reload_s)
        return write_files(self.run.folder, files, pictures, html)

    def overview_text(self, width: int | None = None) -> str:
        """The tables for a terminal, below the run's title. Tables are no wider than ``width``."""
        sheets = [text.plain(sheet, width) for part in self._worded for sheet in part.sheets]
        return "\n\n".join([printable(self.run.plan.title), *sheets])


def sample_of(folder: Path, plan: Plan) -> Analysis:
    """Some cells with all trials: at most `SAMPLED_TRIALS`, or one cell. UsageError, StoreError."""
    trials = max(1, sum(map(plan.most_of, plan.cells)) // max(1, len(plan.cells)))
    cells = thinned(plan.cells, max(1, SAMPLED_TRIALS // trials))
    return load_cells(folder, {cell.key for cell in cells})


def cells_csv(run: LargeRun) -> str:
    """CSV with a line for each cell and quantity, in the units of the run's table."""
    names = [*dict.fromkeys(name for cell in run.plan.cells for name in cell.settings)]
    rows: list[list[object]] = [["cell", "test", "pairing", *names, "column", *_FIGURES]]
    for group in groups_of(run):
        for cell in group.cells:
            own = group.figures[cell.key]
            settings = [cell.settings.get(name) for name in names]
            figures = [own.trials, own.mean, own.deviation, own.least, own.most]
            rows.append([cell.key, cell.test, cell.pairing, *settings, group.column, *figures])
    return text.csv_text(map(text.csv_value, row) for row in rows)
