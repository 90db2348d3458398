"""In how many trials something was seen, in words. Pure."""

from __future__ import annotations

from netlab.messages import counted


def in_trials(those: int, number: int) -> dict[str, str]:
    """In how many trials of a cell, in words; of a cell with one trial there is nothing to say."""
    if number < 2:
        return {}
    return {
        "in_trials": counted(
            "in {those} of {number} trial", "in {those} of {number} trials", number, those=those
        )
    }
