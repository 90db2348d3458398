"""Reads a run folder: all intact records and notes, and a list of the damage.

A cell is one combination of pairing (two hosts), test and settings. A trial is one repetition of a
cell. If a trial fails, it may have several attempts. A record holds the result of one attempt. A
session is one execution of netlab that measures; a run that is resumed has several sessions.
"""

from __future__ import annotations

import gc
import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from netlab.errors import StoreError, UsageError
from netlab.experiment.records import Record, Value, check_text, from_data
from netlab.experiment.stopping import CellProgress, progress_of
from netlab.messages import _
from netlab.store.files import disk_error, read_inside
from netlab.store.journal import Damage, JournalLine, scan_journal
from netlab.store.lock import holder
from netlab.store.packed_values import all_shared, packed_values, shared
from netlab.store.plan import Plan, PlannedCell, from_text
from netlab.store.source_facts import stated_facts_of

HEADER = "run.json"
MATRIX = "matrix.yaml"
JOURNAL = "journal.jsonl"
LOCK = "lock"

MAX_HEADER_BYTES = 128 << 20
MAX_MATRIX_BYTES = 2 << 20  # netlab.config accepts half of it
"""Maximum length of a matrix file; netlab writes no longer file."""
MAX_NOTE_DEPTH = 16
"""Deepest nesting of a note's data."""
MAX_NUMBER = 2**31
"""Numbers of trials and attempts are below this limit."""
_MORE_ATTEMPTS = 1000
"""An attempt number in a note is ignored if fewer attempts than this could follow it."""
IN_VAIN = "in-vain"
"""Kind of a note: an attempt had no result, but its trial has one of an earlier attempt."""

TrialKey = tuple[str, int]
"""A cell's key and the trial's number."""


@dataclass(frozen=True, slots=True)
class RunCheck:
    """Checks of file contents; they raise ValueError, with a sentence, for impossible contents."""

    settings: Callable[[str, Mapping[str, Value]], None]
    """Checks the settings of a test, which is given by its name."""
    values: Callable[[Mapping[str, Value]], None]


@dataclass(frozen=True, slots=True)
class Note:
    """A line of the journal that is not a record: ``session``, ``facts``, ``attempt``, …"""

    kind: str
    at: str
    """Wall clock of the machine that ran netlab, ISO 8601, UTC."""
    data: Mapping[str, Any]
    line: int
    """Line number in the journal, from 1."""


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run folder as it was read: its intact contents, and the damage."""

    path: Path
    plan: Plan
    created_at: str
    records: tuple[Record, ...]
    """All intact records in the journal's order, including repeats and retries."""
    notes: tuple[Note, ...]
    damage: tuple[Damage, ...]
    latest: Mapping[TrialKey, Record]
    """The valid record of each planned trial: its last one."""
    started: Mapping[TrialKey, int]
    """Trial → number of its last attempt that was begun or recorded."""
    unfinished: Mapping[TrialKey, str]
    """Trial → when it began, for trials that the last session began and that have no record yet."""

    def progress(self, cell: PlannedCell) -> CellProgress:
        """The progress of a planned cell. The result's ``precise`` is set if the plan ends the
        cell's trials as soon as their mean is precise.
        """
        return progress_in(self.plan, cell, self.latest)

    def trials(self) -> Iterator[tuple[PlannedCell, int, Record | None]]:
        """Every trial that is recorded or that has to be measured according to the records so far.

        The order is that of the plan. Each trial comes with its valid record, or ``None``.
        """
        for cell in self.plan.cells:
            for trial in range(1, self.progress(cell).trials + 1):
                yield cell, trial, self.latest.get((cell.key, trial))


