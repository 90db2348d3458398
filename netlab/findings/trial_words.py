"""Text about the number of trials in which something was seen. Pure."""

from __future__ import annotations

from netlab.messages import counted


def in_trials(count: int, number: int) -> dict[str, str]:
    """The word ``in_trials``: the number of affected trials of a cell; empty if the cell has one
    trial.
    """
    if number < 2:
        return {}
    return {
        "in_trials": counted(
            "in {those} of {number} trial", "in {those} of {number} trials", number, those=count
        )
    }
