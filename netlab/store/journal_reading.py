"""What a journal says of its trials, in lines and in segments; and the lock of its writer.

The part of the journal that is in segments is known by their index; the rest is read line by line.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from netlab.errors import LockedError, StoreError
from netlab.experiment.matrix import outline
from netlab.messages import _
from netlab.store import files
from netlab.store.journal import (
    MAX_NUMBER,
    Damage,
    JournalLine,
    Keep,
    Note,
    RunCheck,
    TrialKey,
    items_of,
    note_in,
    record_in,
)
from netlab.store.plan import Plan, PlannedTrials
from netlab.trial.record import Record, Status, utc_now

if TYPE_CHECKING:
    from netlab.store.segments import SegmentChain
    from netlab.store.trial_index import TrialIndex

_MORE_ATTEMPTS = 1000
"""An attempt number in a note is ignored if fewer attempts than this could follow it."""
IN_VAIN = "in-vain"
"""Kind of a note: an attempt had no result, but its trial has one of an earlier attempt."""


def counted_attempt(attempt: object) -> int:
    """The number of an attempt, if it counts; else 0.

    The numbers of later attempts must stay below MAX_NUMBER, so that they can be read back.
    """
    if type(attempt) is int and 0 < attempt < MAX_NUMBER - _MORE_ATTEMPTS:
        return attempt
    return 0


MOST_SINGLE = 1000
"""After so many single records all of them are read: that takes less time than many positions."""


class LatestRecords(Mapping[TrialKey, Record]):
    """(cell, trial) → the trial's last record. Records in segments are read one by one from the
    journal when they are asked for, or all of them at once; those added later are in memory.
    """

    def __init__(
        self, index: TrialIndex, read: Callable[[int], Record], added: Mapping[TrialKey, Record]
    ) -> None:
        """``read``: reads the record in a row of the index."""
        self.index, self._read, self.added = index, read, added
        self.read_all: Callable[[], Gathered] | None = None
        """Reads the whole journal, if all records may be in memory."""
        self._single = 0

    @cached_property
    def everything(self) -> Gathered:
        """All records of the journal."""
        assert self.read_all is not None  # noqa: S101  (for the type checker)
        return self.read_all()

    def __getitem__(self, trial: TrialKey) -> Record:
        self._single += 1
        is_many = self._single > MOST_SINGLE and self.read_all is not None
        if is_many or "everything" in self.__dict__:
            return self.everything.latest[trial]
        if trial in self.added:
            return self.added[trial]
        row = self.index.row_of(trial)
        if row is None:
            raise KeyError(trial)
        return self._read(row)

    def __contains__(self, trial: object) -> bool:
        return trial in self.added or self.index.row_of(trial) is not None

    def __iter__(self) -> Iterator[TrialKey]:
        yield from self.index.trials()
        yield from (trial for trial in self.added if self.index.row_of(trial) is None)

    def __len__(self) -> int:
        return len(self.index) + sum(self.index.row_of(trial) is None for trial in self.added)


@dataclass(slots=True)
class Gathered:
    """The contents of the journal's lines."""

    index: TrialIndex | None = None
    """The records in segments; ``None``: all lines were read."""
    records: list[Record] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)
    added: dict[TrialKey, Record] = field(default_factory=dict)
    """Trial → its last record in the lines that were read."""
    latest: Mapping[TrialKey, Record] = field(init=False)
    """Trial → its last record, in a segment or in a line."""
    begun: dict[TrialKey, int] = field(default_factory=dict)
    """Trial → number of its last attempt in the lines that were read."""
    unfinished: dict[TrialKey, str] = field(default_factory=dict)
    newest: Record | None = None
    """The last record of a planned trial in the lines that were read."""

    def __post_init__(self) -> None:
        self.latest = self.added

    @property
    def record_count(self) -> int:
        """Number of intact records."""
        return len(self.records) + (0 if self.index is None else self.index.rows)

    @property
    def last(self) -> Record | None:
        """The last record of a planned trial, or ``None``."""
        if self.newest is not None or self.index is None or not self.index.rows:
            return self.newest
        return self.index.outline(self.index.rows - 1)

    def started(self, trial: TrialKey) -> int:
        """Number of the trial's last attempt that was begun or recorded; 0: none."""
        own = self.begun.get(trial, 0)
        return own if self.index is None else max(own, self.index.started(trial))

    def status(self, trial: TrialKey) -> Status:
        """The status of a trial: that of its last record, or pending."""
        record = self.added.get(trial)
        if record is None and self.index is not None:
            return self.index.status(trial) or Status.PENDING
        return Status.PENDING if record is None else record.status

    def is_final(self, trial: TrialKey) -> bool:
        """Whether a resumed run keeps the trial's record (``Record.is_final``)."""
        record = self.added.get(trial)
        if record is None and self.index is not None:
            return self.index.is_final(trial)
        return record is not None and record.is_final

    def counts(self, trials: Mapping[str, int]) -> Counter[Status]:
        """Number of trials by status. ``trials``: cell → number of its trials, for all cells."""
        if self.index is None:
            every = ((cell, n) for cell, most in trials.items() for n in range(1, most + 1))
            return Counter(map(self.status, every))
        counts = self.index.counts(trials)
        for cell, trial in self.added:
            if trial <= trials[cell]:
                counts[self.index.status((cell, trial)) or Status.PENDING] -= 1
                counts[self.status((cell, trial))] += 1
        return counts

    def finished(self, trials: Mapping[str, int]) -> frozenset[str]:
        """Cells whose trials all have a final record, as segments alone tell; as ``counts``."""
        if self.index is None:
            return frozenset()
        later = {cell for cell, _trial in self.added}
        told = ((cell, number) for cell, number in trials.items() if cell not in later)
        return frozenset(cell for cell, number in told if self.index.is_finished(cell, number))

    def doubtful(self, most_steal: float | None) -> Iterator[TrialKey]:
        """The trials whose last record may ask for a repeat, as ``RunFolder.doubtful``."""
        old = () if self.index is None else self.index.doubtful(most_steal)
        return iter((*(trial for trial in old if trial not in self.added), *self.added))

    def add_record(self, record: Record) -> None:
        """Add a planned trial's record; it becomes the valid one."""
        trial = (record.cell, record.trial)
        self.records.append(record)
        self.added[trial] = self.newest = record
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


