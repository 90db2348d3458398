"""A run folder as it was read: its plan, its records, its notes, and its table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netlab.experiment.records import Record
from netlab.results.value_types import RUN_CHECK
from netlab.store.journal import Damage
from netlab.store.plan import Plan
from netlab.store.reader import Note, StoredRun, read

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Run:
    """A run folder as it was read, and its records as a table."""

    stored: StoredRun

    @property
    def path(self) -> Path:
        """The run folder."""
        return self.stored.path

    @property
    def plan(self) -> Plan:
        """What was to be measured."""
        return self.stored.plan

    @property
    def records(self) -> tuple[Record, ...]:
        """Every whole record, in the journal's order, repeats and retries with it."""
        return self.stored.records

    @property
    def latest(self) -> Mapping[tuple[str, int], Record]:
        """(cell, trial) → the record that counts."""
        return self.stored.latest

    @property
    def notes(self) -> tuple[Note, ...]:
        """Every line of the journal that is no record."""
        return self.stored.notes

    @property
    def damage(self) -> tuple[Damage, ...]:
        """What was damaged in the journal, with line numbers."""
        return self.stored.damage

    @property
    def sessions(self) -> tuple[Mapping[str, Any], ...]:
        """What was noted when each session began, with ``at``."""
        return self._of_kind("session")

    @property
    def facts(self) -> tuple[Mapping[str, Any], ...]:
        """The hosts' facts, as noted before and after each session, with ``at``."""
        return self._of_kind("facts")

    @property
    def routes(self) -> tuple[Mapping[str, Any], ...]:
        """Facts of the interfaces behind further test addresses of hosts, with ``at``."""
        return self._of_kind("route")

    def _of_kind(self, kind: str) -> tuple[Mapping[str, Any], ...]:
        return tuple({**note.data, "at": note.at} for note in self.notes if note.kind == kind)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row a trial, in the plan's order; see ``netlab.results.columns``.

        Trials that are still to be measured are rows as well, as far as it is known how many.
        """
        from netlab.results.frame import frame_of  # with pandas, which takes 0.3 s

        return frame_of(self.stored)


def load(path: Path) -> Run:
    """Read a run folder; UsageError where there is none, StoreError where it is beyond use."""
    return Run(read_checked(path))


def read_checked(path: Path) -> StoredRun:
    """A run folder as it was read; what is not of the types that its names stand for is damage."""
    return read(path, RUN_CHECK)
