"""Collects every text of the reports, and updates the catalogues of other languages.

``python docs/scripts/messages.py [CODE …]`` (``make messages LANGUAGE=fr``) also creates a new
catalogue. Existing translations are kept; texts that no longer exist are removed.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

from netlab.report.language import FOLDER, languages

ROOT = Path(__file__).resolve().parent.parent.parent
KEYWORDS = {"_": None, "counted": (1, 2), "gettext": None, "ngettext": (1, 2)}
JINJA = {"extensions": "jinja2.ext.i18n", "newstyle_gettext": "true", "trimmed": "false"}


def collected() -> Catalog:
    """All messages: of the code, of the templates, and of tables."""
    from netlab.kinds import ROWS
    from netlab.messages import Message
    from netlab.trial.record import REASONS

    catalogue = Catalog(fuzzy=False)
    methods = [("**.py", "python"), ("**.j2", "jinja2")]
    places = extract_from_dir(
        ROOT / "netlab", methods, options_map={"**.j2": JINJA}, keywords=KEYWORDS
    )
    for _file, _line, message, _comments, _context in sorted(
        places, key=lambda place: (place[0], place[1])
    ):
        if message:
            catalogue.add(message)
    rows = [text for row in ROWS.values() for text in (row.label, row.absent)]
    for text in (*rows, *(reason.words for reason in REASONS.values())):
        if isinstance(text, Message):
            catalogue.add(text.id)
    catalogue.add("Table")
    return catalogue


def written(catalogue: Catalog) -> bytes:
    """The content of a catalogue's file: the same bytes for the same messages."""
    out = io.BytesIO()
    write_po(out, catalogue, width=100, no_location=True, omit_header=True, ignore_obsolete=True)
    return out.getvalue()


def updated(language: str) -> bytes:
    """The current catalogue of a language: all messages, with the existing translations."""
    path, catalogue = FOLDER / f"{language}.po", Catalog(locale=language, fuzzy=False)
    if path.exists():
        with path.open("rb") as file:
            catalogue = read_po(file, locale=language)
    catalogue.update(collected(), no_fuzzy_matching=True)
    return written(catalogue)


def main() -> None:
    """Write the catalogues."""
    for language in {*sys.argv[1:], *languages()} - {"en"}:
        (FOLDER / f"{language}.po").write_bytes(updated(language))


if __name__ == "__main__":
    main()
