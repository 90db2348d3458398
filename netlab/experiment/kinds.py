"""The kinds of test, each with its settings: what one cell is measured with. Pure.

A new setting is a row in the class of the tests that take it. A new kind of test: a class here, its
name in ``SETUPS``, what no host could measure of it in ``feasibility.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING
from typing import Literal

from netlab.experiment.settings import (
    Ask,
    CpuList,
    HostWord,
    Level,
    Need,
    NumberWithUnit,
    Or,
    Settings,
    Whole,
    of_settings,
    rows_of,
    setting,
)
from netlab.messages import _

_SIZE = NumberWithUnit("bytes", 1, 1 << 24, "64KiB")
_BUFFER = NumberWithUnit("bytes", 1, 1 << 30, "64KiB")
_WINDOW = NumberWithUnit("seconds", 0.001, 86400, "10s")
_PAUSE = NumberWithUnit("seconds", 0, 3600, "500ms")
_RATE = NumberWithUnit("rate", 1, 1e13, "100Mbit")
_WORD = HostWord(r"^[A-Za-z0-9][A-Za-z0-9_.:@-]*$", 64)

# A table: as few lines a row as it takes.
# fmt: off


@of_settings
class EveryTest(Settings):
    """What all tests take."""

    protocol: Literal["TCP", "UDP"] = setting(
        "protocol", about="Transport protocol.", column="TCP or UDP")
    ip_version: Literal[4, 6] = setting(
        "ip", default=4, label=_("IP version"), need=Need("ipv6", at=6),
        about="Version of the Internet Protocol.", column="4 or 6")
    socket_buffer_bytes: int | None = setting(
        "socket_buffer", Or("auto", _BUFFER, "64KiB"), default=None,
        label=_("socket buffer"), absent=_("auto"), asks=(Ask("socket_buffer"),),
        about="SO_SNDBUF and SO_RCVBUF of both ends; auto leaves them to the system's own tuning.",
        column="asked of SO_SNDBUF and SO_RCVBUF at both ends; NA: the system's tuning")
    duration_s: float | None = setting(
        "duration", _WINDOW, default=10.0, excludes="count", label=_("duration"),
        asks=(Ask("seconds", "send receive ask"),),
        about="Length of the window in which is measured.", column="length of the window asked for")
    dscp: int | None = setting(
        "dscp", Whole(0, 63), default=None, label=_("DSCP"), asks=(Ask("dscp"),), need=Need("dscp"),
        about="Differentiated services code point.", column="code point asked for")
    network: str | None = setting(
        "network", _WORD, default=None, about="Name of the test addresses to use.",
        column="name of the test addresses; NA: the first of each host")
    interface: str | None = setting(
        "interface", HostWord(r"^[^\s/%=,\x00-\x1f]+$", 15), default=None,
        asks=(Ask("interface", "connect"),), need=Need("interface", of="client"),
        about="Device that the connecting side is bound to.",
        column="device bound to, where one was asked for")


@of_settings
class _Congested(EveryTest):
    """What tests take whose data TCP may hold back."""

    congestion: str | None = setting(
        "congestion", _WORD, default=None, only_of="TCP", label=_("congestion control"),
        absent=_("host’s default"), asks=(Ask("congestion", "send ask mirror"),),
        need=Need("congestion", of="sender", vital=False),
        about="TCP congestion control, such as cubic or bbr.",
        column="congestion control asked for; NA: the host's default")


@of_settings
class _Messages(_Congested):
    """What tests take that have messages of one size."""

    message_bytes: int = setting(
        "message_size", _SIZE, label=_("message size, bytes"), asks=(Ask("message"),),
        about="Bytes handed to one send call: a message, or a request.",
        column="handed to one send call")
    count: int | None = setting(
        "count", Whole(1, 10**12), default=None, label=_("messages"),
        asks=(Ask("count", "send receive ask"),),
        about="Messages or transactions, in place of a duration.",
        column="messages or round trips asked for, in place of a duration")
    warm_up_s: float = setting(
        "warm_up", _PAUSE, default=0.0, label=_("warm-up"),
        asks=(Ask("warm_up", "send receive ask", unless=0.0),),
        about="Time before the window, not counted.", column="time before the window")
    nodelay: bool = setting(
        "nodelay", default=False, only_of="TCP", label=_("TCP_NODELAY"),
        asks=(Ask("nodelay", when=True),), about="TCP_NODELAY: small messages are sent at once.",
        column="TCP_NODELAY asked for")
    message_rate_per_s: float | None = setting(
        "message_rate", NumberWithUnit("per second", 1e-3, 1e9, "5000/s"), default=None,
        label=_("offered messages a second"), absent=_("unlimited"),
        asks=(Ask("message_rate", "send ask"),), about="Offered messages or requests a second.",
        column="offered messages a second")
    source_port: int | None = setting(
        "source_port", Whole(1, 65535), default=None, steps=False, label=_("source port"),
        asks=(Ask("port", "connect"),), about="Local port of the connecting side.",
        column="of the sender, where one was asked for")
    server_cpu: int | None = setting(
        "server_cpu", Whole(0, 4095), default=None, label=_("server’s CPU"),
        asks=(Ask("cpu", "server"),), need=Need("pin", of="server"),
        about="CPU that the server's probe runs on.",
        column="CPU that the server's threads are pinned to")
    client_cpu: int | None = setting(
        "client_cpu", Whole(0, 4095), default=None, label=_("client’s CPU"),
        asks=(Ask("cpu", "client"),), need=Need("pin", of="client"),
        about="CPU that the client's probe runs on.",
        column="CPU that the client's threads are pinned to")


@of_settings
class _OneWay:
    """What tests take whose data go one way, or both ways at once."""

    direction: Literal["client-sends", "server-sends", "both"] = setting(
        "direction", default="client-sends", about="Who sends; both at once in one common window.",
        column="client-sends, server-sends or both")
    streams: int = setting(
        "streams", Whole(1, 1000), default=1, asks=(Ask("streams"),), about="Parallel streams.",
        column="parallel streams")
    server_cpus: str | None = setting(
        "server_cpus", CpuList(), default=None, excludes="server_cpu",
        asks=(Ask("cpus", "server"),), need=Need("pin", of="server"), label=_("server’s CPUs"),
        about="CPUs that the server's threads are pinned to, in turns.")
    client_cpus: str | None = setting(
        "client_cpus", CpuList(), default=None, excludes="client_cpu",
        asks=(Ask("cpus", "client"),), need=Need("pin", of="client"), label=_("client’s CPUs"),
        about="CPUs that the client's threads are pinned to, in turns.")
    send_method: Literal["batch", "packet", "xdp"] | None = setting(
        "send_method", Or("plain"), default=None, only_of="UDP", label=_("method of sending"),
        absent=_("plain"), asks=(Ask("method", "send"),), need=Need("", of="sender"),
        about="UDP only: one message a send call, many, or frames of our own (by two ways).",
        column="how datagrams are handed over: batch, packet or xdp; NA: plain, one a call")
    receive: Literal["blocking", "spinning", "polling", "adaptive"] = setting(
        "receive", default="blocking", label=_("receive call"),
        asks=(Ask("spin", "receive", when="spinning"), Ask("poll", "receive", when="polling"),
              Ask("adapt", "receive", when="adaptive")),
        need=Need("poll", of="receiver", at="polling"),
        about="How the receiver waits for more; adaptive: chosen in the warm-up.",
        column="blocking, spinning, polling or adaptive")
    receive_from: Literal["packet"] | None = setting(
        "receive_from", Or("socket"), default=None, only_of="UDP", label=_("received from"),
        absent=_("the socket"), asks=(Ask("from", "receive"),), need=Need("capture", of="receiver"),
        about="UDP only, polling or spinning: packet takes frames before the receiver's IP.",
        column="where datagrams are taken from: packet; NA: the test's own socket")


@of_settings
class _Talk:
    """What streams and round trips take: messages longer than a packet, ends either way round."""

    opening: Literal["client-connects", "server-connects"] | None = setting(
        "open", default=None, label=_("who connects"), absent=_("the client, if it can"),
        about="Which side connects; without it the client, unless a firewall lets only the server.",
        column="client-connects or server-connects; NA: the client, if it can")
    dont_fragment: bool = setting(
        "dont_fragment", default=False, only_of="UDP", label=_("don’t fragment"),
        asks=(Ask("dont_fragment", when=True),),
        need=Need("dont-fragment", at=True, what="the DF bit"),
        about="UDP only: forbid fragments on the way.", column="the DF bit asked for")


@of_settings
class _Answered:
    """What tests take that wait for an answer of UDP."""

    timeout_s: float = setting(
        "timeout", NumberWithUnit("seconds", 0.001, 10, "500ms"), default=1.0, only_of="UDP",
        label=_("time-out"), asks=(Ask("timeout", "ask"),),
        about="UDP only: after which a request is lost.",
        column="after which a UDP request is lost")


@of_settings
class _Requests(_Messages):
    """What tests take of which the server answers each request."""

    response_bytes: int | None = setting(
        "response_size", Or("same", _SIZE, "16"), default=None, label=_("response"),
        absent=_("as the request"), about="Bytes of an answer; same: as many as the request has.",
        column="of an answer; NA: as many as the request has")
    server_receive: Literal["blocking", "spinning"] = setting(
        "server_receive", default="blocking", label=_("server’s receive call"),
        asks=(Ask("spin", "mirror", when="spinning"),), about="How the server waits for a request.",
        column="blocking or spinning, of the server")
    client_receive: Literal["blocking", "spinning"] = setting(
        "client_receive", default="blocking", label=_("client’s receive call"),
        asks=(Ask("spin", "ask", when="spinning"),), about="How the client waits for an answer.",
        column="blocking or spinning, of the client")
    mirror_hold_s: float = setting(
        "mirror_hold", NumberWithUnit("seconds", 0, 0.1, "100us"), default=0.0,
        label=_("mirror holds back"), asks=(Ask("hold", "mirror", unless=0.0),),
        about="What the server waits before it answers.",
        column="wait of the mirror between receiving and answering")
    keep_first: int = setting(
        "keep_first", Whole(0, 1000), default=0, label=_("first round trips kept"),
        asks=(Ask("keep", "ask", unless=0),), about="First round trips kept one by one.",
        column="round trips to be kept one by one")


@of_settings
class Stream(_Talk, _OneWay, _Messages):
    """A ``stream``: messages one way, or both ways at once."""

    in_files = (
        "protocol message_bytes socket_buffer_bytes duration_s count warm_up_s direction streams "
        "ip_version congestion nodelay dont_fragment rate_bit_per_s message_rate_per_s "
        "send_method dscp source_port interface receive server_cpu client_cpu network opening"
    )

    rate_bit_per_s: float | None = setting(
        "rate", _RATE, default=None, excludes="message_rate_per_s", label=_("offered rate"),
        absent=_("unlimited"), asks=(Ask("rate", "send"),),
        about="Offered payload rate; without it, all that goes.",
        column="offered payload rate; NA: as fast as it goes")
    tcp_send_method: Literal["batch"] | None = setting(
        "tcp_send_method", Or("plain"), default=None, only_of="TCP",
        label=_("method of sending over TCP"), absent=_("plain"), asks=(Ask("method", "send"),),
        need=Need("", of="sender"), about="TCP only: one message a send call, or up to 32.",
        column="how messages are handed to TCP: batch; NA: plain, one a call")
    tcp_receive_call: Literal["message"] | None = setting(
        "tcp_receive_call", Or("all"), default=None, only_of="TCP", absent=_("all that has come"),
        label=_("bytes of a receive call of TCP"), asks=(Ask("receive_call", "receive"),),
        about="TCP only: one message a call, or all.", column="one message a call; NA: to 256 KiB")


@of_settings
class RoundTrip(_Answered, _Talk, _Requests):
    """A ``round_trip``: the client asks, the server's mirror answers."""

    in_files = (
        "protocol message_bytes response_bytes socket_buffer_bytes duration_s count warm_up_s "
        "outstanding message_rate_per_s timeout_s ip_version congestion nodelay dont_fragment "
        "dscp source_port interface server_receive client_receive server_cpu client_cpu network "
        "udp_checksum stack_time mirror_hold_s keep_first opening"
    )

    outstanding: int = setting(
        "outstanding", Whole(1, 1024), default=1, asks=(Ask("outstanding", "ask", unless=1),),
        about="Requests under way at once.", column="requests under way at once")
    udp_checksum: bool = setting(
        "udp_checksum", default=True, only_of="UDP", label=_("UDP checksum"),
        asks=(Ask("no_checksum", when=False),), need=Need("no-checksum", at=False),
        about="False: UDP over IPv4 without its checksum.", column="whether UDP carries a checksum")
    stack_time: bool = setting(
        "stack_time", default=False, only_of="UDP", label=_("time in the server’s stack"),
        asks=(Ask("stamps", "mirror", when=True),),
        need=Need("stamps", of="server", at=True, vital=False),
        about="UDP only: time the server's stack by time stamps.",
        column="whether the server's stack is to be timed as well")


