"""The single times of several trials together, out of their histograms. Pure.

Percentiles of the trials cannot be averaged; their histograms can be added up.
"""

from __future__ import annotations

from collections.abc import Sequence

from netlab.histogram import Histogram, from_pairs, merge
from netlab.report.readings import Reading


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
