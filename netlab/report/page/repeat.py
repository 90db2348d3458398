"""The command that measures one cell of a run again, as shell words with placeholders. No I/O.

The page's script replaces the placeholders, because it knows the folder from which the page was
opened. The script also quotes each word. A cell is one combination of test, pairing (server and
client) and settings.
"""

from __future__ import annotations

from netlab.results.run import Run

FOLDER, KEY = "{folder}", "{key}"
"""Placeholders that the script replaces by the run's folder and the cell's key."""
INVENTORY = "HOSTS.yaml"
"""Placeholder for the inventory (the file that describes the hosts), if the run names none."""


def repeat_words(run: Run) -> tuple[str, ...]:
    """Words of the command; empty for an imported run, which cannot be measured again.

    A run that recorded its requested options is resumed. For an older run the command repeats all
    options of the last session except the inventory, which the run did not record.
    """
    plan = run.plan
    if plan.source is not None or not plan.matrix_text:
        return ()
    again = ("--redo", KEY)
    if any(note.kind == "asked" for note in run.stored.notes):
        return ("netlab", "resume", FOLDER, *again)
    overrides = run.sessions[-1].get("overrides") if run.sessions else None
    options = overrides.items() if isinstance(overrides, dict) else ()
    return (
        *("netlab", "run", f"{FOLDER}/matrix.yaml", "--hosts", INVENTORY, "--into", FOLDER),
        *(word for name, value in options for word in ("--set", f"{name}={value}")),
        *again,
    )
