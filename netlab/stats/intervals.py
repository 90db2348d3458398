"""Intervals of a mean and of a median, and how many trials an interval of a wanted width takes.

Pure. The unit is the trial. Intervals within a trial are autocorrelated and are never replicates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from netlab.stats.student_t import t_quantile
from netlab.stats.summary import mean, median, variance

MIN_TRIALS = 3
"""Fewer trials have no interval: with two it is 12.7 standard errors wide either way."""

MIN_TRIALS_OF_MEDIAN = 6
"""Of five values the smallest and the largest enclose the median in 93.75 % of all cases only."""

MIN_PILOT = 5
"""Trials of the first of Stein's two stages."""


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


@dataclass(frozen=True, slots=True)
class MedianInterval:
    """A median with the two of the values that enclose the true one."""

    median: float
    low: float
    high: float
    n: int
    confidence: float
    """What was asked for."""
    coverage: float
    """What these two values cover: at least ``confidence``."""


def interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """Student's interval of the mean of independent trials, n of 3 and more.

    mean ± t(n - 1) s / √n with the sample deviation s ("Student", Biometrika 6, 1908). Assumes
    trials that are independent and of about normal scatter. ValueError for fewer trials, or a
    confidence outside of 0 to 1.
    """
    half, middle = _half_width(values, confidence), mean(values)
    return Interval(middle, middle - half, middle + half, len(values), confidence)


def median_interval(values: Sequence[float], confidence: float = 0.95) -> MedianInterval:
    """The interval of a median by order statistics, n of 6 and more.

    The k-th smallest and the k-th largest value enclose the median with probability
    1 - 2 P(B < k), B binomial with n and 1/2 (David and Nagaraja, Order Statistics, 3rd edition,
    7.1); k is the largest that gives the confidence. Assumes independent trials of one continuous
    distribution, of any shape. ValueError for fewer trials, or where even the smallest and the
    largest value do not give that confidence.
    """
    n = len(values)
    if n < MIN_TRIALS_OF_MEDIAN:
        raise ValueError(f"{n} trials: an interval of the median needs {MIN_TRIALS_OF_MEDIAN}")
    _check_confidence(confidence)
    ways = accumulate(math.comb(n, few) for few in range(n))
    coverages = [(2**n - 2 * below) / 2**n for below in ways]
    enough = [coverage for coverage in coverages if coverage >= confidence]
    if not enough:
        raise ValueError(
            f"{n} trials: their range covers the median in fewer than {confidence:.1%}"
        )
    ordered, k = sorted(values), len(enough)
    return MedianInterval(
        median(ordered), ordered[k - 1], ordered[-k], n, confidence, coverage=enough[-1]
    )


def half_width_share(values: Sequence[float], confidence: float = 0.95) -> float:
    """Half the width of ``interval`` as a share of the mean's size; its errors.

    Infinite where the mean is 0 and the values are not all alike.
    """
    half = _half_width(values, confidence)
    middle = math.fsum(values) / len(values)
    if half == 0:
        return 0.0
    return half / abs(middle) if middle else math.inf


def precise(values: Sequence[float], within: float, confidence: float = 0.95) -> bool:
    """Whether the interval of the mean was at most ± ``within`` (a share of the mean) wide at two
    looks running: with all ``values``, which are in the order of their trials, and without the
    last. Fewer than 4 values are never tight.

    Who stops at the first such look stops early where the scatter happens to look small: the true
    coverage of an interval reported then is below the one asked for. Of normal trials, ± 2.5 % at
    95 % asked for of 5 to 30 of them: 93 to 95 % over all cells, and 84 % over the cells that
    scatter by 8 % and got tight by chance (20,000 simulated cells each). Where exact coverage is
    wanted, see ``stein_trials``.
    """
    if len(values) <= MIN_TRIALS:
        return False
    return all(half_width_share(look, confidence) <= within for look in (values, values[:-1]))


def stein_trials(pilot: Sequence[float], half_width: float, confidence: float = 0.95) -> int:
    """How many trials in all give an interval of the mean of at most ± ``half_width``, in the
    unit of the values, with exact coverage.

    The larger of the pilot's n and ⌈t(n - 1)² s² / half_width²⌉ with the pilot's deviation s
    (Stein, Annals of Mathematical Statistics 16, 1945). ValueError for a pilot of fewer than 5, or
    a half width that is not above 0.
    """
    _check_pilot(pilot)
    if not half_width > 0:
        raise ValueError(f"an interval cannot be ± {half_width} wide")
    wanted = (_t_of(confidence, len(pilot) - 1) / half_width) ** 2 * variance(pilot)
    return max(len(pilot), math.ceil(wanted))


def stein_interval(
    values: Sequence[float], pilot_trials: int, confidence: float = 0.95
) -> Interval:
    """The interval that belongs to ``stein_trials``: the mean of all trials, with the deviation
    and the degrees of freedom of the first ``pilot_trials`` alone. It is these that make the
    coverage exact: n was chosen by them, so the later ones say nothing about n.
    """
    pilot = values[:pilot_trials]
    _check_pilot(pilot)
    half = _t_of(confidence, len(pilot) - 1) * math.sqrt(variance(pilot) / len(values))
    middle = mean(values)
    return Interval(middle, middle - half, middle + half, len(values), confidence)


def _half_width(values: Sequence[float], confidence: float) -> float:
    n = len(values)
    if n < MIN_TRIALS:
        raise ValueError(f"{n} trials: an interval needs {MIN_TRIALS}")
    return _t_of(confidence, n - 1) * math.sqrt(variance(values) / n)


def _check_pilot(pilot: Sequence[float]) -> None:
    if len(pilot) < MIN_PILOT:
        raise ValueError(f"a pilot of {len(pilot)} trials: it needs {MIN_PILOT}")


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence of {confidence}: it lies between 0 and 1")


def _t_of(confidence: float, degrees: int) -> float:
    _check_confidence(confidence)
    return t_quantile((1 + confidence) / 2, degrees)
