"""Own traffic: bounds of what one end of a stream sent and received on its interface.

Interfaces count differently: most without the FCS, some with it; with the VLAN tag if there is one;
packets before segmentation or after it. So the test's own traffic ("our" traffic) is known only
within bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from netlab.ethernet import (
    FCS_BYTES,
    GAP_BYTES,
    HEADER_BYTES,
    IP_BYTES,
    MIN_FRAME_BYTES,
    PREAMBLE_BYTES,
    TAG_BYTES,
    TCP_BYTES,
    TIMESTAMPS_BYTES,
    IpVersion,
    fragments,
)

MOST_OPTIONS_BYTES = 40
"""Maximum length of the options of a TCP header; selective acknowledgements fill what timestamps
leave."""

QUEUED_BYTES = 1 << 17
"""Maximum bytes that TCP has in the interface's queue at the edges of a window: two super-packets
of 64 KiB, Linux's limit."""

AROUND_BYTES = PREAMBLE_BYTES + FCS_BYTES + GAP_BYTES
"""Bytes of a frame on the wire that an interface does not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnBytes:
    """Our traffic in one direction of an interface within a window."""

    payload: float = 0.0
    """TCP payload with retransmissions; for UDP, whole IP packets with the Ethernet header."""
    frames: float = 0.0
    """Maximum number of frames on the wire."""
    header: float = 0.0
    """Header bytes of all frames, as an interface counts them."""
    most: float = 0.0
    """Upper bound of all bytes: padded and tagged frames with FCS."""

    def __add__(self, other: OwnBytes) -> OwnBytes:
        return OwnBytes(
            payload=self.payload + other.payload,
            frames=self.frames + other.frames,
            header=self.header + other.header,
            most=self.most + other.most,
        )

    def counted(self, packets: float | None) -> float:
        """The bytes that an interface with this packet count has probably counted.

        An interface that counts packets before their segmentation counts fewer headers.
        """
        share = 1.0 if packets is None or not self.frames else min(1.0, packets / self.frames)
        return self.payload + self.header * share


@dataclass(frozen=True, slots=True)
class EndWords:
    """The recorded values of one end of a stream, and of its peer."""

    values: Mapping[str, Any]
    end: str
    """Prefix of the end's values, such as ``to_server_sender_``."""
    peer: str
    """Prefix of the peer's values."""
    message_bytes: int
    ip_version: IpVersion
    mtu_bytes: int
    timestamps: bool

    def number(self, name: str, *, peer: bool = False) -> float | None:
        """A recorded number; ``None`` if it is missing, negative or not a number."""
        value = self.values.get((self.peer if peer else self.end) + name)
        fits = isinstance(value, int | float) and not isinstance(value, bool) and value >= 0
        return float(value or 0) if fits else None

    @property
    def mss_bytes(self) -> float:
        """The largest payload of the sender's segments."""
        most = self.mtu_bytes - IP_BYTES[self.ip_version] - TCP_BYTES
        recorded = [
            self.number(f"tcp_{edge}_snd_mss", peer=not self.end.endswith("sender_"))
            for edge in ("begin", "end")
        ]
        return max((mss for mss in recorded if mss), default=float(most))

    @property
    def resent_bytes(self) -> float | None:
        """Retransmitted bytes of one stream, as full segments; ``None``: not known."""
        edges = [
            self.number(f"tcp_{edge}_total_retrans", peer=not self.end.endswith("sender_"))
            for edge in ("begin", "end")
        ]
        if edges[0] is None or edges[1] is None:
            return None
        return max(0.0, edges[1] - edges[0]) * self.mss_bytes


# ---- TCP -----------------------------------------------------------------------------------------


def tcp_data_sent(words: EndWords, streams: int) -> OwnBytes | None:
    """The data segments of a sender."""
    payload, slack = words.number("tcp_window_sent_bytes"), float(QUEUED_BYTES)
    if payload is None:
        acknowledged, resent = words.number("sent_bytes"), words.resent_bytes
        buffer = words.number("send_buffer_bytes")
        if acknowledged is None or resent is None or buffer is None or streams > 1:
            return None
        payload, slack = acknowledged + resent, slack + buffer
    return _segments(words, payload, words.number("tcp_window_segs_out"), slack)


