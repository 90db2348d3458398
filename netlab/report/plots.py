"""Charts → PNG and SVG, the same bytes each time. The only room that knows matplotlib."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netlab.report.bars import draw_bars
from netlab.report.heat_map import draw_heat_map, heat_map_inches
from netlab.report.nouns import Chart, Curve, HeatMap, Panel, Strip

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH_INCHES = 7.2
_AXES_INCHES = (0.68, 0.92, 6.37, 2.6)
"""Left, bottom, width and height of the axes, where the legend takes one line."""
_TOP_INCHES = 0.38
_LEGEND_LINE_INCHES = 0.19
_LEGEND_CHARACTERS = 92
"""What fits into one line of the legend; a handle takes the room of eight."""
_LABEL_SHARE = 0.045
"""Of the axis: labels closer together than this are left out, their ticks stay."""

_PANEL_INCHES = 0.95
_PANEL_GAP_INCHES = 0.36
_STRIP_BOTTOM_INCHES = 0.52

_PNG_DPI = 160
_PIXELS_AN_INCH = 72
_LEAST_RANGE = 0.1
"""An axis that does not begin at zero shows at least this share of its top."""
_FEW_POINTS = 40
"""A line of more points has markers at the ticks of the axis only."""
_INK = "#1c2126"
_QUIET = "#6b737b"

_COLOURS = ("#0b3c5d", "#b3541e", "#3a7d44", "#7b3f8c", "#16808a", "#8a6d00")
_HATCHES = ("", "///", "...", "xxx")
"""Of bars, from the second round of colours on."""
_BESIDE_BARS = 0.6
"""Room beside the first and the last group of bars, which stand one apart."""
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

    chart: Chart | Strip | HeatMap
    svg: bytes
    png: bytes
    width_px: int
    """As the page shows it, in CSS pixels."""
    height_px: int


def draw(charts: Iterable[Chart | Strip | HeatMap]) -> tuple[Picture, ...]:
    """Draw each chart twice; no clock, user setting or system font has a part in the bytes."""
    with _style():
        return tuple(map(_drawn, charts))


def _drawn(chart: Chart | Strip | HeatMap) -> Picture:
    match chart:
        case Strip():
            return _strip(chart)
        case HeatMap():
            figure = _figure(heat_map_inches(chart))
            draw_heat_map(figure, chart)
            return _picture(chart, figure)
        case _:
            return _chart(chart)


@contextmanager
def _style() -> Iterator[None]:
    import matplotlib

    with matplotlib.rc_context(), warnings.catch_warnings():
        # A name in a script that the font does not have is drawn as boxes; the tables have it.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def _chart(chart: Chart) -> Picture:
    columns, rows = _legend_shape([line.label for line in (*chart.lines, *chart.ceilings)])
    left, bottom, width, height = _AXES_INCHES
    bottom += (rows - 1) * _LEGEND_LINE_INCHES
    high = bottom + height + _TOP_INCHES
    figure = _figure(high)
    axes = figure.add_axes(
        (left / _WIDTH_INCHES, bottom / high, width / _WIDTH_INCHES, height / high)
    )
    if chart.as_bars:
        draw_bars(axes, chart, _COLOURS, _HATCHES)
    else:
        for ceiling in chart.ceilings:
            _draw_ceiling(axes, chart, ceiling)
        for line in chart.lines:
            _draw_line(axes, line, [x for x, _ in chart.x_ticks])
    _scale(axes, chart)
    axes.set_title(chart.title)
    axes.set_xlabel(chart.x_label, labelpad=3)
    axes.set_ylabel(f"{chart.quantity}, {chart.unit}")
    _legend(figure, axes, len(chart.ceilings), columns)
    return _picture(chart, figure)


def _strip(strip: Strip) -> Picture:
    """The panels from top to bottom; every one has its own scale, zero in its middle."""
    panels = len(strip.panels)
    gap = _PANEL_INCHES + _PANEL_GAP_INCHES
    high = _STRIP_BOTTOM_INCHES + panels * gap + _TOP_INCHES
    figure = _figure(high)
    left, _, width, _ = _AXES_INCHES
    shared: Axes | None = None
    for index, panel in enumerate(strip.panels):
        bottom = _STRIP_BOTTOM_INCHES + (panels - 1 - index) * gap
        axes = figure.add_axes(
            (left / _WIDTH_INCHES, bottom / high, width / _WIDTH_INCHES, _PANEL_INCHES / high),
            sharex=shared,
        )
        shared = shared or axes
        for line in panel.lines:
            _draw_line(axes, line, [])
        _scale_panel(axes, panel)
        axes.tick_params(axis="x", labelbottom=index == panels - 1)
    if shared is not None:
        axes.set_xlabel(strip.x_label, labelpad=3)
    figure.text(left / _WIDTH_INCHES, 1 - 0.2 / high, strip.title, fontsize=10.5, color=_INK)
    return _picture(strip, figure)


def _figure(high_inches: float) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH_INCHES, high_inches))
    FigureCanvasAgg(figure)
    return figure


def _legend(figure: Figure, axes: Axes, ceilings: int, columns: int) -> None:
    """Below the diagram: what was measured first, then the ceilings."""
    handles = axes.get_legend_handles_labels()[0]
    measured = len(handles) - ceilings
    figure.legend(
        handles=[*handles[-measured:], *handles[:-measured]],
        loc="lower center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=columns,
        handlelength=3.2,
        columnspacing=1.6,
    )


def _picture(chart: Chart | Strip | HeatMap, figure: Figure) -> Picture:
    svg, png = io.BytesIO(), io.BytesIO()
    figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    figure.savefig(png, format="png", dpi=_PNG_DPI, metadata={"Software": None})
    wide, high = (round(_PIXELS_AN_INCH * inches) for inches in figure.get_size_inches())
    return Picture(chart, svg.getvalue(), png.getvalue(), wide, high)


def _legend_shape(labels: list[str]) -> tuple[int, int]:
    """(columns, rows) of a legend that is no wider than its picture."""
    wide = max(map(len, labels), default=0) + 8
    columns = max(1, min(len(labels), _LEGEND_CHARACTERS // wide))
    # Labels of unequal length share a line where all of them fit.
    if sum(map(len, labels)) + 8 * len(labels) <= _LEGEND_CHARACTERS:
        columns = len(labels)
    return columns, -(-len(labels) // columns)


def _draw_line(axes: Axes, line: Curve, ticks: Sequence[float]) -> None:
    index = line.place
    marked = [at for at, (x, _) in enumerate(line.points) if x in ticks]
    axes.plot(
        [x for x, _ in line.points],
        [float("nan") if y is None else y for _, y in line.points],
        label=line.label,
        color=_COLOURS[index % len(_COLOURS)],
        linestyle=_DASHES[index % len(_DASHES)] if line.joined else "none",
        marker=_MARKERS[index % len(_MARKERS)],
        linewidth=1.4,
        markersize=4.6,
        markerfacecolor="white" if index % 2 else None,
        markeredgewidth=1.1,
        markevery=marked if len(line.points) > _FEW_POINTS else None,
        clip_on=False,
        zorder=3,
    )
    _draw_bars(axes, line)


def _draw_bars(axes: Axes, line: Curve) -> None:
    """The interval of each point's mean, where it is known."""
    known = [
        (x, y, half)
        for (x, y), half in zip(line.points, line.half_widths, strict=False)
        if y is not None and half is not None
    ]
    if known:
        places, values, halves = zip(*known, strict=True)
        axes.errorbar(
            places,
            values,
            yerr=halves,
            fmt="none",
            ecolor=_COLOURS[line.place % len(_COLOURS)],
            elinewidth=0.9,
            capsize=2.4,
            zorder=3,
        )


