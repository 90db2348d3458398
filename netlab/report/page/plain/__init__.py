"""Pages without a script: the page of a history, and that of a run with very many trials.

The content security policy of such a page allows only the page's own style sheet.
"""

from __future__ import annotations

from typing import Any

from netlab.report.language.wording import Wording
from netlab.report.page import HERE
from netlab.report.page.environment import environment
from netlab.version import VERSION

FOLDER = "plain"
"""The folder of these pages' templates, in that of all templates."""


def plain_page(template: str, title: str, wording: Wording, **values: Any) -> str:
    """The page as HTML, with placeholders for its drawings. All text from hosts and files is
    escaped.

    ``template``: a file in this folder; ``values`` are for it, in the language of ``wording``.
    """
    return (
        environment(HERE, wording)
        .get_template(f"{FOLDER}/{template}")
        .render(
            language=wording.language,
            title=title,
            style=(HERE / "page.css").read_text(encoding="utf-8"),
            places={},
            version=VERSION,
            **values,
        )
    )
