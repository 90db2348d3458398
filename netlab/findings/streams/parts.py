"""Parts: how much of what a stream lacks each thing accounts for that took it away. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from statistics import median

from netlab.findings.finding import Kind
from netlab.findings.sample import StreamEnd, StreamSample
from netlab.findings.streams.host_limits import robbed, starved, throttled
from netlab.findings.streams.plateau import stood_for_cpu

LEAST_OTHERS = 0.03
"""Least share of the link that others are likely to have used to be a part of what is missing."""

CERTAIN = 2
"""And so many times what of it may be ours."""

MOSTLY = 0.75
"""Share of what is missing that all parts together must account for."""

_QUOTAS = (Kind.SENDER_CPU_QUOTA, Kind.RECEIVER_CPU_QUOTA)
_STARVED = (Kind.SENDER_STARVED, Kind.RECEIVER_STARVED)

STEADY_TRIALS, STEADY = 3, 0.2
"""So many trials in which others are likely to have used the same, but for so much of it: counters
that stand still would be off by another amount each time."""

Parts = dict[Kind, float]
"""Kind of limit → share of the ceiling that it may have cost."""


def with_steady_others(samples: Iterable[StreamSample]) -> tuple[StreamSample, ...]:
    """Without a doubt of the counters, where the trials of one direction of a pairing agree."""
    given = tuple(samples)
    ways: dict[tuple[str, str, str], list[float]] = {}
    for each in given:
        ways.setdefault(_way(each), []).append(each.likely_others_share)
    steady = {way for way, shares in ways.items() if _is_steady(shares)}
    return tuple(
        replace(each, others_doubt_share=0.0) if _way(each) in steady else each for each in given
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
    """Waits of each end for a CPU, by the share of the time; others on the link, by their rate."""
    found: Parts = {}
    for number, end in enumerate(sample.ends):
        for kind in _waits(end, number):
            found[kind] = max(found.get(kind, 0.0), end.waited_share)
    others, doubt = sample.likely_others_share, sample.others_doubt_share
    if others >= LEAST_OTHERS and others >= CERTAIN * doubt:
        found[Kind.OTHER_TRAFFIC] = others
    return found


def largest_beside_others(sample: StreamSample) -> Kind | None:
    """Where others used the link: they, where that alone accounts for most of what is missing; else
    the largest of the parts that together do; ``None`` where these do not.

    A wait may cost nothing, what others use of a link is gone. One that is slower than stated is
    full before it seems so.
    """
    parts, enough = parts_of(sample), MOSTLY * sample.missing_share
    others = parts.get(Kind.OTHER_TRAFFIC)
    if others is None or sum(parts.values()) < enough:
        return None
    return Kind.OTHER_TRAFFIC if others >= enough else max(parts, key=lambda kind: parts[kind])


def wait_for_cpu(sample: StreamSample) -> Kind | None:
    """The wait for a CPU that stopped TCP for longer than whatever held it to its plateau cost it;
    ``None`` where it has no plateau, or none of both ends had to wait.
    """
    plateau, ceiling = sample.plateau_bit_per_s, sample.ceiling_bit_per_s
    if plateau is None or not ceiling or not stood_for_cpu(sample):
        return None
    stood = (plateau - sample.throughput_bit_per_s) / ceiling
    waits = {kind: end.waited_share for n, end in enumerate(sample.ends) for kind in _waits(end, n)}
    if not waits or stood < 1 - plateau / ceiling:
        return None
    return max(waits, key=lambda kind: waits[kind])


def cost_of(kind: Kind, sample: StreamSample) -> float:
    """What a limit of that kind cost the stream, as a share of its ceiling: its part where it is
    known, and never more than what is missing.
    """
    missing = sample.missing_share
    return min(missing, parts_of(sample).get(kind, missing))


def _waits(end: StreamEnd, number: int) -> Iterator[Kind]:
    if throttled(end):
        yield _QUOTAS[number]
    elif robbed(end):
        yield Kind.STOLEN_CPU
    elif starved(end):
        yield _STARVED[number]