def _draw_ceiling(axes: Axes, chart: Chart, ceiling: Curve) -> None:
    """A thin grey line; a curve has a short thick tick at each place of the axis."""
    axes.plot(
        [x for x, _ in ceiling.points],
        [float("nan") if y is None else y for _, y in ceiling.points],
        label=ceiling.label,
        color=_QUIET,
        linestyle="-" if ceiling.place == 0 else (0, (1, 2)),
        linewidth=0.9,
        zorder=2,
    )
    at = dict(ceiling.points)
    ticks = [(x, at[x]) for x, _ in chart.x_ticks if at.get(x) is not None]
    if len(ceiling.points) > 2:
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
    axes.set_xticks([x for x, _ in chart.x_ticks], _labels(chart))
    axes.set_xticks([], minor=True)
    axes.tick_params(axis="x", labelsize=7.5 if len(chart.x_ticks) > 10 else 8.5)
    _scale_y(axes, chart)
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


def _scale_panel(axes: Axes, panel: Panel) -> None:
    """As far as its values go, up and down from zero, and 1 at least."""
    most = max(abs(y) for line in panel.lines for _, y in line.points if y is not None)
    axes.set_ylim(-1.15 * max(most, 1.0), 1.15 * max(most, 1.0))
    axes.axhline(0, color=_QUIET, linewidth=0.7, zorder=1)
    axes.locator_params(axis="y", nbins=4)
    axes.ticklabel_format(axis="y", useOffset=False, style="plain")
    axes.set_title(f"{panel.title}, {panel.unit}", fontsize=8.5, pad=4)
    axes.tick_params(labelsize=7.5)


def _labels(chart: Chart) -> list[str]:
    """The ticks' labels from left to right, without those that would stand on the one before."""
    at = [math.log(x) if chart.log_x else x for x, _ in chart.x_ticks]
    span = (at[-1] - at[0]) or 1.0
    labels, last = [], -math.inf
    for x, (_, label) in zip(at, chart.x_ticks, strict=True):
        shown = (x - last) / span >= _LABEL_SHARE
        labels.append(label if shown else "")
        last = x if shown else last
    return labels
