"""A heat map, drawn: figures by client and server, darker where there is more.

With plot.py the only room that knows matplotlib.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from netlab.report.draw.axes import spell
from netlab.report.draw.sizes import Format
from netlab.report.tables.elements import HeatMap
from netlab.results.labels import figure as words_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_LABELS = 40
"""Of more hosts only every so many-th is named at the axes. The places are one image then, also in
drawings of lines (40,000 paths take minutes to write and to look at), without white lines between,
which would cover them."""

_COLOURS = ("#eef4f8", "#9fc3d8", "#4b8fb3", "#1b5e86", "#0b3c5d")
_INSIDE = "#e3e3e0"
_INK = "#1c2126"
_DARK_FROM = 0.55
"""Of the scale: from here on figures are written in white."""


def heat_map_inches(chart: HeatMap, form: Format) -> float:
    """How high its picture is: places are about half as high as wide, where there are few."""
    top = form.top_inches(form.title(chart.title))
    return form.map_bottom_inches + _map_high_inches(chart, form) + top


def _map_wide_inches(form: Format) -> float:
    return form.width_inches - form.map_left_inches - form.map_right_inches


def _map_high_inches(chart: HeatMap, form: Format) -> float:
    place = 4 * form.legend_pt / 100
    return min(_map_wide_inches(form), max(0.9, place * len(chart.rows)))


def draw_heat_map(figure: Figure, chart: HeatMap, form: Format) -> None:
    """Draw it into an empty figure of ``heat_map_inches``."""
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    wide, high = form.width_inches, heat_map_inches(chart, form)
    bottom = form.map_bottom_inches / high
    axes = figure.add_axes(
        (
            form.map_left_inches / wide,
            bottom,
            _map_wide_inches(form) / wide,
            _map_high_inches(chart, form) / high,
        )
    )
    colours = LinearSegmentedColormap.from_list("netlab", _COLOURS)
    norm = Normalize(0, max(_present(chart.values)))
    many = max(len(chart.rows), len(chart.columns)) > _MOST_LABELS
    edge = "none" if many else "white"
    mesh = axes.pcolormesh(
        _masked(chart.values), cmap=colours, norm=norm, edgecolors=edge, rasterized=many
    )
    _draw_inside(axes, chart, edge)
    _label(axes, chart, form)
    if len(chart.rows) <= form.map_figures:
        _write_figures(axes, chart, norm.vmax or 1.0, form)
    bar_high = min(1.2, _map_high_inches(chart, form)) / high
    bar = figure.add_axes((1 - 0.76 * form.map_right_inches / wide, bottom, 0.02, bar_high))
    figure.colorbar(mesh, cax=bar)
    bar.set_title(chart.unit, fontsize=form.small_pt, loc="left")
    bar.tick_params(labelsize=form.small_pt)
    spell(bar.yaxis, chart.decimal_marker)
    top = 1 - form.text_pt / 72 / high
    title = form.title(chart.title)
    figure.text(0.02, top, title, fontsize=form.title_pt, color=_INK, va="top")
    if _present(chart.inside):
        figure.text(0.02, 0.1 / high, chart.inside_label, fontsize=form.small_pt, color=_INK)


def _present(values: Sequence[Sequence[float | None]]) -> list[float]:
    return [value for row in values for value in row if value is not None]


def _masked(values: Sequence[Sequence[float | None]]) -> Any:
    import numpy

    plain = [[float("nan") if value is None else value for value in row] for row in values]
    return numpy.ma.masked_invalid(plain)


def _draw_inside(axes: Axes, chart: HeatMap, edge: str) -> None:
    """What is not to be compared has the ground of paper, whatever its figure."""
    from matplotlib.patches import Rectangle

    for y, row in enumerate(chart.inside):
        for x, value in enumerate(row):
            if value is not None:
                axes.add_patch(Rectangle((x, y), 1, 1, facecolor=_INSIDE, edgecolor=edge))


def _label(axes: Axes, chart: HeatMap, form: Format) -> None:
    axes.invert_yaxis()
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    step = -(-max(len(chart.rows), len(chart.columns)) // _MOST_LABELS)
    size = form.legend_pt if len(chart.rows) <= form.map_figures else 6.0
    rows, columns = range(0, len(chart.rows), step), range(0, len(chart.columns), step)
    most = form.map_names
    axes.set_yticks([at + 0.5 for at in rows], [_short(chart.rows[at], most) for at in rows])
    servers = [_short(chart.columns[at], most) for at in columns]
    axes.set_xticks([at + 0.5 for at in columns], servers)
    axes.tick_params(length=0, labelsize=size)
    for text in axes.get_xticklabels():
        text.set(rotation=38, ha="right", rotation_mode="anchor")
    axes.set_xlabel(chart.x_label, labelpad=2)
    axes.set_ylabel(chart.y_label, labelpad=4)


def _short(name: str, most: int) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"


def _write_figures(axes: Axes, chart: HeatMap, most: float, form: Format) -> None:
    for y, (row, inside) in enumerate(zip(chart.values, chart.inside, strict=True)):
        for x, (value, within) in enumerate(zip(row, inside, strict=True)):
            shown = within if value is None else value
            if shown is None:
                continue
            dark = value is not None and value / most >= _DARK_FROM
            axes.text(
                x + 0.5,
                y + 0.5,
                words_of(shown, 1).replace(".", chart.decimal_marker),
                ha="center",
                va="center",
                fontsize=form.small_pt,
                color="white" if dark else _INK,
            )
