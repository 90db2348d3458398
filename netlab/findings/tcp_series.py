"""Queues: what TCP shows of them during a trial, its recoveries, and latency under load."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import comb
from statistics import StatisticsError, correlation, median

from netlab.ethernet import Link
from netlab.findings.derived import StreamSample
from netlab.findings.finding import Finding, Kind, of_trials
from netlab.findings.rates import ceiling_of
from netlab.findings.series import group_of
from netlab.findings.stream_rules import STARVED
from netlab.results.layout import varying
from netlab.results.run import Run
from netlab.results.tcp_series import TcpSeries
from netlab.trial.record import FLOWS, Record, Status, grouped

SizeAndFigures = tuple[float, Mapping[str, float]]
"""The size of what a trial shows, and its figures; the trial with the largest size is the worst."""


def by_group(
    samples: Iterable[StreamSample],
    kind: Kind,
    judge: Callable[[StreamSample], SizeAndFigures | None],
) -> Iterator[Finding]:
    """One finding per group with affected trials, with the figures of the worst trial and the
    number of affected trials.

    ``judge`` returns the size and figures of a trial, or ``None`` if the trial is not affected.
    """
    with_series = (sample for sample in samples if sample.tcp_series is not None)
    for group, of_group in grouped(with_series, lambda sample: sample.group).items():
        judged = [(sample, judge(sample)) for sample in of_group]
        shown = {sample: result for sample, result in judged if result is not None}
        if shown:
            _size, figures = max(shown.values(), key=lambda result: result[0])
            trials = [(sample.cell, sample.trial) for sample in shown]
            yield of_trials(kind, group, trials, len(of_group), figures)


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


def queue_of(sample: StreamSample) -> StandingQueue | None:
    """The queue that a stream's own data formed; ``None`` if its series shows none."""
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
    if half - least < max(STANDING_US, OF_BASE * least) or bytes_in_queue < LEAST_BYTES:
        return None
    if series.delivered_bytes:
        flowing = series.delivered_bytes[-1] / span_us
    elif sample.streams != 1:
        return None
    # The congestion window must allow the data in flight that the rate needs.
    fits = 0 < flowing * half <= ON_ITS_WAY * median(series.cwnd_bytes)
    if not fits or not (most <= STEADY * _at(rtts, 0.1) or _follows_window(series)):
        return None
    return StandingQueue(
        queue_bytes=bytes_in_queue, least_rtt_us=least, half_rtt_us=half, most_rtt_us=most
    )


def _follows_window(series: TcpSeries) -> bool:
    try:
        return correlation(series.cwnd_bytes, series.rtt_us) >= TOGETHER
    except StatisticsError:  # the congestion window never changed
        return False


def queues(samples: Iterable[StreamSample]) -> Iterator[Finding]:
    """Streams whose data waited in a queue, with the figures of the longest queue."""

    def judged(sample: StreamSample) -> SizeAndFigures | None:
        queue = queue_of(sample)
        if queue is None:
            return None
        in_kib = 1024 * round(queue.queue_bytes / 1024)
        return queue.queue_bytes, {**asdict(queue), "queue_bytes": in_kib}

    return by_group(samples, Kind.QUEUE_ON_PATH, judged)


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
    for place, span in enumerate(spans):
        if span.rate >= BACK * usual:
            continue
        follows = runs and runs[-1][-1] == place - 1 and spans[place - 1].until_us == span.from_us
        if follows:
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

    def judged(sample: StreamSample) -> SizeAndFigures | None:
        series, share = sample.tcp_series, recovering_share(sample)
        if series is None or share is None or sample.same_host:
            return None
        if not LEAST_SHARE <= share <= MOST_SHARE:
            return None
        all_recoveries = recoveries_of(series)
        longest = max(all_recoveries, key=lambda recovery: recovery.length_us)
        return share, {
            "recoveries": len(all_recoveries),
            "longest_us": longest.length_us,
            "longest_from_us": longest.from_us,
            "recovering_share": share,
            "retransmissions": series.retransmissions[-1],
        }

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

TrialEvidence = Mapping[str, float | None]
TrialRule = Callable[[Record, Link | None], TrialEvidence | None]
"""Takes the record of a trial and the stated link. Returns the trial's figures if the rule holds,
otherwise ``None``."""


