"""The wire ceiling of a column: the highest payload rate that the link's framing allows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from netlab import ethernet
from netlab.ethernet import Link, ip_version_of
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
        most_bit_per_s = self.highest_bit_per_s * (1 + ethernet.above_tolerance(imported=imported))
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
    settings = {"protocol": column.protocol, "message_bytes": column.message_bytes}
    framings = {
        (flow.mss_bytes, flow.tcp_timestamps, ip_version_of(record.settings)): (record, flow)
        for record, flow in with_options or trials
    }
    of_framings = [
        flow_ceiling({**record.settings, **settings}, flow, link, link.mtu_bytes, highest=highest)
        for record, flow in framings.values()
        for highest in (True, False)
    ]
    ceilings = [ceiling for ceiling in of_framings if ceiling is not None]
    return Ceiling(max(ceilings), min(ceilings)) if ceilings else None


def flow_ceiling(
    settings: Mapping[str, Any], flow: FlowValues, link: Link, mtu_bytes: int, *, highest: bool
) -> float | None:
    """The ceiling of one flow of a trial with these settings, in payload bit/s; ``None`` if the
    protocol cannot carry such a message.

    If neither the record nor the MSS shows whether TCP timestamps were in use, the result is the
    ceiling with timestamps, which is lower; with ``highest``, the ceiling without them. An
    effective MSS counts if it was recorded and the MTU allows it.
    """
    size, ip_version = settings.get("message_bytes"), ip_version_of(settings)
    mss_bytes, timestamps = flow.mss_bytes, flow.tcp_timestamps
    if not isinstance(size, int):
        return None
    try:
        if timestamps is None:
            timestamps = not highest or ethernet.has_timestamps(
                mss_bytes, mtu_bytes, ip_version=ip_version
            )
        most = ethernet.mss_of(mtu_bytes, ip_version=ip_version, timestamps=timestamps)
        return ethernet.ceiling_bit_per_s(
            link,
            "UDP" if settings.get("protocol") == "UDP" else "TCP",
            size,
            mtu_bytes,
            ip_version=ip_version,
            timestamps=timestamps,
            mss_bytes=mss_bytes if mss_bytes is not None and mss_bytes <= most else None,
        )
    except ValueError:
        return None
