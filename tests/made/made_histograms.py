"""Histograms of values, as a probe makes them."""

from __future__ import annotations

from collections.abc import Iterable

from netlab.stats.histogram import BITS, Histogram, bucket_of


def of_values(values: Iterable[int], bits: int = BITS) -> Histogram:
    """The histogram of some values, each from 0 to 2^64 - 1."""
    counts: dict[int, int] = {}
    for value in values:
        bucket = bucket_of(value, bits)
        counts[bucket] = counts.get(bucket, 0) + 1
    return Histogram(bits, counts)


def to_pairs(histogram: Histogram) -> list[int]:
    """bucket, count, bucket, count, … in ascending order, as records hold it."""
    return [number for pair in histogram.counts.items() for number in pair]
