"""Reports in other languages: a wording for each, and its gettext catalogue ``CODE.po``."""

from __future__ import annotations

import gettext
import io
from functools import cache
from pathlib import Path
from typing import TypeVar

from netlab.errors import UsageError

FOLDER = Path(__file__).parent
Element = TypeVar("Element")


class Wording:
    """How the texts and figures of a report are written: in English, as they are in the code."""

    language = "en"
    decimal_marker = "."
    table = "Table"
    """Word before a table's number."""

    def text(self, words: str) -> str:
        """A text (a label, a sentence or a figure) as the report writes it."""
        return words

    def gettext(self, words: str) -> str:
        """A text of a template of the page; the templates call this function ``gettext``."""
        return words

    def ngettext(self, singular: str, plural: str, number: int) -> str:
        """A text of a template of the page, in the form for this number."""
        return singular if number == 1 else plural

    def of(self, element: Element) -> Element:
        """An element of the report (a table, a chart, a section) as the report writes it."""
        return element


def wording_in(language: str) -> Wording:
    """The wording for a language code, one of ``languages()``."""
    if language == "en":
        return Wording()
    from netlab.report.language.translated import Translated

    return Translated(language, catalogue_of(language))


def languages() -> tuple[str, ...]:
    """Codes of the languages that a report can be written in, English first."""
    return ("en", *sorted(path.stem for path in FOLDER.glob("*.po")))


class _Lacking(gettext.NullTranslations):
    """Fallback of a catalogue: raises LookupError for a message that the catalogue lacks."""

    def gettext(self, message: str) -> str:
        raise LookupError(message)

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        raise LookupError(msgid1)


@cache
def catalogue_of(language: str) -> gettext.NullTranslations:
    """The catalogue of a language other than English. UsageError without Babel, an extra."""
    try:
        from babel.messages.mofile import write_mo
        from babel.messages.pofile import read_po
    except ModuleNotFoundError:
        raise UsageError("--lang needs Babel: pip install 'netlab-matrix[languages]'") from None

    with (FOLDER / f"{language}.po").open("rb") as file:
        read = read_po(file, locale=language)
    compiled = io.BytesIO()
    write_mo(compiled, read)
    compiled.seek(0)
    translations = gettext.GNUTranslations(compiled)
    translations.add_fallback(_Lacking())
    return translations
