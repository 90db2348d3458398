"""What is said of a session's cells at its end: disturbed, interrupted, or never tight."""

from __future__ import annotations

from collections.abc import Iterable

from netlab.experiment.cells import Cell
from netlab.experiment.interruptions import interruptions
from netlab.experiment.stopping import StealRule
from netlab.runner.due_trials import recorded_trials
from netlab.runner.ending import shielded
from netlab.runner.measured_again import in_which_data_stopped
from netlab.runner.progress import Progress
from netlab.store.run_folder import RunFolder
from netlab.units import format_share

NOT_TIGHT = "not-tight"
"""Kind of the note about a cell that had all its trials and never got tight."""


def flag(
    folder: RunFolder, cells: tuple[Cell, ...], quiet: StealRule | None, progress: Progress
) -> None:
    """Say in which trials data stopped, which stayed disturbed and which cells never got tight;
    these once.
    """
    if quiet is not None:
        stayed = recorded_trials(folder, cells, quiet.is_disturbed)
        if stayed:
            progress.warn([f"in all of their tries {quiet.disturbed(len(stayed))}"])
    stand = recorded_trials(folder, cells, lambda each: any(interruptions(each)))
    if stand:
        progress.warn([f"{in_which_data_stopped(len(stand))}: see the findings"])
    progress.warn(_not_tight(folder, cells))


def _not_tight(folder: RunFolder, cells: tuple[Cell, ...]) -> Iterable[str]:
    until = folder.plan.until
    noted = {note.data.get("cell") for note in folder.notes if note.kind == NOT_TIGHT}
    flagged = {cell.key for cell in cells} - noted
    found = [
        (cell.key, progress.trials)
        for cell in folder.plan.cells
        if cell.key in flagged and (progress := folder.progress(cell)).precise is False
    ]
    if until is None or not found:
        return ()
    for key, trials in found:
        with shielded():
            folder.note(
                NOT_TIGHT,
                durable=False,
                cell=key,
                trials=trials,
                within=until.within,
                confidence=until.confidence,
            )
    named = found[0][0] if len(found) == 1 else f"{found[0][0]} and {len(found) - 1} more"
    return (f"not within ± {format_share(until.within)} after {until.at_most} trials: {named}",)
