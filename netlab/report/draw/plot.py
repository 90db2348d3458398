"""Charts → SVG, PNG and PDF, the same bytes each time.

Each is drawn as wide as a page of a report, and where that is asked for as wide as one of its two
columns. Both are to be shown in their own size: the type is that of a caption.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from netlab.report.draw.address import drawing_address
from netlab.report.draw.axes import TICK_INCHES, scale_panel, spell, y_labels_inches
from netlab.report.draw.curves import draw_curve
from netlab.report.draw.diagram import EDGE_INCHES, diagram_of, draw_title, empty_figure
from netlab.report.draw.heat_map import draw_heat_map, heat_map_inches
from netlab.report.draw.lettering import FAMILY, lines_of
from netlab.report.draw.palette import GRID, INK, QUIET
from netlab.report.draw.sizes import PAGE_WIDE, Format
from netlab.report.tables.elements import Chart, HeatMap, Strip

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
_STYLE: Any = {
    "font.family": [FAMILY],
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlecolor": INK,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "text.parse_math": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "netlab",
    "pdf.fonttype": 3,
    "path.simplify": False,
}


Job = tuple[Chart | Strip | HeatMap, Format]
"""A chart, and the width to draw it in."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart as it was drawn."""

    chart: Chart | Strip | HeatMap
    svg: bytes
    address: str
    """Of the SVG, as the page holds it; empty where it does not."""
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


def drawn_each(jobs: Iterator[Job]) -> Iterator[Picture]:
    """Charts, each in one width. A job is taken when those before it are drawn, and the style stays
    as it is for all of one width that follow each other.
    """
    for form, those in groupby(jobs, key=itemgetter(1)):
        with style(form):
            for chart, _form in those:
                yield _picture(chart, form)


def make_ready() -> None:
    """Load what drawing needs."""
    import matplotlib.backends.backend_agg
    import matplotlib.backends.backend_pdf
    import matplotlib.backends.backend_svg  # noqa: F401


def figure_of(chart: Chart | Strip | HeatMap, form: Format) -> Figure:
    """The chart as matplotlib's figure; to be made and written within ``style``."""
    match chart:
        case Strip():
            return _strip(chart, form)
        case HeatMap():
            figure = empty_figure(form, heat_map_inches(chart, form))
            draw_heat_map(figure, chart, form)
            return figure
        case _:
            return diagram_of(chart, form)


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


def _strip(strip: Strip, form: Format) -> Figure:
    """The panels from top to bottom; every one has its own scale, zero in its middle."""
    wide_inches = form.width_inches
    units = {panel.unit for panel in strip.panels}
    # What all panels have in common is said once.
    common = f", {units.pop()}" if len(units) == 1 else ""
    titles = [
        lines_of(
            panel.title if common else f"{panel.title}, {panel.unit}",
            form.legend_pt,
            form.axes_wide_inches,
        )
        for panel in strip.panels
    ]
    lines = max(title.count("\n") for title in titles) + 1
    gap = _PANEL_INCHES + _PANEL_GAP_INCHES + (lines - 1) * form.title_line_inches
    heading = lines_of(f"{strip.title}{common}", form.title_pt, wide_inches - 2 * EDGE_INCHES)
    high = (
        _STRIP_BOTTOM_INCHES + len(titles) * gap + form.top_inches(heading) - _PANEL_GAP_INCHES / 2
    )
    figure = empty_figure(form, high)
    placed: list[Axes] = []
    for index, panel in enumerate(strip.panels):
        bottom = _STRIP_BOTTOM_INCHES + (len(titles) - 1 - index) * gap
        axes = figure.add_axes(
            (0.1, bottom / high, 0.8, _PANEL_INCHES / high), sharex=placed[0] if placed else None
        )
        for line in panel.lines:
            draw_curve(axes, line, [], form)
        axes.axhline(0, color=QUIET, linewidth=0.7, zorder=1)
        scale_panel(axes, panel, strip.decimal_marker)
        axes.set_title(titles[index], fontsize=form.legend_pt, pad=4, y=1.0)
        axes.tick_params(labelsize=form.small_pt)
        axes.tick_params(axis="x", labelbottom=index == len(titles) - 1)
        placed.append(axes)
    left = EDGE_INCHES + TICK_INCHES + max(y_labels_inches(a, form.small_pt) for a in placed)
    share = (wide_inches - left - form.right_inches) / wide_inches
    for axes in placed:
        _left, bottom, _wide, tall = axes.get_position().bounds
        axes.set_position((left / wide_inches, bottom, share, tall))
        axes.xaxis.set_label_coords(0.5, 0.0)
        axes.yaxis.set_label_coords(0.0, 0.5)
    spell(placed[-1].xaxis, strip.decimal_marker)
    middle = left / wide_inches + share / 2
    name = lines_of(strip.x_label, form.text_pt, form.axes_wide_inches)
    figure.text(middle, EDGE_INCHES / high, name, ha="center", va="bottom", color=INK)
    draw_title(figure, heading, form)
    return figure


def _picture(chart: Chart | Strip | HeatMap, form: Format) -> Picture:
    figure = figure_of(chart, form)
    svg, png, pdf = io.BytesIO(), io.BytesIO(), io.BytesIO()
    figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    figure.savefig(png, format="png", dpi=_PNG_DPI, metadata={"Software": None}, pil_kwargs=_PACKED)
    undated = {"CreationDate": None, "Creator": None, "Producer": None}
    figure.savefig(pdf, format="pdf", metadata=undated)
    wide, high = (round(_PIXELS_AN_INCH * inches) for inches in figure.get_size_inches())
    address = drawing_address(svg.getvalue()) if form == PAGE_WIDE else ""
    return Picture(chart, svg.getvalue(), address, png.getvalue(), pdf.getvalue(), wide, high)
