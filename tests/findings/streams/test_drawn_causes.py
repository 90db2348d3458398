"""Random runs with a known cause: the findings are right, and seldom missing."""

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
    return [finding for finding in limits(run.samples) if finding.severity == "warning"]


@pytest.mark.parametrize("draw", CAUSES, ids=lambda draw: draw(Random(0)).cause)  # noqa: S311
def test_the_cause_is_named_and_no_other(draw: Callable[[Random], DrawnRun]) -> None:
    said: Counter[str] = Counter()
    for seed in range(RUNS):
        run = draw(Random(seed))  # noqa: S311  (can be repeated)
        found = warnings_of(run)
        wrong = [finding for finding in found if finding.kind not in run.right]
        said["wrong"] += bool(wrong)
        said["right"] += bool(run.right) and bool(found) and not wrong
        said["missed"] += bool(run.right) and not found
        if found and not wrong and run.trials:
            seen = {trial for finding in found for trial in finding.trials}
            said["of other trials"] += len(seen) != run.trials
    assert said["wrong"] <= 0, said
    assert said["missed"] <= RUNS // 20, said
    assert said["of other trials"] <= RUNS // 10, said
