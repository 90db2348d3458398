"""Tables, charts and answers of the report as plain data, for every writer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from netlab.messages import Message, _, counted, joined, sentence_case
from netlab.results.labels import figure
from netlab.results.layout import TableColumn
from netlab.trial.figures import WHOLE, FigureColumn, Shown, Subject

MBIT_PER_S = "Mbit/s"
"""The unit in which tables and charts are computed; tables for people may have another unit."""

TableKind = Literal["value", "mean", "median", "ceiling", "efficiency"]


@dataclass(frozen=True, slots=True)
class TableCell:
    """One place of a table. A blank (a place without a result) has no text; notes say why."""

    text: str = ""
    """The text as printed, without the number ``n`` and the notes."""
    value: float | None = None
    """The figure, in ``unit``; ``None`` for words and blanks."""
    unit: str = ""
    notes: tuple[str, ...] = ()
    """Letters of the table's footnotes."""
    cell: str = ""
    """Key of the run's cell that the place shows; empty if the place sums up several cells."""
    n: int = 1
    """Number of figures whose mean the place shows; 0 for a blank."""
    shows_n: bool = False
    share: str = ""
    """Per cent of the wire ceiling, if this share is to be shown next to the figure."""

    @property
    def words(self) -> str:
        """The printed text, such as ``94.10 (13)``; empty for a blank."""
        return f"{self.text} ({self.n})" if self.text and self.shows_n else self.text


