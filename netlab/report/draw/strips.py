"""Draws a strip: low diagrams one below the other over one x axis, with shaded parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netlab.report.draw.axes import TICK_INCHES, scale_panel, spell, y_labels_inches
from netlab.report.draw.curves import draw_curve
from netlab.report.draw.diagram import EDGE_INCHES, draw_title, empty_figure
from netlab.report.draw.legend import draw_legend, legend_of
from netlab.report.draw.lettering import lines_of, width_inches
from netlab.report.draw.palette import INK, INSIDE, QUIET
from netlab.report.draw.sizes import Format
from netlab.report.tables.elements import Strip

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANEL_INCHES = 0.95
_TALL_INCHES = 1.45
"""Height of a panel whose values start at zero."""
_PANEL_GAP_INCHES = 0.36
_BOTTOM_INCHES = 0.52
_WORD_GAP_INCHES = 0.06


def strip_of(strip: Strip, form: Format) -> Figure:
    """Return the strip as a matplotlib figure.

    Call this function inside ``with style(form):`` of ``netlab.report.draw.plot``. The panels are
    drawn from top to bottom, each with a y scale of its own.
    """
    wide_inches = form.width_inches
    units = {panel.unit for panel in strip.panels}
    # If all panels have the same unit, only the title of the strip has the unit.
    common = f", {units.pop()}" if len(units) == 1 else ""
    titles = [
        lines_of(
            panel.title if common else f"{panel.title}, {panel.unit}",
            form.legend_pt,
            form.axes_wide_inches,
        )
        for panel in strip.panels
    ]
    labels = [line.label for panel in strip.panels for line in panel.lines if line.label]
    legend = legend_of(list(dict.fromkeys(labels)), form)
    lines = max(title.count("\n") for title in titles) + 1
    panel_inches = _TALL_INCHES if strip.from_zero else _PANEL_INCHES
    gap = panel_inches + _PANEL_GAP_INCHES + (lines - 1) * form.title_line_inches
    heading = lines_of(f"{strip.title}{common}", form.title_pt, wide_inches - 2 * EDGE_INCHES)
    lowest = _BOTTOM_INCHES + legend.high_inches
    high = lowest + len(titles) * gap + form.top_inches(heading) - _PANEL_GAP_INCHES / 2
    figure = empty_figure(form, high)
    placed: list[Axes] = []
    for index, title in enumerate(titles):
        bottom = lowest + (len(titles) - 1 - index) * gap
        axes = figure.add_axes(
            (0.1, bottom / high, 0.8, panel_inches / high), sharex=placed[0] if placed else None
        )
        _draw_panel(axes, strip, index, form)
        axes.set_title(title, fontsize=form.legend_pt, pad=4, y=1.0)
        placed.append(axes)
    middle = _place(figure, placed, form)
    _name_bands(placed[0], strip, form, placed[0].get_position().width * wide_inches)
    spell(placed[-1].xaxis, strip.decimal_marker)
    name = lines_of(strip.x_label, form.text_pt, form.axes_wide_inches)
    above = (EDGE_INCHES + legend.high_inches) / high
    figure.text(middle, above, name, ha="center", va="bottom", color=INK)
    draw_title(figure, heading, form)
    handles = {
        label: handle
        for axes in placed
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    draw_legend(figure, legend, [handles[label] for label in dict.fromkeys(labels)], form)
    return figure


def _draw_panel(axes: Axes, strip: Strip, index: int, form: Format) -> None:
    panel = strip.panels[index]
    for band in strip.bands:
        axes.axvspan(band.from_x, band.until_x, color=INSIDE, linewidth=0, zorder=0)
    for line in panel.lines:
        draw_curve(axes, line, [], form)
    axes.axhline(0, color=QUIET, linewidth=0.7, zorder=1)
    scale_panel(axes, panel, strip.decimal_marker, from_zero=strip.from_zero)
    axes.tick_params(labelsize=form.small_pt)
    axes.tick_params(axis="x", labelbottom=index == len(strip.panels) - 1)


def _place(figure: Figure, placed: list[Axes], form: Format) -> float:
    """Set the horizontal positions of all panels; return their middle as a share of the picture.

    The labels of the y axes have room to the left of the panels.
    """
    wide_inches = form.width_inches
    margin_inches = (
        EDGE_INCHES + TICK_INCHES + max(y_labels_inches(a, form.small_pt) for a in placed)
    )
    share = (wide_inches - margin_inches - form.right_inches) / wide_inches
    for axes in placed:
        _left, bottom, _wide, tall = axes.get_position().bounds
        axes.set_position((margin_inches / wide_inches, bottom, share, tall))
        axes.xaxis.set_label_coords(0.5, 0.0)
        axes.yaxis.set_label_coords(0.0, 0.5)
    return margin_inches / wide_inches + share / 2


def _name_bands(axes: Axes, strip: Strip, form: Format, wide_inches: float) -> None:
    """Write the name of each band at the top of the first panel, in the middle of the band.

    A name that would overlap the name before it is moved to the right.
    """
    low, high = axes.get_xlim()
    end = 0.0
    for band in strip.bands:
        half = width_inches(band.label, form.small_pt) / 2
        middle = ((band.from_x + band.until_x) / 2 - low) / (high - low) * wide_inches
        at = min(max(middle, end + half), wide_inches - half)
        end = at + half + _WORD_GAP_INCHES
        axes.text(
            *(at / wide_inches, 0.985, band.label),
            transform=axes.transAxes,
            ha="center",
            va="top",
            fontsize=form.small_pt,
            color=INK,
            zorder=4,
        )
