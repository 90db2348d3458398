"""Draws a chart of lines or bars: one diagram, or a grid of panels, and shares of the ceiling.

A ceiling is the highest possible value; for throughput it is the highest payload rate that the
link's framing allows. A share is a value in per cent of the ceiling.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

from netlab.report.draw import style
from netlab.report.draw.style import INK, PAPER, Format, line_inches, lines_of, width_inches
from netlab.report.tables.charts import share_range
from netlab.report.tables.elements import Chart, Curve, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

_MANY_TICKS = 10
_GAP_EM = 0.9
"""Minimum gap between the labels of two ticks; a closer label is left out."""
_BESIDE_BARS = 0.6
"""Room beside the first and the last group of bars, in distances between two groups."""
TICK_INCHES = 0.1
"""Length of a tick with the gap between the tick and its label."""
_DECADE_INCHES = 0.6
"""A decade of a logarithmic axis has a single label if its height is at most this."""
_LEAST_RANGE = 0.1
"""Minimum range of an axis that does not begin at zero, as a share of the highest value."""
_FEW_POINTS = 40
"""A line with more points than this has markers only at the ticks of the axis."""
_WIDE = 0.8
"""Width of a group of bars, as a share of the distance between the middles of two groups."""
_Number = TypeVar("_Number", int, float)
_HANDLE_EM, _HANDLE_GAP_EM, _COLUMN_GAP_EM = 3.0, 0.6, 1.4
_BETWEEN_EM = 0.45
_EDGE_INCHES = 0.04
EDGE_INCHES = 0.05
"""Distance between the edge of a picture and its contents."""
_TICK_ROOM = 1.6
"""Maximum width of an x tick's label, as a multiple of the left margin."""
_ROW_GAP_INCHES = 0.14
_COLUMN_GAP_INCHES = 0.2
_WITH_SHARES = 0.68
"""Height of a diagram above a diagram of shares of the ceiling, relative to the usual height."""


# Axes


def _scale_x(axes: Axes, chart: Chart, form: Format, wide_inches: float) -> None:
    """Scale the x axis to include all values of the chart. ``wide_inches``: width of the axes."""
    if chart.log_x:
        axes.set_xscale("log", base=2)
    size_pt = form.small_pt if len(chart.x_ticks) > _MANY_TICKS else form.legend_pt
    low, high = _x_range(chart)
    of = math.log if chart.log_x else float
    span = (of(high) - of(low)) or 1.0
    gap = _GAP_EM * size_pt / style.POINTS_AN_INCH
    # From left to right; a label that would overlap the label before is empty.
    labels: list[str] = []
    end = -math.inf
    for x, label in chart.x_ticks:
        middle = (of(x) - of(low)) / span * wide_inches
        half = width_inches(label, size_pt) / 2
        has_room = middle - half - gap >= end
        labels.append(label if has_room else "")
        end = middle + half if has_room else end
    axes.set_xticks([x for x, _ in chart.x_ticks], labels)
    axes.set_xticks([], minor=True)
    axes.tick_params(axis="x", labelsize=size_pt)
    axes.set_xlim(low, high)


def _x_range(chart: Chart) -> tuple[float, float]:
    low = chart.x_ticks[0][0]
    high = max(chart.x_ticks[-1][0], *(x for line in chart.lines for x, _ in line.points))
    if chart.log_x:
        return low / 1.3, high * 1.3
    margin = _BESIDE_BARS if chart.as_bars else 0.03 * (high - low)
    return low - margin, high + margin


def _scale_y(axes: Axes, chart: Chart, high_inches: float) -> None:
    """Scale the y axis to include all values and intervals, in the same way for each panel."""
    ends = [y for line in chart.ceilings for _, y in line.points if y is not None]
    for line in chart.lines:
        halves = line.half_widths or (None,) * len(line.points)
        for (_, y), half in zip(line.points, halves, strict=False):
            if y is not None:
                ends += [y - (half or 0), y + (half or 0)]
    low, high = min(ends), max(ends)
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


def y_labels_inches(axes: Axes, size_pt: float) -> float:
    """The width of the widest label at the ticks of the y axis."""
    low, high = sorted(axes.get_ylim())
    ticks = [tick for tick in axes.yaxis.get_majorticklocs() if low <= tick <= high]
    labels = axes.yaxis.get_major_formatter().format_ticks(ticks)
    return max((width_inches(label, size_pt) for label in labels), default=0.0)


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


# Curves and bars


