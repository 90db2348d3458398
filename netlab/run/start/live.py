"""What a person sees while one question is measured: a line a second, as iperf3 prints them."""

from __future__ import annotations

from collections.abc import Iterable

from netlab.experiment.cells import Cell
from netlab.experiment.matrix import Matrix
from netlab.experiment.records import FLOWS, Record, Status
from netlab.experiment.schedule import Trial
from netlab.measure.ends import SoFar
from netlab.run.progress import Progress
from netlab.units import format_rate

SHORT_S = 0.05
"""A last step shorter than this is no figure."""


class LiveFigures(Progress):
    """A run's progress, of one trial: its figures second by second, and nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self._before: dict[str, SoFar] = {}
        self.failed = False
        """Whether a trial has no result."""

    def begin(self, folder: object, trials: Iterable[Trial], done: int, matrix: Matrix) -> None:
        """Nothing: the answer says where it is."""

    def expect(self, trials: Iterable[Trial]) -> None:
        """Nothing: it is one."""

    def trial(self, trial: Trial) -> None:
        """The trial begins, or begins again."""
        self._before = {}

    def live(self, cell: Cell, so_far: SoFar) -> None:
        """The second that has just ended."""
        before = self._before.get(so_far.flow, SoFar(so_far.flow, 0, 0.0))
        self._before[so_far.flow] = so_far
        step_s = so_far.elapsed_s - before.elapsed_s
        if step_s < SHORT_S or so_far.payload_bytes < before.payload_bytes:
            return
        if cell.test == "stream":
            figure = format_rate(8 * (so_far.payload_bytes - before.payload_bytes) / step_s)
        else:
            figure = f"{(so_far.messages - before.messages) / step_s:,.0f} round trips/s"
        when = f"{before.elapsed_s:5.1f} to {so_far.elapsed_s:4.1f} s"
        which = FLOWS.get(so_far.flow, "")
        self.tell(f"{when}  {figure}{f'  {which}' if which else ''}")

    def record(self, record: Record) -> None:
        """Why there is no result, where there is none."""
        self.failed = record.status is not Status.OK
        if self.failed:
            self.tell(f"{record.status}: {record.detail or record.reason}")
