"""Settings that several kinds of test take, in groups. No I/O."""

from __future__ import annotations

from typing import Literal

from netlab.messages import _
from netlab.trial.settings import (
    Ask,
    CpuList,
    HostWord,
    Need,
    NumberWithUnit,
    Or,
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

# A table: each row takes as few lines as possible.
# fmt: off


@of_settings
class EveryTest(Settings):
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
        "dscp", Whole(0, 63), default=None, label=_("DSCP"), asks=(Ask("dscp"),), need=Need("dscp"),
        about="Differentiated services code point.",
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


@of_settings
class CongestedTest(EveryTest):
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
        about="Bytes of one message, or of a request.",
        column="bytes of one message")
    nodelay: bool = setting(
        "nodelay", default=False, only_of="TCP", label=_("TCP_NODELAY"),
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


@of_settings
class Counted(MessageTest):
    """Settings of tests that end after a time or a number of messages."""

    count: int | None = setting(
        "count", Whole(1, 10**12), default=None, label=_("messages"),
        asks=(Ask("count", "send receive ask"),),
        about="Number of messages or transactions, instead of a duration.",
        column="requested number of messages or transactions, instead of a duration")
    warm_up_s: float = setting(
        "warm_up", PAUSE, default=0.0, label=_("warm-up"),
        asks=(Ask("warm_up", "send receive ask", unless=0.0),),
        about="Time before the window, not counted.", column="time before the window")
    source_port: int | None = setting(
        "source_port", Whole(1, 65535), default=None, steps=False, label=_("source port"),
        asks=(Ask("port", "connect"),), about="Local port of the side that connects.",
        column="requested local port of the side that connects; NA: the system's choice")


@of_settings
class AtRate:
    """Settings of tests that send messages at a rate."""

    rate_bit_per_s: float | None = setting(
        "rate", RATE, default=None, excludes="message_rate_per_s", label=_("offered rate"),
        absent=_("unlimited"), asks=(Ask("rate", "send"),),
        about="Offered payload rate; without it, as fast as possible.",
        column="offered payload rate; NA: as fast as possible")


@of_settings
class Directed:
    """Settings of tests whose data flow one way, or both ways at once."""

    direction: Literal["client-sends", "server-sends", "both"] = setting(
        "direction", default="client-sends", about="Who sends; both at once in one common window.",
        column="client-sends, server-sends or both")
    streams: int = setting(
        "streams", Whole(1, 1000), default=1, asks=(Ask("streams"),), about="Parallel streams.",
        column="parallel streams")
    server_cpus: str | None = setting(
        "server_cpus", CpuList(), default=None, excludes="server_cpu",
        asks=(Ask("cpus", "server"),), need=Need("pin", of="server"), label=_("server’s CPUs"),
        about="CPUs to which the server's threads are pinned, one after another.",
        column="CPUs to which the server's threads are pinned, one after another")
    client_cpus: str | None = setting(
        "client_cpus", CpuList(), default=None, excludes="client_cpu",
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
