"""Engines measure trials. Each engine is one file here, found by its name and the kind of test."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from netlab.experiment.records import Record
from netlab.experiment.schedule import Trial
from netlab.measurement.ends import Ends, OnGoodput


class Engine(Protocol):
    """Something that measures some kinds of test."""

    @property
    def name(self) -> str:
        """The name by which it is found."""

    @property
    def tests(self) -> Collection[str]:
        """The kinds of test that it can measure."""

    def measure(self, trial: Trial, ends: Ends, attempt: int, live: OnGoodput) -> Record:
        """Run one trial on its two hosts and return its record: a result, or a failure with its
        reason.

        Raises ``HostGone`` if one of the hosts is lost: then nothing is known about the trial.
        """


_ENGINES: dict[tuple[str, str], Engine] = {}


def register(engine: Engine) -> None:
    """Register an engine for all kinds of test that it can measure."""
    _ENGINES.update(dict.fromkeys(((engine.name, test) for test in engine.tests), engine))


def engine_for(name: str, test: str) -> Engine:
    """The engine of that name for a kind of test; KeyError if it cannot measure it."""
    return _ENGINES[name, test]
