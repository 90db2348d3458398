"""A rate search finds the highest rate of a device, whatever device and tester do."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.kinds.throughput_search.rate_search import (
    CONFIRMATIONS,
    Counts,
    Criteria,
    NextRate,
    RateGrid,
    RateTry,
    Search,
    SearchResult,
    TryVerdict,
    forwarded_share,
    judge,
)
from netlab.measurement.throughput_search import longest

LINE_PER_S = 100_000.0
Device = Callable[[float, float], Counts]
"""(share of the line rate, length in s) → what both ends count of a trial."""


def searched(
    device: Device,
    *,
    resolution: Fraction = Fraction(1, 200),
    full_s: float = 10.0,
    short_s: float | None = None,
    most_tries: int = 3000,
) -> tuple[SearchResult, Search]:
    """A search to its end, over a simulated device."""
    search = Search.over(RateGrid(resolution), short=short_s is not None)
    while isinstance(step := search.next(), NextRate):
        assert len(search.tries) < most_tries
        duration_s = full_s if step.full or short_s is None else short_s
        share = float(search.grid.share(step.number))
        counts = device(share, duration_s)
        criteria = Criteria(share * LINE_PER_S, LINE_PER_S, float(resolution), duration_s)
        verdict = judge([counts], criteria)
        hint = forwarded_share([counts], criteria)
        search = search.after(RateTry(step.number, step.full, verdict, hint))
    return step, search


def device(limit: float, queue_frames: int = 0, own_drops: int = 0, sends: float = 1.0) -> Device:
    """Forwards a share of the line rate, the rest waits in a queue of so many frames, then is lost.

    ``sends``: the share of the line rate that the tester can send.
    """

    def trial(share: float, duration_s: float) -> Counts:
        offered_share = min(share, sends)
        sent_frames = round(offered_share * LINE_PER_S * duration_s)
        waits = max(0.0, (offered_share - limit) * LINE_PER_S * duration_s)
        received = (
            sent_frames if waits <= queue_frames else sent_frames - round(waits - queue_frames)
        )
        queued_s = min(waits, queue_frames) / (limit * LINE_PER_S) if waits else 0.0
        span_ns = round(1e9 * duration_s)
        return Counts(sent_frames, received, span_ns, span_ns + round(1e9 * queued_s), own_drops)

    return trial


LIMITS = st.fractions(Fraction(1, 100), 1).map(float)
RESOLUTIONS = st.sampled_from(
    [Fraction(1, 1000), Fraction(1, 200), Fraction(1, 100), Fraction(3, 100)]
)


@given(limit=LIMITS, resolution=RESOLUTIONS, queue=st.sampled_from([0, 10, 300, 1000]))
def test_the_limit_of_a_device_is_found_within_a_step_whatever_its_queue(
    limit: float, resolution: Fraction, queue: int
) -> None:
    result, search = searched(device(limit, queue), resolution=resolution, full_s=60.0)
    step = float(resolution)
    if limit < step * 0.9:
        assert result.number is None
        return
    share = float(search.grid.share(result.number)) if result.number else 0.0
    # What the queue may hold without a trial being absorbed is half a step.
    assert limit - step - 1e-9 <= share <= limit + step / 2 * (1 + limit) + 1e-3 * step
    assert result.limit == ("device" if result.upper is not None else "line rate")
    assert (result.upper is None) == (result.number == search.grid.size)
    assert result.monotone


def test_the_queue_of_a_device_is_not_taken_for_throughput_however_short_the_trials() -> None:
    """1000 frames of queue carry a 1-s trial of 100,000 frames/s one step beyond the limit."""
    for full_s in (0.2, 1.0, 10.0):
        result, search = searched(device(0.4, 1000), full_s=full_s)
        assert float(search.grid.share(result.number or 1)) == pytest.approx(0.4, abs=0.0051)
        assert {attempt.verdict for attempt in search.tries} <= {"passed", "lost", "absorbed"}
    verdicts = {attempt.verdict for attempt in searched(device(0.4, 100_000), full_s=1.0)[1].tries}
    assert "absorbed" in verdicts
    assert "lost" not in verdicts


def test_a_rate_search_tries_and_confirms_the_line_rate_first() -> None:
    result, search = searched(device(1.0))
    assert result == SearchResult(200, None, "line rate", True)
    assert [(attempt.number, attempt.verdict) for attempt in search.tries] == [(200, "passed")] * 2


def test_a_rate_search_uses_the_forwarded_share_to_find_the_limit_in_at_most_eight_tries() -> None:
    _, search = searched(device(0.4))
    assert len(search.tries) <= 8
    numbers = [attempt.number for attempt in search.tries]
    assert numbers[:2] == [200, 200]
    assert {80, 81} <= set(numbers[2:])


def test_a_rate_fails_with_two_failed_tries_of_three_and_not_with_one() -> None:
    def told(verdicts: list[TryVerdict]) -> Search:
        search = Search.over(RateGrid(Fraction(1, 2)))
        for verdict in verdicts:
            step = search.next()
            assert isinstance(step, NextRate)
            search = search.after(RateTry(step.number, step.full, verdict))
        return search

    assert told(["lost"]).next() == NextRate(2, True)
    assert told(["lost", "passed"]).next() == NextRate(2, True)
    assert told(["lost", "passed", "lost"]).next() == NextRate(1, True)
    assert told(["lost", "passed", "passed"]).next() == SearchResult(2, None, "line rate", True)
    assert told(["absorbed", "lost"]).next() == NextRate(1, True)
    assert told(["passed", "lost", "passed"]).next() == SearchResult(2, None, "line rate", True)


def test_a_rate_search_goes_one_step_down_after_a_failed_confirmation() -> None:
    """Rates above 30 % pass short trials and fail at full length."""

    def tiring(share: float, duration_s: float) -> Counts:
        return device(0.5 if duration_s < 5 else 0.3)(share, duration_s)

    result, search = searched(tiring, resolution=Fraction(1, 20), full_s=10.0, short_s=1.0)
    assert (result.number, result.upper, result.limit) == (6, 7, "device")
    assert [e.number for e in search.tries if e.full] == [10, 10, 9, 9, 8, 8, 7, 7, 6, 6]
    assert result.monotone  # a short trial that passes above says nothing


@given(seed=st.integers(0, 10**6), loses=st.sampled_from([0.02, 0.2, 0.5]))
def test_a_search_over_a_noisy_device_ends_at_a_rate_that_passed_twice_at_full_length(
    seed: int, loses: float
) -> None:
    """Any trial may lose frames, whatever the rate."""
    dice = random.Random(seed)  # noqa: S311  (a device, not a secret)

    def noisy(share: float, duration_s: float) -> Counts:
        counts = device(0.6)(share, duration_s)
        if dice.random() > loses:
            return counts
        return Counts(counts.sent, counts.received - 7, counts.sent_span_ns, counts.sent_span_ns)

    result, search = searched(noisy, resolution=Fraction(1, 100))
    passed = [t for t in search.tries if t.verdict == "passed"]
    if result.number is None:
        return
    assert sum(t.number == result.number and t.full for t in passed) >= CONFIRMATIONS
    assert result.number <= 60
    failed = [t for t in search.tries if t.verdict != "passed"]
    if result.upper is not None:
        assert sum(t.number == result.upper for t in failed) >= 2
    surprising = any(t.number > result.number for t in passed)
    surprising |= any(t.number < result.number for t in failed)
    assert result.monotone is not surprising


@given(sends=st.floats(0.05, 0.95))
def test_a_slow_sender_is_not_taken_for_the_limit_of_the_device(sends: float) -> None:
    result, search = searched(device(1.0, sends=sends), resolution=Fraction(1, 100))
    assert result.limit == "generator-bound"
    assert result.number is not None
    assert float(search.grid.share(result.number)) == pytest.approx(sends, abs=0.0151)
    assert result.upper is not None


def test_the_limit_of_a_device_with_a_long_queue_is_found_below_the_rate_of_a_slow_sender() -> None:
    criteria = Criteria(100_000, 100_000, 0.01, 1.0)
    slow = Counts(70_000, 70_000, 10**9, 15 * 10**8)
    assert judge([slow], criteria) == "generator-bound"
    result, _ = searched(device(0.4, queue_frames=10**7, sends=0.7))
    assert result.limit == "device"
    assert result.number in (80, 81)


def test_a_device_that_loses_frames_of_a_slow_sender_is_the_limit() -> None:
    result, _ = searched(device(0.4, sends=0.7))
    assert (result.number, result.limit) == (80, "device")


def test_frames_dropped_by_the_receiving_host_are_not_charged_to_the_device() -> None:
    """Above 30 % the receiver's socket overflows, and counts what it drops."""

    def trial(share: float, duration_s: float) -> Counts:
        counts = device(1.0)(share, duration_s)
        losses = round(max(0.0, share - 0.3) * counts.sent)
        return Counts(
            counts.sent, counts.sent - losses, counts.sent_span_ns, counts.sent_span_ns, losses
        )

    result, search = searched(trial)
    assert (result.number, result.upper, result.limit) == (60, 61, "receiver-bound")
    assert sum(t.number == 61 and t.verdict == "tester-loss" for t in search.tries) == 3