@dataclass(frozen=True, slots=True)
class TableLine:
    """One row of a table: its heading, and a place for each column."""

    label: str
    places: tuple[TableCell, ...]
    cell: str = ""
    """Key of the run's cell that the line shows; empty if the line shows several cells."""
    kind: TableKind = "value"
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """One table with its footnotes."""

    title: str
    corner: str
    """Heading of the rows."""
    columns: tuple[str, ...]
    lines: tuple[TableLine, ...]
    footnotes: tuple[tuple[str, str], ...] = ()
    """(letter, sentence), in the order of their first use."""

    @property
    def heads(self) -> tuple[tuple[str, str], ...]:
        """(heading shared by several columns, heading of the column), from left to right."""
        return tuple(("", column) for column in self.columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class GridTable(Table):
    """A table of the trials of a grid: a column for each protocol and message size."""

    pairing: str
    conditions: str
    quantity: str
    keys: tuple[TableColumn, ...]
    """Protocol, message size and flow of each column."""
    has_half_widths: bool = False
    """Whether the figures are the half-widths (±) for the means of another table."""

    @property
    def heads(self) -> tuple[tuple[str, str], ...]:
        """(protocol, the rest of a column's heading)."""
        return tuple((key.protocol, key.label) for key in self.keys)

    @property
    def groups(self) -> tuple[tuple[str, int], ...]:
        """(protocol, number of its columns), from left to right."""
        names = [key.protocol for key in self.keys]
        return tuple((name, names.count(name)) for name in dict.fromkeys(names))


AnyTable = TypeVar("AnyTable", bound=Table)


def grid_table(
    keys: tuple[TableColumn, ...],
    corner: str,
    quantity: str,
    lines: Iterable[TableLine],
    footnotes: tuple[tuple[str, str], ...],
    *,
    pairing: str = "",
    conditions: str = "",
) -> GridTable:
    """A table of a grid, with a title such as ``LL, streams 4: throughput, Mbit/s``."""
    words = joined(", ", filter(None, (pairing, conditions)))
    return GridTable(
        title=joined(": ", [words, quantity]) if words else quantity,
        corner=corner,
        columns=tuple(key.words for key in keys),
        lines=tuple(lines),
        footnotes=footnotes,
        pairing=pairing,
        conditions=conditions,
        quantity=quantity,
        keys=keys,
    )


def blank(notes: tuple[str, ...] = ()) -> TableCell:
    """A place without a figure, with the letters of the notes that say why."""
    return TableCell(notes=notes, n=0)


def throughput_cell(value_bit_per_s: float, n: int = 1, **more: Any) -> TableCell:
    """A place with a throughput, printed in Mbit/s."""
    return TableCell(figure(value_bit_per_s / 1e6), value_bit_per_s, "bit/s", n=n, **more)


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a chart: points from left to right; a point without a value is a gap."""

    label: str
    place: int
    """Number of the look (colour, dashes, marker), from 0. A pairing has the same look in every
    chart of throughput."""
    points: tuple[tuple[float, float | None], ...]
    """(x, y) in the chart's units."""
    joined: bool = True
    marked: bool = True
    half_widths: tuple[float | None, ...] = ()
    """Half-width of each point's interval, in the chart's unit; ``None`` if it is unknown. Empty if
    no interval is known."""
    words: tuple[str, ...] = ()
    """The value in each dimension, such as the pairing; all lines have the same dimensions."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One of several small diagrams with a common x axis. Those of a chart have all axes in common,
    and the lines that have a panel's title in common; those of a strip have their own y axes.
    """

    title: str
    unit: str
    lines: tuple[Curve, ...]
    """Labels name the values that the title does not name; lines with equal labels look alike."""
    shares: tuple[Curve, ...] = ()
    """The lines in per cent of the wire ceiling, if the chart has shares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One diagram; y starts at zero unless ``from_zero`` is false or the axis is logarithmic."""

    name: str
    """Name of its files, without their ending."""
    title: str
    x_label: str
    x_ticks: tuple[tuple[float, str], ...]
    log_x: bool = False
    lines: tuple[Curve, ...]
    ceilings: tuple[Curve, ...] = ()
    quantity: str = _("throughput")
    unit: str = "Mbit/s"
    log_y: bool = False
    from_zero: bool = True
    decimal_marker: str = "."
    as_bars: bool = False
    """Whether the lines are bars side by side at each tick of the x axis, at x = 0, 1, 2, …"""
    panels: tuple[Panel, ...] = ()
    """The same lines in small diagrams, if one diagram would have too many lines; or empty."""
    shares: tuple[Curve, ...] = ()
    """The lines in per cent of the wire ceiling, if they overlap near the ceiling; or empty."""
    share_ceilings: tuple[Curve, ...] = ()
    """The ceilings in per cent of the first ceiling."""
    share_label: str = _("% of the wire ceiling")
    share_note: str = ""
    """Names the lines with shares that are not drawn because they are far from 100 %."""
    description: str = ""
    """``alt`` in the report's language."""

    @property
    def alt(self) -> str:
        """The description for readers who cannot see the diagram."""
        words = {"title": self.title, "unit": self.unit, "x_label": self.x_label}
        lines = joined(", ", [line.label for line in self.lines])
        sentences = [
            _("Bar chart: {title}, in {unit}, over {x_label}.", **words)
            if self.as_bars
            else _("Line chart: {title}, in {unit}, over {x_label}.", **words),
            counted(
                "{number} line: {lines}.", "{number} lines: {lines}.", len(self.lines), lines=lines
            ),
        ]
        if self.panels:
            names = joined("; ", [panel.title for panel in self.panels])
            sentences.append(_panel_count(len(self.panels), names))
        if self.ceilings:
            sentences.append(_("The wire ceiling is drawn as well."))
        if self.shares:
            sentences.append(_("Below, the same lines as shares of the wire ceiling."))
        if self.has_bars:
            sentences.append(_("Bars are the 95 % interval of each mean."))
        return self.description or joined(" ", [*sentences, _("The tables hold the same figures.")])

    @property
    def has_bars(self) -> bool:
        """Whether the interval of any point is known."""
        return any(half is not None for line in self.lines for half in line.half_widths)


def _panel_count(number: int, names: str) -> Message:
    return counted("{number} panel: {names}.", "{number} panels: {names}.", number, names=names)


@dataclass(frozen=True, slots=True)
class Band:
    """A named part of the x axis, shaded through all panels."""

    from_x: float
    until_x: float
    label: str


@dataclass(frozen=True, slots=True)
class Strip:
    """Several low diagrams one below the other, over one x axis, each with its own y scale."""

    name: str
    title: str
    x_label: str
    panels: tuple[Panel, ...]
    bands: tuple[Band, ...] = ()
    from_zero: bool = False
    """Whether y starts at zero; if not, zero is in the middle of each panel."""
    decimal_marker: str = "."
    description: str = ""

    @property
    def alt(self) -> str:
        """The description for readers who cannot see the diagrams."""
        if self.description:
            return self.description
        names = joined("; ", [joined(", ", [panel.title, panel.unit]) for panel in self.panels])
        head = _("Line charts: {title}, over {x_label}.", title=self.title, x_label=self.x_label)
        panels = _panel_count(len(self.panels), names)
        parts = joined(", ", [band.label for band in self.bands])
        shaded = [_("Shaded: {parts}.", parts=parts)] if self.bands else []
        ends = _("The exported table holds the same figures.")
        return joined(" ", [head, panels, *shaded, ends])


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap:
    """A square of figures with darker colours for larger figures; a blank place has no colour."""

    name: str
    title: str
    unit: str
    rows: tuple[str, ...]
    """Clients, from top to bottom."""
    columns: tuple[str, ...]
    """Servers, from left to right."""
    values: tuple[tuple[float | None, ...], ...]
    """A figure for each row and column; these define the scale of the colours."""
    inside: tuple[tuple[float | None, ...], ...]
    """Figures that are shown without a colour, because they are not comparable with ``values``."""
    x_label: str = _("server")
    y_label: str = _("client")
    inside_label: str = _("grey: within one machine, not on the scale")
    decimal_marker: str = "."
    description: str = ""

    @property
    def alt(self) -> str:
        """The description for readers who cannot see the map."""
        clients = counted("{number} client", "{number} clients", len(self.rows))
        servers = counted("{number} server", "{number} servers", len(self.columns))
        return self.description or _(
            "Map of colours: {title}, {clients} by {servers}. The table holds the same figures.",
            title=self.title,
            clients=clients,
            servers=servers,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One section of the page about a run: paragraphs, tables, charts."""

    name: str
    """The anchor of the section: small letters and hyphens."""
    title: str
    paragraphs: tuple[str, ...] = ()
    sheets: tuple[Table, ...] = ()
    charts: tuple[Chart | Strip | HeatMap, ...] = ()
    details: tuple[Table, ...] = ()
    """Further tables. The page shows them folded, below the charts; a terminal does not show
    them."""


@dataclass(slots=True)
class Notes:
    """Collects the footnotes of one table: equal sentences share a letter."""

    letters: dict[str, str] = field(default_factory=dict)

    def __call__(self, sentences: Iterable[str]) -> tuple[str, ...]:
        """The letters of these sentences, in order; a new sentence gets the next letter: a to z,
        then aa to az, ba …
        """
        letters = []
        for sentence in dict.fromkeys(sentences):
            text, number = "", len(self.letters) + 1
            while number:
                number, remainder = divmod(number - 1, 26)
                text = chr(ord("a") + remainder) + text
            letters.append(self.letters.setdefault(sentence_case(sentence), text))
        return tuple(sorted(letters, key=lambda letter: (len(letter), letter)))

    @property
    def footnotes(self) -> tuple[tuple[str, str], ...]:
        """(letter, sentence), in the order of their first use."""
        return tuple((letter, sentence) for sentence, letter in self.letters.items())


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """One sentence, with the places of the page that belong to it."""

    sentence: str
    cells: tuple[str, ...] = ()
    """Keys of the cells that the sentence is about, the most relevant cell first."""
    section: str = ""
    """Anchor of the page's section that has the numbers in a table."""
    table: int = 0
    """Number of the table in the section, from 1; 0 stands for the section as a whole."""


def table(
    title: str,
    corner: str,
    columns: Sequence[FigureColumn[Subject]],
    rows: Iterable[tuple[str, str, Subject]],
) -> Table:
    """A table with a line for each of ``rows``: its label, the key of the one cell that it is about
    (or empty), and what the columns are figures of.
    """
    notes = Notes()
    lines = []
    for label, cell, row in rows:
        places = tuple(_place(column.of(row), column, notes) for column in columns)
        lines.append(TableLine(label, places, cell))
    headings = tuple(column.heading for column in columns)
    return Table(title, corner, headings, tuple(lines), notes.footnotes)


def _place(shown: Shown | float | str | None, column: FigureColumn[Any], notes: Notes) -> TableCell:
    if isinstance(shown, str):
        return TableCell(shown)
    if not isinstance(shown, Shown):
        shown = Shown(shown)
    letters, text = notes(shown.why), shown.text
    if shown.value is None:
        return TableCell(text or "", notes=letters, cell=shown.cell, n=0)
    if text is None:
        whole = column.decimals == WHOLE
        text = f"{shown.value:,.0f}" if whole else figure(shown.value, column.decimals)
    return TableCell(text, shown.value, shown.unit or column.unit, letters, shown.cell)
