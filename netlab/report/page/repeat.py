"""The command that measures one cell of a run again, as words of a shell with places in them. Pure.

The page's script knows the folder, which is where the page was opened from, and quotes each word.
"""

from __future__ import annotations

from netlab.results.run import Run

FOLDER, KEY = "{folder}", "{key}"
"""What the script puts the run's folder and the cell's key for."""
INVENTORY = "HOSTS.yaml"
"""Stands for an inventory that the run does not name."""


def repeat_words(run: Run) -> tuple[str, ...]:
    """Words of the command; empty where a run was imported: nothing of it can be measured again.

    A run that notes what it was asked is resumed; an older one is told all that its last session
    was asked, but for the inventory, which it did not note.
    """
    plan = run.plan
    if plan.source is not None or not plan.matrix_text:
        return ()
    again = ("--redo", KEY)
    if any(note.kind == "asked" for note in run.stored.notes):
        return ("netlab", "resume", FOLDER, *again)
    overrides = run.sessions[-1].get("overrides") if run.sessions else None
    told = overrides.items() if isinstance(overrides, dict) else ()
    return (
        *("netlab", "run", f"{FOLDER}/matrix.yaml", "--hosts", INVENTORY, "--into", FOLDER),
        *(word for name, value in told for word in ("--set", f"{name}={value}")),
        *again,
    )
