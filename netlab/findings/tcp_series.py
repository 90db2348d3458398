"""Queues: what TCP shows of them during a trial, its recoveries, and latency under load."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import comb, inf
from statistics import StatisticsError, correlation, median
from typing import Any

from netlab.ethernet import Link
from netlab.findings.derived import StreamSample
from netlab.findings.finding import Finding, Kind, of_trials
from netlab.findings.rates import ceiling_of
from netlab.findings.series import group_of
from netlab.findings.stream_rules import STARVED
from netlab.messages import Message, _
from netlab.results.layout import varying
from netlab.results.run import Run
from netlab.results.tcp_series import TcpSeries
from netlab.trial.record import FLOWS, Record, Status, grouped
from netlab.units import format_rate

ShownFigures = tuple[Any, Mapping[str, float], Mapping[str, Message]]
"""The size of what a trial shows, its figures and its words; the worst trial is that with the
largest size."""


def by_group(
    samples: Iterable[StreamSample],
    kind: Kind,
    judge: Callable[[StreamSample], ShownFigures | None],
) -> Iterator[Finding]:
    """One finding per group with affected trials, with the figures of the worst trial and the
    number of affected trials.

    ``judge`` returns what a trial shows, or ``None`` if the trial is not affected.
    """
    with_series = (sample for sample in samples if sample.tcp_series is not None)
    for group, of_group in grouped(with_series, lambda sample: sample.group).items():
        judged = [(sample, judge(sample)) for sample in of_group]
        shown = {sample: result for sample, result in judged if result is not None}
        if shown:
            _size, figures, words = max(shown.values(), key=lambda result: result[0])
            trials = [(sample.cell, sample.trial) for sample in shown]
            yield of_trials(kind, group, trials, len(of_group), figures, words)


POINTS, LEAST_US = 50, 1_000_000
"""Minimum number of samples, and minimum length, of a usable series."""

STANDING_US = 5_000
"""Minimum delay of a standing queue: CoDel's target (RFC 8289, 4.2)."""

OF_BASE = 0.5
"""Minimum delay as a share of the shortest round trip: the round trips of a long path vary more."""

LEAST_BYTES = 10 * 1500
"""Minimum length of a queue: ten packets, TCP's initial window (RFC 6928)."""

ON_ITS_WAY = 1.25
"""The data in flight are at most this multiple of the congestion window. The multiple is above 1
because the two amounts are sampled at slightly different times."""

TOGETHER, STEADY = 0.5, 1.25
"""Minimum of Pearson's r for a round trip that follows the congestion window, and maximum ratio of
the 95th to the 10th percentile for a steady round trip. If neither holds, something other than this
stream's data lengthens the round trip."""


def queue_of(sample: StreamSample) -> dict[str, float] | None:
    """The queue that a stream's own data formed; ``None`` if its series shows none. Its figures are
    the queued payload, and least, median and 95th percentile (with this payload) of the round trip.
    """
    series = sample.tcp_series
    stolen = any((end.steal_share or 0) > STARVED for end in sample.ends)
    if series is None or sample.same_host or sample.paced or sample.imported or stolen:
        return None  # something other than queued data may lengthen the round trip
    span_us, rtts = series.time_us[-1] - series.time_us[0], sorted(series.rtt_us)
    if len(series.time_us) < POINTS or span_us < LEAST_US or not rtts or not series.cwnd_bytes:
        return None
    least: float = min(rtts[0], sample.tcp.min_rtt_us or rtts[0])
    half, most = median(rtts), _at(rtts, 0.95)
    flowing = rate = sample.throughput_bit_per_s / 8e6  # bytes a microsecond
    bytes_in_queue = rate * (most - least)
    if not _is_queue(1000 * half, 1000 * least) or bytes_in_queue < LEAST_BYTES:
        return None
    if series.delivered_bytes:
        flowing = series.delivered_bytes[-1] / span_us
    elif sample.streams != 1:
        return None
    # The congestion window must allow the data in flight that the rate needs.
    fits = 0 < flowing * half <= ON_ITS_WAY * median(series.cwnd_bytes)
    if not fits or not (most <= STEADY * _at(rtts, 0.1) or _follows_window(series)):
        return None
    shown = {"least_rtt_us": least, "half_rtt_us": half, "most_rtt_us": most}
    return {"queue_bytes": bytes_in_queue, **shown}


