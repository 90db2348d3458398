"""Statistics of trials: mean, median, the interval of a mean. Pure; each cites its source.

The unit is the trial. Intervals within a trial are autocorrelated and are never replicates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

MIN_TRIALS = 3
"""Fewer trials have no interval: with two it is 12.7 standard errors wide either way."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with the interval that covers it; all in the unit of the values."""

    mean: float
    low: float
    high: float
    n: int
    confidence: float

    @property
    def half_width(self) -> float:
        """From the mean to either end."""
        return (self.high - self.low) / 2


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean, from the exact sum, rounded once; ValueError where there are none."""
    if not values:
        raise ValueError("no values: nothing has a mean")
    return float(sum(map(Fraction, values)) / len(values))


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the two in the middle; ValueError where there are none."""
    if not values:
        raise ValueError("no values: nothing has a median")
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else mean(ordered[half - 1 : half + 1])


def interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """Student's interval of the mean of independent trials, n of 3 and more.

    mean ± t(n - 1) s / √n with the sample deviation s ("Student", Biometrika 6, 1908).
    ValueError for fewer trials, or a confidence outside of 0 to 1.
    """
    n = len(values)
    if n < MIN_TRIALS:
        raise ValueError(f"{n} trials: an interval needs {MIN_TRIALS}")
    exact = sum(map(Fraction, values)) / n
    variance = sum((Fraction(value) - exact) ** 2 for value in values) / (n - 1)
    half = t_quantile((1 + confidence) / 2, n - 1) * math.sqrt(variance / n)
    middle = float(exact)
    return Interval(middle, middle - half, middle + half, n, confidence)


def t_quantile(probability: float, degrees: int) -> float:
    """The value that Student's t with ``degrees`` of freedom stays below with that probability.

    ``probability`` lies between 0 and 1, ``degrees`` is 1 or more, else ValueError. By bisection
    of the closed form of the distribution for whole degrees of freedom (Abramowitz and Stegun,
    26.7.3 and 26.7.4), to the precision of a float.
    """
    if not 0 < probability < 1 or degrees < 1:
        raise ValueError(f"no t quantile at {probability} with {degrees} degrees of freedom")
    if probability < 0.5:
        return -t_quantile(1 - probability, degrees)
    inside = 2 * probability - 1
    low, high = 0.0, math.pi / 2
    while low < (middle := (low + high) / 2) < high:
        if _share_within(middle, degrees) < inside:
            low = middle
        else:
            high = middle
    return math.sqrt(degrees) * math.tan(low)


def _share_within(theta: float, degrees: int) -> float:
    """P(|T| <= t) for t = √degrees tan θ: a finite series in cos θ."""
    cosine = math.cos(theta)
    odd = degrees % 2
    term = total = cosine if odd else 1.0
    for step in range(2 + odd, degrees, 2):
        term *= cosine * cosine * (step - 1) / step
        total += term
    if not odd:
        return math.sin(theta) * total
    return 2 / math.pi * (theta + (math.sin(theta) * total if degrees > 1 else 0.0))


def rounded(value: float, decimals: int) -> Decimal:
    """``value`` with that many decimals, halves away from zero, as printed tables have them.

    Decides by the shortest decimal that reads back as the float: 0.125 and 91.465 are halves,
    though the float nearest to 91.465 lies below it.
    """
    return Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
