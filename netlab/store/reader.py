"""Reads a run folder: all intact records and notes, the damage, whose run it is, and its status."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from netlab.errors import StoreError, UsageError
from netlab.experiment.matrix import CellProgress, StealRule, StopRule, outline, progress_of
from netlab.experiment.sample import sample_in
from netlab.interpreter import without_collector
from netlab.store.files import disk_error, read_inside
from netlab.store.journal import Damage, Keep, Note, RunCheck, TrialKey, scan_journal
from netlab.store.journal_reading import Gathered, JournalReading, LatestRecords, holder
from netlab.store.plan import Plan, PlannedCell, from_text, stated_facts_of
from netlab.trial.record import Record, Status
from netlab.units import format_share, many

HEADER = "run.json"
MATRIX = "matrix.yaml"
JOURNAL = "journal.jsonl"
SEGMENTS = "segments"
LOCK = "lock"

MAX_HEADER_BYTES = 128 << 20
MAX_MATRIX_BYTES = 2 << 20  # netlab.config accepts half of it


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run folder as it was read: its intact contents, and the damage."""

    path: Path
    plan: Plan
    created_at: str
    notes: tuple[Note, ...]
    """All lines that are not records. If the journal has segments, the beginnings of attempts whose
    record is in a segment are left out.
    """
    damage: tuple[Damage, ...]
    latest: Mapping[TrialKey, Record]
    """The valid record of each planned trial: its last one."""
    unfinished: Mapping[TrialKey, str]
    """Trial → when it began, for trials that the last session began and that have no record yet."""
    read_records: Callable[[], Sequence[Record]]

    @property
    def records(self) -> Sequence[Record]:
        """All intact records in the journal's order, including repeats and retries."""
        return self.read_records()

    def progress(self, cell: PlannedCell) -> CellProgress:
        """The progress of a planned cell."""
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


def read(path: Path, check: RunCheck | None = None) -> StoredRun:
    """Read a run folder, without a lock: another process may be writing to the folder.

    ``check`` checks the settings and values of cells and records, because a file may hold anything.
    Raises UsageError if there is no run folder, StoreError if its header cannot be read or one of
    its files is a link. Damaged lines of the journal raise nothing: they are listed in ``damage``.
    """
    plan, created_at = read_plan(path, check)
    gathered = gather(path, plan, check)
    stored = _stored(path, plan, created_at, gathered)
    latest = gathered.latest
    if not isinstance(latest, LatestRecords):
        return stored

    def read_all() -> Gathered:
        reading = JournalReading(path / JOURNAL, plan, check, None)
        with without_collector():
            reading.take_lines(scan_journal(path / JOURNAL))
        return reading.gathered

    latest.read_all = read_all
    return replace(stored, read_records=lambda: latest.everything.records)


def _stored(path: Path, plan: Plan, created_at: str, gathered: Gathered) -> StoredRun:
    """The run folder, with the records that were read line by line."""
    records = tuple(gathered.records)
    return StoredRun(
        path=path,
        plan=plan,
        created_at=created_at,
        notes=tuple(gathered.notes),
        damage=tuple(gathered.damage),
        latest=MappingProxyType(gathered.latest),
        unfinished=MappingProxyType(gathered.unfinished),
        read_records=lambda: records,
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
    records = tuple(sorted(latest.values(), key=lambda record: record.started_at))
    unfinished = {trial: at for trial, at in gathered.unfinished.items() if trial[0] in keys}
    return replace(
        _stored(path, replace(plan, cells=cells), created_at, gathered),
        latest=MappingProxyType(latest),
        unfinished=MappingProxyType(unfinished),
        read_records=lambda: records,
    )


def read_plan(path: Path, check: RunCheck | None = None) -> tuple[Plan, str]:
    """The plan of a run folder, and when the folder was made; ``check`` and errors as ``read``."""
    try:
        os.lstat(path / HEADER)
    except (FileNotFoundError, NotADirectoryError):
        reason = f"it has no {HEADER}" if os.path.lexists(path) else "there is no such folder"
        raise UsageError(f"{path}: not a run folder: {reason}") from None
    except OSError as error:
        raise disk_error(error, path, "read the folder") from None
    matrix_text = ""
    if os.path.lexists(path / MATRIX):
        matrix_text = read_inside(path / MATRIX, MAX_MATRIX_BYTES).decode("utf-8", "replace")
    header = read_inside(path / HEADER, MAX_HEADER_BYTES)
    try:
        with without_collector():
            settings = None if check is None else check.settings
            plan, created_at = from_text(header.decode("utf-8"), matrix_text, settings)
            stated_facts_of(plan)
            sample_in(plan.content)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path / HEADER}: {error}; restore it from a copy") from None
    return plan, created_at


