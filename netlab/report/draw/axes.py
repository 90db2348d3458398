"""The axes of a diagram: their scales, their ticks, and the format of their figures.

A ceiling is the highest possible value, such as the highest payload rate of the link. A strip is
several low diagrams (panels) one below the other over one x axis.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from netlab.report.draw.lettering import width_inches
from netlab.report.draw.sizes import Format
from netlab.report.tables.chart_panels import share_range
from netlab.report.tables.elements import Chart, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

_MANY_TICKS = 10
_GAP_EM = 0.9
"""Minimum gap between the labels of two ticks. A label that is closer to the label before is left
out."""
_BESIDE_BARS = 0.6
"""Room beside the first and the last group of bars, as a multiple of the distance between two
groups."""
_POINTS_AN_INCH = 72
_WITH_WORDS = 1.22
"""Top of an axis as a multiple of its highest value, if words are above the values."""
TICK_INCHES = 0.1
"""Length of a tick with the gap between the tick and its label."""
_DECADE_INCHES = 0.6
"""A decade of a logarithmic axis has a single label if its height is at most this."""
_LEAST_RANGE = 0.1
"""Minimum range of an axis that does not begin at zero, as a share of the highest value."""


def scale_x(axes: Axes, chart: Chart, form: Format, wide_inches: float) -> None:
    """Scale the x axis to include all values of the chart. ``wide_inches``: width of the axes."""
    if chart.log_x:
        axes.set_xscale("log", base=2)
    size_pt = form.small_pt if len(chart.x_ticks) > _MANY_TICKS else form.legend_pt
    low, high = x_range(chart)
    axes.set_xticks([x for x, _ in chart.x_ticks], tick_labels(chart, size_pt, wide_inches))
    axes.set_xticks([], minor=True)
    axes.tick_params(axis="x", labelsize=size_pt)
    axes.set_xlim(low, high)


def x_range(chart: Chart) -> tuple[float, float]:
    """(lowest, highest) of the x axis."""
    low = chart.x_ticks[0][0]
    high = max(chart.x_ticks[-1][0], *(x for line in chart.lines for x, _ in line.points))
    if chart.log_x:
        return low / 1.3, high * 1.3
    margin = _BESIDE_BARS if chart.as_bars else 0.03 * (high - low)
    return low - margin, high + margin


def scale_y(axes: Axes, chart: Chart, form: Format, high_inches: float) -> None:
    """Scale the y axis to include all values and intervals, in the same way for each panel."""
    low, high = _y_range(chart)
    if chart.log_y and low > 0:
        from matplotlib.ticker import LogLocator, NullFormatter

        axes.set_yscale("log")
        axes.set_ylim(low / 1.3, high * 1.3)
        room = high_inches / max(math.log10(high / low), 1.0)
        subs = (1.0, 2.0, 5.0) if room > _DECADE_INCHES else (1.0,)
        axes.yaxis.set_major_locator(LogLocator(subs=subs))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
    elif chart.from_zero:
        axes.set_ylim(0, 1.06 * high or 1.0)
    else:
        # With a smaller range, the scatter of a constant line would fill the picture.
        half = max(0.58 * (high - low), _LEAST_RANGE * high / 2)
        axes.set_ylim((low + high) / 2 - half, (low + high) / 2 + half)
    _finish_y(axes, chart, form)


def _y_range(chart: Chart) -> tuple[float, float]:
    ends = [y for line in chart.ceilings for _, y in line.points if y is not None]
    for line in chart.lines:
        halves = line.half_widths or (None,) * len(line.points)
        for (_, y), half in zip(line.points, halves, strict=False):
            if y is not None:
                ends += [y - (half or 0), y + (half or 0)]
    return min(ends), max(ends)


def scale_shares(axes: Axes, chart: Chart, form: Format) -> None:
    """Scale a y axis of shares of the ceiling: 90 to 101 per cent, or wider if shares need it."""
    low, high = share_range(chart)
    axes.set_ylim(low, high)
    axes.locator_params(axis="y", nbins=6, steps=[1, 2, 5, 10])
    _finish_y(axes, chart, form)


def _finish_y(axes: Axes, chart: Chart, form: Format) -> None:
    axes.tick_params(axis="y", labelsize=form.legend_pt)
    spell(axes.yaxis, chart.decimal_marker)


def y_labels_inches(axes: Axes, size_pt: float) -> float:
    """The width of the widest label at the ticks of the y axis."""
    low, high = sorted(axes.get_ylim())
    ticks = [tick for tick in axes.yaxis.get_majorticklocs() if low <= tick <= high]
    labels = axes.yaxis.get_major_formatter().format_ticks(ticks)
    return max((width_inches(label, size_pt) for label in labels), default=0.0)


def scale_panel(axes: Axes, panel: Panel, decimal_marker: str, *, from_zero: bool = False) -> None:
    """Set the y axis of a strip's panel.

    If ``from_zero``, the axis goes from zero to the highest value, with room for words above.
    Otherwise zero is in the middle of the axis, which goes to at least 1 in both directions.
    """
    most = max(abs(y) for line in panel.lines for _, y in line.points if y is not None)
    if from_zero:
        axes.set_ylim(0, _WITH_WORDS * most or 1.0)
    else:
        axes.set_ylim(-1.15 * max(most, 1.0), 1.15 * max(most, 1.0))
    axes.locator_params(axis="y", nbins=4)
    axes.ticklabel_format(axis="y", useOffset=False, style="plain")
    spell(axes.yaxis, decimal_marker)


def tick_labels(chart: Chart, size_pt: float, wide_inches: float) -> list[str]:
    """The ticks' labels from left to right; a label that would overlap the label before is empty.

    ``wide_inches``: width of the axes.
    """
    of = math.log if chart.log_x else float
    low, high = map(of, x_range(chart))
    gap = _GAP_EM * size_pt / _POINTS_AN_INCH
    labels: list[str] = []
    end = -math.inf
    for x, label in chart.x_ticks:
        middle = (of(x) - low) / ((high - low) or 1.0) * wide_inches
        half = width_inches(label, size_pt) / 2
        has_room = middle - half - gap >= end
        labels.append(label if has_room else "")
        end = middle + half if has_room else end
    return labels


def spell(axis: Axis, decimal_marker: str) -> None:
    """Make an axis write its figures with this decimal marker."""
    if decimal_marker == ".":
        return
    from matplotlib.ticker import Formatter

    plain = axis.get_major_formatter()

    class Spelled(Formatter):
        """Formats a figure as before, but with the other decimal marker."""

        def __call__(self, x: float, pos: int | None = None) -> str:
            return plain(x, pos).replace(".", decimal_marker)

        def set_locs(self, locs: list[float]) -> None:
            plain.set_locs(locs)

    axis.set_major_formatter(Spelled())
