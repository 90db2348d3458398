"""Charts → pictures as SVG, PNG and PDF, and the chart that a notebook shows."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote

from netlab.report.draw.diagram import diagram_of
from netlab.report.draw.heat_map import heat_map_of, strip_of
from netlab.report.draw.style import FAMILY, GRID, INK, PAGE_WIDE, QUIET, Format
from netlab.report.tables.elements import Chart, HeatMap, Strip
from netlab.results.labels import setting_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from netlab.results.frame import Frame

    Drawn: TypeAlias = Axes

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


_ASIDE = re.compile(r"<!--.*?-->|<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>", re.DOTALL)
_BETWEEN_TAGS = re.compile(r">\s+<")
_SPACES = re.compile(r"\s+")
_BEFORE_A_LETTER = re.compile(r" ?([MLQCZz]) ?(?=[-\d\"])| (?=\")")
_PATH = re.compile(r' d="[^"]*"')
_NUMBERS = re.compile(r"scale\([^)]*\)|-?\d+\.\d{3,}")
_PLAIN = " !'()*+,-./:;<=>@[]^_`{|}~?"
"""Characters that need no escape in a data URL between double quotes."""
_OF_A_CELL = frozenset({"cell", "pairing", "test", "protocol"})
"""Columns of a summary that are no settings."""
WIDE = 100
"""From this ratio of the largest x to the smallest x upwards, the x axis is logarithmic."""


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
    """Draw each chart in its width; a job is read only when the jobs before it are drawn."""
    undated = {"CreationDate": None, "Creator": None, "Producer": None}
    for form, group in groupby(jobs, key=itemgetter(1)):
        with style(form):
            for chart, _form in group:
                figure = figure_of(chart, form)
                svg, png, pdf = io.BytesIO(), io.BytesIO(), io.BytesIO()
                figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
                figure.savefig(
                    png, format="png", dpi=_PNG_DPI, metadata={"Software": None}, pil_kwargs=_PACKED
                )
                figure.savefig(pdf, format="pdf", metadata=undated)
                wide, high = (round(_PIXELS_AN_INCH * i) for i in figure.get_size_inches())
                address = drawing_address(svg.getvalue()) if form == PAGE_WIDE else ""
                files = svg.getvalue(), address, png.getvalue(), pdf.getvalue()
                yield Picture(chart, *files, wide, high)


def make_ready() -> None:
    """Load the libraries for drawing."""
    import matplotlib.backends.backend_agg
    import matplotlib.backends.backend_pdf
    import matplotlib.backends.backend_svg  # noqa: F401


def figure_of(chart: Chart | Strip | HeatMap, form: Format) -> Figure:
    """The chart as a figure; make it and write it to a file inside ``with style(form):``."""
    match chart:
        case Strip():
            return strip_of(chart, form)
        case HeatMap():
            return heat_map_of(chart, form)
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


def drawing_address(svg: bytes) -> str:
    """The SVG as ``data:image/svg+xml,…`` without ``"`` and ``&``, rounded to 0.01 points."""
    text = _BETWEEN_TAGS.sub("><", _ASIDE.sub("", svg.decode("utf-8"))).strip()

    def rounded(match: re.Match[str]) -> str:
        # Letters are some thousand units high: with a rounded ``scale(…)`` their size would change.
        if match[0].startswith("scale"):
            return match[0]
        return f"{float(match[0]):.2f}".rstrip("0").rstrip(".")

    text = _SPACES.sub(" ", _NUMBERS.sub(rounded, text))
    text = _PATH.sub(lambda path: _BEFORE_A_LETTER.sub(r"\1", path[0]), text)
    return "data:image/svg+xml," + quote(text.replace("'", "&#39;").replace('"', "'"), _PLAIN)


def quick_plot(summary: Frame, x: str | None, hue: str, y: str | None) -> Axes:
    """Draw means over the column ``x``, a line for each value of ``hue`` and each kind of test.

    ``summary``: the result of ``netlab.results.frame.summary_of``. ``x`` is by default the first
    setting that varies. Bars are 95 % intervals. If several cells have the same place in a line,
    the mean of these cells is drawn, without a bar, and the title names the settings in which they
    differ. Raises ValueError for an unknown column or quantity, and if there is no result.
    """
    import matplotlib.pyplot as plt

    rows: Any = summary.dropna(subset=["mean"])
    if rows.empty:
        raise ValueError("there is no result to draw")
    columns = [name for name in summary.columns if name not in ("n", "mean", "low", "high", "unit")]
    for name in (x, hue):
        if name is not None and name not in columns:
            raise ValueError(f"{name!r} is no column to draw by; there are {', '.join(columns)}")
    quantities = list(dict.fromkeys(rows["quantity"]))
    if y is not None and y not in quantities:
        raise ValueError(f"{y!r} was not measured; there are {', '.join(quantities)}")
    rows = rows[rows["quantity"] == (y or quantities[0])]
    several = [name for name in columns if rows[name].nunique(dropna=False) > 1]
    x = x or next((name for name in several if name not in _OF_A_CELL), "message_bytes")
    keys = [hue, "test"] if "test" in several and "test" not in (x, hue) else [hue]
    is_number = rows[x].dtype in ("Int64", "Float64")
    if is_number:
        rows = rows.sort_values(x, kind="stable")
        is_number = rows[x].notna().all()
    in_words = {*keys} if is_number else {x, *keys}
    rows = rows.assign(
        **{name: rows[name].astype("string").fillna(setting_value(name, None)) for name in in_words}
    )
    axes: Any = plt.subplots()[1]
    if not is_number:
        axes.xaxis.update_units([*dict.fromkeys(rows[x])])  # words in the order of the rows
    for level, own in rows.groupby(keys, sort=False):
        line = own
        if line[x].duplicated().any():
            # Several cells with the same x are drawn as one mean, which has no interval.
            pooled = line.groupby(x, as_index=False, sort=False)["mean"].mean()
            line = pooled.assign(low=None, high=None)
        means = line["mean"].astype(float)
        # A mean of fewer than three trials has no interval, so it has no bar.
        low, high = (line[name].astype("Float64").fillna(means) for name in ("low", "high"))
        bars = [(means - low).astype(float), (high - means).astype(float)]
        places = line[x].astype(float if is_number else str)
        axes.errorbar(places, means, yerr=bars, marker="o", capsize=3, label=", ".join(level))
    groups = rows.groupby([*dict.fromkeys((x, *keys))])
    others = [name for name in several if name not in (x, *keys, "cell")]
    others = [name for name in others if groups[name].nunique(dropna=False).max() > 1]
    if others:
        axes.set_title(f"means over {', '.join(others)}")
    axes.set_xlabel(x)
    axes.set_ylabel(", ".join(filter(None, rows[["quantity", "unit"]].iloc[0])))
    axes.set_ylim(bottom=None if rows["mean"].min() < 0 else 0)
    if is_number and rows[x].min() > 0 and rows[x].max() >= WIDE * rows[x].min():
        axes.set_xscale("log", base=2)
    axes.legend(title=", ".join(keys))
    picture: Axes = axes
    return picture
