"""Statistics of a few trials: mean, median, and measures of scatter. No I/O.

Every deviation has the unit of its values; the variance has the square of this unit. The names are
exact, because published tables often confuse these measures: a column "Var" may hold a mean
absolute deviation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from itertools import chain, repeat


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean, from the exact sum, rounded once; ValueError without values."""
    try:
        near = math.fsum(values) / len(values)
        remainder = math.fsum(chain(values, repeat(-near, len(values)))) / len(values)
        # If adding a little more than the remainder does not change the float, no other float is
        # closer to the exact mean.
        if near + 1.01 * remainder == near:
            return near
    except (OverflowError, ValueError, ZeroDivisionError):
        pass
    return float(_exact_mean(values, "mean"))


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the two in the middle; ValueError without values."""
    if not values:
        raise ValueError("no values: nothing has a median")
    sorted_values = sorted(values)
    half = len(sorted_values) // 2
    return (
        sorted_values[half] if len(sorted_values) % 2 else mean(sorted_values[half - 1 : half + 1])
    )


def variance(values: Sequence[float]) -> float:
    """The sample variance: the sum of squared deviations divided by n - 1 (NIST/SEMATECH e-Handbook
    of Statistical Methods, 1.3.5.6); ValueError for fewer than two values.
    """
    if len(values) < 2:
        raise ValueError(f"{len(values)} values: a variance needs at least 2")
    middle = math.fsum(values) / len(values)
    deviations = [value - middle for value in values]
    # The second sum corrects the rounding of the mean (Chan, Golub and LeVeque, The American
    # Statistician 37, 1983: the corrected two-pass algorithm).
    squares = math.fsum(deviation * deviation for deviation in deviations)
    return max(0.0, squares - math.fsum(deviations) ** 2 / len(values)) / (len(values) - 1)


def standard_deviation(values: Sequence[float]) -> float:
    """The sample standard deviation: the square root of ``variance``, with the same errors."""
    return math.sqrt(variance(values))


def pooled_deviation(groups: Sequence[Sequence[float]]) -> tuple[float, int]:
    """The standard deviation within groups, pooled over the groups of at least two values, and its
    degrees of freedom; 0 and 0 without such groups (NIST/SEMATECH e-Handbook, 6.3.2).
    """
    repeated = [group for group in groups if len(group) > 1]
    degrees = sum(len(group) - 1 for group in repeated)
    squares = math.fsum((len(group) - 1) * variance(group) for group in repeated)
    return (math.sqrt(squares / degrees), degrees) if degrees else (0.0, 0)


def mean_absolute_deviation(values: Sequence[float]) -> float:
    """The mean distance from the mean (divisor n; NIST/SEMATECH e-Handbook, 1.3.5.6: "average
    absolute deviation"); ValueError without values.
    """
    middle = _exact_mean(values, "mean absolute deviation")
    return float(sum(abs(Fraction(value) - middle) for value in values) / len(values))


def median_absolute_deviation(values: Sequence[float]) -> float:
    """The median distance from the median (Hampel, J. Am. Stat. Assoc. 69, 1974), unscaled.

    Multiplied by 1.4826, it estimates the standard deviation of normal values. Raises ValueError
    without values.
    """
    middle = median(values)
    return median([abs(value - middle) for value in values])


def rounded(value: float, decimals: int) -> Decimal:
    """``value`` with this many decimals, halves away from zero, as in printed tables.

    The value is rounded from the shortest decimal that reads back as the same float. So 0.125 and
    91.465 are halves, although the float nearest to 91.465 is below it.
    """
    return Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)


def _exact_mean(values: Sequence[float], name: str) -> Fraction:
    if not values:
        raise ValueError(f"no values: nothing has a {name}")
    return Fraction(sum(map(Fraction, values))) / len(values)
