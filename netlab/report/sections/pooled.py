"""Several trials together: their single times from merged histograms, and means. Pure.

Percentiles of the trials cannot be averaged; their histograms can be added up.
"""

from __future__ import annotations

from collections.abc import Sequence

from netlab.results.readings import Reading
from netlab.stats import mean
from netlab.stats.histogram import Histogram, from_pairs, merge


def pooled(readings: Sequence[Reading], name: str = "rtt_histogram") -> Histogram | None:
    """The merged histograms of all trials; ``None`` if no trial has one that can be read."""
    histograms = []
    for reading in readings:
        pairs, bits = reading.series(name), reading.number(f"{name}_bits")
        if pairs and bits is not None:
            try:
                histograms.append(from_pairs([int(number) for number in pairs], int(bits)))
            except ValueError:
                continue
    return merge(histograms) if histograms else None


def mean_of(name: str, readings: Sequence[Reading], factor: float = 1) -> float | None:
    """The mean of a figure over the trials that have it, times ``factor``; ``None`` if none has."""
    values = [number for reading in readings if (number := reading.number(name)) is not None]
    return factor * mean(values) if values else None
