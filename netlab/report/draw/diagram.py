"""Draws a chart of lines or bars: one diagram, or a grid of panels, and shares of the ceiling.

A ceiling is the highest possible value; for throughput it is the highest payload rate that the
link's framing allows. A share is a value in per cent of the ceiling.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from netlab.report.draw.axes import (
    TICK_INCHES,
    scale_shares,
    scale_x,
    scale_y,
    x_range,
    y_labels_inches,
)
from netlab.report.draw.bars import draw_bars
from netlab.report.draw.curves import draw_ceiling, draw_curve
from netlab.report.draw.legend import draw_legend, legend_of
from netlab.report.draw.lettering import lines_of, width_inches
from netlab.report.draw.palette import INK
from netlab.report.draw.sizes import Format
from netlab.report.tables.elements import Chart, ChartPanel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EDGE_INCHES = 0.05
"""Distance between the edge of a picture and its contents."""
_LINE_EM = 1.25
_POINTS_AN_INCH = 72
_TICK_ROOM = 1.6
"""Maximum width of an x tick's label, as a multiple of the left margin."""
_ROW_GAP_INCHES = 0.14
_COLUMN_GAP_INCHES = 0.2
_WITH_SHARES = 0.68
"""Height of a diagram above a diagram of shares of the ceiling, relative to the usual height."""


@dataclass(frozen=True, slots=True)
class _Row:
    """One row of panels, which show either values or shares of the ceiling."""

    panels: tuple[ChartPanel, ...]
    is_shares: bool
    heads: tuple[str, ...]
    """Text above each panel, broken into lines."""
    y_label: str
    bottom_inches: float
    high_inches: float


def diagram_of(chart: Chart, form: Format) -> Figure:
    """Return the chart as a matplotlib figure.

    Call this function inside ``with style(form):`` of ``netlab.report.draw.plot``. All sizes are
    computed before anything is placed, so that matplotlib need not lay the figure out again.
    """
    room = _TICK_ROOM * form.left_inches
    ticks = tuple((x, lines_of(label, form.legend_pt, room)) for x, label in chart.x_ticks)
    chart = replace(chart, x_ticks=ticks)
    curves = [line for panel in _panels_of(chart) for line in panel.lines]
    labels = list(dict.fromkeys(curve.label for curve in (*curves, *chart.ceilings)))
    legend = legend_of(labels, form)
    title = lines_of(chart.title, form.title_pt, form.width_inches - 2 * EDGE_INCHES)
    x_label = lines_of(chart.x_label, form.text_pt, form.axes_wide_inches)
    x_name = EDGE_INCHES + legend.high_inches + _line_inches(form.text_pt) / 2
    below = legend.high_inches + form.bottom_inches
    below += x_label.count("\n") * _line_inches(form.text_pt)
    below += max(label.count("\n") for _x, label in ticks) * _line_inches(form.legend_pt)
    rows, top = _rows(chart, form, below)
    high = top + form.top_inches(title)
    figure = empty_figure(form, high)
    placed = _draw_rows(figure, chart, rows, form)
    margin_inches = _place(figure, chart, placed, rows, form)
    middle = (margin_inches + form.width_inches - form.right_inches) / 2
    figure.text(
        *(middle / form.width_inches, x_name / high, x_label),
        ha="center",
        va="bottom",
        color=INK,
    )
    draw_title(figure, title, form)
    draw_legend(figure, legend, _handles(placed, labels), form)
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


def _panels_of(chart: Chart) -> tuple[ChartPanel, ...]:
    return chart.panels or (ChartPanel("", chart.lines, chart.shares),)


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
            bottom += high + lines * _line_inches(form.legend_pt) + _ROW_GAP_INCHES
    return tuple(reversed(rows)), bottom - _ROW_GAP_INCHES


def _draw_rows(
    figure: Figure, chart: Chart, rows: Sequence[_Row], form: Format
) -> list[list[Axes]]:
    """Draw the curves of each row into new axes; ``_place`` sets their horizontal positions."""
    high = figure.get_figheight()
    lines = []
    for row in rows:
        line = []
        for panel, head in zip(row.panels, row.heads, strict=True):
            axes = figure.add_axes((0.1, row.bottom_inches / high, 0.8, row.high_inches / high))
            _draw_curves(axes, chart, panel, form, is_shares=row.is_shares)
            if row.is_shares:
                scale_shares(axes, chart, form)
            else:
                scale_y(axes, chart, form, row.high_inches)
            if head:
                axes.set_title(head, fontsize=form.legend_pt, pad=3, y=1.0)
            line.append(axes)
        lines.append(line)
    return lines


def _draw_curves(
    axes: Axes, chart: Chart, panel: ChartPanel, form: Format, *, is_shares: bool
) -> None:
    if chart.as_bars:
        draw_bars(axes, panel.lines, chart.ceilings)
        return
    ticks = [x for x, _ in chart.x_ticks]
    for ceiling in chart.share_ceilings if is_shares else chart.ceilings:
        draw_ceiling(axes, ceiling, ticks)
    for line in panel.shares if is_shares else panel.lines:
        draw_curve(axes, line, ticks, form)


def _place(
    figure: Figure, chart: Chart, placed: list[list[Axes]], rows: Sequence[_Row], form: Format
) -> float:
    """Set the horizontal positions of all axes; return the left margin, in inches.

    The names and labels of the y axes fit into this margin.
    """
    wide, high = figure.get_size_inches()
    labels = max(y_labels_inches(line[0], form.legend_pt) for line in placed)
    names = max(row.y_label.count("\n") + 1 for row in rows) * _line_inches(form.text_pt)
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
            scale_x(axes, chart, form, panel_wide)
            # Otherwise matplotlib would compute places for the axes' names, which are empty.
            axes.xaxis.set_label_coords(0.5, 0.0)
            axes.yaxis.set_label_coords(0.0, 0.5)
            is_lowest = all(at >= len(further) for further in placed[index + 1 :])
            axes.tick_params(axis="x", labelbottom=is_lowest)
            axes.tick_params(axis="y", labelleft=at == 0)
    return left


def _beyond(chart: Chart, form: Format) -> float:
    """How far the label of the last tick may reach beyond its axes, in inches."""
    low, high = x_range(chart)
    last, label = chart.x_ticks[-1]
    if not chart.log_x and high > low and (high - last) / (high - low) > 0.1:
        return 0.0
    return width_inches(label, form.legend_pt) / 2


def _handles(placed: Sequence[Sequence[Axes]], labels: Sequence[str]) -> list[Any]:
    """The symbol of each label in the legend."""
    handles = dict(_labelled(placed))
    return [handles[label] for label in labels]


def _labelled(placed: Sequence[Sequence[Axes]]) -> Iterator[tuple[str, Any]]:
    for line in placed:
        for axes in line:
            handles, labels = axes.get_legend_handles_labels()
            yield from zip(labels, handles, strict=True)


def _line_inches(size_pt: float) -> float:
    return _LINE_EM * size_pt / _POINTS_AN_INCH
