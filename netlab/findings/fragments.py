"""Fragments: UDP messages that need several frames, and the longest message that fits one frame."""

from __future__ import annotations

from collections.abc import Iterable

from netlab.ethernet import (
    IP_BYTES,
    UDP_BYTES,
    IpVersion,
    Link,
    best_udp_message,
    fragments,
    ip_version_of,
)
from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.series import Point, Series


def fragmented(series: Iterable[Series], link: Link | None) -> tuple[Finding, ...]:
    """One finding per message size, IP version and MTU, for all senders together: fragmentation
    depends on the link.

    A cell (one combination of settings) counts only if it has a result, and if its messages went
    over a cable with a known MTU.
    """
    cells: dict[tuple[Group, IpVersion, int], dict[str, None]] = {}
    for one_series in series:
        size = one_series.group.message_bytes
        if one_series.group.protocol != "UDP" or size is None:
            continue
        for point in one_series.measured:
            mtu_bytes = _mtu_bytes(point, link)
            if mtu_bytes is None or point.same_host:
                continue
            version = ip_version_of(point.settings)
            group = Group(protocol="UDP", message_bytes=size)
            cells.setdefault((group, version, mtu_bytes), {})[point.cell] = None
    return tuple(
        result
        for (group, version, mtu_bytes), keys in cells.items()
        if (result := _of_size(group, version, mtu_bytes, tuple(keys))) is not None
    )


def _of_size(
    group: Group, version: IpVersion, mtu_bytes: int, cells: tuple[str, ...]
) -> Finding | None:
    try:
        pieces = len(fragments(group.message_bytes or 0, mtu_bytes=mtu_bytes, ip_version=version))
    except ValueError:
        return None
    if pieces < 2:
        return None
    return finding(
        Kind.FRAGMENTED,
        group,
        cells,
        {
            "fragments": pieces,
            "largest_whole_message_bytes": mtu_bytes - IP_BYTES[version] - UDP_BYTES,
            "best_message_bytes": best_udp_message(mtu_bytes, ip_version=version),
            "mtu_bytes": mtu_bytes,
            "ip_version": version,
        },
    )


def _mtu_bytes(point: Point, link: Link | None) -> int | None:
    """The path MTU that the sender's system knows; otherwise the MTU of the stated link."""
    path_mtus = [
        value for value in point.of_flow("sender_path_mtu_bytes") if isinstance(value, int)
    ]
    if path_mtus:
        return min(path_mtus)
    return None if link is None else link.mtu_bytes
