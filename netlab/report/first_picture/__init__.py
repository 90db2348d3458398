"""Chooses and makes the pictures at the top of the page, from records, charts and verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import islice

from netlab.compare.align import Judged
from netlab.ethernet import Link
from netlab.experiment.cells import Comparison
from netlab.experiment.hosts import is_by_name
from netlab.messages import Message, _, joined
from netlab.report.first_picture import scenes
from netlab.report.first_picture.scenes import FirstPicture, HeatPanel, IntervalRow, Spot, titled
from netlab.report.sections.comparisons import in_words, interval_words
from netlab.report.sections.latency_under_load import chart_names
from netlab.report.sections.pairs import INSIDE, NOT_REQUESTED, PairMatrix, pair_matrices
from netlab.report.tables.elements import Chart, Strip
from netlab.results.ceilings import ceiling_of
from netlab.results.labels import figure, setting_value
from netlab.results.layout import BinGrid, Layout, LevelValue, TableColumn
from netlab.results.quantities import names_of
from netlab.stats import MARGIN, mean
from netlab.trial.figures import pooled
from netlab.trial.record import Record, by_cell

MOST = 2
"""Maximum number of pictures at the top of the page."""
MOST_PLACES = 1200
"""Maximum number of places (coloured squares) of a heat map; the tables show all figures."""
MOST_ROWS = 14
_SHARES = tuple(Fraction(*share) for share in ((1, 100), (1, 4), (1, 2), (3, 4), (99, 100)))
"""Percentiles of a distribution: whiskers at 1 and 99 %, a box from 25 to 75 %, the median."""
_LOG_FROM = 8
"""Times that differ by more than this factor are on a logarithmic axis."""


def pictures(
    records: Sequence[Record],
    layout: Layout,
    link: Link | None,
    charts: Sequence[object],
    verdicts: Sequence[tuple[Comparison, Sequence[Judged]]],
) -> tuple[FirstPicture, ...]:
    """Up to ``MOST`` pictures, in the order of the answers; the picture of comparisons is last."""
    diagrams = [chart for chart in charts if isinstance(chart, Chart)]
    candidates = [*_hosts(records), *_streams(layout, link, diagrams), *_trips(records)]
    # Round trips and load over time, for the cell whose round trips increase most under load.
    names = chart_names(records)
    increases = {
        names[record.cell]: record.number("increase_ns") or 0.0
        for record in records
        if record.cell in names
    }
    strips = [chart for chart in charts if isinstance(chart, Strip) and chart.name in increases]
    if strips:
        candidates.append(
            scenes.strip_picture(max(strips, key=lambda strip: increases[strip.name]))
        )
    # The first chart that has one of these beginnings.
    for beginnings in (("payload-udp", "payload-"), ("rate-without-loss-share",)):
        named = (c for start in beginnings for c in diagrams if c.name.startswith(start))
        candidates += [scenes.chart_picture(chart) for chart in islice(named, 1)]
    forest = [*_forest(verdicts)]
    return (*candidates[: MOST - len(forest)], *forest)


def _hosts(records: Sequence[Record]) -> list[FirstPicture]:
    """A heat map of clients and servers per quantity, as shares of the highest over a cable."""
    by_name = [record for record in records if is_by_name(record.pairing)]
    if not by_name:
        return []
    boards = pair_matrices(by_name)
    small_boards = [board for board in boards if len(board.roles) ** 2 <= MOST_PLACES][:2]
    if not small_boards:
        return []
    panels = [_host_panel(board) for board in small_boards]
    unit = small_boards[0].quantity.unit
    title = _("{unit} by client (row) and server (column)", unit=unit)
    return [scenes.heat_picture(title, panels, of_what=_("% of the highest value over a cable"))]


def _host_panel(board: PairMatrix) -> HeatPanel:
    values = [spot.value for spot in board.spots.values() if not spot.inside and spot.value]
    most = max(values, default=1.0)
    rows = []
    for client in board.roles:
        row: list[Spot | None] = []
        for server in board.roles:
            pair, head = board.spots.get((client, server)), f"{client} → {server}"
            if pair is None or pair.value is None:
                inside = pair is not None and pair.inside
                why = NOT_REQUESTED if pair is None else pair.records[0].why_blank
                title = titled(head, why, INSIDE) if inside else titled(head, why)
                row.append(Spot(None, "", title, "" if pair is None else pair.records[0].cell))
                continue
            value = joined(" ", [figure(pair.value), board.quantity.unit])
            title = titled(head, value, INSIDE) if pair.inside else titled(head, value)
            share = 100 * pair.value / most
            words = f"{pair.value:.0f}"
            row.append(Spot(share, words, title, pair.records[0].cell, pair.inside))
        rows.append(tuple(row))
    return HeatPanel(board.title, board.roles, board.roles, tuple(rows))


def _streams(layout: Layout, link: Link | None, charts: Sequence[Chart]) -> list[FirstPicture]:
    """A heat map if two settings vary, lines if one varies, otherwise the trials of a few cells."""
    grids = [grid for grid in layout.grids if grid.bins]
    if not grids:
        return []
    rows = max(len(grid.rows) for grid in grids)
    columns = max(len(grid.columns) for grid in grids)
    several = (rows > 1 and columns > 1) or (len(grids) > 2 and rows * columns > 2)
    if several and len(grids[0].rows) * len(grids[0].columns) <= MOST_PLACES:
        return [_map(grids, link)]
    by_axis = [
        chart for chart in charts if chart.name.startswith(("message-size", "socket-buffer"))
    ]
    if rows * columns > 2 and by_axis:
        return [scenes.chart_picture(by_axis[0])]
    return _trials(grids, link)


def _map(grids: Sequence[BinGrid], link: Link | None) -> FirstPicture:
    has_ceilings = any(ceiling_of(c, g.column(c), link) for g in grids for c in g.columns)
    throughputs = [bin_.throughputs_bit_per_s for grid in grids for bin_ in grid.bins.values()]
    most = max((mean(values) for values in throughputs if values), default=1.0)
    panels: list[HeatPanel] = []
    places = 0
    for grid in grids:
        places += len(grid.rows) * len(grid.columns)
        if places > MOST_PLACES and panels:
            break
        wholes: dict[TableColumn, float | None] = {}
        for column in grid.columns:
            ceiling = ceiling_of(column, grid.column(column), link)
            default = None if has_ceilings else most
            wholes[column] = default if ceiling is None else ceiling.highest_bit_per_s
        rows = tuple(setting_value(grid.row_setting, row) for row in grid.rows)
        columns = tuple(column.words for column in grid.columns)
        spots = (
            tuple(_spot(grid, row, column, wholes[column]) for column in grid.columns)
            for row in grid.rows
        )
        panels.append(HeatPanel(grid.brief_title, rows, columns, tuple(spots)))
    title = _("Share of the wire ceiling, %") if has_ceilings else _("Throughput")
    # The title already names shares of the ceiling, so the legend does not repeat them.
    of_what = "" if has_ceilings else _("% of the highest value of this run")
    return scenes.heat_picture(_partly(title, len(panels), len(grids)), panels, of_what=of_what)


def _spot(
    grid: BinGrid, row: LevelValue, column: TableColumn, reference_bit_per_s: float | None
) -> Spot | None:
    """A place: throughput as a share of the reference, if known; ``None`` if not planned."""
    place = grid.bins.get((row, column))
    head = joined(", ", [grid.pairing, column.words, setting_value(grid.row_setting, row)])
    if place is None:
        return None
    throughputs = place.throughputs_bit_per_s
    if not throughputs:
        reasons = {record.why_blank for record in place.blanks}
        return Spot(None, "", titled(head, *reasons), place.cell)
    value = joined(" ", [figure(mean(throughputs) / 1e6), "Mbit/s"])
    if reference_bit_per_s is None:
        return Spot(None, "", titled(head, value), place.cell)
    share = 100 * mean(throughputs) / reference_bit_per_s
    title = titled(head, value, joined(" ", [figure(share, 1), "%"]))
    return Spot(share, f"{share:.0f}", title, place.cell, grid.same_host)


def _trials(grids: Sequence[BinGrid], link: Link | None) -> list[FirstPicture]:
    """A row for each cell, with each trial as a dot: throughput as a share of the ceiling."""
    rows = []
    for grid in grids:
        for (_row, column), place in grid.bins.items():
            ceiling = ceiling_of(column, [place], link)
            throughputs = place.throughputs_bit_per_s
            if ceiling is None or len(throughputs) < 2:
                continue
            shares = tuple(100 * value / ceiling.highest_bit_per_s for value in throughputs)
            label = joined(" ", [grid.pairing, column.words])
            ends = mean(shares), min(shares), max(shares)
            rows.append(IntervalRow(label, *ends, dots=shares, description=label, cell=place.cell))
    if not rows:
        return []
    axis = scenes.Axis(_("% of the wire ceiling"), level=100.0)
    title = _("Throughput of each trial as a share of the wire ceiling")
    return [scenes.interval_picture(title, title, rows, axis)]


def _trips(records: Sequence[Record]) -> list[FirstPicture]:
    """The distribution of the round trips of each cell: quartiles, 1st and 99th percentile."""
    trips = [r for r in records if r.test in ("round_trip", "connect") and r.status == "ok"]
    trips = [r for r in trips if not is_by_name(r.pairing)]
    names, several = names_of(trips, brief=True), len({r.pairing for r in trips}) > 1
    every = []
    for cell, trials in by_cell(trips).items():
        histogram = pooled(trials)
        if histogram is None or histogram.count < 100:
            continue
        low, first, middle, third, high = (
            (histogram.percentile(share) or 0) / 1e3 for share in _SHARES
        )
        label = joined(" ", [trials[0].pairing, names[cell]]) if several else names[cell]
        words = titled(label, joined(" ", [figure(middle, 1), "µs"]))
        box = first, third
        every.append(IntervalRow(label, middle, low, high, box, description=words, cell=cell))
    rows = every[:MOST_ROWS]
    if not rows:
        return []
    ends = [value for row in rows for value in (row.low, row.high) if value]
    axis = scenes.Axis("µs", logarithmic=max(ends) > _LOG_FROM * min(ends))
    title = _("Round trips: median, middle half, and 1st to 99th percentile")
    title = _partly(title, len(rows), len(every))
    return [scenes.interval_picture(title, title, rows, axis)]


def _partly(title: Message, count: int, total: int) -> Message:
    """The title; if ``count`` is less than ``total``, both numbers are added."""
    if count == total:
        return title
    return _("{title} (the first {shown} of {all})", title=title, shown=str(count), all=str(total))


def _forest(verdicts: Sequence[tuple[Comparison, Sequence[Judged]]]) -> Iterator[FirstPicture]:
    """A row with ratio and interval for each pair of cells and quantity."""
    rows: list[IntervalRow] = []
    count = total = 0
    for comparison, pairs in verdicts:
        interval_pairs = [pair for pair in pairs if pair.verdict.low and pair.verdict.high]
        for quantity in dict.fromkeys(pair.aligned.quantity for pair in interval_pairs):
            group = [pair for pair in interval_pairs if pair.aligned.quantity is quantity]
            total += len(group)
            if rows and len(rows) + len(group) >= MOST_ROWS + 6:
                continue
            count += len(group)
            rows.append(IntervalRow(titled(comparison.name, quantity.name)))
            for pair in group:
                verdict, own = pair.verdict, pair.aligned
                words = in_words(verdict, quantity, taken_back=pair.taken_back, paired=own.paired)
                row = IntervalRow(
                    *(own.label, verdict.ratio, verdict.low, verdict.high),
                    shown=verdict.verdict == "different",
                    description=titled(own.label, words, interval_words(verdict)),
                    cell=own.cells[1],
                )
                rows.append(row)
    if not rows:
        return
    margin = 1 / (1 + MARGIN), 1 + MARGIN
    label = _("ratio, contender to baseline; shaded: equivalent")
    axis = scenes.Axis(label, logarithmic=True, level=1.0, margin=margin)
    title = _partly(_("Comparisons: ratio and 95 % interval"), count, total)
    meaning = _(
        "Filled: different, corrected for all comparisons of the run. Hollow: no difference shown."
    )
    if not any(row.shown for row in rows if row.middle is not None):
        meaning = _("Hollow: no difference shown, corrected for all comparisons of the run.")
    description = joined(". ", [title, meaning])
    yield scenes.interval_picture(title, description, rows, axis, (("", meaning),))
