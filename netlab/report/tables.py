"""Readings → Tables: the tables of the lab report as plain nouns, for every writer. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from netlab.header import LinkLike
from netlab.report.ceilings import IMPORTED_TOLERANCE, TOLERANCE, Ceiling, ceiling_of
from netlab.report.layout import Bin, Column, Grid, Layout
from netlab.report.words import figure, setting_name, setting_value, systems
from netlab.stats import MIN_TRIALS, interval, mean, median

Kind = Literal["value", "mean", "median", "ceiling", "efficiency", "all"]
Unit = Literal["Mbit/s", "%"]

NOT_PLANNED = "not asked for by the matrix."


@dataclass(frozen=True, slots=True)
class Entry:
    """One place of a table. A blank has no value, and notes that say why."""

    value: float | None
    """bit/s, or per cent."""
    n: int = 1
    """How many figures it is the mean of; 0 where it is blank."""
    notes: tuple[str, ...] = ()
    """Letters of the table's footnotes."""
    shows_n: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its heading and an entry a column."""

    label: str
    kind: Kind
    unit: Unit
    entries: tuple[Entry, ...]

    def text(self, entry: Entry) -> str:
        """An entry's figure as printed, without its n and notes; empty for a blank."""
        if entry.value is None:
            return ""
        return figure(entry.value / 1e6 if self.unit == "Mbit/s" else entry.value)


@dataclass(frozen=True, slots=True)
class Table:
    """One table with its footnotes."""

    pairing: str
    conditions: str
    quantity: str
    """What its figures are, with their unit."""
    corner: str
    """Heading of the rows."""
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    footnotes: tuple[tuple[str, str], ...]
    """(letter, sentence), in the order of their first use."""

    @property
    def groups(self) -> tuple[tuple[str, int], ...]:
        """(protocol, number of its columns), from left to right."""
        names = [column.protocol for column in self.columns]
        return tuple((name, names.count(name)) for name in dict.fromkeys(names))

    @property
    def caption(self) -> str:
        """``LL, streams 4: throughput, Mbit/s``."""
        words = ", ".join(word for word in (self.pairing, self.conditions) if word)
        return f"{words}: {self.quantity}" if words else self.quantity


@dataclass(frozen=True, slots=True)
class Section:
    """All tables of one pairing under one combination of settings."""

    grid: Grid
    subtitle: str
    """Systems and hosts at both ends."""
    tables: tuple[Table, ...]


@dataclass(slots=True)
class _Notes:
    """Footnotes of one table: equal sentences share a letter."""

    letters: dict[str, str] = field(default_factory=dict)

    def __call__(self, sentences: Iterable[str]) -> tuple[str, ...]:
        return tuple(
            self.letters.setdefault(each[:1].upper() + each[1:], _letter(len(self.letters)))
            for each in dict.fromkeys(sentences)
        )

    @property
    def footnotes(self) -> tuple[tuple[str, str], ...]:
        return tuple((letter, sentence) for sentence, letter in self.letters.items())


def sections(layout: Layout, link: LinkLike | None, *, imported: bool) -> tuple[Section, ...]:
    """The tables of each pairing: throughput, and beside it loss and intervals where there are."""
    return tuple(
        Section(
            grid,
            _ends(grid),
            tuple(
                table
                for table in (
                    _throughput(grid, link, imported=imported),
                    _lost(grid),
                    _half_widths(grid),
                )
                if table is not None
            ),
        )
        for grid in layout.grids
    )


def overview(layout: Layout) -> Table:
    """The means of all pairings, each with its n; then the mean over all that used a cable."""
    columns = tuple(sorted({column for grid in layout.grids for column in grid.columns}))
    notes = _Notes()
    rows: list[Row] = []
    for conditions in dict.fromkeys(grid.conditions for grid in layout.grids):
        grids = [grid for grid in layout.grids if grid.conditions == conditions]
        for grid in grids:
            label = f"{grid.title} (same host)" if grid.same_host else grid.title
            means = tuple(_mean_of([grid], column, notes) for column in columns)
            rows.append(Row(label, "mean", "Mbit/s", means))
        wired = [grid for grid in grids if not grid.same_host]
        if len(wired) > 1:
            label = ", ".join(word for word in ("all pairings", conditions) if word)
            means = tuple(_mean_of(wired, column, notes) for column in columns)
            rows.append(Row(label, "all", "Mbit/s", means))
    return Table(
        pairing="",
        conditions="",
        quantity="mean throughput, Mbit/s (number of cells)",
        corner="pairing",
        columns=columns,
        rows=tuple(rows),
        footnotes=notes.footnotes,
    )


