"""Queues: what TCP shows of them during a trial, its recoveries, and latency under load."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import comb
from statistics import StatisticsError, correlation, median
from typing import TYPE_CHECKING

from netlab.ethernet import Link
from netlab.findings.derived import StreamSample
from netlab.findings.finding import Finding, Group, Kind, finding, in_trials
from netlab.findings.rates import ceiling_of
from netlab.findings.series import group_of, varying
from netlab.findings.stream_rules import STARVED
from netlab.results.tcp_series import TcpSeries
from netlab.store.plan import PlannedCell
from netlab.trial.record import FLOWS, Record, Status

if TYPE_CHECKING:
    from netlab.results.run import Run


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


def queue_of(sample: StreamSample) -> StandingQueue | None:
    """The queue that a stream's own data formed; ``None`` if its series shows none."""
    series = sample.tcp_series
    if series is None or not _can_be_judged(sample, series):
        return None
    rtts = sorted(series.rtt_us)
    least: float = min(rtts[0], sample.tcp.min_rtt_us or rtts[0])
    half, most = median(rtts), _at(rtts, 0.95)
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
    )


def queue_bytes(sample: StreamSample) -> float | None:
    """The ``queue_bytes`` of the queue that ``queue_of`` finds; ``None`` if it finds none."""
    queue = queue_of(sample)
    return None if queue is None else queue.queue_bytes


def queues(samples: Iterable[StreamSample]) -> Iterator[Finding]:
    """Notes about streams whose data waited in a queue: one per group of cells, with the figures of
    the trial with the longest queue.
    """

    def judged(sample: StreamSample) -> TrialFigures | None:
        queue = queue_of(sample)
        if queue is None:
            return None
        figures = {**asdict(queue), "queue_bytes": 1024 * round(queue.queue_bytes / 1024)}
        return TrialFigures(size=queue.queue_bytes, figures=figures)

    return by_group(samples, Kind.QUEUE_ON_PATH, judged)


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
    """Notes about streams that recovered for much of their window: one per group of cells, with the
    figures of the worst trial.
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
        if cell.key in trials:
            names = conditions[cell.test, str(cell.settings.get("protocol", ""))]
            yield from _of_cell(cell, names, trials[cell.key], run.plan.link)


def _of_cell(
    cell: PlannedCell, conditions: tuple[str, ...], records: list[Record], link: Link | None
) -> Iterator[Finding]:
    for kind, rule in _RULES.items():
        record_evidence = [
            (record, evidence) for record in records if (evidence := rule(record, link)) is not None
        ]
        if 2 * len(record_evidence) <= len(records):
            continue
        names = dict.fromkeys(name for _, evidence in record_evidence for name in evidence)
        figures: dict[str, float | None] = {}
        for name in names:
            values = [evidence.get(name) for _, evidence in record_evidence]
            known_values = [value for value in values if value is not None]
            figures[name] = median(known_values) if known_values else None
        figures |= {"trials": len(record_evidence), "of_trials": len(records)}
        yield finding(
            kind,
            group_of(cell, "", conditions),
            (cell.key,),
            figures,
            in_trials(len(record_evidence), len(records)),
            tuple((record.cell, record.trial) for record, _ in record_evidence),
        )


def _below_path(record: Record, link: Link | None) -> TrialEvidence | None:
    share = _share(record, link)
    if share is None or share >= FULL or _stands(record) or "increase_ns" not in record.values:
        return None
    best = max(_throughputs(record).values())
    return {"throughput_bit_per_s": best, "load_share": share}


def _standing(record: Record, _link: Link | None) -> TrialEvidence | None:
    if not _stands(record):
        return None
    increase_ns, rates = record.number("increase_ns"), _throughputs(record)
    queue_bytes = None
    if increase_ns is not None and len(rates) == 1:
        queue_bytes = 1024 * round(increase_ns / 1e9 * sum(rates.values()) / 8 / 1024)
    return _medians(record) | {"queue_bytes": queue_bytes or None}


def _not_standing(record: Record, link: Link | None) -> TrialEvidence | None:
    share = _share(record, link)
    if share is None or share < FULL or _stands(record) or "increase_ns" not in record.values:
        return None
    return _medians(record)


def _lost(record: Record, _link: Link | None) -> TrialEvidence | None:
    lost_requests, requests, lost_idle, requests_idle = (
        record.number(f"{phase}_{name}")
        for phase in ("loaded", "idle")
        for name in ("lost_messages", "rtt_count")
    )
    if not lost_requests or not requests or not requests_idle or lost_requests < LEAST_LOST:
        return None
    if lost_requests / requests < TIMES_IDLE * (lost_idle or 0) / requests_idle:
        return None
    return {
        "lost_requests": lost_requests,
        "requests": requests,
        "lost_requests_share": lost_requests / requests,
        "idle_lost_requests": lost_idle,
        "idle_requests": requests_idle,
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
    increase_ns = record.number("increase_ns")
    idle_ns = record.number("idle_rtt_p50_ns")
    if increase_ns is None or idle_ns is None:
        return False
    return increase_ns >= max(1000 * STANDING_US, OF_BASE * idle_ns)


def _throughputs(record: Record) -> dict[str, float]:
    """Prefix of a direction's values → the throughput of the load in this direction, in bit/s."""
    rates = {prefix: record.number(f"{prefix}throughput_bit_per_s") for prefix in FLOWS}
    return {prefix: rate for prefix, rate in rates.items() if rate is not None}


def _share(record: Record, link: Link | None) -> float | None:
    """The share of the wire ceiling that the load reaches; the larger share if the load has two
    directions. ``None`` if no share is known.
    """
    shares = []
    for prefix, rate in _throughputs(record).items():
        ceiling = ceiling_of(record.settings, record.values, prefix, link)
        if ceiling:
            shares.append(rate / ceiling)
    return max(shares, default=None)
