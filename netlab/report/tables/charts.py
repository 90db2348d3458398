"""The diagrams of throughput as plain data, made from the layout of the tables. No I/O.

A grid holds the trials of one pairing (server and client) under one combination of settings, in
rows and columns. A cell is one combination of test, pairing (server and client) and settings; a
trial is one measurement of a cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from netlab.ethernet import IpVersion, ceiling_bit_per_s, fragments, ip_version_of
from netlab.experiment.matrix import Link
from netlab.experiment.records import FLOWS
from netlab.messages import _, joined
from netlab.report.tables.chart_panels import in_panels, with_shares
from netlab.report.tables.elements import Chart, Curve
from netlab.results.ceilings import Ceiling, ceiling_of
from netlab.results.labels import setting_name, setting_value
from netlab.results.layout import Bin, BinGrid, Layout, LevelValue, TableColumn, of_pairing
from netlab.stats import MIN_TRIALS, interval, mean

WIRE_CEILING = _("wire ceiling")

MAX_CHARTS = 32
"""Maximum number of diagrams of a run; the tables have the figures of the other diagrams."""

_CURVE_STEPS = 120

_EVEN_STEPS = 3
"""Rows whose steps differ by more than this factor are spaced evenly, not at their values."""


def charts(layout: Layout, link: Link | None) -> tuple[tuple[Chart, ...], int]:
    """(at most ``MAX_CHARTS`` diagrams of a run, number of diagrams that are left out).

    The first charts show mean throughput over message size: one chart for each combination of
    settings and protocol. The next charts show throughput over the setting that forms the rows:
    one chart for each combination, protocol and message size. A chart with a single place on its x
    axis, or without any figure, is left out. Many lines are put in panels, and lines near
    the ceiling are also shown as shares of the ceiling.
    """
    by_name: dict[str, Chart] = {}
    for chart in _all(layout, link):
        if _is_worth_drawing(chart):
            name = chart.name
            while name in by_name:
                name += "-2"
            by_name[name] = replace(with_shares(in_panels(chart)), name=name)
    return tuple(by_name.values())[:MAX_CHARTS], max(0, len(by_name) - MAX_CHARTS)


def _all(layout: Layout, link: Link | None) -> Iterator[Chart]:
    combinations = dict.fromkeys(grid.conditions for grid in layout.grids)
    groups = [
        [grid for grid in layout.grids if grid.conditions == conditions]
        for conditions in combinations
    ]
    pairings = list(dict.fromkeys(grid.pairing for grid in layout.grids))
    for grids in groups:
        columns = sorted({column for grid in grids for column in grid.columns})
        for protocol in dict.fromkeys(column.protocol for column in columns):
            of_protocol = [column for column in columns if column.protocol == protocol]
            yield _over_message_size(protocol, of_protocol, grids, pairings, link)
    for grids in groups:
        columns = sorted({column for grid in grids for column in grid.columns})
        sizes = dict.fromkeys((column.protocol, column.message_bytes) for column in columns)
        for protocol, size in sizes:
            of_size = [c for c in columns if (c.protocol, c.message_bytes) == (protocol, size)]
            yield _over_rows(of_size, grids, pairings, link)


def _over_message_size(
    protocol: str,
    columns: Sequence[TableColumn],
    grids: Sequence[BinGrid],
    pairings: Sequence[str],
    link: Link | None,
) -> Chart:
    sizes = sorted({column.message_bytes for column in columns})
    lines = []
    for grid in grids:
        for flow in dict.fromkeys(column.flow for column in columns):
            by_size = [TableColumn(protocol, size, flow) for size in sizes]
            means = [_mean_of_cells(grid, column) for column in by_size]
            points = list(zip(map(float, sizes), means, strict=True))
            bars = [_half_width(grid.column(column)) for column in by_size]
            lines.append(_line(grid, flow, pairings, points, bars))
    conditions = grids[0].conditions
    return Chart(
        name=_name("message-size", protocol, conditions),
        title=_title(
            _("{protocol}: mean throughput by message size", protocol=protocol), conditions
        ),
        x_label=_("message size, bytes"),
        x_ticks=tuple((float(size), str(size)) for size in sizes),
        log_x=True,
        lines=_with_points(lines),
        ceilings=_curves(columns, sizes, grids, link),
    )


def _over_rows(
    columns: Sequence[TableColumn],
    grids: Sequence[BinGrid],
    pairings: Sequence[str],
    link: Link | None,
) -> Chart:
    first, name = columns[0], grids[0].row_setting
    protocol, size = first.protocol, first.message_bytes
    rows = tuple(dict.fromkeys(row for grid in grids for row in grid.rows))
    places = _places(rows)
    lines, ceilings = [], []
    for grid in grids:
        for column in columns:
            points = _points(grid, places, column)
            cells = {x: grid.bins.get((row, column)) for row, x in places.items()}
            bars = [_half_width([cell]) if (cell := cells.get(x)) else None for x, _ in points]
            lines.append(_line(grid, column.flow, pairings, points, bars))
            ceilings.append(ceiling_of(column, grid.column(column), link))
    conditions = grids[0].conditions
    ends = (min(places.values()), max(places.values()))
    return Chart(
        name=_name(setting_name(name), protocol, str(size), conditions),
        title=_title(
            _("{protocol}, messages of {size} bytes", protocol=protocol, size=size), conditions
        ),
        x_label=setting_name(name),
        x_ticks=tuple((x, setting_value(name, row)) for row, x in places.items()),
        log_x=False,
        lines=_with_points(lines),
        ceilings=tuple(
            Curve(label, index, tuple((x, value) for x in ends))
            for index, (label, value) in enumerate(
                _levels([ceiling for ceiling in ceilings if ceiling])
            )
        ),
    )


def _places(rows: Sequence[LevelValue]) -> dict[LevelValue, float]:
    """The x of each row: its value, or evenly spaced places if the values are spaced too unevenly.

    A single row without a number, such as ``auto``, is one and a half steps right of the numbers.
    """
    numbers = sorted(
        row for row in rows if isinstance(row, int | float) and not isinstance(row, bool)
    )
    labels = [row for row in rows if isinstance(row, bool) or row not in numbers]
    steps = [next_number - number for number, next_number in pairwise(numbers)]
    if not steps or len(labels) > 1 or max(steps) > _EVEN_STEPS * min(steps):
        return {row: float(index) for index, row in enumerate([*numbers, *labels])}
    places: dict[LevelValue, float] = {row: float(row) for row in numbers}
    places |= dict.fromkeys(labels, numbers[-1] + 1.5 * steps[-1])
    return places


def _points(
    grid: BinGrid, places: dict[LevelValue, float], column: TableColumn
) -> list[tuple[float, float | None]]:
    """The figures of a column from left to right; lines join only rows that are numbers."""
    points: list[tuple[float, float | None]] = []
    for row, x in places.items():
        if points and (isinstance(row, bool) or not isinstance(row, int | float)):
            points.append(((points[-1][0] + x) / 2, None))
        points.append((x, _figure(grid, row, column)))
    return points


def _figure(grid: BinGrid, row: LevelValue, column: TableColumn) -> float | None:
    place = grid.bins.get((row, column))
    figures = place.throughputs_bit_per_s if place else ()
    return mean(figures) / 1e6 if figures else None


def _mean_of_cells(grid: BinGrid, column: TableColumn) -> float | None:
    figures = [_figure(grid, row, column) for row in grid.rows]
    numbers = [value for value in figures if value is not None]
    return mean(numbers) if numbers else None


def _half_width(places: Sequence[Bin]) -> float | None:
    """Half-width of the interval of one cell's mean. Several different cells have no interval."""
    figures = places[0].throughputs_bit_per_s if len(places) == 1 else ()
    return interval(figures).half_width / 1e6 if len(figures) >= MIN_TRIALS else None


