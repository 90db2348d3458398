"""Trends over the order of values, by Kendall's S and the sign test; and periodic dips.

Kendall's S is the number of pairs of values that go up minus the number of pairs that go down. The
tests are exact for few values. Their null hypothesis is that all orders of the values are equally
likely. If values depend on each other without a trend, p is too small.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from statistics import NormalDist, correlation, linear_regression

from netlab.stats import mean, median

EXACT_VALUES = 60
"""Maximum number of values for the exact distribution of S; for more values, a normal distribution
is used."""
EXACT_SEASONS = 40
"""Maximum number of seasons (series that are tested together) for the exact distribution."""


@dataclass(frozen=True, slots=True)
class Trend:
    """Whether values go up or down with their order."""

    s: int
    """Number of pairs that go up, minus the number of pairs that go down."""
    p_value: float
    """Probability that chance alone gives an S at least as far from 0, above it or below it."""


def kendall_s(values: Sequence[float]) -> int:
    """Kendall's S of values in this order."""
    return sum((later > earlier) - (later < earlier) for earlier, later in combinations(values, 2))


def mann_kendall(values: Sequence[float]) -> Trend:
    """Mann's test for a trend (Econometrica 13, 1945) by Kendall's S. The distribution of S takes
    ties (equal values) into account.

    The distribution is exact up to 60 values (Kendall, Rank Correlation Methods, 1970: the orders
    of a multiset, counted by their inversions). For more values, it is a normal distribution of the
    same variance, with Kendall's correction for continuity.
    """
    return seasonal_kendall([values])


def seasonal_kendall(seasons: Sequence[Sequence[float]]) -> Trend:
    """Trend of several series at once (Hirsch, Slack and Smith, Water Resources Research 18, 1982).

    Values are compared only within their own series. The S of the result is the sum of the series'
    S; the series are assumed to be independent.
    """
    s = sum(map(kendall_s, seasons))
    every = [_ties(season) for season in seasons]
    if len(seasons) > EXACT_SEASONS or any(len(season) > EXACT_VALUES for season in seasons):
        return Trend(s, _normal_p(s, sum(map(_variance, every))))
    total = {0: 1.0}
    for ties in every:
        distribution: dict[int, float] = defaultdict(float)
        for (sum_s, chance), (own_s, own_chance) in product(total.items(), _chances(ties).items()):
            distribution[sum_s + own_s] += chance * own_chance
        total = distribution
    return Trend(s, _beyond(total, s))


def theil_sen(values: Sequence[float]) -> float:
    """The median slope of all pairs, per step of their order (Theil, 1950; Sen, J. Am. Stat. Assoc.
    63, 1968); ValueError for fewer than two values.
    """
    pairs = combinations(enumerate(values), 2)
    return median([(y - x) / (later - earlier) for (earlier, x), (later, y) in pairs])


def sign_p(count: int, number: int) -> float:
    """The two-sided p value of the sign test (Dixon and Mood, J. Am. Stat. Assoc. 41, 1946): the
    probability that the number of heads of ``number`` fair coins is at least as far from half of
    ``number`` as ``count`` is. 1 if ``number`` is 0.
    """
    fewer = min(count, number - count)
    tail = sum(math.comb(number, heads) for heads in range(fewer + 1))
    return min(1.0, float(2 * tail / 2**number))


def _ties(values: Sequence[float]) -> tuple[int, ...]:
    return tuple(sorted(Counter(values).values()))


@lru_cache(maxsize=1024)
def _chances(ties: tuple[int, ...]) -> dict[int, float]:
    """S → its probability, over all orders of a multiset.

    ``ties``: for each different value, the number of times that it occurs. The number of orders
    with k inversions is the coefficient of q^k in the q-multinomial.
    """
    counts = [1]
    placed = 0
    for size in ties:
        for tied in range(1, size + 1):
            placed += 1
            counts += [0] * (placed - tied)
            # Times (1 - q^placed), which needs the lower coefficients as they were, and divided by
            # (1 - q^tied), which adds the lower coefficients of the result.
            for at in reversed(range(placed, len(counts))):
                counts[at] -= counts[at - placed]
            for at in range(tied, len(counts)):
                counts[at] += counts[at - tied]
    pairs = len(counts) - 1  # pairs of different values
    orders = sum(counts)
    return {pairs - 2 * inversions: n / orders for inversions, n in enumerate(counts)}


def _beyond(chances: dict[int, float], s: int) -> float:
    """Probability of an S that is at least as far from 0 as ``s``."""
    return min(1.0, math.fsum(chance for value, chance in chances.items() if abs(value) >= abs(s)))


def _variance(ties: Sequence[int]) -> float:
    of_all, *of_ties = (n * (n - 1) * (2 * n + 5) for n in (sum(ties), *ties))
    return (of_all - sum(of_ties)) / 18


def _normal_p(s: int, variance: float) -> float:
    if not s or variance <= 0:
        return 1.0
    return 2 * (1 - NormalDist().cdf((abs(s) - 1) / math.sqrt(variance)))


LEAST_VALUES = 40
LEAST_PERIOD = 3
"""Minimum period, in values; shorter ones cannot be distinguished from scatter."""
CYCLES = 4
"""Minimum number of periods within the series."""
CORRELATED = 0.3
"""Minimum autocorrelation at the period. Its rise from the lowest autocorrelation at a shorter
distance must be at least as large. Short series need more (``CORRELATED_DEVIATIONS``)."""
CORRELATED_DEVIATIONS = 4.0
"""The same minimum as a multiple of 1 / √n, the standard deviation for independent values."""
AGAIN = 0.5
"""Minimum autocorrelation at twice the period, and in each half of the series, as a share of the
autocorrelation at the period."""
_FUNDAMENTAL = 0.8
NEAR, AS_WELL, REPEATS = 0.1, 0.98, 0.55
"""Maximum distance of the period from the peak, as a share (at least one value); minimum variance
that it explains, as a share of the most; minimum rise of the folded values' correlation at a part
of it, if that is the period."""


