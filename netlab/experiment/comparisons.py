"""Comparisons: the cells on each side of a comparison, and the pairs they form. No I/O.

A cell is one combination of two hosts, a kind of test, and settings. A comparison has two sides:
the contender is compared with the baseline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from netlab.experiment.kinds import ONLY_OF_TCP, ONLY_OF_UDP
from netlab.experiment.settings import Level

Side = Literal["baseline", "contender"]

OF_A_CELL = ("pairing", "test")
"""Fields of a cell that a side may name in addition to settings."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Pairs of cells that differ only in the fields that the two sides name.

    Both sides name the same fields: settings (``message_bytes``), ``pairing`` or ``test``.
    """

    name: str
    baseline: Mapping[str, Level]
    contender: Mapping[str, Level]

    def side_of(self, cell: Mapping[str, Level]) -> Side | None:
        """The side that a cell is on, or ``None`` if it is on neither side.

        ``cell`` holds the cell's settings, its ``pairing`` and its ``test``.
        """
        if _agrees(cell, self.baseline):
            return "baseline"
        return "contender" if _agrees(cell, self.contender) else None

    def rest_of(self, cell: Mapping[str, Level]) -> frozenset[tuple[str, Level]]:
        """The fields of ``cell``, with their values, that the other cell of its pair must have too.

        If protocols are compared, settings that only one protocol has are left out.
        """
        left_out = {*self.baseline}
        if "protocol" in left_out:
            left_out |= ONLY_OF_TCP | ONLY_OF_UDP
        return frozenset(
            (name, level)
            for name, level in cell.items()
            if name not in left_out and level is not None
        )

    def pairs_in(self, cells: Sequence[Mapping[str, Level]]) -> list[tuple[int, int]]:
        """For each pair, the indices of baseline and contender in ``cells``, sorted by baseline."""
        contenders = {
            self.rest_of(cell): index
            for index, cell in enumerate(cells)
            if self.side_of(cell) == "contender"
        }
        pairs = (
            (index, contenders.get(self.rest_of(cell)))
            for index, cell in enumerate(cells)
            if self.side_of(cell) == "baseline"
        )
        return [(index, partner) for index, partner in pairs if partner is not None]

    def fault(self, cells: Sequence[Mapping[str, Level]]) -> str | None:
        """Why there is nothing to compare among ``cells``; ``None`` if there is something."""
        if self.baseline.keys() != self.contender.keys():
            return "`baseline` and `contender` must name the same settings, one value each"
        if self.baseline == self.contender:
            return "`baseline` and `contender` are equal"
        for side in ("baseline", "contender"):
            if all(self.side_of(cell) != side for cell in cells):
                return f"the {side} matches no cell"
        if not self.pairs_in(cells):
            return "no two cells differ in these settings alone"
        return None


def _agrees(cell: Mapping[str, Level], levels: Mapping[str, Level]) -> bool:
    return all(cell.get(name) == level for name, level in levels.items())
