"""Reads a run folder: all intact records and notes, a list of the damage, and whose run it is.

The records of a run with segments are read one by one from the journal, or all of them at once. A
session is one execution of netlab that measures; a run that is resumed has several sessions.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, overload

from netlab.errors import StoreError, UsageError
from netlab.experiment.matrix import CellProgress, progress_of
from netlab.interpreter import without_collector
from netlab.store.files import disk_error, read_inside
from netlab.store.journal import Damage, Keep, Note, RunCheck, TrialKey, as_it_is, scan_journal
from netlab.store.journal_reading import IN_VAIN, Gathered, JournalReading, holder
from netlab.store.plan import Plan, PlannedCell, from_text, stated_facts_of
from netlab.store.segments import SegmentChain, chain_of, index_of
from netlab.trial.record import Record

__all__ = [
    "HEADER",
    "IN_VAIN",
    "JOURNAL",
    "LOCK",
    "MATRIX",
    "Gathered",
    "Keep",
    "Note",
    "RunCheck",
    "StoredRun",
    "TrialKey",
    "gather",
    "holder_of",
    "is_run_folder",
    "progress_in",
    "read",
    "read_cells",
    "read_plan",
]


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


HEADER = "run.json"
MATRIX = "matrix.yaml"
JOURNAL = "journal.jsonl"
LOCK = "lock"

MAX_HEADER_BYTES = 128 << 20
MAX_MATRIX_BYTES = 2 << 20  # netlab.config accepts half of it
"""Maximum length of a matrix file; netlab writes no longer file."""


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run folder as it was read: its intact contents, and the damage."""

    path: Path
    plan: Plan
    created_at: str
    records: Sequence[Record]
    """All intact records in the journal's order, including repeats and retries."""
    notes: tuple[Note, ...]
    """All lines that are not records. If the journal has segments, the beginnings of attempts whose
    record is in a segment are left out.
    """
    damage: tuple[Damage, ...]
    latest: Mapping[TrialKey, Record]
    """The valid record of each planned trial: its last one."""
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


def is_run_folder(path: Path) -> bool:
    """Whether the folder has a run's header (run.json), readable or not."""
    return os.path.lexists(path / HEADER)


def holder_of(path: Path) -> str | None:
    """A description of the current writer of the run folder; ``None`` if there is none."""
    return holder(path / LOCK)


def read(path: Path, check: RunCheck | None = None, keep: Keep = as_it_is) -> StoredRun:
    """Read a run folder, without a lock: another process may be writing to the folder.

    ``check`` checks the settings and values of cells and records, because a file may hold anything.
    ``keep`` reduces each record to the values that stay in memory. Raises UsageError if there is no
    run folder, StoreError if its header cannot be read or one of its files is a link. Damaged lines
    of the journal raise nothing: they are listed in ``damage``.

    Records in segments are read from the journal when they are asked for: one by one, or all at
    once.
    """
    plan, created_at = read_plan(path, check)
    gathered = gather(path, plan, check, keep)
    records: Sequence[Record] = tuple(gathered.records)
    latest: Mapping[TrialKey, Record] = MappingProxyType(gathered.latest)
    if gathered.index is not None:
        whole = WholeRun(gathered, partial(_gather_lines, path / JOURNAL, plan, check, keep))
        records, latest = AllRecords(whole), LatestOfAll(whole)
    return StoredRun(
        path=path,
        plan=plan,
        created_at=created_at,
        records=records,
        notes=tuple(gathered.notes),
        damage=tuple(gathered.damage),
        latest=latest,
        unfinished=MappingProxyType(gathered.unfinished),
    )


