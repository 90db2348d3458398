"""Trials of latency under load → a sentence on how much longer round trips take. No I/O.

The time is measured before the load (idle) and under load (loaded). A cell is one combination of
test, pairing and settings; a trial is one measurement of a cell.
"""

from __future__ import annotations

from collections.abc import Sequence

from netlab.experiment.records import FLOWS, Record
from netlab.messages import Message, _, counted, joined
from netlab.report.text.phrases import listed, throughput, with_interval
from netlab.results.labels import figure
from netlab.stats import MIN_TRIALS, interval, mean

RISES = 1.1
"""From this ratio of loaded to idle times upwards, the sentence says that round trips rise."""


def rise_words(trials: Sequence[Record], load: str = "") -> Message:
    """A text such as ``Under load round trips rise from 0.10 ms to 122 ms (LL, UDP up, …)``.

    ``trials``: all trials of one cell that have a result. ``load``: the name of the cell.
    """
    idle_ms, load_ms = (mean_ms(trials, f"{phase}_rtt_p50_ns") for phase in ("idle", "loaded"))
    conditions = joined(", ", [word for word in (load, *_carried(trials)) if word])
    if load_ms is None:
        loss_clause = _(
            "Under load at least half of the requests are lost ({load})", load=conditions
        )
        idle_clause = (
            [] if idle_ms is None else [_("{time} before the load", time=time_words(idle_ms))]
        )
        return joined("; ", [loss_clause, *idle_clause])
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
    """The mean of a time over the trials; ``None`` if any trial lacks this time.

    A mean of the other trials could mislead: the trial without a time may have been the slowest.
    """
    values = _numbers_ms(trials, name)
    return mean(values) if values and len(values) == len(trials) else None


def _numbers_ms(trials: Sequence[Record], name: str) -> list[float]:
    times_ns = (trial.number(name) for trial in trials)
    return [time_ns / 1e6 for time_ns in times_ns if time_ns is not None]


def _carried(trials: Sequence[Record]) -> list[str]:
    """The throughput of the load. If data went both ways, each direction has its own figure."""
    carried = []
    for flow in trials[0].flows:
        rates = [
            rate for trial in trials if (rate := trial.flow(flow).throughput_bit_per_s) is not None
        ]
        if rates:
            words = [throughput(mean(rates)), *([FLOWS[flow]] if flow else [])]
            carried.append(joined(" ", words))
    return [listed(carried)] if carried else []