def test_drops_of_the_measuring_hosts_excuse_the_device_only_if_they_cover_the_whole_loss() -> None:
    criteria = Criteria(50_000, 100_000, 0.01, 1.0)
    span_ns = 10**9
    assert judge([Counts(50_000, 49_990, span_ns, span_ns, 9)], criteria) == "lost"
    assert judge([Counts(50_000, 49_990, span_ns, span_ns, 10)], criteria) == "tester-loss"
    assert judge([Counts(50_000, 50_000, span_ns, span_ns, 10)], criteria) == "passed"


def test_a_device_that_fails_at_the_lowest_rate_has_no_rate() -> None:
    result, _ = searched(device(0.0001), resolution=Fraction(1, 10))
    assert (result.number, result.upper, result.limit) == (None, 1, "device")


def test_the_worst_direction_decides_a_verdict_and_device_faults_rank_above_tester_faults() -> None:
    criteria = Criteria(50_000, 100_000, 0.01, 1.0)
    span_ns = 10**9
    fine = Counts(50_000, 50_000, span_ns, span_ns)
    loss_counts = Counts(50_000, 49_000, span_ns, span_ns)
    ours = Counts(50_000, 49_000, span_ns, span_ns, 1000)
    slow = Counts(40_000, 40_000, span_ns, span_ns)
    queued = Counts(50_000, 50_000, span_ns, round(1.01 * span_ns))
    assert judge([fine, fine], criteria) == "passed"
    assert judge([fine, slow], criteria) == "generator-bound"
    assert judge([ours, slow], criteria) == "tester-loss"
    assert judge([ours, queued], criteria) == "absorbed"
    assert judge([queued, loss_counts], criteria) == "lost"
    assert forwarded_share([fine, slow], criteria) == pytest.approx(0.4, rel=1e-3)


