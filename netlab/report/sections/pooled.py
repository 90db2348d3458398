"""What several trials come to together: their single times, out of histograms, and means. Pure.

Percentiles of the trials cannot be averaged; their histograms can be added up.
"""

from __future__ import annotations

from collections.abc import Sequence

from netlab.results.readings import Reading
from netlab.stats import mean
from netlab.stats.histogram import Histogram, from_pairs, merge


def pooled(readings: Sequence[Reading], name: str = "rtt_histogram") -> Histogram | None:
    """All values of that histogram; ``None`` where no trial has one that can be read."""
    found = []
    for reading in readings:
        pairs, bits = reading.series(name), reading.number(f"{name}_bits")
        if pairs and bits is not None:
            try:
                found.append(from_pairs([int(each) for each in pairs], int(bits)))
            except ValueError:
                continue
    return merge(found) if found else None


def mean_of(name: str, readings: Sequence[Reading], factor: float = 1) -> float | None:
    """The mean of a figure over the trials that have it, times ``factor``; ``None`` of none."""
    known = [number for reading in readings if (number := reading.number(name)) is not None]
    return factor * mean(known) if known else None
