"""One line of the first screen: a sentence, and where its figures stand. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """What was found, with its unit and interval."""

    sentence: str
    cells: tuple[str, ...] = ()
    """Keys of the cells that it is made from, the most telling first."""
    section: str = ""
    """Anchor of the section that has its table."""
    chart: str = ""
    """How the names of the charts begin that show it; empty: there is none."""
    table: int = 0
    """Which of the section's tables that is, from 1; 0: the section as a whole."""
