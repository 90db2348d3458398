"""Hosts against hosts: slow hosts and pairs of a mesh by throughput, far hosts by round trips."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from netlab.ethernet import Link
from netlab.experiment.hosts import is_by_name, labels_of, named
from netlab.findings.derived import StreamSample
from netlab.findings.finding import Conditions, Finding, Group, Kind, conditions_of, finding
from netlab.findings.stream_limits import FILLED, FILLED_BOTH_WAYS, trials_of
from netlab.messages import joined
from netlab.results.run import Run
from netlab.stats import median
from netlab.stats.mesh import (
    LEAST_PEERS,
    HostEffects,
    MeshVerdict,
    MeshWay,
    host_effects,
    judge_mesh,
)
from netlab.trial.record import PREFIXES, Record, Status, grouped, server_sends


class MeshKey(NamedTuple):
    """What the cells of a column have in common."""

    protocol: str
    message_bytes: int
    is_both_ways: bool
    """Whether each pair sends both ways at once."""
    other_settings: Conditions


@dataclass(frozen=True)
class MeshColumn:
    """The trials of every pair with the same protocol, message size and other conditions."""

    key: MeshKey
    trials: Mapping[MeshWay, tuple[StreamSample, ...]]
    """Sender and receiver → the samples of their trials."""
    verdict: MeshVerdict
    """Which hosts and pairs are slow, judged by shares of the ceiling, or by throughput if any
    share is not known."""

    @property
    def samples(self) -> list[StreamSample]:
        """The samples of all pairs."""
        return [sample for samples in self.trials.values() for sample in samples]

    def throughput(self, pair: MeshWay) -> float:
        """Median throughput of a pair's trials, in bit/s."""
        return median([sample.throughput_bit_per_s for sample in self.trials[pair]])

    def share(self, pair: MeshWay) -> float | None:
        """Median share of the ceiling of a pair's trials; ``None`` if no share is known."""
        shares = [s.ceiling_share for s in self.trials[pair] if s.ceiling_share is not None]
        return median(shares) if shares else None

    @cached_property
    def shares(self) -> list[float]:
        """The shares of the pairs, as far as they are known."""
        return [share for pair in self.trials if (share := self.share(pair)) is not None]


def columns_of(samples: Iterable[StreamSample]) -> tuple[MeshColumn, ...]:
    """Every column in which at least three hosts have a figure, in the order of the samples.

    Streams within one machine, or with an offered rate that the wire carries, and imports are left
    out.
    """
    measured = (s for s in samples if not (s.same_host or s.offers_less or s.imported))
    between = (s for s in measured if "" not in (ends := ends_of(s)) and ends[0] != ends[1])
    columns = []
    for key, of_key in grouped(between, _key).items():
        has_shares = all(sample.ceiling_share is not None for sample in of_key)
        trials = {pair: tuple(of_pair) for pair, of_pair in grouped(of_key, ends_of).items()}
        figures = {
            pair: [(has_shares and s.ceiling_share) or s.throughput_bit_per_s for s in of_pair]
            for pair, of_pair in trials.items()
        }
        if (verdict := judge_mesh(figures)) is not None:
            columns.append(MeshColumn(key, trials, verdict))
    return tuple(columns)


def ends_of(sample: StreamSample) -> MeshWay:
    """Sender and receiver: the hosts that the pairing names, or else the hosts of the record."""
    if not is_by_name(sample.pairing):
        return sample.sender.host, sample.receiver.host
    server, client = labels_of(sample.pairing)
    by_server = server_sends(dict(sample.conditions), PREFIXES[sample.flow])
    return (server, client) if by_server else (client, server)


def narrowed(
    columns: Iterable[MeshColumn], all_columns: Iterable[MeshColumn], host: str = ""
) -> Group:
    """The group of a finding about some columns.

    The group names protocol and message size only if other columns have another protocol or message
    size. For example, if a host is slow with one protocol only, the group names the protocol.
    """
    shown = {(column.key.protocol, column.key.message_bytes) for column in columns}
    every = {(column.key.protocol, column.key.message_bytes) for column in all_columns}
    protocols, sizes = {protocol for protocol, _ in shown}, {size for _, size in shown}
    if len(protocols) > 1:
        return Group(host=host)
    (protocol,) = protocols
    has_other_protocol = any(other != protocol for other, _size in every)
    has_other_size = any(other == protocol and size not in sizes for other, size in every)
    return Group(
        host=host,
        protocol=protocol if has_other_protocol else "",
        message_bytes=next(iter(sizes)) if has_other_size and len(sizes) == 1 else None,
    )


