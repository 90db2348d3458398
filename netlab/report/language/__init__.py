"""Reports in other languages: the wording (texts and number formats) of each language."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netlab.report.language.wording import Wording


def wording_in(language: str) -> Wording:
    """The wording for a language code, one of ``catalogues.languages()``."""
    if language == "en":
        from netlab.report.language.wording import Wording

        return Wording()
    from netlab.report.language.catalogues import catalogue_of
    from netlab.report.language.translated import Translated

    return Translated(language, catalogue_of(language))
