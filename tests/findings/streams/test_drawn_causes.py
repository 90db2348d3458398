"""Of runs drawn at random whose cause is known, what is said is right, and seldom nothing is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest
from drawn_causes import CAUSES, DrawnRun

from netlab.findings.finding import Finding
from netlab.findings.streams.by_trials import limits

RUNS = 60


def warnings_of(run: DrawnRun) -> list[Finding]:
    return [each for each in limits(run.samples) if each.severity == "warning"]


@pytest.mark.parametrize("draw", CAUSES, ids=lambda draw: draw(Random(0)).cause)  # noqa: S311
def test_the_cause_is_named_and_no_other(draw: Callable[[Random], DrawnRun]) -> None:
    said: Counter[str] = Counter()
    for seed in range(RUNS):
        run = draw(Random(seed))  # noqa: S311  (can be repeated)
        found = warnings_of(run)
        wrong = [each for each in found if each.kind not in run.right]
        said["wrong"] += bool(wrong)
        said["right"] += bool(run.right) and bool(found) and not wrong
        said["missed"] += bool(run.right) and not found
        if found and not wrong and run.trials:
            seen = {trial for each in found for trial in each.trials}
            said["of other trials"] += len(seen) != run.trials
    assert said["wrong"] <= 0, said
    assert said["missed"] <= RUNS // 20, said
    assert said["of other trials"] <= RUNS // 10, said
