"""Periodic dips in a series of values at equal distances. No I/O."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from netlab.stats.summary import mean, median

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
