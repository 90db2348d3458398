"""Limits by trial: each trial's own limit, what trials show together → findings. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from statistics import median

from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.sample import StreamEnd, StreamSample
from netlab.findings.streams.figures import evidence, words
from netlab.findings.streams.host_limits import WAITED
from netlab.findings.streams.limits import JudgedStream, is_all_known, judged
from netlab.findings.streams.link_limits import link_limits
from netlab.findings.streams.parts import with_steady_others
from netlab.findings.streams.path_limits import packet_bound
from netlab.findings.streams.trial_counts import in_those_trials, trials_of

SLOWER = 0.95
"""Fewer than half of a cell's trials have a warning of their own where they come to at most so much
of the others."""

VETO_TRIALS, VETO_SPAN = 6, 0.1
"""Least trials, and least span of their shares of time without a CPU, that may show that those
who waited longer were not slower."""

_LESS_THAN_PACKETS = frozenset({None, Kind.PATH_LOSS, Kind.UNPLACED_LOSS, Kind.NOT_DETERMINED})

_Part = tuple[str, str, str, int, str, str]
"""A host, its part, and the tests: protocol, message size, flow, conditions."""

_WAITS: Mapping[Kind, Callable[[StreamSample], tuple[StreamEnd, ...]]] = {
    Kind.SENDER_CPU_QUOTA: lambda each: (each.sender,),
    Kind.SENDER_STARVED: lambda each: (each.sender,),
    Kind.RECEIVER_CPU_QUOTA: lambda each: (each.receiver,),
    Kind.RECEIVER_STARVED: lambda each: (each.receiver,),
    Kind.STOLEN_CPU: lambda each: each.ends,
}
"""Kind of limit that is a wait for a CPU → the ends that waited."""


def limits(samples: Iterable[StreamSample]) -> tuple[Finding, ...]:
    """What limited the streams: a finding a group of cells and limit, over the trials that show it,
    in the readings' order; one a direction of a pairing where its link is slower than stated.
    """
    judged_alone = _without_harmless(_of_trials(with_steady_others(samples)))
    shown = _with_packets(_without_vetoed(judged_alone))
    of_links = link_limits(shown)
    shared = {place for each in of_links for place in each.shared}
    shown = [
        replace(each, kind=Kind.OTHER_TRAFFIC) if place in shared else each
        for place, each in enumerate(shown)
    ]
    taken = frozenset(place for each in of_links for place in each.members - each.shared)
    return (*(each.finding for each in of_links), *_grouped(shown, taken))


def _of_trials(given: Sequence[StreamSample]) -> list[JudgedStream]:
    """Each trial's own, held against the trials of its cell that had a CPU when they wanted one."""
    undisturbed: dict[tuple[str, str], list[float]] = {}
    for each in given:
        if all(end.judged and end.waited_share <= WAITED for end in each.ends):
            undisturbed.setdefault((each.cell, each.flow), []).append(each.throughput_bit_per_s)
    best = {key: median(values) for key, values in undisturbed.items()}
    return [judged(each, best.get((each.cell, each.flow))) for each in given]


def _with_packets(shown: Sequence[JudgedStream]) -> list[JudgedStream]:
    """A rate in packets is seen over several cells, and only where nothing else is shown; a wait
    for a CPU gives way where most of these trials have that rate without one.
    """
    bound = packet_bound(each.sample for each in shown)
    its = [each for each in shown if (each.sample.cell, each.sample.flow) in bound]
    free = [each for each in its if each.by_shares or each.kind in _LESS_THAN_PACKETS]
    less = _LESS_THAN_PACKETS | ({*_WAITS} if 2 * len(free) > len(its) else set())
    return [
        replace(each, kind=Kind.PACKET_RATE, by_shares=False)
        if (each.by_shares or each.kind in less) and (each.sample.cell, each.sample.flow) in bound
        else each
        for each in shown
    ]


# ---- waits that cost nothing ---------------------------------------------------------------------


def _without_harmless(shown: Sequence[JudgedStream]) -> list[JudgedStream]:
    """A wait for a CPU is no limit where the same host waited as long in the same part of another
    trial of such messages, with whatever peer, that filled the wire.
    """
    harmless: dict[_Part, float] = {}
    for each in shown:
        if each.kind is Kind.WIRE_CEILING:
            for part, end in _parts(each.sample):
                harmless[part] = max(harmless.get(part, 0.0), end.waited_share)
    return [
        replace(each, kind=_else(each.sample), by_shares=False)
        if _is_harmless(each, harmless)
        else each
        for each in shown
    ]


