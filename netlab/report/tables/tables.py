"""The tables of throughput of each pairing, and the overview of their means.

A grid holds the trials of one pairing: a row for each value of one setting, a column for each
protocol, message size and direction. All other settings are the same in the whole grid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from netlab.ethernet import Link, above_tolerance
from netlab.messages import _, joined
from netlab.report.tables.elements import (
    MBIT_PER_S,
    GridTable,
    Notes,
    TableCell,
    TableKind,
    TableLine,
    blank,
    grid_table,
    throughput_cell,
)
from netlab.results.ceilings import Ceiling, ceiling_of
from netlab.results.labels import figure, setting_name, setting_value, systems
from netlab.results.layout import Bin, BinGrid, TableColumn, lost_share, of_pairing
from netlab.stats import MIN_TRIALS, interval, mean, median
from netlab.trial.figures import FEW_TRIALS
from netlab.trial.record import grouped

MAX_COLUMNS = 10
"""Maximum number of columns on a printed page. If there are more, each protocol has its own
tables."""

NOT_PLANNED = _("not requested by the matrix.")


@dataclass(frozen=True, slots=True)
class TableSection:
    """All tables of one pairing under one combination of settings."""

    grid: BinGrid
    subtitle: str
    """Systems and hosts at both ends."""
    tables: tuple[GridTable, ...]


def sections(
    layout: Sequence[BinGrid], link: Link | None, *, imported: bool
) -> tuple[TableSection, ...]:
    """The tables of each pairing: throughput, then loss and intervals if there are any."""
    made = []
    for grid in layout:
        tables: list[GridTable | None] = []
        for columns in _parts(grid.columns):
            narrow = _with_columns(grid, columns)
            throughput = _throughput(narrow, link, imported=imported)
            tables += [throughput, _lost(narrow), _half_widths(narrow)]
        found = tuple(table for table in tables if table is not None)
        made.append(TableSection(grid, _ends(grid), found))
    return tuple(made)


def overviews(layout: Sequence[BinGrid], link: Link | None = None) -> tuple[GridTable, ...]:
    """The means of all pairings, each with the number of its cells. There is no mean over pairings.

    With a ``link``, the share of the wire ceiling is given next to each mean.

    The result is one table, unless there are too many columns, or the combinations of settings
    differ in their columns. For example, with ``direction: both`` each direction has a column.
    """
    alike: dict[tuple[TableColumn, ...], list[BinGrid]] = {}
    for grids in grouped(layout, lambda grid: grid.conditions).values():
        columns = tuple(sorted({column for grid in grids for column in grid.columns}))
        alike.setdefault(columns, []).extend(grids)
    quantity = _("mean throughput, {unit} (number of cells)", unit=MBIT_PER_S)
    tables = []
    for every, grids in alike.items():
        for columns in _parts(every):
            notes = Notes()
            rows = []
            for grid in grids:
                label = of_pairing(grid.title, same_host=grid.same_host)
                means = tuple(_mean_of(grid, column, link, notes) for column in columns)
                rows.append(TableLine(label, means, kind="mean", unit=MBIT_PER_S))
            tables.append(grid_table(columns, _("pairing"), quantity, rows, notes.footnotes))
    return tuple(tables)


def _parts(columns: tuple[TableColumn, ...]) -> list[tuple[TableColumn, ...]]:
    if len(columns) <= MAX_COLUMNS:
        return [columns]
    parts = []
    for protocol in dict.fromkeys(column.protocol for column in columns):
        part = tuple(column for column in columns if column.protocol == protocol)
        parts += [part[at : at + MAX_COLUMNS] for at in range(0, len(part), MAX_COLUMNS)]
    return parts


def _with_columns(grid: BinGrid, columns: tuple[TableColumn, ...]) -> BinGrid:
    bins = {(row, column): bin_ for (row, column), bin_ in grid.bins.items() if column in columns}
    return replace(grid, columns=columns, bins=bins)


def _mean_of(grid: BinGrid, column: TableColumn, link: Link | None, notes: Notes) -> TableCell:
    places = grid.column(column)
    figures = [mean(p.throughputs_bit_per_s) for p in places if p.throughputs_bit_per_s]
    if figures:
        value, ceiling = mean(figures), ceiling_of(column, places, link)
        share = "" if ceiling is None else figure(100 * value / ceiling.highest_bit_per_s)
        return throughput_cell(value, len(figures), shows_n=True, share=share)
    reasons = [record.why_blank for place in places for record in place.blanks]
    return blank(notes(reasons or [NOT_PLANNED]))


def _throughput(grid: BinGrid, link: Link | None, *, imported: bool) -> GridTable:
    notes = Notes()
    ceilings = {c: ceiling_of(c, grid.column(c), link) for c in grid.columns}
    repeated = any(len(place.records) > 1 for place in grid.bins.values())

    def entry(place: Bin, column: TableColumn) -> TableCell:
        figures, sentences, ceiling = place.throughputs_bit_per_s, _why(place), ceilings[column]
        value = mean(figures) if figures else None
        if value is not None and ceiling and ceiling.is_exceeded_by(value, imported=imported):
            above = _(
                "more than {percent} % above the wire ceiling: a clock or the stated link rate is "
                "wrong.",
                percent=f"{100 * above_tolerance(imported=imported):g}",
            )
            sentences.append(above)
        more: dict[str, Any] = {"notes": notes(sentences), "shows_n": repeated, "cell": place.cell}
        if value is None:
            return TableCell(n=0, **more)
        return throughput_cell(value, len(figures), **more)

    body = _body(grid, MBIT_PER_S, notes, entry)
    summary = [
        _summary(_("mean"), "mean", mean, body),
        _summary(_("median"), "median", median, body),
    ]
    if any(ceilings.values()):
        summary += _ceiling_rows(list(ceilings.values()), summary[0], notes)
    quantity = _("throughput, {unit}", unit=MBIT_PER_S)
    if repeated:
        quantity = _("throughput, {unit} (number of trials)", unit=MBIT_PER_S)
    return _table(grid, quantity, [*body, *summary], notes)


def _summary(
    label: str,
    kind: TableKind,
    of: Callable[[Sequence[float]], float],
    body: Sequence[TableLine],
) -> TableLine:
    """A row with the mean or the median of each column, over the cells that have a figure, and with
    the number of these cells.
    """
    entries = []
    for column in zip(*(row.places for row in body), strict=True):
        figures = [entry.value for entry in column if entry.value is not None]
        if figures:
            entries.append(throughput_cell(of(figures), len(figures), shows_n=kind == "mean"))
        else:
            letters = dict.fromkeys(letter for entry in column for letter in entry.notes)
            entries.append(blank(tuple(letters)))
    return TableLine(label, tuple(entries), kind=kind, unit=MBIT_PER_S)


def _ceiling_rows(
    ceilings: Sequence[Ceiling | None], means: TableLine, notes: Notes
) -> list[TableLine]:
    ceiling_entries, efficiency_entries = [], []
    for ceiling, entry in zip(ceilings, means.places, strict=True):
        if ceiling is None:
            why_none = _("no ceiling: the protocol cannot carry such a message.")
            no_ceiling = blank(notes([why_none]))
            ceiling_entries.append(no_ceiling)
            efficiency_entries.append(no_ceiling)
            continue
        timestamps = _(
            "without TCP timestamps; whether they were used is not recorded. With them the ceiling "
            "is {ceiling}.",
            ceiling=f"{figure(ceiling.lowest_bit_per_s / 1e6)} Mbit/s",
        )
        letters = notes([] if ceiling.is_known else [timestamps])
        ceiling_entries.append(throughput_cell(ceiling.highest_bit_per_s, notes=letters))
        efficiency = blank(entry.notes)
        if entry.value is not None:
            share = 100 * entry.value / ceiling.highest_bit_per_s
            efficiency = TableCell(figure(share), share, "%", n=entry.n)
        efficiency_entries.append(efficiency)
    return [
        TableLine(_("wire ceiling"), tuple(ceiling_entries), kind="ceiling", unit=MBIT_PER_S),
        TableLine(_("mean / ceiling, %"), tuple(efficiency_entries), kind="efficiency", unit="%"),
    ]


def _lost(grid: BinGrid) -> GridTable | None:
    """The share of the sent messages that was lost; ``None`` if nothing was lost."""
    columns = tuple(column for column in grid.columns if column.protocol == "UDP")
    if not any(
        flow.lost_messages for c in columns for place in grid.column(c) for flow in place.flows
    ):
        return None
    notes = Notes()

    def entry(place: Bin, _column: TableColumn) -> TableCell:
        share = lost_share(place.flows)
        uncounted = [_("not counted.")] if place.flows and share is None else []
        letters = notes([*_why(place), *uncounted])
        if share is None:
            return TableCell(notes=letters)
        return TableCell(figure(share), share, "%", letters)

    narrow = _with_columns(grid, columns)
    rows = _body(narrow, "%", notes, entry)
    return _table(narrow, _("lost, % of the messages sent"), rows, notes)


def _half_widths(grid: BinGrid) -> GridTable | None:
    """Half-widths of the means' 95 % intervals; ``None`` if no cell has enough trials."""
    if not any(len(p.throughputs_bit_per_s) >= MIN_TRIALS for p in grid.bins.values()):
        return None
    notes = Notes()

    def entry(place: Bin, _column: TableColumn) -> TableCell:
        figures = place.throughputs_bit_per_s
        if len(figures) >= MIN_TRIALS:
            return throughput_cell(interval(figures).half_width, len(figures), shows_n=True)
        return blank(notes([FEW_TRIALS] if figures else _why(place)))

    rows = _body(grid, MBIT_PER_S, notes, entry)
    quantity = _(
        "95 % interval of the mean (Student’s t): ± {unit} (number of trials)", unit=MBIT_PER_S
    )
    return replace(_table(grid, quantity, rows, notes), has_half_widths=True)


