"""The period and the depth of dips follow from the definition, on series computed by hand."""

from __future__ import annotations

import pytest
from draws import chance, seeds

from netlab.stats.trends import (
    _correlations,
    _is_peak,
    _period,
    _profile,
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


def dipping_at(period: float, number: int = 120, width: int = 1) -> list[float]:
    """Values of 0; those in which dips of -12 begin, and the next ones for wider dips."""
    begins = {int(time * period) + more for time in range(number) for more in range(width)}
    return [-12.0 if at in begins else 0.0 for at in range(number)]


@pytest.mark.parametrize(
    ("peak", "distance", "expected"),
    [
        (10, 10, 10),
        (10, 10.5, 10.5),  # 5 % from the peak
        (21, 10.5, 10.5),  # the peak is at two dips
        (17, 3.4, 3.4),  # at five
        (9, 9, 9),  # no third of it
        (30, 6, 6),
    ],
)
def test_a_period_is_the_distance_of_dips_even_if_the_peak_is_at_several(
    peak: int, distance: float, expected: float
) -> None:
    period = _period(dipping_at(distance), peak)
    assert period == pytest.approx(expected, rel=0.01)


def test_dips_less_than_three_values_apart_have_no_period() -> None:
    assert _period(dipping_at(2.5), 5) is None
    assert _period(dipping_at(3), 6) == pytest.approx(3)


def test_two_unlike_dips_in_each_period_are_not_half_of_it() -> None:
    flat = [-12.0 * (at % 10 == 3) - 3.0 * (at % 10 == 8) for at in range(120)]
    uneven = [-12.0 * (at % 10 in (3, 6)) for at in range(120)]
    assert _period(flat, 10) == _period(uneven, 10) == 10


def test_a_profile_is_the_mean_of_each_place_and_the_variance_that_the_places_explain() -> None:
    # Places 0 and 1 of a period of 2.5 values: 0, 2.5, 5 … begin periods.
    means, explained = _profile([1.0, 2.0, 3.0, 5.0, 7.0], 2.5, 2)
    assert means == [pytest.approx((1 + 2 + 5) / 3), 5]
    assert explained == pytest.approx(8 * 8 / 3 + 10 * 5)


@pytest.mark.parametrize("seed", seeds(3, 30))
def test_drawn_dips_have_their_period_within_one_value_or_none(seed: int) -> None:
    """Of narrow and wide dips, at whole and other distances, with and without scatter."""
    rng = chance(seed)
    found = wrong = 0
    for _ in range(40):
        number, depth = rng.choice([40, 60, 100, 150]), rng.uniform(0.1, 0.9)
        period = rng.choice([rng.uniform(2, number / 4), float(rng.randint(3, number // 4))])
        width, scatter = rng.uniform(0.1 / period, 0.45), rng.choice([0, 0.02, 0.1, 0.3])
        begin = rng.random()
        values = []
        for at in range(number):
            phases = (((at + part / 8) / period + begin) % 1 for part in range(8))
            low = sum(phase < width for phase in phases) / 8
            values.append((1 - depth * low) * (1 + rng.gauss(0, scatter * depth)))
        dips = periodic_dips(values)
        found += dips is not None
        wrong += dips is not None and abs(dips.period - period) > 1
    assert found >= 16
    assert wrong <= 1
