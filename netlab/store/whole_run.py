"""The records of a run with segments: one by one from the journal, or all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import overload

from netlab.experiment.records import Record
from netlab.store.gathered import Gathered
from netlab.store.journal_items import TrialKey

MOST_SINGLE = 1000
"""After so many single records all of them are read: that takes less time than many positions."""


class WholeRun:
    """All records of a run; they are read when they are needed, and then kept in memory."""

    def __init__(self, gathered: Gathered, read: Callable[[], Gathered]) -> None:
        """``gathered``: with an index. ``read``: reads the whole journal."""
        self.gathered = gathered
        self._read = read
        self._single = 0

    @cached_property
    def everything(self) -> Gathered:
        """All records of the journal."""
        return self._read()

    def latest(self, trial: TrialKey) -> Record:
        """The last record of a trial. Raises KeyError, StoreError for a damaged line."""
        self._single += 1
        if self._single > MOST_SINGLE or "everything" in self.__dict__:
            return self.everything.latest[trial]
        return self.gathered.latest[trial]


class AllRecords(Sequence[Record]):
    """All intact records, in the journal's order."""

    def __init__(self, whole: WholeRun) -> None:
        self._whole = whole

    def __len__(self) -> int:
        return self._whole.gathered.record_count

    @overload
    def __getitem__(self, place: int) -> Record: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Record]: ...
    def __getitem__(self, place: int | slice) -> Record | Sequence[Record]:
        return self._whole.everything.records[place]

    def __iter__(self) -> Iterator[Record]:
        return iter(self._whole.everything.records)


class LatestOfAll(Mapping[TrialKey, Record]):
    """(cell, trial) → the trial's last record."""

    def __init__(self, whole: WholeRun) -> None:
        self._whole = whole

    def __getitem__(self, trial: TrialKey) -> Record:
        return self._whole.latest(trial)

    def __contains__(self, trial: object) -> bool:
        return trial in self._whole.gathered.latest

    def __iter__(self) -> Iterator[TrialKey]:
        return iter(self._whole.everything.latest)

    def __len__(self) -> int:
        return len(self._whole.gathered.latest)
