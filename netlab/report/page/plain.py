"""Pages without a script: the page of a history, and that of a run with very many trials.

The content security policy of such a page allows only the page's own style sheet.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from netlab.compare.history import History
from netlab.report.draw.parallel import draw
from netlab.report.draw.style import PAGE_WIDE
from netlab.report.history import part_of
from netlab.report.language import Wording
from netlab.report.page import HERE
from netlab.report.page.coverage import environment
from netlab.report.page.first import with_drawings
from netlab.report.tables.elements import Part
from netlab.version import VERSION


def _plain_page(template: str, title: str, wording: Wording, **values: Any) -> str:
    """``values`` are for the template, in the language of ``wording``."""
    return (
        environment(HERE, wording)
        .get_template(template)
        .render(
            language=wording.language,
            title=title,
            style=(HERE / "page.css").read_text(encoding="utf-8"),
            places={},
            version=VERSION,
            **values,
        )
    )


def history_page(history: History, wording: Wording) -> str:
    """The page as HTML in the language of ``wording``. All text from files is escaped."""
    part = wording.of_part(part_of(history, with_charts=True))
    charts = [*enumerate(part.charts)]
    html = _plain_page("plain_history.html.j2", part.title, wording, part=part, charts=charts)
    return with_drawings(html, draw(part.charts, (PAGE_WIDE,)))


def large_page(title: str, parts: Sequence[Part], wording: Wording) -> str:
    """The page as HTML, with placeholders for its drawings, in the order of the parts.

    ``parts`` are in the language of ``wording``. All text from hosts and files is escaped.
    """
    numbers = count()
    numbered = [(part, [(next(numbers), chart) for chart in part.charts]) for part in parts]
    return _plain_page("plain_large.html.j2", title, wording, parts=numbered)
