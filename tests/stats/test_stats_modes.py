"""Two groups of times in a histogram are found, and single groups are not split."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

import pytest
from draws import chance, drawn
from made_histograms import of_values

from netlab.stats.histogram import Histogram, _binned, _coarse, _cut, _shown, _smoothed, two_modes


def one_group(rng: Random) -> list[int]:
    """Times of one group: narrow or wide, with a tail or without, by a coarse clock or not."""
    middle = math.exp(rng.uniform(math.log(5e3), math.log(5e6)))
    spread = math.exp(rng.uniform(math.log(0.005), math.log(0.8)))
    tick = middle / rng.uniform(3, 40)
    kinds: list[Callable[[], float]] = [
        lambda: middle * math.exp(rng.gauss(0, spread)),
        lambda: middle + rng.expovariate(1 / (middle * spread)),
        lambda: middle * (1 + 0.02 * rng.paretovariate(1.2)) * math.exp(rng.gauss(0, spread / 5)),
        lambda: rng.uniform(middle, middle * (1 + 4 * spread)),
        lambda: (
            middle
            * (math.exp(rng.gauss(0, spread)) if rng.random() < 0.95 else rng.paretovariate(0.7))
        ),
        lambda: round(middle * math.exp(rng.gauss(0, spread)) / tick) * tick,
    ]
    draw = rng.choice(kinds)
    number = round(math.exp(rng.uniform(math.log(200), math.log(8000))))
    return [max(1, min(1 << 60, round(draw()))) for _ in range(number)]


def test_drawn_histograms_of_one_group_are_not_split_into_two_modes() -> None:
    rng, n = chance(5), drawn(40, 400)
    wrong = sum(two_modes(of_values(one_group(rng))) is not None for _ in range(n))
    assert wrong <= n // 200


def test_drawn_histograms_of_two_groups_yield_both_modes_with_places_and_shares() -> None:
    rng, n = chance(6), drawn(30, 300)
    right = wrong = 0
    for _ in range(n):
        number = round(math.exp(rng.uniform(math.log(500), math.log(8000))))
        lower = math.exp(rng.uniform(math.log(5e3), math.log(5e6)))
        spread = math.exp(rng.uniform(math.log(0.01), math.log(0.25)))
        ratio = math.exp(max(math.log(1.35), spread * rng.uniform(5, 9)))
        share = rng.uniform(0.2, 0.8)
        times = [
            round(lower * (1 if rng.random() < share else ratio) * math.exp(rng.gauss(0, spread)))
            for _ in range(number)
        ]
        modes = two_modes(of_values(times))
        if modes is None:
            continue
        near = (
            abs(math.log(modes.lower / lower)) < 0.25
            and abs(math.log(modes.upper / (lower * ratio))) < 0.25
            and abs(modes.lower_share - share) < 0.08
        )
        right, wrong = right + near, wrong + (not near)
    assert right >= 0.96 * n
    assert wrong <= n // 100


@pytest.mark.parametrize(
    "times",
    [
        [10_000 + i for i in range(60)] + [50_000 + i for i in range(60)],  # too few
        [10_000 + 9 * i for i in range(1000)] + [90_000 + 9 * i for i in range(60)],  # 6 %
        [10_000 + i for i in range(900)] + [11_500 + i for i in range(900)],  # 10 % apart
        [10_000] * 500 + [10_200] * 500,  # 2 % apart: at the end of the grid there is one place
        [5_000] * 400 + [6_000] * 300 + [7_000] * 400,  # ticks of a clock
        [0] * 500,
    ],
)
def test_groups_that_are_too_small_too_near_or_clock_ticks_are_no_modes(times: list[int]) -> None:
    assert two_modes(of_values(times)) is None


def test_two_modes_are_found_in_wide_buckets_and_none_in_an_empty_histogram() -> None:
    assert two_modes(Histogram(7, {})) is None
    rng = chance(8)
    times = [round(place * math.exp(rng.gauss(0, 0.2))) for place in (1e4, 1e5) for _ in range(500)]
    modes = two_modes(of_values(times, bits=4))
    assert modes is not None
    assert modes.lower_share == pytest.approx(0.5, abs=0.03)


def test_a_bucket_is_spread_over_its_logarithms_and_times_of_zero_have_none() -> None:
    # In steps of log 2, bucket 1 (1 to 2) reaches from 0 to 1: half of it is nearer to each.
    # With one bit, bucket 6 (8 to 12) reaches from 3 to 3.58: 0.5 is nearer to 3.
    grid, first = _binned(Histogram(1, {0: 9, 1: 6, 6: 6}), math.log(2))
    near_3 = 6 * 0.5 / math.log2(1.5)
    assert grid == pytest.approx([3, 3, 0, near_3, 6 - near_3])
    assert first == 0
    # In steps of log 4, bucket 1 reaches to 0.5; nothing is nearer to 1.
    assert _binned(Histogram(7, {1: 6}), math.log(4)) == ([6], 0)


def test_the_density_is_a_sum_of_gaussian_kernels_of_four_standard_deviations() -> None:
    kernel = {off: math.exp(-((off / 3) ** 2) / 2) for off in range(-12, 13)}
    counts = {0: 4.0, 15: 10.0, 29: 2.0}
    density = [
        sum(count * kernel.get(at - place, 0) for place, count in counts.items())
        / sum(kernel.values())
        for at in range(30)
    ]
    grid = [counts.get(at, 0.0) for at in range(30)]
    assert _smoothed(grid) == pytest.approx(density, rel=1e-12, abs=0)


@pytest.mark.parametrize(
    ("density", "grid", "cut"),
    [
        ([9, 1, 9, 9, 9], [1] * 5, 1),
        ([9, 9, 9, 1, 9], [1] * 5, 3),
        ([20, 5, 10, 3, 4], [1] * 5, 1),  # half of the lower peak; three quarters at 3
        ([2, 2, 2, 2, 1, 20, 8, 20], [1] * 8, 6),  # 0.4 of the lower peak; half at 4
        ([20, 8, 20, 1, 2, 2, 2, 2], [1] * 8, 1),
        ([9, 1, 9, 9], [1, 3, 5, 1], 1),  # a tenth is below the cut
        ([9, 9, 1, 9], [1, 3, 5, 1], 2),  # a tenth is above the cut
        ([9, 9, 1, 9, 9], [0, 2, 4, 2, 2], 2),
        ([9, 1, 9, 2, 9], [0, 2, 4, 2, 2], 3),  # nothing is below 1
        ([9, 1, 9], [1, 9, 0.9], None),
    ],
)
def test_groups_are_cut_where_the_density_is_smallest_in_proportion_to_the_lower_peak(
    density: list[float], grid: list[float], cut: int | None
) -> None:
    assert _cut(density, grid) == cut


def test_a_dip_is_shown_from_half_of_the_peak_and_five_deviations_of_the_counts() -> None:
    # A kernel covers 10.635 places. With a dip of half of the peak, half of the peak's count c is 5
    # times the square root of 1.5 c if c is 150, so the peak is 14.1.
    assert _shown([14.2, 7.1, 99.0], 0, 1, 2)
    assert not _shown([14.0, 7.0, 99.0], 0, 1, 2)
    assert not _shown([99.0, 7.0, 14.0], 0, 1, 2)
    assert not _shown([2000.0, 1001.0, 2000.0], 0, 1, 2)


def around(place: int, count: int) -> dict[int, int]:
    """A group whose peak is a place of the grid, a hundredth of a logarithm: place → count."""
    return {place + off: count * (4, 2, 1)[abs(off)] // 10 for off in range(-2, 3)}


BETWEEN = dict.fromkeys([*range(1003, 1015), *range(1016, 1028)], 1)


@pytest.mark.parametrize(
    ("counts", "lower_share"),
    [
        (around(1000, 180) | around(1030, 20), 0.9),  # just enough times, a tenth of them above
        # Within 30 % of a peak are 26 places to either side.
        (around(1000, 890) | around(1030, 70) | {1056: 40}, 0.89),
        (around(1000, 890) | around(1030, 70) | {1057: 40}, None),
        ({974: 40} | around(1000, 70) | around(1030, 890), 0.11),
        ({973: 40} | around(1000, 70) | around(1030, 890), None),
        # The cut is at 1015. The times from there on are close to 1030: 92 of 914, and 92 of 924.
        (around(1000, 810) | BETWEEN | around(1030, 80), 822 / 914),
        (
            around(1000, 790) | BETWEEN | around(1030, 80) | {1090: 30},
            None,
        ),
        (around(1000, 9000) | dict.fromkeys(range(1050, 1300), 10), None),  # 530 of 11,500
    ],
)
def test_each_of_two_modes_has_a_tenth_of_all_times_close_to_its_peak(
    counts: dict[int, int], lower_share: float | None
) -> None:
    times = Histogram(20, {round(math.exp(place / 100)): n for place, n in counts.items()})
    modes = two_modes(times)
    if lower_share is None:
        assert modes is None
    else:
        assert modes is not None
        assert (modes.lower, modes.upper) == (round(math.exp(10)), round(math.exp(10.3)))
        assert modes.lower_share == pytest.approx(lower_share)


def test_wide_buckets_are_smoothed_more_than_narrow_ones() -> None:
    # The groups are 0.31 apart, as logarithms. With 4 bits the kernel's standard deviation is 3/16;
    # two equal kernels have two peaks only if they are more than two standard deviations apart.
    times = [*range(10_240, 12_288), *range(14_336, 16_384)]
    assert two_modes(of_values(times, bits=4)) is None
    assert two_modes(of_values(times)) is not None


@pytest.mark.parametrize(
    ("times", "is_coarse"),
    [
        # Half of the logarithm of 1.3 to either side of 10,000: from 8770.6 to 11401.8.
        ([8771, 9000, 10_000, 11_401], False),
        ([8770, 9000, 10_000, 11_401], True),
        ([8771, 9000, 10_000, 11_402], True),
    ],
)
def test_a_clock_is_coarse_if_times_near_a_peak_have_fewer_than_four_values(
    times: list[int], is_coarse: bool
) -> None:
    assert _coarse(Histogram(20, dict.fromkeys(times, 100)), 1e4) is is_coarse
