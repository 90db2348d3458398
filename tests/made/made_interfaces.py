"""Interfaces made up for tests: what counters of many a card say of a stream and of others."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from netlab.ethernet import Link
from netlab.store.plan import PlannedCell
from netlab.trial.record import Record, Status

FAMILY = {4: 20, 6: 40}


@dataclass(frozen=True, kw_only=True)
class Wire:
    """One stream over one link, and how the cards of both hosts count."""

    protocol: str
    version: int
    link: Link
    window_s: float
    share: float
    """Of the link, by the frames of the stream."""
    message: int
    timestamps: bool
    segments_together: int
    """How many segments a card counts as one packet: 1, or what a super-packet has."""
    with_fcs: bool
    with_tag: bool
    padded: bool
    step_s: float
    """Between two updates of the counters."""
    resent_share: float
    lost_share: float
    tells_segments: bool
    streams: int
    others: Mapping[tuple[str, bool], float] = field(default_factory=dict)
    """(host, receiving) → bit/s as a card counts them, in full frames."""


def drawn_wire(seed: int, **fixed: Any) -> Wire:
    """A stream that the fields of records can show, of any rate and size."""
    draw = random.Random(seed)  # noqa: S311  (no secret)
    protocol = draw.choice(["TCP", "UDP"])
    mtu = draw.choice([1400, 1500, 1500, 9000])
    version = draw.choice([4, 6])
    defaults: dict[str, Any] = {
        "protocol": protocol,
        "version": version,
        "link": Link(draw.choice([1e7, 1e8, 1e9, 1e10]), mtu),
        "window_s": draw.choice([1.0, 2.0, 10.0, 30.0]),
        "share": draw.uniform(0.02, 0.97),
        "message": draw.choice([64, 512, 1200, 1452, 8000, 60_000]),
        "timestamps": draw.random() < 0.7,
        "segments_together": draw.choice([1, 1, 10, 44]),
        "with_fcs": draw.random() < 0.3,
        "with_tag": draw.random() < 0.2,
        "padded": draw.random() < 0.5,
        "step_s": draw.choice([0.02, 0.02, 0.04, 0.25, 1.0]),
        "resent_share": draw.choice([0.0, 0.0, 0.001, 0.05]),
        "lost_share": draw.choice([0.0, 0.0, 0.01, 0.3]),
        "tells_segments": draw.random() < 0.8,
        "streams": draw.choice([1, 1, 4]),
    }
    return Wire(**(defaults | fixed))


def record_of_wire(wire: Wire, seed: int) -> Record:
    """What the two ends would have recorded: linux-a sends, linux-b receives."""
    draw = random.Random(seed)  # noqa: S311  (no secret)
    values = (_tcp if wire.protocol == "TCP" else _udp)(wire, draw)
    settings: dict[str, Any] = {
        "protocol": wire.protocol,
        "message_bytes": wire.message,
        "ip_version": wire.version,
        "streams": wire.streams,
        "duration_s": wire.window_s,
    }
    return Record(
        cell="c",
        trial=1,
        attempt=1,
        status=Status.OK,
        pairing="LL",
        server="linux-b",
        client="linux-a",
        test="stream",
        started_at="",
        settings=settings,
        values={"same_host": False, **values},
    )


def cell_of_wire(record: Record) -> PlannedCell:
    return PlannedCell(record.cell, record.pairing, record.test, dict(record.settings))


def _card(wire: Wire, frames: float, ip_bytes: float, *, together: int = 1) -> tuple[float, float]:
    """Bytes and packets that a card counts of some frames; together, they share one header."""
    around = 14 + (4 if wire.with_fcs else 0) + (4 if wire.with_tag else 0)
    if together > 1:
        header = 14 + FAMILY[wire.version] + 20 + (12 if wire.timestamps else 0)
        packets = frames / together
        return frames * (ip_bytes - header + 14) + packets * header, packets
    least = 64 if wire.padded else 0
    return frames * max(ip_bytes + around, least), frames


def _counters(
    wire: Wire, draw: random.Random, end: str, own: Mapping[bool, tuple[float, float]]
) -> dict[str, Any]:
    """What an end's interface grew by, as it was last updated at both edges."""
    host = "linux-a" if end == "sender" else "linux-b"
    apart_s = draw.uniform(-1, 1) * min(0.004, wire.window_s / 200)
    span_s = wire.window_s + apart_s
    seen_s = span_s + draw.uniform(-1, 1) * wire.step_s
    if wire.step_s <= 0.02:  # it is read no more often: nearly at once
        seen_s = span_s
    counters: dict[str, Any] = {
        f"{end}_interface": "eth0",
        f"{end}_interface_window_ns": round(span_s * 1e9),
        f"{end}_interface_counter_step_ns": round(wire.step_s * 1e9),
        f"{end}_elapsed_ns": round(wire.window_s * 1e9),
    }
    for receiving, (own_bytes, own_packets) in own.items():
        rate = wire.others.get((host, receiving), 0.0)
        scale, way = seen_s / wire.window_s, "received" if receiving else "sent"
        other_packets = rate * wire.window_s / 8 / (wire.link.mtu_bytes + 14)
        control = draw.uniform(0, 3000) * wire.window_s
        grown = (own_bytes + rate * wire.window_s / 8) * scale + control
        counters[f"{end}_interface_window_{way}_bytes"] = round(grown)
        counters[f"{end}_interface_window_{way}_packets"] = round(
            (own_packets + other_packets) * scale
        )
    return counters