def _line(
    grid: BinGrid,
    flow: str,
    pairings: Sequence[str],
    points: Sequence[tuple[float, float | None]],
    half_widths: Sequence[float | None],
) -> Curve:
    words = [of_pairing(grid.pairing, same_host=grid.same_host), FLOWS[flow]]
    place = pairings.index(grid.pairing) + len(pairings) * max(0, list(FLOWS).index(flow) - 1)
    widths = half_widths if any(half is not None for half in half_widths) else ()
    label = joined(", ", [word for word in words if word])
    return Curve(label, place, tuple(points), half_widths=tuple(widths), words=tuple(words))


def _with_points(lines: Sequence[Curve]) -> tuple[Curve, ...]:
    return tuple(line for line in lines if any(y is not None for _, y in line.points))


def _levels(ceilings: Sequence[Ceiling]) -> Iterator[tuple[str, float]]:
    """The ceilings to draw as horizontal lines: the highest, and the lowest if it differs."""
    if not ceilings:
        return
    highest = max(ceiling.highest_bit_per_s for ceiling in ceilings) / 1e6
    lowest = min(ceiling.lowest_bit_per_s for ceiling in ceilings) / 1e6
    yield WIRE_CEILING, highest
    if lowest < highest:
        yield _("ceiling with timestamps"), lowest


