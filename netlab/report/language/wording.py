"""Wording: how the texts and figures of a report are written in its language. No I/O.

The base class writes English and changes nothing; ``Translated`` writes another language.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from netlab.report.tables.elements import AnyTable, Chart, HeatMap, Part, Strip

if TYPE_CHECKING:
    from netlab.report.tables.tables import TableSection


class Wording:
    """English: every text is as in the code."""

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

    def of_table(self, table: AnyTable) -> AnyTable:
        """A table with headings, captions, footnotes and figures as the report writes them."""
        return table

    def of_section(self, section: TableSection) -> TableSection:
        """A section of tables of throughput, as the report writes it."""
        return section

    def of_part(self, part: Part) -> Part:
        """A part (a section with text, tables and charts) as the report writes it."""
        return part

    def of_chart(self, chart: Chart | Strip | HeatMap) -> Chart | Strip | HeatMap:
        """A chart with title, axes and legend as the report writes them."""
        return chart
