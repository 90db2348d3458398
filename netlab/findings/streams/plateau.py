"""Plateau: the rate of TCP while its data flows, apart from the times in which it stood. Pure.

A link, a shaper or others on it hold TCP to one rate all the while; an end that has no CPU stops it
for some hundredths of a second, and in between it has all that the path carries. What TCP said of
itself every 10 ms tells one from the other.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from statistics import fmean

from netlab.findings.sample import StreamSample
from netlab.findings.streams.host_limits import COSTS
from netlab.results.tcp_series import TcpSeries

STEP_US = 15_000
"""Least time that a rate is taken over, two points: acknowledgements come in lumps."""

STEPS = 10
"""Least number of them."""

FLAT = 0.02
"""Share by which the rates of a plateau differ."""

MANY = 0.25
"""Share of the steps that it has at least."""

STANDS = 0.02
"""Share of its plateau that throughput must lack to have stood: as far as the plateau is known."""


def plateau_bit_per_s(series: TcpSeries | None) -> float | None:
    """The rate that more of its steps have than any other, a quarter of them at least; ``None``
    where none has so many, or too few are known.
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
    """Its plateau where it has one, and that is above its throughput by more than a rate scatters;
    else its throughput.
    """
    return sample.throughput_bit_per_s / (1 - stood_share(sample))


def stood_share(sample: StreamSample) -> float:
    """What throughput lacks of the plateau, as a share of it: 0 where it has none."""
    plateau = sample.plateau_bit_per_s
    if plateau is None:
        return 0.0
    share = 1 - sample.throughput_bit_per_s / plateau
    return share if share > STANDS else 0.0


def stood_for_cpu(sample: StreamSample) -> bool:
    """Whether it stood, and an end had no CPU for half of that time and more."""
    stood = stood_share(sample)
    return stood > 0 and sample.longest_wait_share >= COSTS * stood


def _rates(series: TcpSeries) -> Iterator[float]:
    """bit/s of each step."""
    points = zip(series.time_us, series.delivered_bytes, strict=False)
    begun = next(points, None)
    for point in points:
        if begun is not None and point[0] - begun[0] >= STEP_US:
            yield 8e6 * (point[1] - begun[1]) / (point[0] - begun[0])
            begun = point
