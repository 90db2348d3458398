"""Recoveries: how long TCP took to get its rate back after segments were lost. Pure.

A series' delivered bytes → rates of short spans → runs of spans below the window's median rate that
begin with a segment sent again. Where segments are lost all the time no run is that of a loss.
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
"""A rate is back at this share of the window's median."""

SPAN_US, SPAN_RTTS, SPANS = 100_000, 3, 20
"""A rate is of so long and of so many round trips, and as many of them tell what is usual."""

SKIPPED = 2
"""Of points further apart than so many spans nothing is known in between."""

LEAST_SPANS, DEEP = 2, 0.85
"""A recovery is of so many spans, of which the slowest has no more than such a share of the median:
what is shorter or less is told from chance by nothing. (Congestion control takes a rate to 50 or
70 % of what it was, less what a queue makes up for.)"""

BEFORE = 2
"""What is sent again is acknowledged first: a run begins so many spans behind its loss at most."""

CHANCE = 0.05
"""As many of the slow runs would begin behind a loss with no more than this probability, if they
had nothing to do with losses (binomial)."""

LEAST_SHARE, MOST_SHARE = 0.05, 0.4
"""So much of the window is spoken of; with more the median is no usual rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """A time in which TCP's rate was below what is usual, after a loss."""

    from_us: int
    """From the window's opening on: the beginning of the first slow span."""
    length_us: int
    """Until the rate was back, or the series ended."""


@dataclass(frozen=True, slots=True)
class _SpanRate:
    from_us: int
    until_us: int
    rate: float
    lost: bool


@dataclass(frozen=True, slots=True)
class _SlowRun:
    """Spans below a rate, one behind the other."""

    from_us: int
    until_us: int
    spans: int
    least_rate: float
    after_loss: bool
    """A segment was sent again in the first of them, or shortly before it."""


def recoveries_of(series: TcpSeries) -> tuple[Recovery, ...]:
    """Each recovery of a series, in their order; empty where it is too short to tell."""
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
    """Share of its window that a stream was short of its usual rate after losses.

    ``None``: not known. 0: no loss cost it as much as can be told.
    """
    series = sample.tcp_series
    if series is None or not _can_be_judged(sample, series):
        return None
    length_us = series.time_us[-1] - series.time_us[0]
    return sum(recovery.length_us for recovery in recoveries_of(series)) / length_us


def recoveries(samples: Iterable[StreamSample]) -> Iterator[Finding]:
    """Notes about streams that spent much of their window so: a finding a group, by its worst."""
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
    """The series is of the first stream: of several it does not tell the rate."""
    return (
        sample.streams == 1
        and bool(series.retransmissions and series.delivered_bytes)
        and sum(1 for _ in _spans(series)) >= SPANS
    )


def _spans(series: TcpSeries) -> Iterator[_SpanRate]:
    """Neighbouring spans, each as long as it takes for its rate to be one."""
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
            lost = series.retransmissions[end] > series.retransmissions[start]
            yield _SpanRate(from_us, until_us, delivered / (until_us - from_us), lost)
        start = end


def _at_least(least: int, number: int, probability: float) -> float:
    """The probability of ``those`` and more of a number of independent ones."""
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
