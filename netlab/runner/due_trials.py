"""Which trials of a run are due, by its records; which are measured again, and which together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from netlab.experiment.cells import Cell
from netlab.experiment.kinds import TestSettings
from netlab.experiment.records import Record, Status
from netlab.experiment.schedule import Trial, is_together
from netlab.experiment.stopping import StealRule
from netlab.measurement.rendezvous import Participant, Rendezvous
from netlab.runner.measured_again import Again
from netlab.store.run_folder import RunFolder


def outstanding(
    folder: RunFolder, cells: tuple[Cell, ...], redo: frozenset[str]
) -> tuple[Trial, ...]:
    """The trials of ``cells`` that are to be measured, as far as the records tell."""
    by_key = {cell.key: cell for cell in cells}
    return tuple(
        Trial(by_key[key], number) for key, number in folder.outstanding(redo) if key in by_key
    )


def disturbed(
    folder: RunFolder, cells: tuple[Cell, ...], quiet: StealRule | None
) -> tuple[Trial, ...]:
    """The trials of ``cells`` that were measured, disturbed or interrupted, and may be tried
    again. An attempt that came to nothing has no record, and counts.
    """
    again = Again(quiet)

    def asks(record: Record) -> bool:
        begun = folder.next_attempt(record.cell, record.trial) - 1
        return again.asks(replace(record, attempt=begun))

    return recorded_trials(folder, cells, asks)


def recorded_trials(
    folder: RunFolder, cells: tuple[Cell, ...], is_meant: Callable[[Record], bool]
) -> tuple[Trial, ...]:
    """The trials of ``cells`` whose record that counts is meant."""
    by_key = {cell.key: cell for cell in cells}
    return tuple(
        Trial(by_key[key], number)
        for (key, number), record in folder.latest.items()
        if key in by_key and is_meant(record)
    )


def counts(folder: RunFolder, cells: tuple[Cell, ...]) -> dict[str, int]:
    """The trials of ``cells`` by status; those not measured yet are pending."""
    keys = {cell.key for cell in cells}
    found: dict[str, int] = {}
    for cell in folder.plan.cells:
        if cell.key not in keys:
            continue
        for number in range(1, folder.progress(cell).trials + 1):
            record = folder.latest.get((cell.key, number))
            word = str(Status.PENDING if record is None else record.status)
            found[word] = found.get(word, 0) + 1
    return found


def teams_of(trials: Sequence[Trial]) -> dict[Trial, Participant]:
    """The places of those trials of a round that search together."""
    teams: dict[TestSettings, list[Trial]] = {}
    for trial in trials:
        if is_together(trial.cell.setup):
            teams.setdefault(trial.cell.setup, []).append(trial)
    places: dict[Trial, Participant] = {}
    for those in teams.values():
        rendezvous = Rendezvous(trial.cell.pairing for trial in those)
        places |= {trial: rendezvous.participant(trial.cell.pairing) for trial in those}
    return places
