"""Queues: how much a stream's own data lengthen its round trips, and how much data wait.

TCP's round trip includes the time for which data wait in queues between the TCPs of the two hosts.
The queue of the sender's own interface is one of them. The queue length is this time x the rate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import StatisticsError, correlation, median

from netlab.findings.finding import Finding, Kind
from netlab.findings.sample import StreamSample
from netlab.findings.streams.host_limits import STARVED
from netlab.findings.tcp_series.of_trials import TrialFigures, by_group
from netlab.results.tcp_series import TcpSeries

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
