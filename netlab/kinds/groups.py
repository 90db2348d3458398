"""The settings of all tests, and those that several kinds take, in groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal

from netlab import ethernet
from netlab.ethernet import Link
from netlab.messages import _
from netlab.trial.settings import (
    Ask,
    CpuList,
    HostWord,
    Level,
    Need,
    NumberWithUnit,
    Or,
    Scalar,
    Settings,
    Whole,
    of_settings,
    setting,
)

SIZE = NumberWithUnit("bytes", 1, 1 << 24, "64KiB")
BUFFER = NumberWithUnit("bytes", 1, 1 << 30, "64KiB")
WINDOW = NumberWithUnit("seconds", 0.001, 86400, "10s")
PAUSE = NumberWithUnit("seconds", 0, 3600, "500ms")
RATE = NumberWithUnit("bits_per_second", 1, 1e13, "100Mbit")
STATES = HostWord(r"^\S+( \S+)*$", 500)
WORD = HostWord(r"^[A-Za-z0-9][A-Za-z0-9_.:@-]*$", 64)

DSCP = (
    *(("DF", 0), ("EF", 46), *((f"CS{n}", 8 * n) for n in range(8))),
    *((f"AF{of}{drop}", 8 * of + 2 * drop) for of in range(1, 5) for drop in range(1, 4)),
)
"""Names of code points: RFC 2474 (DF, CS), RFC 2597 (AF), RFC 3246 (EF), as in RFC 4594."""

SEQUENCE_BYTES = 16
"""Minimum length of a UDP message that holds a sequence number; a shorter answer cannot be assigned
to its request."""

STREAMS_WITH_A_THREAD = 64
"""Up to this number of streams in a test, each stream has its own thread. More streams share one
thread per CPU."""

_OF_AN_AGENT = ("server_receive", "server_cpu", "udp_checksum")
"""Settings of the server's probe, which an echo service (RFC 862) does not have."""

SettingFault = tuple[str, str]
"""The setting at fault, and a sentence about the fault."""


@dataclass(frozen=True, slots=True)
class SentMessages:
    """The messages of one end of a test, for calculating the length of its packets."""

    protocol: str
    message_bytes: int | None
    """Bytes per send call; ``None``: enough to fill TCP's longest segments."""
    whole: bool = False
    """Whether a UDP message must stay in one packet."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the most time that a search takes, in seconds."""

    least_s: float
    most_s: float


def too_long(setup: MessageTest) -> Iterator[SettingFault]:
    """The fault of a UDP message that is longer than a message can be."""
    most = ethernet.MAX_DATAGRAM_BYTES[setup.ip_version]
    if setup.protocol == "UDP" and setup.message_bytes > most:
        yield (
            "message_bytes",
            f"a UDP message carries {most} bytes at most over IPv{setup.ip_version}: "
            "`replace` this size for UDP, or `exclude` it",
        )


def on_cable_s(setup: MessageTest, message_bytes: int, link: Link, *, alone: bool) -> float | None:
    """How long one message occupies one cable; ``None`` if the link cannot carry it.

    ``alone``: TCP sends the message in segments of its own.
    """
    mtu_bytes, version = link.mtu_bytes, setup.ip_version
    try:
        packets = ethernet.packets(setup.protocol, message_bytes, mtu_bytes, ip_version=version)
    except ValueError:
        return None
    on_wire: float = sum(ethernet.packet_wire_bytes(size + link.added_bytes) for size in packets)
    if setup.protocol != "UDP" and not alone:
        # TCP cuts a stream into full segments, independent of its messages.
        full_bytes = ethernet.packet_wire_bytes(mtu_bytes + link.added_bytes)
        on_wire = full_bytes * (message_bytes / ethernet.mss_of(mtu_bytes, ip_version=version))
    return 8 * on_wire / link.rate_bit_per_s


# A table: each row takes as few lines as possible.
# fmt: off