def _mean_of(grids: Sequence[Grid], column: Column, notes: _Notes) -> Entry:
    """The mean over the cells that have a figure; a blank tells why none has."""
    places = [place for grid in grids for place in grid.column(column)]
    figures = [mean(p.throughputs_bit_per_s) for p in places if p.throughputs_bit_per_s]
    if figures:
        return Entry(mean(figures), len(figures), shows_n=True)
    reasons = [reading.why_blank for place in places for reading in place.blanks]
    return Entry(None, 0, notes(reasons or [NOT_PLANNED]))


def _throughput(grid: Grid, link: LinkLike | None, *, imported: bool) -> Table:
    notes = _Notes()
    ceilings = {c: ceiling_of(c, grid.column(c), link) for c in grid.columns}
    repeated = any(len(place.readings) > 1 for place in grid.bins.values())

    def entry(place: Bin, column: Column) -> Entry:
        figures = place.throughputs_bit_per_s
        value = mean(figures) if figures else None
        sentences = _why(place)
        ceiling = ceilings[column]
        if value is not None and ceiling and ceiling.is_exceeded_by(value, imported=imported):
            sentences.append(_above(imported=imported))
        return Entry(value, len(figures), notes(sentences), shows_n=repeated)

    body = _body(grid, "Mbit/s", notes, entry)
    summary = [
        _summary("mean", "mean", mean, body, notes),
        _summary("median", "median", median, body, notes),
    ]
    if any(ceilings.values()):
        summary += _ceiling_rows(list(ceilings.values()), summary[0], notes)
    repeats = " (number of trials)" if repeated else ""
    return _table(grid, f"throughput, Mbit/s{repeats}", [*body, *summary], notes)


def _summary(
    label: str,
    kind: Kind,
    of: Callable[[Sequence[float]], float],
    body: Sequence[Row],
    notes: _Notes,
) -> Row:
    """A row that sums up each column over the cells that have a figure, with their number."""
    entries = []
    for column in zip(*(row.entries for row in body), strict=True):
        figures = [entry.value for entry in column if entry.value is not None]
        if figures:
            entries.append(Entry(of(figures), len(figures), shows_n=kind == "mean"))
        else:
            letters = dict.fromkeys(letter for entry in column for letter in entry.notes)
            entries.append(Entry(None, 0, tuple(letters)))
    return Row(label, kind, "Mbit/s", tuple(entries))


def _ceiling_rows(ceilings: Sequence[Ceiling | None], means: Row, notes: _Notes) -> list[Row]:
    ceiling_entries, efficiency_entries = [], []
    for ceiling, entry in zip(ceilings, means.entries, strict=True):
        if ceiling is None:
            letters = notes(["no ceiling: the protocol cannot carry such a message."])
            ceiling_entries.append(Entry(None, 0, letters))
            efficiency_entries.append(Entry(None, 0, letters))
            continue
        letters = () if ceiling.is_known else notes([_range(ceiling)])
        ceiling_entries.append(Entry(ceiling.highest_bit_per_s, 1, letters))
        share = None if entry.value is None else 100 * entry.value / ceiling.highest_bit_per_s
        efficiency_entries.append(Entry(share, entry.n, () if share is not None else entry.notes))
    return [
        Row("wire ceiling", "ceiling", "Mbit/s", tuple(ceiling_entries)),
        Row("mean / ceiling, %", "efficiency", "%", tuple(efficiency_entries)),
    ]


