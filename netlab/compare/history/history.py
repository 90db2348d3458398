"""A history: every cell and quantity of the newest run over all runs, with change points. No I/O.

A cell is one combination of test, pairing (server and client) and settings.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from netlab.compare.align import namer
from netlab.compare.history.read_runs import DatedRun, ReadRuns
from netlab.compare.matching import link_differences
from netlab.experiment.records import Record
from netlab.messages import _, counted, joined
from netlab.results.quantities import STACK, Quantity, quantities_of
from netlab.stats.breaks import LEAST_RUNS, ChangePoint, Course, course_of

RECENT_RUNS = 2 * LEAST_RUNS
"""A change point in this number of last runs is recent."""


@dataclass(frozen=True)
class CellHistory:
    """One quantity of one cell over all runs of a history."""

    label: str
    cell: str
    """Key of the cell in the newest run."""
    quantity: Quantity
    figures: tuple[float | None, ...]
    """One per run, in the quantity's unit; ``None`` if the run lacks the cell or its figure."""

    @cached_property
    def course(self) -> Course:
        """The figures divided into segments."""
        return course_of(self.figures)

    @property
    def can_change(self) -> bool:
        """Whether there are enough figures for a change point."""
        return sum(figure is not None for figure in self.figures) >= 2 * LEAST_RUNS

    @property
    def recent(self) -> ChangePoint | None:
        """The last change point, if it is in the last runs."""
        points = self.course.change_points
        near_end = points and points[-1].index >= len(self.figures) - RECENT_RUNS
        return points[-1] if near_end else None


@dataclass(frozen=True, slots=True)
class History:
    """The runs in the order of their start, and the cells of the newest one."""

    runs: tuple[DatedRun, ...]
    cells: tuple[CellHistory, ...]
    remarks: tuple[str, ...]


def history_of(read: ReadRuns, judged: DatedRun | None = None) -> History:
    """The history of every cell of the newest run.

    With ``judged``, this run's cells are taken instead, and only the runs that started before it.
    A run whose link differs from that of ``newest`` is left out, and a remark states the
    difference. A cell of another run is the same cell if all of its settings are the same.
    """
    newest = judged or read.runs[-1]
    remarks, runs = [*read.remarks], []
    for run in read.runs:
        if judged is not None and run.started_at >= judged.started_at:
            continue
        differences = [*link_differences(newest.link, run.link)]
        if differences:
            remarks.append(
                _(
                    "{run} is left out: {differences} (the baseline is {newest}).",
                    run=run.path,
                    differences=joined("; ", differences),
                    newest=newest.path,
                )
            )
        else:
            runs.append(run)
    others = {cell for run in runs for cell in run.cells if cell not in newest.cells}
    if others:
        remarks.append(
            counted(
                "{number} cell of older runs is not in {newest}; it is left out.",
                "{number} cells of older runs are not in {newest}; they are left out.",
                len(others),
                newest=newest.path,
            )
        )
    return History(tuple(runs), tuple(_cells(runs, newest)), tuple(remarks))


def _cells(runs: Sequence[DatedRun], newest: DatedRun) -> Iterator[CellHistory]:
    name = namer([*newest.cells.values()], {})
    for cell, first in newest.cells.items():
        for quantity in _quantities(cell, first, [*runs, newest]):
            figures = tuple(run.medians.get((cell, quantity.name)) for run in runs)
            yield CellHistory(name(first), first.cell, quantity, figures)


def _quantities(cell: Hashable, first: Record, runs: Sequence[DatedRun]) -> Iterator[Quantity]:
    yield from quantities_of(first)
    if any((cell, STACK.name) in run.medians for run in runs):
        yield STACK
