"""A bar chart, drawn: groups of bars side by side, with what is theoretically possible over each.

With plot.py and heat_map.py the only rooms that know matplotlib.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from netlab.report.tables.elements import Chart

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDE = 0.8
"""Of the room between two places of the axis, what a group of bars takes."""
_QUIET = "#6b737b"
_CEILING_DASHES: tuple[str | tuple[float, tuple[float, ...]], ...] = ("-", (0, (2, 1)), (0, (1, 1)))


def draw_bars(axes: Axes, chart: Chart, colours: Sequence[str], hatches: Sequence[str]) -> None:
    """Draw the lines of a chart as bars and its ceilings as lines across each group.

    The places of the axis are a whole number apart. A point without a value is a gap.
    """
    wide = _WIDE / max(1, len(chart.lines))
    for number, line in enumerate(chart.lines):
        left = wide * (number - (len(chart.lines) - 1) / 2)
        known = [(x, y) for x, y in line.points if y is not None]
        axes.bar(
            [x + left for x, _ in known],
            [y for _, y in known],
            width=0.94 * wide,
            label=line.label,
            color=colours[line.place % len(colours)],
            hatch=hatches[line.place // len(colours) % len(hatches)] or None,
            edgecolor="white",
            linewidth=0.6,
            zorder=2,
        )
    for ceiling in chart.ceilings:
        known = [(x, y) for x, y in ceiling.points if y is not None]
        axes.hlines(
            [y for _, y in known],
            [x - _WIDE / 2 - 0.03 for x, _ in known],
            [x + _WIDE / 2 + 0.03 for x, _ in known],
            label=ceiling.label,
            color=_QUIET,
            linestyle=_CEILING_DASHES[ceiling.place % len(_CEILING_DASHES)],
            linewidth=1.6,
            zorder=3,
        )
