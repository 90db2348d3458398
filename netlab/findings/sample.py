"""Sending: what is known of messages that went one way in one trial, and of its two ends. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from netlab.findings.finding import Group
from netlab.findings.framing import Framing
from netlab.results.tcp_series import TcpSeries
from netlab.stats.histogram import Histogram, middle_of

WINDOW_NS = 200_000_000
"""Least window that shares of CPU time are judged over: kernels count it in ticks of 1 to 16 ms."""

ORDINARY = 0.98
"""All but the longest fiftieth of the calls: an interrupt or another program makes a few of them
long, and that is not what a call costs."""

SAMPLES = 50
"""Least send calls timed that tell how long they take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEnd:
    """What one end said of itself and of its host, over its own window; ``None`` is not known."""

    host: str = ""
    window_ns: int | None = None
    thread_ns: int | None = None
    """Time on a CPU of the test's busiest thread."""
    run_queue_delay_ns: int | None = None
    """Time that a thread of the test was ready to run and had no CPU."""
    quota_periods: int | None = None
    """Periods of a CPU quota; 0: there is none."""
    throttled_periods: int | None = None
    throttled_ns: int | None = None
    """Time that a quota made it wait, all CPUs together."""
    steal_share: float | None = None
    """Of all CPUs' time, given to others by the hypervisor."""
    busiest_core: int | None = None
    busiest_core_share: float | None = None
    cpu: int | None = None
    """The CPU that it is pinned to."""
    spins: bool = False
    """It keeps its CPU busy whatever comes: a spinning receiver, a paced sender."""
    clock_ppm: float | None = None
    """By which the monotonic clock ran faster than the undisciplined one."""
    clock_step_ns: int | None = None
    """Of wall time against the monotonic clock; told only above 0.5 s."""

    @property
    def judged(self) -> bool:
        """Whether its window is long enough for shares of time."""
        return (self.window_ns or 0) >= WINDOW_NS

    @property
    def thread_share(self) -> float | None:
        """Share of the window that the busiest thread was on a CPU."""
        return self._share(self.thread_ns)

    @property
    def run_queue_share(self) -> float | None:
        """Share of the window that a thread was ready to run and had no CPU."""
        return self._share(self.run_queue_delay_ns)

    @property
    def throttled_share(self) -> float | None:
        """Share of the periods of its CPU quota in which it was made to wait; 0 without one."""
        if self.quota_periods is None or self.throttled_periods is None:
            return None
        return self.throttled_periods / max(1, self.quota_periods)

    @property
    def waited_share(self) -> float:
        """Share of the window that it had no CPU, whoever had it: these overlap, so that the
        largest counts. 0 where none is known.
        """
        throttled = self._share(self.throttled_ns)
        quota = self.throttled_share if throttled is None else min(1.0, throttled)
        return max(self.run_queue_share or 0, self.steal_share or 0, quota or 0)

    def _share(self, ns: int | None) -> float | None:
        return None if ns is None or not self.window_ns else ns / self.window_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpAccount:
    """What the sender's TCP counted between the edges of its window; ``None`` is not known."""

    busy_us: int | None = None
    """With data to send, or not acknowledged."""
    rwnd_limited_us: int | None = None
    """Of that, held back by the receiver's window."""
    sndbuf_limited_us: int | None = None
    """Of that, held back by the send buffer."""
    retransmissions: int | None = None
    window_bytes: int | None = None
    """The receiver's window as last announced; the larger of both edges."""
    min_rtt_us: int | None = None
    rtt_us: int | None = None
    """Smoothed, at the end of the window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """Messages over UDP, over the whole test; ``None`` is not known."""

    sent: int | None = None
    lost: int | None = None
    receive_queue: int | None = None
    """For which the receiving socket had no room."""
    local: int | None = None
    """That the sender's system refused or dropped; not counted as sent."""
    other_way: int | None = 0
    """Lost of those that went the other way at the same time; over TCP, segments sent again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnDrops:
    """Frames that the two hosts of a stream dropped, by place; ``None`` is not known."""

    sender_interface: int | None = None
    sender_queue: int | None = None
    """In front of that interface; those that the sender was told of as well."""
    receiver_interface: int | None = None
    receiver_backlog: int | None = None
    """Of the CPUs behind it (softnet)."""
    sender_backlog: int | None = None
    """The same of the sender's: nothing that it sent, but whether its host counts all."""
    reassembly: int | None = None
    """Messages that the receiver's system could not put together."""
    between_s: float = 0.0
    """From the first reading of these counters to the second, at most."""