@of_settings
class Connect(_Requests):
    """A ``connect``: every transaction has a TCP connection of its own."""

    in_files = (
        "message_bytes protocol response_bytes socket_buffer_bytes duration_s count warm_up_s "
        "message_rate_per_s ip_version congestion nodelay dscp source_port interface "
        "server_receive client_receive server_cpu client_cpu network mirror_hold_s keep_first "
        "close"
    )

    protocol: Literal["TCP", "UDP"] = "TCP"
    close: Literal["reset", "orderly"] = setting(
        "close", default="reset", label=_("connections closed by"), asks=(Ask("close", "ask"),),
        about="How the client ends a connection: reset leaves no TIME_WAIT behind.",
        column="reset or orderly: how the client ends a connection")


@of_settings
class PayloadSearch(_Answered, _Congested):
    """A ``payload_search``: the most payload that travels in one frame."""

    in_files = (
        "protocol ip_version network sweep capture timeout_s duration_s socket_buffer_bytes "
        "congestion dscp interface"
    )

    duration_s: float = 1.0
    sweep: bool = setting(
        "sweep", default=False, about="Measure throughput over message sizes around the one found.",
        column="whether throughput is measured around the payload found")
    capture: bool = setting(
        "capture", default=False, about="Capture frames on the way, where the hosts allow it.",
        column="whether frames are to be captured")


