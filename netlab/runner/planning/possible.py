"""The pairings that an inventory has hosts for, and the hosts that the other pairings lack.

A pairing is a server and a client, given by their systems or by name. A cell is one combination of
a pairing, a kind of test and its settings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from netlab.errors import UsageError
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import HostPair, Inventory, is_by_name
from netlab.units import many


@dataclass(frozen=True, slots=True)
class Possible:
    """The cells that an inventory has hosts for, and the hosts that the other cells lack."""

    cells: tuple[Cell, ...]
    """Cells that the inventory has hosts for."""
    pairs: Mapping[str, HostPair]
    """Pairing with hosts → its first choice of server and client."""
    lacking: Mapping[str, str]
    """Pairing without hosts → the hosts that the inventory lacks for this pairing, in words."""
    sentence: str
    """The pairings with hosts, and the hosts that are missing; empty if no host is missing."""


def possible_of(cells: Sequence[Cell], inventory: Inventory) -> Possible:
    """The cells that the inventory has hosts for.

    Raises UsageError if a pairing that names its two hosts is impossible, or if no cell can be
    measured: then the command or a file is wrong. If only some cells can be measured, nothing is
    raised, because the matrix may be for a larger inventory.
    """
    pairs: dict[str, HostPair] = {}
    lacking: dict[str, str] = {}
    for pairing in dict.fromkeys(cell.pairing for cell in cells):
        candidates = inventory.candidates(pairing)
        if candidates:
            pairs[pairing] = candidates[0]
        elif is_by_name(pairing):
            raise UsageError(f"{inventory.file}: {inventory.why_not(pairing)}")
        else:
            lacking[pairing] = inventory.wanting(pairing)
    if cells and not pairs:
        raise UsageError(f"{inventory.file}: no cell can be measured: {_wants(lacking)}")
    if not lacking:
        return Possible(tuple(cells), pairs, {}, "")
    possible = tuple(cell for cell in cells if cell.pairing not in lacking)
    share = f"{_listed(pairs)}: {len(possible)} of {many(len(cells), 'cell')}"
    sentence = f"{inventory.file} has hosts for {share}; {_wants(lacking)}"
    return Possible(possible, pairs, lacking, sentence)


def _wants(lacking: Mapping[str, str]) -> str:
    """The needs of pairings as text, such as ``WL and WW need a Windows host``."""
    by_want: dict[str, list[str]] = {}
    for pairing, want in lacking.items():
        by_want.setdefault(want, []).append(pairing)
    return "; ".join(
        f"{_listed(pairings)} {'needs' if len(pairings) == 1 else 'need'} {want}"
        for want, pairings in by_want.items()
    )


def _listed(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
