"""The report of a run with very many trials → one HTML page that opens offline."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from netlab.report.language.wording import Wording
from netlab.report.page.plain import plain_page
from netlab.report.tables.elements import Part


def large_page(title: str, parts: Sequence[Part], wording: Wording) -> str:
    """The page as HTML, with placeholders for its drawings, in the order of the parts.

    ``parts`` are in the language of ``wording``. All text from hosts and files is escaped.
    """
    numbers = count()
    numbered = [(part, [(next(numbers), chart) for chart in part.charts]) for part in parts]
    return plain_page("large.html.j2", title, wording, parts=numbered)
