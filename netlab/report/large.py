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
from pathlib import Path

from netlab.experiment.hosts import is_by_name, labels_of
from netlab.findings.analysis import Analysis, load_cells
from netlab.messages import _, counted, joined
from netlab.report import CELLS, FIGURES, reloading
from netlab.report.draw.parallel import drawing_of_several
from netlab.report.draw.style import COLUMN_WIDE, PAGE_WIDE
from netlab.report.language import Wording
from netlab.report.page.first import with_drawings
from netlab.report.page.plain import large_page
from netlab.report.tables.elements import HeatMap, Part, Table, TableCell, TableLine
from netlab.report.text.summary import all_findings, leading
from netlab.report.write import latex, text, utf8, write_files
from netlab.results.arrow.run_parts import LARGE_TRIALS, CellFigures, LargeRun, large_run
from netlab.results.labels import figure, setting, setting_name, setting_value
from netlab.results.quantities import figure_columns
from netlab.store.plan import Plan, PlannedCell
from netlab.terminal import printable
from netlab.trial.quantity import Quantity
from netlab.trial.record import STATUSES, Status, Value
from netlab.units import format_share

PAIRING, SERVER, CLIENT = "pairing", "server", "client"
"""Axes that are no settings. Pairings of two named hosts have the two last ones."""


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
    """The axes of cells: everything that has at least two values. The levels of an axis begin with
    ``None`` if some cells have no value.
    """
    levels: dict[str, dict[Value | None, None]] = {}
    count = 0
    seen: Counter[str] = Counter()
    for cell in cells:
        count += 1
        for name, value in values_of(cell).items():
            levels.setdefault(name, {})[value] = None
            seen[name] += 1
    axes = []
    for name, values in levels.items():
        # An absent setting is a level, too.
        absent = [None] if None in values or seen[name] < count else []
        present = [level for level in values if level is not None]
        if all(isinstance(level, int | float) for level in present):
            present.sort(key=float)  # type: ignore[arg-type]  # numbers
        if len(absent) + len(present) > 1:
            axes.append(CellAxis(name, (*absent, *present)))
    return tuple(axes)


