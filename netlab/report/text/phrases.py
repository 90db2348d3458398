"""Phrases that a terminal and the page share: share of the ceiling, percentiles, lists. No I/O.

The wire ceiling is the highest payload rate that the link's framing allows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from netlab.messages import Message, _, joined
from netlab.results.labels import figure
from netlab.stats.histogram import Histogram
from netlab.units import format_rate, format_seconds

TRIP_SHARES = (0.5, 0.9, 0.99)
"""Percentiles of the round trips that the texts state."""
_GIGABIT = 1e9


def share_words(throughput_bit_per_s: float, ceiling_bit_per_s: float) -> Message:
    """A text such as ``99.1 % of the wire ceiling (94.15 Mbit/s)``."""
    share = throughput_bit_per_s / ceiling_bit_per_s
    return _(
        "{share} % of the wire ceiling ({ceiling})",
        share=f"{100 * share:.1f}",
        ceiling=format_rate(ceiling_bit_per_s),
    )


def throughput(bit_per_s: float) -> str:
    """A rate in Mbit/s with two decimals, or from 1000 Mbit/s upwards in Gbit/s with three.

    The tables have the same format, so that a reader can find the figure there.
    """
    unit, scale = rate_unit(bit_per_s)
    return f"{figure(bit_per_s / scale, 3 if scale == _GIGABIT else 2)} {unit}"


def throughput_with_interval(bit_per_s: float, half_width_bit_per_s: float) -> Message:
    """A text such as ``93.27 ± 0.48 Mbit/s``; in Gbit/s under the same rule as ``throughput``."""
    unit, scale = rate_unit(bit_per_s)
    return joined(" ", [with_interval(bit_per_s / scale, half_width_bit_per_s / scale), unit])


def rate_unit(most_bit_per_s: float) -> tuple[str, float]:
    """(name, size in bit/s) of the unit: Gbit/s from a printed 1000 Mbit/s upwards, else Mbit/s."""
    if round(abs(most_bit_per_s) / 1e6, 2) >= 1000:
        return "Gbit/s", _GIGABIT
    return "Mbit/s", 1e6


def percentile_words(
    histogram: Histogram,
    shares: Sequence[float] = TRIP_SHARES,
    spell: Callable[[float], str] = format_seconds,
) -> tuple[Message, ...]:
    """Texts such as ``99 % within 177 µs``; only for percentiles that enough values support."""
    percentiles = zip(shares, histogram.percentiles(shares), strict=True)
    return tuple(
        _("{share} % within {time}", share=f"{100 * share:g}", time=spell(ns / 1e9))
        for share, ns in percentiles
        if ns is not None
    )


def in_us(seconds: float) -> str:
    """A time such as ``177 µs``, as in the tables."""
    return joined(" ", [figure(1e6 * seconds, 1), "µs"])


def with_interval(value: float, half_width: float) -> Message:
    """A text such as ``93.27 ± 0.48``.

    The interval has two significant digits but at most four decimals; the value has as many
    decimals as the interval.
    """
    decimals = 2
    if half_width > 0:
        decimals = min(4, max(0, 1 - math.floor(math.log10(half_width))))
    return joined(" ± ", [figure(value, decimals), f"{half_width:.{decimals}f}"])


def spanned(least: str, most: str) -> str:
    """A range such as ``80.1 to 99.2``; a single value if both ends have the same text."""
    return least if least == most else _("{least} to {most}", least=least, most=most)


def listed(words: Iterable[str]) -> str:
    """A list such as ``a``, ``a and b`` or ``a, b and c``."""
    *first, last = words
    return _("{several} and {last}", several=joined(", ", first), last=last) if first else last
