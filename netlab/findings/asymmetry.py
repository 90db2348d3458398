"""Asymmetry: one direction between two ends that is far slower than the other.

The ends of a pairing are its two hosts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from netlab.experiment.pairings import is_by_name, labels_of, named
from netlab.findings.finding import Finding, Kind, finding
from netlab.findings.series import Point, Series
from netlab.stats import median

FAR = 2.0
"""A direction is far slower if the median of the opposite direction is more than this many times
its own median."""


def one_way(series: Iterable[Series], of_mesh: Collection[str] = ()) -> tuple[Finding, ...]:
    """Findings about pairings with less than half of the throughput of the other direction.

    The directions are compared with the same settings: by the median over the socket buffers that
    have a figure in both directions. ``of_mesh``: the cells that a finding about a mesh (several
    hosts, each measured with the others) already calls slow. If all compared cells of the slower
    direction are among them, there is no finding.
    """
    groups = {one_series.group: one_series for one_series in series if one_series.test == "stream"}
    findings = []
    for group, slower in groups.items():
        faster = groups.get(replace(group, pairing=_turned(group.pairing)))
        if faster is None or faster is slower:
            continue
        slower_points, faster_points = _by_buffer(slower), _by_buffer(faster)
        sizes = [size for size in slower_points if size in faster_points]
        if not sizes:
            continue
        less, more = (
            median([side[size].middle or 0 for size in sizes])
            for side in (slower_points, faster_points)
        )
        if more > FAR * less and not all(slower_points[size].cell in of_mesh for size in sizes):
            findings.append(
                finding(
                    Kind.ONE_WAY,
                    group,
                    tuple(slower_points[size].cell for size in sizes),
                    {"throughput_bit_per_s": less, "other_bit_per_s": more, "ratio": more / less},
                    {"against": _turned(group.pairing)},
                )
            )
    return tuple(findings)


def _by_buffer(series: Series) -> dict[int | None, Point]:
    return {point.buffer_bytes: point for point in series.measured if not point.same_host}


def _turned(pairing: str) -> str:
    """The pairing with its ends exchanged."""
    server, client = labels_of(pairing)
    return named(client, server) if is_by_name(pairing) else client + server