def read_cells(path: Path, keys: Collection[str], check: RunCheck | None = None) -> StoredRun:
    """The part of a run folder that is about the cells with these keys; otherwise as ``read``.

    Of records in segments, only those of these cells are read. ``records`` has the valid record of
    each trial only, in the order of their beginnings. Raises UsageError for a key of no cell.
    """
    plan, created_at = read_plan(path, check)
    cells = tuple(cell for cell in plan.cells if cell.key in keys)
    known = {cell.key for cell in cells}
    for key in keys:
        if key not in known:
            raise UsageError(
                f"{path}: no cell has the key {key!r}; `netlab plan --cells` lists them"
            )
    gathered = gather(path, plan, check)
    trials = ((cell.key, n) for cell in cells for n in range(1, plan.most_of(cell) + 1))
    latest = {trial: gathered.latest[trial] for trial in trials if trial in gathered.latest}
    return StoredRun(
        path=path,
        plan=replace(plan, cells=cells),
        created_at=created_at,
        records=tuple(sorted(latest.values(), key=lambda record: record.started_at)),
        notes=tuple(gathered.notes),
        damage=tuple(gathered.damage),
        latest=MappingProxyType(latest),
        unfinished=MappingProxyType(
            {trial: at for trial, at in gathered.unfinished.items() if trial[0] in keys}
        ),
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
        with without_collector():
            settings = None if check is None else check.settings
            plan, created_at = from_text(header.decode("utf-8"), matrix_text, settings)
            stated_facts_of(plan)
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
    path: Path, plan: Plan, check: RunCheck | None = None, keep: Keep = as_it_is
) -> Gathered:
    """Read the journal of a run folder with this plan; ``check`` and ``keep`` as for ``read``.

    The part of the journal that is in segments is known by their index. Segments have checked
    records, so they are used with a check only.
    """
    journal = path / JOURNAL
    chain = chain_of(path, journal) if check is not None else SegmentChain()
    chain, index = index_of(path, journal, plan, chain)
    reading = JournalReading(journal, plan, check, keep)
    with without_collector():
        if index is not None:
            reading.take_segments(chain, index)
        reading.take_lines(scan_journal(journal, chain.end_bytes, chain.next_line))
    gathered = reading.gathered
    gathered.damage += chain.remarks
    gathered.damage.sort(key=lambda place: place.line)
    return gathered


def _gather_lines(journal: Path, plan: Plan, check: RunCheck | None, keep: Keep) -> Gathered:
    """Gather all lines of a journal, whether or not it has segments."""
    reading = JournalReading(journal, plan, check, keep)
    with without_collector():
        reading.take_lines(scan_journal(journal))
    return reading.gathered


def progress_in(plan: Plan, cell: PlannedCell, latest: Mapping[TrialKey, Record]) -> CellProgress:
    """The progress of ``cell`` according to the valid records of its trials."""
    rule = plan.rule_of(cell)
    if isinstance(rule, int):
        return progress_of(rule, {})
    trials = range(1, plan.most_of(cell) + 1)
    own = {trial: latest[cell.key, trial] for trial in trials if (cell.key, trial) in latest}
    return progress_of(rule, own)


SESSION = "session"
"""Kind of the journal's note that begins a session and describes the session's hosts."""


def machine_id() -> str | None:
    """This machine's id, if it has one (machine-id(5))."""
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            return Path(path).read_text(encoding="ascii").strip() or None
        except (OSError, UnicodeDecodeError):
            continue
    return None


def measures_here(stored: StoredRun) -> bool | None:
    """Whether a host of the last session shares this machine's cores, as hosts of a virtual lab do;
    ``None`` if no session has described its hosts yet.
    """
    descriptions = [note.data.get("hosts") for note in stored.notes if note.kind == SESSION]
    if not descriptions or not isinstance(descriptions[-1], Mapping):
        return None
    own_id = machine_id()
    return any(_is_here(host, own_id) for host in descriptions[-1].values())


def _is_here(host: Any, own_id: str | None) -> bool:
    if not isinstance(host, Mapping):
        return False
    return host.get("local") is True or (own_id is not None and host.get("machine_id") == own_id)
