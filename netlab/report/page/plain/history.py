"""A history → one HTML page that opens offline, with a chart for each cell."""

from __future__ import annotations

from netlab.compare.history.history import History
from netlab.report.draw.parallel import draw
from netlab.report.draw.sizes import PAGE_WIDE
from netlab.report.history.parts import part_of
from netlab.report.language.wording import Wording
from netlab.report.page.places import with_drawings
from netlab.report.page.plain import plain_page


def history_page(history: History, wording: Wording) -> str:
    """The page as HTML in the language of ``wording``. All text from files is escaped."""
    part = wording.of_part(part_of(history, with_charts=True))
    charts = [*enumerate(part.charts)]
    html = plain_page("history.html.j2", part.title, wording, part=part, charts=charts)
    return with_drawings(html, draw(part.charts, (PAGE_WIDE,)))