def draw_curve(axes: Axes, line: Curve, ticks: Sequence[float], form: Format) -> None:
    """Straight lines between points, with gaps, and the interval of each mean if it is known."""
    look, many = line.place, len(line.points) > _FEW_POINTS
    marked = [at for at, (x, _) in enumerate(line.points) if x in ticks]
    axes.plot(
        [x for x, _ in line.points],
        [float("nan") if y is None else y for _, y in line.points],
        label=line.label,
        color=style.LOOKS[look % len(style.LOOKS)],
        linestyle=style.DASHES[look % len(style.DASHES)] if line.joined else "none",
        marker=style.MARKERS[look % len(style.MARKERS)] if line.marked else "",
        linewidth=form.line_pt,
        markersize=form.marker_pt,
        markerfacecolor=PAPER if look % 2 else None,
        markeredgewidth=1.1,
        markevery=marked if many and line.joined else None,
        clip_on=False,
        zorder=3,
    )
    intervals = [
        (x, y, half)
        for (x, y), half in zip(line.points, line.half_widths, strict=False)
        if y is not None and half is not None
    ]
    if intervals:
        places, values, halves = zip(*intervals, strict=True)
        axes.errorbar(
            places,
            values,
            yerr=halves,
            fmt="none",
            ecolor=style.LOOKS[look % len(style.LOOKS)],
            elinewidth=0.9,
            capsize=2.4,
            zorder=3,
        )


def _draw_ceiling(axes: Axes, ceiling: Curve, ticks: Sequence[float]) -> None:
    """A thin grey line; unless it is horizontal, with a short thick mark at each of ``ticks``."""
    axes.plot(
        [x for x, _ in ceiling.points],
        [float("nan") if y is None else y for _, y in ceiling.points],
        label=ceiling.label,
        color=style.QUIET,
        linestyle=style.CEILING_DASHES[ceiling.place % len(style.CEILING_DASHES)],
        linewidth=0.9,
        zorder=2,
    )
    at = dict(ceiling.points)
    if len({*at.values()}) > 1:
        points = [(x, y) for x in ticks if (y := at.get(x)) is not None]
        axes.plot(
            [x for x, _ in points],
            [y for _, y in points],
            color=style.QUIET,
            linestyle="none",
            marker="_",
            markersize=13,
            markeredgewidth=1.6,
            zorder=2,
        )


def _draw_bars(axes: Axes, lines: Sequence[Curve], ceilings: Sequence[Curve]) -> None:
    """The curves as bars, and the ceilings as lines across each group; groups are 1 apart."""
    wide = _WIDE / max(1, len(lines))
    for number, line in enumerate(lines):
        shift = wide * (number - (len(lines) - 1) / 2)
        points = [(x, y) for x, y in line.points if y is not None]
        axes.bar(
            [x + shift for x, _ in points],
            [y for _, y in points],
            width=0.94 * wide,
            label=line.label,
            color=style.LOOKS[line.place % len(style.LOOKS)],
            hatch=style.HATCHES[line.place % len(style.HATCHES)] or None,
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
            color=style.QUIET,
            linestyle=style.CEILING_DASHES[ceiling.place % len(style.CEILING_DASHES)],
            linewidth=1.6,
            zorder=3,
        )


# Legend


@dataclass(frozen=True, slots=True)
class Legend:
    """The labels below a diagram."""

    labels: Mapping[str, str]
    """Label → its text, broken into lines."""
    columns: int
    high_inches: float
    """Height of the legend; 0 if there are no labels."""