def test_frames_sent_faster_than_the_line_rate_are_no_queue_of_the_device() -> None:
    """10,000 frames at 100,000 a second take 0.1 s; the sender's own queue took them in 0.08."""
    criteria = Criteria(100_000, 100_000, 0.01, 0.1)
    counts = Counts(10_000, 10_000, 80_000_000, 100_000_000)
    assert counts.queue_ns(100_000) == pytest.approx(0, abs=20_000)
    assert judge([counts], criteria) == "passed"
    assert judge([Counts(10_000, 10_000, 80_000_000, 101_000_000)], criteria) == "absorbed"


def test_a_trial_passes_with_the_acceptable_loss_and_fails_with_one_frame_more() -> None:
    criteria = Criteria(50_000, 100_000, 0.01, 1.0, acceptable_loss=0.001)
    span_ns = 10**9
    assert judge([Counts(50_000, 49_950, span_ns, span_ns)], criteria) == "passed"
    assert judge([Counts(50_000, 49_949, span_ns, span_ns)], criteria) == "lost"


def test_the_grid_of_rates_ends_at_the_line_rate() -> None:
    grid = RateGrid(Fraction(3, 100))
    assert grid.size == 34
    assert [grid.share(number) for number in (1, 33, 34)] == [
        Fraction(3, 100),
        Fraction(99, 100),
        1,
    ]
    assert [grid.below(share) for share in (0.0, 0.0299, 0.03, 0.989, 2.0)] == [0, 0, 1, 32, 34]


def test_a_resolution_of_the_whole_line_rate_makes_a_grid_of_one_rate() -> None:
    assert RateGrid(Fraction(1)).size == 1
    assert RateGrid(Fraction(1)).share(1) == 1


# ---- the longest burst ---------------------------------------------------------------------------


@given(
    limit=st.integers(0, 5000),
    most=st.integers(2, 5000),
    guess=st.integers(0, 5100),
    least=st.integers(2, 9),
    first=st.integers(2, 5000),
)
def test_the_longest_burst_is_found_wherever_the_search_begins(
    limit: int, most: int, guess: int, least: int, first: int
) -> None:
    first = max(first, least)
    most = max(most, first)
    bursts: list[int] = []

    def passes(frames: int) -> bool:
        bursts.append(frames)
        return frames <= limit

    burst = longest(passes, least=least, first=first, most=most, guess=guess)
    assert burst == (min(limit, most) if limit >= least else 0)
    assert all(least <= frames <= most for frames in bursts)
    assert len(bursts) == len(set(bursts)) <= 2 * most.bit_length() + 4


def test_a_burst_that_was_found_before_is_confirmed_in_two_tries() -> None:
    bursts: list[int] = []

    def passes(frames: int) -> bool:
        bursts.append(frames)
        return frames <= 33

    assert longest(passes, least=2, first=300, most=20_000, guess=33) == 33
    assert bursts == [33, 34]


def test_no_burst_shorter_than_the_first_is_sent_if_the_first_burst_passes() -> None:
    bursts: list[int] = []

    def passes(frames: int) -> bool:
        bursts.append(frames)
        return frames <= 900

    assert longest(passes, least=2, first=300, most=20_000) == 900
    assert min(bursts) == 300