def _is_queue(rtt_ns: float, least_ns: float) -> bool:
    """Whether a round trip is longer than the shortest one by as much as a standing queue adds."""
    return rtt_ns - least_ns >= max(1000 * STANDING_US, OF_BASE * least_ns)


def _follows_window(series: TcpSeries) -> bool:
    try:
        return correlation(series.cwnd_bytes, series.rtt_us) >= TOGETHER
    except StatisticsError:  # the congestion window never changed
        return False


def queues(samples: Iterable[StreamSample]) -> Iterator[Finding]:
    """Streams whose round trips grew, with the figures of the longest queue: of their own data if
    no data went the other way in any trial, since those delay the acknowledgements.
    """

    def judged(sample: StreamSample) -> ShownFigures | None:
        figures, beside = queue_of(sample), _other_way(sample)
        if figures is None:
            return None
        queue_bytes = figures["queue_bytes"]
        figures["queue_bytes"] = 1024 * round(queue_bytes / 1024)
        if beside is None:
            return (0, queue_bytes), figures, {}
        del figures["queue_bytes"]
        return (1, queue_bytes), figures, {"beside": beside}

    return by_group(samples, Kind.QUEUE_ON_PATH, judged)


def _other_way(sample: StreamSample) -> Message | None:
    """The data that went against those of a stream, as a clause; ``None`` if none are known."""
    if sample.flow:
        return _("data went the other way, too")
    ends = {True: sample.sender.host, False: sample.receiver.host}
    against = [other for other in sample.others if other.host == ends[other.receiving]]
    most = max(against, key=lambda other: other.bit_per_s, default=None)
    if most is None:
        return None
    rate = format_rate(float(f"{most.bit_per_s:.3g}"))
    return _("{rate} of other traffic went the other way at {host}", rate=rate, host=most.host)


def _at(sorted_rtts: Sequence[int], share: float) -> float:
    return sorted_rtts[min(len(sorted_rtts) - 1, int(share * len(sorted_rtts)))]


BACK = 0.95
"""A rate has recovered if it is at least this share of the window's median rate."""

SPAN_US, SPAN_RTTS, SPANS = 100_000, 3, 20
"""Minimum length of a span, in microseconds and in round trips, and minimum number of spans."""

SKIPPED = 2
"""If two samples are further apart than this many spans, the rate between them is not known."""

LEAST_SPANS, DEEP = 2, 0.85
"""Minimum number of spans of a recovery, and maximum rate of its slowest span as a share of the
median. A smaller fall cannot be distinguished from chance. (Congestion control reduces a rate to 50
or 70 %; a queue compensates a part of the fall.)"""

BEFORE = 2
"""Maximum number of spans between a loss and the run that follows: retransmitted data are
acknowledged first."""

CHANCE = 0.05
"""Maximum probability that chance alone makes at least as many slow runs begin after a loss as were
observed (binomial)."""

LEAST_SHARE, MOST_SHARE = 0.05, 0.4
"""Minimum and maximum share of the window for a finding: above the maximum, the median is not the
usual rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """A time after a loss in which TCP's rate was below its usual rate."""

    from_us: int
    """Start of the first slow span, counted from the beginning of the measured time."""
    length_us: int
    """Time until the rate had recovered, or the series ended."""


@dataclass(frozen=True, slots=True)
class _SpanRate:
    from_us: int
    until_us: int
    rate: float
    lost: bool


