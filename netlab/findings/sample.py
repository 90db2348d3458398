"""Stream samples: the evidence about the messages of one direction in one trial. No I/O.

The window of an end is the time that the end measures. TCP's windows are called receive window and
congestion window. The wire ceiling is the highest payload rate that the link's framing allows. A
cell is one combination of settings; a trial is one execution of a cell.
"""

from __future__ import annotations

from dataclasses import dataclass

from netlab.findings.finding import Conditions, Group
from netlab.findings.framing import Framing
from netlab.results.tcp_series import TcpSeries
from netlab.stats.histogram import Histogram, middle_of

WINDOW_NS = 200_000_000
"""Minimum window for shares of CPU time: kernels count CPU time in ticks of 1 to 16 ms."""

ORDINARY = 0.98
"""Share of the send calls that count as ordinary: all except the longest 2 %. A few calls are long
because of an interrupt or another program."""

SAMPLES = 50
"""Minimum number of timed send calls, or of receive calls, for a statement about the calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEnd:
    """What one end reports about itself and its host, for its own window; ``None``: not known."""

    host: str = ""
    window_ns: int | None = None
    thread_ns: int | None = None
    """Time on a CPU of the test's busiest thread."""
    run_queue_delay_ns: int | None = None
    """Time in which a thread of the test was ready to run but had no CPU."""
    quota_periods: int | None = None
    """Periods of the end's CPU quota within the window; 0: no quota."""
    throttled_periods: int | None = None
    throttled_ns: int | None = None
    """Time in which a quota made the end wait, summed over all CPUs."""
    steal_share: float | None = None
    """Share of all CPUs' time that the hypervisor gave to other machines."""
    busiest_core: int | None = None
    busiest_core_share: float | None = None
    cpu: int | None = None
    """The CPU to which the end is pinned."""
    spins: bool = False
    """Whether the end keeps its CPU busy while it waits, as a spinning receiver or a paced sender
    does."""
    clock_ppm: float | None = None
    """How much faster the monotonic clock ran than CLOCK_MONOTONIC_RAW, in ppm. Time
    synchronisation changes the rate of the first clock, but not of the second."""
    clock_step_ns: int | None = None
    """Step of the wall clock against the monotonic clock; recorded only above 0.5 s."""

    @property
    def judged(self) -> bool:
        """Whether the end's window is long enough to judge shares of time."""
        return (self.window_ns or 0) >= WINDOW_NS

    @property
    def thread_share(self) -> float | None:
        """Share of the window in which the busiest thread was on a CPU."""
        return self._share(self.thread_ns)

    @property
    def run_queue_share(self) -> float | None:
        """Share of the window in which a thread was ready to run but had no CPU."""
        return self._share(self.run_queue_delay_ns)

    @property
    def throttled_share(self) -> float | None:
        """Share of the quota's periods in which the end was throttled; 0 without a quota."""
        if self.quota_periods is None or self.throttled_periods is None:
            return None
        return self.throttled_periods / max(1, self.quota_periods)

    @property
    def waited_share(self) -> float:
        """Share of the window in which the end had no CPU; 0 if no reason for a wait is recorded.

        The waits for different reasons overlap, so the largest share counts.
        """
        throttled = self._share(self.throttled_ns)
        quota = self.throttled_share if throttled is None else min(1.0, throttled)
        return max(self.run_queue_share or 0, self.steal_share or 0, quota or 0)

    def _share(self, ns: int | None) -> float | None:
        return None if ns is None or not self.window_ns else ns / self.window_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpAccount:
    """What the sender's TCP counted over its window; ``None``: not known."""

    busy_us: int | None = None
    """Time with data to send, or unacknowledged data."""
    rwnd_limited_us: int | None = None
    """Part of the busy time in which the receive window held TCP back."""
    sndbuf_limited_us: int | None = None
    """Part of the busy time in which the send buffer held TCP back."""
    retransmissions: int | None = None
    window_bytes: int | None = None
    """The receive window that the sender knew at the beginning or at the end of the measured time,
    whichever is larger."""
    min_rtt_us: int | None = None
    rtt_us: int | None = None
    """Smoothed round trip at the end of the window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """Numbers of UDP messages in the whole test; ``None``: not known."""

    sent: int | None = None
    lost: int | None = None
    receive_queue: int | None = None
    """Messages for which the receiving socket had no room."""
    local: int | None = None
    """Messages that the sender's system refused or dropped; not counted as sent."""
    other_way: int | None = 0
    """Messages of the other direction lost at the same time; over TCP, retransmitted segments."""


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
    between_s: float = 0.0
    """Longest possible time between the two readings of these counters."""


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
class StreamSample:
    """The messages of one direction in one trial that is ok; ``None``: not known."""

    cell: str
    """Key of the cell."""
    trial: int = 1
    """Number of the trial in its cell, from 1; also the number of its block (one trial of each
    cell)."""
    pairing: str
    protocol: str
    message_bytes: int
    flow: str = ""
    """``to server`` or ``to client`` if the test sends both ways."""
    conditions: Conditions = ()
    """The other settings in alphabetical order: samples with equal ``conditions`` differ only in
    message size."""
    engine: str = ""
    """Name of the tool that measured the stream; empty if this was netlab's own probe."""
    engine_remarks: str = ""
    """How this tool measures, as the record says."""
    imported: bool = False
    """Whether the figures come from a document. Values that the document does not print are not
    known."""
    throughput_bit_per_s: float
    """Measured at the receiver."""
    ceiling_bit_per_s: float | None
    """Wire ceiling. If the TCP options are not known, those that take the most room are assumed."""
    highest_ceiling_bit_per_s: float | None = None
    """Wire ceiling. If the TCP options are not known, those that take the least room are
    assumed."""
    resolution_share: float = 0.0
    """Uncertainty of the throughput, if the receiver's calls were long compared with its window.
    Otherwise 0: the throughput is known to 0.1 %."""
    same_host: bool = False
    """Whether both ends are on one host: no wire was used."""
    stopped_share: float = 0.0
    """Share of the window in which something stopped the data."""
    offered_bit_per_s: float | None = None
    """The rate at which the sender was to send; ``None``: as fast as possible (not paced)."""
    streams: int = 1
    sender: StreamEnd = StreamEnd()
    receiver: StreamEnd = StreamEnd()
    calls: int | None = None
    """Send calls in the sender's window, of all streams."""
    call_times: Histogram | None = None
    """Time inside a send call in ns, for a sample of the calls."""
    room_looks: int | None = None
    """Number of times that the sender checked whether the socket had room for the next call."""
    room_share: float | None = None
    """Share of these checks that found room."""
    send_buffer_bytes: int | None = None
    """Effective size of the send buffer."""
    queue_looks: int | None = None
    """Number of times that the receiver checked how full its receive queue was."""
    queue_full_share: float | None = None
    """Share of these checks that found the queue at least 80 % full."""
    receive_calls: int | None = None
    """Receive calls that did not wait."""
    empty_receives: int | None = None
    """How many of ``receive_calls`` found no data."""
    tcp: TcpAccount = TcpAccount()
    tcp_series: TcpSeries | None = None
    """Samples of the sender's tcp_info over its window."""
    plateau_bit_per_s: float | None = None
    """The rate of the sender's TCP while its data flowed (computed in streams/plateau.py)."""
    losses: Losses = Losses()
    drops: OwnDrops = OwnDrops()
    """Drops of both directions, if the test sends both ways."""
    congestion: str | None = None
    """The sender's congestion control."""
    congestion_asked: bool = False
    """Whether the matrix sets the congestion control."""
    packets_a_message: int | None = None
    """IP packets per UDP message; not known for TCP, which cuts its own segments."""
    others: tuple[OtherTraffic, ...] = ()
    """Other traffic on both hosts, in both directions; also empty if it cannot be detected."""
    likely_others_share: float = 0.0
    """Share of the link that other traffic probably used in the direction of the stream's data,
    even if it is too little to be distinguished from the test's own traffic; 0 if not known."""
    others_doubt_share: float = 0.0
    """Part of ``likely_others_share`` that may be the test's own traffic, because counters lag."""
    path_mtu_bytes: int | None = None
    """The path MTU to the receiver, as the sender's system knows it."""
    link_mtu_bytes: int | None = None
    framing: Framing | None = None
    """The framing of one message (over TCP: of one full segment) on the stated link."""

    @property
    def group(self) -> Group:
        """The group of its cell."""
        return Group(self.pairing, self.protocol, self.message_bytes, self.flow)

    @property
    def ends(self) -> tuple[StreamEnd, StreamEnd]:
        """The sender and the receiver."""
        return self.sender, self.receiver

    @property
    def filled_by_others(self) -> OtherTraffic | None:
        """The largest other traffic that filled the link; ``None`` if none did.

        Traffic counts in the direction of the stream's data. If TCP sends data one way only, the
        opposite direction counts as well, because it carries the acknowledgements.
        """
        back = self.protocol == "TCP" and not self.flow
        full = [
            traffic
            for traffic in self.others
            if traffic.filled_share >= LINK_FULL and (back or self._is_of_data(traffic))
        ]
        return max(full, key=lambda traffic: traffic.bit_per_s, default=None)

    @property
    def reported_others(self) -> OtherTraffic | None:
        """As ``filled_by_others``; if that is ``None``, the largest other traffic in the data's
        direction.
        """
        in_direction = (traffic for traffic in self.others if self._is_of_data(traffic))
        return self.filled_by_others or max(
            in_direction, key=lambda traffic: traffic.bit_per_s, default=None
        )

    def _is_of_data(self, traffic: OtherTraffic) -> bool:
        return traffic.host == (self.receiver.host if traffic.receiving else self.sender.host)

    @property
    def paced(self) -> bool:
        """Whether the stream was sent at an offered rate."""
        return self.offered_bit_per_s is not None

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
    def longest_wait_share(self) -> float:
        """The larger ``waited_share`` of the two ends."""
        return max(end.waited_share for end in self.ends)

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
        """Received data as a share of the data that the send calls accepted; near 1 if nothing is
        lost.
        """
        sent_rate = self.sent_bit_per_s
        return None if not sent_rate else self.throughput_bit_per_s / sent_rate

    def call_percentile_ns(self, share: float) -> int | None:
        """Percentile of the time inside a send call; ``share`` from 0 to 1."""
        times = self.call_times
        return None if times is None or times.count < SAMPLES else times.percentile(share)

    @property
    def in_calls_share(self) -> float | None:
        """Share of the window inside send calls, estimated from the sample; it may exceed 1."""
        return self._inside(None)

    @property
    def in_ordinary_calls_share(self) -> float | None:
        """As ``in_calls_share``, for all calls except the longest (see ``ORDINARY``)."""
        return self._inside(self.call_percentile_ns(ORDINARY))

    def _inside(self, most_ns: int | None) -> float | None:
        times, window_ns = self.call_times, self.sender.window_ns
        if times is None or times.count < SAMPLES or self.calls is None or not window_ns:
            return None
        middles = ((middle_of(bucket, times.bits), n) for bucket, n in times.counts.items())
        sampled_ns = sum(ns * n for ns, n in middles if most_ns is None or ns <= most_ns)
        return sampled_ns / times.count * self.calls / window_ns / self.streams

    @property
    def lost_share(self) -> float | None:
        """Share of the messages sent over UDP that never arrived."""
        losses = self.losses
        return None if losses.lost is None or not losses.sent else losses.lost / losses.sent

    @property
    def useful_share(self) -> float | None:
        """Share of the receive calls that found data; the others came too early."""
        calls, empty = self.receive_calls, self.empty_receives
        if calls is None or empty is None or calls < SAMPLES:
            return None
        return 1 - empty / calls

    def tcp_share(self, us: int | None) -> float | None:
        """A time from TCP's account, as a share of the sender's window."""
        return None if us is None or not self.sender.window_ns else us * 1e3 / self.sender.window_ns

    @property
    def cwnd_limited_us(self) -> int | None:
        """Time in which TCP had data to send, and neither receive window nor send buffer held TCP
        back.
        """
        tcp = self.tcp
        if tcp.busy_us is None or tcp.rwnd_limited_us is None or tcp.sndbuf_limited_us is None:
            return None
        return tcp.busy_us - tcp.rwnd_limited_us - tcp.sndbuf_limited_us

    @property
    def window_limit_bit_per_s(self) -> float | None:
        """The rate that one receive window per shortest round trip allows."""
        tcp = self.tcp
        if tcp.window_bytes is None or not tcp.min_rtt_us:
            return None
        return tcp.window_bytes * 8e6 / tcp.min_rtt_us
