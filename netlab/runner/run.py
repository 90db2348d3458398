"""The steps of a run, from a matrix file to a run folder that holds a record of every cell.

A cell is one combination of a pairing (two hosts), a kind of test and its settings. A trial is one
execution of a cell, and its record is the stored result or failure. A session is one call of
`netlab run` or `netlab resume`; the journal is the file with the records of all sessions.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from netlab.config.inventory_of import inventory_for
from netlab.config.matrix_file import load_matrix
from netlab.errors import (
    ClusterLost,
    HostError,
    IncompleteRun,
    Interrupted,
    LockedError,
    UsageError,
)
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Inventory
from netlab.experiment.matrix import Matrix, expand
from netlab.experiment.schedule import Trial
from netlab.findings.kinds.catalogue import expect_words
from netlab.remote.host_lock import LockOwner
from netlab.results.arrow.background import BackgroundSegments, start_if_due
from netlab.results.value_types import RUN_CHECK
from netlab.runner.due_trials import counts, disturbed, outstanding
from netlab.runner.ending import shielded
from netlab.runner.host_pool import HostPool
from netlab.runner.hosts.agent_group import AgentGroup
from netlab.runner.hosts.switching import switching_seldom
from netlab.runner.hosts.trial_place import TrialPlace, check_cluster, trial_place
from netlab.runner.options import NOTE, Options, data_of, resume_command
from netlab.runner.planning.choice import check_redo, chosen_of, redo_of
from netlab.runner.planning.possible import possible_of
from netlab.runner.progress import Progress
from netlab.runner.session import Session
from netlab.runner.trial_faults import keep_traceback
from netlab.runner.trials.session_states import SessionStates
from netlab.store.run_folder import Plan, PlannedCell, RunFolder
from netlab.units import many
from netlab.version import VERSION


@dataclass(frozen=True, slots=True)
class Outcome:
    """The state of a run when it ends."""

    folder: Path
    counts: Mapping[str, int]
    """Trials of the selected pairings by status; those not measured yet are pending."""
    unreachable: tuple[str, ...]
    """A sentence for each host that is away, unless another system of the same machine runs in its
    place."""
    resume_command: str
    """The command that resumes the run."""

    def raise_for_status(self) -> None:
        """Raise the error whose exit code says how the run ended; none if all is measured."""
        if self.unreachable:
            raise HostError("; ".join((*self.unreachable, f"to resume: {self.resume_command}")))
        open_counts = {word: self.counts.get(word, 0) for word in ("failed", "pending")}
        if any(open_counts.values()):
            words = ", ".join(many(n, f"{word} trial") for word, n in open_counts.items() if n)
            raise IncompleteRun(f"{words}; to resume: {self.resume_command}")


def run(options: Options, progress: Progress, agents: AgentGroup | None = None) -> Outcome:
    """Measure the missing trials of a matrix; each record is written before the next trial.

    ``agents``: agents (programs of netlab that run on hosts) that are open already, so that these
    hosts need no new login. Raises HostError, LockedError, UsageError, and Interrupted after a
    signal.
    """
    check_cluster(options.cluster, insecure=options.insecure)
    matrix = load_matrix(options.matrix, options.overrides, options.hosts, expect_words())
    cells = expand(matrix)
    inventory = inventory_for(matrix, options.hosts or options.matrix)
    session_cells = _chosen(options, cells)
    possible = possible_of(session_cells, inventory)
    if options.strict and possible.sentence:
        raise HostError(f"--strict: {possible.sentence}")
    into = options.into or _new_folder(options.matrix)
    with RunFolder.open_for_writing(into, plan_of(matrix, cells), check=RUN_CHECK) as folder:
        redo = redo_of(options.redo, session_cells, folder.latest)
        trials = outstanding(folder, session_cells, redo)
        trials = tuple(dict.fromkeys((*trials, *disturbed(folder, session_cells, matrix.quiet))))
        unreachable: tuple[str, ...] = ()
        due = tuple(trial for trial in trials if trial.cell.pairing not in possible.lacking)
        if possible.sentence:
            progress.warn([possible.sentence])
        if due:
            measured_count = sum(counts(folder, possible.cells).values()) - len(due)
            folder.note(NOTE, **data_of(options, folder.path))
            progress.begin(folder.path, due, measured_count=measured_count, matrix=matrix)
            try:
                request = _Wanted(session_cells, trials, redo, agents)
                unreachable = _measure(options, matrix, inventory, request, folder, progress)
            except ClusterLost as lost:
                sentence = f"{lost}; to resume: {resume_command(folder.path)}"
                raise ClusterLost(sentence) from None
            except (HostError, LockedError, UsageError):
                folder.discard_if_unused()
                raise
            except Interrupted as signal:
                progress.warn(_make_segments(into))
                sentence = f"{signal}; to resume: {resume_command(folder.path)}"
                raise Interrupted(signal.signal_number, sentence) from None
        state = counts(folder, session_cells)
        unreachable_hosts = unreachable if state.get("pending") else ()
        outcome = Outcome(folder.path, state, unreachable_hosts, resume_command(folder.path))
    progress.warn(_make_segments(into))
    return outcome


def _make_segments(folder: Path) -> list[str]:
    """Have segments made of a long journal; a sentence if that fails. The run has ended by then,
    and its journal is complete.
    """
    try:
        start_if_due(folder)
    except Exception as error:
        return [f"{folder}: no segments were made of the journal, which is complete: {error}"]
    return []


def _chosen(options: Options, cells: tuple[Cell, ...]) -> tuple[Cell, ...]:
    """The cells of this session; UsageError for a word that matches no cell."""
    if not options.nothing_else:
        session_cells = chosen_of(cells, options.only)
        check_redo(options.redo, session_cells)
        return session_cells
    # The words of --redo name the cells, so --only of an earlier session has no effect.
    redo = redo_of(options.redo, cells, {})
    if not redo:
        raise UsageError(
            "--redo selects no cell: `netlab resume` without --redo repeats failed trials"
        )
    return tuple(cell for cell in cells if cell.key in redo)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The work of one session."""

    cells: tuple[Cell, ...]
    """The chosen cells of the matrix."""
    trials: tuple[Trial, ...]
    redo: frozenset[str]
    """Keys of cells that are measured again, whether or not they have results."""
    agents: AgentGroup | None


