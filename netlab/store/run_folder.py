"""A run folder that is open for writing, to create it or to resume its run; one writer at a time.

It holds ``run.json`` (the plan), ``matrix.yaml`` (the matrix as its author wrote it),
``journal.jsonl`` (records and notes, see journal.py) and ``lock``. Reports are written there too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Container, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from netlab.errors import StoreError, UsageError
from netlab.experiment.matrix import CellProgress, outline
from netlab.store import reader
from netlab.store.files import disk_errors, exists, make_folder, write_inside
from netlab.store.journal import Journal, Note, RunCheck, TrialKey, read_journal
from netlab.store.journal_reading import Gathered, WriterLock
from netlab.store.plan import Plan, PlannedCell, PlannedTrials, plan_differences, to_text
from netlab.store.reader import HEADER, JOURNAL, LOCK, MATRIX
from netlab.trial.record import Record, Status, to_json, utc_now

_SHOWN_DIFFERENCES = 8


@dataclass(eq=False, repr=False)
class RunFolder:
    """A run folder open for writing, by one process at a time.

    Threads may share the object. As a context manager, it closes itself at the end.
    """

    path: Path
    plan: Plan
    _lock: WriterLock
    _journal: Journal
    _gathered: Gathered
    _clock: Callable[[], str]
    _planned: PlannedTrials
    _is_new: bool
    """Whether the folder was created when it was opened."""

    @classmethod
    def open_for_writing(
        cls,
        path: Path,
        plan: Plan,
        *,
        neighbours: frozenset[str] = frozenset(),
        clock: Callable[[], str] = utc_now,
        run_id: str | None = None,
        check: RunCheck | None = None,
    ) -> RunFolder:
        """Create the folder (0700), or open one of the same plan to resume it, or one of a smaller
        sample of the same matrix, which then gets the new plan.

        ``neighbours`` names files that a folder may contain before it is a run folder; ``run_id``
        is the name of a new run in its journal (by default, a random name). A record that ``check``
        refuses (see ``read``) does not count, and its trial is repeated. Raises UsageError (not a
        run folder and not empty; another matrix, with the differences), LockedError (another
        writer) and StoreError (the disk).
        """
        _check_folder(path, neighbours)
        is_new = not exists(path)
        if is_new:
            make_folder(path)
        lock = WriterLock.acquire(path / LOCK)
        journal = None
        try:
            created = not reader.is_run_folder(path)
            if created and exists(path / JOURNAL):
                # Records without a header: a new run would hide them.
                lines, _ = read_journal(path / JOURNAL)
                count = sum(line.data.get("kind") == "record" for line in lines)
                if count:
                    raise StoreError(
                        f"{path}: {HEADER} is missing, and {JOURNAL} has {count} records; "
                        f"restore {HEADER} from a copy or choose another folder"
                    )
            grows = False
            if not created:
                folder_plan, created_at = reader.read_plan(path, check)
                _refuse_another(path, folder_plan, plan)
                grows = len(plan.cells) > len(folder_plan.cells)  # a sample
            journal = Journal.open(path / JOURNAL)
            if created:
                created_at = clock()
                name = {"run": run_id or os.urandom(8).hex()}
                journal.append(_note_text("journal", created_at, name))
            if created or grows:
                if plan.matrix_text:
                    write_inside(path, MATRIX, plan.matrix_text.encode("utf-8"))
                # The header is written last: it makes the folder a complete run folder.
                write_inside(path, HEADER, to_text(plan, created_at).encode("ascii"))
            gathered = reader.gather(path, plan, check, outline)
            planned = PlannedTrials(plan)
            return cls(path, plan, lock, journal, gathered, clock, planned, is_new)
        except BaseException:
            if journal is not None:
                journal.close()
            lock.release()
            raise

    @property
    def latest(self) -> Mapping[TrialKey, Record]:
        """(cell, trial) → the trial's last record, as ``outline`` reduces it."""
        return MappingProxyType(self._gathered.latest)

    def counts(self, cells: Container[str]) -> dict[Status, int]:
        """Number of trials of these cells by status; a trial that is not measured is pending."""
        trials = {
            cell.key: self.progress(cell).trials if cell.key in cells else 0
            for cell in self.plan.cells
        }
        return {status: count for status, count in self._gathered.counts(trials).items() if count}

    def doubtful(self, most_steal: float | None) -> Iterator[TrialKey]:
        """The recorded trials that may have to be repeated: in all others, no data stopped, and no
        hypervisor took a larger share of a host's CPU time than ``most_steal`` (``None``: any share
        is allowed).
        """
        return self._gathered.doubtful(most_steal)

    @property
    def notes(self) -> tuple[Note, ...]:
        """All lines that are not records, in the journal's order."""
        return tuple(self._gathered.notes)

    def outstanding(self, redo: frozenset[str] = frozenset()) -> tuple[TrialKey, ...]:
        """The planned trials to measure, in the plan's order, cell by cell.

        A trial is to be measured if it has no record or if its record is not final
        (``Record.is_final``). All trials of the cells to ``redo`` are to be measured. A cell that
        is measured until it is precise has the trials that its records require so far. Raises
        UsageError for a cell that is not in the plan.
        """
        trials = {cell.key: self.progress(cell).trials for cell in self.plan.cells}
        if unknown := sorted(redo - trials.keys()):
            raise UsageError(f"{self.path}: the plan has no cell {', '.join(unknown)}")
        finished = self._gathered.finished(trials) - redo
        return tuple(
            (key, trial)
            for key, number in trials.items()
            if key not in finished
            for trial in range(1, number + 1)
            if key in redo or not self._gathered.is_final((key, trial))
        )

    def progress(self, cell: PlannedCell) -> CellProgress:
        """The progress of a planned cell."""
        return reader.progress_in(self.plan, cell, self._gathered.latest)

    def next_attempt(self, cell: str, trial: int) -> int:
        """The number of the next attempt, from 1: one above the highest begun or recorded."""
        return self._gathered.started((cell, trial)) + 1

    def append(self, record: Record, *, durable: bool = True) -> None:
        """Write a record; with ``durable`` it is on the disk when this returns.

        Raises ValueError for a record that is not in the plan or not valid (see
        ``record.to_json``), StoreError if the disk refuses.
        """
        if (record.cell, record.trial) not in self._planned:
            raise ValueError(f"{record.cell}, trial {record.trial}, is not in the plan")
        text = f'{{"kind":"record","at":{json.dumps(self._clock())},{to_json(record)[1:]}'
        self._journal.append(text, durable=durable)
        self._gathered.add_record(outline(record))

    def note(self, kind: str, *, durable: bool = True, **data: object) -> None:
        """Write a line that is not a record. Values: JSON data, mappings, tuples, sets, paths.

        ``durable=False`` is for lines such as ``attempt`` (``cell``, ``trial``, ``attempt``) that
        need not survive a power failure: they share the fsync of the next durable line.
        """
        at = self._clock()
        self._journal.append(_note_text(kind, at, data), durable=durable)
        plain = json.loads(json.dumps(data, default=_plain))
        self._gathered.add_note(Note(kind, at, plain, 0), self._planned)

    def sync_soon(self) -> Future[None]:
        """Make all lines written so far durable in a thread; see ``Journal.sync_soon``."""
        return self._journal.sync_soon()

    def discard_if_unused(self) -> None:
        """Remove the folder if ``open_for_writing`` created it and no measurement has begun."""
        has_begun = any(note.kind == "session" for note in self.notes)
        if not self._is_new or self._gathered.record_count or has_begun:
            return
        # If another program put a file into the folder, this file and the folder stay.
        with suppress(OSError):
            for name in (HEADER, JOURNAL, MATRIX, LOCK):
                (self.path / name).unlink(missing_ok=True)
            self.path.rmdir()

    def close(self) -> None:
        """Make all lines durable, close, and release the lock; a second call does nothing."""
        try:
            self._journal.close()
        finally:
            self._lock.release()

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _note_text(kind: str, at: str, data: Mapping[str, object]) -> str:
    note = {"kind": kind, "at": at, "data": data}
    return json.dumps(note, separators=(",", ":"), allow_nan=False, default=_plain)