def _lost(grid: Grid) -> Table | None:
    """The share of the sent messages that was lost; ``None`` where nothing was."""
    columns = [column for column in grid.columns if column.protocol == "UDP"]
    if not any(
        flow.lost_messages for c in columns for place in grid.column(c) for flow in place.flows
    ):
        return None
    notes = _Notes()

    def entry(place: Bin, _: Column) -> Entry:
        counts = [
            (flow.lost_messages, flow.sent_messages)
            for flow in place.flows
            if flow.lost_messages is not None and flow.sent_messages
        ]
        lost, sent = (sum(side) for side in zip(*counts, strict=True)) if counts else (0, 0)
        uncounted = ["not counted."] if place.flows and not counts else []
        share = 100 * lost / sent if sent else None
        return Entry(share, len(counts), notes([*_why(place), *uncounted]))

    narrow = Grid(
        grid.pairing, grid.conditions, grid.row_setting, grid.rows, tuple(columns), grid.bins
    )
    rows = _body(narrow, "%", notes, entry)
    return _table(narrow, "lost, % of the messages sent", rows, notes)


def _half_widths(grid: Grid) -> Table | None:
    """How far the mean of repeated trials is certain; ``None`` where no cell has enough."""
    if not any(len(p.throughputs_bit_per_s) >= MIN_TRIALS for p in grid.bins.values()):
        return None
    notes = _Notes()

    def entry(place: Bin, _: Column) -> Entry:
        figures = place.throughputs_bit_per_s
        if len(figures) >= MIN_TRIALS:
            return Entry(interval(figures).half_width, len(figures), shows_n=True)
        few = f"fewer than {MIN_TRIALS} trials have a result, so that there is no interval."
        return Entry(None, 0, notes([*_why(place), few]))

    rows = _body(grid, "Mbit/s", notes, entry)
    quantity = "95 % interval of the mean (Student’s t): ± Mbit/s (number of trials)"
    return _table(grid, quantity, rows, notes)


def _body(
    grid: Grid, unit: Unit, notes: _Notes, entry: Callable[[Bin, Column], Entry]
) -> list[Row]:
    """A row a level; a place that the matrix left out says so."""
    rows = []
    for row in grid.rows:
        entries = []
        for column in grid.columns:
            place = grid.bins.get((row, column))
            left_out = Entry(None, 0) if place else Entry(None, 0, notes([NOT_PLANNED]))
            entries.append(entry(place, column) if place else left_out)
        rows.append(Row(setting_value(grid.row_setting, row), "value", unit, tuple(entries)))
    return rows


def _table(grid: Grid, quantity: str, rows: Sequence[Row], notes: _Notes) -> Table:
    return Table(
        pairing=f"{grid.pairing} (same host)" if grid.same_host else grid.pairing,
        conditions=grid.conditions,
        quantity=quantity,
        corner=setting_name(grid.row_setting),
        columns=grid.columns,
        rows=tuple(rows),
        footnotes=notes.footnotes,
    )


def _why(place: Bin) -> list[str]:
    """A sentence for each reason why trials of a place have no figure."""
    sentences = [reading.why_blank for reading in place.blanks]
    if not place.throughputs_bit_per_s:
        return sentences
    total = len(place.readings)
    return [
        f"{sentences.count(each)} of {total} trials {each}" for each in dict.fromkeys(sentences)
    ]


def _ends(grid: Grid) -> str:
    """Who is at both ends, as far as it is known."""
    hosts = dict.fromkeys((r.server, r.client) for r in grid.readings if r.server and r.client)
    words = [systems(grid.pairing)] if systems(grid.pairing) else []
    words += [f"{server} serves {client}" for server, client in hosts]
    if grid.same_host:
        words.append("same host: no cable was touched")
    return "; ".join(words)


def _above(*, imported: bool) -> str:
    percent = 100 * (IMPORTED_TOLERANCE if imported else TOLERANCE)
    return (
        f"above the wire ceiling by more than {percent:g} %: a clock, or the rate stated for the "
        "link, is not what it is taken for."
    )


def _range(ceiling: Ceiling) -> str:
    return (
        "without TCP timestamps; whether they were in use is not recorded. With them the ceiling "
        f"is {figure(ceiling.lowest_bit_per_s / 1e6)} Mbit/s."
    )


def _letter(index: int) -> str:
    """a to z, then aa to az, ba …"""
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(ord("a") + rest) + letters
    return letters
