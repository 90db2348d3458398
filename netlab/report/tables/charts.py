"""Layout of the tables → diagrams of throughput; small panels, and shares of the wire ceiling.

A grid holds the trials of one pairing under one combination of settings. A panel is a small diagram
with some of the lines.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, groupby, pairwise
from operator import attrgetter

from netlab.ethernet import IpVersion, Link, Protocol, ceiling_bit_per_s, fragments, ip_version_of
from netlab.messages import _, joined
from netlab.report.tables.elements import Chart, Curve, Panel
from netlab.results.ceilings import ceiling_of
from netlab.results.labels import setting_name, setting_value
from netlab.results.layout import Bin, BinGrid, LevelValue, TableColumn, of_pairing
from netlab.stats import MIN_TRIALS, interval, mean
from netlab.trial.record import FLOWS

WIRE_CEILING = _("wire ceiling")

MAX_CHARTS = 32
"""Maximum number of diagrams of a run; the tables have the figures of the other diagrams."""

_CURVE_STEPS = 120

_EVEN_STEPS = 3
"""Rows whose steps differ by more than this factor are spaced evenly, not at their values."""


def charts(layout: Sequence[BinGrid], link: Link | None) -> tuple[tuple[Chart, ...], int]:
    """(at most ``MAX_CHARTS`` diagrams of a run, number of diagrams that are left out).

    The first charts show mean throughput over message size, for each combination of settings and
    protocol; the next show throughput over the setting that forms the rows, for each message size
    too. A chart with a single place on its x axis, or without any figure, is left out.
    """
    by_name: dict[str, Chart] = {}
    for chart in _all(layout, link):
        if len(chart.x_ticks) > 1 and chart.lines:
            name = chart.name
            while name in by_name:
                name += "-2"
            by_name[name] = replace(with_shares(in_panels(chart)), name=name)
    return tuple(by_name.values())[:MAX_CHARTS], max(0, len(by_name) - MAX_CHARTS)


def _all(layout: Sequence[BinGrid], link: Link | None) -> Iterator[Chart]:
    groups = [
        [grid for grid in layout if grid.conditions == conditions]
        for conditions in dict.fromkeys(grid.conditions for grid in layout)
    ]
    pairings = list(dict.fromkeys(grid.pairing for grid in layout))
    columns_of = [sorted({column for grid in grids for column in grid.columns}) for grids in groups]
    for grids, columns in zip(groups, columns_of, strict=True):
        for _protocol, of_protocol in groupby(columns, attrgetter("protocol")):
            yield _over_message_size(list(of_protocol), grids, pairings, link)
    for grids, columns in zip(groups, columns_of, strict=True):
        for _size, of_size in groupby(columns, attrgetter("protocol", "message_bytes")):
            yield _over_rows(list(of_size), grids, pairings, link)


def _over_message_size(
    columns: Sequence[TableColumn],
    grids: Sequence[BinGrid],
    pairings: Sequence[str],
    link: Link | None,
) -> Chart:
    protocol, conditions = columns[0].protocol, grids[0].conditions
    sizes = sorted({column.message_bytes for column in columns})
    lines = []
    for grid in grids:
        for flow in dict.fromkeys(column.flow for column in columns):
            by_size = [TableColumn(protocol, size, flow) for size in sizes]
            points: list[tuple[float, float | None]] = []
            for column in by_size:
                figures = [_figure(grid, row, column) for row in grid.rows]
                numbers = [value for value in figures if value is not None]
                points.append((float(column.message_bytes), mean(numbers) if numbers else None))
            bars = [_half_width(grid.column(column)) for column in by_size]
            lines.append(_line(grid, flow, pairings, points, bars))
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
    first, name, conditions = columns[0], grids[0].row_setting, grids[0].conditions
    protocol, size = first.protocol, first.message_bytes
    places = _places(tuple(dict.fromkeys(row for grid in grids for row in grid.rows)))
    lines = []
    for grid in grids:
        for column in columns:
            points: list[tuple[float, float | None]] = []
            bars: list[float | None] = []
            for row, x in places.items():
                if points and (isinstance(row, bool) or not isinstance(row, int | float)):
                    # Lines join only rows that are numbers.
                    points.append(((points[-1][0] + x) / 2, None))
                    bars.append(None)
                points.append((x, _figure(grid, row, column)))
                place = grid.bins.get((row, column))
                bars.append(_half_width([place]) if place else None)
            lines.append(_line(grid, column.flow, pairings, points, bars))
    return Chart(
        name=_name(setting_name(name), protocol, str(size), conditions),
        title=_title(
            _("{protocol}, messages of {size} bytes", protocol=protocol, size=size), conditions
        ),
        x_label=setting_name(name),
        x_ticks=tuple((x, setting_value(name, row)) for row, x in places.items()),
        lines=_with_points(lines),
        ceilings=_levels(columns, grids, link, (min(places.values()), max(places.values()))),
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


def _figure(grid: BinGrid, row: LevelValue, column: TableColumn) -> float | None:
    place = grid.bins.get((row, column))
    figures = place.throughputs_bit_per_s if place else ()
    return mean(figures) / 1e6 if figures else None


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
    words = (of_pairing(grid.pairing, same_host=grid.same_host), FLOWS[flow])
    place = pairings.index(grid.pairing) + len(pairings) * max(0, list(FLOWS).index(flow) - 1)
    widths = half_widths if any(half is not None for half in half_widths) else ()
    label = joined(", ", filter(None, words))
    return Curve(label, place, tuple(points), half_widths=tuple(widths), words=words)


def _with_points(lines: Sequence[Curve]) -> tuple[Curve, ...]:
    return tuple(line for line in lines if any(y is not None for _, y in line.points))


def _levels(
    columns: Sequence[TableColumn],
    grids: Sequence[BinGrid],
    link: Link | None,
    ends: tuple[float, float],
) -> tuple[Curve, ...]:
    """The ceilings as horizontal lines: the highest, and the lowest if it differs."""
    known = [ceiling_of(column, grid.column(column), link) for grid in grids for column in columns]
    ceilings = [ceiling for ceiling in known if ceiling]
    if not ceilings:
        return ()
    highest = max(ceiling.highest_bit_per_s for ceiling in ceilings) / 1e6
    lowest = min(ceiling.lowest_bit_per_s for ceiling in ceilings) / 1e6
    levels = {WIRE_CEILING: highest}
    if lowest < highest:
        levels[_("ceiling with timestamps")] = lowest
    return tuple(
        Curve(label, index, tuple((x, value) for x in ends))
        for index, (label, value) in enumerate(levels.items())
    )


def _curves(
    columns: Sequence[TableColumn],
    sizes: Sequence[int],
    grids: Sequence[BinGrid],
    link: Link | None,
) -> tuple[Curve, ...]:
    """The wire ceiling over the message size: level for TCP, a saw-tooth for UDP."""
    places = [place for grid in grids for column in columns for place in grid.column(column)]
    wired = [record for place in places for record in place.records if not record.same_host]
    if link is None or not wired:
        return ()
    if columns[0].protocol != "UDP":
        return _levels(columns, grids, link, (float(sizes[0]), float(sizes[-1])))
    return ceiling_curve("UDP", sizes, link, ip_version=ip_version_of(wired[0].settings))


def ceiling_curve(
    protocol: Protocol,
    sizes: Sequence[int],
    link: Link,
    *,
    ip_version: IpVersion,
    timestamps: bool = True,
) -> tuple[Curve, ...]:
    """The wire ceiling at ``curve_sizes``, without the sizes that the protocol cannot carry."""
    points: list[tuple[float, float | None]] = []
    for size in curve_sizes(sizes, link.mtu_bytes, ip_version):
        try:
            ceiling = ceiling_bit_per_s(
                link,
                protocol,
                size,
                link.mtu_bytes,
                ip_version=ip_version,
                timestamps=timestamps,
            )
        except ValueError:
            continue
        points.append((float(size), ceiling / 1e6))
    return (Curve(WIRE_CEILING, 0, tuple(points)),) if points else ()


def curve_sizes(sizes: Sequence[int], mtu_bytes: int, ip_version: IpVersion) -> list[int]:
    """The message sizes at which a curve is computed: ``sizes``, sizes that are evenly spaced on a
    logarithmic axis, and those at which the curve jumps, which are the longest message that fits
    into a number of fragments, and one byte more.
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


