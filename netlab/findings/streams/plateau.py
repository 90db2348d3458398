"""Plateau: the rate of TCP while its data flow, without the times in which the data stood still.

A link, a shaper or other traffic limits TCP to one rate all the time. An end without a CPU stops
TCP for some hundredths of a second; between these stops TCP uses all that the path carries. The
series of tcp_info, sampled every 10 ms, shows which of the two is the case. No I/O.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from statistics import fmean

from netlab.findings.sample import StreamSample
from netlab.findings.streams.host_limits import COSTS
from netlab.results.tcp_series import TcpSeries

STEP_US = 15_000
"""Minimum length of a step, the time between two samples over which a rate is computed:
acknowledgements arrive in bursts."""

STEPS = 10
"""Minimum number of steps in a series."""

FLAT = 0.02
"""Share by which the rates of a plateau may differ."""

MANY = 0.25
"""Minimum share of the steps that are at the plateau."""

STANDS = 0.02
"""Data stood still if throughput is below the plateau by at least this share: the accuracy of a
plateau."""


def plateau_bit_per_s(series: TcpSeries | None) -> float | None:
    """The most frequent rate of the steps, in bit/s; at least a quarter of them must have it.

    ``None`` if no rate is that frequent, or if too few steps are known.
    """
    rates = sorted(_rates(series)) if series is not None else []
    if len(rates) < STEPS:
        return None
    spans = (
        (bisect_right(rates, (1 + FLAT) * low) - first, first)
        for first, low in enumerate(rates)
        if low > 0
    )
    number, first = max(spans, default=(0, 0))
    return fmean(rates[first : first + number]) if number >= MANY * len(rates) else None


def flowing_bit_per_s(sample: StreamSample) -> float:
    """A stream's plateau if it has a plateau clearly above its throughput; otherwise its
    throughput.
    """
    return sample.throughput_bit_per_s / (1 - plateau_gap_share(sample))


def plateau_gap_share(sample: StreamSample) -> float:
    """Difference between plateau and throughput, as a share of the plateau; 0 without a plateau, or
    if the difference is at most ``STANDS``.
    """
    plateau = sample.plateau_bit_per_s
    if plateau is None:
        return 0.0
    share = 1 - sample.throughput_bit_per_s / plateau
    return share if share > STANDS else 0.0


def stood_for_cpu(sample: StreamSample) -> bool:
    """Whether data stood still, and an end had no CPU for at least half of that time."""
    gap_share = plateau_gap_share(sample)
    return gap_share > 0 and sample.longest_wait_share >= COSTS * gap_share


def _rates(series: TcpSeries) -> Iterator[float]:
    """The rate of each step in bit/s."""
    points = zip(series.time_us, series.delivered_bytes, strict=False)
    start = next(points, None)
    for point in points:
        if start is not None and point[0] - start[0] >= STEP_US:
            yield 8e6 * (point[1] - start[1]) / (point[0] - start[0])
            start = point
