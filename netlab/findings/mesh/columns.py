"""Columns of a mesh: stream samples that differ only in sender and receiver.

A mesh is several hosts, each measured with the others. A stream sample is the evidence about one
direction of data in one trial. The ceiling is the wire ceiling: the highest payload rate of a link.
"""

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
"""Protocol, message size, whether both ends send at once, and the other settings as JSON text."""


@dataclass(frozen=True)
class MeshColumn:
    """The trials of every pair with the same protocol, message size and other conditions."""

    key: MeshKey
    trials: Mapping[MeshWay, tuple[StreamSample, ...]]
    """Sender and receiver → the samples of their trials."""

    @property
    def protocol(self) -> str:
        """The protocol of all cells."""
        return self.key[0]

    @property
    def message_bytes(self) -> int:
        """The message size of all cells."""
        return self.key[1]

    @property
    def is_both_ways(self) -> bool:
        """Whether each pair sends both ways at once."""
        return self.key[2]

    @cached_property
    def verdict(self) -> MeshVerdict | None:
        """Which hosts and pairs are slow; ``None`` if fewer than three hosts have a figure.

        Judged by shares of the ceiling, or by throughput if any share is not known.
        """
        all_samples = [sample for samples in self.trials.values() for sample in samples]
        has_shares = all(sample.ceiling_share is not None for sample in all_samples)
        return judge_mesh(
            {
                pair: [
                    (sample.ceiling_share if has_shares else None) or sample.throughput_bit_per_s
                    for sample in samples
                ]
                for pair, samples in self.trials.items()
            }
        )

    def throughput(self, pair: MeshWay) -> float:
        """Median throughput of a pair's trials, in bit/s."""
        return median([sample.throughput_bit_per_s for sample in self.trials[pair]])

    def share(self, pair: MeshWay) -> float | None:
        """Median share of the ceiling of a pair's trials; ``None`` if no share is known."""
        shares = [
            share for sample in self.trials[pair] if (share := sample.ceiling_share) is not None
        ]
        return median(shares) if shares else None

    def cells(self, pairs: Iterable[MeshWay]) -> tuple[str, ...]:
        """Keys of the cells of some pairs."""
        return tuple(dict.fromkeys(sample.cell for pair in pairs for sample in self.trials[pair]))

    def numbered(self, pairs: Iterable[MeshWay]) -> tuple[tuple[str, int], ...]:
        """(cell, trial) of each trial of some pairs."""
        return trials_of([sample for pair in pairs for sample in self.trials[pair]])


def columns_of(samples: Iterable[StreamSample]) -> tuple[MeshColumn, ...]:
    """Every column in which at least three hosts have a figure, in the order of the samples.

    Streams within one machine, paced streams and imported streams are left out.
    """
    by_key: dict[MeshKey, dict[MeshWay, list[StreamSample]]] = {}
    for sample in samples:
        pair = ends_of(sample)
        if sample.same_host or sample.paced or sample.imported or "" in pair or pair[0] == pair[1]:
            continue
        by_key.setdefault(_key(sample), {}).setdefault(pair, []).append(sample)
    columns = (
        MeshColumn(key, {pair: tuple(of_pair) for pair, of_pair in pairs.items()})
        for key, pairs in by_key.items()
    )
    return tuple(column for column in columns if column.verdict is not None)


def ends_of(sample: StreamSample) -> MeshWay:
    """Sender and receiver: the hosts that the pairing names, or else the hosts of the record."""
    if not is_by_name(sample.pairing):
        return sample.sender.host, sample.receiver.host
    server, client = labels_of(sample.pairing)
    prefix = PREFIXES[sample.flow]
    by_server = server_sends(_settings(sample), prefix)
    return (server, client) if by_server else (client, server)


def narrowed(
    columns: Iterable[MeshColumn], all_columns: Iterable[MeshColumn], host: str = ""
) -> Group:
    """The group of a finding about some columns.

    The group names protocol and message size only if other columns have another protocol or message
    size. For example, if a host is slow with one protocol only, the group names the protocol.
    """
    finding_columns, mesh_columns = tuple(columns), tuple(all_columns)
    protocols, sizes = (
        {column.protocol for column in finding_columns},
        {column.message_bytes for column in finding_columns},
    )
    is_one_protocol = len(protocols) == 1 and any(
        column.protocol not in protocols for column in mesh_columns
    )
    sized = len(sizes) == 1 and any(
        column.message_bytes not in sizes for column in mesh_columns if column.protocol in protocols
    )
    return Group(
        host=host,
        protocol=next(iter(protocols)) if is_one_protocol else "",
        message_bytes=next(iter(sizes)) if sized and len(protocols) == 1 else None,
    )


def _key(sample: StreamSample) -> MeshKey:
    other_settings = {
        name: value for name, value in _settings(sample).items() if name != "direction"
    }
    text = json.dumps(other_settings, sort_keys=True)
    return sample.protocol, sample.message_bytes, bool(sample.flow), text


def _settings(sample: StreamSample) -> Mapping[str, object]:
    settings = json.loads(sample.conditions) if sample.conditions else {}
    return settings if isinstance(settings, dict) else {}
