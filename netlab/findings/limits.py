"""The limits of all streams together: those of links first, then each stream's own.

Several trials show which waits for a CPU cost nothing, and which streams a packet rate limits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from statistics import median

from netlab.findings import stream_limits
from netlab.findings.derived import StreamSample
from netlab.findings.finding import Conditions, Finding, Kind, finding
from netlab.findings.link_limits import link_limits
from netlab.findings.stream_end import StreamEnd
from netlab.findings.stream_limits import JudgedStream, judged, trials_of
from netlab.findings.stream_rules import WAITED, packet_bound
from netlab.trial.record import grouped

SLOWER = 0.95
"""A minority of a cell's trials gets a warning of its own only if its throughput is at most this
share of the throughput of the other trials."""

VETO_TRIALS, VETO_SPAN = 6, 0.1
"""Minimum number of trials that can show that longer waits cost nothing, and minimum difference
between their shares of time without a CPU."""

_LESS_THAN_PACKETS = (None, Kind.LOSS_LIMIT_PATH, Kind.LOSS_LIMIT_UNKNOWN, Kind.NOT_DETERMINED)

_Part = tuple[str, str, str, int, str, Conditions]
"""A host, its role, and what is tested: protocol, message size, flow, conditions."""

_WAITS: Mapping[Kind | None, Callable[[StreamSample], tuple[StreamEnd, ...]]] = {
    Kind.CPU_WAIT_SENDER_QUOTA: lambda sample: (sample.sender,),
    Kind.CPU_WAIT_SENDER_PROGRAMS: lambda sample: (sample.sender,),
    Kind.CPU_WAIT_RECEIVER_QUOTA: lambda sample: (sample.receiver,),
    Kind.CPU_WAIT_RECEIVER_PROGRAMS: lambda sample: (sample.receiver,),
    Kind.CPU_WAIT_STEAL: lambda sample: sample.ends,
}
"""Kind of limit that is a wait for a CPU → the ends that waited."""


def limits(samples: Iterable[StreamSample]) -> tuple[Finding, ...]:
    """The bottlenecks of the streams; limits of links come first.

    There is one finding per group of cells and limit, with the trials that show it; and one per
    direction of a pairing whose link is slower than stated.
    """
    streams = stream_limits.with_steady_others(samples)
    undisturbed = grouped(
        (s for s in streams if all(end.judged and end.waited_share <= WAITED for end in s.ends)),
        lambda sample: (sample.cell, sample.flow),
    )
    best = {key: _middle(trials) for key, trials in undisturbed.items()}
    judged_alone = [judged(sample, best.get((sample.cell, sample.flow))) for sample in streams]
    judged_streams = _with_packets(_without_vetoed(_without_harmless(judged_alone)))
    judged_streams = [*stream_limits.with_lost_apart(judged_streams)]
    of_links = link_limits(judged_streams)
    shared = {stream for link_limit in of_links for stream in link_limit.shared}
    placed = {stream for link_limit in of_links for stream in link_limit.members} - shared
    judged_streams = [
        replace(stream, kind=Kind.OTHER_TRAFFIC) if stream in shared else stream
        for stream in judged_streams
    ]
    return (*(link_limit.finding for link_limit in of_links), *_grouped(judged_streams, placed))


def _middle(trials: Iterable[StreamSample]) -> float:
    return median(trial.throughput_bit_per_s for trial in trials)


def _with_packets(judged_streams: Sequence[JudgedStream]) -> list[JudgedStream]:
    """For streams without another limit, add the limit by packet rate, which only several cells can
    show.

    A wait for a CPU is replaced if most of the trials at that packet rate did not wait.
    """
    bound = packet_bound(stream.sample for stream in judged_streams)
    candidates = {s for s in judged_streams if (s.sample.cell, s.sample.flow) in bound}
    free = {s for s in candidates if s.by_shares or s.kind in _LESS_THAN_PACKETS}
    if 2 * len(free) > len(candidates):
        free |= {stream for stream in candidates if stream.kind in _WAITS}
    return [
        replace(stream, kind=Kind.PACKET_RATE, by_shares=False) if stream in free else stream
        for stream in judged_streams
    ]


# ---- waits that cost nothing ---------------------------------------------------------------------


def _without_harmless(judged_streams: Sequence[JudgedStream]) -> list[JudgedStream]:
    """Drop waits for a CPU that cost nothing.

    A wait costs nothing if the same host, in the same role and with the same messages and settings,
    waited at least as long in another trial that filled the wire, with any peer.
    """
    harmless: dict[_Part, float] = {}
    for stream in judged_streams:
        if stream.kind is Kind.WIRE_CEILING:
            for part, end in _parts(stream.sample):
                harmless[part] = max(harmless.get(part, 0.0), end.waited_share)

    def is_harmless(stream: JudgedStream) -> bool:
        ends = _WAITS[stream.kind](stream.sample) if stream.kind in _WAITS else ()
        return bool(ends) and all(
            end.waited_share <= harmless.get(part, 0.0)
            for part, end in _parts(stream.sample)
            if end in ends
        )

    return [_without_wait(s) if is_harmless(s) else s for s in judged_streams]


def _without_wait(stream: JudgedStream) -> JudgedStream:
    kind = Kind.NOT_DETERMINED if stream_limits.is_all_known(stream.sample) else None
    return replace(stream, kind=kind, by_shares=False)


def _parts(sample: StreamSample) -> tuple[tuple[_Part, StreamEnd], ...]:
    settings = (sample.protocol, sample.message_bytes, sample.flow, sample.conditions)
    return (
        ((sample.sender.host, "sender", *settings), sample.sender),
        ((sample.receiver.host, "receiver", *settings), sample.receiver),
    )


def _without_vetoed(judged_streams: Sequence[JudgedStream]) -> list[JudgedStream]:
    """Drop waits for a CPU from groups in which longer waits did not lower the throughput."""
    vetoed = {
        (group, kind)
        for group, streams in grouped(judged_streams, lambda stream: stream.sample.group).items()
        for kind in {stream.kind for stream in streams}
        if kind in _WAITS and _costs_nothing(streams, _WAITS[kind])
    }
    return [
        _without_wait(stream) if (stream.sample.group, stream.kind) in vetoed else stream
        for stream in judged_streams
    ]


def _costs_nothing(
    streams: Sequence[JudgedStream], ends_of: Callable[[StreamSample], tuple[StreamEnd, ...]]
) -> bool:
    """Whether throughput is higher in trials with longer waits, by Kendall's tau (1938).

    Each throughput is divided by the median of its cell.
    """
    points: list[tuple[float, float]] = []
    for trials in grouped((it.sample for it in streams), lambda sample: sample.cell).values():
        waits = [max(end.waited_share for end in ends_of(sample)) for sample in trials]
        middle = _middle(trials) or 1
        points += zip(waits, (it.throughput_bit_per_s / middle for it in trials), strict=True)
    waits = [waited for waited, _ in points]
    if len(points) < VETO_TRIALS or max(waits) - min(waits) < VETO_SPAN:
        return False
    pairs = [((a - c) * (b - d)) for (a, b), (c, d) in combinations(points, 2)]
    return sum((sign > 0) - (sign < 0) for sign in pairs) > 0


# ---- findings ------------------------------------------------------------------------------------


def _grouped(
    judged_streams: Iterable[JudgedStream], placed: Collection[JudgedStream]
) -> Iterator[Finding]:
    """One finding per group and kind. ``placed``: the streams that already belong to a finding."""
    for group, streams in grouped(judged_streams, lambda stream: stream.sample.group).items():
        cells = grouped(streams, lambda stream: stream.sample.cell)
        kinds: dict[Kind, dict[str, list[StreamSample]]] = {}
        for cell, trials in cells.items():
            shown = [
                (kind, stream.sample)
                for stream in trials
                if stream not in placed
                for kind in stream_limits.all_limits(stream.kind, stream.sample)
            ]
            for kind, showing in _of_cell(shown, len(trials)).items():
                kinds.setdefault(kind, {})[cell] = showing
        for kind, of_cells in kinds.items():
            samples = [sample for showing in of_cells.values() for sample in showing]
            all_samples = [stream.sample for cell in of_cells for stream in cells[cell]]
            counts = stream_limits.trial_count_words(samples, all_samples)
            words = stream_limits.words(kind, samples) | counts
            figures = stream_limits.evidence(kind, samples)
            yield finding(kind, group, (), figures, words, trials_of(samples))


def _of_cell(
    shown: Sequence[tuple[Kind | None, StreamSample]], of_trials: int
) -> dict[Kind, list[StreamSample]]:
    """Kind → the trials of one cell that show it, the most frequent kind first.

    If a kind is a warning and at most half of the trials show it, its trials are left out unless
    they are clearly slower than the others.
    """
    kinds = {
        kind: [sample for _kind, sample in pairs]
        for kind, pairs in grouped(shown, lambda pair: pair[0]).items()
    }
    trials_of_kind: dict[Kind, list[StreamSample]] = {}
    for kind, showing in sorted(kinds.items(), key=lambda item: -len(item[1])):
        if kind is None:
            continue
        others = [_middle(samples) for other, samples in kinds.items() if other is not kind]
        few = kind.severity == "warning" and 2 * len(showing) <= of_trials
        if not (few and others and _middle(showing) > SLOWER * max(others)):
            trials_of_kind[kind] = showing
    return trials_of_kind
