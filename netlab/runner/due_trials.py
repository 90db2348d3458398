"""The trials of a run that are due or measured again, and the warnings about doubtful ones.

A trial is disturbed if a hypervisor took CPU time from a host (`quiet` of the matrix can ask for a
repeat), and interrupted if its data stopped (repeated if a host or a cable is the proven cause).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace

from netlab.experiment.cells import Cell
from netlab.experiment.matrix import Matrix, StealRule
from netlab.experiment.schedule import Trial
from netlab.kinds import Setup
from netlab.measurement.ends import Participant, Rendezvous
from netlab.runner.ending import shielded
from netlab.runner.options import Options, redo_of
from netlab.runner.progress import Progress
from netlab.store.run_folder import RunFolder
from netlab.trial.interruptions import asks_again, interruptions
from netlab.trial.record import Record
from netlab.units import format_share, many

DISTURBED = "disturbed"
"""Kind of the note about a trial that is repeated because a host lost CPU time."""

INTERRUPTED = "interrupted"
"""Kind of the note about a trial that is repeated because a host or a cable stopped its data."""

NOT_TIGHT = "not-tight"
"""Kind of the note about a cell whose mean is not precise after the maximum number of trials."""


def note_repeats(
    folder: RunFolder, records: Iterable[Record], quiet: StealRule | None
) -> list[str]:
    """Note why each record's trial is repeated; returns the reasons of all, in words."""
    stolen = stopped = 0
    for record in records:
        trial = {"cell": record.cell, "trial": record.trial, "attempt": record.attempt}
        if quiet is not None and quiet.asks_again(record):
            stolen += 1
            folder.note(DISTURBED, durable=False, **trial, **asdict(quiet))
        if not asks_again(record):
            continue
        stopped += 1
        for it in interruptions(record):
            cause = it.cause and it.cause.value
            seen = {"cause": cause, "end": it.end, "stopped_ns": it.stopped_ns}
            folder.note(INTERRUPTED, durable=False, **trial, **seen)
    reasons = [quiet.disturbed(stolen)] if quiet is not None and stolen else []
    return reasons + ([f"{many(stopped, 'trial')} in which data stopped"] if stopped else [])


@dataclass(frozen=True, slots=True)
class Work:
    """The work of one session."""

    cells: tuple[Cell, ...]
    """The cells of the matrix that the options choose."""
    trials: tuple[Trial, ...]
    """The trials of these cells that are due when the session begins."""
    redo: frozenset[str]
    """Keys of cells that are measured again, whether or not they have results."""


def work_of(folder: RunFolder, cells: tuple[Cell, ...], options: Options, matrix: Matrix) -> Work:
    """The work that is left of ``cells``, according to the records."""
    redo = redo_of(options.redo, cells, folder.latest)
    trials = (*outstanding(folder, cells, redo), *disturbed(folder, cells, matrix.quiet))
    return Work(cells, tuple(dict.fromkeys(trials)), redo)


def outstanding(
    folder: RunFolder, cells: tuple[Cell, ...], redo: frozenset[str]
) -> tuple[Trial, ...]:
    """The trials of ``cells`` that must still be measured; of the cells in ``redo`` (keys), all."""
    return _trials_of(cells, folder.outstanding(redo))


def _trials_of(cells: tuple[Cell, ...], pairs: Iterable[tuple[str, int]]) -> tuple[Trial, ...]:
    """``pairs``: key of a cell, which may be another one, and the number of a trial."""
    by_key = {cell.key: cell for cell in cells}
    return tuple(Trial(by_key[key], number) for key, number in pairs if key in by_key)


def disturbed(
    folder: RunFolder, cells: tuple[Cell, ...], quiet: StealRule | None
) -> tuple[Trial, ...]:
    """The measured trials of ``cells`` that were disturbed or interrupted and may be tried again.
    Every attempt that began counts, also one that left no record.
    """

    def asks(record: Record) -> bool:
        attempts = folder.next_attempt(record.cell, record.trial) - 1
        latest = replace(record, attempt=attempts)
        return asks_again(latest) or (quiet is not None and quiet.asks_again(latest))

    return recorded_trials(folder, cells, asks, None if quiet is None else quiet.steal)


def recorded_trials(
    folder: RunFolder,
    cells: tuple[Cell, ...],
    is_meant: Callable[[Record], bool],
    most_steal: float | None,
) -> tuple[Trial, ...]:
    """The trials of ``cells`` for whose latest record ``is_meant`` is true: those in which data
    stopped, or a hypervisor took a larger share of a host's CPU time than ``most_steal`` (``None``:
    any).
    """
    doubtful = _trials_of(cells, folder.doubtful(most_steal))
    return tuple(
        trial for trial in doubtful if is_meant(folder.latest[trial.cell.key, trial.number])
    )


def counts(folder: RunFolder, cells: tuple[Cell, ...]) -> dict[str, int]:
    """Number of trials of ``cells`` by status; those not measured yet are pending."""
    counted = folder.counts({cell.key for cell in cells})
    return {str(status): count for status, count in counted.items()}


def participants_of(trials: Sequence[Trial]) -> dict[Trial, Participant]:
    """Trial → its participant in a search of several pairs: trials with equal such settings."""
    groups: dict[Setup, list[Trial]] = {}
    for trial in trials:
        if trial.cell.setup.is_together:
            groups.setdefault(trial.cell.setup, []).append(trial)
    participants: dict[Trial, Participant] = {}
    for group in groups.values():
        rendezvous = Rendezvous(trial.cell.pairing for trial in group)
        participants |= {trial: rendezvous.participant(trial.cell.pairing) for trial in group}
    return participants


def flag(
    folder: RunFolder, cells: tuple[Cell, ...], steal_rule: StealRule | None, progress: Progress
) -> None:
    """Warn about trials in which data stopped; about trials in which a hypervisor took CPU time in
    every attempt; and, once for each cell, about cells whose mean did not become precise.
    """
    if steal_rule is not None:
        stayed = recorded_trials(folder, cells, steal_rule.is_disturbed, steal_rule.steal)
        if stayed:
            progress.warn([f"{steal_rule.disturbed(len(stayed))}, in every attempt"])
    stopped_trials = recorded_trials(folder, cells, lambda record: any(interruptions(record)), None)
    if stopped_trials:
        stopped = many(len(stopped_trials), "trial")
        progress.warn([f"{stopped} in which data stopped: see the findings"])
    rule = folder.plan.until
    noted = {note.data.get("cell") for note in folder.notes if note.kind == NOT_TIGHT}
    to_note = {cell.key for cell in cells} - noted
    imprecise = [
        (cell.key, reached.trials)
        for cell in folder.plan.cells
        if cell.key in to_note and (reached := folder.progress(cell)).precise is False
    ]
    if rule is None or not imprecise:
        return
    limits = {"within": rule.within, "confidence": rule.confidence}
    for key, trials in imprecise:
        with shielded():
            folder.note(NOT_TIGHT, durable=False, cell=key, trials=trials, **limits)
    width, more = format_share(rule.within), len(imprecise) - 1
    cell_words = f"{imprecise[0][0]} and {more} more" if more else imprecise[0][0]
    sentence = f"the mean is not within ± {width} after {rule.at_most} trials: {cell_words}"
    progress.warn([sentence])
