"""The axes of a diagram: their scales, their ticks and how figures are written there."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from netlab.report.draw.sizes import Format
from netlab.report.tables.elements import Chart, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

_MANY_TICKS = 10
_GAP_CHARACTERS = 1.5
"""Between the labels of two ticks; of labels closer than this one is left out."""
_BESIDE_BARS = 0.6
"""Room beside the first and the last group of bars, which stand one apart."""
_POINTS_AN_INCH = 72
_TICK_PT = 9.0
"""A tick, and the room before and after its label."""
_LABEL_LINES = 1.25
"""How high a label is, in sizes of its type."""
_EDGE_INCHES = 0.03
"""Between the edge of a picture and what stands there."""
_LEAST_RANGE = 0.1
"""An axis that does not begin at zero shows at least this share of its top."""


def scale(axes: Axes, chart: Chart, form: Format) -> None:
    """Both axes of a chart, as far as its values go."""
    if chart.log_x:
        axes.set_xscale("log", base=2)
    size_pt = form.small_pt if len(chart.x_ticks) > _MANY_TICKS else form.legend_pt
    axes.set_xticks([x for x, _ in chart.x_ticks], tick_labels(chart, form, size_pt))
    axes.set_xticks([], minor=True)
    axes.tick_params(axis="x", labelsize=size_pt)
    _scale_y(axes, chart)
    spell(axes.yaxis, chart.decimal_marker)
    low = chart.x_ticks[0][0]
    high = max(chart.x_ticks[-1][0], *(x for line in chart.lines for x, _ in line.points))
    if chart.log_x:
        axes.set_xlim(low / 1.3, high * 1.3)
    else:
        margin = _BESIDE_BARS if chart.as_bars else 0.03 * (high - low)
        axes.set_xlim(low - margin, high + margin)


def _scale_y(axes: Axes, chart: Chart) -> None:
    found = [y for line in (*chart.lines, *chart.ceilings) for _, y in line.points if y is not None]
    low, high = min(found), max(found)
    if chart.log_y and low > 0:
        from matplotlib.ticker import LogLocator, NullFormatter

        axes.set_yscale("log")
        axes.set_ylim(low / 1.3, high * 1.3)
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
    elif chart.from_zero:
        axes.set_ylim(0, 1.06 * high or 1.0)
    else:
        # Not closer than this, or the scatter of a level line fills the picture.
        half = max(0.58 * (high - low), _LEAST_RANGE * high / 2)
        axes.set_ylim((low + high) / 2 - half, (low + high) / 2 + half)


def scale_panel(axes: Axes, panel: Panel, decimal_marker: str) -> None:
    """As far as its values go, up and down from zero, and 1 at least."""
    most = max(abs(y) for line in panel.lines for _, y in line.points if y is not None)
    axes.set_ylim(-1.15 * max(most, 1.0), 1.15 * max(most, 1.0))
    axes.locator_params(axis="y", nbins=4)
    axes.ticklabel_format(axis="y", useOffset=False, style="plain")
    spell(axes.yaxis, decimal_marker)


def name_places(axes: Axes, form: Format, axes_high_inches: float) -> None:
    """Where the names of both axes stand: below the ticks' labels, and at the picture's left edge.

    Named, because matplotlib else lays out all labels once more to find the room that they leave,
    which takes a quarter of the time of a drawing.
    """
    points_below = _TICK_PT + _LABEL_LINES * form.text_pt
    axes.xaxis.set_label_coords(0.5, -points_below / _POINTS_AN_INCH / axes_high_inches)
    right_inches = _EDGE_INCHES + _LABEL_LINES * form.text_pt / _POINTS_AN_INCH
    axes.yaxis.set_label_coords((right_inches - form.left_inches) / form.axes_wide_inches, 0.5)


def tick_labels(chart: Chart, form: Format, size_pt: float) -> list[str]:
    """The ticks' labels from left to right, without those that would stand on the one before."""
    at = [math.log(x) if chart.log_x else x for x, _ in chart.x_ticks]
    span = (at[-1] - at[0]) or 1.0
    labels: list[str] = []
    last, before = -math.inf, ""
    for x, (_, label) in zip(at, chart.x_ticks, strict=True):
        room = form.axes_wide_inches * (x - last) / span
        needed = (len(before) + len(label)) / 2 + _GAP_CHARACTERS
        shown = room >= form.inches_of(needed, size_pt)
        labels.append(label if shown else "")
        last, before = (x, label) if shown else (last, before)
    return labels


def spell(axis: Axis, decimal_marker: str) -> None:
    """Have an axis write its figures with another decimal marker than a point."""
    if decimal_marker == ".":
        return
    from matplotlib.ticker import Formatter

    plain = axis.get_major_formatter()

    class Spelled(Formatter):
        """What the axis would write, with that marker."""

        def __call__(self, x: float, pos: int | None = None) -> str:
            return plain(x, pos).replace(".", decimal_marker)

        def set_locs(self, locs: list[float]) -> None:
            plain.set_locs(locs)

    axis.set_major_formatter(Spelled())
