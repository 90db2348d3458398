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
from itertools import combinations, pairwise, product
from statistics import NormalDist

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
    s, ties = kendall_s(values), _ties(values)
    if len(values) > EXACT_VALUES:
        return Trend(s, _normal_p(s, _variance(ties)))
    return Trend(s, _beyond(_chances(ties), s))


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
    wave counts as a period.
    """
    n = len(values)
    middle = median(values) if values else 0.0
    if n < LEAST_VALUES or middle <= 0:
        return None
    flat = _without_line(values)
    longest = n // CYCLES
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
    return PeriodicDips(_spacing(flat, period, depth * middle), depth)


def _without_line(values: Sequence[float]) -> list[float]:
    """The values minus their least-squares line; their mean is then 0."""
    n, level = len(values), mean(values)
    centre = (n - 1) / 2
    across = math.fsum((at - centre) * value for at, value in enumerate(values))
    slope = across / (n * (n * n - 1) / 12)
    return [value - level - slope * (at - centre) for at, value in enumerate(values)]


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


def _spacing(flat: Sequence[float], period: int, depth: float) -> float:
    """Mean distance between dips, which need not be a whole number. If the dips do not show this
    distance clearly, the result is ``period``.

    ``period`` is the distance at the peak of the autocorrelation. If the true distance is not a
    whole number, this peak may be at a multiple of the true distance.
    """
    begins = _begins(flat, median(flat) - depth / 2, median(flat) - depth / 4)
    if len(begins) <= CYCLES - 1:
        return float(period)
    apart = [later - earlier for earlier, later in pairwise(begins)]
    usual = median(apart)
    near = [gap for gap in apart if abs(gap - usual) <= max(1.0, 0.2 * usual)]
    if not near:
        return float(period)
    times = max(1, round(period / mean(near)))
    is_whole = abs(period / times - mean(near)) <= max(0.5, 0.1 * usual)
    return mean(near) if is_whole and 4 * len(near) > 3 * len(apart) else float(period)


def _begins(flat: Sequence[float], low: float, high: float) -> list[int]:
    """The places where the series falls below ``low`` after it was above ``high``."""
    begins, is_up = [], False
    for at, value in enumerate(flat):
        if is_up and value < low:
            begins.append(at)
            is_up = False
        is_up = is_up or value > high
    return begins