def _key(sample: StreamSample) -> MeshKey:
    other_settings = tuple(pair for pair in sample.conditions if pair[0] != "direction")
    return MeshKey(sample.protocol, sample.message_bytes, bool(sample.flow), other_settings)


ALIKE = 0.02
"""Columns belong to one slow mesh if their shares of the ceiling differ by less than this."""

SAME_LINK = 0.05
"""The link of a slow host is not the bottleneck if, in another column, the host's share of the
ceiling exceeds the share in the slow column by more than this."""

MOST_MARGIN = 1.0
"""Maximum margin (scatter) of pairs that count as alike, as a multiple of the distance of the
fastest pair from the ceiling."""

_OF_PATH = frozenset(
    {
        *("congestion", "loss-limit/path", "loss-limit/unknown", "packet-rate", "not-determined"),
        *("pacing", "wire-ceiling", "rate-limit/link", "rate-limit/either"),
        "rate-limit/half-duplex",
    }
)
"""Limits that may be the effect of a slow link or a slow host on the path. A slow pair with such a
limit is not yet explained."""

Explanations = Mapping[tuple[str, str], Kind]
"""(cell, flow) → its bottleneck; absent if the bottleneck may be the path."""


@dataclass(frozen=True)
class _SlowPairs:
    """The slow pairs of one host, or the slow directions of one pair, in one column."""

    column: MeshColumn
    pairs: tuple[MeshWay, ...]
    others: tuple[MeshWay, ...]
    """The pairs for comparison: pairs without a slow host, or all pairs except the slow one."""

    @property
    def throughput(self) -> float:
        """The highest throughput of these pairs, in bit/s."""
        return max(map(self.column.throughput, self.pairs))

    @property
    def share(self) -> float | None:
        """The highest share of the ceiling of these pairs; ``None`` if no share is known."""
        shares = map(self.column.share, self.pairs)
        return max((share for share in shares if share is not None), default=None)


def _shown(by_column: Sequence[_SlowPairs]) -> tuple[tuple[str, int], ...]:
    """(cell, trial) of each trial of these pairs."""
    samples = [[s for pair in slow.pairs for s in slow.column.trials[pair]] for slow in by_column]
    return tuple(trial for of_column in samples for trial in trials_of(of_column))


def slow_in_mesh(
    samples: Iterable[StreamSample], limited: Iterable[Finding], link: Link | None
) -> tuple[Finding, ...]:
    """One finding per slow host, one per slow pair, and one if all pairs are equally slow."""
    columns = columns_of(samples)
    explained: Explanations = {
        (cell, limit.group.flow): limit.kind
        for limit in limited
        if limit.kind.explains and limit.kind not in _OF_PATH
        for cell in limit.cells
    }
    return (
        *_hosts(columns, explained, link),
        *_pairs(columns, explained),
        *_meshes(columns, explained, link),
    )


def _hosts(
    columns: Sequence[MeshColumn], explained: Explanations, link: Link | None
) -> Iterator[Finding]:
    """One finding per slow host and direction (as the sender, as the receiver, or both ways). A
    host has several findings if the direction differs between columns.
    """
    by_host: dict[tuple[str, tuple[bool, bool]], list[_SlowPairs]] = defaultdict(list)
    for column in columns:
        verdict = column.verdict
        others = tuple(pair for pair in column.trials if not set(pair) & set(verdict.named))
        for host in verdict.named if others else ():
            sends, receives = host in verdict.slow_senders, host in verdict.slow_receivers
            pairs = tuple(
                pair
                for pair in column.trials
                if (sends and pair[0] == host) or (receives and pair[1] == host)
            )
            by_host[host, (sends, receives)].append(_SlowPairs(column, pairs, others))
    for (host, slow), by_column in by_host.items():
        # Other limits matter least in the column in which the host is fastest.
        best = max(by_column, key=lambda column_pairs: column_pairs.throughput)
        column, kinds = best.column, _limit_kinds(by_column, explained)
        fast = [pair for pair in column.trials if host in pair and pair not in best.pairs]
        figures: dict[str, float | None] = {
            _MOST_OF[slow]: best.throughput,
            "receives_bit_per_s" if slow[0] else "sends_bit_per_s": max(
                map(column.throughput, fast), default=None
            ),
            "others_bit_per_s": median([column.throughput(pair) for pair in best.others]),
            "ceiling_share": best.share,
        }
        words: dict[str, str] = {}
        if kinds:
            words["limits"] = joined(", ", [kind.limit for kind in kinds if kind.limit is not None])
        elif all(slow):
            figures |= _as_link(host, best.share, columns, link)
        peers = sorted({end for pair in best.pairs for end in pair} - {host})
        if len(peers) <= LEAST_PEERS:
            words["one_peer"], words["other_peer"] = peers[0], peers[-1]
        group = narrowed((column_pairs.column for column_pairs in by_column), columns, host)
        yield finding(Kind.MESH_LIMIT_HOST, group, (), figures, words, _shown(by_column))


