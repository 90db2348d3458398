"""Draws heat maps (figures by client and server), and strips (low diagrams over one x axis)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netlab.report.draw import diagram, style
from netlab.report.draw.diagram import EDGE_INCHES, TICK_INCHES, draw_curve, spell, y_labels_inches
from netlab.report.draw.style import INK, PAPER, Format, line_inches, lines_of, width_inches
from netlab.report.tables.elements import HeatMap, Strip
from netlab.results.labels import figure as words_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_LABELS = 40
"""With more hosts than this, only every n-th host is named at the axes. Then the places are one
bitmap, also in vector files, because 40,000 places would take minutes to write and to show. The
bitmap has no white lines, because these would cover the places."""

_TURNED_DEGREES = 38
"""Angle of the names below a map, if they fit at this angle; otherwise they are vertical."""
_COLUMN_NAME_INCHES = 2.2
_NAME_GAP_INCHES = 0.08
_FIGURE_GAP_INCHES = 0.02
_LEAST_PT = 6.0
"""Minimum type size of a figure in its place."""
_WHITE_BELOW = 0.25
"""Relative luminance below which a place has a white figure: the contrast is at least 3.5."""


_WITH_WORDS = 1.22
"""Top of an axis as a multiple of its highest value, if words are above the values."""
_PANEL_INCHES = 0.95
_TALL_INCHES = 1.45
"""Height of a panel whose values start at zero."""
_PANEL_GAP_INCHES = 0.36
_BOTTOM_INCHES = 0.52
_WORD_GAP_INCHES = 0.06


@dataclass(frozen=True, slots=True)
class _Layout:
    """Margins around the places, in inches, and the names, broken into lines."""

    left: float
    bottom: float
    top: float
    map_wide: float
    map_high: float
    step: int
    """Only every ``step``-th host has a name."""
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    name_pt: float
    degrees: int
    title: str

    @property
    def high(self) -> float:
        return self.bottom + self.map_high + self.top


def _layout(chart: HeatMap, form: Format) -> _Layout:
    size = form.legend_pt if len(chart.rows) <= form.map_figures else 6.0
    step = -(-max(len(chart.rows), len(chart.columns)) // _MOST_LABELS)
    rows = tuple(lines_of(name, size, form.map_name_inches) for name in chart.rows[::step])
    columns = tuple(lines_of(name, size, _COLUMN_NAME_INCHES) for name in chart.columns[::step])
    line = line_inches(form.text_pt)
    widest = [max(width_inches(name, size) for name in names) for names in (rows, columns)]
    deep = (
        max(name.count("\n") + 1 for name in columns) * style.LINE_EM * size / style.POINTS_AN_INCH
    )
    left = EDGE_INCHES + line + widest[0] + 2 * _NAME_GAP_INCHES
    wide = form.width_inches - left - form.map_right_inches
    # At an angle, the first name must fit left of the map, and the lines of a name must end before
    # the next name.
    degrees = _TURNED_DEGREES
    turn = math.radians(degrees)
    if widest[1] * math.cos(turn) > left or deep > wide / len(columns) * math.sin(turn):
        degrees = 90
        turn = math.pi / 2
    below = widest[1] * math.sin(turn) + deep * math.cos(turn) + _NAME_GAP_INCHES
    notes = 2 if _present(chart.inside) else 1
    place = 4 * form.legend_pt / 100
    # A place is at least as high as a name of several lines.
    lines = max(name.count("\n") + 1 for name in rows)
    names_high = (lines * style.LINE_EM * size + 2) / style.POINTS_AN_INCH if lines > 1 else 0.0
    title = lines_of(chart.title, form.title_pt, form.width_inches - 2 * EDGE_INCHES)
    return _Layout(
        left=left,
        bottom=below + notes * line + EDGE_INCHES,
        top=form.top_inches(title),
        map_wide=wide,
        map_high=max(min(wide, max(0.9, place * len(chart.rows))), names_high * len(rows)),
        step=step,
        rows=rows,
        columns=columns,
        name_pt=size,
        degrees=degrees,
        title=title,
    )


def heat_map_of(chart: HeatMap, form: Format) -> Figure:
    """The map as a figure, made inside ``with style(form):``; more hosts make it higher."""
    import numpy
    from matplotlib.colors import LinearSegmentedColormap, Normalize
    from matplotlib.patches import Rectangle

    at = _layout(chart, form)
    wide, high = form.width_inches, at.high
    figure = diagram.empty_figure(form, high)
    axes = figure.add_axes(
        (at.left / wide, at.bottom / high, at.map_wide / wide, at.map_high / high)
    )
    colours = LinearSegmentedColormap.from_list("netlab", style.HEAT)
    norm = Normalize(0, max(_present(chart.values)))
    many = max(len(chart.rows), len(chart.columns)) > _MOST_LABELS
    edge = "none" if many else PAPER
    values = [[float("nan") if value is None else value for value in row] for row in chart.values]
    masked = numpy.ma.masked_invalid(values)
    mesh = axes.pcolormesh(masked, cmap=colours, norm=norm, edgecolors=edge, rasterized=many)
    # Pairs inside one machine have a neutral colour, as they are not comparable.
    for y, row in enumerate(chart.inside):
        for x, value in enumerate(row):
            if value is not None:
                axes.add_patch(Rectangle((x, y), 1, 1, facecolor=style.INSIDE, edgecolor=edge))
    axes.invert_yaxis()
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_yticks([0.5 + n for n in range(0, len(chart.rows), at.step)], at.rows)
    axes.set_xticks([0.5 + n for n in range(0, len(chart.columns), at.step)], at.columns)
    axes.tick_params(length=0, labelsize=at.name_pt)
    across = "center" if at.degrees == 90 else "top"
    for text in axes.get_xticklabels():
        text.set(rotation=at.degrees, ha="right", rotation_mode="anchor", va=across)
    if len(chart.rows) <= form.map_figures:
        place = at.map_wide / len(chart.columns)
        _write_figures(axes, chart, lambda value: colours(norm(value)), form, place)
    bar_high = min(1.2, at.map_high) / high
    bar = figure.add_axes(
        (1 - 0.76 * form.map_right_inches / wide, at.bottom / high, 0.02, bar_high)
    )
    figure.colorbar(mesh, cax=bar)
    bar.set_title(chart.unit, fontsize=form.small_pt, loc="left")
    bar.tick_params(labelsize=form.small_pt)
    bar.locator_params(nbins=5)
    spell(bar.yaxis, chart.decimal_marker)
    left, lowest = EDGE_INCHES / wide, EDGE_INCHES / high
    x_name, y_name = (at.left + at.map_wide / 2) / wide, (at.bottom + at.map_high / 2) / high
    note = line_inches(form.text_pt) if _present(chart.inside) else 0.0
    bottom = (EDGE_INCHES + note) / high
    figure.text(*(x_name, bottom, chart.x_label), ha="center", va="bottom", color=INK)
    figure.text(*(left, y_name, chart.y_label), rotation=90, ha="left", va="center", color=INK)
    diagram.draw_title(figure, at.title, form)
    if note:
        figure.text(*(left, lowest, chart.inside_label), fontsize=form.small_pt, color=INK)
    return figure


def _present(values: Sequence[Sequence[float | None]]) -> list[float]:
    return [value for row in values for value in row if value is not None]


def _write_figures(
    axes: Axes,
    chart: HeatMap,
    colour_of: Callable[[float], Sequence[float]],
    form: Format,
    place_inches: float,
) -> None:
    """Write each figure in its place. If the widest figure were too small to read, write none."""
    every = [*_present(chart.values), *_present(chart.inside)]
    for digits in (1, 0):
        widest = max(width_inches(words_of(number, digits), 1.0) for number in every)
        size_pt = min(form.small_pt, (place_inches - 2 * _FIGURE_GAP_INCHES) / widest)
        if size_pt >= _LEAST_PT:
            break
    else:
        return
    for y, (row, inside) in enumerate(zip(chart.values, chart.inside, strict=True)):
        for x, (value, within) in enumerate(zip(row, inside, strict=True)):
            number = within if value is None else value
            if number is None:
                continue
            dark = False
            if value is not None:
                # Relative luminance (WCAG 2.2) of red, green and blue values from 0 to 1.
                red, green, blue = (
                    c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
                    for c in colour_of(value)[:3]
                )
                dark = 0.2126 * red + 0.7152 * green + 0.0722 * blue < _WHITE_BELOW
            axes.text(
                x + 0.5,
                y + 0.5,
                words_of(number, digits).replace(".", chart.decimal_marker),
                ha="center",
                va="center",
                fontsize=size_pt,
                color=PAPER if dark else INK,
            )


# Strips


def strip_of(strip: Strip, form: Format) -> Figure:
    """The panels from top to bottom as a figure, made inside ``with style(form):``."""
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
    legend = diagram.legend_of([line for panel in strip.panels for line in panel.lines], form)
    lines = max(title.count("\n") for title in titles) + 1
    panel_inches = _TALL_INCHES if strip.from_zero else _PANEL_INCHES
    gap = panel_inches + _PANEL_GAP_INCHES + (lines - 1) * line_inches(form.title_pt)
    heading = lines_of(f"{strip.title}{common}", form.title_pt, wide_inches - 2 * EDGE_INCHES)
    lowest = _BOTTOM_INCHES + legend.high_inches
    high = lowest + len(titles) * gap + form.top_inches(heading) - _PANEL_GAP_INCHES / 2
    figure = diagram.empty_figure(form, high)
    placed: list[Axes] = []
    for index, title in enumerate(titles):
        bottom = lowest + (len(titles) - 1 - index) * gap
        axes = figure.add_axes(
            (0.1, bottom / high, 0.8, panel_inches / high), sharex=placed[0] if placed else None
        )
        for band in strip.bands:
            axes.axvspan(band.from_x, band.until_x, color=style.INSIDE, linewidth=0, zorder=0)
        for line in strip.panels[index].lines:
            draw_curve(axes, line, [], form)
        axes.axhline(0, color=style.QUIET, linewidth=0.7, zorder=1)
        _scale_panel(axes, strip, index)
        axes.tick_params(labelsize=form.small_pt)
        axes.tick_params(axis="x", labelbottom=index == len(titles) - 1)
        axes.set_title(title, fontsize=form.legend_pt, pad=4, y=1.0)
        placed.append(axes)
    # The labels of the y axes have room to the left of the panels.
    margin = EDGE_INCHES + TICK_INCHES + max(y_labels_inches(a, form.small_pt) for a in placed)
    share = (wide_inches - margin - form.right_inches) / wide_inches
    for axes in placed:
        _left, bottom, _wide, tall = axes.get_position().bounds
        axes.set_position((margin / wide_inches, bottom, share, tall))
        axes.xaxis.set_label_coords(0.5, 0.0)
        axes.yaxis.set_label_coords(0.0, 0.5)
    middle = margin / wide_inches + share / 2
    _name_bands(placed[0], strip, form, placed[0].get_position().width * wide_inches)
    spell(placed[-1].xaxis, strip.decimal_marker)
    name = lines_of(strip.x_label, form.text_pt, form.axes_wide_inches)
    above = (EDGE_INCHES + legend.high_inches) / high
    figure.text(middle, above, name, ha="center", va="bottom", color=INK)
    diagram.draw_title(figure, heading, form)
    diagram.draw_legend(figure, legend, form)
    return figure


def _scale_panel(axes: Axes, strip: Strip, index: int) -> None:
    """Set the y axis of a panel: from zero, with room for words above its highest value; or with
    zero in the middle, and at least 1 in both directions.
    """
    lines = strip.panels[index].lines
    most = max(abs(y) for line in lines for _, y in line.points if y is not None)
    if strip.from_zero:
        axes.set_ylim(0, _WITH_WORDS * most or 1.0)
    else:
        axes.set_ylim(-1.15 * max(most, 1.0), 1.15 * max(most, 1.0))
    axes.locator_params(axis="y", nbins=4)
    axes.ticklabel_format(axis="y", useOffset=False, style="plain")
    spell(axes.yaxis, strip.decimal_marker)


def _name_bands(axes: Axes, strip: Strip, form: Format, wide_inches: float) -> None:
    """Name each band at the top of its middle; a name that would overlap another moves right."""
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
