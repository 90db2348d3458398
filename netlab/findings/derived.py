"""Derived figures of streams: what findings read from a record, or compute from it.

A window is the time that an end measures; TCP has a receive window and a congestion window.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from netlab.ethernet import Link, fragments, ip_version_of, mss_of
from netlab.findings import rates
from netlab.findings import traffic as other_traffic
from netlab.findings.arrivals import Arrivals, arrivals_of
from netlab.findings.finding import Conditions, Group, conditions_of
from netlab.findings.rates import Framing
from netlab.findings.stream_end import DAMAGED, DerivedFigures, Losses, StreamEnd
from netlab.findings.traffic import CountedWays, OtherTraffic, OwnDrops
from netlab.results.run import Run
from netlab.results.tcp_series import TcpSeries, tcp_series_of
from netlab.stats.histogram import middle_of
from netlab.trial import record as trial_record
from netlab.trial.interruptions import interruptions
from netlab.trial.record import NUMBER, TEXT, WHOLE, FlowValues, MeasuredValues, Record, Recorded

ORDINARY = 0.98
"""Share of the send calls that count as ordinary: all except the longest 2 %. A few calls are long
because of an interrupt or another program."""

SAMPLES = 50
"""Minimum number of timed send calls, or of receive calls, for a statement about the calls."""

STANDS = 0.02
"""Data stood still if throughput is below the plateau by at least this share: the accuracy of a
plateau."""

_OF_SENDER = 0.5
"""Minimum share of other traffic that the sender's interface sends, for it to come from there."""

_REQUESTS_S = 1.0
_OTHER_WAY = {"to_server_": "to_client_", "to_client_": "to_server_"}
_WINDOW_OF_SEGMENTS = 4
"""If the receive window is smaller than this many segments, Linux cuts smaller segments than the
path would carry."""


_EMPTY = FlowValues({}, "")


def _grown(measured: MeasuredValues, counter: str) -> int | None:
    return measured.grown("sender", counter)