_MOST_OF: Mapping[tuple[bool, bool], str] = {
    (True, True): "both_ways_bit_per_s",
    (True, False): "sends_at_most_bit_per_s",
    (False, True): "receives_at_most_bit_per_s",
}
"""(slow as sender, slow as receiver) → name of the figure, which selects the text."""


def _as_link(
    host: str, share: float | None, all_columns: Iterable[MeshColumn], link: Link | None
) -> dict[str, float]:
    """The link rate that would explain the host's throughput: ``share`` times the stated rate.

    Empty if another column shows that the host's link is faster, or if the link is not known.
    """
    shares = (
        column.share(pair) for column in all_columns for pair in column.trials if host in pair
    )
    most = max(filter(None, shares), default=0.0)
    if link is None or share is None or most > share * (1 + SAME_LINK):
        return {}
    rate = float(f"{share * link.rate_bit_per_s:.3g}")
    return {"link_rate_bit_per_s": link.rate_bit_per_s, "as_link_rate_bit_per_s": rate}


def _limit_kinds(by_column: Sequence[_SlowPairs], explained: Explanations) -> tuple[Kind, ...]:
    """The limits of the host's cells, if each of these cells has a limit other than the path;
    otherwise empty.
    """
    kinds = {
        explained.get((sample.cell, sample.flow)): None
        for slow in by_column
        for pair in slow.pairs
        for sample in slow.column.trials[pair]
    }
    return () if None in kinds else tuple(filter(None, kinds))


def _pairs(columns: Sequence[MeshColumn], explained: Explanations) -> Iterator[Finding]:
    """One finding per pair that is slow, one way or both ways, although each of its hosts is faster
    with another host.

    A pair is left out if every trial has a bottleneck other than the path.
    """
    by_ends: dict[frozenset[str], list[_SlowPairs]] = defaultdict(list)
    for column in columns:
        ways: dict[frozenset[str], list[MeshWay]] = defaultdict(list)
        for pair in column.verdict.strays:
            if any((sample.cell, sample.flow) not in explained for sample in column.trials[pair]):
                ways[frozenset(pair)].append(pair)
        for ends, pairs in ways.items():
            other_pairs = tuple(pair for pair in column.trials if frozenset(pair) != ends)
            by_ends[ends].append(_SlowPairs(column, tuple(pairs), other_pairs))
    for by_column in by_ends.values():
        best = max(by_column, key=lambda column_pairs: column_pairs.throughput)
        column = best.column
        sender, receiver = pair = max(best.pairs, key=column.throughput)
        figures = {
            "throughput_bit_per_s": best.throughput,
            "expected_bit_per_s": min(
                max(column.throughput(other) for other in best.others if other[end] == pair[end])
                for end in (0, 1)
            ),
            "ceiling_share": best.share,
        }
        words = {"sending": sender, "receiving": receiver}
        if len({pair for column_pairs in by_column for pair in column_pairs.pairs}) > 1:
            words = {"one": min(pair), "other": max(pair)}
        narrow = narrowed((column_pairs.column for column_pairs in by_column), columns)
        group = Group(named(min(pair), max(pair)), narrow.protocol, narrow.message_bytes)
        yield finding(Kind.MESH_LIMIT_PAIR, group, (), figures, words, _shown(by_column))