def _tcp(wire: Wire, draw: random.Random) -> dict[str, Any]:
    options = 12 if wire.timestamps else 0
    header = FAMILY[wire.version] + 20 + options
    mss = wire.link.mtu_bytes - header
    segments = round(
        wire.share * wire.link.rate_bit_per_s * wire.window_s / 8 / (wire.link.mtu_bytes + 38)
    )
    resent = round(segments * wire.resent_share)
    sent_segments, received_segments = segments + resent, segments + resent // 2
    acks = round(segments * draw.uniform(0.05, 1.0))
    queue = draw.uniform(0, 1e5)
    sack = 36 if wire.resent_share and not wire.timestamps else 12 if wire.resent_share else 0
    ack = _card(wire, acks, header + sack)
    data = [
        _card(wire, n, mss + header, together=wire.segments_together)
        for n in (sent_segments, received_segments)
    ]
    on_wire = (data[0][0] + draw.uniform(-1, 0) * queue, data[0][1])
    values: dict[str, Any] = {
        "throughput_bit_per_s": segments * mss * 8 / wire.window_s,
        "tcp_timestamps": wire.timestamps,
        "sender_sent_bytes": segments * mss,
        "sender_sent_messages_window": max(1, segments * mss // wire.message),
        "sender_send_buffer_bytes": 2_000_000,
        "receiver_receive_buffer_bytes": 6_000_000,
        "receiver_received_bytes": segments * mss,
        "sender_tcp_begin_snd_mss": mss,
        "sender_tcp_end_snd_mss": mss,
        "sender_tcp_begin_total_retrans": 7,
        "sender_tcp_end_total_retrans": 7 + resent,
        **_counters(wire, draw, "sender", {False: on_wire, True: ack}),
        **_counters(wire, draw, "receiver", {True: data[1], False: ack}),
    }
    if wire.tells_segments:
        values |= {
            "sender_tcp_window_sent_bytes": sent_segments * mss,
            "sender_tcp_window_segs_out": sent_segments,
            "sender_tcp_window_segs_in": acks,
            "receiver_tcp_window_received_bytes": segments * mss,
            "receiver_tcp_window_segs_in": received_segments,
            "receiver_tcp_window_data_segs_in": received_segments,
            "receiver_tcp_window_segs_out": acks,
        }
    return values


def _udp(wire: Wire, draw: random.Random) -> dict[str, Any]:
    ip, mtu = FAMILY[wire.version], wire.link.mtu_bytes
    fragment = ip + (8 if wire.version == 6 else 0)
    remainder, sizes = wire.message + 8, []
    if remainder + ip <= mtu:
        sizes, remainder = [remainder + ip], 0
    most = (mtu - fragment) // 8 * 8
    while remainder > 0:
        sizes.append(min(remainder, most) + fragment)
        remainder -= most
    on_wire = sum(max(packet_bytes, 46) + 38 for packet_bytes in sizes)
    sent_messages = round(wire.share * wire.link.rate_bit_per_s * wire.window_s / 8 / on_wire) + 1
    lost_messages = round(sent_messages * wire.lost_share)
    drops = lost_messages if draw.random() < 0.3 else 0  # by the receiving socket, else on the path
    received_messages = sent_messages - lost_messages

    def card(messages: float) -> tuple[float, float]:
        card_counts = [_card(wire, messages, size) for size in sizes]
        return sum(b for b, _ in card_counts), sum(p for _, p in card_counts)

    return {
        "throughput_bit_per_s": received_messages * wire.message * 8 / wire.window_s,
        "lost_messages": lost_messages,
        "sent_messages": sent_messages,
        "sender_sent_messages_window": sent_messages,
        "sender_send_buffer_bytes": 212_992,
        "receiver_received_messages": received_messages,
        "receiver_duplicate_messages": 0,
        "receiver_lost_messages": lost_messages,
        "receiver_queue_drops": drops,
        "receiver_queue_close_bytes": 0,
        "server_softnet_dropped_frames": 0,
        **_counters(wire, draw, "sender", {False: card(sent_messages), True: (0.0, 0.0)}),
        **_counters(
            wire, draw, "receiver", {True: card(received_messages + drops), False: (0.0, 0.0)}
        ),
    }
