"""One line at the top of the page: a sentence, and where the page has its numbers. No I/O.

A cell is one combination of test, pairing (server and client) and settings.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """One sentence, with the places of the page that belong to it."""

    sentence: str
    cells: tuple[str, ...] = ()
    """Keys of the cells that the sentence is about, the most relevant cell first."""
    section: str = ""
    """Anchor of the page's section that has the numbers in a table."""
    chart: str = ""
    """Beginning of the names of the charts that show the numbers; empty if no chart shows them."""
    table: int = 0
    """Number of the table in the section, from 1; 0 stands for the section as a whole."""