@dataclass(slots=True)
class Gathered:
    """The contents of the journal's lines."""

    records: list[Record] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)
    latest: dict[TrialKey, Record] = field(default_factory=dict)
    started: dict[TrialKey, int] = field(default_factory=dict)
    unfinished: dict[TrialKey, str] = field(default_factory=dict)

    def add_record(self, record: Record) -> None:
        """Add a planned trial's record; it becomes the valid one."""
        trial = (record.cell, record.trial)
        self.records.append(record)
        self.latest[trial] = record
        self._start(trial, record.attempt)
        self.unfinished.pop(trial, None)

    def add_note(self, note: Note, trial_keys: frozenset[TrialKey]) -> None:
        """Add a note. ``attempt`` begins a trial and ``in-vain`` ends it; a ``session`` ends all
        trials that the previous session began.
        """
        self.notes.append(note)
        if note.kind == "session":
            self.unfinished.clear()
        trial = note.data.get("cell"), note.data.get("trial")
        if (
            not isinstance(trial[0], str)
            or not isinstance(trial[1], int)
            or trial not in trial_keys
        ):
            return
        if note.kind == "attempt":
            self.unfinished[trial] = note.at
            self._start(trial, note.data.get("attempt"))
        elif note.kind == IN_VAIN:
            self.unfinished.pop(trial, None)

    def _start(self, trial: TrialKey, attempt: object) -> None:
        # The numbers of later attempts must stay below MAX_NUMBER, so that they can be read back.
        if type(attempt) is int and 0 < attempt < MAX_NUMBER - _MORE_ATTEMPTS:
            self.started[trial] = max(attempt, self.started.get(trial, 0))


Keep = Callable[[Record], Record]
"""Reduces a record to the part that is kept in memory."""


def _as_it_is(record: Record) -> Record:
    return record


def is_run_folder(path: Path) -> bool:
    """Whether the folder has a run's header (run.json), readable or not."""
    return os.path.lexists(path / HEADER)


def holder_of(path: Path) -> str | None:
    """A description of the current writer of the run folder; ``None`` if there is none."""
    return holder(path / LOCK)


def read(path: Path, check: RunCheck | None = None, keep: Keep = _as_it_is) -> StoredRun:
    """Read a run folder, without a lock: another process may be writing to the folder.

    ``check`` checks the settings and values of cells and records, because a file may hold anything.
    ``keep`` reduces each record to the values that stay in memory. Raises UsageError if there is no
    run folder, StoreError if its header cannot be read or one of its files is a link. Damaged lines
    of the journal raise nothing: they are listed in ``damage``.
    """
    plan, created_at = read_plan(path, check)
    gathered = gather(path, plan, check, keep)
    return StoredRun(
        path=path,
        plan=plan,
        created_at=created_at,
        records=tuple(gathered.records),
        notes=tuple(gathered.notes),
        damage=tuple(gathered.damage),
        latest=MappingProxyType(gathered.latest),
        started=MappingProxyType(gathered.started),
        unfinished=MappingProxyType(gathered.unfinished),
    )


def read_plan(path: Path, check: RunCheck | None = None) -> tuple[Plan, str]:
    """The plan of a run folder, and when the folder was made; ``check`` and errors as ``read``."""
    _refuse_no_run(path)
    matrix = path / MATRIX
    matrix_text = ""
    if os.path.lexists(matrix):
        matrix_text = read_inside(matrix, MAX_MATRIX_BYTES).decode("utf-8", "replace")
    header = read_inside(path / HEADER, MAX_HEADER_BYTES)
    try:
        plan, created_at = from_text(header.decode("utf-8"), matrix_text)
        stated_facts_of(plan)
        if check is not None:
            for cell in plan.cells:
                check.settings(cell.test, cell.settings)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path / HEADER}: {error}; restore it from a copy") from None
    return plan, created_at


def _refuse_no_run(path: Path) -> None:
    try:
        os.lstat(path / HEADER)
    except (FileNotFoundError, NotADirectoryError):
        reason = f"it has no {HEADER}" if os.path.lexists(path) else "there is no such folder"
        raise UsageError(f"{path}: not a run folder: {reason}") from None
    except OSError as error:
        raise disk_error(error, path, "read the folder") from None


def gather(
    path: Path, plan: Plan, check: RunCheck | None = None, keep: Keep = _as_it_is
) -> Gathered:
    """Read the journal of a run folder with this plan; ``check`` and ``keep`` as for ``read``."""
    gathered = Gathered()
    with _without_collector():
        _gather(path, plan, check, keep, gathered)
    gathered.damage.sort(key=lambda place: place.line)
    return gathered


