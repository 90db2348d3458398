"""Look-ups of a run's cells for the sentences of its findings. No I/O.

A cell is one combination of test, pairing (server and client) and settings. A group has the cells
with the same pairing, test, protocol and message size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from netlab.experiment.records import Status
from netlab.findings.series import AXIS

if TYPE_CHECKING:
    from netlab.results.run import Run
    from netlab.store.plan import PlannedCell


@dataclass(frozen=True)
class RunIndex:
    """Look-ups of one run's cells, each computed once."""

    run: Run

    @cached_property
    def cells(self) -> Mapping[str, PlannedCell]:
        """Key → planned cell."""
        return {cell.key: cell for cell in self.run.plan.cells}

    @cached_property
    def measured(self) -> frozenset[str]:
        """Keys of the cells that have a result."""
        latest = self.run.latest.items()
        return frozenset(cell for (cell, _), record in latest if record.status is Status.OK)

    @cached_property
    def by_group(self) -> Mapping[tuple[object, ...], tuple[str, ...]]:
        """Common settings of a group → its cells with a result, sorted by socket buffer size."""
        groups: dict[tuple[object, ...], list[str]] = {}
        for cell in self.run.plan.cells:
            if cell.key in self.measured:
                groups.setdefault(_common(cell), []).append(cell.key)
        return {
            key: tuple(sorted(cells, key=lambda cell: self.buffer_bytes(cell) or 2**62))
            for key, cells in groups.items()
        }

    def buffer_bytes(self, cell: str) -> int | None:
        """The socket buffer that a cell requests; ``None`` if the operating system chooses it."""
        planned_cell = self.cells.get(cell)
        size = None if planned_cell is None else planned_cell.settings.get(AXIS)
        return size if isinstance(size, int) else None

    def cells_of_group(self, cell: str) -> tuple[str, ...]:
        """All cells with a result in the group of this cell, sorted by socket buffer size."""
        return self.by_group.get(_common(self.cells[cell]), ())


def _common(cell: PlannedCell) -> tuple[object, ...]:
    settings = cell.settings
    return cell.pairing, cell.test, settings.get("protocol"), settings.get("message_bytes")
