"""Trend tests agree with a count over all orders of few values."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations, product
from random import Random

import pytest
from draws import chance, drawn, seeds

from netlab.stats.trends import (
    EXACT_VALUES,
    kendall_s,
    mann_kendall,
    seasonal_kendall,
    sign_p,
    theil_sen,
)


def counted(values: list[float]) -> float:
    """Two-sided p over every order."""
    every = Counter(abs(kendall_s(order)) for order in permutations(values))
    return sum(n for s, n in every.items() if s >= abs(kendall_s(values))) / sum(every.values())


def normal_p(s: int, variance: float) -> float:
    """Two-sided p of a normal distribution, with S moved by 1 towards 0 (Kendall)."""
    return math.erfc((s - 1) / math.sqrt(2 * variance))


@pytest.mark.parametrize("seed", seeds(20, 60))
def test_the_trend_p_value_equals_the_count_over_all_orders_even_with_ties(seed: int) -> None:
    draw = Random(seed)  # noqa: S311
    values = [float(draw.randint(0, draw.choice([1, 2, 9]))) for _ in range(draw.randint(2, 7))]
    assert mann_kendall(values).p_value == pytest.approx(counted(values))


def test_six_falling_values_have_the_trend_p_value_of_2_in_720() -> None:
    trend = mann_kendall([6, 5, 4, 3, 2, 1])
    assert trend.s == -15
    assert trend.p_value == pytest.approx(2 / 720)
    assert mann_kendall([6, 5, 4, 3, 1, 2]).p_value == pytest.approx(12 / 720)


def test_equal_values_and_a_single_value_have_no_trend() -> None:
    assert mann_kendall([3.0] * 8).p_value == 1
    assert mann_kendall([3.0]).p_value == 1


@pytest.mark.parametrize("seed", seeds(5, 20))
def test_the_normal_approximation_of_the_trend_p_value_is_close_for_many_values(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = Random(seed)  # noqa: S311
    values = [float(draw.randint(0, 40)) + at / 10 for at in range(EXACT_VALUES)]
    exact = mann_kendall(values).p_value
    monkeypatch.setattr("netlab.stats.trends.EXACT_VALUES", 0)
    assert mann_kendall(values).p_value == pytest.approx(exact, rel=0.1, abs=0.005)


@pytest.mark.parametrize("seed", seeds(5, 20))
def test_the_seasonal_trend_p_value_equals_the_count_over_all_orders_of_all_seasons(
    seed: int,
) -> None:
    draw = Random(seed)  # noqa: S311
    seasons = [[float(draw.randint(0, 4)) for _ in range(3)] for _ in range(3)]
    s = abs(sum(map(kendall_s, seasons)))
    sums = [
        sum(map(kendall_s, orders))
        for orders in product(*(permutations(season) for season in seasons))
    ]
    assert seasonal_kendall(seasons).p_value == pytest.approx(
        sum(abs(total) >= s for total in sums) / len(sums)
    )


def test_the_trend_of_many_seasons_uses_the_normal_approximation() -> None:
    falling = seasonal_kendall([[3.0, 2.0, 1.0]] * 200)
    assert falling.s == -600
    assert falling.p_value < 1e-9


def test_the_trend_is_exact_up_to_60_values_and_40_seasons_and_normal_beyond() -> None:
    # One high value among low ones is equally likely at each place; the last place has the most S.
    # Kendall's variance of S: n (n - 1) (2 n + 5) / 18, minus the same of the number of ties.
    low_60, beyond = [0.0] * 60, normal_p(60, (61 * 60 * 127 - 60 * 59 * 125) / 18)
    for trend, s, p_value in (
        (mann_kendall([*low_60[1:], 1.0]), 59, 2 / 60),
        (mann_kendall([*low_60, 1.0]), 60, beyond),
        (seasonal_kendall([[*low_60[1:], 1.0]]), 59, 2 / 60),
        (seasonal_kendall([[*low_60, 1.0]]), 60, beyond),
        (seasonal_kendall([[1.0, 2.0]] * 40), 40, 2 / 2**40),
        (seasonal_kendall([[1.0, 2.0]] * 41), 41, normal_p(41, 41)),  # a pair: 2 x 1 x 9 / 18 = 1
        (seasonal_kendall([[1.0, 2.0], [2.0, 1.0]] * 21), 0, 1),
    ):
        assert [trend.s, trend.p_value] == pytest.approx([s, p_value], rel=1e-5, abs=0)


@pytest.mark.parametrize(
    ("values", "s", "p_value"),
    [
        # The ten orders of two and three equal values have S of 6, 4, 2 (twice), 0 (twice), …
        ([1, 1, 2, 2, 2], 6, 0.2),
        ([1, 2, 1, 2, 2], 4, 0.4),
        ([1, 2, 2, 1, 2], 2, 0.8),
        ([1, 2, 2, 2, 1], 0, 1.0),
        # The 24 orders of four values have 0 to 6 inversions: 1, 3, 5, 6, 5, 3, 1 of them.
        ([1, 2, 3, 4], 6, 2 / 24),
        ([1, 2, 4, 3], 4, 8 / 24),
        ([2, 1, 4, 3], 2, 18 / 24),
    ],
)
def test_the_distribution_of_s_is_that_of_all_orders_of_a_multiset(
    values: list[float], s: int, p_value: float
) -> None:
    trend = mann_kendall(values)
    assert [trend.s, trend.p_value] == pytest.approx([s, p_value])


def test_random_values_show_a_trend_no_more_often_than_the_p_value_says() -> None:
    draw, n = chance(1), drawn(400, 4000)
    rejections = sum(
        mann_kendall([draw.gauss(0, 1) for _ in range(8)]).p_value < 0.01 for _ in range(n)
    )
    assert rejections / n < 0.015


def test_the_theil_sen_slope_is_the_median_slope_of_all_pairs() -> None:
    assert theil_sen([1, 2, 3, 4, 500]) == pytest.approx(1)
    assert theil_sen([5, 5]) == 0
    with pytest.raises(ValueError, match="no values"):
        theil_sen([1])


def test_the_p_value_of_the_sign_test_is_the_probability_for_fair_coins() -> None:
    assert sign_p(8, 8) == pytest.approx(2 / 256)
    assert sign_p(4, 8) == 1
    assert sign_p(0, 0) == 1
