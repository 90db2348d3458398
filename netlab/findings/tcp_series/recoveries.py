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
    usual = median(each.rate for each in spans)
    slow = [
        each
        for each in _runs(spans, BACK * usual)
        if each.spans >= LEAST_SPANS and each.least_rate <= DEEP * usual
    ]
    lost = tuple(
        Recovery(from_us=each.from_us, length_us=each.until_us - each.from_us)
        for each in slow
        if each.after_loss
    )
    by_chance = 1 - (1 - sum(each.lost for each in spans) / len(spans)) ** (BEFORE + 1)
    return lost if _at_least(len(lost), len(slow), by_chance) <= CHANCE else ()


def recovering_share(sample: StreamSample) -> float | None:
    """Share of its window that a stream was short of its usual rate after losses.

    ``None``: not known. 0: no loss cost it as much as can be told.
    """
    series = sample.tcp_series
    if series is None or not _told(sample, series):
        return None
    length_us = series.time_us[-1] - series.time_us[0]
    return sum(each.length_us for each in recoveries_of(series)) / length_us


def recoveries(samples: Iterable[StreamSample]) -> Iterator[Finding]:
    """Notes about streams that spent much of their window so: a finding a group, by its worst."""
    return by_group(samples, Kind.LOSS_RECOVERY, _judged)


def _judged(sample: StreamSample) -> TrialFigures | None:
    series, share = sample.tcp_series, recovering_share(sample)
    if series is None or share is None or sample.same_host:
        return None
    if not LEAST_SHARE <= share <= MOST_SHARE:
        return None
    found = recoveries_of(series)
    longest = max(found, key=lambda each: each.length_us)
    figures = {
        "recoveries": len(found),
        "longest_us": longest.length_us,
        "longest_from_us": longest.from_us,
        "recovering_share": share,
        "retransmissions": series.retransmissions[-1],
    }
    return TrialFigures(size=share, figures=figures)


def _told(sample: StreamSample, series: TcpSeries) -> bool:
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
    begun = 0
    for end, until_us in enumerate(series.time_us):
        from_us = series.time_us[begun]
        if until_us - from_us < least_us:
            continue
        if until_us - from_us <= SKIPPED * least_us:
            brought = series.delivered_bytes[end] - series.delivered_bytes[begun]
            lost = series.retransmissions[end] > series.retransmissions[begun]
            yield _SpanRate(from_us, until_us, brought / (until_us - from_us), lost)
        begun = end


def _at_least(those: int, number: int, probability: float) -> float:
    """The probability of ``those`` and more of a number of independent ones."""
    return sum(
        comb(number, each) * probability**each * (1 - probability) ** (number - each)
        for each in range(those, number + 1)
    )


def _runs(spans: Sequence[_SpanRate], back: float) -> Iterator[_SlowRun]:
    run: list[_SpanRate] = []
    last_lost: int | None = None
    after_loss = False
    for place, each in enumerate(spans):
        adjacent = place > 0 and spans[place - 1].until_us == each.from_us
        if run and not (adjacent and each.rate < back):
            yield _slow_run(run, after_loss=after_loss)
            run = []
        last_lost = place if each.lost else last_lost
        if each.rate < back:
            if not run:
                after_loss = last_lost is not None and place - last_lost <= BEFORE
            run.append(each)
    if run:
        yield _slow_run(run, after_loss=after_loss)


def _slow_run(run: Sequence[_SpanRate], *, after_loss: bool) -> _SlowRun:
    least = min(each.rate for each in run)
    return _SlowRun(run[0].from_us, run[-1].until_us, len(run), least, after_loss)