class JournalReading:
    """Reads one journal into a ``Gathered``."""

    def __init__(self, journal: Path, plan: Plan, check: RunCheck | None, keep: Keep) -> None:
        self.gathered = Gathered()
        self._journal, self._check, self._keep = journal, check, keep
        self._planned = PlannedTrials(plan)
        self._cells = {cell.key: cell for cell in plan.cells}
        self._run_name: object = None

    # Lines

    def take_lines(self, items: Iterable[JournalLine | Damage]) -> None:
        """Gather lines that no segment covers."""
        for item in items:
            self._take(item, follows_records=self.gathered.record_count > 0)

    def _take(
        self, item: JournalLine | Damage, *, follows_records: bool, is_indexed: bool = False
    ) -> None:
        """Gather a line. ``is_indexed``: the index has the records of planned trials."""
        if isinstance(item, Damage):
            self.gathered.damage.append(item)
        elif item.data.get("kind") == "record":
            record = self._record(item)
            is_known = is_indexed and record is not None and record.key in self._planned
            if record is not None and not is_known:
                self._take_record(item.number, record)
        else:
            self._take_note(item, follows_records=follows_records)

    def _record(self, line: JournalLine) -> Record | None:
        """The record in a line; ``None``, with a damage, if it is malformed."""
        try:
            return record_in(line, self._cells, self._check, self._keep)
        except ValueError as error:
            message = _("not a record of this format: {error}", error=error)
            self.gathered.damage.append(Damage(line.number, message))
            return None

    def _take_record(self, number: int, record: Record) -> None:
        if (record.cell, record.trial) in self._planned:
            self.gathered.add_record(record)
            return
        self.gathered.records.append(record)
        trial_name = f"{record.cell}, trial {record.trial}"
        message = _("a record of {where}, which is not in the plan", where=trial_name)
        self.gathered.damage.append(Damage(number, message))

    def _take_note(self, line: JournalLine, *, follows_records: bool) -> None:
        try:
            note = note_in(line)
        except ValueError as error:
            self.gathered.damage.append(Damage(line.number, str(error)))
            return
        self.gathered.add_note(note, self._planned)
        if note.kind == "journal":
            name = note.data.get("run")
            # The first line names the run. Another name after records means that two files were
            # joined. Another name before any record means that netlab was killed while it created
            # the folder.
            if follows_records and self._run_name not in (None, name):
                message = _("the journal of another run begins here")
                self.gathered.damage.append(Damage(line.number, message))
            elif not follows_records:
                self._run_name = name

    # Segments

    def take_segments(self, chain: SegmentChain, index: TrialIndex) -> None:
        """Gather what segments cover: records by their index, other lines from the journal."""
        self.gathered.index = index
        read = partial(self._in_row, index)
        self.gathered.latest = LatestRecords(index, read, self.gathered.added)
        reading = files.disk_errors(self._journal, "read the journal")
        with reading, files.open_inside(self._journal.parent, self._journal.name) as file:
            for place in (place for segment in chain.segments for place in segment.others):
                piece = files.read_at(file.fileno(), place.size_bytes, place.begin_bytes)
                follows = index.begin_bytes < place.begin_bytes
                for item in items_of(piece, place.line):
                    self._take(item, follows_records=follows, is_indexed=True)
                    for trial in tuple(self.gathered.unfinished):
                        if index.last_bytes(trial) > place.begin_bytes:
                            del self.gathered.unfinished[trial]

    def _in_row(self, index: TrialIndex, row: int) -> Record:
        """The record in a row of the index. StoreError if it is damaged."""
        # If data stopped in a trial, its outline has all values.
        if self._keep is outline and not index.has_stopped(row):
            with contextlib.suppress(ValueError):  # for a damaged segment, the journal is read
                return index.outline(row)
        key = index.key_of(row)
        found = None
        for line in index.lines(row):
            if line.data.get("kind") == "record":
                try:
                    record = record_in(line, self._cells, self._check, self._keep)
                except ValueError:
                    continue
                found = record if (record.cell, record.trial) == key else found
        if found is None:
            raise StoreError(
                f"{self._journal}: the record of {key[0]}, trial {key[1]}, was changed or damaged "
                "since a segment was made of it; remove the folder segments beside the journal to "
                "read what is left"
            )
        return found


