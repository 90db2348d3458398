"""In which trials a limit was seen: as keys, and in words. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from netlab.findings.finding import Finding
from netlab.findings.sample import StreamSample
from netlab.findings.trial_words import in_trials
from netlab.messages import _


def trials_of(those: Sequence[StreamSample]) -> tuple[tuple[str, int], ...]:
    """(cell, trial) of each of them, once."""
    return tuple(dict.fromkeys((each.cell, each.trial) for each in those))


def in_those_trials(those: Sequence[StreamSample], every: Sequence[StreamSample]) -> dict[str, str]:
    """The word ``in_trials``: which trials of their cells; none where it is all of them."""
    if len(those) == len(every):
        return {}
    if len(those) == 1 and len({each.cell for each in every}) == 1:
        (one,) = those
        said = _("in trial {trial} of {trials}", trial=one.trial, trials=len(every))
        return {"in_trials": said}
    return in_trials(len(those), len(every))


def cells_mostly(found: Iterable[Finding], samples: Iterable[StreamSample]) -> frozenset[str]:
    """The cells of which more than half of the trials are among those of the findings."""
    seen = {each for one in found for each in one.trials}
    every = {(each.cell, each.trial) for each in samples}
    of_cells = Counter(cell for cell, _trial in every)
    those = Counter(cell for cell, trial in seen if (cell, trial) in every)
    return frozenset(cell for cell, number in those.items() if 2 * number > of_cells[cell])
