"""The pause between two trials (single measurements)."""

from __future__ import annotations

from netlab import clock
from netlab.experiment.records import Record, Status
from netlab.runner.progress import Progress


class Pause:
    """The pause between two trials; it is skipped if the earlier trial did not use its hosts."""

    def __init__(self, pause_s: float, progress: Progress) -> None:
        self._pause_s = pause_s
        self._progress = progress
        self._due = False

    def before(self) -> None:
        """Wait if a trial was measured before. A signal ends the wait at once."""
        if self._due and self._pause_s:
            self._progress.pausing(self._pause_s)
            clock.sleep(self._pause_s)
        self._due = False

    def after(self, record: Record) -> None:
        """Take note of a trial that has ended."""
        self._due = self._due or record.status is not Status.PENDING
