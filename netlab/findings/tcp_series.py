"""TCP over the time of a trial: queues on the path, and recoveries after losses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import comb
from statistics import StatisticsError, correlation, median

from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.sample import StreamSample
from netlab.findings.streams.host_limits import STARVED
from netlab.findings.trial_words import in_trials
from netlab.results.tcp_series import TcpSeries


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialFigures:
    """The figures of one trial. The trial with the largest ``size`` counts as the worst."""

    size: float
    figures: Mapping[str, float]


def by_group(
    samples: Iterable[StreamSample],
    kind: Kind,
    judge: Callable[[StreamSample], TrialFigures | None],
) -> Iterator[Finding]:
    """One finding per group with affected trials, with the figures of the worst trial and the
    number of affected trials.

    ``judge`` returns the figures of a trial, or ``None`` if the trial is not affected.
    """
    groups: dict[Group, list[StreamSample]] = {}
    for sample in samples:
        if sample.tcp_series is not None:
            groups.setdefault(sample.group, []).append(sample)
    for group, of_group in groups.items():
        sample_figures = [
            (sample, trial_figures)
            for sample in of_group
            if (trial_figures := judge(sample)) is not None
        ]
        if not sample_figures:
            continue
        worst = max((figures for _, figures in sample_figures), key=lambda trial: trial.size)
        yield finding(
            kind,
            group,
            tuple(dict.fromkeys(sample.cell for sample, _ in sample_figures)),
            {**worst.figures, "trials": len(sample_figures), "of_trials": len(of_group)},
            in_trials(len(sample_figures), len(of_group)),
            tuple((sample.cell, sample.trial) for sample, _ in sample_figures),
        )


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


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingQueue:
    """The data that waited between the two ends of a stream, and their delay."""

    queue_bytes: float
    """Queued payload at the 95th percentile of the round trip."""
    least_rtt_us: float
    half_rtt_us: float
    """Median of the round trip."""
    most_rtt_us: float
    """95th percentile of the round trip."""
    overflowed: bool
    """Whether segments were retransmitted: the queue may have been full."""


def queue_of(sample: StreamSample) -> StandingQueue | None:
    """The queue that a stream's own data formed; ``None`` if its series shows none."""
    series = sample.tcp_series
    if series is None or not _can_be_judged(sample, series):
        return None
    rtts = sorted(series.rtt_us)
    least, half, most = _shortest_us(sample, rtts), median(rtts), _at(rtts, 0.95)
    rate = sample.throughput_bit_per_s / 8e6  # bytes a microsecond
    bytes_in_queue = rate * (most - least)
    if half - least < max(STANDING_US, OF_BASE * least) or bytes_in_queue < LEAST_BYTES:
        return None
    if not _fits_window(sample, series, half) or not _follows_window(series, rtts):
        return None
    return StandingQueue(
        queue_bytes=bytes_in_queue,
        least_rtt_us=least,
        half_rtt_us=half,
        most_rtt_us=most,
        overflowed=any(
            next_count > count for count, next_count in pairwise(series.retransmissions)
        ),
    )


def queue_bytes(sample: StreamSample) -> float | None:
    """The ``queue_bytes`` of the queue that ``queue_of`` finds; ``None`` if it finds none."""
    queue = queue_of(sample)
    return None if queue is None else queue.queue_bytes


def queues(samples: Iterable[StreamSample]) -> Iterator[Finding]:
    """Notes about streams whose data waited in a queue: one per group of cells (combinations of
    settings), with the figures of the trial with the longest queue.
    """
    return by_group(samples, Kind.QUEUE_ON_PATH, _judged)


def _judged(sample: StreamSample) -> TrialFigures | None:
    queue = queue_of(sample)
    if queue is None:
        return None
    figures = {
        "queue_bytes": 1024 * round(queue.queue_bytes / 1024),
        "least_rtt_us": queue.least_rtt_us,
        "half_rtt_us": queue.half_rtt_us,
        "most_rtt_us": queue.most_rtt_us,
    }
    return TrialFigures(size=queue.queue_bytes, figures=figures)


def _can_be_judged(sample: StreamSample, series: TcpSeries) -> bool:
    """Whether only queued data can explain a longer round trip."""
    points = len(series.time_us)
    stolen = any((end.steal_share or 0) > STARVED for end in sample.ends)
    return (
        bool(series.rtt_us and series.cwnd_bytes)
        and points >= POINTS
        and series.time_us[-1] - series.time_us[0] >= LEAST_US
        and not (sample.same_host or sample.paced or sample.imported or stolen)
    )


