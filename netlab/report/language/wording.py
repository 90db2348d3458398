"""Wording: how a report's labels and figures are written. The base leaves them as they are. Pure.

The report writes English; ``Translated`` says the same in another language.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from netlab.report.tables.elements import AnyTable, Chart, HeatMap, Part, Strip

if TYPE_CHECKING:
    from netlab.report.tables.tables import TableSection


class Wording:
    """English: every text as it is in the code."""

    language = "en"
    decimal_marker = "."
    table = "Table"
    """Word before a table's number."""

    def text(self, words: str) -> str:
        """One text: a label, a sentence, a figure."""
        return words

    def gettext(self, words: str) -> str:
        """A text of a template of the page, as gettext names it."""
        return words

    def ngettext(self, singular: str, plural: str, number: int) -> str:
        """A text of a template that depends on a number."""
        return singular if number == 1 else plural

    def of_table(self, table: AnyTable) -> AnyTable:
        """A table: headings, captions, footnotes, and how its figures are written."""
        return table

    def of_section(self, section: TableSection) -> TableSection:
        """A section of tables."""
        return section

    def of_part(self, part: Part) -> Part:
        """A part: its title, paragraphs, sheets and charts."""
        return part

    def of_chart(self, chart: Chart | Strip | HeatMap) -> Chart | Strip | HeatMap:
        """A diagram: title, axes, legend."""
        return chart
