"""Trends over the order of values, by Kendall's S and the sign test.

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
from statistics import NormalDist

from netlab.stats import median

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