@dataclass(frozen=True, eq=False, kw_only=True)
class TcpAccount(DerivedFigures):
    """What the sender's TCP counted over its window."""

    busy_us = Recorded(_grown, "busy_time_us")
    """Time with data to send, or unacknowledged data."""
    rwnd_limited_us = Recorded(_grown, "rwnd_limited_us")
    """Part of the busy time in which the receive window held TCP back."""
    sndbuf_limited_us = Recorded(_grown, "sndbuf_limited_us")
    """Part of the busy time in which the send buffer held TCP back."""
    retransmissions = Recorded(_grown, "total_retrans")
    min_rtt_us = Recorded(WHOLE, "sender_tcp_end_min_rtt_us")
    rtt_us = Recorded(WHOLE, "sender_tcp_end_rtt_us")
    """Smoothed round trip at the end of the window."""

    @cached_property
    def window_bytes(self) -> int | None:
        """The larger one of the receive windows that the sender knew at begin and end."""
        edges = (self.measured.whole(f"sender_tcp_{at}_snd_wnd") for at in ("begin", "end"))
        return max((window for window in edges if window is not None), default=None)


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamSample(DerivedFigures):
    """The messages of one direction in one trial that is ok."""

    record: Record
    link: Link | None
    cell: str
    trial: int
    """Number of the trial in its cell, from 1; also the number of its block (one trial of each
    cell)."""
    pairing: str
    protocol: str
    message_bytes: int
    flow: str
    """``to server`` or ``to client`` if the test sends both ways."""
    throughput_bit_per_s: float
    """Measured at the receiver."""
    same_host: bool
    """Whether both ends are on one host: no wire was used."""
    imported: bool
    """Whether the figures come from a document. Values that the document does not print are not
    known."""
    unscaled_hosts: frozenset[str] = frozenset()
    """The hosts on which the scaling of TCP's windows is off, by their facts."""

    calls = Recorded(WHOLE, "sender_sent_messages_window")
    """Send calls in the sender's window, of all streams."""
    call_times = Recorded(MeasuredValues.histogram, "sender_send_call_histogram")
    """Time inside a send call in ns, for a sample of the calls."""
    room_looks = Recorded(WHOLE, "sender_send_room_looks")
    """Number of times that the sender checked whether the socket had room for the next call."""
    room_share = Recorded(NUMBER, "sender_send_room_share")
    """Share of these checks that found room."""
    send_buffer_bytes = Recorded(WHOLE, "sender_send_buffer_bytes")
    """Effective size of the send buffer."""
    queue_looks = Recorded(WHOLE, "receiver_queue_looks")
    """Number of times that the receiver checked how full its receive queue was."""
    queue_full_share = Recorded(NUMBER, "receiver_queue_full_share")
    """Share of these checks that found the queue at least 80 % full."""
    receive_calls = Recorded(WHOLE, "receiver_receive_calls")
    """Receive calls that did not wait."""
    empty_receives = Recorded(WHOLE, "receiver_empty_receives")
    """How many of ``receive_calls`` found no data."""
    acknowledgements = Recorded(WHOLE, "sender_tcp_window_segs_in")
    """Segments that TCP of the sender received, if the test sends one way."""
    acknowledged = Recorded(WHOLE, "receiver_tcp_window_segs_out")
    """Segments that TCP of the receiver sent, as above."""
    sent_messages = Recorded(WHOLE, "sent_messages")
    reordered_messages = Recorded(WHOLE, "reordered_messages")
    duplicate_messages = Recorded(WHOLE, "duplicate_messages")
    duplicate_packets = Recorded(_grown, "dsack_dups")
    """Segments that the receiver reported as received twice (DSACK, RFC 2883)."""
    sent_segments = Recorded(_grown, "data_segs_out")
    """Segments with data that TCP sent, repeated ones included."""
    reorderings = Recorded(lambda it, name: _grown(it, name) or None, "reord_seen")
    """How often acknowledgements showed TCP that a segment had overtaken others; never 0."""
    ecn_packets = Recorded(WHOLE, "receiver_ecn_packets")
    """IP packets of senders that take part in ECN (RFC 3168) that the receiver's host received, in
    the whole test."""
    marked_packets = Recorded(WHOLE, "receiver_ecn_marked_packets")
    """Those of them that were marked as having met congestion (CE)."""
    echoed_marks = Recorded(_grown, "delivered_ce")
    """Segments acknowledged while the receiver reported a mark: more than were marked."""
    congestion = Recorded(TEXT, "sender_congestion")
    """The sender's congestion control."""

    # ---- what was requested ----------------------------------------------------------------------

    @property
    def group(self) -> Group:
        """The group of its cell."""
        return Group(self.pairing, self.protocol, self.message_bytes, self.flow)

    @cached_property
    def conditions(self) -> Conditions:
        """The other settings, sorted: equal for samples that differ only in message size."""
        settings = self.record.settings
        return conditions_of(settings, sorted({*settings} - {"message_bytes"}))

    @cached_property
    def engine(self) -> str:
        """Name of the tool that measured the stream; empty if this was netlab's own probe."""
        return str(self.record.settings.get("engine") or "")

    @cached_property
    def engine_remarks(self) -> str:
        """How this tool measures, as the record says."""
        return str(self.record.values.get("engine_remarks") or "")

    @cached_property
    def streams(self) -> int:
        """Number of streams at once."""
        return trial_record.as_whole(self.record.settings.get("streams")) or 1

    @cached_property
    def offered_bit_per_s(self) -> float | None:
        """The rate at which the sender was to send; ``None``: as fast as possible (not paced)."""
        return rates.offered_bit_per_s(self.record.settings, self.message_bytes)

    @property
    def paced(self) -> bool:
        """Whether the stream was sent at an offered rate."""
        return self.offered_bit_per_s is not None

    @property
    def offers_less(self) -> bool:
        """Whether it was sent at an offered rate that the wire carries, or may carry."""
        offered, ceiling = self.offered_bit_per_s, self.ceiling_bit_per_s
        return offered is not None and (ceiling is None or offered < ceiling)

    @cached_property
    def congestion_asked(self) -> bool:
        """Whether the matrix sets the congestion control."""
        return self.record.settings.get("congestion") is not None

    # ---- the two ends ----------------------------------------------------------------------------

    @cached_property
    def _server_sends(self) -> bool:
        return trial_record.server_sends(self.record.settings, self.measured.prefix)

    def _end(self, role: str, *, spins: bool) -> StreamEnd:
        is_server = (role == "sender") == self._server_sends
        host = self.record.server if is_server else self.record.client
        measured = FlowValues(self.measured.values, f"{self.measured.prefix}{role}_")
        return StreamEnd(measured=measured, host=host or "", spins=spins)

    @cached_property
    def sender(self) -> StreamEnd:
        """The sending end."""
        return self._end("sender", spins=self.paced)

    @cached_property
    def receiver(self) -> StreamEnd:
        """The receiving end."""
        return self._end("receiver", spins=self.measured.whole("receiver_spin") == 1)

    @property
    def ends(self) -> tuple[StreamEnd, StreamEnd]:
        """The sender and the receiver."""
        return self.sender, self.receiver

    @property
    def longest_wait_share(self) -> float:
        """The larger ``waited_share`` of the two ends."""
        return max(end.waited_share for end in self.ends)

    # ---- throughput and its ceiling --------------------------------------------------------------

    @cached_property
    def ceiling_bit_per_s(self) -> float | None:
        """Wire ceiling; of unknown TCP options, those that take the most room are assumed."""
        settings, flow = self.record.settings, self.measured
        return rates.ceiling_of(settings, flow.values, flow.prefix, self.link)

    @cached_property
    def highest_ceiling_bit_per_s(self) -> float | None:
        """As ``ceiling_bit_per_s``, with the options that take the least room."""
        settings, flow = self.record.settings, self.measured
        return rates.ceiling_of(settings, flow.values, flow.prefix, self.link, highest=True)

    @property
    def ceiling_share(self) -> float | None:
        """Throughput as a share of the wire ceiling."""
        ceiling = self.ceiling_bit_per_s
        return None if ceiling is None else self.throughput_bit_per_s / ceiling

    @property
    def missing_share(self) -> float:
        """Missing throughput, as a share of the wire ceiling; 1 if the ceiling is not known."""
        return 1 - (self.ceiling_share or 0)

    @property
    def frames_per_s(self) -> float:
        """Messages that arrived per second, each in one frame."""
        return self.throughput_bit_per_s / (8 * self.message_bytes)

    @cached_property
    def resolution_share(self) -> float:
        """Uncertainty of a coarse throughput: the bytes of its largest receive call plus the change
        of its receive queue, as a share of all received bytes; infinite if these are not known.

        A throughput is coarse if receive calls were long compared with the window. Otherwise 0: it
        is known to 0.1 %.
        """
        whole = self.measured.whole
        if whole("receiver_coarse") != 1:
            return 0.0
        total, largest = whole("receiver_received_bytes"), whole("receiver_largest_receive_bytes")
        if not total or largest is None:
            return math.inf
        queues = [whole(f"receiver_queue_{edge}_bytes") or 0 for edge in ("open", "close")]
        return (largest + abs(queues[1] - queues[0])) / total

    @cached_property
    def arrivals(self) -> Arrivals | None:
        """The bytes that arrived in each interval."""
        return None if self.imported else arrivals_of(self.measured)

    @cached_property
    def is_even(self) -> bool:
        """Whether the data arrived as evenly as behind a limit of their rate."""
        arrivals, lost = self.arrivals, self.lost_share or 0.0
        return arrivals is not None and arrivals.is_even(self.message_bytes, lost)

    @cached_property
    def stopped_share(self) -> float:
        """Share of the window in which something stopped the data."""
        shares = {
            gap.flow: min(1.0, gap.stopped_ns / max(1, gap.window_ns))
            for gap in interruptions(self.record)
        }
        return shares.get(self.measured.prefix, 0.0)

    # ---- send and receive calls ------------------------------------------------------------------

    @property
    def calls_per_s(self) -> float | None:
        """Send calls per second, of all streams."""
        if self.calls is None or not self.sender.window_ns:
            return None
        return self.calls * 1e9 / self.sender.window_ns

    @property
    def sent_bit_per_s(self) -> float | None:
        """The rate at which the send calls accepted data."""
        per_s = self.calls_per_s
        return None if per_s is None else 8 * self.message_bytes * per_s

    @property
    def delivered_share(self) -> float | None:
        """Received data as a share of the data that the send calls accepted."""
        sent_rate = self.sent_bit_per_s
        return None if not sent_rate else self.throughput_bit_per_s / sent_rate

    def _call_ns(self, share: float) -> int | None:
        times = self.call_times
        return None if times is None or times.count < SAMPLES else times.percentile(share)

    @property
    def send_call_median_ns(self) -> int | None:
        """Median of the time inside a send call."""
        return self._call_ns(0.5)

    @property
    def send_call_p90_ns(self) -> int | None:
        """90th percentile of the time inside a send call."""
        return self._call_ns(0.9)

    @property
    def in_calls_share(self) -> float | None:
        """Share of the window inside send calls, estimated from the sample; it may exceed 1."""
        return self._inside(None)

    @property
    def in_ordinary_calls_share(self) -> float | None:
        """As ``in_calls_share``, for all calls except the longest (see ``ORDINARY``)."""
        return self._inside(self._call_ns(ORDINARY))

    def _inside(self, most_ns: int | None) -> float | None:
        times, window_ns = self.call_times, self.sender.window_ns
        if times is None or times.count < SAMPLES or self.calls is None or not window_ns:
            return None
        middles = ((middle_of(bucket, times.bits), n) for bucket, n in times.counts.items())
        sampled_ns = sum(ns * n for ns, n in middles if most_ns is None or ns <= most_ns)
        return sampled_ns / times.count * self.calls / window_ns / self.streams

    @property
    def useful_share(self) -> float | None:
        """Share of the receive calls that found data; the others came too early."""
        calls, empty = self.receive_calls, self.empty_receives
        if calls is None or empty is None or calls < SAMPLES:
            return None
        return 1 - empty / calls

    # ---- TCP -------------------------------------------------------------------------------------

    @cached_property
    def tcp(self) -> TcpAccount:
        """TCP's account; over UDP, nothing in it is known."""
        return TcpAccount(measured=self.measured if self.protocol == "TCP" else _EMPTY)

    def _tcp_share(self, us: int | None) -> float | None:
        return None if us is None else self.sender.share_of(us * 1e3)

    @property
    def rwnd_limited_share(self) -> float | None:
        """Share of the window in which the receive window held TCP back."""
        return self._tcp_share(self.tcp.rwnd_limited_us)

    @property
    def sndbuf_limited_share(self) -> float | None:
        """Share of the window in which the send buffer held TCP back."""
        return self._tcp_share(self.tcp.sndbuf_limited_us)

    @property
    def cwnd_limited_share(self) -> float | None:
        """Share of the window in which TCP had data, and no window or buffer held it back."""
        tcp = self.tcp
        if tcp.busy_us is None or tcp.rwnd_limited_us is None or tcp.sndbuf_limited_us is None:
            return None
        return self._tcp_share(tcp.busy_us - tcp.rwnd_limited_us - tcp.sndbuf_limited_us)

    @property
    def window_limit_bit_per_s(self) -> float | None:
        """The rate that one receive window per shortest round trip allows."""
        tcp = self.tcp
        if tcp.window_bytes is None or not tcp.min_rtt_us:
            return None
        return tcp.window_bytes * 8e6 / tcp.min_rtt_us

    @property
    def is_unscaled(self) -> bool:
        """Whether TCP's windows are known not to be scaled: none is above 64 KiB (RFC 7323, 2)."""
        options = self.measured.text("sender_tcp_end_options") or "wscale"
        return "wscale" not in options

    @property
    def unscaled_at(self) -> str:
        """The end's host on which scaling is off, in this trial or by its facts, if it is one."""
        told = {end.host: end.measured.whole("tcp_window_scaling") for end in self.ends}
        is_told = None not in told.values()
        off = [host for host in told if not told[host]] if is_told else self.unscaled_hosts
        return min(off) if len(off) == 1 else ""

    @cached_property
    def tcp_series(self) -> TcpSeries | None:
        """Samples of the sender's tcp_info over its window."""
        flow = self.measured
        return tcp_series_of(flow.values, flow.prefix) if self.protocol == "TCP" else None

    @cached_property
    def plateau_bit_per_s(self) -> float | None:
        """The rate of the one stream's TCP while its data flowed."""
        return rates.plateau_bit_per_s(self.tcp_series) if self.streams == 1 else None

    @property
    def plateau_gap_share(self) -> float:
        """Difference between plateau and throughput, as a share of the plateau; 0 without a
        plateau, or if the difference is at most ``STANDS``.
        """
        plateau = self.plateau_bit_per_s
        share = 0.0 if plateau is None else 1 - self.throughput_bit_per_s / plateau
        return share if share > STANDS else 0.0

    @property
    def flowing_bit_per_s(self) -> float:
        """The plateau if it is clearly above a throughput that is not even; else the throughput."""
        return (
            self.throughput_bit_per_s
            if self.is_even
            else self.throughput_bit_per_s / (1 - self.plateau_gap_share)
        )

    # ---- losses and drops ------------------------------------------------------------------------

    @cached_property
    def losses(self) -> Losses:
        """Lost messages over UDP; over TCP, only segments that the other direction resent."""
        is_udp, prefix = self.protocol == "UDP", self.measured.prefix
        other = FlowValues(self.measured.values, _OTHER_WAY.get(prefix, ""))
        lost = other.lost_messages if is_udp else other.grown("sender", "total_retrans")
        measured = self.measured if is_udp else _EMPTY
        return Losses(measured=measured, other_way=lost if prefix else 0)

    @property
    def damaged_share(self) -> float | None:
        """Share of the messages over UDP that were damaged, of those that a socket checked."""
        damaged, checked = self.drops.damaged, self.losses.checked
        least = min(damaged or 0, self.losses.lost or 0, checked)  # others' are counted as well
        return None if damaged is None or not checked else least / checked

    @property
    def lost_share(self) -> float | None:
        """Share of the messages sent over UDP that never arrived."""
        losses = self.losses
        return None if losses.lost is None or not losses.sent else losses.lost / losses.sent

    @cached_property
    def drops(self) -> OwnDrops:
        """Drops of both directions, if the test sends both ways."""
        ends = ("server", "client") if self._server_sends else ("client", "server")
        sender, receiver = (self.record.flow(f"{end}_") for end in ends)
        # The counters are read just before and just after the test, so the time between is that of
        # the test's stages and of the requests to the probes.
        names = ("setup_ns", "elapsed_ns", "drain_ns")
        stages_s = sum(self.measured.number(name) or 0.0 for name in names) / 1e9
        warm_up_s = trial_record.as_number(self.record.settings.get("warm_up_s")) or 0
        return OwnDrops(
            sender_interface=sender.whole("interface_dropped_frames"),
            sender_queue=sender.whole("queue_dropped_frames"),
            receiver_interface=receiver.whole("interface_dropped_frames"),
            receiver_backlog=receiver.whole("softnet_dropped_frames"),
            sender_backlog=sender.whole("softnet_dropped_frames"),
            reassembly=self.measured.whole("receiver_ip_reassembly_failures"),
            damaged=self.measured.whole(DAMAGED.format(self.protocol.lower())),
            between_s=warm_up_s + stages_s + _REQUESTS_S,
        )

    @property
    def copied_packets(self) -> int | None:
        """Segments that arrived twice, beyond those that TCP sent twice."""
        twice, resent = self.duplicate_packets, self.tcp.retransmissions
        return None if twice is None or resent is None else max(0, twice - resent)

    @property
    def lost_acknowledgements_share(self) -> float | None:
        """Share of the acknowledgements that did not arrive; below 0: some arrived twice. Of the
        windows' share and the whole connection's, the one nearer 0: data may move both windows.
        """
        arrived, sent = self.acknowledgements, self.acknowledged
        spans = [end.window_ns for end in self.ends if end.window_ns and end.judged]
        # Both ends count for the first of several streams, which must be the same one.
        ports = {self.measured.whole(it) for it in ("sender_local_port", "receiver_peer_port")}
        if not sent or arrived is None or len(spans) < 2 or self.flow or len(ports) > 1:
            return None
        ends = "sender_tcp_end_segs_in", "receiver_tcp_end_segs_out"
        in_all = [count for name in ends if (count := self.measured.whole(name))]
        shares = [1 - arrived / spans[0] * spans[1] / sent]
        shares += [1 - in_all[0] / in_all[1]] if len(in_all) == len(ends) else []
        return min(shares, key=abs)

    @property
    def damaged_acknowledgements_share(self) -> float | None:
        """Share of the acknowledgements that arrived with a wrong checksum, in the whole test."""
        return self._share_of_acknowledgements("sender_tcp_checksum_errors")

    @property
    def old_acknowledgements_share(self) -> float | None:
        """Share of the acknowledgements that arrived after later ones, in the whole test."""
        return self._share_of_acknowledgements("sender_tcp_old_segments")

    def _share_of_acknowledgements(self, name: str) -> float | None:
        number, sent = map(self.measured.whole, (name, "receiver_tcp_end_segs_out"))
        is_one = not self.flow and self.streams == 1
        return number / sent if number is not None and sent and is_one else None

    # ---- other traffic ---------------------------------------------------------------------------

    @cached_property
    def _ways(self) -> CountedWays:
        return () if self.imported else other_traffic.ways_of(self.record, self.link)

    @cached_property
    def others(self) -> tuple[OtherTraffic, ...]:
        """Other traffic on both hosts, in both directions; also empty if it cannot be detected."""
        return other_traffic.others_of(self.record, self.link, self._ways)

    @cached_property
    def _likely_others(self) -> tuple[float, float, float]:
        hosts = self.sender.host, self.receiver.host
        return other_traffic.likely_others(self._ways, self.link, *hosts)

    @cached_property
    def likely_others_share(self) -> float:
        """Share of the link that other traffic probably used in the direction of the stream's data,
        even if it is too little to be distinguished from the test's own traffic; 0 if not known.
        """
        return self._likely_others[0]

    @cached_property
    def others_doubt_share(self) -> float:
        """Part of ``likely_others_share`` that may be the test's own traffic, as counters lag."""
        return self._likely_others[1]

    @property
    def _others_of_data(self) -> list[OtherTraffic]:
        hosts = {True: self.receiver.host, False: self.sender.host}
        return [traffic for traffic in self.others if traffic.host == hosts[traffic.receiving]]

    @property
    def filled_by_others(self) -> OtherTraffic | None:
        """The largest other traffic that filled the link; ``None`` if none did.

        Traffic counts in the direction of the stream's data. If TCP sends data one way only, the
        opposite direction counts as well, because it carries the acknowledgements.
        """
        back = self.protocol == "TCP" and not self.flow
        of_way = self.others if back else self._others_of_data
        full = [traffic for traffic in of_way if traffic.filled_share >= other_traffic.LINK_FULL]
        return max(full, key=lambda traffic: traffic.bit_per_s, default=None)

    @property
    def reported_others(self) -> OtherTraffic | None:
        """``filled_by_others``, or else the largest other traffic in the data's direction."""
        largest = max(self._others_of_data, key=lambda traffic: traffic.bit_per_s, default=None)
        return self.filled_by_others or largest

    @property
    def others_are_sent_here(self) -> bool:
        """Whether the sender's own interface sends most of the likely other traffic."""
        sent, share = self._likely_others[2], self.likely_others_share
        return sent >= _OF_SENDER * share > 0

    @property
    def other_bit_per_s(self) -> float | None:
        """The rate of the reported other traffic; otherwise of the traffic that is likely."""
        traffic, framing = self.reported_others, self.framing
        if traffic is not None:
            return traffic.bit_per_s
        return None if framing is None else self.likely_others_share * framing.link_rate_bit_per_s

    @property
    def link_filled_share(self) -> float | None:
        """Share of the link that the stream and other traffic fill together."""
        traffic, share = self.reported_others, self.ceiling_share
        if traffic is not None:
            return traffic.filled_share
        return None if share is None else share + self.likely_others_share

    # ---- packets ---------------------------------------------------------------------------------

    @cached_property
    def link_mtu_bytes(self) -> int | None:
        """The MTU of the stated link."""
        return None if self.link is None else self.link.mtu_bytes

    @cached_property
    def path_mtu_bytes(self) -> int | None:
        """The path MTU that the sender's system knows."""
        name = "tcp_end_pmtu" if self.protocol == "TCP" else "path_mtu_bytes"
        return self.measured.whole(f"sender_{name}")

    @cached_property
    def small_mss_bytes(self) -> int | None:
        """Payload of full segments, if the path carries longer ones; else, or unknown: ``None``."""
        path, framing, window = self.path_mtu_bytes, self.framing, self.tcp.window_bytes
        if self.link is None or path is None or framing is None or window is None:
            return None
        mss, packet_bytes = framing.payload_bytes, framing.packets[0] - self.link.overhead_bytes
        is_short = packet_bytes < min(path, self.link.mtu_bytes)
        return mss if is_short and window >= _WINDOW_OF_SEGMENTS * mss else None

    @property
    def shorter_share(self) -> float | None:
        """By what share these segments are shorter than those that the path carries; else by what
        share the interface's packets are shorter than those of the stated link.
        """
        if self.small_mss_bytes is None or self.path_mtu_bytes is None:
            own, link = self.sender.mtu_bytes, self.link_mtu_bytes
            return max(0.0, 1 - own / link) if own and link else None
        stamps = self.measured.tcp_timestamps is not False
        version = ip_version_of(self.record.settings)
        longest = mss_of(self.path_mtu_bytes, ip_version=version, timestamps=stamps)
        return 1 - self.small_mss_bytes / longest

    @cached_property
    def packets_a_message(self) -> int | None:
        """IP packets per UDP message; not known for TCP, which cuts its own segments."""
        if self.protocol != "UDP" or self.link is None:
            return None
        version = ip_version_of(self.record.settings)
        mtu_bytes = rates.flow_mtu_bytes(self.measured, self.link)
        try:
            return len(fragments(self.message_bytes, mtu_bytes=mtu_bytes, ip_version=version))
        except ValueError:
            return None

    @cached_property
    def framing(self) -> Framing | None:
        """The framing of one message (over TCP: of one full segment) on the stated link."""
        flow = self.measured
        return rates.framing_of(self.record.settings, flow.values, flow.prefix, self.link)


