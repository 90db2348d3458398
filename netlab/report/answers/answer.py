"""One line of the first screen: a sentence, and where the page has its figures. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """One result, with its unit and interval."""

    sentence: str
    cells: tuple[str, ...] = ()
    """Keys of the cells that it is made from, the most relevant first."""
    section: str = ""
    """Anchor of the section with its table."""
    chart: str = ""
    """Beginning of the names of its charts; empty if it has no chart."""
    table: int = 0
    """Number of its table in the section, from 1; 0: the section as a whole."""
