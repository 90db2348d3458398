"""A history → one HTML page that opens offline, with a chart for each cell.

The content security policy of the page allows only the page's own style sheet, and no script.
"""

from __future__ import annotations

from netlab.compare.history.history import History
from netlab.report.draw.parallel import draw
from netlab.report.draw.sizes import PAGE_WIDE
from netlab.report.history.parts import part_of
from netlab.report.language.wording import Wording
from netlab.report.page import HERE
from netlab.report.page.environment import environment
from netlab.report.page.places import with_drawings
from netlab.version import VERSION


def history_page(history: History, wording: Wording) -> str:
    """The page as HTML in the language of ``wording``. All text from files is escaped."""
    part = wording.of_part(part_of(history, with_charts=True))
    html = (
        environment(HERE, wording)
        .get_template("history/history.html.j2")
        .render(
            language=wording.language,
            title=part.title,
            part=part,
            charts=[*enumerate(part.charts)],
            style=(HERE / "page.css").read_text(encoding="utf-8"),
            places={},
            version=VERSION,
        )
    )
    return with_drawings(html, draw(part.charts, (PAGE_WIDE,)))
