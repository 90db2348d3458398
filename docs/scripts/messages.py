"""Collects every text of the reports, and brings the catalogues of other languages up to date.

``python docs/scripts/messages.py [CODE …]`` (``make messages LANGUAGE=fr``) also begins a catalogue
that is not there yet. What is translated stays; a text that is no more goes.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

from netlab.report.language.catalogues import FOLDER, languages

ROOT = Path(__file__).resolve().parent.parent.parent
KEYWORDS = {"_": None, "counted": (1, 2), "gettext": None, "ngettext": (1, 2)}
JINJA = {"extensions": "jinja2.ext.i18n", "newstyle_gettext": "true", "trimmed": "false"}


def collected() -> Catalog:
    """All messages: those written in the code and in the templates, and those made of tables."""
    from netlab.experiment.kinds import ROWS
    from netlab.experiment.records import REASONS
    from netlab.messages import Message

    found = Catalog(fuzzy=False)
    methods = [("**.py", "python"), ("**.j2", "jinja2")]
    places = extract_from_dir(
        ROOT / "netlab", methods, options_map={"**.j2": JINJA}, keywords=KEYWORDS
    )
    for _file, _line, message, _comments, _context in sorted(
        places, key=lambda each: (each[0], each[1])
    ):
        if message:
            found.add(message)
    rows = [text for row in ROWS.values() for text in (row.label, row.absent)]
    for text in (*rows, *(reason.words for reason in REASONS.values())):
        if isinstance(text, Message):
            found.add(text.id)
    found.add("Table")
    return found


def written(catalogue: Catalog) -> bytes:
    """A catalogue as a file, the same bytes for the same messages."""
    out = io.BytesIO()
    write_po(out, catalogue, width=100, no_location=True, omit_header=True, ignore_obsolete=True)
    return out.getvalue()


def updated(language: str) -> bytes:
    """The catalogue of a language as it is to be: all messages, each with its translation."""
    path, made = FOLDER / f"{language}.po", Catalog(locale=language, fuzzy=False)
    if path.exists():
        with path.open("rb") as file:
            made = read_po(file, locale=language)
    made.update(collected(), no_fuzzy_matching=True)
    return written(made)


def main() -> None:
    """Write the catalogues."""
    for language in {*sys.argv[1:], *languages()} - {"en"}:
        (FOLDER / f"{language}.po").write_bytes(updated(language))


if __name__ == "__main__":
    main()
