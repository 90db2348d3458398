"""A run folder as read: its plan, records, notes and table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netlab.experiment.sample import sample_in
from netlab.results.rows import rows_of, text_of
from netlab.results.value_types import RUN_CHECK
from netlab.store.journal import Damage, Note
from netlab.store.plan import Plan
from netlab.store.reader import StoredRun, read
from netlab.trial.record import Record, Value

if TYPE_CHECKING:
    import pandas as pd

    from netlab.results.effects import KindEffects


@dataclass(frozen=True)
class Run:
    """A run folder as read, and its records as a table."""

    stored: StoredRun

    @property
    def path(self) -> Path:
        """The run folder."""
        return self.stored.path

    @property
    def plan(self) -> Plan:
        """The plan of the run."""
        return self.stored.plan

    @property
    def records(self) -> Sequence[Record]:
        """Every complete record, in the journal's order, including repeats and retries."""
        return self.stored.records

    @property
    def latest(self) -> Mapping[tuple[str, int], Record]:
        """(cell, trial) → the valid record of the trial, which is its last one."""
        return self.stored.latest

    @cached_property
    def trials(self) -> tuple[Record, ...]:
        """Every trial in the plan's order, with the settings that were requested of it in one order
        for all cells; pending trials as well, as far as their number is known. A list among the
        settings is JSON text.
        """
        order = dict.fromkeys(name for cell in self.plan.cells for name in cell.settings)
        asked = {cell.key: _in_order(cell.settings, order) for cell in self.plan.cells}
        trials = []
        for cell, number, record in self.stored.trials():
            settings = asked[cell.key]
            if record is None:
                names = {"pairing": cell.pairing, "test": cell.test}
                trials.append(Record.not_measured(cell.key, number, **names, settings=settings))
                continue
            if record.settings != cell.settings:
                settings = {**settings, **_in_order(record.settings, record.settings)}
            same = settings is record.settings
            trials.append(record if same else replace(record, settings=settings))
        return tuple(trials)

    @cached_property
    def effects(self) -> tuple[KindEffects, ...]:
        """What matters in each kind of test; see ``results.effects.kind_effects``."""
        from netlab.results.effects import kind_effects

        return kind_effects(self.trials, sample=sample_in(self.plan.content))

    @property
    def notes(self) -> tuple[Note, ...]:
        """Every line of the journal that is not a record."""
        return self.stored.notes

    @property
    def damage(self) -> tuple[Damage, ...]:
        """The damage in the journal, with line numbers."""
        return self.stored.damage

    @property
    def sessions(self) -> tuple[Mapping[str, Any], ...]:
        """The note at the start of each session, with its time as ``at``."""
        return self._of_kind("session")

    @property
    def facts(self) -> tuple[Mapping[str, Any], ...]:
        """The hosts' facts, noted before and after each session, with their time as ``at``."""
        return self._of_kind("facts")

    @property
    def routes(self) -> tuple[Mapping[str, Any], ...]:
        """Facts of interfaces that the notes in ``facts`` leave out, with their time as ``at``."""
        return self._of_kind("route")

    def _of_kind(self, kind: str) -> tuple[Mapping[str, Any], ...]:
        return tuple({**note.data, "at": note.at} for note in self.notes if note.kind == kind)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row per trial, in the plan's order; see ``netlab.results.columns``.

        Pending trials are rows as well, as far as their number is known.
        """
        from netlab.results.frame import make_frame  # imports pandas, which takes 0.3 s

        tests = dict.fromkeys(cell.test for cell in self.plan.cells)
        return make_frame(rows_of(self.stored), tests=tests)


def _in_order(settings: Mapping[str, Value], order: Iterable[str]) -> Mapping[str, Value]:
    """The settings in this order, with JSON text for lists: each can be a key."""
    names = [name for name in order if name in settings]
    if names == [*settings] and not any(isinstance(value, list) for value in settings.values()):
        return settings
    return {
        name: text_of(settings[name]) if isinstance(settings[name], list) else settings[name]
        for name in names
    }


def load(path: Path) -> Run:
    """Read a run folder; UsageError if it is not one, StoreError if it is unusable."""
    return Run(read_checked(path))


def read_checked(path: Path) -> StoredRun:
    """Read a run folder; a value whose type does not fit its name counts as damage."""
    return read(path, RUN_CHECK)
