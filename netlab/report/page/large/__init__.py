"""The report of a run with very many trials → one HTML page that opens offline.

The content security policy of the page allows only the page's own style sheet, and no script.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from netlab.report.language.wording import Wording
from netlab.report.page import HERE
from netlab.report.page.environment import environment
from netlab.report.tables.elements import Part
from netlab.version import VERSION


def large_page(title: str, parts: Sequence[Part], wording: Wording) -> str:
    """The page as HTML, with placeholders for its drawings, in the order of the parts.

    ``parts`` are in the language of ``wording``. All text from hosts and files is escaped.
    """
    numbers = count()
    return (
        environment(HERE, wording)
        .get_template("large/large.html.j2")
        .render(
            language=wording.language,
            title=title,
            parts=[(part, [(next(numbers), chart) for chart in part.charts]) for part in parts],
            style=(HERE / "page.css").read_text(encoding="utf-8"),
            places={},
            version=VERSION,
        )
    )