def gather(path: Path, plan: Plan, check: RunCheck | None = None, keep: Keep = None) -> Gathered:
    """Read the journal of a run folder with this plan; ``check`` as for ``read``.

    The part of the journal that is in segments is known by their index. Segments have checked
    records, so they are used with a check only.
    """
    journal = path / JOURNAL
    reading = JournalReading(journal, plan, check, keep)
    gathered = reading.gathered
    with without_collector():
        if check is None or not os.path.lexists(path / SEGMENTS):
            reading.take_lines(scan_journal(journal))
        else:
            from netlab.store.segments import chain_of
            from netlab.store.trial_index import index_of

            chain, index = index_of(path, journal, plan, chain_of(path, journal))
            if index is not None:
                reading.take_segments(chain, index)
            reading.take_lines(scan_journal(journal, chain.end_bytes, chain.next_line))
            gathered.damage += chain.remarks
    gathered.damage.sort(key=lambda place: place.line)
    return gathered


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
    """Whether a host of the last session shares this machine's cores; ``None`` if not described."""
    described = [note.data.get("hosts") for note in stored.notes if note.kind == SESSION]
    if not described or not isinstance(described[-1], Mapping):
        return None
    own_id = machine_id()
    hosts = [host for host in described[-1].values() if isinstance(host, Mapping)]
    return any(
        host.get("local") is True or (own_id is not None and host.get("machine_id") == own_id)
        for host in hosts
    )


