"""Other traffic on the interfaces of a stream's hosts: what they counted beyond our own bytes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netlab import ethernet
from netlab.ethernet import Link
from netlab.messages import Message, _
from netlab.trial.interruptions import interruptions
from netlab.trial.record import FLOWS, Record, Status, as_number, as_whole, server_sends

_WAYS = {False: _("sending"), True: _("receiving")}


def way(*, receiving: bool) -> Message:
    """``sending`` or ``receiving``."""
    return _WAYS[receiving]


LINK_FULL = 0.98
"""A link is full if all traffic in one direction of an interface is at least this share of the
link's rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherTraffic:
    """Traffic other than the test's own, in one direction of an interface of one of the hosts."""

    host: str
    receiving: bool
    bit_per_s: float
    """The rate in the bytes that the interface counts, from the Ethernet header to the end of the
    packet."""
    filled_share: float
    """Share of the link that all traffic fills on the wire, including the test's own. The test's
    own traffic is known only within bounds, so this share may exceed 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnDrops:
    """Frames that the two hosts of a stream dropped, by place; ``None``: not known."""

    sender_interface: int | None = None
    sender_queue: int | None = None
    """Drops in the queue of the sender's interface, including those that send calls reported."""
    receiver_interface: int | None = None
    receiver_backlog: int | None = None
    """Drops in the backlog of the CPUs behind the receiver's interface (softnet)."""
    sender_backlog: int | None = None
    """Drops in the backlog at the sender. They cause no loss; they are recorded because they show
    whether the host counts all drops."""
    reassembly: int | None = None
    """Messages that the receiver's system could not reassemble."""
    damaged: int | None = None
    """Packets that reached the receiver's system with a wrong checksum."""
    between_s: float = 0.0
    """Longest possible time between the two readings of these counters."""


MOST_OPTIONS_BYTES = 40
"""Maximum length of the options of a TCP header; selective acknowledgements fill what timestamps
leave."""

QUEUED_BYTES = 1 << 17
"""Maximum bytes that TCP has in the interface's queue at the edges of a window: two super-packets
of 64 KiB, Linux's limit."""

MIN_TAGGED_BYTES = ethernet.MIN_FRAME_BYTES + ethernet.TAG_BYTES
FCS_AND_TAG_BYTES = ethernet.FCS_BYTES + ethernet.TAG_BYTES
AROUND_BYTES = ethernet.PREAMBLE_BYTES + ethernet.FCS_BYTES + ethernet.GAP_BYTES
"""Bytes of a frame on the wire that an interface does not count."""


@dataclass(frozen=True, slots=True)
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
            self.payload + other.payload,
            self.frames + other.frames,
            self.header + other.header,
            self.most + other.most,
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
    ip_version: ethernet.IpVersion
    mtu_bytes: int
    timestamps: bool
    place: str = ""
    """``server`` or ``client``: the role of the end's host in the test."""

    @property
    def sends(self) -> bool:
        """Whether the end is the sender."""
        return self.end.endswith("sender_")

    def number(self, name: str, *, peer: bool = False) -> float | None:
        """A recorded number; ``None`` if it is missing, negative or not a number."""
        value = as_number(self.values.get((self.peer if peer else self.end) + name))
        return None if value is None or value < 0 else value

    def _at_edges(self, name: str) -> list[float | None]:
        """A number of the sender's TCP at the begin and the end of the window."""
        return [self.number(f"tcp_{edge}_{name}", peer=not self.sends) for edge in ("begin", "end")]

    @property
    def mss_bytes(self) -> float:
        """The largest payload of the sender's segments."""
        most = self.mtu_bytes - ethernet.IP_BYTES[self.ip_version] - ethernet.TCP_BYTES
        return max((mss for mss in self._at_edges("snd_mss") if mss), default=float(most))

    @property
    def resent_bytes(self) -> float | None:
        """Retransmitted bytes of one stream, as full segments; ``None``: not known."""
        first, last = self._at_edges("total_retrans")
        return None if first is None or last is None else max(0.0, last - first) * self.mss_bytes


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
    in_order = words.number("tcp_window_received_bytes")
    in_order = words.number("received_bytes") if in_order is None else in_order
    segments = words.number("tcp_window_data_segs_in")
    bounds = [] if segments is None else [segments * words.mss_bytes]
    resent, buffer = words.resent_bytes, words.number("receive_buffer_bytes")
    if in_order is not None and resent is not None and buffer is not None and streams == 1:
        bounds.append(in_order + resent + buffer)
    if not bounds:
        return None
    data = min(bounds)
    usual = data if in_order is None else min(data, in_order + (resent or 0.0))
    return _segments(words, usual, words.number("tcp_window_segs_in"), data - usual)