def _title(words: str, conditions: str) -> str:
    if not conditions:
        return words
    return _("{title} ({conditions})", title=words, conditions=conditions)


def _name(*words: str) -> str:
    """A file name made of words: small letters, digits and hyphens, at most 100 characters."""
    return re.sub(r"[^a-z0-9]+", "-", "-".join(words).lower()).strip("-")[:100]


MOST_LINES = 4
"""Maximum number of lines of a diagram. ``in_panels`` puts more lines in panels where possible."""
MOST_PANELS = 12
NEAR_PERCENT = 90.0
"""A point at this share or above counts as near the ceiling."""
LEAST_PERCENT, MOST_PERCENT = 80.0, 110.0
"""Shares outside these bounds are not drawn: with their scale, the lines near the ceiling would
overlap. Such points are far below the ceiling, or belong to hosts with no cable between them."""


def in_panels(chart: Chart) -> Chart:
    """The chart with panels. Labels name the levels that differ, the title names the common levels.

    A chart is returned as it is if lines have no words or differ in their dimensions (positions in
    ``Curve.words``; a level is a word there). With more than ``MOST_LINES`` lines there is a panel
    for each level of the dimension with the most levels, or for each combination of levels of two
    dimensions if a panel would still have too many lines.
    """
    dimensions = {len(line.words) for line in chart.lines}
    if len(chart.lines) < 2 or len(dimensions) > 1 or 0 in dimensions:
        return chart
    positions = range(dimensions.pop())
    varying = [at for at in positions if len({line.words[at] for line in chart.lines}) > 1]
    labels = [_label(line, varying) for line in chart.lines]
    if len(set(labels)) < len(labels):
        return chart
    common = [word for at in positions if at not in varying and (word := chart.lines[0].words[at])]
    lines = tuple(
        replace(line, label=label) for line, label in zip(chart.lines, labels, strict=True)
    )
    title = _title(chart.title, joined(", ", common))
    return replace(chart, title=title, lines=lines, panels=_panels(lines, varying, chart.unit))