def recoveries_of(series: TcpSeries) -> tuple[Recovery, ...]:
    """The recoveries of a series, in order; empty if it is too short."""
    spans = list(_spans(series))
    if len(spans) < SPANS:
        return ()
    usual = median(span.rate for span in spans)
    runs: list[list[int]] = []  # places of adjacent slow spans
    for place in (place for place, span in enumerate(spans) if span.rate < BACK * usual):
        if runs and spans[runs[-1][-1]].until_us == spans[place].from_us:
            runs[-1].append(place)
        else:
            runs.append([place])
    slow = [
        run
        for run in runs
        if len(run) >= LEAST_SPANS and min(spans[place].rate for place in run) <= DEEP * usual
    ]
    after_losses = tuple(
        Recovery(from_us=begin, length_us=spans[run[-1]].until_us - begin)
        for run in slow
        for begin in (spans[run[0]].from_us,)
        if any(span.lost for span in spans[max(0, run[0] - BEFORE) : run[0] + 1])
    )
    by_chance = 1 - (1 - sum(span.lost for span in spans) / len(spans)) ** (BEFORE + 1)
    as_many = sum(
        comb(len(slow), count) * by_chance**count * (1 - by_chance) ** (len(slow) - count)
        for count in range(len(after_losses), len(slow) + 1)
    )
    return after_losses if as_many <= CHANCE else ()


def recovering_share(sample: StreamSample) -> float | None:
    """Share of its window in which a stream was below its usual rate after losses.

    ``None`` if the share is not known; 0 if no recovery was detected.
    """
    series = sample.tcp_series
    # tcp_info is recorded for the first stream only.
    if series is None or sample.streams != 1 or sum(1 for _ in _spans(series)) < SPANS:
        return None
    length_us = series.time_us[-1] - series.time_us[0]
    return sum(recovery.length_us for recovery in recoveries_of(series)) / length_us


def recoveries(samples: Iterable[StreamSample]) -> Iterator[Finding]:
    """Streams that recovered for much of their window, with the figures of the worst trial."""

    def judged(sample: StreamSample) -> ShownFigures | None:
        series, share = sample.tcp_series, recovering_share(sample)
        if series is None or share is None or sample.same_host:
            return None
        if not LEAST_SHARE <= share <= MOST_SHARE:
            return None
        all_recoveries = recoveries_of(series)
        longest = max(all_recoveries, key=lambda recovery: recovery.length_us)
        figures = {
            "recoveries": len(all_recoveries),
            "longest_us": longest.length_us,
            "longest_from_us": longest.from_us,
            "recovering_share": share,
            "retransmissions": series.retransmissions[-1],
        }
        return share, figures, {}

    return by_group(samples, Kind.LOSS_RECOVERY, judged)


def _spans(series: TcpSeries) -> Iterator[_SpanRate]:
    """Consecutive spans, each long enough for a rate."""
    if not series.retransmissions or not series.delivered_bytes:
        return
    least_us = max(SPAN_US, SPAN_RTTS * median(series.rtt_us or [0]))
    start = 0
    for end, until_us in enumerate(series.time_us):
        from_us = series.time_us[start]
        if until_us - from_us < least_us:
            continue
        if until_us - from_us <= SKIPPED * least_us:
            delivered = series.delivered_bytes[end] - series.delivered_bytes[start]
            has_loss = series.retransmissions[end] > series.retransmissions[start]
            yield _SpanRate(from_us, until_us, delivered / (until_us - from_us), has_loss)
        start = end


TEST = "latency_under_load"

FULL = 0.9
"""Minimum share of the wire ceiling for a path to count as full."""

LEAST_LOST, TIMES_IDLE = 5, 10
"""Two minimums for the finding that requests were lost under load: the number of requests lost
under load, and the ratio of two loss shares (under load, to before the load)."""


def under_load(run: Run) -> Iterator[Finding]:
    """Findings about latency under load, one per cell and kind."""
    shortest_ns: dict[tuple[object, ...], float] = {}
    trials: dict[str, list[Record]] = {}
    for cell, _trial, record in run.stored.trials():
        if record is None or record.status is not Status.OK:
            continue
        if cell.test == TEST:
            trials.setdefault(cell.key, []).append(record)
        path, least_ns = _path_of(record), record.number("rtt_min_ns") or inf
        shortest_ns[path] = min(shortest_ns.get(path, inf), least_ns, *record.series("trip_ns"))
    conditions = varying(run.plan.cells)
    for cell in run.plan.cells:
        records = trials.get(cell.key, [])
        shown: dict[Kind, dict[tuple[str, int], Mapping[str, float | None]]] = {}
        for record in records:
            least_ns = shortest_ns.get(_path_of(record), inf)
            for kind, evidence in (*_queue_shown(record, run.plan.link, least_ns), *_lost(record)):
                shown.setdefault(kind, {})[record.key] = evidence
        for kind, by_trial in shown.items():
            if 2 * len(by_trial) <= len(records):
                continue
            figures: dict[str, float | None] = {}
            for name in dict.fromkeys(chain.from_iterable(by_trial.values())):
                known = [value for it in by_trial.values() if (value := it.get(name)) is not None]
                figures[name] = median(known) if 2 * len(known) > len(by_trial) else None
            names = conditions[cell.test, str(cell.settings.get("protocol", ""))]
            yield of_trials(kind, group_of(cell, "", names), [*by_trial], len(records), figures)


