"""``round_trip`` and ``connect`` tests, requests and their answers: their settings and columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Literal

from netlab import ethernet
from netlab.ethernet import Link
from netlab.kinds import groups
from netlab.kinds.groups import SentMessages, SettingFault
from netlab.kinds.stream.settings import Stream
from netlab.messages import _
from netlab.trial.column import Column, setting_columns
from netlab.trial.settings import Ask, Need, NumberWithUnit, Or, Scalar, Whole, of_settings, setting

_BARE_SEGMENT_BYTES = ethernet.packet_wire_bytes(1)
"""Wire bytes of a segment without payload: its headers and options fit into the shortest frame."""

HEADLINE = (
    *("transactions_per_s", "transactions", "lost_messages", "elapsed_ns"),
    *("rtt_count", "rtt_min_ns", "rtt_max_ns", "rtt_mean_ns", "rtt_sum_ns"),
    *("rtt_histogram", "rtt_histogram_bits", "first_rtt_ns"),
)
"""The main values of the asking end; its other values get the prefix ``client_``."""

# A table: each row takes as few lines as possible.
# fmt: off


@of_settings
class Requests(groups.Counted):
    """Settings of tests in which the server answers each request."""

    response_bytes: int | None = setting(
        "response_size", Or("same", groups.SIZE, "16"), default=None, label=_("response"),
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

    # fmt: on
    @property
    def answer_bytes(self) -> int:
        """Bytes of an answer."""
        return self.message_bytes if self.response_bytes is None else self.response_bytes

    def keys(self) -> dict[str, Scalar]:
        """As for all tests, and the bytes of an answer."""
        return {**super().keys(), "response": self.answer_bytes}

    def sent_by(self, end: str) -> SentMessages | None:
        """As for all tests."""
        return SentMessages("TCP", self.answer_bytes if end == "server" else self.message_bytes)

    def there_and_back_s(self, request_s: float, answer_s: float, link: Link) -> float:
        """Time from a request to the next one; each message occupies a cable for so long."""
        return (link.hops + 1) * (request_s + answer_s) + self.mirror_hold_s

    def least_s(self, link: Link | None) -> float | None:
        """As for all tests."""
        if self.count is None or link is None:
            return None
        request_s = groups.on_cable_s(self, self.message_bytes, link, alone=True)
        answer_s = groups.on_cable_s(self, self.answer_bytes, link, alone=True)
        if request_s is None or answer_s is None:
            return None
        return self.warm_up_s + self.count * self.there_and_back_s(request_s, answer_s, link)
    # fmt: off


@of_settings
class RoundTrip(groups.Answered, groups.Talk, Requests):
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
        "mirror", Or("netprobe", groups.WORD), default=None, absent=_("netprobe"),
        about="What answers: the server's probe, or a mirror that the matrix names in `mirrors`.",
        column="what answers: a mirror that the matrix names; NA: netprobe, netlab's own probe")

    # fmt: on
    probe_test = "round_trip"

    def faults(self) -> Iterator[SettingFault]:
        """As for all tests."""
        yield from groups.too_long(self)
        if self.mirror is not None:
            # Settings that only a probe can apply, although another program answers.
            names = [name for name, _level in self.untold()]
            names += ["mirror_hold_s"] if self.mirror_hold_s else []
            answers_alike = self.response_bytes in (None, self.message_bytes)
            for name in (*names, *(() if answers_alike else ("response_bytes",))):
                yield (
                    name,
                    f"the mirror `{self.mirror}` cannot apply this setting, only netprobe can: "
                    "`exclude` that combination",
                )
        if self.protocol != "UDP":
            return
        response_bytes = self.answer_bytes
        if response_bytes > self.message_bytes:
            yield (
                "response_bytes",
                f"the UDP answer ({response_bytes} bytes) is larger than the request "
                f"({self.message_bytes} bytes), and a mirror sends no such answer, so that nobody "
                "can amplify traffic with it: make `message_size` as large, or `exclude` this "
                "value",
            )
        unnumbered = min(self.message_bytes, response_bytes) < groups.SEQUENCE_BYTES
        if self.outstanding > 1 and unnumbered:
            yield (
                "outstanding",
                "with more than one UDP request under way, requests and answers need "
                f"{groups.SEQUENCE_BYTES} bytes or more: the sequence number in them shows to "
                "which request an answer belongs",
            )
        if self.source_port is not None and unnumbered:
            yield (
                "source_port",
                f"the source port of UDP messages under {groups.SEQUENCE_BYTES} bytes changes "
                "after each time-out: make the messages longer, or leave this setting out",
            )
        if not self.udp_checksum and self.ip_version == 6:
            yield (
                "udp_checksum",
                "UDP over IPv6 must have a checksum (RFC 8200): `exclude` that combination",
            )

    def sent_by(self, end: str) -> SentMessages | None:
        """As for all tests."""
        message_bytes = self.answer_bytes if end == "server" else self.message_bytes
        if self.protocol == "UDP":
            return SentMessages("UDP", message_bytes, self.dont_fragment)
        return SentMessages("TCP", self.outstanding * message_bytes)

    def there_and_back_s(self, request_s: float, answer_s: float, link: Link) -> float:
        """As for all requests.

        Requests that are under way at once share the cables. Their rate is limited by the slowest
        of three: the direction there, the direction back, and the mirror (the server's program).
        """
        alone_s = super().there_and_back_s(request_s, answer_s, link)
        return max(alone_s / self.outstanding, request_s, answer_s, self.mirror_hold_s)
    # fmt: off


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

    # fmt: on
    probe_test = "connect"

    def faults(self) -> Iterator[SettingFault]:
        """As for all tests."""
        if self.protocol != "TCP":
            yield "protocol", "UDP has no connections: a `connect` test takes `protocol: TCP`"
        if self.source_port is not None and self.close == "orderly":
            yield (
                "source_port",
                "after an orderly close, a source port cannot connect again for a minute: "
                "leave this setting out, or set `close: reset`",
            )

    def there_and_back_s(self, request_s: float, answer_s: float, link: Link) -> float:
        """As for all requests, and SYN and its answer: the last segment of the handshake travels
        with the request.
        """
        handshake_s = 2 * 8 * _BARE_SEGMENT_BYTES / link.rate_bit_per_s
        return super().there_and_back_s(request_s, answer_s, link) + (link.hops + 1) * handshake_s


PERCENTILES_OF: Mapping[str, str] = {
    "p50": "median",
    "p90": "90th percentile",
    "p99": "99th percentile",
    "p99_9": "99.9th percentile",
    "p99_99": "99.99th percentile",
}
"""Part of a column's name → the percentile in words."""

OF_ROUND_TRIP: Mapping[str, Column] = {
    # What was requested.
    **setting_columns(RoundTrip, but=Stream.names()),
    **setting_columns(Connect, but={*Stream.names(), *RoundTrip.names()}),
    # What was measured.
    "transactions_per_s": Column("Float64", "1/s", "answered requests, by the client's clock"),
    "transactions": Column("Int64", "", "answered requests in the window"),
    "stack_timed": Column("boolean", "", "whether the mirror's system can time its stack"),
    "agentless": Column("boolean", "", "whether the server is a mirror without a probe"),
    "rtt_count": Column("Int64", "", "round trips in the histogram"),
    "rtt_mean_ns": Column("Float64", "ns", "mean round trip, from the exact sum"),
    "rtt_min_ns": Column("Int64", "ns", "shortest round trip"),
    "rtt_max_ns": Column("Int64", "ns", "longest round trip"),
    "rtt_sum_ns": Column("Int64", "ns", "sum of all round trips"),
    **{
        f"rtt_{name}_ns": Column("Int64", "ns", f"{percentile} of the round trips")
        for name, percentile in PERCENTILES_OF.items()
    },
    "rtt_histogram": Column(
        "string", "", "bucket, count, bucket, count, …: see netlab.stats.histogram"
    ),
    "rtt_histogram_bits": Column("Int64", "", "the histogram has 2^bits buckets per doubling"),
    "first_rtt_ns": Column("string", "ns", "the first round trips, as many as keep_first"),
    "client_latency_from": Column(
        "string", "", "start of a round trip: intended (when it was due) or sent (when it was sent)"
    ),
    **{
        f"server_stack_{name}_ns": Column("Int64", "ns", f"{words} in the mirror's stack")
        for name, words in (
            ("mean", "mean time"),
            ("min", "shortest time"),
            ("max", "longest time"),
            *((name, f"{percentile} of the times") for name, percentile in PERCENTILES_OF.items()),
        )
    },
    "server_stack_stamps": Column(
        "string", "", "source of the time stamps: hardware, software, or capture (tcpdump)"
    ),
}

OF_CONNECT: Mapping[str, Column] = {
    **OF_ROUND_TRIP,
    "client_connect_mean_ns": Column("Float64", "ns", "mean duration of the handshake alone"),
    "client_closed_by": Column("string", "", "side that closed the connections"),
}

PERCENTILES: Mapping[str, Fraction] = {
    name: Fraction(name.removeprefix("p").replace("_", ".")) / 100 for name in PERCENTILES_OF
}
"""Part of a percentile's column name → the share of the values up to the percentile."""
