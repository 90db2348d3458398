"""Statistics of trials, against tables and against what defines them."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.stats import interval, mean, median, rounded, t_quantile

rates = st.lists(st.floats(1e3, 1e11), min_size=3, max_size=30)


@pytest.mark.parametrize(
    ("degrees", "at_0_95", "at_0_975", "at_0_995"),
    [
        # NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2.
        (1, 6.314, 12.706, 63.657),
        (2, 2.920, 4.303, 9.925),
        (3, 2.353, 3.182, 5.841),
        (4, 2.132, 2.776, 4.604),
        (5, 2.015, 2.571, 4.032),
        (9, 1.833, 2.262, 3.250),
        (10, 1.812, 2.228, 3.169),
        (29, 1.699, 2.045, 2.756),
        (30, 1.697, 2.042, 2.750),
        (100, 1.660, 1.984, 2.626),
    ],
)
def test_the_t_quantiles_are_those_of_the_printed_table(
    degrees: int, at_0_95: float, at_0_975: float, at_0_995: float
) -> None:
    assert t_quantile(0.95, degrees) == pytest.approx(at_0_95, abs=5e-4)
    assert t_quantile(0.975, degrees) == pytest.approx(at_0_975, abs=5e-4)
    assert t_quantile(0.995, degrees) == pytest.approx(at_0_995, abs=5e-4)


def test_the_t_quantile_is_symmetric_zero_in_the_middle_and_becomes_the_normal_one() -> None:
    assert t_quantile(0.5, 7) == pytest.approx(0, abs=1e-12)
    assert t_quantile(0.1, 7) == pytest.approx(-t_quantile(0.9, 7))
    assert t_quantile(0.975, 10_000) == pytest.approx(
        statistics.NormalDist().inv_cdf(0.975), abs=5e-4
    )


@pytest.mark.parametrize(("probability", "degrees"), [(0, 3), (1, 3), (-0.1, 3), (0.9, 0)])
def test_a_quantile_that_does_not_exist_is_refused(probability: float, degrees: int) -> None:
    with pytest.raises(ValueError, match="no t quantile"):
        t_quantile(probability, degrees)


def test_the_interval_of_a_mean_is_the_one_computed_by_hand() -> None:
    found = interval([94.0, 94.2, 94.1])
    assert found.mean == pytest.approx(94.1)
    assert found.half_width == pytest.approx(4.302653 * 0.1 / math.sqrt(3), rel=1e-6)
    assert (found.n, found.confidence) == (3, 0.95)
    assert interval([5.0, 5.0, 5.0]).half_width == 0


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0]])
def test_fewer_than_three_trials_have_no_interval(values: list[float]) -> None:
    with pytest.raises(ValueError, match="an interval needs 3"):
        interval(values)


def test_nothing_has_neither_mean_nor_median() -> None:
    with pytest.raises(ValueError, match="no values"):
        mean([])
    with pytest.raises(ValueError, match="no values"):
        median([])


def test_the_median_of_an_even_number_lies_between_the_two_in_the_middle() -> None:
    assert median([3.0, 1.0, 2.0]) == 2.0
    assert median([4.0, 1.0, 2.0, 3.0]) == 2.5


def test_one_bad_value_pulls_the_mean_and_not_the_median() -> None:
    printed = [92.35, 92.36, 92.37, 92.38, 92.37, 92.38, 92.38, 92.40, 92.38, 92.38, 92.21, 1.89]
    assert rounded(mean(printed), 2) == rounded(84.82, 2)
    assert rounded(median(printed), 3) == rounded(92.375, 3)


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
def test_halves_are_rounded_away_from_zero_as_printed_tables_do(
    value: float, decimals: int, text: str
) -> None:
    assert str(rounded(value, decimals)) == text


@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=20))
def test_a_mean_of_printed_decimals_is_exact_to_the_last_digit(hundredths: list[int]) -> None:
    in_bit_per_s = [value * 10_000.0 for value in hundredths]
    whole, rest = divmod(2 * sum(hundredths) + len(hundredths), 2 * len(hundredths))
    del rest
    assert rounded(mean(in_bit_per_s) / 1e6, 2) == rounded(whole / 100, 2)


@given(rates)
def test_an_interval_holds_its_mean_and_grows_with_the_confidence(values: list[float]) -> None:
    narrow, wide = interval(values, 0.9), interval(values, 0.99)
    assert narrow.low <= narrow.mean <= narrow.high
    assert wide.half_width >= narrow.half_width
    assert min(values) <= mean(values) <= max(values)
    assert min(values) <= median(values) <= max(values)