@of_settings
class Setup(Settings):
    """Settings of all tests."""

    protocol: Literal["TCP", "UDP"] = setting(
        "protocol", about="Transport protocol.", column="TCP or UDP; ICMP in imported pings")
    ip_version: Literal[4, 6] = setting(
        "ip", default=4, label=_("IP version"), need=Need("ipv6", at=6),
        about="Version of the Internet Protocol.", column="4 or 6")
    socket_buffer_bytes: int | None = setting(
        "socket_buffer", Or("auto", BUFFER, "64KiB"), default=None,
        label=_("socket buffer"), absent=_("auto"), asks=(Ask("socket_buffer"),),
        about="SO_SNDBUF and SO_RCVBUF of both ends; auto leaves them to the system's own tuning.",
        column="requested SO_SNDBUF and SO_RCVBUF of both ends; NA: the system's tuning")
    duration_s: float | None = setting(
        "duration", WINDOW, default=10.0, excludes="count", label=_("duration"),
        asks=(Ask("seconds", "send receive ask"),),
        about="Length of the measurement window.", column="requested length of the window")
    dscp: int | None = setting(
        "dscp", Whole(0, 63, DSCP), default=None, label=_("DSCP"), asks=(Ask("dscp"),),
        need=Need("dscp"), about="Differentiated services code point, such as EF or 46.",
        column="requested differentiated services code point")
    network: str | None = setting(
        "network", WORD, default=None, about="Name of the test addresses to use.",
        column="name of the test addresses; NA: the first of each host")
    interface: str | None = setting(
        "interface", HostWord(r"^[^\s/%=,\x00-\x1f]+$", 15), default=None,
        asks=(Ask("interface", "connect"),), need=Need("interface", of="client"),
        about="Interface to which the side that connects is bound.",
        column="interface to which the side that connects is bound; NA: the system's choice")
    variant: str | None = setting(
        "variant", Or("as-found", STATES), default=None, absent=_("as found"),
        about="States of the hosts' own settings, defined in `variants`: GROUP=STATE.",
        column="states of the hosts' own settings; NA: as they were found")

    # fmt: on
    needed_too: ClassVar[Mapping[str, Level]] = MappingProxyType({})
    """Settings whose demands on the probes it has, although it does not have the settings."""
    keeps_frames = False
    """Whether a trial may write captured frames into the run folder."""
    sized_by = ""
    """The field that is the word of a cell's key about sizes; empty: the IP version is."""
    is_search = False
    """Whether the duration of the test depends on the path."""

    @property
    def probe_test(self) -> str:
        """The kind of test that the probes are asked for: ``kind`` of docs/protocol.md."""
        raise NotImplementedError

    @property
    def is_together(self) -> bool:
        """Whether pairs of hosts that are measured at the same time run one search together."""
        return False

    def demands(self) -> Iterator[tuple[str, str]]:
        """Capabilities that both probes must have, besides those that a row names: a capability,
        and the setting that requires it (``test``: the kind of test).
        """
        yield self.probe_test, "test"
        yield self.protocol.lower(), "protocol"

    def keys(self) -> dict[str, Scalar]:
        """Keys of the request to each end, besides those that a row names."""
        return {"kind": self.probe_test, "proto": self.protocol.lower()}

    def faults(self) -> Iterator[SettingFault]:
        """Settings with which no host could measure."""
        yield from ()

    def untold(self) -> tuple[tuple[str, Level], ...]:
        """The settings for the server's probe, which an echo service cannot apply.

        Settings at their defaults are left out.
        """
        defaults = {**self.defaults(), "opening": "client-connects"}
        return tuple(
            (name, level)
            for name in (*_OF_AN_AGENT, "opening")
            if name in self.names() and (level := getattr(self, name)) not in (None, defaults[name])
        )

    def sent_by(self, end: str) -> SentMessages | None:
        """The messages that one end (``client`` or ``server``) sends.

        ``None`` if the end sends only acknowledgements, or messages of any size.
        """
        return None

    def window_s(self) -> float | None:
        """Requested length of the warm-up and the window (the time that is measured) together.

        ``None`` if the settings do not fix the time: a count of messages without a rate, or a
        search.
        """
        return None if self.is_search else self.duration_s

    def least_s(self, link: Link | None) -> float | None:
        """The least time of a search, or of a trial that ends after a count of messages.

        For a count of messages, the time assumes that only the link's rate limits them. ``None``
        for any other trial, and if the time depends on an unknown link.
        """
        bounds = self.bounds(None if link is None else link.rate_bit_per_s)
        return None if bounds is None else bounds.least_s

    def bounds(self, line_rate_bit_per_s: float | None, turns: int = 1) -> Bounds | None:
        """The least and the most time of a search; ``None`` if they depend on an unknown line rate.

        ``turns``: number of pairs that search together and send their bursts one after the other.
        """
        return None
    # fmt: off


