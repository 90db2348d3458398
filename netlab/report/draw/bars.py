"""Draws bar charts: groups of bars side by side, with the ceilings as lines across each group.

A ceiling is the highest possible value at each place of the axis, such as the line rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from netlab.report.draw.palette import CEILING_DASHES, HATCHES, LOOKS, PAPER, QUIET
from netlab.report.tables.elements import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDE = 0.8
"""Width of a group of bars, as a share of the distance between the middles of two groups."""


def draw_bars(axes: Axes, lines: Sequence[Curve], ceilings: Sequence[Curve]) -> None:
    """Draw the curves of a chart as bars, and its ceilings as lines across each group of bars.

    The x values of two groups differ by a whole number. A point without a value is a gap.
    """
    wide = _WIDE / max(1, len(lines))
    for number, line in enumerate(lines):
        shift = wide * (number - (len(lines) - 1) / 2)
        points = [(x, y) for x, y in line.points if y is not None]
        axes.bar(
            [x + shift for x, _ in points],
            [y for _, y in points],
            width=0.94 * wide,
            label=line.label,
            color=LOOKS[line.place % len(LOOKS)],
            hatch=HATCHES[line.place % len(HATCHES)] or None,
            edgecolor=PAPER,
            linewidth=0.6,
            zorder=2,
        )
    for ceiling in ceilings:
        points = [(x, y) for x, y in ceiling.points if y is not None]
        axes.hlines(
            [y for _, y in points],
            [x - _WIDE / 2 - 0.03 for x, _ in points],
            [x + _WIDE / 2 + 0.03 for x, _ in points],
            label=ceiling.label,
            color=QUIET,
            linestyle=CEILING_DASHES[ceiling.place % len(CEILING_DASHES)],
            linewidth=1.6,
            zorder=3,
        )