def _meshes(
    columns: Sequence[MeshColumn], explained: Explanations, link: Link | None
) -> Iterator[Finding]:
    """A finding if all pairs are equally far below the ceiling, and no pair reaches the ceiling in
    any column.

    The finding uses the columns in which the pairs reach the largest share of the ceiling.
    """
    # Columns of which the share of each pair is known.
    known = [column for column in columns if len(column.shares) == len(column.trials)]
    has_full_column = any(
        max(column.shares) >= (FILLED_BOTH_WAYS if column.key.is_both_ways else FILLED)
        for column in known
    )
    if link is None or not known or has_full_column:
        return
    top = max(max(column.shares) for column in known)
    alike = [
        column
        for column in known
        if max(column.shares) >= top * (1 - ALIKE)
        and _is_alike(column.verdict, min(column.shares), max(column.shares))
        # Fewer than half of its trials have a limit other than the path.
        and 2 * sum((s.cell, s.flow) in explained for s in column.samples) < len(column.samples)
    ]
    if not alike:
        return
    rates_of = ([*map(column.throughput, column.trials)] for column in alike)
    column, rates = max(zip(alike, rates_of, strict=True), key=lambda it: median(it[1]))
    figures = {
        "pairs": len({frozenset(pair) for pair in column.trials}),
        "throughput_bit_per_s": median(rates),
        "least_bit_per_s": min(rates),
        "most_bit_per_s": max(rates),
        "ceiling_share": median(column.shares),
        "link_rate_bit_per_s": link.rate_bit_per_s,
    }
    trials = _shown([_SlowPairs(one, tuple(one.trials), ()) for one in alike])
    yield finding(Kind.MESH_LIMIT_MESH, narrowed(alike, columns), (), figures, trials=trials)


def _is_alike(verdict: MeshVerdict, least: float, most: float) -> bool:
    """Whether no host or pair stands out, and the scatter is too small to hide such a host or
    pair.
    """
    return (
        not verdict.named
        and not verdict.strays
        and verdict.margin <= MOST_MARGIN * -math.log(most)
        and not verdict.is_below(least, most)
    )


_MEDIANS = ("rtt_p50_ns", "rtt_mean_ns")
"""Names of values. The figure of a trial is the first of them that is recorded and is not 0."""


def far_hosts(run: Run, *, imported: bool) -> Iterator[Finding]:
    """One finding for each kind of test and each host that adds more time to its round trips than
    the other hosts.
    """

    def is_usable(record: Record) -> bool:
        has_trips = record.test in ("round_trip", "connect") and record.status is Status.OK
        is_remote = record.values.get("same_host") is not True and "" not in _ends(record)
        return has_trips and is_remote and _typical_ns(record) is not None

    # Groups of trials that differ only in their two hosts.
    by_settings = grouped(
        filter(is_usable, () if imported else run.latest.values()),
        lambda record: (record.test, conditions_of(record.settings, sorted(record.settings))),
    )
    # The trials of a host with the same settings, and the times that each host adds in them.
    by_host: dict[tuple[str, str], list[tuple[HostEffects, list[Record]]]] = defaultdict(list)
    for (test, _settings), records in by_settings.items():
        by_ends = grouped(records, _ends)
        trips = {ends: [_typical_ns(it) or 0.0 for it in by_ends[ends]] for ends in by_ends}
        if effects := host_effects(trips):
            for host in effects.far:
                of_host = [record for record in records if host in _ends(record)]
                by_host[test, host].append((effects, of_host))
    for (_, host), cases in by_host.items():
        fastest, _records = min(cases, key=lambda case: case[0].typical)
        trials = tuple(record.key for _effects, of_host in cases for record in of_host)
        figures = {"added_ns": fastest.added[host], "typical_ns": fastest.typical}
        yield finding(Kind.FAR_HOST, Group(host=host), (), figures, trials=trials)


def _ends(record: Record) -> MeshWay:
    """Client and server."""
    if is_by_name(record.pairing):
        server, client = labels_of(record.pairing)
        return client, server
    return record.client, record.server


def _typical_ns(record: Record) -> float | None:
    return next((figure for name in _MEDIANS if (figure := record.number(name))), None)
