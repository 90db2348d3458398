"""Reports in other languages: a wording for each, and its gettext catalogue ``CODE.po``."""

from __future__ import annotations

import gettext
import io
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netlab.report.language.wording import Wording


def wording_in(language: str) -> Wording:
    """The wording for a language code, one of ``catalogues.languages()``."""
    if language == "en":
        from netlab.report.language.wording import Wording

        return Wording()
    from netlab.report.language.translated import Translated

    return Translated(language, catalogue_of(language))


FOLDER = Path(__file__).parent
"""Folder of the catalogues."""


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
    """The catalogue of a language other than English, one of ``languages()``."""
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    with (FOLDER / f"{language}.po").open("rb") as file:
        read = read_po(file, locale=language)
    compiled = io.BytesIO()
    write_mo(compiled, read)
    compiled.seek(0)
    translations = gettext.GNUTranslations(compiled)
    translations.add_fallback(_Lacking())
    return translations
