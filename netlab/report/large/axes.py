"""The axes of a run: settings, and ends of pairings, that have several values in its cells. No I/O.

A cell is one combination of test, pairing (server and client) and settings. A level is one value of
an axis. An axis with many levels is divided into groups of neighbouring levels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from netlab.experiment.hosts import is_by_name, labels_of
from netlab.experiment.records import Value
from netlab.store.plan import PlannedCell

PAIRING, SERVER, CLIENT = "pairing", "server", "client"
"""Axes that are no settings. Pairings of two named hosts have the two last ones."""


@dataclass(frozen=True, slots=True)
class CellAxis:
    """An axis with its levels: numbers by size, words in the order of the plan."""

    name: str
    """Field of a setting, such as ``message_bytes``, or one of the names above."""
    levels: tuple[Value | None, ...]

    def groups(self, most: int) -> tuple[tuple[Value | None, ...], ...]:
        """The levels in at most so many groups of neighbours, of about equal numbers of levels."""
        count = len(self.levels)
        groups = min(most, count)
        ends = [count * number // groups for number in range(groups + 1)]
        return tuple(self.levels[ends[n] : ends[n + 1]] for n in range(groups))


def values_of(cell: PlannedCell) -> dict[str, Value | None]:
    """The values of a cell on all axes that it may have."""
    values: dict[str, Value | None] = dict(cell.settings)
    if is_by_name(cell.pairing):
        values[SERVER], values[CLIENT] = labels_of(cell.pairing)
    else:
        values[PAIRING] = cell.pairing
    return values


def axes_of(cells: Iterable[PlannedCell]) -> tuple[CellAxis, ...]:
    """The axes of cells: everything that has at least two values."""
    levels: dict[str, dict[Value | None, None]] = {}
    count = 0
    seen: dict[str, int] = {}
    for cell in cells:
        count += 1
        for name, value in values_of(cell).items():
            levels.setdefault(name, {})[value] = None
            seen[name] = seen.get(name, 0) + 1
    for name, number in seen.items():
        if number < count:  # an absent setting is a level, too
            levels[name][None] = None
    return tuple(
        CellAxis(name, _in_order([*values])) for name, values in levels.items() if len(values) > 1
    )


def _in_order(levels: Sequence[Value | None]) -> tuple[Value | None, ...]:
    """Levels without a value first, then the others: numbers by size, words as they come."""
    absent = [level for level in levels if level is None]
    present = [level for level in levels if level is not None]
    if all(isinstance(level, int | float) for level in present):
        present.sort(key=float)  # type: ignore[arg-type]  # numbers
    return (*absent, *present)


def thinned(cells: Sequence[PlannedCell], most: int) -> tuple[PlannedCell, ...]:
    """At most so many of the cells, evenly spaced on their axes.

    The axis with the most levels loses every second of its levels until the rest is small enough.
    Servers and clients of named pairs are thinned alike, so that the remaining hosts are still
    measured in both directions.
    """
    left = tuple(cells)
    while len(left) > most:
        axes = {axis.name: axis.levels for axis in axes_of(left)}
        longest = max(axes, key=lambda name: len(axes[name]), default=PAIRING)
        names = (SERVER, CLIENT) if longest in (SERVER, CLIENT) else (longest,)
        levels = dict.fromkeys(level for name in names for level in axes.get(name, ()))
        kept = {*[*levels][::2]}
        fewer = tuple(cell for cell in left if _is_kept(values_of(cell), names, kept))
        left = fewer if 0 < len(fewer) < len(left) else left[::2]
    return left


def _is_kept(
    values: Mapping[str, Value | None], names: Sequence[str], kept: set[Value | None]
) -> bool:
    return all(values.get(name) in kept for name in names)
