"""Evidence: run folder → Sendings, what findings are computed from. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from netlab.findings.limits import Sending
from netlab.header import LinkLike
from netlab.histogram import Histogram, from_pairs
from netlab.records import Record, Status
from netlab.wire import IpVersion, ceiling_bit_per_s, mss_of

if TYPE_CHECKING:
    from netlab.frame import Run

FLOWS: Mapping[str, str] = {"": "", "to_server_": "to server", "to_client_": "to client"}
"""Prefix of a flow's values → how it is called where a test sends both ways."""


def sendings(run: Run) -> tuple[Sending, ...]:
    """What is known of each flow of each stream that is ok, in the plan's order.

    Of an import that is no more than its place under the wire ceiling.
    """
    return tuple(
        sending
        for cell, _, record in run.stored.trials()
        if cell.test == "stream" and record is not None
        for sending in _of_record(record, run.plan.link)
    )


def _of_record(record: Record, link: LinkLike | None) -> Iterator[Sending]:
    settings, values = record.settings, record.values
    if record.status is not Status.OK:
        return
    for prefix, flow in FLOWS.items():
        throughput = values.get(prefix + "throughput_bit_per_s")
        size = settings.get("message_bytes")
        if not isinstance(throughput, int | float) or not isinstance(size, int):
            continue

        def whole(name: str, prefix: str = prefix) -> int | None:
            value = values.get(f"{prefix}sender_{name}")
            return value if isinstance(value, int) else None

        share = values.get(f"{prefix}sender_send_room_share")
        yield Sending(
            cell=record.cell,
            pairing=record.pairing,
            protocol=str(settings["protocol"]),
            message_bytes=size,
            flow=flow,
            throughput_bit_per_s=float(throughput),
            ceiling_bit_per_s=ceiling_of(settings, values, prefix, link),
            same_host=values.get("same_host") is True,
            paced="rate_bit_per_s" in settings or "message_rate_per_s" in settings,
            streams=_whole(settings.get("streams")) or 1,
            window_ns=whole("elapsed_ns"),
            calls=whole("sent_messages_window"),
            call_times=_histogram(values, f"{prefix}sender_send_call_histogram"),
            room_looks=whole("send_room_looks"),
            room_share=share if isinstance(share, int | float) else None,
            send_buffer_bytes=whole("send_buffer_bytes"),
            thread_ns=whole("thread_ns"),
        )


def ceiling_of(
    settings: Mapping[str, Any], values: Mapping[str, Any], prefix: str, link: LinkLike | None
) -> float | None:
    """The wire ceiling of one flow in payload bit/s; ``None`` where the link is not known.

    Where no end told whether TCP timestamps were in use it is the lower one, with them.
    """
    if link is None or values.get("same_host") is True:
        return None
    version: IpVersion = 6 if settings.get("ip_version") == 6 else 4
    timestamps = values.get(prefix + "tcp_timestamps") is not False
    mss_bytes = _whole(values.get(prefix + "mss_bytes"))
    try:
        most = mss_of(link.mtu_bytes, ip_version=version, timestamps=timestamps)
        return ceiling_bit_per_s(
            link.rate_bit_per_s,
            "UDP" if settings["protocol"] == "UDP" else "TCP",
            settings["message_bytes"],
            link.mtu_bytes,
            ip_version=version,
            timestamps=timestamps,
            mss_bytes=mss_bytes if mss_bytes is not None and mss_bytes <= most else None,
            vlan=link.vlan,
        )
    except ValueError:
        return None


def _histogram(values: Mapping[str, Any], key: str) -> Histogram | None:
    pairs, bits = values.get(key), _whole(values.get(f"{key}_bits"))
    if not isinstance(pairs, list | tuple) or bits is None:
        return None
    try:
        return from_pairs([int(each) for each in pairs], bits)
    except ValueError:
        return None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