def tcp_acknowledgements(words: EndWords, data: OwnBytes | None) -> OwnBytes | None:
    """The acknowledgements. If they were not counted, one per segment of ``data`` is assumed."""
    frames = words.number("tcp_window_segs_in" if words.sends else "tcp_window_segs_out")
    if frames is None and data is not None:
        frames = data.frames
    if frames is None:
        return None
    header = _header_bytes(words)
    options = MOST_OPTIONS_BYTES - (ethernet.TIMESTAMPS_BYTES if words.timestamps else 0)
    most = max(MIN_TAGGED_BYTES, header + options + FCS_AND_TAG_BYTES)
    return OwnBytes(frames=frames, header=frames * header, most=frames * most)


def _segments(words: EndWords, payload: float, segments: float | None, slack: float) -> OwnBytes:
    """TCP segments with this payload; ``slack``: payload that may have been sent in addition."""
    frames = segments
    if frames is None:  # TCP may have sent a segment for each message
        frames = payload / words.mss_bytes + payload / min(words.message_bytes, words.mss_bytes)
    header = _header_bytes(words)
    around = max(MIN_TAGGED_BYTES, header + FCS_AND_TAG_BYTES)
    most = payload + frames * around + slack * (1 + around / words.mss_bytes)
    return OwnBytes(payload=payload, frames=frames, header=frames * header, most=most)


def _header_bytes(words: EndWords) -> int:
    options = ethernet.TIMESTAMPS_BYTES if words.timestamps else 0
    return (
        ethernet.HEADER_BYTES + ethernet.IP_BYTES[words.ip_version] + ethernet.TCP_BYTES + options
    )


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
    all_known = in_socket is not None and dropped_behind is not None
    if lost_messages is None or (all_known and len(_packets(words)) == 1):
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
    return ethernet.fragments(
        words.message_bytes, mtu_bytes=words.mtu_bytes, ip_version=words.ip_version
    )


def _datagrams(words: EndWords, messages: float, slack: float) -> OwnBytes:
    packets = _packets(words)
    around = ethernet.HEADER_BYTES + FCS_AND_TAG_BYTES
    return OwnBytes(
        payload=messages * sum(packet + ethernet.HEADER_BYTES for packet in packets),
        frames=messages * len(packets),
        most=(messages + slack) * sum(max(MIN_TAGGED_BYTES, packet + around) for packet in packets),
    )


OF_LINK, OF_OWN = 0.01, 0.05
"""Other traffic is reported if it exceeds both shares: of the link's rate, and of our traffic."""

STEPS = 2
"""Other traffic must also exceed our own traffic of this many update intervals of the counters."""

CONTROL_BYTES, CONTROL_BYTES_PER_S = 10_000, 10_000
"""Maximum traffic of a test's control connections on the same interface: bytes, and bytes per
second."""

AS_LONG = 0.005
"""Share by which frames of the same length may differ."""

SAME_WINDOW = 0.02
"""If the windows of two flows of one host differ by at most this share, they count as one
window."""

LOOPBACK = ("lo", "lo0")
"""Names of the loopback interface, which reaches no other machine."""


@dataclass(frozen=True, slots=True)
class _Counted:
    """The traffic in one direction of an interface over a window, and our part of it."""

    bytes: float
    packets: float
    window_s: float
    step_s: float
    own: OwnBytes
    lost: OwnBytes
    """Our traffic that did not reach the test; where it was lost is not known."""

    @property
    def control_bytes(self) -> float:
        """Maximum traffic of the control connections."""
        return CONTROL_BYTES + CONTROL_BYTES_PER_S * self.window_s