def _is_harmless(each: JudgedStream, harmless: Mapping[_Part, float]) -> bool:
    if each.kind is None or each.kind not in _WAITS:
        return False
    ends = _WAITS[each.kind](each.sample)
    return all(
        end.waited_share <= harmless.get(part, 0.0)
        for part, end in _parts(each.sample)
        if end in ends
    )


def _parts(sample: StreamSample) -> tuple[tuple[_Part, StreamEnd], ...]:
    """Each end, and of what part in which tests it is."""
    its = (sample.protocol, sample.message_bytes, sample.flow, sample.conditions)
    return (
        ((sample.sender.host, "sender", *its), sample.sender),
        ((sample.receiver.host, "receiver", *its), sample.receiver),
    )


def _without_vetoed(shown: Sequence[JudgedStream]) -> list[JudgedStream]:
    """Waits for a CPU are no limit where trials of a group that waited longer were no slower."""
    groups: dict[Group, list[JudgedStream]] = {}
    for each in shown:
        groups.setdefault(each.sample.group, []).append(each)
    vetoed = {
        (group, kind)
        for group, those in groups.items()
        for kind in {each.kind for each in those}
        if kind is not None and kind in _WAITS and _costs_nothing(those, _WAITS[kind])
    }
    return [
        replace(each, kind=_else(each.sample), by_shares=False)
        if (each.sample.group, each.kind) in vetoed
        else each
        for each in shown
    ]


def _else(sample: StreamSample) -> Kind | None:
    return Kind.NOT_DETERMINED if is_all_known(sample) else None


def _costs_nothing(
    those: Sequence[JudgedStream], ends_of: Callable[[StreamSample], tuple[StreamEnd, ...]]
) -> bool:
    """By Kendall's tau (1938) of waits and throughput, each against the median of its cell."""
    cells: dict[str, list[float]] = {}
    for each in those:
        cells.setdefault(each.sample.cell, []).append(each.sample.throughput_bit_per_s)
    middles = {cell: median(values) for cell, values in cells.items()}
    points = [
        (
            max(end.waited_share for end in ends_of(each.sample)),
            each.sample.throughput_bit_per_s / (middles[each.sample.cell] or 1),
        )
        for each in those
    ]
    waits = [waited for waited, _ in points]
    if len(points) < VETO_TRIALS or max(waits) - min(waits) < VETO_SPAN:
        return False
    pairs = [((a - c) * (b - d)) for (a, b), (c, d) in combinations(points, 2)]
    return sum((each > 0) - (each < 0) for each in pairs) > 0


# ---- findings ------------------------------------------------------------------------------------


def _grouped(shown: Sequence[JudgedStream], taken: Collection[int]) -> Iterator[Finding]:
    """A finding a group and kind; ``taken`` are the places of trials that have theirs already."""
    groups: dict[Group, dict[str, list[tuple[int, JudgedStream]]]] = {}
    for place, each in enumerate(shown):
        cells = groups.setdefault(each.sample.group, {})
        cells.setdefault(each.sample.cell, []).append((place, each))
    for group, cells in groups.items():
        found: dict[Kind, dict[str, list[StreamSample]]] = {}
        for cell, trials in cells.items():
            free = [each for place, each in trials if place not in taken]
            for kind, its in _of_cell(free, len(trials)).items():
                found.setdefault(kind, {})[cell] = its
        for kind, of_cells in found.items():
            those = [each for its in of_cells.values() for each in its]
            beside = [each.sample for cell in of_cells for _, each in cells[cell]]
            yield finding(
                kind,
                group,
                tuple(of_cells),
                evidence(kind, those),
                {**words(kind, those), **in_those_trials(those, beside)},
                trials_of(those),
            )


def _of_cell(trials: Sequence[JudgedStream], of_trials: int) -> dict[Kind, list[StreamSample]]:
    """Kind → the trials of one cell that show it, most of them first.

    Few trials that are hardly slower than the others are no warning.
    """
    kinds: dict[Kind | None, list[StreamSample]] = {}
    for each in trials:
        kinds.setdefault(each.kind, []).append(each.sample)
    found: dict[Kind, list[StreamSample]] = {}
    for kind, its in sorted(kinds.items(), key=lambda each: -len(each[1])):
        others = [_middle(those) for other, those in kinds.items() if other is not kind]
        few = kind is not None and kind.severity == "warning" and 2 * len(its) <= of_trials
        if kind is None or (few and others and _middle(its) > SLOWER * max(others)):
            continue
        found[kind] = its
    return found


def _middle(trials: Sequence[StreamSample]) -> float:
    return median(each.throughput_bit_per_s for each in trials)