def _plain(value: object) -> object:
    """Mappings other than dict, sets and paths as types that JSON can represent."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, frozenset | set):
        return sorted(value)
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"a note cannot hold {value!r}")


def _check_folder(path: Path, neighbours: frozenset[str]) -> None:
    if not exists(path) or reader.is_run_folder(path):
        return
    if not path.is_dir():
        raise UsageError(f"{path}: not a folder; choose another place for the run")
    with disk_errors(path, "read the folder"):
        names = {entry.name for entry in path.iterdir()}
    own = {MATRIX, JOURNAL, LOCK}
    strangers = {name for name in names - own - neighbours if not name.endswith(".tmp")}
    if strangers and HEADER not in names:  # another process may have created the run meanwhile
        raise UsageError(
            f"{path}: not a run folder, and not empty ({min(strangers)} is in it); "
            "choose an empty or a new folder"
        )


def _refuse_another(path: Path, folder_plan: Plan, new_plan: Plan) -> None:
    sentences = plan_differences(folder_plan, new_plan)
    if not sentences:
        return
    if folder_plan.source is not None or new_plan.source is not None:
        if folder_plan.source is None:
            contents = "holds a measured run, not an import"
        elif new_plan.source is None:
            contents = f"holds an import of {folder_plan.source}, not a measured run"
        else:
            # A checksum of a table is replaced by words, because it means nothing to a reader.
            readable = ["another table" if "sha256" in text else text for text in sentences]
            words = "; ".join(readable[:_SHOWN_DIFFERENCES])
            contents = f"holds another import, of {folder_plan.source}: {words}"
        raise UsageError(f"{path} {contents}; choose another folder with --into")
    if (more := len(sentences) - _SHOWN_DIFFERENCES) > 0:
        sentences[_SHOWN_DIFFERENCES:] = [f"and {more} more"]
    raise UsageError(
        f"{path} holds a run of another matrix: {'; '.join(sentences)}. "
        f"Choose another folder with --into, or continue the run that is there: "
        f"`netlab resume {path}`"
    )