CountedWays = Sequence[tuple[str, bool, _Counted]]
"""(host, whether receiving, traffic) of each direction of each interface of a record."""


def others_of(
    record: Record, link: Link | None, ways: CountedWays | None = None
) -> tuple[OtherTraffic, ...]:
    """Other traffic on the interfaces of a stream's hosts; empty if no other traffic is known.

    ``ways``: the result of ``ways_of`` for this record, if it is already computed.
    """
    if link is None:
        return ()
    traffic = []
    has_stops = any(True for _ in interruptions(record))
    for host, receiving, counts in ways_of(record, link) if ways is None else ways:
        own, window_s = counts.own, counts.window_s
        certain = _certain_bytes(counts, own, link)
        if not certain:
            continue
        other_bytes = max(certain, counts.bytes - own.counted(counts.packets))
        longest = link.mtu_bytes + ethernet.HEADER_BYTES
        wire = other_bytes + AROUND_BYTES * max(other_bytes / longest, counts.packets - own.frames)
        if own.frames:
            own_bytes = round((own.payload + own.header) / own.frames - ethernet.HEADER_BYTES)
            wire += own.frames * ethernet.packet_wire_bytes(max(1, own_bytes) + link.added_bytes)
        share = 8 * wire / window_s / link.rate_bit_per_s
        # On a full link, other traffic displaces as many of our frames as it has frames itself. So
        # our lost messages do not show that the excess is our own traffic.
        full = share >= LINK_FULL and not has_stops
        if full or not _may_be_lost(counts, link):
            rate = 8 * other_bytes / window_s
            traffic.append(
                OtherTraffic(host=host, receiving=receiving, bit_per_s=rate, filled_share=share)
            )
    return tuple(traffic)


def likely_others(
    ways: CountedWays, link: Link | None, sender: str, receiver: str
) -> tuple[float, float, float]:
    """The likely other traffic in the direction of a stream's data, its uncertainty, and what the
    sender's interface sends of it.

    All are shares of the link's rate; the first two are at the interface (of the two hosts) with
    more other traffic; 0 if not known. The other traffic may be too little to be distinguished from
    ours. The uncertainty is the part that may be ours, as the counters are updated at intervals.
    """
    if link is None:
        return 0.0, 0.0, 0.0
    shares, sent = [], 0.0
    for host, receiving, counts in ways:
        if host == (receiver if receiving else sender):
            other, window_s = counts.bytes - counts.own.counted(counts.packets), counts.window_s
            doubt = 8 * counts.own.most * counts.step_s / window_s**2 / link.rate_bit_per_s
            shares.append((8 * other / window_s / link.rate_bit_per_s, doubt))
            sent = sent if receiving else shares[-1][0]
    share, doubt = max(shares, default=(0.0, 0.0))
    return max(0.0, share), doubt, sent


def ways_of(record: Record, link: Link | None) -> CountedWays:
    """The traffic of each interface of a stream's hosts, as far as it is known."""
    wired = record.values.get("same_host") is False and record.status is Status.OK
    bounded = record.test != "stream" or record.settings.get("count") is not None
    if link is None or not wired or bounded:
        return ()
    by_interface: dict[tuple[str, str], list[EndWords]] = defaultdict(list)
    for words in _words_of(record, link):
        host = record.server if words.place == "server" else record.client
        name = record.values.get(f"{words.end}interface")
        if host and isinstance(name, str) and name not in LOOPBACK:
            by_interface[host, name].append(words)
    return tuple(
        (host, receiving, counts)
        for (host, _name), ends in by_interface.items()
        for receiving in (False, True)
        if (counts := _count_direction(record, ends, receiving=receiving)) is not None
    )


def _words_of(record: Record, link: Link) -> Iterator[EndWords]:
    """Both ends of each measured flow."""
    values, size = record.values, record.settings.get("message_bytes")
    if not isinstance(size, int) or size < 1:
        return
    for flow in FLOWS:
        if flow + "throughput_bit_per_s" not in values:
            continue
        mtu_bytes, path = link.mtu_bytes, values.get(f"{flow}sender_path_mtu_bytes")
        if record.settings.get("protocol") == "UDP" and isinstance(path, int) and path > 0:
            mtu_bytes = min(mtu_bytes, path)
        ends, places = (f"{flow}sender_", f"{flow}receiver_"), ("client", "server")
        if server_sends(record.settings, flow):
            places = ("server", "client")
        for end, peer, place in zip(ends, reversed(ends), places, strict=True):
            yield EndWords(
                values=values,
                end=end,
                peer=peer,
                message_bytes=size,
                ip_version=ethernet.ip_version_of(record.settings),
                mtu_bytes=mtu_bytes,
                timestamps=values.get(flow + "tcp_timestamps") is not False,
                place=place,
            )


