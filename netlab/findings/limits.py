"""The limits of all streams together: those of links first, then each stream's own.

Several cells show which streams a packet rate limits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from statistics import median

from netlab.findings import stream_limits
from netlab.findings.derived import StreamSample
from netlab.findings.finding import Finding, Kind, finding
from netlab.findings.kind import kinds_named
from netlab.findings.link_limits import link_limits
from netlab.findings.rates import runs_of
from netlab.findings.stream_limits import JudgedStream, judged, trials_of
from netlab.findings.stream_rules import DELIVERED, STARVED
from netlab.trial.record import grouped

SLOWER = 0.95
"""A minority of a cell's trials gets a warning of its own only if its throughput is at most this
share of the throughput of the other trials."""

SAME_RATE = 0.05
"""Frame rates are the same if they differ by at most this share."""

BELOW = 0.95
"""Streams with equal frame rates count only below this share of their wire ceiling."""

_LESS_THAN_PACKETS = (None, Kind.LOSS_LIMIT_PATH, Kind.LOSS_LIMIT_UNKNOWN, Kind.NOT_DETERMINED)

_WAITS = frozenset(kinds_named("cpu-wait"))


def limits(samples: Iterable[StreamSample]) -> tuple[Finding, ...]:
    """The bottlenecks of the streams; limits of links come first.

    There is one finding per group of cells and limit, with the trials that show it; and one per
    direction of a pairing whose link is slower than stated.
    """
    streams = stream_limits.with_steady_others(samples)
    undisturbed = grouped(
        (s for s in streams if all(end.judged and end.waited_share <= STARVED for end in s.ends)),
        lambda sample: (sample.cell, sample.flow),
    )
    best = {key: _middle(trials) for key, trials in undisturbed.items()}
    judged_alone = [judged(sample, best.get((sample.cell, sample.flow))) for sample in streams]
    judged_streams = [*stream_limits.with_lost_apart(_with_packets(judged_alone))]
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


def packet_bound(samples: Iterable[StreamSample]) -> frozenset[tuple[str, str]]:
    """(cell, flow) of the streams whose frame rate equals the frame rate of streams with other
    message sizes.

    Only UDP streams with messages of one frame count. Longer messages give frames of one size, and
    TCP cuts its own segments, so a limit in bit/s would look the same.
    """

    def shows_frames(sample: StreamSample) -> bool:
        # Nothing is recorded about the send calls of another tool. If nearly all that it sent
        # arrived, its sender may be what limits the frames.
        by_tool = sample.engine and (sample.lost_share or 0.0) <= 1 - DELIVERED
        if by_tool or sample.imported or sample.same_host or sample.paced:
            return False
        share = sample.ceiling_share
        return sample.packets_a_message == 1 and share is not None and share < BELOW

    alike = grouped(filter(shows_frames, samples), lambda s: (s.pairing, s.flow, s.conditions))
    return frozenset(
        (sample.cell, sample.flow)
        for of_all in alike.values()
        for sizes in (grouped(of_all, lambda sample: sample.message_bytes),)
        for size in _same_rate(sizes)
        for sample in sizes[size]
    )


def _same_rate(sizes: dict[int, list[StreamSample]]) -> Sequence[int]:
    """The longest run of neighbouring sizes that share a rate; empty if there is none."""
    order = sorted(sizes)
    rates = [median(sample.frames_per_s for sample in sizes[size]) for size in order]
    runs = (run for run in runs_of(order) if max(rates[run]) <= (1 + SAME_RATE) * min(rates[run]))
    return max((order[run] for run in runs), key=len, default=[])


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
