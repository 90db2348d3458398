"""What measures trials: an engine. The engines that netlab has are in `engines.py`."""

from __future__ import annotations

from typing import Protocol

from netlab.experiment.records import Record
from netlab.experiment.schedule import Trial
from netlab.measurement.ends import Ends, OnGoodput


class Engine(Protocol):
    """Something that measures some kinds of test."""

    @property
    def name(self) -> str:
        """The name by which it is found."""

    def measure(self, trial: Trial, ends: Ends, attempt: int, live: OnGoodput) -> Record:
        """Run one trial on its two hosts and return its record: a result, or a failure with its
        reason.

        Raises ``HostGone`` if one of the hosts is lost: then nothing is known about the trial.
        """