def _shortest_us(sample: StreamSample, rtts: Sequence[int]) -> float:
    kernel_least = sample.tcp.min_rtt_us
    return min(rtts[0], kernel_least) if kernel_least else rtts[0]


def _fits_window(sample: StreamSample, series: TcpSeries, rtt_us: float) -> bool:
    """Whether the congestion window allowed the data in flight that the rate needs."""
    if series.delivered_bytes:
        rate = series.delivered_bytes[-1] / (series.time_us[-1] - series.time_us[0])
    elif sample.streams == 1:
        rate = sample.throughput_bit_per_s / 8e6
    else:
        return False
    return 0 < rate * rtt_us <= ON_ITS_WAY * median(series.cwnd_bytes)


def _follows_window(series: TcpSeries, rtts: Sequence[int]) -> bool:
    if _at(rtts, 0.95) <= STEADY * _at(rtts, 0.1):
        return True
    try:
        return correlation(series.cwnd_bytes, series.rtt_us) >= TOGETHER
    except StatisticsError:  # the congestion window never changed
        return False


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


@dataclass(frozen=True, slots=True)
class _SlowRun:
    """Consecutive spans below a rate."""

    from_us: int
    until_us: int
    spans: int
    least_rate: float
    after_loss: bool
    """Whether a segment was retransmitted in the first span or shortly before it."""


def recoveries_of(series: TcpSeries) -> tuple[Recovery, ...]:
    """The recoveries of a series, in order; empty if it is too short."""
    spans = list(_spans(series))
    if len(spans) < SPANS:
        return ()
    usual = median(span.rate for span in spans)
    slow = [
        run
        for run in _runs(spans, BACK * usual)
        if run.spans >= LEAST_SPANS and run.least_rate <= DEEP * usual
    ]
    after_losses = tuple(
        Recovery(from_us=run.from_us, length_us=run.until_us - run.from_us)
        for run in slow
        if run.after_loss
    )
    by_chance = 1 - (1 - sum(span.lost for span in spans) / len(spans)) ** (BEFORE + 1)
    return after_losses if _at_least(len(after_losses), len(slow), by_chance) <= CHANCE else ()


def recovering_share(sample: StreamSample) -> float | None:
    """Share of its window in which a stream was below its usual rate after losses.

    ``None`` if the share is not known; 0 if no recovery was detected.
    """
    series = sample.tcp_series
    if series is None or not _can_show_recoveries(sample, series):
        return None
    length_us = series.time_us[-1] - series.time_us[0]
    return sum(recovery.length_us for recovery in recoveries_of(series)) / length_us


def recoveries(samples: Iterable[StreamSample]) -> Iterator[Finding]:
    """Notes about streams that recovered for much of their window: one per group of cells
    (combinations of settings), with the figures of the worst trial.
    """
    return by_group(samples, Kind.LOSS_RECOVERY, _judged_recoveries)


def _judged_recoveries(sample: StreamSample) -> TrialFigures | None:
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
    return TrialFigures(size=share, figures=figures)


def _can_show_recoveries(sample: StreamSample, series: TcpSeries) -> bool:
    """Whether the series shows the rate of the whole stream, and is long enough: tcp_info is
    recorded for the first connection only.
    """
    return (
        sample.streams == 1
        and bool(series.retransmissions and series.delivered_bytes)
        and sum(1 for _ in _spans(series)) >= SPANS
    )


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


def _at_least(least: int, number: int, probability: float) -> float:
    """The probability of at least ``least`` successes in ``number`` independent trials."""
    return sum(
        comb(number, count) * probability**count * (1 - probability) ** (number - count)
        for count in range(least, number + 1)
    )


def _runs(spans: Sequence[_SpanRate], back: float) -> Iterator[_SlowRun]:
    run: list[_SpanRate] = []
    last_lost: int | None = None
    after_loss = False
    for place, span in enumerate(spans):
        adjacent = place > 0 and spans[place - 1].until_us == span.from_us
        if run and not (adjacent and span.rate < back):
            yield _slow_run(run, after_loss=after_loss)
            run = []
        last_lost = place if span.lost else last_lost
        if span.rate < back:
            if not run:
                after_loss = last_lost is not None and place - last_lost <= BEFORE
            run.append(span)
    if run:
        yield _slow_run(run, after_loss=after_loss)


def _slow_run(run: Sequence[_SpanRate], *, after_loss: bool) -> _SlowRun:
    least = min(span.rate for span in run)
    return _SlowRun(run[0].from_us, run[-1].until_us, len(run), least, after_loss)
