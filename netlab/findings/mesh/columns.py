"""Columns of a mesh: stream samples that differ in nothing but who sends to whom. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from netlab.experiment.pairings import is_by_name, labels_of
from netlab.experiment.records import PREFIXES, server_sends
from netlab.findings.finding import Group
from netlab.findings.sample import StreamSample
from netlab.findings.streams.trial_counts import trials_of
from netlab.stats import median
from netlab.stats.mesh import MeshVerdict, MeshWay, judge_mesh

MeshKey = tuple[str, int, bool, str]
"""Protocol, message size, whether both send at once, and the other settings as text."""


@dataclass(frozen=True)
class MeshColumn:
    """The trials of every pair under one protocol, message size and other conditions."""

    key: MeshKey
    trials: Mapping[MeshWay, tuple[StreamSample, ...]]
    """Sender and receiver → what is known of each trial."""

    @property
    def protocol(self) -> str:
        """Of all its cells."""
        return self.key[0]

    @property
    def message_bytes(self) -> int:
        """Of all its cells."""
        return self.key[1]

    @property
    def is_both_ways(self) -> bool:
        """Whether each pair sends both ways at once."""
        return self.key[2]

    @cached_property
    def verdict(self) -> MeshVerdict | None:
        """By shares of the ceiling; where one is not known, by throughput."""
        every = [each for its in self.trials.values() for each in its]
        known = all(each.ceiling_share is not None for each in every)
        return judge_mesh(
            {
                pair: [
                    (each.ceiling_share if known else None) or each.throughput_bit_per_s
                    for each in its
                ]
                for pair, its in self.trials.items()
            }
        )

    def throughput(self, pair: MeshWay) -> float:
        """Median of a pair's trials, in bit/s."""
        return median([each.throughput_bit_per_s for each in self.trials[pair]])

    def share(self, pair: MeshWay) -> float | None:
        """Median share of the ceiling; ``None`` where that is not known."""
        shares = [share for e in self.trials[pair] if (share := e.ceiling_share) is not None]
        return median(shares) if shares else None

    def cells(self, pairs: Iterable[MeshWay]) -> tuple[str, ...]:
        """Keys of the cells of some pairs."""
        return tuple(dict.fromkeys(each.cell for pair in pairs for each in self.trials[pair]))

    def numbered(self, pairs: Iterable[MeshWay]) -> tuple[tuple[str, int], ...]:
        """The trials of some pairs, as findings name them."""
        return trials_of([each for pair in pairs for each in self.trials[pair]])


def columns_of(samples: Iterable[StreamSample]) -> tuple[MeshColumn, ...]:
    """Every column in which three hosts and more have a figure, in the readings' order.

    Not of streams within one machine, nor of those that were not to be faster.
    """
    found: dict[MeshKey, dict[MeshWay, list[StreamSample]]] = {}
    for each in samples:
        pair = ends_of(each)
        if each.same_host or each.paced or each.imported or "" in pair or pair[0] == pair[1]:
            continue
        found.setdefault(_key(each), {}).setdefault(pair, []).append(each)
    columns = (
        MeshColumn(key, {pair: tuple(its) for pair, its in pairs.items()})
        for key, pairs in found.items()
    )
    return tuple(column for column in columns if column.verdict is not None)


def ends_of(sample: StreamSample) -> MeshWay:
    """Who sends to whom: the roles of a pairing by name, else the hosts of the record."""
    if not is_by_name(sample.pairing):
        return sample.sender.host, sample.receiver.host
    server, client = labels_of(sample.pairing)
    prefix = PREFIXES[sample.flow]
    by_server = server_sends(_settings(sample), prefix)
    return (server, client) if by_server else (client, server)


def narrowed(those: Iterable[MeshColumn], every: Iterable[MeshColumn], host: str = "") -> Group:
    """What a finding in some columns is about: protocol and message size only where others differ.

    So a host that is slow at one protocol only is named with it.
    """
    its, beside = tuple(those), tuple(every)
    protocols, sizes = {e.protocol for e in its}, {e.message_bytes for e in its}
    alone = len(protocols) == 1 and any(e.protocol not in protocols for e in beside)
    sized = len(sizes) == 1 and any(
        e.message_bytes not in sizes for e in beside if e.protocol in protocols
    )
    return Group(
        host=host,
        protocol=next(iter(protocols)) if alone else "",
        message_bytes=next(iter(sizes)) if sized and len(protocols) == 1 else None,
    )


def _key(sample: StreamSample) -> MeshKey:
    others = {name: v for name, v in _settings(sample).items() if name != "direction"}
    text = json.dumps(others, sort_keys=True)
    return sample.protocol, sample.message_bytes, bool(sample.flow), text


def _settings(sample: StreamSample) -> Mapping[str, object]:
    said = json.loads(sample.conditions) if sample.conditions else {}
    return said if isinstance(said, dict) else {}
