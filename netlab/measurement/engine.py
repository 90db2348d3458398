"""The interface of an engine: code that measures trials with one tool (netlab's probe, iperf3, …).

The table of all engines is in `engines.py`. A trial is one execution of a cell (a combination of
settings between two hosts).
"""

from __future__ import annotations

from typing import Protocol

from netlab.experiment.records import Record
from netlab.experiment.schedule import Trial
from netlab.measurement.ends import Ends, OnGoodput


class Engine(Protocol):
    """Measures trials of some kinds of test with one tool."""

    @property
    def name(self) -> str:
        """The name of the engine in a matrix and in records."""

    def measure(self, trial: Trial, ends: Ends, attempt: int, live: OnGoodput) -> Record:
        """Run one trial on its two hosts and return its record: a result, or a failure with its
        reason. ``live`` is called with the totals so far while the trial runs.

        Raises ``HostGone`` if one of the hosts is lost: then nothing is known about the trial.
        """
