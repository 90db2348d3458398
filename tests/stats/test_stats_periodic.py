"""The period and the depth of dips follow from the definition, on series computed by hand."""

from __future__ import annotations

from itertools import accumulate

import pytest

from netlab.stats.trends import (
    _begins,
    _correlations,
    _is_peak,
    _spacing,
    _without_line,
    periodic_dips,
)


def test_dips_on_a_rising_line_have_their_period_and_their_depth_below_the_line() -> None:
    # 41 values on the line 80 … 120, every fourth lowered by 40; the dips are symmetric about the
    # middle, so they do not bend the line. The median of all values is 93: eleven dips and nine
    # others are lower.
    values = [80.0 + at - 40 * (at % 4 == 0) for at in range(41)]
    dips = periodic_dips(values)
    assert dips is not None
    assert [dips.period, dips.depth_share] == pytest.approx([4, 40 / 93])
    assert periodic_dips([100.0] * 41) is None


@pytest.mark.parametrize(
    ("number", "first", "depths", "depth"),
    [
        # The dips 4 and 5, 9 and 10, … are parts of two cycles each. The deeper parts of the eight
        # cycles are 0.2 0.5 0.5 0.2 0.2 0.5 0.5 0.2.
        (40, -1, [0.2, 0.2, 0.5, 0.2, 0.2, 0.2, 0.5, 0.2, 0.2], 0.35),
        # The last four values are no whole cycle: the last dip does not count.
        (44, 1, [0.4, 0.4, 0.2, 0.2, 0.4, 0.2, 0.2, 0.4, 0.4], 0.3),
    ],
)
def test_the_depth_of_dips_is_the_median_of_the_lowest_values_of_whole_cycles(
    number: int, first: int, depths: list[float], depth: float
) -> None:
    # Dips of two values, every five values; symmetric about the middle, so their line is level.
    values = [0.9] * number
    for place, each in enumerate(depths):
        for at in {first + 5 * place, first + 5 * place + 1} & {*range(number)}:
            values[at] = 0.9 * (1 - each)
    dips = periodic_dips(values)
    assert dips is not None
    assert [dips.period, dips.depth_share] == pytest.approx([5, depth])


def test_a_period_is_at_most_a_quarter_of_at_least_40_values_with_a_median_above_0() -> None:
    def dipping(number: int, period: int, level: float = 100.0) -> list[float]:
        return [level - 40 * (at % period == period // 2) for at in range(number)]

    dips = periodic_dips(dipping(40, 10))
    assert dips is not None
    assert dips.period == 10
    for number, period in ((39, 9), (43, 11)):
        assert periodic_dips(dipping(number, period)) is None
    assert periodic_dips(dipping(40, 10, level=0)) is None
    assert periodic_dips([]) is None


def test_dips_in_the_first_half_alone_are_no_period() -> None:
    # The second half has no dips, but a wave that repeats after 8 values, with the opposite sign
    # after 4. The last two thirds together would have the period 4 of the dips.
    values = [100.0 - 40 * (at % 4 == 2) for at in range(48)]
    values += [94.0 + 4 * (at % 8 < 4) for at in range(48)]
    assert periodic_dips(values[:48]) is not None
    assert periodic_dips(values) is None


def test_a_series_without_its_line_keeps_the_distances_from_the_least_squares_line() -> None:
    # The mean is 2, the slope is (-1.5 x 0 - 0.5 x 2 + 0.5 x 1 + 1.5 x 5) / 5 = 1.4.
    assert _without_line([0.0, 2.0, 1.0, 5.0]) == pytest.approx([0.1, 0.7, -1.7, 0.9])


def test_an_autocorrelation_is_the_mean_product_at_a_distance_over_the_variance() -> None:
    # Less the mean of 0.75: 0.75, -0.25, 0.25, -0.75, with a variance of 5 / 16.
    expected = [1, (-3 - 1 - 3) / 3 / 5, (3 + 3) / 2 / 5]
    assert _correlations([1.5, 0.5, 1.0, 0.0], 2) == pytest.approx(expected)
    assert _correlations([2.0] * 4, 2) == [0, 0, 0]


@pytest.mark.parametrize(
    ("correlations", "is_peak"),
    [
        ([1, 0.0, 0.25, 0.75, 0.25, 0], True),
        ([1, 0.0, 0.25, 0.75, 0.75, 0], True),  # as high as a neighbour
        ([1, 0.0, 0.80, 0.75, 0.25, 0], False),  # lower than the one before
        ([1, 0.0, 0.25, 0.75, 0.80, 0], False),  # lower than the next
        ([1, -0.5, 0.25, 0.50, 0.25, 0], True),  # just high enough
        ([1, -0.5, 0.25, 0.49, 0.25, 0], False),
        ([1, 0.25, 0.30, 0.75, 0.30, 0], True),  # just high enough above the lowest before it
        ([1, 0.26, 0.30, 0.75, 0.30, 0], False),
    ],
)
def test_a_peak_is_no_lower_than_its_neighbours_and_rises_by_the_least(
    correlations: list[float], is_peak: bool
) -> None:
    assert _is_peak(correlations, 3, 0.5) is is_peak


@pytest.mark.parametrize(
    ("period", "gaps", "expected"),
    [
        (10, [10, 11, 10], 31 / 3),
        (10, [11, 10], 10),  # three dips are too few
        (10, [10, 10, 12, 10], 10.5),  # a gap may differ by a fifth of the usual one,
        (10, [10, 11, 10, 11, 11, 14], 10.6),  # one that differs by more does not count
        (4, [4, 4, 6, 4, 4], 4),  # short gaps may differ by 1
        (11, [11, 10, 11, 20], 11),  # more than three quarters of the gaps must be near
        (3, [3, 20, 20, 3], 3),  # no gap is near the median
        (4, [4, 5, 4, 5], 4.5),  # a half from the period
        (5, [4, 4, 4, 4], 5),  # a whole from a short period
        (10, [10, 10, 12, 12], 11),  # within a tenth of the usual gap
        (21, [10, 11, 10, 11], 10.5),  # the period is two gaps
    ],
)
def test_the_spacing_is_the_mean_gap_of_dips_if_they_show_the_period_clearly(
    period: int, gaps: list[int], expected: float
) -> None:
    begins = list(accumulate(gaps, initial=5))
    flat = [-12.0 if at in begins else 0.0 for at in range(begins[-1] + 5)]
    assert _spacing(flat, period, 12) == pytest.approx(expected)


def test_a_dip_is_deeper_than_half_the_depth_and_follows_a_return_above_a_quarter() -> None:
    flat = [0.0] * 60
    for at in (5, 15, 26, 36, 46, 48):
        flat[at] = -12
    flat[10] = -5  # less than half of 12: no dip
    flat[27:36] = [-2.75] * 9  # less than a quarter of 12: what follows is a dip
    flat[47] = -3.5  # more than a quarter: what follows is the same dip
    assert _spacing(flat, 10, 12) == (10 + 11 + 10 + 10) / 4
    # Neither a value at the lower limit nor one at the upper limit counts as beyond it.
    assert _begins([1.0, 9, 2, 1, 3, 1, 4, 1], 2, 3) == [3, 7]
