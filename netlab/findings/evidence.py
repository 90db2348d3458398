"""Evidence: makes stream samples from a run's records. No I/O.

A stream sample is the evidence about one flow (direction of data) in one trial. Findings about
streams are computed from samples. A window is the time that an end (sender or receiver) measures;
TCP's own windows are called receive window and congestion window.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from netlab.ethernet import (
    Link,
    ceiling_bit_per_s,
    fragments,
    has_timestamps,
    ip_version_of,
    mss_of,
)
from netlab.findings.finding import conditions_of
from netlab.findings.framing import Framing
from netlab.findings.sample import Losses, OwnDrops, StreamEnd, StreamSample, TcpAccount
from netlab.findings.streams.plateau import plateau_bit_per_s
from netlab.findings.traffic import likely_others, others_of, ways_of
from netlab.results.tcp_series import tcp_series_of
from netlab.trial.interruptions import interruptions
from netlab.trial.record import (
    FLOWS,
    FlowValues,
    Record,
    Status,
    as_number,
    as_whole,
    server_sends,
)

if TYPE_CHECKING:
    from netlab.results.run import Run

_REQUESTS_S = 1.0
_OTHER_WAY = {"to_server_": "to_client_", "to_client_": "to_server_"}
_WINDOW_OF_SEGMENTS = 4
"""If the receive window is smaller than this many segments, Linux cuts smaller segments than the
path would carry."""


def samples(run: Run) -> tuple[StreamSample, ...]:
    """One sample for each flow of each stream trial with status ok, in the plan's order.

    For an imported run, the only evidence is the share of the wire ceiling (the highest payload
    rate that the link's framing allows).
    """
    return tuple(
        sample
        for cell, _, record in run.stored.trials()
        if cell.test == "stream" and record is not None
        for sample in _of_record(record, run.plan.link, imported=run.plan.source is not None)
    )


def _of_record(record: Record, link: Link | None, *, imported: bool) -> Iterator[StreamSample]:
    settings, values = record.settings, record.values
    if record.status is not Status.OK:
        return
    stopped_shares = {
        gap.flow: min(1.0, gap.stopped_ns / max(1, gap.window_ns)) for gap in interruptions(record)
    }
    for prefix, flow in FLOWS.items():
        fields = FlowValues(values, prefix)
        throughput, size = fields.number("throughput_bit_per_s"), settings.get("message_bytes")
        if throughput is None or not isinstance(size, int):
            continue
        sender, receiver = _hosts(record, prefix)
        protocol = str(settings.get("protocol", ""))
        offered_rate = offered_bit_per_s(settings, size)
        streams = as_whole(settings.get("streams")) or 1
        series = tcp_series_of(values, prefix) if protocol == "TCP" else None
        yield StreamSample(
            cell=record.cell,
            trial=record.trial,
            pairing=record.pairing,
            protocol=protocol,
            message_bytes=size,
            flow=flow,
            conditions=conditions_of(settings, sorted({*settings} - {"message_bytes"})),
            engine=str(settings.get("engine") or ""),
            engine_remarks=str(values.get("engine_remarks") or ""),
            imported=imported,
            throughput_bit_per_s=throughput,
            ceiling_bit_per_s=ceiling_of(settings, values, prefix, link),
            highest_ceiling_bit_per_s=ceiling_of(settings, values, prefix, link, highest=True),
            resolution_share=_resolution_share(fields),
            same_host=values.get("same_host") is True,
            stopped_share=stopped_shares.get(prefix, 0.0),
            offered_bit_per_s=offered_rate,
            streams=streams,
            sender=_end(fields, "sender", sender, spins=offered_rate is not None),
            receiver=_end(fields, "receiver", receiver, spins=fields.whole("receiver_spin") == 1),
            calls=fields.whole("sender_sent_messages_window"),
            call_times=fields.histogram("sender_send_call_histogram"),
            room_looks=fields.whole("sender_send_room_looks"),
            room_share=fields.number("sender_send_room_share"),
            send_buffer_bytes=fields.whole("sender_send_buffer_bytes"),
            queue_looks=fields.whole("receiver_queue_looks"),
            queue_full_share=fields.number("receiver_queue_full_share"),
            receive_calls=fields.whole("receiver_receive_calls"),
            empty_receives=fields.whole("receiver_empty_receives"),
            tcp=_account(fields) if protocol == "TCP" else TcpAccount(),
            tcp_series=series,
            plateau_bit_per_s=plateau_bit_per_s(series) if streams == 1 else None,
            losses=_losses(fields, protocol),
            **({} if imported else _others(record, link, sender, receiver)),
            drops=_drops(fields, record, server_sends=server_sends(settings, prefix)),
            congestion=fields.text("sender_congestion"),
            congestion_asked=settings.get("congestion") is not None,
            packets_a_message=_packets(protocol, size, settings, _mtu(fields, link)),
            path_mtu_bytes=_path_mtu_bytes(fields, protocol, settings),
            link_mtu_bytes=None if link is None else link.mtu_bytes,
            framing=framing_of(settings, values, prefix, link),
        )


def _others(record: Record, link: Link | None, sender: str, receiver: str) -> dict[str, Any]:
    """Other traffic on the interfaces of both hosts, as fields of a sample."""
    ways = ways_of(record, link)
    likely, doubt = likely_others(ways, link, sender, receiver)
    return {
        "others": others_of(record, link, ways),
        "likely_others_share": likely,
        "others_doubt_share": doubt,
    }


def _hosts(record: Record, prefix: str) -> tuple[str, str]:
    """The sending and the receiving host."""
    ends = (record.server or "", record.client or "")
    return ends if server_sends(record.settings, prefix) else (ends[1], ends[0])


def offered_bit_per_s(settings: Mapping[str, Any], message_bytes: int) -> float | None:
    """The rate of a paced stream in bit/s; ``None`` if the stream is sent as fast as possible."""
    rate, messages = settings.get("rate_bit_per_s"), settings.get("message_rate_per_s")
    if isinstance(rate, int | float):
        return float(rate)
    return 8.0 * message_bytes * messages if isinstance(messages, int | float) else None


def _end(fields: FlowValues, role: str, host: str, *, spins: bool) -> StreamEnd:
    return StreamEnd(
        host=host,
        window_ns=fields.whole(f"{role}_elapsed_ns"),
        thread_ns=fields.whole(f"{role}_thread_ns"),
        run_queue_delay_ns=fields.whole(f"{role}_run_queue_delay_ns"),
        quota_periods=fields.whole(f"{role}_quota_periods"),
        throttled_periods=fields.whole(f"{role}_quota_throttled_periods"),
        throttled_ns=fields.whole(f"{role}_quota_throttled_ns"),
        steal_share=fields.number(f"{role}_host_steal_share"),
        busiest_core=fields.whole(f"{role}_host_busiest_core"),
        busiest_core_share=fields.number(f"{role}_host_busiest_core_share"),
        cpu=fields.whole(f"{role}_cpu"),
        spins=spins,
        clock_ppm=fields.number(f"{role}_raw_clock_ppm"),
        clock_step_ns=fields.whole(f"{role}_wall_step_ns"),
    )


def _resolution_share(fields: FlowValues) -> float:
    """Uncertainty of a coarse result: the bytes of its largest receive call plus the change of its
    receive queue, as a share of all received bytes.

    A result is coarse if receive calls were long compared with the window. The uncertainty of other
    results is 0. The uncertainty of a coarse result is infinite if the bytes are not known.
    """
    if fields.whole("receiver_coarse") != 1:
        return 0.0
    total, largest = (
        fields.whole("receiver_received_bytes"),
        fields.whole("receiver_largest_receive_bytes"),
    )
    if not total or largest is None:
        return math.inf
    queues = [fields.whole(f"receiver_queue_{edge}_bytes") or 0 for edge in ("open", "close")]
    return (largest + abs(queues[1] - queues[0])) / total


def _account(fields: FlowValues) -> TcpAccount:
    edges = [fields.whole(f"sender_tcp_{edge}_snd_wnd") for edge in ("begin", "end")]
    return TcpAccount(
        busy_us=fields.grown("sender", "busy_time_us"),
        rwnd_limited_us=fields.grown("sender", "rwnd_limited_us"),
        sndbuf_limited_us=fields.grown("sender", "sndbuf_limited_us"),
        retransmissions=fields.grown("sender", "total_retrans"),
        window_bytes=max((window for window in edges if window is not None), default=None),
        min_rtt_us=fields.whole("sender_tcp_end_min_rtt_us"),
        rtt_us=fields.whole("sender_tcp_end_rtt_us"),
    )


def _losses(fields: FlowValues, protocol: str) -> Losses:
    """Lost messages over UDP; over TCP, only segments that the other direction retransmitted."""
    if protocol != "UDP":
        resent = _other_way(fields).grown("sender", "total_retrans") if fields.prefix else 0
        return Losses(other_way=resent)
    return Losses(
        sent=fields.sent_messages,
        lost=fields.lost_messages,
        receive_queue=fields.whole("receiver_queue_drops"),
        local=fields.whole("sender_local_drops"),
        other_way=_other_way(fields).lost_messages if fields.prefix else 0,
    )


def _other_way(fields: FlowValues) -> FlowValues:
    return FlowValues(fields.values, _OTHER_WAY[fields.prefix])


def _drops(fields: FlowValues, record: Record, *, server_sends: bool) -> OwnDrops:
    sender, receiver = ("server", "client") if server_sends else ("client", "server")

    def of(host: str, place: str) -> int | None:
        return as_whole(record.values.get(f"{host}_{place}_dropped_frames"))

    return OwnDrops(
        sender_interface=of(sender, "interface"),
        sender_queue=of(sender, "queue"),
        receiver_interface=of(receiver, "interface"),
        receiver_backlog=of(receiver, "softnet"),
        sender_backlog=of(sender, "softnet"),
        reassembly=fields.whole("receiver_ip_reassembly_failures"),
        between_s=_between_readings_s(fields, record.settings),
    )


def _between_readings_s(fields: FlowValues, settings: Mapping[str, Any]) -> float:
    """Maximum time between the two readings of the hosts' drop counters, in seconds.

    The counters are read just before and just after the test. So this is the time of the test's
    stages plus the time of the requests to the probes.
    """
    stages = (fields.number(name) for name in ("setup_ns", "elapsed_ns", "drain_ns"))
    stages_s = sum(stage for stage in stages if stage is not None) / 1e9
    return (as_number(settings.get("warm_up_s")) or 0) + stages_s + _REQUESTS_S


def _path_mtu_bytes(fields: FlowValues, protocol: str, settings: Mapping[str, Any]) -> int | None:
    """The path MTU that the sender's system knows. Over TCP, the sender's segment size may show a
    smaller path MTU.
    """
    if protocol != "TCP":
        return fields.whole("sender_path_mtu_bytes")
    pmtu, mss = (
        fields.whole("sender_tcp_end_pmtu"),
        fields.whole("sender_tcp_end_snd_mss"),
    )
    window = _account(fields).window_bytes
    if pmtu is None or mss is None or window is None or window < _WINDOW_OF_SEGMENTS * mss:
        return pmtu
    version = ip_version_of(settings)
    # If options are unknown, assume timestamps: otherwise the path would seem narrower than it is.
    timestamps = fields.tcp_timestamps is not False
    headers = pmtu - mss_of(pmtu, ip_version=version, timestamps=timestamps)
    return min(pmtu, mss + headers)


def _mtu(fields: FlowValues, link: Link | None) -> int | None:
    """The smaller one of the path's known MTU and the link's MTU; ``None`` if no link is stated."""
    path = fields.whole("sender_path_mtu_bytes")
    if link is None:
        return None
    return link.mtu_bytes if path is None else min(path, link.mtu_bytes)


def _packets(
    protocol: str, message_bytes: int, settings: Mapping[str, Any], mtu_bytes: int | None
) -> int | None:
    if protocol != "UDP" or mtu_bytes is None:
        return None
    try:
        fragment_sizes = fragments(
            message_bytes, mtu_bytes=mtu_bytes, ip_version=ip_version_of(settings)
        )
    except ValueError:
        return None
    return len(fragment_sizes)


def ceiling_of(
    settings: Mapping[str, Any],
    values: Mapping[str, Any],
    prefix: str,
    link: Link | None,
    *,
    highest: bool = False,
) -> float | None:
    """The wire ceiling of one flow in payload bit/s; ``None`` if the link is not known.

    The wire ceiling is the highest payload rate that the link's framing allows. If neither the
    record nor the MSS shows whether TCP timestamps were in use, the result is the ceiling with
    timestamps, which is lower; with ``highest``, it is the ceiling without timestamps. Over UDP, a
    known path MTU counts instead of the link's MTU if it is smaller.
    """
    size = settings.get("message_bytes")
    if link is None or values.get("same_host") is True or not isinstance(size, int):
        return None
    fields = FlowValues(values, prefix)
    version = ip_version_of(settings)
    udp = settings.get("protocol") == "UDP"
    mtu_bytes = (_mtu(fields, link) if udp else None) or link.mtu_bytes
    mss_bytes = fields.mss_bytes
    try:
        presumed = not highest or has_timestamps(mss_bytes, mtu_bytes, ip_version=version)
        timestamps = values.get(prefix + "tcp_timestamps", presumed) is not False
        largest_mss = mss_of(mtu_bytes, ip_version=version, timestamps=timestamps)
        return ceiling_bit_per_s(
            link.rate_bit_per_s,
            "UDP" if udp else "TCP",
            size,
            mtu_bytes,
            ip_version=version,
            timestamps=timestamps,
            mss_bytes=mss_bytes if mss_bytes is not None and mss_bytes <= largest_mss else None,
            vlan=link.vlan,
        )
    except ValueError:
        return None


def framing_of(
    settings: Mapping[str, Any], values: Mapping[str, Any], prefix: str, link: Link | None
) -> Framing | None:
    """The framing of one UDP message, or of one full TCP segment, on the link, as ``ceiling_of``
    assumes it; ``None`` if the ceiling is not known.
    """
    size = settings.get("message_bytes")
    ceiling = ceiling_of(settings, values, prefix, link)
    if link is None or ceiling is None or not isinstance(size, int):
        return None
    fields, version = FlowValues(values, prefix), ip_version_of(settings)
    if settings.get("protocol") == "UDP":
        mtu_bytes = _mtu(fields, link) or link.mtu_bytes
        packets = fragments(size, mtu_bytes=mtu_bytes, ip_version=version)
    else:
        timestamps = values.get(prefix + "tcp_timestamps") is not False
        largest_mss = mss_of(link.mtu_bytes, ip_version=version, timestamps=timestamps)
        mss_bytes = fields.mss_bytes
        size = largest_mss if mss_bytes is None or mss_bytes > largest_mss else mss_bytes
        packets = (size + link.mtu_bytes - largest_mss,)
    rate = link.rate_bit_per_s
    return Framing(payload_bytes=size, packets=packets, vlan=link.vlan, link_rate_bit_per_s=rate)
