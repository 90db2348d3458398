"""Round trips of a mesh: the time that each host adds to its round trips.

A mesh is several hosts, each measured with the others.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netlab.experiment.pairings import is_by_name, labels_of
from netlab.experiment.records import Record, Status
from netlab.findings.evidence import number
from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.stats.mesh import MeshWay, host_effects

if TYPE_CHECKING:
    from netlab.results.run import Run

_MEDIANS = ("rtt_p50_ns", "rtt_mean_ns")
"""Names of values. The figure of a trial is the first of them that is recorded and is not 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _FarHost:
    """A host that lengthens its round trips, in trials with the same settings."""

    added_ns: float
    typical_ns: float
    records: tuple[Record, ...]
    """The records of the trials in which the host took part."""


def far_hosts(run: Run, *, imported: bool) -> Iterator[Finding]:
    """One finding for each kind of test and each host that adds more time to its round trips than
    the other hosts.
    """
    if imported:
        return
    by_host: dict[tuple[str, str], list[_FarHost]] = {}
    for records in _columns(run):
        for host, far in _far_hosts_of(records):
            by_host.setdefault((records[0].test, host), []).append(far)
    for (_, host), cases in by_host.items():
        fastest = min(cases, key=lambda case: case.typical_ns)
        records = [record for case in cases for record in case.records]
        yield finding(
            Kind.FAR_HOST,
            Group(host=host),
            tuple(dict.fromkeys(record.cell for record in records)),
            {"added_ns": fastest.added_ns, "typical_ns": fastest.typical_ns},
            trials=tuple((record.cell, record.trial) for record in records),
        )


def _columns(run: Run) -> Iterator[Sequence[Record]]:
    """Groups of trials that differ only in their two hosts."""
    by_settings: dict[tuple[str, str], list[Record]] = {}
    for record in run.latest.values():
        if (
            record.test in ("round_trip", "connect")
            and record.status is Status.OK
            and record.values.get("same_host") is not True
            and "" not in _ends(record)
            and _typical_ns(record) is not None
        ):
            settings = json.dumps(dict(record.settings), sort_keys=True, default=str)
            by_settings.setdefault((record.test, settings), []).append(record)
    yield from by_settings.values()


def _far_hosts_of(records: Sequence[Record]) -> Iterator[tuple[str, _FarHost]]:
    trials: dict[MeshWay, list[float]] = {}
    for record in records:
        trials.setdefault(_ends(record), []).append(_typical_ns(record) or 0.0)
    effects = host_effects(trials)
    if effects is None:
        return
    for host in effects.far:
        of_host = tuple(record for record in records if host in _ends(record))
        yield (
            host,
            _FarHost(added_ns=effects.added[host], typical_ns=effects.typical, records=of_host),
        )


def _ends(record: Record) -> MeshWay:
    """Client and server."""
    if is_by_name(record.pairing):
        server, client = labels_of(record.pairing)
        return client, server
    return record.client or "", record.server or ""


def _typical_ns(record: Record) -> float | None:
    values: Mapping[str, object] = record.values
    return next((figure for name in _MEDIANS if (figure := number(values.get(name)))), None)
