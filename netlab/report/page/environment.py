"""Jinja's environment for the page's templates: filters, and the language of their texts."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from netlab.messages import Message, sentence_case
from netlab.report.language.wording import Wording
from netlab.report.tables.elements import Chart, Table, TableLine
from netlab.terminal import printable

if TYPE_CHECKING:
    from jinja2 import Environment


def environment(folder: Path, wording: Wording) -> Environment:
    """The environment for the templates in a folder. Messages are translated, and all text is
    escaped, including text from a catalogue.
    """
    import jinja2
    from markupsafe import escape

    def said(value: object) -> object:
        """A message in the page's language; text from hosts and files without terminal escapes and
        without characters that change the direction of text."""
        if isinstance(value, Message):
            value = wording.text(value)
        return printable(str(value), keep="\n\t") if type(value) in (str, Message) else value

    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        finalize=said,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        extensions=["jinja2.ext.i18n"],
    )
    templates.install_gettext_callables(  # type: ignore[attr-defined]
        gettext=lambda words: escape(wording.gettext(words)),
        ngettext=lambda singular, plural, number: escape(
            wording.ngettext(singular, plural, number)
        ),
        newstyle=True,
    )
    templates.filters |= {
        "digest": _digest,
        "has_bars": _has_bars,
        "has_shares": _has_shares,
        "parts": _row_groups,
        "said": said,
        "sentence_case": sentence_case,
    }
    return templates


def _digest(text: str) -> str:
    """The hash of a script or style in the form of a Content-Security-Policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"


def _has_shares(table: Table) -> bool:
    return any(place.share for line in table.lines for place in line.places)


def _has_bars(charts: Iterable[tuple[int, Chart]]) -> bool:
    return any(chart.has_bars for _number, chart in charts)


def _row_groups(rows: Sequence[TableLine]) -> list[tuple[str, list[TableLine]]]:
    """The rows of a table's body and, if some rows summarise other rows, the rows of its foot."""
    body = [row for row in rows if row.kind == "value"]
    rest = [row for row in rows if row.kind != "value"]
    return [("tbody", body), *([("tfoot", rest)] if rest else [])] if body else [("tbody", rest)]
