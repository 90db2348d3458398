"""Charts → SVG, PNG and PDF, the same bytes each time. With heat_map.py all that knows matplotlib.

Each is drawn twice: as wide as a page of a report, and as wide as one of its two columns. Both are
to be shown in their own size: the type is that of a caption.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netlab.report.draw.axes import name_places, scale, scale_panel, spell
from netlab.report.draw.bars import draw_bars
from netlab.report.draw.heat_map import draw_heat_map, heat_map_inches
from netlab.report.draw.sizes import Format
from netlab.report.tables.elements import Chart, Curve, HeatMap, Strip

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANEL_INCHES = 0.95
_PANEL_GAP_INCHES = 0.36
_STRIP_BOTTOM_INCHES = 0.52

_PNG_DPI = 170
_PACKED = {"compress_level": 3}
"""Packing them tighter takes as long as drawing them."""
_PIXELS_AN_INCH = 72
_FEW_POINTS = 40
"""A line of more points has markers at the ticks of the axis only."""
_INK = "#1c2126"
_QUIET = "#6b737b"

_COLOURS = ("#0b3c5d", "#b3541e", "#3a7d44", "#7b3f8c", "#16808a", "#8a6d00")
_HATCHES = ("", "///", "...", "xxx")
"""Of bars, from the second round of colours on."""
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
    "axes.edgecolor": _QUIET,
    "axes.labelcolor": _INK,
    "axes.linewidth": 0.7,
    "axes.spines.right": False,
    "axes.spines.top": False,
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
    "text.parse_math": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "netlab",
    "pdf.fonttype": 3,
    "path.simplify": False,
}


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart as it was drawn."""

    chart: Chart | Strip | HeatMap
    svg: bytes
    png: bytes
    pdf: bytes
    width_px: int
    """As the page shows it, in CSS pixels."""
    height_px: int
    column: Picture | None = None
    """The same for one column of a page."""

    def files(self) -> dict[str, bytes]:
        """Names and bytes; those for a column in a folder of their own."""
        name = self.chart.name
        own = {f"{name}.svg": self.svg, f"{name}.png": self.png, f"{name}.pdf": self.pdf}
        narrow = {} if self.column is None else self.column.files()
        return own | {f"column/{name}": data for name, data in narrow.items()}


def drawn(chart: Chart | Strip | HeatMap, form: Format) -> Picture:
    """The chart in one width."""
    with style(form):
        return _picture(chart, figure_of(chart, form))


def figure_of(chart: Chart | Strip | HeatMap, form: Format) -> Figure:
    """The chart as matplotlib's figure; to be made and written within ``style``."""
    match chart:
        case Strip():
            return _strip(chart, form)
        case HeatMap():
            figure = _figure(form, heat_map_inches(chart, form))
            draw_heat_map(figure, chart, form)
            return figure
        case _:
            return _chart(chart, form)


@contextmanager
def style(form: Format) -> Iterator[None]:
    """matplotlib's settings for pictures of that width, and afterwards those of before."""
    import matplotlib

    with matplotlib.rc_context(), warnings.catch_warnings():
        # A name in a script that the font does not have is drawn as boxes; the tables have it.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        sizes: Any = {
            "font.size": form.text_pt,
            "axes.titlesize": form.title_pt,
            "legend.fontsize": form.legend_pt,
        }
        matplotlib.rcParams.update(sizes)
        yield


def _chart(chart: Chart, form: Format) -> Figure:
    labels = [line.label for line in (*chart.lines, *chart.ceilings)]
    columns, rows = form.legend_shape(labels)
    title = form.title(chart.title)
    bottom = form.bottom_inches + (rows - 1) * form.legend_line_inches
    high = bottom + form.axes_high_inches + form.top_inches(title)
    figure = _figure(form, high)
    axes = figure.add_axes(form.axes(bottom, form.axes_high_inches, high))
    if chart.as_bars:
        draw_bars(axes, chart, _COLOURS, _HATCHES)
    else:
        for ceiling in chart.ceilings:
            _draw_ceiling(axes, chart, ceiling)
        for line in chart.lines:
            _draw_line(axes, line, [x for x, _ in chart.x_ticks], form)
    scale(axes, chart, form)
    axes.set_title(title, y=1.0)
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(f"{chart.quantity}, {chart.unit}")
    name_places(axes, form, form.axes_high_inches)
    _legend(figure, axes, len(chart.ceilings), columns)
    return figure


def _strip(strip: Strip, form: Format) -> Figure:
    """The panels from top to bottom; every one has its own scale, zero in its middle."""
    titles = [form.title(f"{each.title}, {each.unit}") for each in strip.panels]
    lines = max(title.count("\n") for title in titles) + 1
    gap = _PANEL_INCHES + _PANEL_GAP_INCHES + (lines - 1) * form.title_line_inches
    heading = form.title(strip.title)
    high = _STRIP_BOTTOM_INCHES + len(titles) * gap + form.top_inches(heading)
    figure = _figure(form, high)
    shared: Axes | None = None
    for index, panel in enumerate(strip.panels):
        bottom = _STRIP_BOTTOM_INCHES + (len(titles) - 1 - index) * gap
        axes = figure.add_axes(form.axes(bottom, _PANEL_INCHES, high), sharex=shared)
        shared = shared or axes
        for line in panel.lines:
            _draw_line(axes, line, [], form)
        axes.axhline(0, color=_QUIET, linewidth=0.7, zorder=1)
        scale_panel(axes, panel, strip.decimal_marker)
        axes.set_title(titles[index], fontsize=form.legend_pt, pad=4, y=1.0)
        axes.tick_params(labelsize=form.small_pt)
        axes.tick_params(axis="x", labelbottom=index == len(titles) - 1)
    if shared is not None:
        axes.set_xlabel(strip.x_label)
        name_places(axes, form, _PANEL_INCHES)
        spell(axes.xaxis, strip.decimal_marker)
    figure.text(
        form.left_inches / form.width_inches,
        1 - form.text_pt / 72 / high,
        heading,
        fontsize=form.title_pt,
        color=_INK,
        va="top",
    )
    return figure


def _figure(form: Format, high_inches: float) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(form.width_inches, high_inches))
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
    svg, png, pdf = io.BytesIO(), io.BytesIO(), io.BytesIO()
    figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    figure.savefig(png, format="png", dpi=_PNG_DPI, metadata={"Software": None}, pil_kwargs=_PACKED)
    undated = {"CreationDate": None, "Creator": None, "Producer": None}
    figure.savefig(pdf, format="pdf", metadata=undated)
    wide, high = (round(_PIXELS_AN_INCH * inches) for inches in figure.get_size_inches())
    return Picture(chart, svg.getvalue(), png.getvalue(), pdf.getvalue(), wide, high)


def _draw_line(axes: Axes, line: Curve, ticks: Sequence[float], form: Format) -> None:
    index = line.place
    marked = [at for at, (x, _) in enumerate(line.points) if x in ticks]
    axes.plot(
        [x for x, _ in line.points],
        [float("nan") if y is None else y for _, y in line.points],
        label=line.label,
        color=_COLOURS[index % len(_COLOURS)],
        linestyle=_DASHES[index % len(_DASHES)] if line.joined else "none",
        marker=_MARKERS[index % len(_MARKERS)],
        linewidth=form.line_pt,
        markersize=form.marker_pt,
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
