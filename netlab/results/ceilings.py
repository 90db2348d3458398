"""The wire ceiling of a column: the highest payload rate that the link's framing allows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from netlab.ethernet import (
    IpVersion,
    Link,
    Protocol,
    above_tolerance,
    ceiling_bit_per_s,
    has_timestamps,
    ip_version_of,
    mss_of,
)
from netlab.results.layout import Bin, TableColumn
from netlab.trial.record import FlowValues


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The bounds of a ceiling (payload in bit/s). They are equal if the TCP options are known."""

    highest_bit_per_s: float
    lowest_bit_per_s: float

    @property
    def is_known(self) -> bool:
        """Whether both bounds are equal."""
        return self.highest_bit_per_s == self.lowest_bit_per_s

    def is_exceeded_by(self, throughput_bit_per_s: float, *, imported: bool) -> bool:
        """Whether a throughput exceeds the highest bound by more than clock errors explain."""
        most_bit_per_s = self.highest_bit_per_s * (1 + above_tolerance(imported=imported))
        return throughput_bit_per_s > most_bit_per_s


def ceiling_of(column: TableColumn, bins: Iterable[Bin], link: Link | None) -> Ceiling | None:
    """The ceiling of a column's trials on this link.

    ``None`` if the link is not known, if a trial did not use the link (same host), or if the
    protocol cannot carry such a message. If neither the record nor the MSS shows whether TCP
    timestamps were used, the ceiling is a range: from TCP with timestamps to TCP without them.
    """
    trials = [
        (record, record.flow(table_bin.flow)) for table_bin in bins for record in table_bin.records
    ]
    if link is None or not trials or any(record.same_host for record, _ in trials):
        return None
    with_options = [(record, flow) for record, flow in trials if flow.tcp_timestamps is not None]
    protocol: Protocol = "UDP" if column.protocol == "UDP" else "TCP"
    ceilings = [
        ceiling
        for record, flow in with_options or trials
        for highest in (True, False)
        if (
            ceiling := flow_ceiling(
                protocol,
                column.message_bytes,
                flow,
                link,
                ip_version_of(record.settings),
                mtu_bytes=link.mtu_bytes,
                highest=highest,
            )
        )
        is not None
    ]
    return Ceiling(max(ceilings), min(ceilings)) if ceilings else None


def flow_ceiling(
    protocol: Protocol,
    message_bytes: int,
    flow: FlowValues,
    link: Link,
    ip_version: IpVersion,
    *,
    mtu_bytes: int,
    highest: bool,
) -> float | None:
    """The ceiling of one flow, in payload bit/s; ``None`` if the protocol cannot carry such a
    message.

    If neither the record nor the MSS shows whether TCP timestamps were in use, the result is the
    ceiling with timestamps, which is lower; with ``highest``, the ceiling without them. An
    effective MSS counts if it was recorded and the MTU allows it.
    """
    mss_bytes, timestamps = flow.mss_bytes, flow.tcp_timestamps
    try:
        if timestamps is None:
            timestamps = not highest or has_timestamps(mss_bytes, mtu_bytes, ip_version=ip_version)
        most = mss_of(mtu_bytes, ip_version=ip_version, timestamps=timestamps)
        return ceiling_bit_per_s(
            link.rate_bit_per_s,
            protocol,
            message_bytes,
            mtu_bytes,
            ip_version=ip_version,
            timestamps=timestamps,
            mss_bytes=mss_bytes if mss_bytes is not None and mss_bytes <= most else None,
            vlan=link.vlan,
        )
    except ValueError:
        return None
