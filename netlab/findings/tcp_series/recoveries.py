"""Recoveries: how long TCP took to regain its rate after lost segments.

The delivered bytes of a series of tcp_info give the rates of short spans of time. A recovery is a
run of consecutive spans below the median rate of the window (the time that the sender measured).
The run begins with a retransmitted segment or shortly after it. If segments are lost all the time,
no run can be attributed to a loss.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import comb
from statistics import median

from netlab.findings.finding import Finding, Kind
from netlab.findings.sample import StreamSample
from netlab.findings.tcp_series.of_trials import TrialFigures, by_group
from netlab.results.tcp_series import TcpSeries

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
    if series is None or not _can_be_judged(sample, series):
        return None
    length_us = series.time_us[-1] - series.time_us[0]
    return sum(recovery.length_us for recovery in recoveries_of(series)) / length_us


def recoveries(samples: Iterable[StreamSample]) -> Iterator[Finding]:
    """Notes about streams that recovered for much of their window: one per group of cells
    (combinations of settings), with the figures of the worst trial.
    """
    return by_group(samples, Kind.LOSS_RECOVERY, _judged)


def _judged(sample: StreamSample) -> TrialFigures | None:
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


def _can_be_judged(sample: StreamSample, series: TcpSeries) -> bool:
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