def _unscaled_hosts(run: Run) -> frozenset[str]:
    """The hosts on which the scaling of TCP's windows is off, by their facts."""
    return frozenset(
        str(note.get("host"))
        for note in run.facts
        if isinstance(facts := note.get("facts"), Mapping) and facts.get("tcp_window_scaling") == 0
    )


def samples(run: Run) -> tuple[StreamSample, ...]:
    """One sample for each flow of each stream trial with status ok, in the plan's order.

    For an imported run, the only evidence is the share of the wire ceiling.
    """
    made = []
    unscaled = _unscaled_hosts(run)
    for cell, _, record in run.stored.trials():
        if cell.test != "stream" or record is None or record.message_bytes is None:
            continue
        for prefix, flow in trial_record.FLOWS.items():
            measured = record.flow(prefix)
            throughput = measured.throughput_bit_per_s
            if throughput is not None:
                made.append(
                    StreamSample(
                        measured=measured,
                        record=record,
                        link=run.plan.link,
                        cell=record.cell,
                        trial=record.trial,
                        pairing=record.pairing,
                        protocol=record.protocol,
                        message_bytes=record.message_bytes,
                        flow=flow,
                        throughput_bit_per_s=throughput,
                        same_host=record.same_host,
                        imported=run.plan.source is not None,
                        unscaled_hosts=unscaled,
                    )
                )
    return tuple(made)
