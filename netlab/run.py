"""The spine: from a matrix file to a run folder that holds a record of every cell."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from netlab.cells import Cell, expand
from netlab.errors import HostError, HostGone, IncompleteRun, Interrupted, UsageError
from netlab.hosts import load_inventory
from netlab.matrix import Matrix, load_matrix
from netlab.measure import stream
from netlab.plan import chosen_of
from netlab.progress import Progress
from netlab.records import Record, Status
from netlab.rig import Rig
from netlab.schedule import Round, Trial, rounds, trials_of
from netlab.store import Plan, PlannedCell, RunFolder
from netlab.version import VERSION

MEASURES = {"stream": stream.measure}
"""The room that measures each kind of test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a person asks of one run."""

    matrix: Path
    hosts: Path | None = None
    into: Path | None = None
    only: tuple[str, ...] = ()
    overrides: Mapping[str, str] = field(default_factory=dict)
    retries: int = 1
    redo: frozenset[str] = frozenset()
    wait_s: float = 0.0

    def to_go_on(self, folder: Path) -> str:
        """The command that goes on with this run."""
        words = ["netlab", "run", str(self.matrix), "--into", str(folder)]
        words += [] if self.hosts is None else ["--hosts", str(self.hosts)]
        words += [word for pairing in self.only for word in ("--only", pairing)]
        words += [word for pair in self.overrides.items() for word in ("--set", "=".join(pair))]
        return shlex.join(words)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run stands when it ends."""

    folder: Path
    counts: Mapping[str, int]
    """Trials of the selected pairings by status; those not measured yet are pending."""
    unreachable: tuple[str, ...]
    """A sentence for each host that no other system of its machine stands in for."""
    to_go_on: str
    """The command that measures what is left."""

    def raise_for_status(self) -> None:
        """Raise the error whose exit code says how the run ended; all well raises nothing."""
        if self.unreachable:
            raise HostError("; ".join((*self.unreachable, f"to go on: {self.to_go_on}")))
        left = {word: self.counts.get(word, 0) for word in ("failed", "pending")}
        if any(left.values()):
            words = ", ".join(f"{count} {word}" for word, count in left.items() if count)
            raise IncompleteRun(f"{words}; to go on: {self.to_go_on}")


def run(options: Options, progress: Progress) -> Outcome:
    """Measure what is missing of a matrix; every record is on disk before the next trial."""
    matrix = load_matrix(options.matrix, options.overrides)
    cells = expand(matrix)
    inventory = load_inventory(options.hosts or options.matrix)
    chosen = chosen_of(cells, options.only)
    into = options.into or _new_folder(options.matrix)
    with RunFolder.open_for_writing(into, plan_of(matrix, cells)) as folder:
        trials = _outstanding(folder, chosen, matrix.repeats, options.redo)
        unreachable: tuple[str, ...] = ()
        if trials:
            progress.begin(folder.path, trials, done=len(chosen) * matrix.repeats - len(trials))
            pairings = tuple(dict.fromkeys(trial.cell.pairing for trial in trials))
            with Rig(
                inventory,
                pairings,
                owner=str(folder.path),
                wait_s=options.wait_s,
                say=progress.tell,
            ) as rig:
                unreachable = rig.unreachable
                _session(folder, options, matrix, rig)
                progress.warn(rig.warnings)
                plan = rounds(
                    trials,
                    order=matrix.order,
                    seed=matrix.seed,
                    hosts_of=rig.hosts_of,
                    parallel=matrix.parallel,
                )
                try:
                    _measure(plan, rig, folder, options.retries, progress)
                except Interrupted as signal:
                    going_on = f"{signal}; to go on: {options.to_go_on(folder.path)}"
                    raise Interrupted(signal.signal_number, going_on) from None
                rig.note_facts(folder, "after")
                folder.note("session-end")
        counts = _counts(folder, chosen, matrix.repeats)
        return Outcome(folder.path, counts, unreachable, options.to_go_on(folder.path))


def plan_of(matrix: Matrix, cells: tuple[Cell, ...]) -> Plan:
    """What a run folder is to hold."""
    return Plan(
        title=matrix.title,
        content=matrix.content,
        content_hash=matrix.content_hash,
        matrix_text=matrix.text,
        link=matrix.link,
        cells=tuple(
            PlannedCell(key=c.key, pairing=c.pairing, test=c.test, settings=dict(c.settings))
            for c in cells
        ),
        repeats=matrix.repeats,
    )


def _measure(
    plan: tuple[Round, ...], rig: Rig, folder: RunFolder, retries: int, progress: Progress
) -> None:
    with ThreadPoolExecutor(max_workers=max(len(r.trials) for r in plan)) as executor:
        try:
            for round_ in plan:
                for record in _records(round_, rig, folder, retries, progress, executor):
                    folder.append(record)
                    progress.record(record)
        except BaseException:
            # What is under way ends with its agents; the executor waits for it.
            rig.close()
            raise


def _records(
    round_: Round,
    rig: Rig,
    folder: RunFolder,
    retries: int,
    progress: Progress,
    executor: Executor,
) -> Iterator[Record]:
    """The records of one round, as they come; a failed trial is tried again within its round."""
    waiting = list(round_.trials)
    for tries_left in range(retries, -1, -1):
        futures = {}
        for trial in waiting:
            cell, number = trial.cell.key, trial.number
            attempt = folder.next_attempt(cell, number)
            folder.note("attempt", durable=False, cell=cell, trial=number, attempt=attempt)
            futures[executor.submit(_trial, trial, attempt, rig, progress)] = trial
        waiting = []
        for future in as_completed(futures):
            record = future.result()
            if record.status is Status.FAILED and tries_left:
                waiting.append(futures[future])
            yield record


def _trial(trial: Trial, attempt: int, rig: Rig, progress: Progress) -> Record:
    """One trial on its hosts, or the record that says why it was not measured."""
    away = rig.reason_not_to_measure(trial.cell)
    if away is not None:
        return away.record(trial, attempt)
    progress.trial(trial)
    ends = rig.ends(trial.cell)
    try:
        return MEASURES[trial.cell.test](trial, ends, attempt, progress.live)
    except HostGone as gone:
        return rig.lost(trial, attempt, gone)


def _outstanding(
    folder: RunFolder, chosen: tuple[Cell, ...], repeats: int, redo: frozenset[str]
) -> tuple[Trial, ...]:
    keys = {cell.key for cell in chosen}
    for word in redo:
        if not any(key == word for key in keys):
            raise UsageError(
                f"--redo {word}: no such cell; `netlab plan --cells` lists the cells' keys"
            )
    outstanding = set(folder.outstanding(redo))
    return tuple(t for t in trials_of(chosen, repeats) if (t.cell.key, t.number) in outstanding)


def _new_folder(matrix: Path) -> Path:
    return Path("runs") / f"{matrix.stem}-{time.strftime('%Y%m%d-%H%M%S')}"


def _session(folder: RunFolder, options: Options, matrix: Matrix, rig: Rig) -> None:
    folder.note(
        "session",
        netlab=VERSION,
        overrides=dict(options.overrides),
        only=list(options.only),
        order=matrix.order,
        seed=matrix.seed,
        hosts=rig.described(),
    )
    rig.note_facts(folder, "before")


def _counts(folder: RunFolder, chosen: tuple[Cell, ...], repeats: int) -> dict[str, int]:
    latest = folder.latest
    counts: dict[str, int] = {}
    for trial in trials_of(chosen, repeats):
        record = latest.get((trial.cell.key, trial.number))
        word = str(Status.PENDING if record is None else record.status)
        counts[word] = counts.get(word, 0) + 1
    return counts