@dataclass(frozen=True, slots=True)
class PeriodicDips:
    """The periodic dips of a series."""

    period: float
    """Distance from one dip to the next, in values."""
    depth_share: float
    """Median depth of the dips below the series' median, as a share of that median."""


def periodic_dips(values: Sequence[float]) -> PeriodicDips | None:
    """The period of a series by its autocorrelation; ``None`` if the series has no period.

    Periods from 3 values to a quarter of all values are possible. The series needs at least 40
    values; their regression line is subtracted. At the period, the autocorrelation has a peak of at
    least 0.3 and at least 4/√n. (For independent values its standard deviation is 1/√n: Box and
    Jenkins, Time Series Analysis, 1970.) The peak's height above the lowest autocorrelation at a
    shorter distance is at least as large. At least half of the peak's autocorrelation is reached at
    twice the period, and in each half of the series at the period. So neither one dip nor a slow
    wave counts as a period. The peak may be at a multiple of the period, which need not be a whole
    number. Dips less than two values apart appear further apart, as in any sampled series.
    """
    n = len(values)
    middle = median(values) if values else 0.0
    if n < LEAST_VALUES or middle <= 0:
        return None
    flat, longest = _without_line(values), n // CYCLES
    correlations = _correlations(flat, min(2 * longest, n - 1))
    least = max(CORRELATED, CORRELATED_DEVIATIONS / math.sqrt(n))
    peaks = [at for at in range(LEAST_PERIOD, longest + 1) if _is_peak(correlations, at, least)]
    if not peaks:
        return None
    highest = max(correlations[at] for at in peaks)
    period = next(at for at in peaks if correlations[at] >= _FUNDAMENTAL * highest)
    halves = (flat[: n // 2], flat[n // 2 :])
    again = [correlations[2 * period], *(_correlations(half, period)[period] for half in halves)]
    if min(again) < AGAIN * correlations[period]:
        return None
    cycles = [flat[at : at + period] for at in range(0, n - period + 1, period)]
    depth = (median(flat) - median([min(cycle) for cycle in cycles])) / middle
    exact = _period(flat, period)
    return None if exact is None else PeriodicDips(exact, depth)


def _without_line(values: Sequence[float]) -> list[float]:
    """The values minus their least-squares line; their mean is then 0."""
    slope, start = linear_regression(range(len(values)), values)
    return [value - start - slope * at for at, value in enumerate(values)]


def _correlations(values: Sequence[float], longest: int) -> list[float]:
    """Autocorrelation at each distance from 0 upwards, from all pairs of values at that
    distance."""
    n, level = len(values), mean(values)
    off = [value - level for value in values]
    variance = math.fsum(value * value for value in off) / n
    if variance <= 0:
        return [0.0] * (longest + 1)
    return [
        math.fsum(a * b for a, b in zip(off, off[at:], strict=False)) / (n - at) / variance
        for at in range(longest + 1)
    ]


def _is_peak(correlations: Sequence[float], at: int, least: float) -> bool:
    neighbours = correlations[at - 1], correlations[at + 1]
    return (
        correlations[at] >= max(neighbours)
        and correlations[at] >= least
        and correlations[at] - min(correlations[1:at]) >= least
    )


def _profile(flat: Sequence[float], period: float, places: int) -> tuple[list[float], float]:
    """The mean value of each of so many places in a period, and the variance that they explain."""
    sums, counts = [0.0] * places, [0] * places
    for at, value in enumerate(flat):
        place = int(at % period * places / period) % places
        sums[place], counts[place] = sums[place] + value, counts[place] + 1
    means = [total / max(1, count) for total, count in zip(sums, counts, strict=True)]
    return means, math.fsum(total * mean for total, mean in zip(sums, means, strict=True))


def _period(flat: Sequence[float], peak: int) -> float | None:
    """The period whose autocorrelation has its peak there; ``None`` if it is below the minimum.

    Folding at the period explains the most variance (phase dispersion minimisation: Stellingwerf,
    Astrophysical Journal 224, 1978). ``peak`` may be a multiple of the period. A part of it is the
    period if the folded values repeat after it: the correlation there (of the two whole distances
    next to it, the sum) is at least ``REPEATS`` above its lowest value at shorter distances.
    """
    step = peak / (2 * len(flat))  # moves the places of the last values by half a value
    most = round(max(1.0, NEAR * peak) / step)
    tried = [peak + number * step for number in sorted(range(-most, most + 1), key=abs)]
    explained = {period: _profile(flat, period, peak)[1] for period in tried}
    least = AS_WELL * max(explained.values())
    period = next(period for period in tried if explained[period] >= least)
    profile, _ = _profile(flat, period, peak)
    middle = (min(profile) + max(profile)) / 2
    dips = sum(value < middle <= profile[at - 1] for at, value in enumerate(profile))
    if peak < LEAST_PERIOD * dips:
        return None
    same = [correlation(profile, (profile * 2)[at : at + peak]) for at in range(peak)]
    for parts in range(peak // LEAST_PERIOD, 1, -1):
        near = {peak // parts, -(-peak // parts)}
        lowest = max(0.0, min(same[1 : min(near)]))
        if sum(same[at] - lowest for at in near) >= REPEATS:
            return period / parts
    return period