def legend_of(curves: Iterable[Curve], form: Format) -> Legend:
    """A legend of the curves that have a label, with as many columns as fit, in lines that fit."""
    names = [*dict.fromkeys(curve.label for curve in curves if curve.label)]
    if not names:
        return Legend({}, 0, 0.0)
    em = form.legend_pt / style.POINTS_AN_INCH
    room = form.width_inches - 4 * _EDGE_INCHES
    handle = (_HANDLE_EM + _HANDLE_GAP_EM) * em
    texts = [lines_of(name, form.legend_pt, room - handle) for name in names]
    widths = [handle + width_inches(text, form.legend_pt) for text in texts]
    columns = len(texts)
    while columns > 1:
        gaps = _COLUMN_GAP_EM * em * (columns - 1)
        if sum(max(column) for column in _columns(widths, columns)) + gaps <= room:
            break
        columns -= 1
    # Use fewer columns if that needs no more lines: then the last line is fuller.
    columns = -(-len(texts) // -(-len(texts) // columns))
    lines = [text.count("\n") + 1 for text in texts]
    most = max(
        style.LINE_EM * sum(column) + _BETWEEN_EM * (len(column) - 1)
        for column in _columns(lines, columns)
    )
    return Legend(dict(zip(names, texts, strict=True)), columns, most * em)


def draw_legend(figure: Figure, legend: Legend, form: Format) -> None:
    """Draw the legend of all axes of a figure at its lower edge."""
    if not legend.labels:
        return
    handles = {
        label: handle
        for axes in figure.axes
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    high = figure.get_figheight()
    figure.legend(
        handles=[handles[label] for label in legend.labels],
        labels=list(legend.labels.values()),
        loc="lower center",
        bbox_to_anchor=(0.5, _EDGE_INCHES / high),
        ncols=legend.columns,
        handlelength=_HANDLE_EM,
        handletextpad=_HANDLE_GAP_EM,
        columnspacing=_COLUMN_GAP_EM,
        labelspacing=_BETWEEN_EM,
        fontsize=form.legend_pt,
        borderpad=0,
        borderaxespad=0,
    )


def _columns(numbers: Sequence[_Number], columns: int) -> list[Sequence[_Number]]:
    """The numbers by column, as matplotlib fills columns: the first columns may have one more."""
    least, more = divmod(len(numbers), columns)
    starts = [least * at + min(at, more) for at in range(columns + 1)]
    return [numbers[start:end] for start, end in pairwise(starts)]


# The whole diagram


@dataclass(frozen=True, slots=True)
class _Row:
    """One row of panels, which show either values or shares of the ceiling."""

    panels: tuple[Panel, ...]
    is_shares: bool
    heads: tuple[str, ...]
    """Text above each panel, broken into lines."""
    y_label: str
    bottom_inches: float
    high_inches: float


def diagram_of(chart: Chart, form: Format) -> Figure:
    """The chart as a figure, made inside ``with style(form):``."""
    # All sizes are computed before anything is placed: matplotlib need not lay it out again.
    room = _TICK_ROOM * form.left_inches
    ticks = tuple((x, lines_of(label, form.legend_pt, room)) for x, label in chart.x_ticks)
    chart = replace(chart, x_ticks=ticks)
    curves = [line for panel in _panels_of(chart) for line in panel.lines]
    legend = legend_of([*curves, *chart.ceilings], form)
    title = lines_of(chart.title, form.title_pt, form.width_inches - 2 * EDGE_INCHES)
    x_label = lines_of(chart.x_label, form.text_pt, form.axes_wide_inches)
    x_name = EDGE_INCHES + legend.high_inches + line_inches(form.text_pt) / 2
    below = legend.high_inches + form.bottom_inches
    below += x_label.count("\n") * line_inches(form.text_pt)
    below += max(label.count("\n") for _x, label in ticks) * line_inches(form.legend_pt)
    rows, top = _rows(chart, form, below)
    high = top + form.top_inches(title)
    figure = empty_figure(form, high)
    placed = _draw_rows(figure, chart, rows, form)
    margin_inches = _place(figure, chart, placed, rows, form)
    middle = (margin_inches + form.width_inches - form.right_inches) / 2
    figure.text(
        *(middle / form.width_inches, x_name / high, x_label), ha="center", va="bottom", color=INK
    )
    draw_title(figure, title, form)
    draw_legend(figure, legend, form)
    return figure


def empty_figure(form: Format, high_inches: float) -> Figure:
    """A figure without axes, which is drawn into memory and not into a window of the screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(form.width_inches, high_inches))
    FigureCanvasAgg(figure)
    return figure


def draw_title(figure: Figure, title: str, form: Format) -> None:
    """Draw the title at the upper edge of a figure, from the left edge."""
    wide, high = figure.get_size_inches()
    top = 1 - 0.08 / high
    figure.text(*(EDGE_INCHES / wide, top, title), fontsize=form.title_pt, color=INK, va="top")


def _panels_of(chart: Chart) -> tuple[Panel, ...]:
    return chart.panels or (Panel("", chart.unit, chart.lines, chart.shares),)


def _rows(chart: Chart, form: Format, below: float) -> tuple[tuple[_Row, ...], float]:
    """The rows from top to bottom, and the top of the highest row in inches.

    ``below``: height of the contents below the lowest row, in inches.
    """
    panels = _panels_of(chart)
    abreast = form.panels_abreast(len(panels))
    wide = form.axes_wide_inches / abreast - _COLUMN_GAP_INCHES
    chunks = [panels[at : at + abreast] for at in range(0, len(panels), abreast)]
    several = len(panels) > 1
    rows: list[_Row] = []
    bottom = below
    for chunk in reversed(chunks):
        for is_shares in (True, False) if chart.shares else (False,):
            note = chart.share_note if is_shares and not several else ""
            titles = [note if is_shares else panel.title for panel in chunk]
            heads = tuple(lines_of(title, form.legend_pt, wide) for title in titles)
            if is_shares:
                high = form.panel_high_inches if several else form.share_high_inches
            else:
                high = form.panel_high_inches if several else form.axes_high_inches
                high *= _WITH_SHARES if chart.shares and not several else 1.0
            words = chart.share_label if is_shares else f"{chart.quantity}, {chart.unit}"
            label = lines_of(words, form.text_pt, high + _ROW_GAP_INCHES)
            rows.append(_Row(chunk, is_shares, heads, label, bottom, high))
            lines = max(head.count("\n") + 1 if head else 0 for head in heads)
            bottom += high + lines * line_inches(form.legend_pt) + _ROW_GAP_INCHES
    return tuple(reversed(rows)), bottom - _ROW_GAP_INCHES


def _draw_rows(
    figure: Figure, chart: Chart, rows: Sequence[_Row], form: Format
) -> list[list[Axes]]:
    """Draw the curves of each row into new axes; ``_place`` sets their horizontal positions."""
    high = figure.get_figheight()
    ticks = [x for x, _ in chart.x_ticks]
    placed = []
    for row in rows:
        in_row = []
        for panel, head in zip(row.panels, row.heads, strict=True):
            axes = figure.add_axes((0.1, row.bottom_inches / high, 0.8, row.high_inches / high))
            if chart.as_bars:
                _draw_bars(axes, panel.lines, chart.ceilings)
            else:
                for ceiling in chart.share_ceilings if row.is_shares else chart.ceilings:
                    _draw_ceiling(axes, ceiling, ticks)
                for line in panel.shares if row.is_shares else panel.lines:
                    draw_curve(axes, line, ticks, form)
            if row.is_shares:
                axes.set_ylim(*share_range(chart))
                axes.locator_params(axis="y", nbins=6, steps=[1, 2, 5, 10])
            else:
                _scale_y(axes, chart, row.high_inches)
            axes.tick_params(axis="y", labelsize=form.legend_pt)
            spell(axes.yaxis, chart.decimal_marker)
            if head:
                axes.set_title(head, fontsize=form.legend_pt, pad=3, y=1.0)
            in_row.append(axes)
        placed.append(in_row)
    return placed


def _place(
    figure: Figure, chart: Chart, placed: list[list[Axes]], rows: Sequence[_Row], form: Format
) -> float:
    """Set the horizontal positions of all axes; return the left margin in inches."""
    wide, high = figure.get_size_inches()
    labels = max(y_labels_inches(line[0], form.legend_pt) for line in placed)
    names = max(row.y_label.count("\n") + 1 for row in rows) * line_inches(form.text_pt)
    left = EDGE_INCHES + names + EDGE_INCHES + labels + TICK_INCHES
    right = max(form.right_inches, _beyond(chart, form))
    abreast = len(placed[0])
    gap = max(_COLUMN_GAP_INCHES, _beyond(chart, form) + 3 * EDGE_INCHES)
    panel_wide = (wide - left - right - gap * (abreast - 1)) / abreast
    for index, (row, line) in enumerate(zip(rows, placed, strict=True)):
        middle = (row.bottom_inches + row.high_inches / 2) / high
        figure.text(
            *((EDGE_INCHES + names / 2) / wide, middle, row.y_label),
            rotation=90,
            ha="center",
            va="center",
            color=INK,
        )
        for at, axes in enumerate(line):
            x = left + at * (panel_wide + gap)
            axes.set_position(
                (x / wide, row.bottom_inches / high, panel_wide / wide, row.high_inches / high)
            )
            _scale_x(axes, chart, form, panel_wide)
            # Otherwise matplotlib would compute places for the axes' names, which are empty.
            axes.xaxis.set_label_coords(0.5, 0.0)
            axes.yaxis.set_label_coords(0.0, 0.5)
            is_lowest = all(at >= len(further) for further in placed[index + 1 :])
            axes.tick_params(axis="x", labelbottom=is_lowest)
            axes.tick_params(axis="y", labelleft=at == 0)
    return left


def _beyond(chart: Chart, form: Format) -> float:
    """How far the label of the last tick may reach beyond its axes."""
    low, high = _x_range(chart)
    last, label = chart.x_ticks[-1]
    if not chart.log_x and high > low and (high - last) / (high - low) > 0.1:
        return 0.0
    return width_inches(label, form.legend_pt) / 2
