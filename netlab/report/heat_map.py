"""A heat map, drawn: figures by client and server, darker where there is more.

With plots.py the only room that knows matplotlib.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from netlab.report.nouns import HeatMap
from netlab.report.words import figure as words_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH_INCHES = 7.2
_LEFT_INCHES = 1.75
_RIGHT_INCHES = 0.95
_TOP_INCHES = 0.42
_BOTTOM_INCHES = 1.55
_MOST_LABELS = 40
"""Of more hosts only every so many-th is named at the axes."""
_MOST_FIGURES = 10
"""Of more hosts a side the figures do not fit into their places."""
_LABEL_CHARACTERS = 24

_COLOURS = ("#eef4f8", "#9fc3d8", "#4b8fb3", "#1b5e86", "#0b3c5d")
_INSIDE = "#e3e3e0"
_INK = "#1c2126"
_DARK_FROM = 0.55
"""Of the scale: from here on figures are written in white."""


def heat_map_inches(chart: HeatMap) -> float:
    """How high its picture is: places are about half as high as wide, where there are few."""
    wide = _WIDTH_INCHES - _LEFT_INCHES - _RIGHT_INCHES
    high = min(wide, max(0.9, 0.34 * len(chart.rows)))
    return _BOTTOM_INCHES + high + _TOP_INCHES


def draw_heat_map(figure: Figure, chart: HeatMap) -> None:
    """Draw it into an empty figure of ``heat_map_inches``."""
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    high = heat_map_inches(chart)
    axes = figure.add_axes(
        (
            _LEFT_INCHES / _WIDTH_INCHES,
            _BOTTOM_INCHES / high,
            (_WIDTH_INCHES - _LEFT_INCHES - _RIGHT_INCHES) / _WIDTH_INCHES,
            (high - _BOTTOM_INCHES - _TOP_INCHES) / high,
        )
    )
    colours = LinearSegmentedColormap.from_list("netlab", _COLOURS)
    norm = Normalize(0, max(_present(chart.values)))
    mesh = axes.pcolormesh(_masked(chart.values), cmap=colours, norm=norm, edgecolors="white")
    _draw_inside(axes, chart)
    _label(axes, chart)
    if len(chart.rows) <= _MOST_FIGURES:
        _write_figures(axes, chart, norm.vmax or 1.0)
    bar = figure.add_axes((1 - 0.72 / _WIDTH_INCHES, _BOTTOM_INCHES / high, 0.02, 1.2 / high))
    figure.colorbar(mesh, cax=bar)
    bar.set_title(chart.unit, fontsize=8, loc="left")
    bar.tick_params(labelsize=7.5)
    figure.text(0.02, 1 - 0.24 / high, chart.title, fontsize=10.5, color=_INK)
    if _present(chart.inside):
        said = "grey: within one machine, not on the scale"
        figure.text(0.02, 0.1 / high, said, fontsize=8, color=_INK)


def _present(values: Sequence[Sequence[float | None]]) -> list[float]:
    return [value for row in values for value in row if value is not None]


def _masked(values: Sequence[Sequence[float | None]]) -> Any:
    import numpy

    plain = [[float("nan") if value is None else value for value in row] for row in values]
    return numpy.ma.masked_invalid(plain)


def _draw_inside(axes: Axes, chart: HeatMap) -> None:
    """What is not to be compared has the ground of paper, whatever its figure."""
    from matplotlib.patches import Rectangle

    for y, row in enumerate(chart.inside):
        for x, value in enumerate(row):
            if value is not None:
                axes.add_patch(Rectangle((x, y), 1, 1, facecolor=_INSIDE, edgecolor="white"))


def _label(axes: Axes, chart: HeatMap) -> None:
    axes.invert_yaxis()
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    step = -(-max(len(chart.rows), len(chart.columns)) // _MOST_LABELS)
    size = 8.5 if len(chart.rows) <= _MOST_FIGURES else 6.0
    rows, columns = range(0, len(chart.rows), step), range(0, len(chart.columns), step)
    axes.set_yticks([at + 0.5 for at in rows], [_short(chart.rows[at]) for at in rows])
    axes.set_xticks([at + 0.5 for at in columns], [_short(chart.columns[at]) for at in columns])
    axes.tick_params(length=0, labelsize=size)
    for text in axes.get_xticklabels():
        text.set(rotation=38, ha="right", rotation_mode="anchor")
    axes.set_xlabel("server", labelpad=2)
    axes.set_ylabel("client", labelpad=4)


def _short(name: str) -> str:
    return name if len(name) <= _LABEL_CHARACTERS else name[: _LABEL_CHARACTERS - 1] + "…"


def _write_figures(axes: Axes, chart: HeatMap, most: float) -> None:
    for y, (row, inside) in enumerate(zip(chart.values, chart.inside, strict=True)):
        for x, (value, within) in enumerate(zip(row, inside, strict=True)):
            shown = within if value is None else value
            if shown is None:
                continue
            dark = value is not None and value / most >= _DARK_FROM
            axes.text(
                x + 0.5,
                y + 0.5,
                words_of(shown, 1),
                ha="center",
                va="center",
                fontsize=8,
                color="white" if dark else _INK,
            )
