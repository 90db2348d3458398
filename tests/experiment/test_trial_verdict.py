"""The verdict on a trial of a rate search is exact at its bounds."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.kinds.throughput_search.rate_search import (
    Counts,
    Criteria,
    TryVerdict,
    forwarded_share,
    judge,
    least,
    shared_drops,
    worst,
)

SECOND_NS = 10**9


def counted(
    frames: int,
    *,
    sent_span_ns: int = SECOND_NS,
    received_span_ns: int = SECOND_NS,
    received: int | None = None,
) -> Counts:
    """What both ends count where all frames arrived, or so many of them."""
    arrived = frames if received is None else received
    return Counts(frames, arrived, sent_span_ns, received_span_ns)


@pytest.mark.parametrize(
    ("frames", "span_ns", "per_s"),
    [
        (2, SECOND_NS, 1.0),  # one interval between two frames
        (3, SECOND_NS, 2.0),
        (2, 1, 1e9),
        (1001, 10 * SECOND_NS, 100.0),
        (1, SECOND_NS, None),
        (0, SECOND_NS, None),
        (2, 0, None),
        (0, 0, None),
    ],
)
def test_a_frame_rate_counts_intervals_between_frames_and_is_unknown_without_intervals(
    frames: int, span_ns: int, per_s: float | None
) -> None:
    assert Counts(frames, 0, span_ns, 0).sent_per_s() == per_s
    assert Counts(0, frames, 0, span_ns).received_per_s() == per_s


def test_more_frames_received_than_sent_are_a_loss_of_zero() -> None:
    assert counted(10, received=7).lost == 3
    assert counted(10, received=12).lost == 0


@given(
    frames=st.integers(0, 10**7),
    line_per_s=st.integers(1, 10**6),
    sent_ns=st.integers(0, 10**12),
    received_ns=st.integers(0, 10**12),
)
def test_queueing_time_of_a_device_is_receiving_time_beyond_the_longer_of_sending_and_line_time(
    frames: int, line_per_s: int, sent_ns: int, received_ns: int
) -> None:
    counts = counted(frames, sent_span_ns=sent_ns, received_span_ns=received_ns)
    on_the_line_ns = max(Fraction(0), Fraction((frames - 1) * SECOND_NS, line_per_s))
    queue_ns = received_ns - max(Fraction(sent_ns), on_the_line_ns)
    # A nanosecond is rounded; a double holds these to 1 part in 10^15.
    assert counts.queue_ns(line_per_s) == pytest.approx(
        float(queue_ns), abs=1 + float(on_the_line_ns) * 1e-15
    )


def test_frames_received_exactly_at_the_line_rate_do_not_count_as_a_queue() -> None:
    million_at_line_rate = counted(1_000_001, sent_span_ns=1, received_span_ns=10 * SECOND_NS)
    assert million_at_line_rate.queue_ns(100_000) == 0
    assert counted(1, sent_span_ns=0, received_span_ns=0).queue_ns(100_000) == 0
    assert counted(0, sent_span_ns=0, received_span_ns=0).queue_ns(100_000) == 0


@pytest.mark.parametrize(
    ("late_ns", "verdict"), [(0, "passed"), (5_000_000, "passed"), (5_000_001, "absorbed")]
)
def test_a_trial_passes_if_its_queueing_time_is_at_most_half_a_rate_step_of_its_duration(
    late_ns: int, verdict: TryVerdict
) -> None:
    criteria = Criteria(50_000, 100_000, step_share=0.01, duration_s=1.0)
    counts = counted(50_000, received_span_ns=SECOND_NS + late_ns)
    assert judge([counts], criteria) == verdict


@pytest.mark.parametrize(
    ("offered_per_s", "step_share", "least_per_s"),
    [
        # Half a step of 1 % of 100,000 frames a second is 500; 0.1 % of 50,000 is 50.
        (50_000, 0.01, 49_500),
        # Half a step of 0.01 % is 5, and 0.1 % of 50,000 is more.
        (50_000, 0.0001, 49_950),
    ],
)
def test_a_sender_may_fall_short_of_its_rate_by_at_most_half_a_step_or_a_thousandth(
    offered_per_s: int, step_share: float, least_per_s: int
) -> None:
    criteria = Criteria(offered_per_s, 100_000, step_share, duration_s=1.0)
    assert criteria.least_sent_per_s == pytest.approx(least_per_s, rel=1e-12)
    exact = Criteria(least_per_s + 500, 100_000, 0.01, 1.0)
    assert exact.least_sent_per_s == least_per_s
    assert judge([counted(least_per_s + 1)], exact) == "passed"
    assert judge([counted(least_per_s)], exact) == "generator-bound"


def test_a_sender_of_unknown_rate_makes_the_trial_generator_bound() -> None:
    criteria = Criteria(1, 100_000, 0.01, 1.0)
    assert judge([counted(1)], criteria) == "generator-bound"
    assert judge([counted(0)], criteria) == "generator-bound"


def test_the_worst_verdict_decides_and_no_verdicts_are_a_pass() -> None:
    assert worst([]) == "passed"
    assert worst(["passed", "passed"]) == "passed"
    ranking: tuple[TryVerdict, ...] = (
        "lost",
        "absorbed",
        "tester-loss",
        "generator-bound",
        "passed",
    )
    for place, verdict in enumerate(ranking):
        assert worst(reversed(ranking[place:])) == verdict


def test_the_least_of_several_values_is_unknown_if_one_value_is_unknown() -> None:
    assert least([3.0, 1.0, 2.0]) == 1.0
    assert least([3.0, None, 1.0]) is None
    assert least([None]) is None


def test_the_forwarded_share_is_that_of_the_slower_direction_or_unknown_if_one_is_unknown() -> None:
    criteria = Criteria(50_000, 100_000, 0.01, 1.0)
    fast, slow = counted(50_001), counted(25_001)
    assert forwarded_share([fast, slow], criteria) == 0.25
    assert forwarded_share([fast, counted(25_001, received=1)], criteria) is None


FRAMES = st.integers(0, 1000)


@given(st.lists(st.tuples(FRAMES, FRAMES), min_size=1, max_size=2))
def test_drops_of_the_measuring_hosts_never_hide_a_loss_of_the_device_in_either_direction(
    ways: list[tuple[int, int]],
) -> None:
    """Of each direction what the device lost, and what our own hosts dropped."""
    losses, shared = [device + own for device, own in ways], sum(own for _, own in ways)
    excused = shared_drops(losses, shared)
    assert sum(excused) <= shared
    for (device, _), frames, ours in zip(ways, losses, excused, strict=True):
        assert not device or ours < frames
    if not any(device for device, _ in ways):
        assert [*excused] == losses


def test_drops_counted_for_both_directions_together_are_assigned_only_as_far_as_certain() -> None:
    assert shared_drops([0, 0], 7) == (7, 0)
    assert shared_drops([5], 3) == (3,)
    assert shared_drops([100, 50], 100) == (50, 0)
