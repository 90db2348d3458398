"""The settings of ``round_trip`` and ``connect`` tests: requests and their answers."""

from __future__ import annotations

from typing import Literal

from netlab.kinds.groups import SIZE, WORD, Answered, Counted, Talk
from netlab.messages import _
from netlab.trial.settings import Ask, Need, NumberWithUnit, Or, Whole, of_settings, setting

# A table: each row takes as few lines as possible.
# fmt: off


@of_settings
class Requests(Counted):
    """Settings of tests in which the server answers each request."""

    response_bytes: int | None = setting(
        "response_size", Or("same", SIZE, "16"), default=None, label=_("response"),
        absent=_("as the request"), about="Bytes of an answer; same: as many as the request has.",
        column="bytes of an answer; NA: as many as the request has")
    server_receive: Literal["blocking", "spinning"] = setting(
        "server_receive", default="blocking", label=_("server’s receive call"),
        asks=(Ask("spin", "mirror", when="spinning"),), about="How the server waits for a request.",
        column="how the server waits for a request: blocking or spinning")
    client_receive: Literal["blocking", "spinning"] = setting(
        "client_receive", default="blocking", label=_("client’s receive call"),
        asks=(Ask("spin", "ask", when="spinning"),), about="How the client waits for an answer.",
        column="how the client waits for an answer: blocking or spinning")
    mirror_hold_s: float = setting(
        "mirror_hold", NumberWithUnit("seconds", 0, 0.1, "100us"), default=0.0,
        label=_("mirror delay"), asks=(Ask("hold", "mirror", unless=0.0),),
        about="Time that the server waits before it answers.",
        column="time that the mirror waits between receiving and answering")
    keep_first: int = setting(
        "keep_first", Whole(0, 1000), default=0, label=_("first round trips recorded"),
        asks=(Ask("keep", "ask", unless=0),), about="First round trips recorded one by one.",
        column="number of first round trips to record one by one")


@of_settings
class RoundTrip(Answered, Talk, Requests):
    """A ``round_trip``: the client sends requests, the server's mirror answers."""

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
        about="False: UDP over IPv4 without its checksum.", column="whether UDP has a checksum")
    stack_time: bool = setting(
        "stack_time", default=False, only_of="UDP", label=_("time in the server’s stack"),
        asks=(Ask("stamps", "mirror", when=True),),
        need=Need("stamps", of="server", at=True, vital=False),
        about="UDP only: measure the time in the server's stack by time stamps.",
        column="whether the time in the server's stack was requested")
    mirror: str | None = setting(
        "mirror", Or("netprobe", WORD), default=None, absent=_("netprobe"),
        about="What answers: the server's probe, or a mirror that the matrix names in `mirrors`.",
        column="what answers: a mirror that the matrix names; NA: netprobe, netlab's own probe")


@of_settings
class Connect(Requests):
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
        column="how the client ends a connection: reset or orderly")