def under_load(run: Run) -> Iterator[Finding]:
    """Findings about latency under load, one per cell and kind."""
    trials: dict[str, list[Record]] = {}
    for cell, _, record in run.stored.trials():
        if cell.test == TEST and record is not None and record.status is Status.OK:
            trials.setdefault(cell.key, []).append(record)
    conditions = varying(run.plan.cells)
    for cell in run.plan.cells:
        records = trials.get(cell.key, [])
        for kind, rule in _RULES.items():
            judged = [(record, rule(record, run.plan.link)) for record in records]
            shown = [(record, evidence) for record, evidence in judged if evidence is not None]
            if 2 * len(shown) <= len(records):
                continue
            figures: dict[str, float | None] = {}
            for name in dict.fromkeys(name for _, evidence in shown for name in evidence):
                values = [evidence.get(name) for _, evidence in shown]
                known_values = [value for value in values if value is not None]
                figures[name] = median(known_values) if known_values else None
            names = conditions[cell.test, str(cell.settings.get("protocol", ""))]
            group, keys = group_of(cell, "", names), [record.key for record, _ in shown]
            yield of_trials(kind, group, keys, len(records), figures)


def _below_path(record: Record, link: Link | None) -> TrialEvidence | None:
    share = _idle_share(record, link)
    if share is None or share >= FULL:
        return None
    return {"throughput_bit_per_s": max(_throughputs(record).values()), "load_share": share}


def _standing(record: Record, _link: Link | None) -> TrialEvidence | None:
    if not _stands(record):
        return None
    increase_ns, rates = record.number("increase_ns"), _throughputs(record)
    queue_bytes = None
    if increase_ns is not None and len(rates) == 1:
        queue_bytes = 1024 * round(increase_ns / 1e9 * sum(rates.values()) / 8 / 1024)
    return _medians(record) | {"queue_bytes": queue_bytes or None}


def _not_standing(record: Record, link: Link | None) -> TrialEvidence | None:
    share = _idle_share(record, link)
    return None if share is None or share < FULL else _medians(record)


def _lost(record: Record, _link: Link | None) -> TrialEvidence | None:
    lost, requests, idle_lost, idle_requests = (
        record.number(f"{phase}_{name}")
        for phase in ("loaded", "idle")
        for name in ("lost_messages", "rtt_count")
    )
    if not lost or not requests or not idle_requests or lost < LEAST_LOST:
        return None
    if lost / requests < TIMES_IDLE * (idle_lost or 0) / idle_requests:
        return None
    return {
        "lost_requests": lost,
        "requests": requests,
        "lost_requests_share": lost / requests,
        "idle_lost_requests": idle_lost,
        "idle_requests": idle_requests,
    }


_RULES: Mapping[Kind, TrialRule] = {
    Kind.QUEUE_UNDER_LOAD_NOT_FULL: _below_path,
    Kind.QUEUE_UNDER_LOAD_STANDING: _standing,
    Kind.QUEUE_UNDER_LOAD_NONE: _not_standing,
    Kind.REQUESTS_LOST_UNDER_LOAD: _lost,
}


def _medians(record: Record) -> dict[str, float | None]:
    return {
        "idle_rtt_ns": record.number("idle_rtt_p50_ns"),
        "loaded_rtt_ns": record.number("loaded_rtt_p50_ns"),
        "loaded_p99_ns": record.number("loaded_rtt_p99_ns"),
    }


def _stands(record: Record) -> bool:
    increase_ns, idle_ns = record.number("increase_ns"), record.number("idle_rtt_p50_ns")
    if increase_ns is None or idle_ns is None:
        return False
    return increase_ns >= max(1000 * STANDING_US, OF_BASE * idle_ns)


def _throughputs(record: Record) -> dict[str, float]:
    """Prefix of a direction's values → the throughput of the load in this direction, in bit/s."""
    rates = {prefix: record.number(f"{prefix}throughput_bit_per_s") for prefix in FLOWS}
    return {prefix: rate for prefix, rate in rates.items() if rate is not None}


def _idle_share(record: Record, link: Link | None) -> float | None:
    """The share of the wire ceiling that the load reaches; the larger share if the load has two
    directions. ``None`` if no share is known, or if a queue stands or its growth is not known.
    """
    if _stands(record) or "increase_ns" not in record.values:
        return None
    rates = [
        (rate, ceiling_of(record.settings, record.values, prefix, link))
        for prefix, rate in _throughputs(record).items()
    ]
    return max((rate / ceiling for rate, ceiling in rates if ceiling), default=None)
