"""Draws curves into axes: lines with markers, intervals, ceilings.

A ceiling is the highest possible value, such as the highest payload rate of the link.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from netlab.report.draw.palette import CEILING_DASHES, DASHES, LOOKS, MARKERS, PAPER, QUIET
from netlab.report.draw.sizes import Format
from netlab.report.tables.elements import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FEW_POINTS = 40
"""A line with more points than this has markers only at the ticks of the axis."""


def draw_curve(axes: Axes, line: Curve, ticks: Sequence[float], form: Format) -> None:
    """Draw straight lines between measured points; a point without a value is a gap."""
    look, many = line.place, len(line.points) > _FEW_POINTS
    marked = [at for at, (x, _) in enumerate(line.points) if x in ticks]
    axes.plot(
        [x for x, _ in line.points],
        [float("nan") if y is None else y for _, y in line.points],
        label=line.label,
        color=LOOKS[look % len(LOOKS)],
        linestyle=DASHES[look % len(DASHES)] if line.joined else "none",
        marker=MARKERS[look % len(MARKERS)] if line.marked else "",
        linewidth=form.line_pt,
        markersize=form.marker_pt,
        markerfacecolor=PAPER if look % 2 else None,
        markeredgewidth=1.1,
        markevery=marked if many and line.joined else None,
        clip_on=False,
        zorder=3,
    )
    _draw_intervals(axes, line)


def _draw_intervals(axes: Axes, line: Curve) -> None:
    """Draw the interval of each point's mean, if the interval is known."""
    points = [
        (x, y, half)
        for (x, y), half in zip(line.points, line.half_widths, strict=False)
        if y is not None and half is not None
    ]
    if points:
        places, values, halves = zip(*points, strict=True)
        axes.errorbar(
            places,
            values,
            yerr=halves,
            fmt="none",
            ecolor=LOOKS[line.place % len(LOOKS)],
            elinewidth=0.9,
            capsize=2.4,
            zorder=3,
        )


def draw_ceiling(axes: Axes, ceiling: Curve, ticks: Sequence[float]) -> None:
    """Draw a ceiling as a thin grey line.

    A ceiling that is not horizontal also has a short thick mark at each tick of the axis.
    """
    axes.plot(
        [x for x, _ in ceiling.points],
        [float("nan") if y is None else y for _, y in ceiling.points],
        label=ceiling.label,
        color=QUIET,
        linestyle=CEILING_DASHES[ceiling.place % len(CEILING_DASHES)],
        linewidth=0.9,
        zorder=2,
    )
    levels = {y for _, y in ceiling.points}
    if len(levels) > 1:
        at = dict(ceiling.points)
        points = [(x, y) for x in ticks if (y := at.get(x)) is not None]
        axes.plot(
            [x for x, _ in points],
            [y for _, y in points],
            color=QUIET,
            linestyle="none",
            marker="_",
            markersize=13,
            markeredgewidth=1.6,
            zorder=2,
        )
