"""Draws a heat map: figures by client and server, in darker colours for larger figures.

A place is the rectangle of one client and one server.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netlab.report.draw.axes import spell
from netlab.report.draw.diagram import EDGE_INCHES, draw_title
from netlab.report.draw.lettering import lines_of, width_inches
from netlab.report.draw.palette import HEAT, INK, INSIDE, PAPER
from netlab.report.draw.sizes import Format
from netlab.report.tables.elements import HeatMap
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
_LINE_EM = 1.25
_POINTS_AN_INCH = 72
_WHITE_BELOW = 0.25
"""A place whose relative luminance is lower has a white figure, with a contrast of at least 3.5
to 1."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """Margins around the places, in inches, and the names, broken into lines."""

    left: float
    bottom: float
    top: float
    map_wide: float
    map_high: float
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    name_pt: float
    degrees: int
    """Angle of the names below the map."""
    title: str

    @property
    def high(self) -> float:
        return self.bottom + self.map_high + self.top


def _layout(chart: HeatMap, form: Format) -> _Layout:
    """The layout of a map; its margins have room for the names, however long they are."""
    size = form.legend_pt if len(chart.rows) <= form.map_figures else 6.0
    step = _step(chart)
    rows = tuple(lines_of(name, size, form.map_name_inches) for name in chart.rows[::step])
    columns = tuple(lines_of(name, size, _COLUMN_NAME_INCHES) for name in chart.columns[::step])
    line = _LINE_EM * form.text_pt / _POINTS_AN_INCH
    widest = [max(width_inches(name, size) for name in names) for names in (rows, columns)]
    deep = max(name.count("\n") + 1 for name in columns) * _LINE_EM * size / _POINTS_AN_INCH
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
    names_high = (lines * _LINE_EM * size + 2) / _POINTS_AN_INCH if lines > 1 else 0.0
    title = lines_of(chart.title, form.title_pt, form.width_inches - 2 * EDGE_INCHES)
    return _Layout(
        left=left,
        bottom=below + notes * line + EDGE_INCHES,
        top=form.top_inches(title),
        map_wide=wide,
        map_high=max(min(wide, max(0.9, place * len(chart.rows))), names_high * len(rows)),
        rows=rows,
        columns=columns,
        name_pt=size,
        degrees=degrees,
        title=title,
    )


def _step(chart: HeatMap) -> int:
    return -(-max(len(chart.rows), len(chart.columns)) // _MOST_LABELS)


def heat_map_inches(chart: HeatMap, form: Format) -> float:
    """The height of a map's picture, in inches; more hosts make the map higher."""
    return _layout(chart, form).high


def draw_heat_map(figure: Figure, chart: HeatMap, form: Format) -> None:
    """Draw a map into an empty figure whose height is ``heat_map_inches``."""
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    at = _layout(chart, form)
    wide, high = form.width_inches, at.high
    axes = figure.add_axes(
        (at.left / wide, at.bottom / high, at.map_wide / wide, at.map_high / high)
    )
    colours = LinearSegmentedColormap.from_list("netlab", HEAT)
    norm = Normalize(0, max(_present(chart.values)))
    many = max(len(chart.rows), len(chart.columns)) > _MOST_LABELS
    edge = "none" if many else PAPER
    mesh = axes.pcolormesh(
        _masked(chart.values), cmap=colours, norm=norm, edgecolors=edge, rasterized=many
    )
    _draw_inside(axes, chart, edge)
    _label(axes, chart, at)
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
    _name_axes(figure, chart, at, form)


def _name_axes(figure: Figure, chart: HeatMap, at: _Layout, form: Format) -> None:
    wide, high = form.width_inches, at.high
    line = _LINE_EM * form.text_pt / _POINTS_AN_INCH
    across = (at.left + at.map_wide / 2) / wide
    up = (at.bottom + at.map_high / 2) / high
    notes = line if _present(chart.inside) else 0.0
    figure.text(
        *(across, (EDGE_INCHES + notes) / high, chart.x_label), ha="center", va="bottom", color=INK
    )
    figure.text(
        *(EDGE_INCHES / wide, up, chart.y_label), rotation=90, ha="left", va="center", color=INK
    )
    draw_title(figure, at.title, form)
    if notes:
        label = chart.inside_label
        figure.text(
            *(EDGE_INCHES / wide, EDGE_INCHES / high, label), fontsize=form.small_pt, color=INK
        )


def _present(values: Sequence[Sequence[float | None]]) -> list[float]:
    return [value for row in values for value in row if value is not None]


def _masked(values: Sequence[Sequence[float | None]]) -> Any:
    import numpy

    plain = [[float("nan") if value is None else value for value in row] for row in values]
    return numpy.ma.masked_invalid(plain)


def _draw_inside(axes: Axes, chart: HeatMap, edge: str) -> None:
    """Give the places of pairs inside one machine a neutral colour, as these are not comparable."""
    from matplotlib.patches import Rectangle

    for y, row in enumerate(chart.inside):
        for x, value in enumerate(row):
            if value is not None:
                axes.add_patch(Rectangle((x, y), 1, 1, facecolor=INSIDE, edgecolor=edge))


def _label(axes: Axes, chart: HeatMap, at: _Layout) -> None:
    axes.invert_yaxis()
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    step = _step(chart)
    axes.set_yticks([0.5 + n for n in range(0, len(chart.rows), step)], at.rows)
    axes.set_xticks([0.5 + n for n in range(0, len(chart.columns), step)], at.columns)
    axes.tick_params(length=0, labelsize=at.name_pt)
    across = "center" if at.degrees == 90 else "top"
    for text in axes.get_xticklabels():
        text.set(rotation=at.degrees, ha="right", rotation_mode="anchor", va=across)


def _write_figures(
    axes: Axes,
    chart: HeatMap,
    colour_of: Callable[[float], Sequence[float]],
    form: Format,
    place_inches: float,
) -> None:
    """Write each figure in its place. If the widest figure were too small to read, write none."""
    digits, size_pt = _figures_fit(chart, form, place_inches)
    if not size_pt:
        return
    for y, (row, inside) in enumerate(zip(chart.values, chart.inside, strict=True)):
        for x, (value, within) in enumerate(zip(row, inside, strict=True)):
            number = within if value is None else value
            if number is None:
                continue
            dark = value is not None and _luminance(colour_of(value)) < _WHITE_BELOW
            axes.text(
                x + 0.5,
                y + 0.5,
                words_of(number, digits).replace(".", chart.decimal_marker),
                ha="center",
                va="center",
                fontsize=size_pt,
                color=PAPER if dark else INK,
            )


def _figures_fit(chart: HeatMap, form: Format, place_inches: float) -> tuple[int, float]:
    """(decimals, type size) at which the widest figure fits into its place; (0, 0.0) if it does
    not.
    """
    every = [*_present(chart.values), *_present(chart.inside)]
    for digits in (1, 0):
        widest = max(width_inches(words_of(number, digits), 1.0) for number in every)
        size_pt = min(form.small_pt, (place_inches - 2 * _FIGURE_GAP_INCHES) / widest)
        if size_pt >= _LEAST_PT:
            return digits, size_pt
    return 0, 0.0


def _luminance(colour: Sequence[float]) -> float:
    """Relative luminance (WCAG 2.2) of red, green and blue values from 0 to 1."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
