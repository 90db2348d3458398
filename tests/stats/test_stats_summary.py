"""Means, medians and deviations agree with exact fractions."""

from __future__ import annotations

import math
import statistics
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.stats import (
    mean,
    mean_absolute_deviation,
    median,
    median_absolute_deviation,
    pooled_deviation,
    rounded,
    standard_deviation,
    variance,
)

rates = st.lists(st.floats(1e3, 1e11), min_size=3, max_size=30)


def test_the_mean_and_the_median_of_no_values_are_refused() -> None:
    with pytest.raises(ValueError, match=r"nothing has a mean$"):
        mean([])
    with pytest.raises(ValueError, match=r"nothing has a median$"):
        median([])


def test_the_median_of_an_even_number_of_values_is_the_mean_of_the_middle_two() -> None:
    assert median([3.0, 1.0, 2.0]) == 2.0
    assert median([4.0, 1.0, 2.0, 3.0]) == 2.5


def test_one_bad_value_changes_the_mean_but_hardly_the_median() -> None:
    figures = [92.35, 92.36, 92.37, 92.38, 92.37, 92.38, 92.38, 92.40, 92.38, 92.38, 92.21, 1.89]
    assert rounded(mean(figures), 2) == rounded(84.82, 2)
    assert rounded(median(figures), 3) == rounded(92.375, 3)


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (91.465, 2, "91.47"),
        (0.125, 2, "0.13"),
        (2.675, 2, "2.68"),
        (-0.125, 2, "-0.13"),
        (94.1, 2, "94.10"),
        (1e22, 0, "10000000000000000000000"),
        (0.004999, 2, "0.00"),
    ],
)
def test_rounding_to_decimals_rounds_halves_away_from_zero(
    value: float, decimals: int, text: str
) -> None:
    assert str(rounded(value, decimals)) == text


@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=20))
def test_the_mean_of_printed_decimals_is_exact_to_the_last_digit(hundredths: list[int]) -> None:
    in_bit_per_s = [value * 10_000.0 for value in hundredths]
    quotient, remainder = divmod(2 * sum(hundredths) + len(hundredths), 2 * len(hundredths))
    del remainder
    assert rounded(mean(in_bit_per_s) / 1e6, 2) == rounded(quotient / 100, 2)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_the_mean_is_the_float_nearest_to_the_exact_mean(values: list[float]) -> None:
    assert mean(values) == float(sum(map(Fraction, values)) / len(values))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_the_mean_of_infinite_or_undefined_values_is_refused(value: float) -> None:
    for values in ([value], [1.0, value]):
        with pytest.raises((ValueError, OverflowError)):
            mean(values)


def test_variance_and_the_three_deviations_match_figures_worked_by_hand() -> None:
    values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]
    assert variance(values) == pytest.approx(32 / 7)
    assert standard_deviation(values) == pytest.approx(math.sqrt(32 / 7))
    assert mean_absolute_deviation(values) == 1.5
    assert median_absolute_deviation(values) == 0.5


def test_the_variance_and_deviations_of_too_few_values_are_refused() -> None:
    with pytest.raises(ValueError, match="a variance needs at least 2"):
        variance([1.0])
    with pytest.raises(ValueError, match="a variance needs at least 2"):
        standard_deviation([1.0])
    with pytest.raises(ValueError, match="nothing has a mean absolute deviation"):
        mean_absolute_deviation([])
    with pytest.raises(ValueError, match="no values"):
        median_absolute_deviation([])


@given(rates)
def test_the_variance_agrees_with_the_standard_library(values: list[float]) -> None:
    assert variance(values) == pytest.approx(statistics.variance(values), rel=1e-9)
    assert mean_absolute_deviation(values) <= standard_deviation(values) * (1 + 1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e9, 1e15])
def test_the_variance_of_large_values_has_no_rounding_error(offset: float) -> None:
    """4, 7, 13 and 16 have the mean 10 and the variance 30, wherever they begin."""
    assert variance([offset + number for number in (4, 7, 13, 16)]) == 30


def test_the_variance_corrects_the_rounding_error_of_the_mean() -> None:
    """From 10^16 on only even numbers are floats: the mean of 0, 2, 2 beyond it is taken as 2."""
    values = [1e16, 1e16 + 2, 1e16 + 2]
    assert (1e16 + 2) - math.fsum(values) / 3 == 0
    assert variance(values) == pytest.approx(4 / 3, rel=1e-15)


@given(st.lists(st.integers(-(10**9), 10**9), min_size=2, max_size=20))
def test_the_variance_equals_the_exact_variance_to_14_digits(values: list[int]) -> None:
    exact = sum((Fraction(number) - Fraction(sum(values), len(values))) ** 2 for number in values)
    assert variance([float(number) for number in values]) == pytest.approx(
        float(exact / (len(values) - 1)), rel=1e-14
    )


def test_the_variance_of_two_values_is_half_the_square_of_their_distance() -> None:
    assert variance([1.0, 5.0]) == 8
    assert standard_deviation([1.0, 5.0]) == math.sqrt(8)
    assert variance([0.1, 0.1, 0.1]) == 0


def test_a_deviation_is_pooled_over_the_groups_of_two_or_more_values_and_else_0() -> None:
    # Squares: 8 with 1 degree of freedom, and 4 + 1 + 1 + 4 with 3.
    groups = [[1.0, 5.0], [7.0], [], [1.0, 2.0, 4.0, 5.0]]
    assert pooled_deviation(groups) == pytest.approx((math.sqrt(18 / 4), 4))
    assert pooled_deviation([[7.0], []]) == (0, 0)


def test_the_mean_is_computed_for_values_whose_sum_is_too_large_for_a_float() -> None:
    assert mean([1.7e308, 1.7e308]) == 1.7e308
    assert mean([1.7e308, -1.7e308, 3.0]) == 1.0


def test_the_mean_just_below_a_power_of_two_is_rounded_to_the_finer_floats() -> None:
    """The sum is taken as 3, its third as 1; the exact mean lies nearer to the float below 1."""
    little = 0.9 * 2**-52
    assert 3.0 - little == 3.0
    exact = (Fraction(3) - Fraction(little)) / 3
    below = math.nextafter(1, 0)
    assert abs(exact - Fraction(below)) < abs(exact - 1)
    assert mean([3.0, -little, 0.0]) == below
