"""The trials of a run that are due, that are measured again, or that run one search together.

A cell is one combination of a pairing (two hosts), a kind of test and its settings. A trial is one
execution of a cell, and its record is the stored result or failure. A round is the trials that run
at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from netlab.experiment.cells import Cell
from netlab.experiment.kinds import TestSettings
from netlab.experiment.matrix import Matrix, StealRule
from netlab.experiment.records import Record
from netlab.experiment.schedule import Trial, is_together
from netlab.measurement.rendezvous import Participant, Rendezvous
from netlab.runner.measured_again import RepeatRule
from netlab.runner.options import Options
from netlab.runner.planning.choice import redo_of
from netlab.store.run_folder import RunFolder


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
    """The trials of ``cells`` that must still be measured, according to the records.

    ``redo``: keys of cells whose trials are all measured again.
    """
    by_key = {cell.key: cell for cell in cells}
    return tuple(
        Trial(by_key[key], number) for key, number in folder.outstanding(redo) if key in by_key
    )


def disturbed(
    folder: RunFolder, cells: tuple[Cell, ...], quiet: StealRule | None
) -> tuple[Trial, ...]:
    """The measured trials of ``cells`` that were disturbed or interrupted and may be tried again.

    A trial is disturbed if a hypervisor took more CPU time from a host than ``quiet`` allows, and
    interrupted if its data stopped. Every attempt that began counts toward the maximum number of
    attempts, including an attempt without a result, which leaves no record.
    """
    again = RepeatRule(quiet)

    def asks(record: Record) -> bool:
        attempts = folder.next_attempt(record.cell, record.trial) - 1
        return again.asks(replace(record, attempt=attempts))

    return recorded_trials(folder, cells, asks, None if quiet is None else quiet.steal)


def recorded_trials(
    folder: RunFolder,
    cells: tuple[Cell, ...],
    is_meant: Callable[[Record], bool],
    most_steal: float | None,
) -> tuple[Trial, ...]:
    """The trials of ``cells`` for whose latest record ``is_meant`` returns true.

    ``is_meant`` asks for trials in which data stopped, or in which a hypervisor took a larger share
    of a host's CPU time than ``most_steal`` (``None``: any share is allowed).
    """
    by_key = {cell.key: cell for cell in cells}
    return tuple(
        Trial(by_key[key], number)
        for key, number in folder.doubtful(most_steal)
        if key in by_key and is_meant(folder.latest[key, number])
    )


def counts(folder: RunFolder, cells: tuple[Cell, ...]) -> dict[str, int]:
    """Number of trials of ``cells`` by status; those not measured yet are pending."""
    counted = folder.counts({cell.key for cell in cells})
    return {str(status): count for status, count in counted.items()}


def participants_of(trials: Sequence[Trial]) -> dict[Trial, Participant]:
    """Trial → its participant in a search that several pairs of hosts run together.

    ``trials``: the trials of one round. Trials run one search together if their settings require a
    common search (``is_together``) and are equal. Other trials have no participant.
    """
    groups: dict[TestSettings, list[Trial]] = {}
    for trial in trials:
        if is_together(trial.cell.setup):
            groups.setdefault(trial.cell.setup, []).append(trial)
    participants: dict[Trial, Participant] = {}
    for group in groups.values():
        rendezvous = Rendezvous(trial.cell.pairing for trial in group)
        participants |= {trial: rendezvous.participant(trial.cell.pairing) for trial in group}
    return participants
