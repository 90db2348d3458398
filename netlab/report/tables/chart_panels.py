"""A chart → the same as small panels, and with shares of its ceiling. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from netlab.messages import _, joined
from netlab.report.tables.elements import Chart, ChartPanel, Curve

MOST_LINES = 4
"""More lines than this become panels, where their words allow it."""
MOST_PANELS = 12
NEAR_PERCENT = 90.0
"""From here on a point is near the ceiling."""
LEAST_PERCENT, MOST_PERCENT = 80.0, 110.0
"""Points outside are left out of the shares, or those near the ceiling were one line: far below,
or of hosts that no cable is between."""


def in_panels(chart: Chart) -> Chart:
    """The chart with labels of what varies, the rest said once in its title, and its panels.

    Lines without words, or with other dimensions than the rest, are left as they are. More than
    ``MOST_LINES`` lines get a panel for each level of the dimension with the most levels; where
    that leaves too many lines in one, for each combination of two dimensions.
    """
    dimensions = {len(line.words) for line in chart.lines}
    if len(chart.lines) < 2 or len(dimensions) > 1 or 0 in dimensions:
        return chart
    every = range(dimensions.pop())
    varying = [at for at in every if len({line.words[at] for line in chart.lines}) > 1]
    labels = [_label(line, varying) for line in chart.lines]
    if len(set(labels)) < len(labels):
        return chart
    common = [word for at in every if at not in varying and (word := chart.lines[0].words[at])]
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
    # Of two dimensions the first goes from left to right.
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
    """The dimensions that the panels are entitled by; none where they make too many panels."""
    fitting = [
        dimensions
        for number in (1, 2)
        for dimensions in combinations(varying, number)
        if len(dimensions) < len(varying) and len(_most(lines, dimensions)) <= MOST_PANELS
    ]
    few = [each for each in fitting if max(_most(lines, each).values()) <= MOST_LINES]
    one = [each for each in few if len(each) == 1]
    if one:
        return max(one, key=lambda each: len(_most(lines, each)))
    if few:
        return few[0]
    return max(fitting, key=lambda each: len(_most(lines, each)), default=())


def _most(lines: Sequence[Curve], dimensions: Sequence[int]) -> Mapping[tuple[str, ...], int]:
    """How many lines each combination of words has."""
    found: dict[tuple[str, ...], int] = {}
    for line in lines:
        key = tuple(line.words[at] for at in dimensions)
        found[key] = found.get(key, 0) + 1
    return found


def with_shares(chart: Chart) -> Chart:
    """The chart with shares of its first ceiling, where most of its points are near it.

    Points outside of ``LEAST_PERCENT`` to ``MOST_PERCENT`` are gaps, and the note names their
    lines.
    """
    if not chart.ceilings or chart.as_bars or chart.log_y:
        return chart
    ceiling = chart.ceilings[0]
    shares = [_share(line, ceiling) for line in chart.lines]
    found = [y for line in shares for _x, y in line.points if y is not None]
    if 2 * sum(NEAR_PERCENT <= y <= MOST_PERCENT for y in found) <= len(found):
        return chart
    return replace(
        chart,
        shares=_shown(shares),
        share_ceilings=tuple(_share(each, ceiling) for each in chart.ceilings),
        share_note=_note(shares),
        panels=tuple(
            replace(panel, shares=_shown([_share(line, ceiling) for line in panel.lines]))
            for panel in chart.panels
        ),
    )


def _note(shares: Sequence[Curve]) -> str:
    """Which points are not shown, where there are such."""
    named: list[str] = []
    highest = 0.0
    for line in shares:
        found = [y for _x, y in line.points if y is not None]
        beyond = [y for y in found if not LEAST_PERCENT <= y <= MOST_PERCENT]
        if beyond:
            highest = max(highest, *beyond)
            some = _(
                "{line} ({some} of {all} points)", line=line.label, some=len(beyond), all=len(found)
            )
            named.append(line.label if len(beyond) == len(found) else some)
    if not named:
        return ""
    lines, least, most = joined("; ", named), f"{LEAST_PERCENT:.0f} %", f"{MOST_PERCENT:.0f} %"
    if highest < LEAST_PERCENT:
        return _("below {least}, not shown: {lines}", least=least, lines=lines)
    return _("outside {least} to {most}, not shown: {lines}", least=least, most=most, lines=lines)


def _share(line: Curve, ceiling: Curve) -> Curve:
    """In per cent of the ceiling at the same place; a gap where that is not known."""
    at = dict(ceiling.points)
    level = next(iter(at.values())) if len(set(at.values())) == 1 else None
    wholes = [at.get(x, level) for x, _y in line.points]
    halves = line.half_widths or (None,) * len(wholes)
    return replace(
        line,
        points=tuple(
            (x, _percent(y, whole)) for (x, y), whole in zip(line.points, wholes, strict=True)
        ),
        half_widths=tuple(_percent(h, w) for h, w in zip(halves, wholes, strict=False)),
    )


def _percent(value: float | None, whole: float | None) -> float | None:
    return None if value is None or not whole else round(100 * value / whole, 9)


def _shown(shares: Sequence[Curve]) -> tuple[Curve, ...]:
    """What of them is not far from the ceiling."""

    def shown(share: float | None) -> float | None:
        return share if share is not None and LEAST_PERCENT <= share <= MOST_PERCENT else None

    near = [
        replace(line, points=tuple((x, shown(share)) for x, share in line.points))
        for line in shares
    ]
    return tuple(line for line in near if any(y is not None for _x, y in line.points))


def share_range(chart: Chart) -> tuple[float, float]:
    """(lowest, highest) per cent of an axis on which every share and its interval is seen.

    90 to 101 where that holds them.
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
