"""Table: rows, columns, entries and footnotes, as plain nouns for every writer. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from netlab.report.layout import Column
from netlab.report.words import figure

Kind = Literal["value", "mean", "median", "ceiling", "efficiency", "all"]
Unit = Literal["Mbit/s", "%"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One place of a table. A blank has no value, and notes that say why."""

    value: float | None
    """bit/s, or per cent."""
    n: int = 1
    """How many figures it is the mean of; 0 where it is blank."""
    notes: tuple[str, ...] = ()
    """Letters of the table's footnotes."""
    shows_n: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its heading and an entry a column."""

    label: str
    kind: Kind
    unit: Unit
    entries: tuple[Entry, ...]

    def text(self, entry: Entry) -> str:
        """An entry's figure as printed, without its n and notes; empty for a blank."""
        if entry.value is None:
            return ""
        return figure(entry.value / 1e6 if self.unit == "Mbit/s" else entry.value)


@dataclass(frozen=True, slots=True)
class Table:
    """One table with its footnotes."""

    pairing: str
    conditions: str
    quantity: str
    """What its figures are, with their unit."""
    corner: str
    """Heading of the rows."""
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    footnotes: tuple[tuple[str, str], ...]
    """(letter, sentence), in the order of their first use."""

    @property
    def groups(self) -> tuple[tuple[str, int], ...]:
        """(protocol, number of its columns), from left to right."""
        names = [column.protocol for column in self.columns]
        return tuple((name, names.count(name)) for name in dict.fromkeys(names))

    @property
    def caption(self) -> str:
        """``LL, streams 4: throughput, Mbit/s``."""
        words = ", ".join(word for word in (self.pairing, self.conditions) if word)
        return f"{words}: {self.quantity}" if words else self.quantity


@dataclass(slots=True)
class Notes:
    """The footnotes of one table while it is made: equal sentences share a letter."""

    letters: dict[str, str] = field(default_factory=dict)

    def __call__(self, sentences: Iterable[str]) -> tuple[str, ...]:
        """The letters of these sentences, in the letters' order; a new one gets the next."""
        letters = [
            self.letters.setdefault(each[:1].upper() + each[1:], _letter(len(self.letters)))
            for each in dict.fromkeys(sentences)
        ]
        return tuple(sorted(letters, key=lambda letter: (len(letter), letter)))

    @property
    def footnotes(self) -> tuple[tuple[str, str], ...]:
        """(letter, sentence), in the order of their first use."""
        return tuple((letter, sentence) for sentence, letter in self.letters.items())


def _letter(index: int) -> str:
    """a to z, then aa to az, ba …"""
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(ord("a") + rest) + letters
    return letters
