"""Charts → SVG, PNG and PDF, the same bytes each time.

Each chart is drawn in the width of a page and, on request, also in the width of one column of a
two-column page. Pictures are meant to be shown unscaled; then their letters are as large as those
of a caption.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from netlab.report.draw.address import drawing_address
from netlab.report.draw.diagram import diagram_of, empty_figure
from netlab.report.draw.heat_map import draw_heat_map, heat_map_inches
from netlab.report.draw.lettering import FAMILY
from netlab.report.draw.palette import GRID, INK, QUIET
from netlab.report.draw.sizes import PAGE_WIDE, Format
from netlab.report.draw.strips import strip_of
from netlab.report.tables.elements import Chart, HeatMap, Strip

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PNG_DPI = 170
_PACKED = {"compress_level": 3}
"""Higher compression would take as long as drawing."""
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
    """The SVG as a data URL for the page; empty if the page does not contain this picture."""
    png: bytes
    pdf: bytes
    width_px: int
    """Width in the page, in CSS pixels."""
    height_px: int
    column: Picture | None = None
    """The same chart in the width of one column of a page."""

    def files(self) -> dict[str, bytes]:
        """File name → bytes; the pictures for a column are in a folder of their own."""
        name = self.chart.name
        own = {f"{name}.svg": self.svg, f"{name}.png": self.png, f"{name}.pdf": self.pdf}
        narrow = {} if self.column is None else self.column.files()
        return own | {f"column/{name}": data for name, data in narrow.items()}


def drawn_each(jobs: Iterable[Job]) -> Iterator[Picture]:
    """Draw charts, each in the width of its job.

    The next job is read only when the jobs before are drawn. ``style`` is entered once for
    consecutive jobs of the same width.
    """
    for form, group in groupby(jobs, key=itemgetter(1)):
        with style(form):
            for chart, _form in group:
                yield _picture(chart, form)


def make_ready() -> None:
    """Load the libraries for drawing."""
    import matplotlib.backends.backend_agg
    import matplotlib.backends.backend_pdf
    import matplotlib.backends.backend_svg  # noqa: F401


def figure_of(chart: Chart | Strip | HeatMap, form: Format) -> Figure:
    """Return the chart as a matplotlib figure.

    Call this function, and write the figure to a file, inside ``with style(form):``.
    """
    match chart:
        case Strip():
            return strip_of(chart, form)
        case HeatMap():
            figure = empty_figure(form, heat_map_inches(chart, form))
            draw_heat_map(figure, chart, form)
            return figure
        case _:
            return diagram_of(chart, form)


@contextmanager
def style(form: Format) -> Iterator[None]:
    """Set matplotlib up for pictures of this width; restore the earlier settings at the end."""
    import matplotlib

    with matplotlib.rc_context(), warnings.catch_warnings():
        # Letters that the font lacks are drawn as boxes. The tables show these letters.
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
