"""What a run's journal says about its trials: each trial's last record, its attempts, the notes.

The part of the journal that is in segments is known by their index; the rest was read line by line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field

from netlab.experiment.records import Record, Status
from netlab.store.journal import Damage
from netlab.store.journal_items import MAX_NUMBER, Note, TrialKey
from netlab.store.segments.index import TrialIndex

_MORE_ATTEMPTS = 1000
"""An attempt number in a note is ignored if fewer attempts than this could follow it."""
IN_VAIN = "in-vain"
"""Kind of a note: an attempt had no result, but its trial has one of an earlier attempt."""


def counted_attempt(attempt: object) -> int:
    """The number of an attempt, if it counts; else 0.

    The numbers of later attempts must stay below MAX_NUMBER, so that they can be read back.
    """
    counts = type(attempt) is int and 0 < attempt < MAX_NUMBER - _MORE_ATTEMPTS
    return attempt if counts else 0  # type: ignore[return-value]  # checked just before


class LatestRecords(MutableMapping[TrialKey, Record]):
    """(cell, trial) → the trial's last record. Records in segments are read when they are asked
    for; those that were added later are in memory.
    """

    def __init__(self, index: TrialIndex, read: Callable[[int], Record]) -> None:
        """``read``: reads the record in a row of the index."""
        self.index, self._read = index, read
        self.added: dict[TrialKey, Record] = {}

    def __getitem__(self, trial: TrialKey) -> Record:
        if trial in self.added:
            return self.added[trial]
        row = self.index.row_of(trial)
        if row is None:
            raise KeyError(trial)
        return self._read(row)

    def __setitem__(self, trial: TrialKey, record: Record) -> None:
        self.added[trial] = record

    def __delitem__(self, trial: TrialKey) -> None:
        raise TypeError("a record is never removed")

    def __contains__(self, trial: object) -> bool:
        return trial in self.added or self.index.row_of(trial) is not None

    def __iter__(self) -> Iterator[TrialKey]:
        yield from self.index.trials()
        yield from (trial for trial in self.added if self.index.row_of(trial) is None)

    def __len__(self) -> int:
        new = sum(self.index.row_of(trial) is None for trial in self.added)
        return len(self.index) + new


@dataclass(slots=True)
class Gathered:
    """The contents of the journal's lines."""

    index: TrialIndex | None = None
    """The records in segments; ``None``: all lines were read."""
    records: list[Record] = field(default_factory=list)
    """The records of the lines that were read."""
    notes: list[Note] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)
    latest: MutableMapping[TrialKey, Record] = field(default_factory=dict)
    begun: dict[TrialKey, int] = field(default_factory=dict)
    """Trial → number of its last attempt in the lines that were read."""
    unfinished: dict[TrialKey, str] = field(default_factory=dict)
    newest: Record | None = None
    """The last record of a planned trial in the lines that were read."""

    @property
    def has_records(self) -> bool:
        """Whether there is any record."""
        return bool(self.records) or (self.index is not None and self.index.rows > 0)

    @property
    def record_count(self) -> int:
        """Number of intact records."""
        return len(self.records) + (0 if self.index is None else self.index.rows)

    @property
    def last(self) -> Record | None:
        """The last record of a planned trial, or ``None``."""
        if self.newest is not None:
            return self.newest
        if self.index is None or not self.index.rows:
            return None
        return self.index.outline(self.index.rows - 1)

    def started(self, trial: TrialKey) -> int:
        """Number of the trial's last attempt that was begun or recorded; 0: none."""
        own = self.begun.get(trial, 0)
        return own if self.index is None else max(own, self.index.started(trial))

    def status(self, trial: TrialKey) -> Status:
        """The status of a trial: that of its last record, or pending."""
        record = self._read.get(trial)
        if record is None and self.index is not None:
            return self.index.status(trial) or Status.PENDING
        return Status.PENDING if record is None else record.status

    def is_final(self, trial: TrialKey) -> bool:
        """Whether a resumed run keeps the trial's record (``Record.is_final``)."""
        record = self._read.get(trial)
        if record is None and self.index is not None:
            return self.index.is_final(trial)
        return record is not None and record.is_final

    def counts(self, trials: Mapping[str, int]) -> Counter[Status]:
        """Number of trials by status. ``trials``: cell → number of its trials, for all cells."""
        counts: Counter[Status] = Counter()
        if self.index is None:
            for cell, number in trials.items():
                counts.update(self.status((cell, trial)) for trial in range(1, number + 1))
            return counts
        counts = self.index.counts(trials)
        for cell, trial in self._read:
            if trial <= trials[cell]:
                counts[self.index.status((cell, trial)) or Status.PENDING] -= 1
                counts[self.status((cell, trial))] += 1
        return counts

    def finished(self, trials: Mapping[str, int]) -> frozenset[str]:
        """Cells whose trials all have a final record, of those that segments alone tell about.

        ``trials``: cell → number of its trials.
        """
        if self.index is None:
            return frozenset()
        later = {cell for cell, _trial in self._read}
        told = ((cell, number) for cell, number in trials.items() if cell not in later)
        return frozenset(cell for cell, number in told if self.index.is_finished(cell, number))

    def doubtful(self, most_steal: float | None) -> Iterator[TrialKey]:
        """The trials whose last record may ask for a repeat: in all others, no data stopped, and no
        larger share of CPU time than ``most_steal`` was stolen (``None``: any share is allowed).
        """
        if self.index is None or not isinstance(self.latest, LatestRecords):
            return iter(tuple(self.latest))
        added = self.latest.added
        old = (trial for trial in self.index.doubtful(most_steal) if trial not in added)
        return iter((*old, *added))

    @property
    def _read(self) -> Mapping[TrialKey, Record]:
        """The last records of the lines that were read."""
        return self.latest.added if isinstance(self.latest, LatestRecords) else self.latest

    def add_record(self, record: Record) -> None:
        """Add a planned trial's record; it becomes the valid one."""
        trial = (record.cell, record.trial)
        self.records.append(record)
        self.latest[trial] = self.newest = record
        self._start(trial, record.attempt)
        self.unfinished.pop(trial, None)

    def add_note(self, note: Note, planned: Container[object]) -> None:
        """Add a note. ``attempt`` begins a trial and ``in-vain`` ends it; a ``session`` ends all
        trials that the previous session began.
        """
        self.notes.append(note)
        if note.kind == "session":
            self.unfinished.clear()
        cell, trial = note.data.get("cell"), note.data.get("trial")
        if not isinstance(cell, str) or not isinstance(trial, int) or (cell, trial) not in planned:
            return
        if note.kind == "attempt":
            self.unfinished[cell, trial] = note.at
            self._start((cell, trial), note.data.get("attempt"))
        elif note.kind == IN_VAIN:
            self.unfinished.pop((cell, trial), None)

    def _start(self, trial: TrialKey, attempt: object) -> None:
        if number := counted_attempt(attempt):
            self.begun[trial] = max(number, self.begun.get(trial, 0))