_TRIES = 5
_PAUSE_S = 0.05
"""``holder`` takes the lock for an instant to see whether it is free. A writer must not fail
because of this, so it tries several times."""

_MOST_SHOWN = 400


class WriterLock:
    """The lock; held until ``release`` or until the process ends in any way."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def acquire(cls, path: Path) -> WriterLock:
        """Take the lock without waiting. Raises LockedError, which names the writer that has it."""
        with files.disk_errors(path, "open the lock"):
            descriptor = files.open_file(path, os.O_RDWR | os.O_CREAT)
        try:
            with files.disk_errors(path, "lock the folder"):
                for tries_left in reversed(range(_TRIES)):
                    try:
                        files.lock(descriptor)
                        break
                    except BlockingIOError:
                        if not tries_left:
                            described = _describe(descriptor)
                            raise LockedError(
                                f"{path.parent}: {described} is writing here; "
                                "wait until it is done, or stop it"
                            ) from None
                        time.sleep(_PAUSE_S)
            # The text is only for messages to later writers; the kernel holds the lock.
            process = {"pid": os.getpid(), "boot": _boot(), "machine": socket.gethostname()}
            with files.disk_errors(path, "write the lock"):
                os.ftruncate(descriptor, 0)
                text = json.dumps({**process, "since": utc_now()})
                os.lseek(descriptor, 0, os.SEEK_SET)  # on Windows, the lock has moved it
                files.write_all(descriptor, text.encode("ascii"))
        except BaseException:
            os.close(descriptor)
            raise
        return cls(descriptor)

    def release(self) -> None:
        """Release the lock; a second call does nothing."""
        if self._descriptor >= 0:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, 0)
                files.unlock(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1


def holder(path: Path) -> str | None:
    """The writer's description, such as ``netlab with pid 71 on lab1 since …``; else ``None``."""
    try:
        # A call that may wait would block on a pipe without a writer.
        descriptor = files.open_file(path, os.O_RDONLY | files.NO_WAITING)
    except OSError:
        return None
    try:
        files.lock(descriptor, shared=True)
        files.unlock(descriptor)
        return None
    except OSError:
        return _describe(descriptor)
    finally:
        os.close(descriptor)


def _describe(descriptor: int) -> str:
    try:
        data = json.loads(files.read_at(descriptor, 4096, 0))
        boot = "" if data["boot"] == _boot() else " (another machine or an earlier boot)"
        words = f"netlab with pid {data['pid']} on {data['machine']} since {data['since']}{boot}"
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "another netlab"
    # The file may come from elsewhere, and the description is printed on a terminal.
    return words if words.isprintable() and len(words) < _MOST_SHOWN else "another netlab"


def _boot() -> str:
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    return ""
