"""Parts of a stream's missing throughput: waits for a CPU and other traffic, as shares. No I/O.

The missing throughput is the difference between the throughput and the wire ceiling (the highest
payload rate of the link), as a share of this ceiling. "Others" means traffic other than the test's.
An end is the sender or the receiver; a trial is one execution of a test.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from statistics import median

from netlab.findings.finding import Kind
from netlab.findings.sample import StreamEnd, StreamSample
from netlab.findings.streams.host_limits import robbed, starved, throttled
from netlab.findings.streams.plateau import stood_for_cpu

LEAST_OTHERS = 0.03
"""Minimum share of the link that others probably used, to be a part of the missing throughput."""

CERTAIN = 2
"""The share of others must be at least this many times ``others_doubt_share``, the part of this
share that may be our own traffic."""

MOSTLY = 0.75
"""Minimum share of the missing throughput that all parts together must explain."""

_QUOTAS = (Kind.CPU_WAIT_SENDER_QUOTA, Kind.CPU_WAIT_RECEIVER_QUOTA)
_STARVED = (Kind.CPU_WAIT_SENDER_PROGRAMS, Kind.CPU_WAIT_RECEIVER_PROGRAMS)

STEADY_TRIALS, STEADY = 3, 0.2
"""Minimum number of trials in which others probably used the same share of the link, and maximum
difference of these shares, as a share of their median. Late counters would cause a different error
in each trial, so equal shares are not such an error."""

Parts = dict[Kind, float]
"""Kind of limit → share of the ceiling that it may have cost."""


def with_steady_others(samples: Iterable[StreamSample]) -> tuple[StreamSample, ...]:
    """Returns the samples. If the trials of one direction of a pairing (server and client) agree on
    the share of others, their ``others_doubt_share`` is set to 0.
    """
    streams = tuple(samples)
    ways: dict[tuple[str, str, str], list[float]] = {}
    for sample in streams:
        ways.setdefault(_way(sample), []).append(sample.likely_others_share)
    steady = {way for way, shares in ways.items() if _is_steady(shares)}
    return tuple(
        replace(sample, others_doubt_share=0.0) if _way(sample) in steady else sample
        for sample in streams
    )


def _way(sample: StreamSample) -> tuple[str, str, str]:
    return sample.pairing, sample.sender.host, sample.receiver.host


def _is_steady(shares: Sequence[float]) -> bool:
    return (
        len(shares) >= STEADY_TRIALS
        and min(shares) >= LEAST_OTHERS
        and max(shares) - min(shares) <= STEADY * median(shares)
    )


def parts_of(sample: StreamSample) -> Parts:
    """The parts: each end's waits for a CPU as a share of the time, and the traffic of others as a
    share of the link.
    """
    parts: Parts = {}
    for number, end in enumerate(sample.ends):
        for kind in _waits(end, number):
            parts[kind] = max(parts.get(kind, 0.0), end.waited_share)
    others_share, doubt = sample.likely_others_share, sample.others_doubt_share
    if others_share >= LEAST_OTHERS and others_share >= CERTAIN * doubt:
        parts[Kind.OTHER_TRAFFIC] = others_share
    return parts


def largest_beside_others(sample: StreamSample) -> Kind | None:
    """The kind of the largest part, if others used the link and all parts together explain enough
    (``MOSTLY``) of the missing throughput.

    If the traffic of others alone explains enough, it is chosen even if a wait is larger. A wait
    may cost nothing, but the stream cannot use the part of a link that others use. ``None`` if
    others did not use the link, or if the parts are too small.
    """
    parts, enough = parts_of(sample), MOSTLY * sample.missing_share
    others_share = parts.get(Kind.OTHER_TRAFFIC)
    if others_share is None or sum(parts.values()) < enough:
        return None
    return (
        Kind.OTHER_TRAFFIC if others_share >= enough else max(parts, key=lambda kind: parts[kind])
    )


def wait_for_cpu(sample: StreamSample) -> Kind | None:
    """The kind of the longest wait for a CPU, if waits cost TCP at least as much throughput as
    whatever limits its plateau (its rate while data flow, plateau.py).

    ``None`` if waits cost less, if TCP has no plateau, or if no end waited.
    """
    plateau, ceiling = sample.plateau_bit_per_s, sample.ceiling_bit_per_s
    if plateau is None or not ceiling or not stood_for_cpu(sample):
        return None
    plateau_gap_share = (plateau - sample.throughput_bit_per_s) / ceiling
    waits = {
        kind: end.waited_share
        for number, end in enumerate(sample.ends)
        for kind in _waits(end, number)
    }
    if not waits or plateau_gap_share < 1 - plateau / ceiling:
        return None
    return max(waits, key=lambda kind: waits[kind])


def cost_of(kind: Kind, sample: StreamSample) -> float:
    """The throughput that a limit of that kind cost the stream, as a share of its ceiling.

    The cost is the part of that kind (``parts_of``), or all of the missing throughput if there is
    no such part. It is never more than the missing throughput.
    """
    missing_share = sample.missing_share
    return min(missing_share, parts_of(sample).get(kind, missing_share))


def _waits(end: StreamEnd, number: int) -> Iterator[Kind]:
    if throttled(end):
        yield _QUOTAS[number]
    elif robbed(end):
        yield Kind.CPU_WAIT_STEAL
    elif starved(end):
        yield _STARVED[number]