@contextmanager
def _without_collector() -> Iterator[None]:
    """Pause the garbage collector, whose passes would free nothing: records have no cycles."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _gather(path: Path, plan: Plan, check: RunCheck | None, keep: Keep, gathered: Gathered) -> None:
    trial_keys = planned_trials(plan)
    cells = {cell.key: cell for cell in plan.cells}
    run_name = None
    for line in scan_journal(path / JOURNAL):
        if isinstance(line, Damage):
            gathered.damage.append(line)
            continue
        if line.data.get("kind") == "record":
            try:
                record = _record(line, cells, check, keep)
            except ValueError as error:
                message = _("not a record of this format: {error}", error=error)
                gathered.damage.append(Damage(line.number, message))
            else:
                _gather_record(line, record, trial_keys, gathered)
            continue
        try:
            note = _note(line)
        except ValueError as error:
            gathered.damage.append(Damage(line.number, str(error)))
            continue
        gathered.add_note(note, trial_keys)
        if note.kind == "journal":
            name = note.data.get("run")
            # The first line names the run. Another name after records means that two files were
            # joined. Another name before any record means that netlab was killed while it created
            # the folder.
            if gathered.records and run_name not in (None, name):
                gathered.damage.append(
                    Damage(line.number, _("the journal of another run begins here"))
                )
            elif not gathered.records:
                run_name = name


def _record(
    line: JournalLine, cells: Mapping[str, PlannedCell], check: RunCheck | None, keep: Keep
) -> Record:
    """The record in a line. Raises ValueError with a sentence if the record is malformed."""
    record = from_data(line.data, look_at_values=check is None)
    if not (0 < record.trial < MAX_NUMBER and 0 < record.attempt < MAX_NUMBER):
        raise ValueError("the number of the trial or of the attempt is not from 1 to 2^31 - 1")
    for name in (record.cell, record.pairing, record.server, record.client, record.test):
        check_text(name)
    cell = cells.get(record.cell)
    # Later readers of the record rely on the test of its cell.
    if cell is not None and (record.test, record.pairing) != (cell.test, cell.pairing):
        raise ValueError(_("its test or its pairing differs from that of its cell"))
    # The compact form is checked faster, because a series of machine numbers has one type.
    record = _compact(record, cell)
    if check is not None:
        check.settings(record.test, record.settings)
        check.values(record.values)
    reduced = keep(record)
    return record if reduced is record else _compact(reduced, cell)


def _compact(record: Record, cell: PlannedCell | None) -> Record:
    """The same record, sharing its texts and names with other records."""
    return replace(
        record,
        cell=record.cell if cell is None else cell.key,
        pairing=shared(record.pairing),
        server=shared(record.server),
        client=shared(record.client),
        test=shared(record.test),
        settings=packed_values(record.settings),
        values=packed_values(record.values),
    )


def _gather_record(
    line: JournalLine, record: Record, trial_keys: frozenset[TrialKey], gathered: Gathered
) -> None:
    if (record.cell, record.trial) in trial_keys:
        gathered.add_record(record)
        return
    gathered.records.append(record)
    trial_name = f"{record.cell}, trial {record.trial}"
    gathered.damage.append(
        Damage(line.number, _("a record of {where}, which is not in the plan", where=trial_name))
    )


def _note(line: JournalLine) -> Note:
    """The note in a line. Raises ValueError with a sentence if the note is malformed."""
    kind, at, data = (line.data.get(name) for name in ("kind", "at", "data"))
    if not isinstance(kind, str) or not isinstance(at, str) or not isinstance(data, dict):
        raise ValueError(_("neither a record nor a note"))
    _check_note(data, MAX_NOTE_DEPTH)
    if kind == "facts" and not isinstance(data.get("facts", {}), dict):
        raise ValueError(_("a note of facts that contains no mapping"))
    return Note(shared(kind), at, all_shared(data), line.number)


def _check_note(value: object, depth: int) -> None:
    """Raise ValueError for data that a page of the report cannot show."""
    if isinstance(value, dict | list):
        if not depth:
            raise ValueError(_("a note nested more than {depth} levels deep", depth=MAX_NOTE_DEPTH))
        for item in (*value, *value.values()) if isinstance(value, dict) else value:
            _check_note(item, depth - 1)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(_("a note with a number that is infinite or not a number"))
    elif isinstance(value, str):
        check_text(value)


def planned_trials(plan: Plan) -> frozenset[TrialKey]:
    """Every (cell, trial) that the plan may require."""
    return frozenset(
        (cell.key, trial) for cell in plan.cells for trial in range(1, plan.most_of(cell) + 1)
    )


def progress_in(plan: Plan, cell: PlannedCell, latest: Mapping[TrialKey, Record]) -> CellProgress:
    """The progress of ``cell`` according to the valid records of its trials."""
    rule = plan.rule_of(cell)
    if isinstance(rule, int):
        return progress_of(rule, {})
    trials = range(1, plan.most_of(cell) + 1)
    own = {trial: latest[cell.key, trial] for trial in trials if (cell.key, trial) in latest}
    return progress_of(rule, own)