LINK_FULL = 0.98
"""Share of the link that all traffic in one direction of an interface fills from which on there is
no room for more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherTraffic:
    """What an interface of one of the hosts carried in one direction beside what was ours."""

    host: str
    receiving: bool
    bit_per_s: float
    """As the interface counts it, from the Ethernet header to the end of the packet."""
    filled_share: float
    """Of the link, on the wire and with ours: above 1 by what the bounds are apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSample:
    """The messages that went one way in one trial that is ok; ``None`` is not known."""

    cell: str
    """Key of the cell."""
    trial: int = 1
    """Of the cell, from 1; the number of its block."""
    pairing: str
    protocol: str
    message_bytes: int
    flow: str = ""
    """``to server`` or ``to client`` where the test sends both ways."""
    conditions: str = ""
    """Its other settings, as text: those of one ``conditions`` differ in message size alone."""
    imported: bool = False
    """A document printed it: what is not printed cannot be known."""
    throughput_bit_per_s: float
    """By the receiver."""
    ceiling_bit_per_s: float | None
    """Of the wire, the lowest that the TCP options may leave."""
    highest_ceiling_bit_per_s: float | None = None
    """The highest that they may leave."""
    resolution_share: float = 0.0
    """By what share throughput may be off where the receiver's calls were long for its window; else
    it is told to 0.1 %."""
    same_host: bool = False
    """No wire was touched."""
    stopped_share: float = 0.0
    """Of the window, in which no data came and something stopped it."""
    offered_bit_per_s: float | None = None
    """Where it was paced: what was to be sent."""
    streams: int = 1
    sender: StreamEnd = StreamEnd()
    receiver: StreamEnd = StreamEnd()
    calls: int | None = None
    """Send calls in the sender's window, of all streams."""
    call_times: Histogram | None = None
    """ns inside a call, of a sample of them."""
    room_looks: int | None = None
    """How often it was looked whether the next call would find room in the socket."""
    room_share: float | None = None
    """Share of these looks that found some."""
    send_buffer_bytes: int | None = None
    """As read back."""
    queue_looks: int | None = None
    """How often it was looked how full the receive queue was."""
    queue_full_share: float | None = None
    """Share of these looks that found it full to 80 % and more."""
    receive_calls: int | None = None
    """Receive calls that did not wait."""
    empty_receives: int | None = None
    """Those of them that found nothing."""
    tcp: TcpAccount = TcpAccount()
    tcp_series: TcpSeries | None = None
    """What the sender's TCP said of itself over its window."""
    plateau_bit_per_s: float | None = None
    """What a sender's TCP delivered while its data flowed: streams/plateau.py."""
    losses: Losses = Losses()
    drops: OwnDrops = OwnDrops()
    """Of both directions where it sends both ways."""
    congestion: str | None = None
    """The sender's congestion control."""
    congestion_asked: bool = False
    """The matrix names it."""
    packets_a_message: int | None = None
    """IP packets that a message over UDP is cut into; of TCP, which cuts its own, not known."""
    others: tuple[OtherTraffic, ...] = ()
    """Of both hosts and directions; none too where nothing shows it."""
    likely_others_share: float = 0.0
    """Of the link, what others are likely to have used in the direction of its data, also where
    that is too little to be told from ours; 0 where it is not known."""
    others_doubt_share: float = 0.0
    """Of the link, what of that may be ours since the counters stand still for so long."""
    path_mtu_bytes: int | None = None
    """What the sender's system takes for the largest packet to the receiver."""
    link_mtu_bytes: int | None = None
    framing: Framing | None = None
    """What its payload comes to on the link stated."""

    @property
    def group(self) -> Group:
        """Which group its cell is of."""
        return Group(self.pairing, self.protocol, self.message_bytes, self.flow)

    @property
    def ends(self) -> tuple[StreamEnd, StreamEnd]:
        """The sender and the receiver."""
        return self.sender, self.receiver

    @property
    def filled_by_others(self) -> OtherTraffic | None:
        """The traffic that left it no more of the link, the most of it where there are several.

        In the direction of its data; acknowledgements over TCP need the other one as well.
        """
        back = self.protocol == "TCP" and not self.flow
        full = [
            each
            for each in self.others
            if each.filled_share >= LINK_FULL and (back or self._is_of_data(each))
        ]
        return max(full, key=lambda each: each.bit_per_s, default=None)

    @property
    def others_told(self) -> OtherTraffic | None:
        """The same; else the most of others in the direction of its data, with room left."""
        told = (each for each in self.others if self._is_of_data(each))
        return self.filled_by_others or max(told, key=lambda each: each.bit_per_s, default=None)

    def _is_of_data(self, other: OtherTraffic) -> bool:
        return other.host == (self.receiver.host if other.receiving else self.sender.host)

    @property
    def paced(self) -> bool:
        """Whether it was to send no faster than offered."""
        return self.offered_bit_per_s is not None

    @property
    def ceiling_share(self) -> float | None:
        """Throughput as a share of the wire ceiling."""
        ceiling = self.ceiling_bit_per_s
        return None if ceiling is None else self.throughput_bit_per_s / ceiling

    @property
    def missing_share(self) -> float:
        """What throughput lacks of the ceiling, as a share of it: all where that is not known."""
        return 1 - (self.ceiling_share or 0)

    @property
    def longest_wait_share(self) -> float:
        """Share of the window that the end which waited longer had no CPU."""
        return max(end.waited_share for end in self.ends)

    @property
    def calls_per_s(self) -> float | None:
        """Of all streams."""
        if self.calls is None or not self.sender.window_ns:
            return None
        return self.calls * 1e9 / self.sender.window_ns

    @property
    def sent_bit_per_s(self) -> float | None:
        """What the send calls took."""
        per_s = self.calls_per_s
        return None if per_s is None else 8 * self.message_bytes * per_s

    @property
    def delivered_share(self) -> float | None:
        """What arrived, as a share of what the send calls took; near 1 where nothing is lost."""
        sent = self.sent_bit_per_s
        return None if not sent else self.throughput_bit_per_s / sent

    def call_percentile_ns(self, share: float) -> int | None:
        """Time inside a send call that ``share`` of them do not exceed."""
        times = self.call_times
        return None if times is None or times.count < SAMPLES else times.percentile(share)

    @property
    def in_calls_share(self) -> float | None:
        """Share of the window inside send calls, as the sample tells: above 1 by its scatter."""
        return self._inside(None)

    @property
    def in_ordinary_calls_share(self) -> float | None:
        """The same of all calls but the longest."""
        return self._inside(self.call_percentile_ns(ORDINARY))

    def _inside(self, most_ns: int | None) -> float | None:
        times, window_ns = self.call_times, self.sender.window_ns
        if times is None or times.count < SAMPLES or self.calls is None or not window_ns:
            return None
        each = ((middle_of(bucket, times.bits), n) for bucket, n in times.counts.items())
        sampled_ns = sum(ns * n for ns, n in each if most_ns is None or ns <= most_ns)
        return sampled_ns / times.count * self.calls / window_ns / self.streams

    @property
    def lost_share(self) -> float | None:
        """Share of the messages sent over UDP that never arrived."""
        losses = self.losses
        return None if losses.lost is None or not losses.sent else losses.lost / losses.sent

    @property
    def useful_share(self) -> float | None:
        """Share of the receive calls that found something; the others came too early."""
        calls, empty = self.receive_calls, self.empty_receives
        if calls is None or empty is None or calls < SAMPLES:
            return None
        return 1 - empty / calls

    def tcp_share(self, us: int | None) -> float | None:
        """A time of TCP's account, as a share of the sender's window."""
        return None if us is None or not self.sender.window_ns else us * 1e3 / self.sender.window_ns

    @property
    def cwnd_limited_us(self) -> int | None:
        """Time in which neither window nor buffer held TCP back, though it had data."""
        tcp = self.tcp
        if tcp.busy_us is None or tcp.rwnd_limited_us is None or tcp.sndbuf_limited_us is None:
            return None
        return tcp.busy_us - tcp.rwnd_limited_us - tcp.sndbuf_limited_us

    @property
    def window_limit_bit_per_s(self) -> float | None:
        """What the receiver's window allows at the shortest round trip seen."""
        tcp = self.tcp
        if tcp.window_bytes is None or not tcp.min_rtt_us:
            return None
        return tcp.window_bytes * 8e6 / tcp.min_rtt_us
