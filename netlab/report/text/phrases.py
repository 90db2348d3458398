"""What a terminal and the page both say of a figure: share of the ceiling, percentiles. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from netlab.messages import Message, _, joined
from netlab.results.labels import figure
from netlab.stats.histogram import Histogram
from netlab.units import format_rate, format_seconds

TRIP_SHARES = (0.5, 0.9, 0.99)
"""Percentiles of the round trips that are told."""
_GIGABIT = 1e9


def share_words(throughput_bit_per_s: float, ceiling_bit_per_s: float) -> Message:
    """``99.1 % of the wire ceiling (94.15 Mbit/s)``."""
    share = throughput_bit_per_s / ceiling_bit_per_s
    return _(
        "{share} % of the wire ceiling ({ceiling})",
        share=f"{100 * share:.1f}",
        ceiling=format_rate(ceiling_bit_per_s),
    )


def throughput(bit_per_s: float) -> str:
    """Two decimals always: the figure is looked up in a table that has them.

    From 1000 Mbit/s on three of Gbit/s, as the tables have it.
    """
    unit, scale = rate_unit(bit_per_s)
    return f"{figure(bit_per_s / scale, 3 if scale == _GIGABIT else 2)} {unit}"


def throughput_with_interval(bit_per_s: float, half_width_bit_per_s: float) -> Message:
    """``93.27 ± 0.48 Mbit/s``, in Gbit/s as ``throughput`` is."""
    unit, scale = rate_unit(bit_per_s)
    return joined(" ", [with_interval(bit_per_s / scale, half_width_bit_per_s / scale), unit])


def rate_unit(most_bit_per_s: float) -> tuple[str, float]:
    """Gbit/s for figures up to 1000 Mbit/s and more as they are printed, else Mbit/s; its bit/s."""
    if round(abs(most_bit_per_s) / 1e6, 2) >= 1000:
        return "Gbit/s", _GIGABIT
    return "Mbit/s", 1e6


def percentile_words(
    histogram: Histogram,
    shares: Sequence[float] = TRIP_SHARES,
    spell: Callable[[float], str] = format_seconds,
) -> tuple[Message, ...]:
    """``99 % within 177 µs``, as far as so many values can tell."""
    found = zip(shares, histogram.percentiles(shares), strict=True)
    return tuple(
        _("{share} % within {time}", share=f"{100 * share:g}", time=spell(ns / 1e9))
        for share, ns in found
        if ns is not None
    )


def in_us(seconds: float) -> str:
    """``177 µs``, as tables have it."""
    return joined(" ", [figure(1e6 * seconds, 1), "µs"])


def with_interval(value: float, half_width: float) -> Message:
    """``93.27 ± 0.48``: as many digits as the interval bears, which has two of its own."""
    decimals = 2
    if half_width > 0:
        decimals = min(4, max(0, 1 - math.floor(math.log10(half_width))))
    return joined(" ± ", [figure(value, decimals), f"{half_width:.{decimals}f}"])


def spanned(least: str, most: str) -> str:
    """``80.1 to 99.2``; one of the two where both read alike."""
    return least if least == most else _("{least} to {most}", least=least, most=most)


def listed(words: Iterable[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    *first, last = words
    return _("{several} and {last}", several=joined(", ", first), last=last) if first else last
