"""Data that pause again and again on their way, or come at two rates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from statistics import fmean, median, pvariance

from netlab.findings.arrivals import EVEN, LEAST_GROUPS
from netlab.findings.derived import StreamSample
from netlab.findings.finding import Finding, Kind, of_trials
from netlab.findings.stream_limits import OFFERED
from netlab.findings.stream_rules import lost_segments, starved
from netlab.trial.interruptions import interruptions
from netlab.trial.record import grouped

LESS, STOPPED, USUAL_CALLS = 0.5, 0.15, 4.0
"""A pause is a run of times with less than the first share of the usual bytes, one of which has
less than the second one; the usual bytes are those of at least so many receive calls."""

LEAST_PAUSES, LEAST_PAUSED = 3, 0.02
"""Minimum number of pauses in the trials of a cell, and minimum share of their windows."""

OF_HOSTS, OF_WAITS = 0.5, 0.75
"""Maximum part of pauses, or of a lower rate, that lost messages or waits of the hosts may explain.
The second value is that of waits in pauses."""

LOWER, STEP_CALLS, APART, FINEST = 0.05, 2.5, 4.0, 0.04
"""Minimum step between two rates: as a share of the higher one, in receive calls, and in standard
deviations of what random loss of as many messages would leave; and the share of the window that a
time may be long to make steps of that size visible."""

BETWEEN, OFTEN, INNER = 0.2, 0.08, 5
"""Two rates: at most this share of the times is in the middle third between both, and at least that
share is near each of them; where data were lost, so many times are not beside those of the other
rate (the third value)."""


def uneven(samples: Iterable[StreamSample]) -> Iterator[Finding]:
    """Notes for cells whose data paused again and again, or came at two rates, while both hosts
    ran: with the mean, or the median, of the trials that show it.
    """
    for trials in grouped(samples, lambda sample: (sample.cell, sample.flow)).values():
        paused = {each: pauses_of(each) for each in trials}
        shown = [each for each, (number, _share) in paused.items() if number]
        share = fmean([share for number, share in paused.values() if number] or [0.0])
        kind, figures = Kind.PATH_PAUSES, {"paused_share": share}
        number = sum(number for number, _share in paused.values())
        if number < LEAST_PAUSES or share < LEAST_PAUSED:
            steps = {each: step for each in trials if (step := stepped(each))}
            shown = [*steps]
            kind, figures = Kind.TWO_RATES, {"depth_share": median(steps.values() or [0.0])}
        # One trial of several may have two rates by chance.
        if shown and (kind is Kind.PATH_PAUSES or 2 * len(shown) > len(trials)):
            keys = [each.record.key for each in shown]
            yield of_trials(kind, trials[0].group, keys, len(trials), figures)


def pauses_of(sample: StreamSample) -> tuple[int, float]:
    """The number of pauses on the path, and the share of the window that they took."""
    groups = _groups(sample)
    # What waited comes faster after a pause: the lower ones of those with data are as usual.
    flowing = sorted(each for each in groups if each >= STOPPED * _high(groups))
    usual = flowing[len(flowing) // 4] if flowing else 0.0
    number, near, at = 0, dict[int, float](), 0
    for is_less, run in groupby(groups, key=lambda each: each < LESS * usual):
        values = [*run]
        if is_less:
            number += min(values) < STOPPED * usual
            # The times beside it may be a part of the pause, too; what waited comes as fast as in
            # the time after them.
            last = at + len(values) - 1
            near |= dict.fromkeys(range(at - 1, last), usual)
            near |= {it: max([usual, *groups[it + 1 : it + 2]]) for it in (last, last + 1)}
        at += len(values)
    missing = sum(max(0.0, 1 - each / near[at]) for at, each in enumerate(groups) if at in near)
    share = missing / max(1, len(groups))
    # What is held comes later; what was due in the pauses and never came was lost.
    is_lost = (sample.lost_share or 0.0) > OF_HOSTS * share
    is_held = number and not is_lost and _hosts_ran(sample, OF_WAITS * share)
    return (number, share) if is_held else (0, 0.0)


def stepped(sample: StreamSample) -> float | None:
    """By what share one of two rates is lower than the other; ``None`` if there are not two, or if
    random loss or the hosts explain them.
    """
    arrivals = sample.arrivals
    if arrivals is None or sample.protocol != "UDP":
        return None
    offered = sample.offered_bit_per_s
    if offered is not None and sample.throughput_bit_per_s >= OFFERED * offered:
        return None  # all arrived, in the portions in which it was sent
    lost = sample.lost_share or 0.0
    for number in range(1, max(1, int(FINEST * len(arrivals.each_bytes))) + 1):
        groups = arrivals.merged(number)
        low, high = sorted(groups)[int(OFTEN * len(groups))], _high(groups)
        scatter = math.sqrt(fmean(groups) * sample.message_bytes * lost)
        if high - low > max(LOWER * high, STEP_CALLS * arrivals.call_bytes, APART * scatter):
            return _depth(sample, groups, low, high)
    return None


def _depth(sample: StreamSample, groups: Sequence[float], low: float, high: float) -> float | None:
    third = (high - low) / 3
    slow = [each for each in groups if each <= low + third]
    fast = [each for each in groups if each >= high - third]
    between = len(groups) - len(slow) - len(fast)
    depth = 1 - median(slow) / median(fast)
    costs = depth * len(slow) / len(groups)
    is_two = between <= BETWEEN * len(groups) and LOWER <= depth < 1 - LOWER
    if any(map(starved, sample.ends)) or not _hosts_ran(sample, OF_HOSTS * costs):
        return None
    if not is_two or len(fast) <= OFTEN * len(groups):
        return None
    if (sample.lost_share or 0.0) <= OF_HOSTS * costs:
        return depth
    # Random loss would scatter what arrives while the rate is low.
    is_low = [each < high - third for each in groups]
    inner = [
        each / sample.message_bytes
        for at, each in enumerate(groups)
        if all(is_low[max(0, at - 1) : at + 2])
    ]
    scatter = median(inner or [0.0]) * depth
    return depth if len(inner) >= INNER and pvariance(inner) <= EVEN * scatter else None


def _groups(sample: StreamSample) -> tuple[float, ...]:
    """The bytes of times that usually have some receive calls, and over TCP two round trips."""
    arrivals = sample.arrivals
    usual = _high(arrivals.each_bytes) if arrivals else 0.0
    if arrivals is None or not usual:
        return ()
    number = math.ceil(USUAL_CALLS * arrivals.call_bytes / usual)
    if sample.protocol == "TCP":
        series = sample.tcp_series
        round_trips_ns = 2e3 * median(series.rtt_us) if series and series.rtt_us else 0.0
        number = max(number, math.ceil(round_trips_ns / arrivals.interval_ns))
    groups = arrivals.merged(number)
    return groups if len(groups) >= LEAST_GROUPS else ()


def _high(values: Sequence[float]) -> float:
    """The usual value of the times in which data flowed."""
    return sorted(values)[int(0.8 * len(values))] if values else 0.0


def _hosts_ran(sample: StreamSample, least: float) -> bool:
    """Whether nothing else explains what is missing: waits and stops of the hosts for more than a
    share of the window, lost segments, or other traffic on the link.
    """
    if sample.likely_others_share >= LOWER:
        return False
    stopped = any(stop.flow == sample.measured.prefix for stop in interruptions(sample.record))
    is_whole = not lost_segments(sample) and not stopped and not sample.same_host
    return is_whole and all(max(e.waited_share, e.stalled_share) <= least for e in sample.ends)
