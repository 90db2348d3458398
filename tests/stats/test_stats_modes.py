"""Two groups of times in a histogram are found, and single groups are not split."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

import pytest
from draws import chance, drawn
from made_histograms import of_values

from netlab.stats.histogram import Histogram
from netlab.stats.modes import _binned, _coarse, two_modes


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
    # In steps of log 2, the times of bucket 1 (1 to 2) reach from 0 to 1: half are nearer to each.
    grid, first = _binned(Histogram(7, {0: 9, 1: 6}), math.log(2))
    assert (grid, first) == (pytest.approx([3, 3]), 0)


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
