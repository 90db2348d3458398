"""The report in other languages. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netlab.results.run import Run
from netlab.report.language.wording import Wording


def wording_in(language: str, run: Run) -> Wording:
    """The wording of one of ``report.LANGUAGES`` for the report of a run.

    Names that the run gives to hosts and pairings are kept, whatever they mean as words.
    """
    if language == "de":
        from netlab.report.language.german import German
        from netlab.report.language.names import names_in

        return German(names_in(run))
    return Wording()