def tcp_data_received(words: EndWords, streams: int) -> OwnBytes | None:
    """The data segments that reached a receiver, including duplicates and reordered ones."""
    in_order, data = words.number("tcp_window_received_bytes"), None
    segments = words.number("tcp_window_data_segs_in")
    bounds = []
    if segments is not None:
        bounds.append(segments * words.mss_bytes)
    in_order = words.number("received_bytes") if in_order is None else in_order
    resent, buffer = words.resent_bytes, words.number("receive_buffer_bytes")
    if in_order is not None and resent is not None and buffer is not None and streams == 1:
        bounds.append(in_order + resent + buffer)
    data = min(bounds, default=None)
    if data is None:
        return None
    usual = data if in_order is None else min(data, in_order + (resent or 0.0))
    return _segments(words, usual, words.number("tcp_window_segs_in"), data - usual)


def tcp_acknowledgements(words: EndWords, data: OwnBytes | None) -> OwnBytes | None:
    """The acknowledgements. If they were not counted, one per segment of ``data`` is assumed."""
    name = "tcp_window_segs_in" if words.end.endswith("sender_") else "tcp_window_segs_out"
    frames = words.number(name)
    if frames is None:
        if data is None:
            return None
        frames = data.frames
    header = _header_bytes(words)
    options = MOST_OPTIONS_BYTES - (TIMESTAMPS_BYTES if words.timestamps else 0)
    most = max(MIN_FRAME_BYTES + TAG_BYTES, header + options + FCS_BYTES + TAG_BYTES)
    return OwnBytes(frames=frames, header=frames * header, most=frames * most)


def _segments(words: EndWords, payload: float, segments: float | None, slack: float) -> OwnBytes:
    """TCP segments with this payload; ``slack``: payload that may have been sent in addition."""
    frames = segments
    if frames is None:  # TCP may have sent a segment for each message
        frames = payload / words.mss_bytes + payload / min(words.message_bytes, words.mss_bytes)
    header = _header_bytes(words)
    around = max(MIN_FRAME_BYTES + TAG_BYTES, header + FCS_BYTES + TAG_BYTES)
    beyond = slack * (1 + around / words.mss_bytes)
    return OwnBytes(
        payload=payload,
        frames=frames,
        header=frames * header,
        most=payload + frames * around + beyond,
    )


def _header_bytes(words: EndWords) -> int:
    options = TIMESTAMPS_BYTES if words.timestamps else 0
    return HEADER_BYTES + IP_BYTES[words.ip_version] + TCP_BYTES + options


# ---- UDP -----------------------------------------------------------------------------------------


def udp_sent(words: EndWords) -> OwnBytes | None:
    """The datagrams of a sender: those of its send calls, and those that waited in the socket."""
    messages, buffer = words.number("sent_messages_window"), words.number("send_buffer_bytes")
    if messages is None or buffer is None:
        return None
    return _datagrams(words, messages, buffer / words.message_bytes)


def udp_received(words: EndWords, dropped_behind: float | None) -> OwnBytes | None:
    """The datagrams that reached a receiver, including those lost within its host.

    ``dropped_behind``: frames that the receiver's host dropped behind its interface. If a lost
    message consists of several frames, all frames except one may have arrived.
    """
    messages, lost_messages = words.number("received_messages"), words.number("lost_messages")
    in_socket = words.number("queue_drops")
    queue_bytes = words.number("queue_close_bytes")
    if queue_bytes is None:
        queue_bytes = words.number("receive_buffer_bytes")
    if messages is None or queue_bytes is None or (lost_messages is None and in_socket is None):
        return None
    one_frame = len(_packets(words)) == 1
    if lost_messages is None or (
        one_frame and in_socket is not None and dropped_behind is not None
    ):
        host_losses = (in_socket or 0.0) + (dropped_behind or 0.0)
        lost_messages = host_losses if lost_messages is None else min(lost_messages, host_losses)
    twice = words.number("duplicate_messages") or 0.0
    largest = words.number("largest_receive_bytes") or words.message_bytes
    slack = (queue_bytes + largest) / words.message_bytes
    return _datagrams(words, messages + lost_messages + twice, slack)


def udp_lost(words: EndWords) -> OwnBytes:
    """The datagrams of a receiver that did not reach the test, wherever they were lost."""
    return _datagrams(words, words.number("lost_messages") or 0.0, 0.0)


def _packets(words: EndWords) -> tuple[int, ...]:
    return fragments(words.message_bytes, mtu_bytes=words.mtu_bytes, ip_version=words.ip_version)


def _datagrams(words: EndWords, messages: float, slack: float) -> OwnBytes:
    packets = _packets(words)
    around = HEADER_BYTES + FCS_BYTES + TAG_BYTES
    padded = sum(max(MIN_FRAME_BYTES + TAG_BYTES, packet + around) for packet in packets)
    return OwnBytes(
        payload=messages * sum(packet + HEADER_BYTES for packet in packets),
        frames=messages * len(packets),
        most=(messages + slack) * padded,
    )