def _path_of(record: Record) -> tuple[object, ...]:
    """Equal for the round trips of one run whose times may be compared."""
    settings, ends = record.settings, frozenset((record.server, record.client))
    size = settings.get("request_bytes" if record.test == TEST else "message_bytes")
    names = ("network", "interface", "ip_version", "dscp")
    return ends, size, settings.get("response_bytes") or size, *map(settings.get, names)


def _queue_shown(
    record: Record, link: Link | None, least_ns: float
) -> Iterator[tuple[Kind, Mapping[str, float | None]]]:
    """What a trial shows of a queue, with its figures. Of the medians before and after the load,
    the longer one counts: what lasts longer than the load is not due to it. ``least_ns``: the
    shortest round trip over the same path.
    """
    names = ("idle_rtt_p50_ns", "loaded_rtt_p50_ns", "loaded_rtt_p99_ns", "after_rtt_p50_ns")
    idle_ns, loaded_ns, p99_ns, after_ns = map(record.number, names)
    if idle_ns is None or loaded_ns is None:
        return
    calm_ns = max(idle_ns, after_ns or 0.0)
    figures = {"idle_rtt_ns": idle_ns, "loaded_rtt_ns": loaded_ns, "loaded_p99_ns": p99_ns}
    if _is_queue(calm_ns, least_ns):
        figures |= {"unloaded_rtt_ns": calm_ns, "shortest_rtt_ns": least_ns}
    rates = {prefix: record.flow(prefix).throughput_bit_per_s or 0.0 for prefix in FLOWS}
    ceilings = {p: ceiling_of(record.settings, record.values, p, link) or inf for p in FLOWS}
    share = max(rates[prefix] / ceilings[prefix] for prefix in FLOWS) or None
    if _is_queue(loaded_ns, calm_ns):
        # Acknowledgements may wait as well: over TCP only a full path shows a queue of the load.
        fills = record.settings.get("protocol") == "UDP" or share is None or share >= FULL
        rate, other_rate, *_ = sorted(rates.values(), reverse=True)
        waiting_bytes = (loaded_ns - calm_ns) / 8e9 * rate if fills and not other_rate else 0.0
        figures["queue_bytes"] = 1024 * round(waiting_bytes / 1024) or None
        yield Kind.QUEUE_UNDER_LOAD_STANDING, figures
    elif share is not None and share >= FULL:
        yield Kind.QUEUE_UNDER_LOAD_NONE, figures
    elif share is not None:
        load = {"throughput_bit_per_s": max(rates.values()), "load_share": share}
        yield Kind.QUEUE_UNDER_LOAD_NOT_FULL, figures | load


def _lost(record: Record) -> Iterator[tuple[Kind, Mapping[str, float | None]]]:
    lost, requests, idle_lost, idle_requests = (
        record.number(f"{phase}_{name}")
        for phase in ("loaded", "idle")
        for name in ("lost_messages", "rtt_count")
    )
    if not lost or not requests or not idle_requests or lost < LEAST_LOST:
        return
    figures = {
        "lost_requests": lost,
        "requests": requests,
        "lost_requests_share": lost / requests,
        "idle_lost_requests": idle_lost,
        "idle_requests": idle_requests,
    }
    if lost / requests >= TIMES_IDLE * (idle_lost or 0) / idle_requests:
        yield Kind.REQUESTS_LOST_UNDER_LOAD, figures
