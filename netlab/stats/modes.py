"""Two groups of times in one histogram: the peak of each group, and the share of the shorter times.

The density of the times' logarithms is smoothed by a Gaussian kernel (Silverman, Density
Estimation, 1986). The groups are separated at the place where the density is smallest in proportion
to the lower one of the peaks on both sides. Counts have Poisson scatter, so a dip of few counts
proves nothing. No I/O.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from netlab.stats.histogram import Histogram, lowest_of, middle_of, width_of

LEAST_COUNT = 200
"""Minimum number of counted times; fewer show no clear shape."""
LEAST_SHARE = 0.1
"""Minimum share of all times close to each peak."""
DEEP = 0.5
"""Maximum of the lowest density between the peaks, as a share of the lower peak's density."""
APART = 1.2
"""Minimum ratio of the longer peak's time to the shorter peak's time."""
SCATTERS = 5.0
"""Minimum depth of the dip, in standard deviations of its counts."""

_STEP = 0.01
"""Step of the grid of logarithms; a bucket with 7 bits is a little narrower."""
_KERNEL_STEPS = 3
_CLOSE = math.log(1.3)
"""Times within this distance of a peak, as a difference of logarithms, count as close to the
peak."""
_FEWEST_BUCKETS = 4
"""Minimum number of buckets that the times near a peak fill. If they fill fewer, they are ticks of
a coarse clock."""


@dataclass(frozen=True, slots=True)
class Modes:
    """Two groups of times."""

    lower: int
    """Peak of the shorter times."""
    upper: int
    lower_share: float
    """Share of all times below the cut; 0 to 1."""


def two_modes(times: Histogram) -> Modes | None:
    """Both groups; ``None`` if the histogram does not show two groups.

    The peaks of two groups are at least 20 % apart. Each group has at least a tenth of all times
    within 30 % of its peak. Between the peaks, the density falls to half of the lower peak or less.
    """
    step = max(_STEP, 2.0**-times.bits)
    if times.count < LEAST_COUNT or times.percentile(0.5) == 0:
        return None
    grid, first = _binned(times, step)
    density = _smoothed(grid)
    valley = _cut(density, grid)
    if valley is None:
        return None
    low = max(range(valley), key=density.__getitem__)
    high = max(range(valley + 1, len(density)), key=density.__getitem__)
    if not _shown(density, low, valley, high) or (high - low) * step < math.log(APART):
        return None
    lower, upper = (math.exp((first + at) * step) for at in (low, high))
    close = _CLOSE / step
    for at, (begin, end) in ((low, (0, valley)), (high, (valley + 1, len(grid)))):
        near = range(max(begin, math.ceil(at - close)), min(end, math.floor(at + close) + 1))
        if sum(grid[index] for index in near) < LEAST_SHARE * times.count:
            return None
    if any(_coarse(times, place) for place in (lower, upper)):
        return None
    return Modes(round(lower), round(upper), sum(grid[:valley]) / times.count)


def _binned(times: Histogram, step: float) -> tuple[list[float], int]:
    """Counts on a grid of logarithms, and the logarithm of the grid's first place, in steps.

    The count of a bucket is spread over all places within the bucket. Otherwise wide buckets on a
    fine grid would look like peaks.
    """
    spread: dict[int, float] = {}
    for bucket, count in times.counts.items():
        if middle_of(bucket, times.bits) < 1:
            continue
        lowest, width = lowest_of(bucket, times.bits), width_of(bucket, times.bits)
        begin, end = math.log(max(lowest, 0.5)) / step, math.log(lowest + width) / step
        for at in range(math.floor(begin + 0.5), math.floor(end + 0.5) + 1):
            part = min(end, at + 0.5) - max(begin, at - 0.5)
            if part > 0:
                spread[at] = spread.get(at, 0.0) + count * part / (end - begin)
    first, last = min(spread), max(spread)
    return [spread.get(at, 0.0) for at in range(first, last + 1)], first


def _smoothed(grid: Sequence[float]) -> list[float]:
    reach = 4 * _KERNEL_STEPS
    kernel = [math.exp(-0.5 * (at / _KERNEL_STEPS) ** 2) for at in range(-reach, reach + 1)]
    total = sum(kernel)
    density = [0.0] * len(grid)
    for place, count in enumerate(grid):
        if count:
            for at in range(max(0, place - reach), min(len(grid), place + reach + 1)):
                density[at] += count * kernel[at - place + reach] / total
    return density


def _cut(density: Sequence[float], grid: Sequence[float]) -> int | None:
    """The place where the density is smallest in proportion to the lower one of the peaks on both
    sides. Only places with enough times on each side count; ``None`` if there is none.
    """
    below = [*accumulate(density, max)]
    above = [*accumulate(reversed(density), max)][::-1]
    running_sums, total = [*accumulate(grid)], sum(grid)
    least = LEAST_SHARE * total
    places = [
        at
        for at in range(1, len(density) - 1)
        if running_sums[at - 1] >= least and total - running_sums[at] >= least
    ]
    return min(places, key=lambda at: density[at] / min(below[at], above[at]), default=None)


def _shown(density: Sequence[float], low: int, valley: int, high: int) -> bool:
    """Whether the dip is deep, and deeper than counts scatter by chance.

    A kernel of standard deviation s covers as many times as a rectangle of the width 2 sqrt(pi) s.
    """
    window = 2 * math.sqrt(math.pi) * _KERNEL_STEPS
    peak, dip = window * min(density[low], density[high]), window * density[valley]
    return dip <= DEEP * peak and peak - dip >= SCATTERS * math.sqrt(peak + dip)


def _coarse(times: Histogram, place: float) -> bool:
    """Whether the times near a place have only few different values, as with a coarse clock."""
    around = (place / math.exp(_CLOSE / 2), place * math.exp(_CLOSE / 2))
    buckets = [
        bucket for bucket in times.counts if around[0] <= middle_of(bucket, times.bits) <= around[1]
    ]
    return len(buckets) < _FEWEST_BUCKETS
