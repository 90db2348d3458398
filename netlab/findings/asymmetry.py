"""Ways: one way between two ends against the other, where it is far slower. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from netlab.experiment.pairings import is_by_name, labels_of, named
from netlab.findings.finding import Finding, Kind, finding
from netlab.findings.series import Point, Series
from netlab.stats import median

FAR = 2.0
"""More than so many times the slower way's median the other's must be."""


def one_way(series: Iterable[Series], of_mesh: Collection[str] = ()) -> tuple[Finding, ...]:
    """Pairings that carry less than half of what the same ends carry the other way round.

    Under the same settings, over the socket buffers that both have a figure for. ``of_mesh`` are
    the cells that are slow with a host or pair that is named already.
    """
    groups = {each.group: each for each in series if each.test == "stream"}
    found = []
    for group, slower in groups.items():
        faster = groups.get(replace(group, pairing=_turned(group.pairing)))
        if faster is None or faster is slower:
            continue
        mine, its = _by_buffer(slower), _by_buffer(faster)
        both = [size for size in mine if size in its]
        if not both:
            continue
        less, more = (median([side[size].middle or 0 for size in both]) for side in (mine, its))
        if more > FAR * less and not all(mine[size].cell in of_mesh for size in both):
            found.append(
                finding(
                    Kind.ONE_WAY,
                    group,
                    tuple(mine[size].cell for size in both),
                    {"throughput_bit_per_s": less, "other_bit_per_s": more, "ratio": more / less},
                    {"against": _turned(group.pairing)},
                )
            )
    return tuple(found)


def _by_buffer(series: Series) -> dict[int | None, Point]:
    return {point.buffer_bytes: point for point in series.measured if not point.same_host}


def _turned(pairing: str) -> str:
    """The pairing with its ends exchanged."""
    server, client = labels_of(pairing)
    return named(client, server) if is_by_name(pairing) else client + server