@of_settings
class CongestedTest(Setup):
    """Settings of tests whose data may be subject to TCP's congestion control."""

    congestion: str | None = setting(
        "congestion", WORD, default=None, only_of="TCP", label=_("congestion control"),
        absent=_("host’s default"), asks=(Ask("congestion", "send ask mirror"),),
        need=Need("congestion", of="sender", vital=False),
        about="TCP congestion control, such as cubic or bbr.",
        column="requested congestion control; NA: the host's default")


@of_settings
class MessageTest(CongestedTest):
    """Settings of tests with messages of one size."""

    message_bytes: int = setting(
        "message_size", SIZE, label=_("message size, bytes"), asks=(Ask("message"),),
        about="Bytes of one message, or of a request.", column="bytes of one message")
    nodelay: bool = setting("nodelay", default=False, only_of="TCP", label=_("TCP_NODELAY"),
        asks=(Ask("nodelay", when=True),), about="TCP_NODELAY: small messages are sent at once.",
        column="whether TCP_NODELAY was requested")
    message_rate_per_s: float | None = setting(
        "message_rate", NumberWithUnit("per_second", 1e-3, 1e9, "5000/s"), default=None,
        label=_("offered messages per second"), absent=_("unlimited"),
        asks=(Ask("message_rate", "send ask"),), about="Offered messages or requests per second.",
        column="offered messages or requests a second")
    server_cpu: int | None = setting(
        "server_cpu", Whole(0, 4095), default=None, label=_("server’s CPU"),
        asks=(Ask("cpu", "server"),), need=Need("pin", of="server"),
        about="CPU to which the server's probe is pinned.",
        column="CPU to which the server's threads are pinned")
    client_cpu: int | None = setting(
        "client_cpu", Whole(0, 4095), default=None, label=_("client’s CPU"),
        asks=(Ask("cpu", "client"),), need=Need("pin", of="client"),
        about="CPU to which the client's probe is pinned.",
        column="CPU to which the client's threads are pinned")

    sized_by = "message_bytes"


@of_settings
class Counted(MessageTest):
    """Settings of tests that end after a time or a number of messages."""

    count: int | None = setting("count", Whole(1, 10**12), default=None, label=_("messages"),
        asks=(Ask("count", "send receive ask"),),
        about="Number of messages or transactions, instead of a duration.",
        column="requested number of messages or transactions, instead of a duration")
    warm_up_s: float = setting("warm_up", PAUSE, default=0.0, label=_("warm-up"),
        asks=(Ask("warm_up", "send receive ask", unless=0.0),),
        about="Time before the window, not counted.", column="time before the window")
    source_port: int | None = setting(
        "source_port", Whole(1, 65535), default=None, steps=False, label=_("source port"),
        asks=(Ask("port", "connect"),), about="Local port of the side that connects.",
        column="requested local port of the side that connects; NA: the system's choice")

    # fmt: on
    def window_s(self) -> float | None:
        """As for all tests."""
        if self.duration_s is not None:
            return self.warm_up_s + self.duration_s
        if self.count is not None and self.message_rate_per_s is not None:
            return self.warm_up_s + self.count / self.message_rate_per_s
        return None
    # fmt: off


@of_settings
class AtRate:
    """Settings of tests that send messages at a rate."""

    rate_bit_per_s: float | None = setting(
        "rate", RATE, default=None, excludes="message_rate_per_s", label=_("offered rate"),
        absent=_("unlimited"), asks=(Ask("rate", "send"),),
        about="Offered payload rate; without it, as fast as possible.",
        column="offered payload rate; NA: as fast as possible")


