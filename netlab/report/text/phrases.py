"""Phrases that a terminal and the page share: shares, percentiles, lists, latency under load."""

from __future__ import annotations

import math
from collections.abc import Sequence

from netlab.messages import Message, _, counted, joined, listed
from netlab.results.labels import figure
from netlab.stats import MIN_TRIALS, interval, mean
from netlab.stats.histogram import Histogram
from netlab.trial.record import FLOWS, Record
from netlab.units import format_seconds

TRIP_SHARES = (0.5, 0.9, 0.99)
"""Percentiles of the round trips that the texts state."""
_GIGABIT = 1e9


def throughput(bit_per_s: float) -> str:
    """A rate as in the tables: Mbit/s with two decimals, or Gbit/s from 1000 Mbit/s with three."""
    unit, scale = rate_unit(bit_per_s)
    return f"{figure(bit_per_s / scale, 3 if scale == _GIGABIT else 2)} {unit}"


def rate_unit(most_bit_per_s: float) -> tuple[str, float]:
    """(name, size in bit/s) of the unit: Gbit/s from a printed 1000 Mbit/s upwards, else Mbit/s."""
    if round(abs(most_bit_per_s) / 1e6, 2) >= 1000:
        return "Gbit/s", _GIGABIT
    return "Mbit/s", 1e6


def percentile_words(histogram: Histogram) -> tuple[Message, ...]:
    """Texts such as ``99 % within 177 µs``; only for percentiles that enough values support."""
    percentiles = zip(TRIP_SHARES, histogram.percentiles(TRIP_SHARES), strict=True)
    return tuple(
        _("{share} % within {time}", share=f"{100 * share:g}", time=format_seconds(ns / 1e9))
        for share, ns in percentiles
        if ns is not None
    )


def with_interval(value: float, half_width: float) -> Message:
    """Such as ``93.27 ± 0.48``: two digits of interval (four decimals at most), value alike."""
    decimals = 2
    if half_width > 0:
        decimals = min(4, max(0, 1 - math.floor(math.log10(half_width))))
    return joined(" ± ", [figure(value, decimals), f"{half_width:.{decimals}f}"])


def spanned(least: str, most: str) -> str:
    """A range such as ``80.1 to 99.2``; a single value if both ends have the same text."""
    return least if least == most else _("{least} to {most}", least=least, most=most)


RISES = 1.1
"""From this ratio of loaded to idle times upwards, the sentence says that round trips rise."""


def rise_words(trials: Sequence[Record]) -> Message:
    """``Under load round trips rise from 0.1 ms to 122 ms (LL, …)`` for one cell's results."""
    idle_ms, load_ms = (mean_ms(trials, f"{phase}_rtt_p50_ns") for phase in ("idle", "loaded"))
    carried = []
    for flow in trials[0].flows:
        own = (trial.flow(flow).throughput_bit_per_s for trial in trials)
        if rates := [rate for rate in own if rate is not None]:
            # If data went both ways, each direction has its own figure.
            carried.append(joined(" ", [throughput(mean(rates)), *([FLOWS[flow]] if flow else [])]))
    conditions = listed(carried) if carried else ""
    if load_ms is None:
        lost = _("Under load at least half of the requests are lost ({load})", load=conditions)
        if idle_ms is None:
            return lost
        return joined("; ", [lost, _("{time} before the load", time=time_words(idle_ms))])
    ends = {"loaded": time_words(load_ms), "load": conditions}
    if idle_ms is None:
        return _("Under load a round trip takes {loaded} ({load})", **ends)
    ends["idle"] = time_words(idle_ms)
    if load_ms < RISES * idle_ms:
        return _(
            "Under load round trips take no longer: {loaded}, before the load {idle} ({load})",
            **ends,
        )
    rise = _("Under load round trips rise from {idle} to {loaded} ({load})", **ends)
    if len(_numbers_ms(trials, "increase_ns")) < MIN_TRIALS:
        return rise
    number = counted("{number} trial", "{number} trials", len(trials))
    by = _("by {increase} ({trials})", increase=increase_words(trials), trials=number)
    return joined(", ", [rise, by])


def increase_words(trials: Sequence[Record]) -> str:
    """A text such as ``121.90 ± 0.31 ms``; the interval needs three trials."""
    values = _numbers_ms(trials, "increase_ns")
    if len(values) < MIN_TRIALS:
        return time_words(mean(values))
    half = interval(values).half_width
    return joined(" ", [with_interval(mean(values), half), "ms"])


def time_words(time_ms: float) -> Message:
    """A time such as ``0.10 ms``, ``12.3 ms`` or ``123 ms``; below 0.1 ms in µs."""
    if abs(time_ms) < 0.095:
        return joined(" ", [figure(1e3 * time_ms, 1), "µs"])
    decimals = 2 if abs(time_ms) < 9.95 else 1 if abs(time_ms) < 99.5 else 0
    return joined(" ", [figure(round(time_ms, decimals), decimals), "ms"])


def mean_ms(trials: Sequence[Record], name: str) -> float | None:
    """The mean over the trials; ``None`` if any lacks this time: it may have been the slowest."""
    values = _numbers_ms(trials, name)
    return mean(values) if values and len(values) == len(trials) else None


def _numbers_ms(trials: Sequence[Record], name: str) -> list[float]:
    times_ns = (trial.number(name) for trial in trials)
    return [time_ns / 1e6 for time_ns in times_ns if time_ns is not None]
