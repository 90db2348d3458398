"""The output of `netlab measure` while it measures: one line per second, as in iperf3."""

from __future__ import annotations

from collections.abc import Iterable

from netlab.experiment.cells import Cell
from netlab.experiment.matrix import Matrix
from netlab.experiment.records import FLOWS, Record, Status
from netlab.experiment.schedule import Trial
from netlab.measurement.ends import SoFar
from netlab.runner.progress import SHORT_S, Progress, figure_of


class LiveFigures(Progress):
    """The progress of a run with one trial: only the rates of the trial, second by second."""

    def __init__(self, *, quiet: bool = False, verbose: bool = False) -> None:
        """``quiet``: no output; ``verbose``: also how the trial ended."""
        super().__init__(quiet=quiet, verbose=verbose)
        self._before: dict[str, SoFar] = {}
        self.failed = False
        """Whether a trial has no result."""

    def begin(
        self, folder: object, trials: Iterable[Trial], measured_count: int, matrix: Matrix
    ) -> None:
        """No output: the result, which is printed after the run, names the folder."""

    def expect(self, trials: Iterable[Trial]) -> None:
        """No output: there is one trial."""

    def trial(self, trial: Trial) -> None:
        """Forget the totals when a trial begins, or begins again."""
        self._before = {}

    def live(self, cell: Cell, so_far: SoFar) -> None:
        """Show the rate of the second that has just ended."""
        step = so_far.since(self._before.get(so_far.flow))
        self._before[so_far.flow] = so_far
        idle = cell.test == "latency_under_load" and not step.payload_bytes
        if step.elapsed_s < SHORT_S or idle:
            return
        figure = figure_of(cell, [step])
        period = f"{so_far.elapsed_s - step.elapsed_s:5.1f} to {so_far.elapsed_s:4.1f} s"
        direction = FLOWS.get(so_far.flow, "")
        self.notify(f"{period}  {figure}{f'  {direction}' if direction else ''}")

    def record(self, record: Record) -> None:
        """Show why the trial has no result, if it has none."""
        if self.is_verbose:
            self.notify(self.line_of(record))
        self.failed = record.status is not Status.OK
        if self.failed:
            self.notify(f"{record.status}: {record.detail or record.reason}")