@of_settings
class Directed(Setup):
    """Settings of tests whose data flow one way, or both ways at once."""

    direction: Literal["client-sends", "server-sends", "both"] = setting(
        "direction", default="client-sends", about="Who sends; both at once in one common window.",
        column="client-sends, server-sends or both")
    streams: int = setting(
        "streams", Whole(1, 1000), default=1, asks=(Ask("streams"),), about="Parallel streams.",
        column="parallel streams")
    server_cpus: str | None = setting("server_cpus", CpuList(), default=None, excludes="server_cpu",
        asks=(Ask("cpus", "server"),), need=Need("pin", of="server"), label=_("server’s CPUs"),
        about="CPUs to which the server's threads are pinned, one after another.",
        column="CPUs to which the server's threads are pinned, one after another")
    client_cpus: str | None = setting("client_cpus", CpuList(), default=None, excludes="client_cpu",
        asks=(Ask("cpus", "client"),), need=Need("pin", of="client"), label=_("client’s CPUs"),
        about="CPUs to which the client's threads are pinned, one after another.",
        column="CPUs to which the client's threads are pinned, one after another")
    send_method: Literal["batch", "packet", "xdp"] | None = setting(
        "send_method", Or("plain"), default=None, only_of="UDP", label=_("send method"),
        absent=_("plain"), asks=(Ask("method", "send"),), need=Need("", of="sender"),
        about="UDP only: one message a send call, many, or frames of our own (by two ways).",
        column="how UDP messages are sent: batch, packet or xdp; NA: plain, one a call")
    receive: Literal["blocking", "spinning", "polling", "adaptive"] = setting(
        "receive", default="blocking", label=_("receive call"),
        asks=(Ask("spin", "receive", when="spinning"), Ask("poll", "receive", when="polling"),
              Ask("adapt", "receive", when="adaptive")),
        need=Need("poll", of="receiver", at="polling"),
        about="How the receiver waits for data; adaptive: chosen in the warm-up.",
        column="how the receiver waits for data: blocking, spinning, polling or adaptive")
    receive_from: Literal["packet"] | None = setting(
        "receive_from", Or("socket"), default=None, only_of="UDP", label=_("received from"),
        absent=_("the socket"), asks=(Ask("from", "receive"),), need=Need("capture", of="receiver"),
        about="UDP only, polling or spinning: packet takes frames before the receiver's IP.",
        column="where the receiver takes UDP messages from: packet, whole frames, before the "
        "receiver's IP and UDP process them; NA: the test's own socket")

    # fmt: on
    def is_idle(self, end: str) -> bool:
        """Whether one end (``client`` or ``server``) sends no messages."""
        return {"client-sends": "server", "server-sends": "client"}.get(self.direction) == end

    def faults(self) -> Iterator[SettingFault]:
        """Settings with which no host could send or receive streams."""
        if self.send_method == "xdp" and self.streams > 1:
            yield (
                "send_method",
                "AF_XDP takes a queue of the interface for itself, so it sends only one stream: "
                "`replace` this value where there are several `streams`, or `exclude` it",
            )
        if self.receive_from == "packet" and self.receive not in ("polling", "spinning"):
            yield (
                "receive_from",
                "`receive_from: packet` needs `receive: polling` or `receive: spinning`, because "
                "nothing wakes a receiver that waits for frames",
            )
        if self.streams <= STREAMS_WITH_A_THREAD:
            return
        if self.send_method is not None and self.protocol == "UDP":
            yield (
                "send_method",
                f"more than {STREAMS_WITH_A_THREAD} streams can only send one message per call: "
                "leave this setting out, or `exclude` this value",
            )
        if self.receive in ("polling", "adaptive"):
            yield (
                "receive",
                f"with more than {STREAMS_WITH_A_THREAD} streams, a thread waits for several at "
                "once: set `blocking`, or `exclude` this value",
            )
    # fmt: off



@of_settings
class Talk:
    """Settings of streams and round trips: what measures them, who connects, and messages longer
    than a packet.
    """

    engine: Literal["iperf3", "iperf2", "netperf", "nuttcp", "sockperf", "neper"] | None = setting(
        "engine", Or("netprobe"), default=None, absent=_("netprobe"), need=Need("run"),
        about="What measures: netlab's own probe, or another tool that the hosts have.",
        column="what measured: iperf3, iperf2, netperf, nuttcp, sockperf or neper; "
        "NA: netprobe, netlab's own probe")
    opening: Literal["client-connects", "server-connects"] | None = setting(
        "open", default=None, label=_("who connects"), absent=_("the client, if it can"),
        about="Which side connects; without it the client, unless a firewall lets only the server.",
        column="which side connects: client-connects or server-connects; NA: the client, if it can")
    dont_fragment: bool = setting(
        "dont_fragment", default=False, only_of="UDP", label=_("don’t fragment"),
        asks=(Ask("dont_fragment", when=True),),
        need=Need("dont-fragment", at=True, what="the DF bit"),
        about="UDP only: forbid fragments on the way.", column="whether the DF bit was requested")


@of_settings
class Answered:
    """Settings of tests that wait for an answer over UDP."""

    timeout_s: float = setting(
        "timeout", NumberWithUnit("seconds", 0.001, 10, "500ms"), default=1.0, only_of="UDP",
        label=_("time-out"), asks=(Ask("timeout", "ask"),),
        about="UDP only: time after which an unanswered request counts as lost.",
        column="time after which an unanswered UDP request counts as lost")