def _count_direction(
    record: Record, ends: Sequence[EndWords], *, receiving: bool
) -> _Counted | None:
    """The traffic in one direction of an interface; ``None`` if a part of it is not known."""
    way = "received" if receiving else "sent"
    spans_ns = [window for words in ends if (window := words.number("interface_window_ns"))]
    steps = [words.number("interface_counter_step_ns") for words in ends]
    carried = ends[0].number(f"interface_window_{way}_bytes")
    packets = ends[0].number(f"interface_window_{way}_packets")
    if len(spans_ns) < len(ends) or carried is None or packets is None or None in steps:
        return None
    window_ns = spans_ns[0]
    own = losses = OwnBytes()
    for words, span_ns in zip(ends, spans_ns, strict=True):
        part, elapsed_ns = _own_of(record, words, receiving=receiving), words.number("elapsed_ns")
        if part is None or not elapsed_ns or abs(span_ns / window_ns - 1) > SAME_WINDOW:
            return None
        # The counters are not read exactly at the beginning and the end of the window.
        apart_ns = abs(span_ns - elapsed_ns) + abs(span_ns - window_ns)
        own += part + OwnBytes(most=part.most * apart_ns / elapsed_ns)
        if receiving and not words.sends and record.settings.get("protocol") == "UDP":
            losses += udp_lost(words)
    step_ns = max(step for step in steps if step is not None)
    return _Counted(carried, packets, window_ns / 1e9, step_ns / 1e9, own, losses)


def _own_of(record: Record, words: EndWords, *, receiving: bool) -> OwnBytes | None:
    if record.settings.get("protocol") == "UDP":
        if words.sends == receiving:  # UDP sends nothing in the other direction
            return OwnBytes()
        try:
            if words.sends:
                return udp_sent(words)
            dropped = as_whole(record.values.get(f"{words.place}_softnet_dropped_frames"))
            return udp_received(words, dropped)
        except ValueError:  # this MTU cannot carry such a message
            return None
    streams = record.settings.get("streams")
    number = streams if isinstance(streams, int) else 1
    data = (tcp_data_sent if words.sends else tcp_data_received)(words, number)
    return data if words.sends != receiving else tcp_acknowledgements(words, data)


def _certain_bytes(counts: _Counted, own: OwnBytes, link: Link) -> float:
    """The bytes that are certainly not part of ``own``; 0 if they are too few to be reported."""
    # The interface of a tunnel may count what the tunnel adds to each packet.
    most = own.most + own.frames * link.overhead_bytes
    certain = counts.bytes - most - counts.control_bytes
    least = max(
        OF_LINK * link.rate_bit_per_s * counts.window_s / 8,
        OF_OWN * most,
        STEPS * most * counts.step_s / counts.window_s,
    )
    return certain if certain > least else 0.0


def _may_be_lost(counts: _Counted, link: Link) -> bool:
    """Whether the excess over our traffic may be our lost messages: it has no more frames than the
    lost messages had, and its frames have the same length.

    If a host drops packets behind its interface, for example in a packet filter, no other counter
    contains these packets.
    """
    own, losses = counts.own, counts.lost
    frames = counts.packets - own.frames
    if not losses.frames or frames <= 0 or _certain_bytes(counts, own + losses, link):
        return False
    excess, our_bytes = counts.bytes - own.counted(counts.packets), losses.payload / losses.frames
    # The two counters may be read with a frame between them.
    least = (1 - AS_LONG) * our_bytes * (frames - 1)
    most = ((1 + AS_LONG) * our_bytes + FCS_AND_TAG_BYTES) * (frames + 1)
    return least <= excess <= most + counts.control_bytes