def _curves(
    columns: Sequence[TableColumn],
    sizes: Sequence[int],
    grids: Sequence[BinGrid],
    link: Link | None,
) -> tuple[Curve, ...]:
    """The wire ceiling (highest payload rate of the link) as a curve over the message size.

    The curve is a horizontal line for TCP, and a saw-tooth for UDP.
    """
    places = [place for grid in grids for column in columns for place in grid.column(column)]
    wired = [record for place in places for record in place.records if not record.same_host]
    if link is None or not wired:
        return ()
    if columns[0].protocol != "UDP":
        levels = [
            ceiling_of(column, grid.column(column), link) for grid in grids for column in columns
        ]
        return tuple(
            Curve(label, index, tuple((float(x), value) for x in (sizes[0], sizes[-1])))
            for index, (label, value) in enumerate(_levels([level for level in levels if level]))
        )
    ip_version = ip_version_of(wired[0].settings)
    points = []
    for size in curve_sizes(sizes, link.mtu_bytes, ip_version):
        try:
            ceiling = ceiling_bit_per_s(
                link.rate_bit_per_s,
                "UDP",
                size,
                link.mtu_bytes,
                ip_version=ip_version,
                vlan=link.vlan,
            )
        except ValueError:
            continue
        points.append((float(size), ceiling / 1e6))
    return (Curve(WIRE_CEILING, 0, tuple(points)),) if points else ()


def curve_sizes(sizes: Sequence[int], mtu_bytes: int, ip_version: IpVersion) -> list[int]:
    """The message sizes at which a curve is computed, from the smallest of ``sizes`` to the
    largest.

    They are ``sizes``, sizes that are evenly spaced on a logarithmic axis, and the sizes at which
    the curve jumps: the longest message that fits into a number of fragments, and one byte more.
    """
    first, last = sizes[0], sizes[-1]
    ratio = last / first
    even = {round(first * ratio ** (i / _CURVE_STEPS)) for i in range(_CURVE_STEPS + 1)}
    full_bytes = max(mtu_bytes - (48 if ip_version == 6 else 28), 1)
    teeth: set[int] = set()
    size = full_bytes
    while size < last and len(teeth) < 200:
        teeth |= {size, size + 1}
        try:
            packets = fragments(size + 1, mtu_bytes=mtu_bytes, ip_version=ip_version)
        except ValueError:
            break
        # The next message that fills its frames is longer by the room left in the last fragment.
        size += 1 + packets[0] - packets[-1]
    return sorted(size for size in even | teeth | set(sizes) if first <= size <= last)


def _is_worth_drawing(chart: Chart) -> bool:
    return len(chart.x_ticks) > 1 and bool(chart.lines)


def _title(words: str, conditions: str) -> str:
    if not conditions:
        return words
    return _("{title} ({conditions})", title=words, conditions=conditions)


def _name(*words: str) -> str:
    """A file name made of words: small letters, digits and hyphens, at most 100 characters."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(words).lower()).strip("-")[:100]
