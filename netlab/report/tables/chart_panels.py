"""A chart → the same chart as small panels, and with shares of its ceiling. No I/O.

A panel is a small diagram with some of the lines. A ceiling is the highest possible value, such as
the highest payload rate that the link's framing allows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from netlab.messages import _, joined
from netlab.report.tables.elements import Chart, ChartPanel, Curve

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

    A chart is returned as it is if lines have no words or differ in their dimensions. With more
    than ``MOST_LINES`` lines there is a panel for each level of the dimension with the most
    levels. If a panel then has too many lines, there is a panel for each combination of the levels
    of two dimensions. A dimension is a position in ``Curve.words``, such as the pairing; a level is
    the word of a line at this position.
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
    title = chart.title
    if common:
        title = _("{title} ({conditions})", title=title, conditions=joined(", ", common))
    lines = tuple(
        replace(line, label=label) for line, label in zip(chart.lines, labels, strict=True)
    )
    return replace(chart, title=title, lines=lines, panels=_panels(lines, varying))


def _label(line: Curve, dimensions: Sequence[int]) -> str:
    return joined(", ", [line.words[at] for at in dimensions if line.words[at]])


def _panels(lines: Sequence[Curve], varying: Sequence[int]) -> tuple[ChartPanel, ...]:
    if len(lines) <= MOST_LINES or len(varying) < 2:
        return ()
    titled = _titling(lines, varying)
    if not titled:
        return ()
    rest = [at for at in varying if at not in titled]
    # With two dimensions the first one varies from left to right.
    orders = [list(dict.fromkeys(line.words[at] for line in lines)) for at in titled]
    groups: dict[tuple[str, ...], list[Curve]] = {}
    for line in lines:
        groups.setdefault(tuple(line.words[at] for at in titled), []).append(line)

    def place(words: tuple[str, ...]) -> list[int]:
        return [order.index(word) for word, order in zip(words, orders, strict=True)][::-1]

    labels = dict.fromkeys(_label(line, rest) for line in lines)
    looks = {label: at for at, label in enumerate(labels)}
    return tuple(
        ChartPanel(
            joined(", ", [word for word in words if word]),
            tuple(
                replace(line, label=(label := _label(line, rest)), place=looks[label])
                for line in groups[words]
            ),
        )
        for words in sorted(groups, key=place)
    )


def _titling(lines: Sequence[Curve], varying: Sequence[int]) -> tuple[int, ...]:
    """The dimensions in the panels' titles; empty if there would be too many panels."""
    fitting = [
        dimensions
        for number in (1, 2)
        for dimensions in combinations(varying, number)
        if len(dimensions) < len(varying) and len(_line_counts(lines, dimensions)) <= MOST_PANELS
    ]
    readable = [dims for dims in fitting if max(_line_counts(lines, dims).values()) <= MOST_LINES]
    single = [dims for dims in readable if len(dims) == 1]
    if single:
        return max(single, key=lambda dims: len(_line_counts(lines, dims)))
    if readable:
        return readable[0]
    return max(fitting, key=lambda dims: len(_line_counts(lines, dims)), default=())


def _line_counts(
    lines: Sequence[Curve], dimensions: Sequence[int]
) -> Mapping[tuple[str, ...], int]:
    """Words of these dimensions → the number of lines with these words."""
    counts: dict[tuple[str, ...], int] = {}
    for line in lines:
        key = tuple(line.words[at] for at in dimensions)
        counts[key] = counts.get(key, 0) + 1
    return counts


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
        if beyond:
            highest = max(highest, *beyond)
            some = _(
                "{line} ({some} of {all} points)",
                line=line.label,
                some=len(beyond),
                all=len(percents),
            )
            names.append(line.label if len(beyond) == len(percents) else some)
    if not names:
        return ""
    lines, least, most = joined("; ", names), f"{LEAST_PERCENT:.0f} %", f"{MOST_PERCENT:.0f} %"
    if highest < LEAST_PERCENT:
        return _("below {least}, not shown: {lines}", least=least, lines=lines)
    return _("outside {least} to {most}, not shown: {lines}", least=least, most=most, lines=lines)


def _share(line: Curve, ceiling: Curve) -> Curve:
    """The line in per cent of the ceiling at the same x; a gap if the ceiling is unknown there."""
    at = dict(ceiling.points)
    level = next(iter(at.values())) if len(set(at.values())) == 1 else None
    references = [at.get(x, level) for x, _y in line.points]
    halves = line.half_widths or (None,) * len(references)
    return replace(
        line,
        points=tuple(
            (x, _percent(y, reference))
            for (x, y), reference in zip(line.points, references, strict=True)
        ),
        half_widths=tuple(_percent(h, w) for h, w in zip(halves, references, strict=False)),
    )


def _percent(value: float | None, reference: float | None) -> float | None:
    return None if value is None or not reference else round(100 * value / reference, 9)


def _shown(shares: Sequence[Curve]) -> tuple[Curve, ...]:
    """The lines with only the points from ``LEAST_PERCENT`` to ``MOST_PERCENT``.

    A line without such a point is left out.
    """

    def shown(share: float | None) -> float | None:
        return share if share is not None and LEAST_PERCENT <= share <= MOST_PERCENT else None

    near = [
        replace(line, points=tuple((x, shown(share)) for x, share in line.points))
        for line in shares
    ]
    return tuple(line for line in near if any(y is not None for _x, y in line.points))


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
    return (low if low == NEAR_PERCENT else math.floor(low - 0.5)), (
        high if high == 101.0 else math.ceil(high + 0.5)
    )
