"""Histogram: counts of times in log-linear buckets, as the probes send them; and its two groups.

The values are whole numbers of at least 0. With b bits, each value below 2^b has its own bucket.
From 2^b on, each range from one power of two to the next has 2^b buckets of equal width. So a
bucket is never wider than 1 / 2^b of the values in it (0.8 % with the 7 bits that the probes use).
This is the layout of G. Tene's HdrHistogram; docs/protocol.md describes it in full. Two histograms
can be added without loss: the percentiles of the sum are the percentiles of all values. (A mean of
percentiles is not a percentile of all values.)

For groups, the density of the times' logarithms is smoothed by a Gaussian kernel (Silverman,
Density Estimation, 1986). They are separated where the density is smallest in proportion to the
lower one of the peaks on both sides. Counts have Poisson scatter, so a dip of few counts proves
nothing.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from types import MappingProxyType

BITS = 7
"""Bits of the probes' histograms."""

MAX_BITS = 20
MAX_VALUE_BITS = 64


def bucket_of(value: int, bits: int = BITS) -> int:
    """The bucket that counts ``value``; ValueError for a value below 0 or of more than 64 bits."""
    if not 0 <= value < 1 << MAX_VALUE_BITS:
        raise ValueError(f"{value} is outside of 0 to 2^{MAX_VALUE_BITS} - 1")
    if value < 1 << bits:
        return value
    exponent = value.bit_length() - 1 - bits
    return ((exponent + 1) << bits) + ((value >> exponent) - (1 << bits))


def lowest_of(bucket: int, bits: int = BITS) -> int:
    """The lowest value that a bucket counts."""
    if bucket < 1 << bits:
        return bucket
    exponent = (bucket >> bits) - 1
    return ((1 << bits) + bucket % (1 << bits)) << exponent


def width_of(bucket: int, bits: int = BITS) -> int:
    """The number of values that share a bucket, at least 1."""
    return 1 if bucket < 1 << bits else 1 << ((bucket >> bits) - 1)


def middle_of(bucket: int, bits: int = BITS) -> int:
    """The value that represents a bucket: the middle one, or the lower one of two in the middle."""
    return lowest_of(bucket, bits) + (width_of(bucket, bits) - 1) // 2


@dataclass(frozen=True, slots=True)
class Histogram:
    """The number of values in each bucket; immutable."""

    bits: int
    """1 to 20. From one power of two to the next, there are 2^bits buckets."""
    counts: Mapping[int, int]
    """Bucket → count of at least 1, in ascending order of the buckets."""

    def __post_init__(self) -> None:
        if not 1 <= self.bits <= MAX_BITS:
            raise ValueError(f"{self.bits} bits: a histogram has 1 to {MAX_BITS} bits")
        last = bucket_of((1 << MAX_VALUE_BITS) - 1, self.bits)
        for bucket, number in self.counts.items():
            if not 0 <= bucket <= last:
                raise ValueError(
                    f"bucket {bucket}: with {self.bits} bits, the buckets are 0 to {last}"
                )
            if number < 1:
                raise ValueError(f"bucket {bucket} has the count {number}: a count is at least 1")
        object.__setattr__(self, "counts", MappingProxyType(dict(sorted(self.counts.items()))))

    @property
    def count(self) -> int:
        """The number of values."""
        return sum(self.counts.values())

    def percentile(self, share: Fraction | float) -> int | None:
        """The smallest value that at least this share of all values do not exceed.

        ``share`` is above 0 and below 1. The method is the nearest rank, without interpolation; the
        error is at most half a bucket. ``None`` for fewer than 1 / (1 - share) values: the 99.9th
        percentile of 100 values would only be their maximum. ValueError for a share outside of 0
        to 1.
        """
        return self.percentiles([share])[0]

    def percentiles(self, shares: Sequence[Fraction | float]) -> list[int | None]:
        """``percentile`` of each share, in one pass through the buckets."""
        sums = [*accumulate(self.counts.values())]
        total, buckets = self.count, [*self.counts]
        percentiles: list[int | None] = []
        for share in shares:
            exact = share if isinstance(share, Fraction) else Fraction(repr(share))
            numerator, denominator = exact.as_integer_ratio()
            if not 0 < numerator < denominator:
                raise ValueError(f"a share of {share}: a share must be between 0 and 1")
            rank = -(-total * numerator // denominator)
            has_percentile = total * (denominator - numerator) >= denominator
            at = bisect_left(sums, rank)
            percentiles.append(middle_of(buckets[at], self.bits) if has_percentile else None)
        return percentiles

    def coarser(self, bits: int) -> Histogram:
        """The same values in wider buckets. Raises ValueError for ``bits`` above ``self.bits``."""
        if bits > self.bits:
            raise ValueError(f"a histogram of {self.bits} bits cannot be changed to {bits} bits")
        counts: Counter[int] = Counter()
        for bucket, number in self.counts.items():
            # Each narrow bucket lies within one wide bucket: both begin at multiples of their
            # width, and widths are powers of two.
            counts[bucket_of(lowest_of(bucket, self.bits), bits)] += number
        return Histogram(bits, counts)


def from_pairs(pairs: Sequence[int], bits: int = BITS) -> Histogram:
    """The histogram of a recorded list such as ``rtt_histogram``: bucket, count, bucket, count, …

    Raises ValueError with an explanation if the list has any other content.
    """
    if len(pairs) % 2:
        raise ValueError(f"{len(pairs)} numbers: buckets and counts come in pairs")
    buckets, numbers = pairs[::2], pairs[1::2]
    if any(type(number) is not int for number in pairs):
        raise ValueError("buckets and counts are whole numbers")
    if any(upper <= lower for lower, upper in pairwise(buckets)):
        raise ValueError("the buckets are not in ascending order")
    return Histogram(bits, dict(zip(buckets, numbers, strict=True)))


def merge(histograms: Iterable[Histogram]) -> Histogram:
    """The histogram of the values of all histograms, with the bits of the coarsest one.

    Raises ValueError without histograms.
    """
    every = list(histograms)
    if not every:
        raise ValueError("no histograms: nothing to merge")
    bits = min(histogram.bits for histogram in every)
    counts: Counter[int] = Counter()
    for histogram in every:
        counts.update(histogram.coarser(bits).counts)
    return Histogram(bits, counts)


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
    sums, total = [*accumulate(grid)], sum(grid)
    least, inner = LEAST_SHARE * total, range(1, len(density) - 1)
    places = [at for at in inner if sums[at - 1] >= least and total - sums[at] >= least]
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
    near = math.exp(_CLOSE / 2)
    middles = (middle_of(bucket, times.bits) for bucket in times.counts)
    return sum(place / near <= middle <= place * near for middle in middles) < _FEWEST_BUCKETS
