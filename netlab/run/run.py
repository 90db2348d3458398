"""The spine: from a matrix file to a run folder that holds a record of every cell."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from netlab.config.inventory import load_inventory
from netlab.config.matrix_file import load_matrix
from netlab.errors import HostError, IncompleteRun, Interrupted, UsageError
from netlab.experiment.cells import Cell
from netlab.experiment.matrix import Matrix, expand
from netlab.results.value_types import RUN_CHECK
from netlab.run.host_pool import HostPool
from netlab.run.plan import chosen_of
from netlab.run.progress import Progress
from netlab.run.session import Session, counts, disturbed, outstanding
from netlab.store.run_folder import Plan, PlannedCell, RunFolder
from netlab.version import VERSION


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
    """A sentence for each host that no other system of its machine replaces."""
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
    matrix = load_matrix(options.matrix, options.overrides, options.hosts)
    cells = expand(matrix)
    inventory = load_inventory(options.hosts or options.matrix).observing(matrix.observe)
    chosen = chosen_of(cells, options.only)
    into = options.into or _new_folder(options.matrix)
    with RunFolder.open_for_writing(into, plan_of(matrix, cells), check=RUN_CHECK) as folder:
        _check_redo(options.redo, chosen)
        trials = outstanding(folder, chosen, options.redo)
        trials = tuple(dict.fromkeys((*trials, *disturbed(folder, chosen, matrix.quiet))))
        unreachable: tuple[str, ...] = ()
        if trials:
            done = sum(counts(folder, chosen).values()) - len(trials)
            progress.begin(folder.path, trials, done=done, matrix=matrix)
            pairings = tuple(dict.fromkeys(trial.cell.pairing for trial in trials))
            with HostPool(
                inventory,
                pairings,
                owner=str(folder.path),
                wait_s=options.wait_s,
                say=progress.tell,
            ) as pool:
                unreachable = pool.unreachable
                _note_session(folder, options, matrix, pool)
                progress.warn(pool.warnings)
                session = Session(
                    folder=folder,
                    pool=pool,
                    matrix=matrix,
                    progress=progress,
                    cells=chosen,
                    redo=options.redo,
                    retries=options.retries,
                )
                try:
                    session.measure()
                except Interrupted as signal:
                    going_on = f"{signal}; to go on: {options.to_go_on(folder.path)}"
                    raise Interrupted(signal.signal_number, going_on) from None
                session.flag()
                pool.note_facts(folder, "after")
                folder.note("session-end")
        state = counts(folder, chosen)
        return Outcome(folder.path, state, unreachable, options.to_go_on(folder.path))


def plan_of(matrix: Matrix, cells: tuple[Cell, ...]) -> Plan:
    """What a run folder is to hold."""
    return Plan(
        title=matrix.title,
        content=matrix.content,
        content_hash=matrix.content_hash,
        matrix_text=matrix.text,
        link=matrix.link,
        cells=tuple(_planned(matrix, cell) for cell in cells),
        repeats=matrix.repeats,
        until=matrix.until,
    )


def _planned(matrix: Matrix, cell: Cell) -> PlannedCell:
    fixed, repeats = matrix.until_of(cell) is None, matrix.repeats_of(cell)
    own = fixed and (matrix.until is not None or repeats != matrix.repeats)
    return PlannedCell(
        key=cell.key,
        pairing=cell.pairing,
        test=cell.test,
        settings=dict(cell.settings),
        repeats=repeats if own else None,
    )


def _check_redo(redo: frozenset[str], chosen: tuple[Cell, ...]) -> None:
    for word in sorted(redo - {cell.key for cell in chosen}):
        raise UsageError(
            f"--redo {word}: no such cell; `netlab plan --cells` lists the cells' keys"
        )


def _new_folder(matrix: Path) -> Path:
    return Path("runs") / f"{matrix.stem}-{time.strftime('%Y%m%d-%H%M%S')}"


def _note_session(folder: RunFolder, options: Options, matrix: Matrix, pool: HostPool) -> None:
    folder.note(
        "session",
        netlab=VERSION,
        overrides=dict(options.overrides),
        only=list(options.only),
        order=matrix.order,
        seed=matrix.seed,
        pause_s=matrix.pause_s,
        quiet=matrix.quiet and asdict(matrix.quiet),
        hosts=pool.described(),
    )
    pool.note_facts(folder, "before")
