"""Confidence intervals agree with examples worked by hand."""

from __future__ import annotations

import math

import pytest
from draws import chance, drawn
from hypothesis import given
from hypothesis import strategies as st

from netlab.stats import half_width_share, interval, mean, median, precise

rates = st.lists(st.floats(1e3, 1e11), min_size=3, max_size=30)


def test_the_confidence_interval_of_a_mean_matches_a_figure_worked_by_hand() -> None:
    result = interval([94.0, 94.2, 94.1])
    assert result.mean == pytest.approx(94.1)
    assert result.half_width == pytest.approx(4.302653 * 0.1 / math.sqrt(3), rel=1e-6)
    assert interval([5.0, 5.0, 5.0]).half_width == 0


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0]])
def test_a_confidence_interval_of_fewer_than_three_trials_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="an interval needs at least 3"):
        interval(values)


@given(rates)
def test_an_interval_contains_its_mean_and_widens_with_the_confidence(values: list[float]) -> None:
    narrow, wide = interval(values, 0.9), interval(values, 0.99)
    assert narrow.low <= narrow.mean <= narrow.high
    assert wide.half_width >= narrow.half_width
    assert min(values) <= mean(values) <= max(values)
    assert min(values) <= median(values) <= max(values)


def test_trials_are_precise_only_if_the_interval_was_narrow_one_trial_earlier_too() -> None:
    assert precise([100.0, 100.1, 100.0, 100.1], within=0.025)
    # Four are tight, and without the last they were not.
    assert half_width_share([90.0, 100.0, 110.0]) > 0.2
    assert not precise([90.0, 100.0, 110.0, 100.0], within=0.2)
    assert half_width_share([90.0, 100.0, 110.0, 100.0]) <= 0.2
    assert not precise([100.0, 100.0, 100.0], within=0.025)
    assert precise([0.0] * 4, within=0.025)
    assert not precise([-1.0, 1.0, -1.0, 1.0], within=0.025)


def test_stopping_at_a_narrow_interval_saves_most_trials_and_keeps_90_percent_coverage() -> None:
    draw, draws = chance(7), drawn(200, 2000)
    cover_count = trial_count = 0
    for _ in range(draws):
        values = [draw.gauss(100, 3) for _ in range(30)]
        n = next((n for n in range(5, 31) if precise(values[:n], 0.025)), 30)
        result = interval(values[:n])
        cover_count += result.low <= 100 <= result.high
        trial_count += n
    assert 0.90 <= cover_count / draws <= 0.95
    assert 8 <= trial_count / draws <= 10


@given(rates, st.floats(1e-6, 1))
def test_precise_trials_have_an_interval_as_narrow_as_requested(
    values: list[float], within: float
) -> None:
    if precise(values, within):
        assert interval(values).half_width <= within * mean(values) * (1 + 1e-9)
        assert precise(values, within * 2)


@pytest.mark.parametrize("confidence", [-0.5, 0.0, 1.0, 1.5, math.nan])
def test_intervals_refuse_a_confidence_outside_0_to_1(confidence: float) -> None:
    values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    for call in (
        lambda: interval(values, confidence),
        lambda: half_width_share(values, confidence),
        lambda: precise(values, 0.1, confidence),
    ):
        with pytest.raises(ValueError, match="a confidence must be between 0 and 1"):
            call()


def test_the_relative_half_width_of_an_interval_uses_the_absolute_mean() -> None:
    # t(0.975, 2) = 4.302653, s = 1, n = 3: 4.302653 / 3^0.5 = 2.484138.
    assert half_width_share([9.0, 10.0, 11.0]) == pytest.approx(0.2484138, rel=1e-6)
    assert half_width_share([-9.0, -10.0, -11.0]) == pytest.approx(0.2484138, rel=1e-6)
    # t(0.9, 2) = 1.885618.
    assert half_width_share([9.0, 10.0, 11.0], 0.8) == pytest.approx(0.1088662, rel=1e-6)
    assert half_width_share([-1.0, 0.0, 1.0]) == math.inf
    assert half_width_share([0.0, 0.0, 0.0]) == 0
    assert half_width_share([5.0, 5.0, 5.0]) == 0


def test_trials_are_precise_exactly_at_the_requested_width_and_confidence() -> None:
    values = [99.0, 101.0, 100.0, 100.0]
    widest = max(half_width_share(values), half_width_share(values[:-1]))
    assert precise(values, widest)
    assert not precise(values, math.nextafter(widest, 0))
    # Of three values at 80 %: t(0.9, 2) = 1.885618, s = 1, 1.089 % of 100.
    assert precise(values, 0.011, confidence=0.8)
    assert not precise(values, 0.011)