_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Active:
    """A trial that was begun and has no record yet."""

    cell: str
    trial: int
    started_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatus:
    """The progress of a run. Counts are trials; ``total`` = ``done`` + ``remaining``."""

    folder: Path
    title: str
    total: int
    ok: int
    impossible: int
    failed: int
    pending: int
    """Number of pending trials, including those that are not measured yet."""
    undecided: int
    """Number of cells whose means are not precise yet. They may need more trials than ``total``
    counts."""
    not_tight: tuple[str, ...]
    """Keys of the cells that had all their trials and still are not precise enough."""
    until: StopRule | None
    quiet: StealRule | None
    """The rule by which the last session repeated disturbed trials (a hypervisor stole CPU time
    from a host); ``None`` if the session had no such rule."""
    disturbed: int
    disturbed_again: int
    """Number of disturbed trials that a resumed run repeats."""
    writer: str | None
    """A description of the process that writes to the folder; ``None`` if there is none."""
    active: tuple[Active, ...]
    """The trials being measured; empty without a writer."""
    last: Record | None
    damage: tuple[Damage, ...]

    @property
    def done(self) -> int:
        """Trials that a resumed run does not repeat."""
        return self.ok + self.impossible

    @property
    def remaining(self) -> int:
        """Trials that a resumed run measures: failed, pending, not measured yet."""
        return self.total - self.done

    def as_dict(self) -> dict[str, Any]:
        """The status as plain data."""
        last = self.last and {
            "cell": self.last.cell,
            "trial": self.last.trial,
            "attempt": self.last.attempt,
            "status": str(self.last.status),
            "reason": self.last.reason,
            "started_at": self.last.started_at,
        }
        counts = ("total", "done", "remaining", "ok", "impossible", "failed", "pending")
        return {
            "folder": str(self.folder),
            "title": self.title,
            **{name: getattr(self, name) for name in (*counts, "undecided")},
            "not_tight": list(self.not_tight),
            "disturbed": self.disturbed,
            "disturbed_again": self.disturbed_again,
            "running": self.writer is not None,
            "writer": self.writer,
            "active": [asdict(active) for active in self.active],
            "last": last,
            "damage": [{"line": place.line, "message": place.message} for place in self.damage],
        }

    def as_text(self) -> str:
        """A few lines for people."""
        lines = [
            f"{self.folder}: {self.title}",
            f"{self.done} of {many(self.total, 'trial')} done: {self.ok} ok, {self.impossible} "
            f"impossible; {self.remaining} left: {self.failed} failed, {self.pending} pending",
            f"running: {self.writer}" if self.writer else "not running",
        ]
        lines += [
            f"measuring {active.cell}, trial {active.trial}, since {active.started_at}"
            for active in self.active
        ]
        if self.undecided and self.until is not None:
            cells = "1 cell is" if self.undecided == 1 else f"{self.undecided} cells are"
            lines.append(
                f"{cells} measured until within ± {format_share(self.until.within)}, "
                f"up to {self.until.at_most} trials each"
            )
        if self.not_tight and self.until is not None:
            number = len(self.not_tight)
            cells = "1 cell was" if number == 1 else f"{number} cells were"
            lines.append(
                f"{cells} not within ± {format_share(self.until.within)} after "
                f"{self.until.at_most} trials: look for the cause of the scatter, more trials do "
                "not remove it"
            )
            lines += [f"  {key}" for key in self.not_tight[:_SHOWN]]
            if number > _SHOWN:
                lines.append(f"  and {number - _SHOWN} more")
        if self.disturbed and self.quiet is not None:
            again = f"{self.disturbed_again} to be repeated"
            lines.append(f"{self.quiet.disturbed(self.disturbed)}: {again}")
        if self.last is not None:
            reason = f" ({self.last.reason})" if self.last.reason else ""
            lines.append(f"last record: {self.last.cell}: {self.last.status}{reason}")
        lines += [f"journal, {place}" for place in self.damage[:_SHOWN]]
        if len(self.damage) > _SHOWN:
            lines.append(f"and {many(len(self.damage) - _SHOWN, 'more damaged place')}")
        return "\n".join(lines)


def status_of(path: Path, check: RunCheck | None = None) -> RunStatus:
    """The status of the run in ``path``; ``check`` and errors as ``read``."""
    writer = holder_of(path)
    plan, _ = read_plan(path, check)
    gathered = gather(path, plan, check, outline)
    courses = {cell.key: progress_in(plan, cell, gathered.latest) for cell in plan.cells}
    counts = gathered.counts({key: course.trials for key, course in courses.items()})
    # The last session's rule for disturbed trials; it may have none that can be read.
    quiet = None
    rules = [note.data.get("quiet") for note in gathered.notes if note.kind == SESSION]
    match rules[-1] if rules else None:
        case {"steal": float(steal), "tries": int(tries)}:
            quiet = StealRule(steal=steal, tries=tries)
    suspects = () if quiet is None else gathered.doubtful(quiet.steal)
    records = (gathered.latest[trial] for trial in suspects)
    disturbed = [record for record in records if quiet is not None and quiet.is_disturbed(record)]
    # A line that a writer has not finished is not damaged.
    damage = tuple(place for place in gathered.damage if not (place.torn and writer))
    return RunStatus(
        folder=path,
        title=plan.title,
        total=counts.total(),
        ok=counts[Status.OK],
        impossible=counts[Status.IMPOSSIBLE],
        failed=counts[Status.FAILED],
        pending=counts[Status.PENDING],
        undecided=sum(not progress.ended for progress in courses.values()),
        not_tight=tuple(key for key, progress in courses.items() if progress.precise is False),
        until=plan.until,
        quiet=quiet,
        disturbed=len(disturbed),
        disturbed_again=sum(quiet is not None and quiet.asks_again(r) for r in disturbed),
        writer=writer,
        active=tuple(
            Active(cell, trial, at) for (cell, trial), at in gathered.unfinished.items() if writer
        ),
        last=gathered.last,
        damage=damage,
    )