def thinned(cells: Sequence[PlannedCell], most: int) -> tuple[PlannedCell, ...]:
    """At most so many of the cells, evenly spaced on their axes.

    The axis with the most levels loses every second of its levels until the rest is small enough.
    Servers and clients of named pairs are thinned alike, so that the remaining hosts are still
    measured in both directions.
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
    """The cells with figures."""

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

    def _table(self, title: str, corner: str, lines: Sequence[TableLine]) -> Table:
        everything = self._line(_("all"), self.cells)
        title = joined(", ", [title, self.quantity.unit])
        return Table(title, corner, _COLUMNS, (*lines, everything))

    def _over(self, axis: CellAxis) -> Table:
        groups = axis.groups(MOST_LINES)
        place_of = _places(groups)
        by_group: list[list[PlannedCell]] = [[] for _group in groups]
        for cell in self.cells:
            by_group[place_of[values_of(cell).get(axis.name)]].append(cell)
        lines = [
            self._line(levels_words(axis, levels), cells)
            for levels, cells in zip(groups, by_group, strict=True)
        ]
        name = axis_name(axis)
        return self._table(_("Means by {axis}", axis=name), name, lines)

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
        order = sorted(
            self.cells, key=lambda cell: self.figures[cell.key].variation or 0.0, reverse=True
        )
        lines = []
        for cell in order[:MOST_EXTREMES]:
            own, values = self.figures[cell.key], values_of(cell)
            words = joined(", ", [level_words(axis, values.get(axis.name)) for axis in self.axes])
            places = (
                TableCell(words),
                count_cell(own.trials),
                *map(self._place, (own.mean, own.least, own.most)),
                _share(own.variation),
            )
            lines.append(TableLine(cell.key, places, cell=cell.key))
        columns = (_("settings"), *_COLUMNS[1:3], _("lowest trial"), _("highest trial"))
        title = _("Cells with the largest coefficients of variation")
        return Table(
            joined(", ", [title, self.quantity.unit]),
            _("cell"),
            (*columns, _("coefficient of variation")),
            tuple(lines),
        )


def axis_name(axis: CellAxis) -> str:
    """The name of an axis as a heading."""
    return _NAMES.get(axis.name) or setting_name(axis.name)


def level_words(axis: CellAxis, level: Value | None) -> str:
    """A level with the name of its axis, such as ``socket buffer 64 KiB``."""
    if axis.name in _NAMES:
        return joined(" ", [axis_name(axis), _level(axis, level)])
    return setting(axis.name, level)


def levels_words(axis: CellAxis, levels: Sequence[Value | None]) -> str:
    """Neighbouring levels of an axis, such as ``64 to 1472``."""
    first, last = _level(axis, levels[0]), _level(axis, levels[-1])
    return first if len(levels) == 1 else _("{first} to {last}", first=first, last=last)


def _level(axis: CellAxis, level: Value | None) -> str:
    return str(level) if axis.name in _NAMES else setting_value(axis.name, level)


def _places(groups: Sequence[Sequence[Value | None]]) -> dict[Value | None, int]:
    return {level: place for place, levels in enumerate(groups) for level in levels}


def count_cell(number: int) -> TableCell:
    """A place with a whole number."""
    return TableCell(str(number), float(number))


def _share(share: float | None) -> TableCell:
    return TableCell(n=0) if share is None else TableCell(format_share(share), share)


# Parts


def parts_of(run: LargeRun, sample: Analysis) -> tuple[Part, ...]:
    """All parts, in the page’s order. ``sample``: the cells that the findings are about."""
    return (_trials(run), _findings(run, sample), *(group.part() for group in groups_of(run)))


def groups_of(run: LargeRun) -> Iterator[FigureGroup]:
    """The quantities of each test and protocol, with the cells that have a figure of them."""
    cells: dict[tuple[str, str], list[PlannedCell]] = {}
    for cell in run.plan.cells:
        cells.setdefault((cell.test, str(cell.settings.get("protocol", ""))), []).append(cell)
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
    words = [
        _(
            "{cells}, {trials}: {numbers}.",
            cells=cells,
            trials=trials,
            numbers=joined(", ", numbers),
        )
    ]
    if run.began_at:
        days = {"first": run.began_at[DAY], "last": run.ended_at[DAY]}
        words.append(_("Measured from {first} to {last}.", **days))
    lines = sorted(
        ((-statuses.get(Status.FAILED, 0), cell) for cell, statuses in run.statuses.items()),
    )[:MOST_EXTREMES]
    failed = [
        TableLine(
            cell, (count_cell(-count), count_cell(sum(run.statuses[cell].values()))), cell=cell
        )
        for count, cell in lines
        if count
    ]
    columns = (_("failed"), _("trials"))
    sheet = Table(_("Cells with most failed trials"), _("cell"), columns, tuple(failed))
    return Part(
        name="trials",
        title=_("Trials"),
        paragraphs=(joined(" ", words), _HOW, *run.remarks),
        sheets=(sheet,) if failed else (),
    )


def _findings(run: LargeRun, sample: Analysis) -> Part:
    """The findings of the sample; the most important ones as sentences."""
    about = _(
        "The findings are about {number} of {all}, evenly spaced on the axes, with all their "
        "trials.",
        number=len(sample.plan.cells),
        all=counted("{number} cell", "{number} cells", len(run.plan.cells)),
    )
    part = all_findings(sample)
    if part is None:
        return Part(name="findings", title=_("Findings"), paragraphs=(about, _("None.")))
    return replace(part, paragraphs=(*leading(sample), about, *part.paragraphs))


# The report


@dataclass(frozen=True)
class LargeReport:
    """The report of a large run in one language."""

    run: LargeRun
    wording: Wording
    narrow: bool = False
    """Whether each chart is also drawn in the width of one column of a page."""

    @cached_property
    def sample(self) -> Analysis:
        """Some cells with all their trials: the findings are about them."""
        return sample_of(self.run.folder, self.run.plan)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """All parts, not translated yet."""
        return parts_of(self.run, self.sample)

    @cached_property
    def _worded(self) -> tuple[Part, ...]:
        return tuple(map(self.wording.of_part, self.parts))

    def write(self, *, reload_s: int | None = None) -> Path:
        """Write index.html, the tables (.md, .tex, .csv), cells.csv and the charts. Returns the
        path of index.html. ``reload_s`` and errors as in ``Report.write``.
        """
        folder, title, worded = self.run.folder, self.run.plan.title, self.wording
        forms = (PAGE_WIDE, COLUMN_WIDE) if self.narrow else (PAGE_WIDE,)
        with drawing_of_several(forms) as drawing:
            pending = drawing(chart for part in self._worded for chart in part.charts)
            files = {
                "tables.md": utf8(text.markdown(title, (), (), self._worded)),
                "tables.tex": utf8(
                    latex.document(title, (), self._worded, words=latex.words_of(worded))
                ),
                FIGURES: utf8(text.figures(self.parts)),
                CELLS: utf8(cells_csv(self.run)),
            }
            html = large_page(title, self._worded, worded)
            pictures = pending()
        html = reloading(with_drawings(html, pictures), reload_s)
        return write_files(folder, files, pictures, html)

    def overview_text(self, width: int | None = None) -> str:
        """The tables for a terminal, below the run's title. Tables are no wider than ``width``."""
        sheets = [text.plain(sheet, width) for part in self._worded for sheet in part.sheets]
        return "\n\n".join([printable(self.run.plan.title), *sheets])


def report_of(folder: Path, wording: Wording, *, narrow: bool = False) -> LargeReport:
    """The report of the run in a folder. Raises UsageError and StoreError."""
    return LargeReport(large_run(folder), wording, narrow)


def sample_of(folder: Path, plan: Plan) -> Analysis:
    """Some cells of a run with all their trials: at most `SAMPLED_TRIALS` trials, or one cell.

    Raises UsageError and StoreError.
    """
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
