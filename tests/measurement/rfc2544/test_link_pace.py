"""Two trials, and never one, decide whether the link paces a sender without a schedule."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, cast

import pytest

from netlab.kinds import ThroughputSearch
from netlab.kinds.throughput_search.rate_search import Counts
from netlab.measurement.search_trial import LineRate, OfferedLoad, PairResult, TrialRunner


def runner_of(monkeypatch: pytest.MonkeyPatch, outran: list[bool]) -> tuple[TrialRunner, list[Any]]:
    """A search whose trials outrun the line as listed, and the offered rates."""
    rates: list[float | None] = []

    def attempt(_runner: TrialRunner, load: OfferedLoad, _criteria: Any) -> tuple[PairResult, ...]:
        rates.append(load.frames_per_s)
        faster = load.frames_per_s is None and outran.pop(0)
        counts = Counts(load.frames, load.frames, 10**9, 10**9)
        return (PairResult((counts,), {}, {}, "passed", 1.0, faster, faster),)

    monkeypatch.setattr(TrialRunner, "_attempt", attempt)
    setup = ThroughputSearch(frame_bytes=64, duration_s=1.0, resolution=0.05)
    line = LineRate(10e6, "link", 14880.0)
    nothing = cast("Any", None)
    return TrialRunner(setup, nothing, nothing, nothing, line), rates


def test_one_trial_faster_than_the_line_rate_is_repeated_without_pacing_by_the_sender(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runner, rates = runner_of(monkeypatch, [True, False])
    runner.trial(Fraction(1), full=True)
    assert rates == [None, None]
    assert (runner.link_paces, runner.other_link) == (True, False)


def test_after_two_trials_faster_than_the_line_rate_the_sender_paces_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runner, rates = runner_of(monkeypatch, [True, True])
    runner.trial(Fraction(1), full=True)
    assert rates == [None, None, 14880.0]
    assert (runner.link_paces, runner.other_link) == (False, True)
