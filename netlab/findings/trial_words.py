"""The trials in which something was seen, as keys, as a number and in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from netlab.findings.finding import Finding
from netlab.findings.sample import StreamSample
from netlab.messages import _, counted


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


def trials_of(samples: Sequence[StreamSample]) -> tuple[tuple[str, int], ...]:
    """(cell, trial) of each sample, once."""
    return tuple(dict.fromkeys((sample.cell, sample.trial) for sample in samples))


def trial_count_words(
    samples: Sequence[StreamSample], all_samples: Sequence[StreamSample]
) -> dict[str, str]:
    """The word ``in_trials`` of a finding: a text with the number of the cells' trials that are in
    ``samples``. Empty if all of them are.
    """
    if len(samples) == len(all_samples):
        return {}
    if len(samples) == 1 and len({sample.cell for sample in all_samples}) == 1:
        (only,) = samples
        word = _("in trial {trial} of {trials}", trial=only.trial, trials=len(all_samples))
        return {"in_trials": word}
    return in_trials(len(samples), len(all_samples))


def cells_mostly(findings: Iterable[Finding], samples: Iterable[StreamSample]) -> frozenset[str]:
    """The cells of which more than half of the trials belong to one of the findings."""
    finding_trials = {trial for finding in findings for trial in finding.trials}
    all_trials = {(sample.cell, sample.trial) for sample in samples}
    of_cells = Counter(cell for cell, _trial in all_trials)
    shown_trials = Counter(cell for cell, trial in finding_trials if (cell, trial) in all_trials)
    return frozenset(cell for cell, number in shown_trials.items() if 2 * number > of_cells[cell])
