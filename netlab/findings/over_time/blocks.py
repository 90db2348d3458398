"""The figure of each cell in each block, for trials that ran within their block."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netlab.experiment.records import Status, utc_of
from netlab.findings.series import Series

if TYPE_CHECKING:
    from netlab.results.run import Run

CellFlow = tuple[str, str]
"""Key of a cell, and the prefix of the values of one of its flows (directions of data)."""


@dataclass(frozen=True, slots=True)
class BlockTable:
    """The figures of the cells that have a figure in each of the first blocks."""

    quantity: str
    """Name of the value that is the figure."""
    figures: Mapping[CellFlow, tuple[float, ...]]
    """One figure above 0 per block, starting with the first block."""

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return len(next(iter(self.figures.values()), ()))

    @property
    def cells(self) -> tuple[str, ...]:
        """Keys of the cells, each once."""
        return tuple(dict.fromkeys(cell for cell, _ in self.figures))

    def trials(self) -> tuple[tuple[str, int], ...]:
        """All trials, as (cell, number)."""
        return tuple((cell, 1 + block) for cell in self.cells for block in range(self.blocks))


def tables(run: Run, series: Iterable[Series]) -> tuple[BlockTable, ...]:
    """One table per quantity, without paced streams.

    If cells are repeated until their mean is precise, they have different numbers of trials. Then
    the number of blocks is chosen so that the table has the most figures.
    """
    by_quantity: dict[str, dict[CellFlow, dict[int, float]]] = {}
    inside = within_blocks(run)
    for one_series in series:
        for point in one_series.points:
            if point.paced and one_series.test == "stream":
                continue
            figures = {
                trial: figure
                for trial, figure in enumerate(point.figures, 1)
                if figure is not None and figure > 0 and (point.cell, trial) in inside
            }
            by_quantity.setdefault(one_series.quantity, {})[point.cell, point.prefix] = figures
    return tuple(_complete(quantity, cells) for quantity, cells in by_quantity.items())


def within_blocks(run: Run) -> frozenset[tuple[str, int]]:
    """The trials with a result that began before the next block began.

    Trials that were repeated later are left out, and so are trials without a recorded start.
    """
    begins: dict[int, str] = {}
    for record in run.records:
        if record.started_at:
            first = begins.get(record.trial, record.started_at)
            begins[record.trial] = min(first, record.started_at)
    return frozenset(
        key
        for key, record in run.latest.items()
        if record.status is Status.OK
        and record.started_at
        and begins[record.trial] <= record.started_at
        and record.started_at < begins.get(record.trial + 1, "~")
    )


def lasted_s(run: Run, trials: Iterable[tuple[str, int]]) -> float | None:
    """Time from the start of the first of these trials to the start of the last, in seconds."""
    begins = [utc_of(run.latest[trial].started_at) for trial in trials if trial in run.latest]
    start_times = [begin for begin in begins if begin is not None]
    return (max(start_times) - min(start_times)).total_seconds() if start_times else None


def _complete(quantity: str, cells: Mapping[CellFlow, Mapping[int, float]]) -> BlockTable:
    """The cells that have figures in all of the first blocks; the number of blocks maximises blocks
    x cells.
    """
    block_counts = {
        cell: next(n for n in range(len(figures) + 1) if n + 1 not in figures)
        for cell, figures in cells.items()
    }
    counts = sorted(set(block_counts.values()) - {0})
    if not counts:
        return BlockTable(quantity, {})
    blocks = max(counts, key=lambda n: n * sum(count >= n for count in block_counts.values()))
    return BlockTable(
        quantity,
        {
            cell: tuple(cells[cell][block] for block in range(1, blocks + 1))
            for cell, count in block_counts.items()
            if count >= blocks
        },
    )