def _label(line: Curve, dimensions: Sequence[int]) -> str:
    return joined(", ", [line.words[at] for at in dimensions if line.words[at]])


def _panels(lines: Sequence[Curve], varying: Sequence[int], unit: str) -> tuple[Panel, ...]:
    if len(lines) <= MOST_LINES or len(varying) < 2:
        return ()
    titled = _titling(lines, varying)
    if not titled:
        return ()
    rest = [at for at in varying if at not in titled]
    labels = list(dict.fromkeys(_label(line, rest) for line in lines))
    # With two dimensions the first one varies from left to right.
    orders = [list(dict.fromkeys(line.words[at] for line in lines)) for at in titled]

    def place(words: tuple[str, ...]) -> list[int]:
        return [order.index(word) for word, order in zip(words, orders, strict=True)][::-1]

    panels: dict[tuple[str, ...], list[Curve]] = {}
    for line in lines:
        label = _label(line, rest)
        words = tuple(line.words[at] for at in titled)
        panels.setdefault(words, []).append(replace(line, label=label, place=labels.index(label)))
    return tuple(
        Panel(joined(", ", filter(None, words)), unit, tuple(panels[words]))
        for words in sorted(panels, key=place)
    )


def _titling(lines: Sequence[Curve], varying: Sequence[int]) -> tuple[int, ...]:
    """The dimensions in the panels' titles; empty if there would be too many panels."""
    # Dimensions → their words → the number of lines with these words.
    counts = {
        dimensions: Counter(tuple(line.words[at] for at in dimensions) for line in lines)
        for number in (1, 2)
        for dimensions in combinations(varying, number)
        if len(dimensions) < len(varying)
    }
    fitting = [dimensions for dimensions, count in counts.items() if len(count) <= MOST_PANELS]
    readable = [dims for dims in fitting if max(counts[dims].values()) <= MOST_LINES]
    single = [dims for dims in readable if len(dims) == 1]
    if readable and not single:
        return readable[0]
    return max(single or fitting, key=lambda dims: len(counts[dims]), default=())


