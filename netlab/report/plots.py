"""Charts → PNG and SVG, the same bytes each time. The only room that knows matplotlib."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netlab.report.charts import Chart, Line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE_INCHES = (7.2, 3.9)
_FRAME = (0.095, 0.235, 0.885, 0.665)
"""Of the axes, as shares of the picture: left, bottom, width, height."""

_PNG_DPI = 160
_INK = "#1c2126"
_QUIET = "#6b737b"

_COLOURS = ("#0b3c5d", "#b3541e", "#3a7d44", "#7b3f8c", "#16808a", "#8a6d00")
_DASHES: tuple[str | tuple[float, tuple[float, ...]], ...] = (
    "-",
    (0, (5, 2)),
    (0, (1.4, 1.6)),
    (0, (7, 2, 1.4, 2)),
    (0, (3, 1.2)),
)
_MARKERS = ("o", "s", "^", "D", "v", "X", "P")
"""Numbers of colours, dashes and markers without a common factor: 210 lines that differ in all."""

_STYLE: Any = {
    "font.family": ["DejaVu Sans"],
    "font.size": 9.0,
    "axes.edgecolor": _QUIET,
    "axes.labelcolor": _INK,
    "axes.linewidth": 0.7,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.titlecolor": _INK,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": "#dde1e5",
    "grid.linewidth": 0.6,
    "xtick.color": _QUIET,
    "ytick.color": _QUIET,
    "xtick.labelcolor": _INK,
    "ytick.labelcolor": _INK,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "text.parse_math": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "netlab",
    "path.simplify": False,
}


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart as it was drawn."""

    chart: Chart
    svg: bytes
    png: bytes


def draw(charts: Iterable[Chart]) -> tuple[Picture, ...]:
    """Draw each chart twice; no clock, user setting or system font has a part in the bytes."""
    with _style():
        return tuple(_draw(chart) for chart in charts)


@contextmanager
def _style() -> Iterator[None]:
    import matplotlib

    with matplotlib.rc_context(), warnings.catch_warnings():
        # A name in a script that the font does not have is drawn as boxes; the tables have it.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def _draw(chart: Chart) -> Picture:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=_SIZE_INCHES)
    FigureCanvasAgg(figure)
    axes = figure.add_axes(_FRAME)
    for ceiling in chart.ceilings:
        _draw_ceiling(axes, chart, ceiling)
    for index, line in enumerate(chart.lines):
        _draw_line(axes, line, index)
    _scale(axes, chart)
    axes.set_title(chart.title)
    axes.set_xlabel(chart.x_label, labelpad=3)
    axes.set_ylabel("throughput, Mbit/s")
    figure.legend(
        *axes.get_legend_handles_labels(),
        loc="lower center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=min(6, len(chart.lines) + len(chart.ceilings)),
        handlelength=3.2,
        columnspacing=1.6,
    )
    svg, png = io.BytesIO(), io.BytesIO()
    figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    figure.savefig(png, format="png", dpi=_PNG_DPI, metadata={"Software": None})
    return Picture(chart, svg.getvalue(), png.getvalue())


def _draw_line(axes: Axes, line: Line, index: int) -> None:
    axes.plot(
        [x for x, _ in line.points],
        [float("nan") if y is None else y for _, y in line.points],
        label=line.label,
        color=_COLOURS[index % len(_COLOURS)],
        linestyle=_DASHES[index % len(_DASHES)],
        marker=_MARKERS[index % len(_MARKERS)],
        linewidth=1.4,
        markersize=4.6,
        markerfacecolor="white" if index % 2 else None,
        markeredgewidth=1.1,
        clip_on=False,
        zorder=3,
    )


def _draw_ceiling(axes: Axes, chart: Chart, ceiling: Line) -> None:
    """A thin grey line, with a short thick tick at each place of the axis that it passes."""
    first = ceiling is chart.ceilings[0]
    axes.plot(
        [x for x, _ in ceiling.points],
        [float("nan") if y is None else y for _, y in ceiling.points],
        label=ceiling.label,
        color=_QUIET,
        linestyle="-" if first else (0, (1, 2)),
        linewidth=0.9,
        zorder=2,
    )
    at = dict(ceiling.points)
    ticks = [(x, at[x]) for x, _ in chart.x_ticks if at.get(x) is not None]
    if chart.log_x:
        axes.plot(
            [x for x, _ in ticks],
            [y for _, y in ticks if y is not None],
            color=_QUIET,
            linestyle="none",
            marker="_",
            markersize=13,
            markeredgewidth=1.6,
            zorder=2,
        )


def _scale(axes: Axes, chart: Chart) -> None:
    if chart.log_x:
        axes.set_xscale("log", base=2)
    axes.set_xticks([x for x, _ in chart.x_ticks], [label for _, label in chart.x_ticks])
    axes.set_xticks([], minor=True)
    axes.tick_params(axis="x", labelsize=7.5 if len(chart.x_ticks) > 10 else 8.5)
    tops = [y for line in (*chart.lines, *chart.ceilings) for _, y in line.points if y is not None]
    axes.set_ylim(0, 1.06 * max(tops) or 1.0)
    low, high = chart.x_ticks[0][0], chart.x_ticks[-1][0]
    if chart.log_x:
        axes.set_xlim(low / 1.3, high * 1.3)
    else:
        margin = 0.03 * (high - low)
        axes.set_xlim(low - margin, high + margin)