def _body(
    grid: BinGrid, unit: str, notes: Notes, entry: Callable[[Bin, TableColumn], TableCell]
) -> list[TableLine]:
    """The rows of a grid. A place that the matrix did not request is a blank with that reason."""
    rows = []
    for row in grid.rows:
        entries = []
        for column in grid.columns:
            place = grid.bins.get((row, column))
            entries.append(entry(place, column) if place else blank(notes([NOT_PLANNED])))
        label = setting_value(grid.row_setting, row)
        rows.append(TableLine(label, tuple(entries), unit=unit))
    return rows


def _table(grid: BinGrid, quantity: str, rows: Sequence[TableLine], notes: Notes) -> GridTable:
    return grid_table(
        grid.columns,
        setting_name(grid.row_setting),
        quantity,
        rows,
        notes.footnotes,
        pairing=of_pairing(grid.pairing, same_host=grid.same_host),
        conditions=grid.conditions,
    )


def _why(place: Bin) -> list[str]:
    """A sentence for each reason why trials of a place have no figure."""
    sentences = [record.why_blank for record in place.blanks]
    if not place.throughputs_bit_per_s:
        return sentences
    counted_sentences: list[str] = []
    for why in dict.fromkeys(sentences):
        of = {"some": sentences.count(why), "total": len(place.records), "why": why}
        begins = why[0].isupper()
        counted_sentences.append(
            _("{some} of {total} trials: {why}", **of)
            if begins
            else _("{some} of {total} trials {why}", **of)
        )
    return counted_sentences


def _ends(grid: BinGrid) -> str:
    hosts = dict.fromkeys((r.server, r.client) for r in grid.records if r.server and r.client)
    words = [systems(grid.pairing)] if systems(grid.pairing) else []
    words += [
        _("{server} serves {client}", server=server, client=client) for server, client in hosts
    ]
    if grid.same_host:
        words.append(_("same host: no cable was touched"))
    return joined("; ", words)