def with_shares(chart: Chart) -> Chart:
    """The chart with shares of its first ceiling, if more than half of the points are near it.

    Points outside ``LEAST_PERCENT`` to ``MOST_PERCENT`` are gaps, and the note names their lines.
    """
    if not chart.ceilings or chart.as_bars or chart.log_y:
        return chart
    ceiling = chart.ceilings[0]
    shares = [_share(line, ceiling) for line in chart.lines]
    percents = [y for line in shares for _x, y in line.points if y is not None]
    if 2 * sum(NEAR_PERCENT <= y <= MOST_PERCENT for y in percents) <= len(percents):
        return chart
    return replace(
        chart,
        shares=_shown(shares),
        share_ceilings=tuple(_share(curve, ceiling) for curve in chart.ceilings),
        share_note=_note(shares),
        panels=tuple(
            replace(panel, shares=_shown([_share(line, ceiling) for line in panel.lines]))
            for panel in chart.panels
        ),
    )


def _note(shares: Sequence[Curve]) -> str:
    """Names the lines with points that are not shown; empty if all points are shown."""
    names: list[str] = []
    highest = 0.0
    for line in shares:
        percents = [y for _x, y in line.points if y is not None]
        beyond = [y for y in percents if not LEAST_PERCENT <= y <= MOST_PERCENT]
        if not beyond:
            continue
        highest = max(highest, *beyond)
        of = {"line": line.label, "some": len(beyond), "all": len(percents)}
        is_some = len(beyond) < len(percents)
        names.append(_("{line} ({some} of {all} points)", **of) if is_some else line.label)
    if not names:
        return ""
    lines, least, most = joined("; ", names), f"{LEAST_PERCENT:.0f} %", f"{MOST_PERCENT:.0f} %"
    if highest < LEAST_PERCENT:
        return _("below {least}, not shown: {lines}", least=least, lines=lines)
    return _("outside {least} to {most}, not shown: {lines}", least=least, most=most, lines=lines)


def _share(line: Curve, ceiling: Curve) -> Curve:
    """The line in per cent of the ceiling at the same x; a gap if the ceiling is unknown there."""

    def percent(value: float | None, reference: float | None) -> float | None:
        return None if value is None or not reference else round(100 * value / reference, 9)

    at = dict(ceiling.points)
    level = next(iter(at.values())) if len(set(at.values())) == 1 else None
    references = [at.get(x, level) for x, _y in line.points]
    points = ((x, percent(y, of)) for (x, y), of in zip(line.points, references, strict=True))
    halves = line.half_widths or (None,) * len(references)
    return replace(line, points=tuple(points), half_widths=tuple(map(percent, halves, references)))


def _shown(shares: Sequence[Curve]) -> tuple[Curve, ...]:
    """The lines that have points from ``LEAST_PERCENT`` to ``MOST_PERCENT``, with only these
    points.
    """

    def shown(share: float | None) -> float | None:
        return share if share is not None and LEAST_PERCENT <= share <= MOST_PERCENT else None

    return _with_points(
        [
            replace(line, points=tuple((x, shown(share)) for x, share in line.points))
            for line in shares
        ]
    )


def share_range(chart: Chart) -> tuple[float, float]:
    """(lowest, highest) per cent of an axis that holds every share and its interval.

    If 90 to 101 holds all of them, the axis has this range.
    """
    low, high = NEAR_PERCENT, 101.0
    for line in (*chart.shares, *chart.share_ceilings):
        halves = line.half_widths or (None,) * len(line.points)
        for (_x, y), half in zip(line.points, halves, strict=False):
            if y is not None:
                low, high = min(low, y - (half or 0)), max(high, y + (half or 0))
    low = low if low == NEAR_PERCENT else math.floor(low - 0.5)
    return low, high if high == 101.0 else math.ceil(high + 0.5)