@of_settings
class ThroughputSearch(_OneWay, EveryTest):
    """A ``throughput_search``: the highest rate without loss (RFC 2544)."""

    in_files = (
        "frame_bytes protocol duration_s search_duration_s direction streams burst "
        "acceptable_loss resolution line_rate_bit_per_s together frame_loss latency back_to_back "
        "residual_s settle_s send_method ip_version socket_buffer_bytes dscp interface receive "
        "network"
    )

    protocol: Literal["TCP", "UDP"] = "UDP"
    duration_s: float | None = 60.0
    frame_bytes: int = setting(
        "frame_size", Whole(64, 9018), label=_("frame size, bytes"),
        about="Bytes of an Ethernet frame, header and FCS counted.",
        column="of a frame, header and FCS counted")
    search_duration_s: float | None = setting(
        "search_duration", _WINDOW, default=None, label=_("search duration"),
        about="Of trials before the last, that confirms.",
        column="of a trial before the confirmation; NA: as one that counts")
    burst: int | None = setting(
        "burst", Whole(1, 100_000), default=None,
        about="Most frames back to back, when catching up.",
        column="frames back to back at most; NA: 32 or 1 ms' worth")
    acceptable_loss: float = setting(
        "acceptable_loss", NumberWithUnit("share", 0, 0.1, "0.001 %"), default=0.0,
        about="Share of the frames that may be lost.",
        column="share of the frames that may be lost")
    resolution: float = setting(
        "resolution", NumberWithUnit("share", 0.0001, 0.1, "0.5 %"), default=0.005,
        about="Step of the rates tried, of the line rate.",
        column="step of the rates tried, as a share of the line rate")
    line_rate_bit_per_s: float | None = setting(
        "line_rate", _RATE, default=None, label=_("line rate"),
        about="Line rate of the link; without it the matrix's link's, else the interface's.",
        column=None)
    together: Literal[True] | None = setting(
        "together", default=None, about="Pairs that search at the same time share one rate, "
        "which passes where it does for all.",
        column="whether pairs of hosts are searched at one rate; NA: each by itself")
    frame_loss: bool = setting(
        "frame_loss", default=False, about="Measure the loss at tenths of the line rate too.",
        column="whether the loss at tenths of the line rate is measured")
    latency: Literal[True] | None = setting(
        "latency", default=None, need=Need("round_trip"),
        about="Round trips at the rate found, and at parts of it.",
        column="whether round trips under load are to be measured; NA: no")
    back_to_back: int | None = setting(
        "back_to_back", Whole(1, 100), default=None,
        about="How often the longest burst without loss is searched for; the standard: 50.",
        column="how often the longest burst is to be searched for; NA: never")
    residual_s: float = setting(
        "residual", NumberWithUnit("seconds", 0.001, 60, "2s"), default=2.0,
        label=_("wait for residual frames"), about="What late frames are waited for after a trial.",
        column="how long late frames are waited for")
    settle_s: float = setting(
        "settle", _PAUSE, default=5.0, label=_("pause between trials"),
        about="Time between two trials of a search.", column="time between two trials of a search")


