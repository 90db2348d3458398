"""Combines several trials: merges the histograms of their single times; takes means. No I/O.

Percentiles of different trials cannot be averaged, but their histograms can be added up. A record
is the data of one trial (one measurement).
"""

from __future__ import annotations

from collections.abc import Sequence

from netlab.experiment.records import Record
from netlab.stats import mean
from netlab.stats.histogram import Histogram, from_pairs, merge


def pooled(records: Sequence[Record], name: str = "rtt_histogram") -> Histogram | None:
    """The merged histograms of all trials; ``None`` if no trial has one that can be read."""
    histograms = []
    for record in records:
        pairs, bits = record.series(name), record.number(f"{name}_bits")
        if pairs and bits is not None:
            try:
                histograms.append(from_pairs([int(number) for number in pairs], int(bits)))
            except ValueError:
                continue
    return merge(histograms) if histograms else None


def mean_of(name: str, records: Sequence[Record], factor: float = 1) -> float | None:
    """Mean over the trials that have the figure, times ``factor``; ``None`` if no trial has it."""
    values = [number for record in records if (number := record.number(name)) is not None]
    return factor * mean(values) if values else None
