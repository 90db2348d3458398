"""Warnings about cells at the end of a session: disturbed, interrupted, or not precise enough.

A cell is one combination of a pairing (two hosts), a kind of test and its settings; its trials are
its repeated measurements. A trial is disturbed if a hypervisor took CPU time from a host, and
interrupted if its data stopped. A session is one call of `netlab run` or `netlab resume`.
"""

from __future__ import annotations

from collections.abc import Iterable

from netlab.experiment.cells import Cell
from netlab.experiment.interruptions import interruptions
from netlab.experiment.matrix import StealRule
from netlab.runner.due_trials import recorded_trials
from netlab.runner.ending import shielded
from netlab.runner.measured_again import in_which_data_stopped
from netlab.runner.progress import Progress
from netlab.store.run_folder import RunFolder
from netlab.units import format_share

NOT_TIGHT = "not-tight"
"""Kind of the note about a cell whose mean is not precise after the maximum number of trials."""


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
        progress.warn([f"{in_which_data_stopped(len(stopped_trials))}: see the findings"])
    progress.warn(_imprecise(folder, cells))


def _imprecise(folder: RunFolder, cells: tuple[Cell, ...]) -> Iterable[str]:
    rule = folder.plan.until
    noted = {note.data.get("cell") for note in folder.notes if note.kind == NOT_TIGHT}
    to_note = {cell.key for cell in cells} - noted
    imprecise = [
        (cell.key, progress.trials)
        for cell in folder.plan.cells
        if cell.key in to_note and (progress := folder.progress(cell)).precise is False
    ]
    if rule is None or not imprecise:
        return ()
    for key, trials in imprecise:
        with shielded():
            folder.note(
                NOT_TIGHT,
                durable=False,
                cell=key,
                trials=trials,
                within=rule.within,
                confidence=rule.confidence,
            )
    cell_words = (
        imprecise[0][0]
        if len(imprecise) == 1
        else f"{imprecise[0][0]} and {len(imprecise) - 1} more"
    )
    width = format_share(rule.within)
    return (f"the mean is not within ± {width} after {rule.at_most} trials: {cell_words}",)