def _measure(
    options: Options,
    matrix: Matrix,
    inventory: Inventory,
    work: _Wanted,
    folder: RunFolder,
    progress: Progress,
) -> tuple[str, ...]:
    """Measure one session with its hosts. Returns a sentence for each host that is away at the end
    of the session.
    """
    pairings = tuple(dict.fromkeys(trial.cell.pairing for trial in work.trials))
    with (
        switching_seldom(len(inventory.hosts)),
        trial_place(options.cluster, insecure=options.insecure, group=work.agents) as place,
        _pool(options, inventory, pairings, folder, progress, place) as pool,
    ):
        if options.strict and pool.missing:
            raise HostError("--strict: " + "; ".join(pool.missing))
        _note_session(folder, options, matrix, pool)
        pool.leftovers.note(folder)
        progress.measures_here = pool.measures_here
        progress.warn(pool.warnings)
        noted = set(pool.host_descriptions())

        def note_new_hosts() -> None:
            if not noted.issuperset(pool.host_descriptions()):
                noted.update(pool.host_descriptions())
                progress.measures_here = pool.measures_here
                _note_session(folder, options, matrix, pool)

        segments = BackgroundSegments(folder.path)

        def note_record() -> None:
            if not progress.measures_here:  # else a process beside the trials would disturb them
                segments.on_record()

        pool.note_facts(folder, "before")
        pool.note_routes(folder)
        progress.impossible(pool.refusals(dict.fromkeys(trial.cell for trial in work.trials)))
        session = Session(
            folder=folder,
            pool=pool,
            matrix=matrix,
            progress=progress,
            cells=work.cells,
            redo=work.redo,
            retries=options.retries,
            patience_s=options.patience_s,
            on_hosts=note_new_hosts,
            on_record=note_record,
            place=place,
            states=SessionStates(matrix.variants),
        )
        session.measure()
        session.flag()
        pool.note_facts(folder, "after")
        with shielded():
            folder.note("session-end")
        return pool.unreachable


def _pool(
    options: Options,
    inventory: Inventory,
    pairings: tuple[str, ...],
    folder: RunFolder,
    progress: Progress,
    place: TrialPlace,
) -> HostPool:
    """The hosts of a session, not connected yet."""
    place.arrange(pair for pairing in pairings for pair in inventory.candidates(pairing)[:1])
    return HostPool(
        inventory,
        pairings,
        owner=_owner(folder),
        wait_s=options.wait_s,
        keep=lambda error, name: keep_traceback(error, folder.path, name),
        notify=progress.notify,
        place=place,
    )


def _owner(folder: RunFolder) -> LockOwner:
    """The owner of the host locks: this run, named by the id in the first line of its journal."""
    ids = (note.data.get("run") for note in folder.notes if note.kind == "journal")
    return LockOwner(str(next(ids, "")), secrets.token_hex(4), str(folder.path))


def plan_of(matrix: Matrix, cells: tuple[Cell, ...]) -> Plan:
    """The plan of a run folder: the cells of a matrix and how often each is measured."""
    return Plan(
        title=matrix.title,
        content=matrix.content,
        content_hash=matrix.content_hash,
        matrix_text=matrix.text,
        link=matrix.link,
        cells=tuple(_planned(matrix, cell) for cell in cells),
        repeats=matrix.repeats,
        until=matrix.until,
        target=matrix.target,
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


def _new_folder(matrix: Path) -> Path:
    """The name of a folder that does not exist yet, even if another run began this second."""
    name = f"{matrix.stem}-{time.strftime('%Y%m%d-%H%M%S')}"
    folder, number = Path("runs") / name, 1
    while folder.exists():
        number += 1
        folder = Path("runs") / f"{name}-{number}"
    return folder


def _note_session(folder: RunFolder, options: Options, matrix: Matrix, pool: HostPool) -> None:
    with shielded():
        folder.note(
            "session",
            netlab=VERSION,
            overrides=dict(options.overrides),
            only=list(options.only),
            order=matrix.order,
            seed=matrix.seed,
            pause_s=matrix.pause_s,
            quiet=matrix.quiet and asdict(matrix.quiet),
            hosts=pool.host_descriptions(),
        )
