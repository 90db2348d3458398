"""The wire ceiling of a column: the highest payload rate that the link's framing allows. No I/O."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from netlab.ethernet import (
    IpVersion,
    Link,
    above_tolerance,
    ceiling_bit_per_s,
    has_timestamps,
    ip_version_of,
    mss_of,
)
from netlab.results.layout import Bin, TableColumn
from netlab.trial.record import FlowValues, Record


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
    bins_of_column = tuple(bins)
    trials = [
        (record, table_bin.flow) for table_bin in bins_of_column for record in table_bin.records
    ]
    if link is None or not trials or any(record.same_host for record, _ in trials):
        return None
    with_options = [
        (record, flow) for record, flow in trials if record.flow(flow).tcp_timestamps is not None
    ]
    ceilings = [
        ceiling
        for record, flow in (with_options or trials)
        for ceiling in _ceilings(column, record, record.flow(flow), link)
    ]
    return Ceiling(max(ceilings), min(ceilings)) if ceilings else None


def _ceilings(column: TableColumn, record: Record, flow: FlowValues, link: Link) -> list[float]:
    ip_version = ip_version_of(record.settings)
    flow_timestamps = flow.tcp_timestamps
    try:
        if column.protocol == "UDP" or (
            flow_timestamps is None
            and has_timestamps(flow.mss_bytes, link.mtu_bytes, ip_version=ip_version)
        ):
            flow_timestamps = True
        options = (True, False) if flow_timestamps is None else (flow_timestamps,)
        return [
            ceiling_bit_per_s(
                link.rate_bit_per_s,
                "UDP" if column.protocol == "UDP" else "TCP",
                column.message_bytes,
                link.mtu_bytes,
                ip_version=ip_version,
                timestamps=timestamps,
                mss_bytes=_mss_bytes(flow, link, ip_version, timestamps),
                vlan=link.vlan,
            )
            for timestamps in options
        ]
    except ValueError:
        return []


def _mss_bytes(flow: FlowValues, link: Link, ip_version: IpVersion, timestamps: bool) -> int | None:
    """The effective MSS, if it was recorded and the link's MTU allows it."""
    if flow.mss_bytes is None:
        return None
    most = mss_of(link.mtu_bytes, ip_version=ip_version, timestamps=timestamps)
    return flow.mss_bytes if flow.mss_bytes <= most else None