TestSettings = Stream | RoundTrip | Connect | PayloadSearch | ThroughputSearch

SETUPS: Mapping[str, type[TestSettings]] = {
    "stream": Stream, "round_trip": RoundTrip, "connect": Connect,
    "payload_search": PayloadSearch, "throughput_search": ThroughputSearch,
}
"""The kinds of test, by the name that a matrix gives them."""

SEARCHES = (PayloadSearch, ThroughputSearch)
"""Kinds of test that take what the path makes them take."""

ROWS = rows_of(SETUPS.values())
"""Field → its row, of every setting."""

FIELDS: Mapping[str, frozenset[str]] = {t: frozenset(kind.names()) for t, kind in SETUPS.items()}
"""Every setting of each kind of test."""

# fmt: on

DEFAULTS_OF: Mapping[str, Mapping[str, Level]] = {
    test: {name: each for name, each in kind.defaults().items() if each is not MISSING}
    for test, kind in SETUPS.items()
}
"""What a setting is where nobody says anything."""

NEEDED: Mapping[str, frozenset[str]] = {
    test: FIELDS[test] - defaults.keys() for test, defaults in DEFAULTS_OF.items()
}
"""Settings without which there is no cell."""

EXCLUSIVE = tuple((row.field, row.excludes) for row in ROWS.values() if row.excludes)
"""Settings of which a cell has one at most: naming one takes the other back."""

ONLY_OF_TCP, ONLY_OF_UDP = (
    frozenset(row.field for row in ROWS.values() if row.only_of == protocol)
    for protocol in ("TCP", "UDP")
)
