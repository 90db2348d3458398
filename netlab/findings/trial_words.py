"""Text about the number of trials in which something was seen."""

from __future__ import annotations

from netlab.messages import counted


def in_trials(count: int, number: int) -> dict[str, str]:
    """The word ``in_trials`` of a finding: a text such as "in 2 of 5 trials". Empty if there is
    only one trial.
    """
    if number < 2:
        return {}
    return {
        "in_trials": counted(
            "in {those} of {number} trial", "in {those} of {number} trials", number, those=count
        )
    }
