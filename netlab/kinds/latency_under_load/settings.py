"""``latency_under_load`` tests, round trips while streams fill the path: settings, columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Literal

from netlab import ethernet
from netlab.kinds import groups
from netlab.kinds.groups import SentMessages, SettingFault
from netlab.kinds.round_trip.settings import Connect, RoundTrip
from netlab.kinds.stream.settings import Stream
from netlab.messages import _
from netlab.trial.column import Column, Dtype, setting_columns
from netlab.trial.settings import NumberWithUnit, Or, of_settings, setting

OUTSTANDING_MOST = 1024
"""Maximum number of requests under way that a probe can distinguish."""

TAIL_S = 0.5
"""Time for which round trips continue after the part that is evaluated."""

_OF_ALL = ("network", "ip_version", "interface", "dscp")
"""Settings of the load, the requests and the connections."""

# A table: each row takes as few lines as possible.
# fmt: off


@of_settings
class LatencyUnderLoad(groups.Directed, groups.AtRate, groups.MessageTest):
    """A ``latency_under_load``: the effect of streams on round trips.

    ``duration`` and all settings of a stream apply to the load.
    """

    in_files = (
        "protocol direction streams message_bytes duration_s congestion rate_bit_per_s "
        "message_rate_per_s idle_s after_s request_protocol request_bytes request_rate_per_s "
        "request_timeout_s connect_rate_per_s ip_version socket_buffer_bytes nodelay dscp "
        "send_method interface receive receive_from server_cpu client_cpu server_cpus client_cpus "
        "network"
    )

    protocol: Literal["TCP", "UDP"] = "TCP"
    duration_s: float | None = 30.0
    message_bytes: int = 1448
    idle_s: float = setting(
        "idle", NumberWithUnit("seconds", 1, 3600, "5s"), default=5.0, label=_("idle before"),
        about="Time of round trips alone, before the load.",
        column="time of round trips before the load")
    after_s: float = setting(
        "after", NumberWithUnit("seconds", 1, 3600, "5s"), default=5.0, label=_("idle after"),
        about="Time of round trips alone, after the load.",
        column="time of round trips after the load")
    request_protocol: Literal["UDP", "TCP"] = setting(
        "request_protocol", default="UDP", label=_("round trips over"),
        about="Protocol of the round trips.", column="protocol of the round trips: UDP or TCP")
    request_bytes: int = setting("request_size", groups.SIZE, default=64, label=_("request, bytes"),
        about="Bytes of a request and of its answer.",
        column="bytes of a request and of its answer")
    request_rate_per_s: float = setting(
        "request_rate", NumberWithUnit("per_second", 1, 2000, "100/s"), default=100.0,
        label=_("requests per second"), about="Requests per second, none is skipped.",
        column="requests a second")
    request_timeout_s: float = setting(
        "request_timeout", NumberWithUnit("seconds", 0.01, 10, "3s"), default=3.0,
        label=_("time-out of requests"),
        about="Time after which a UDP request is lost: three times the longest delay or more.",
        column="time after which an unanswered UDP request counts as lost")
    connect_rate_per_s: float | None = setting(
        "connect_rate", Or("none", NumberWithUnit("per_second", 0.01, 10, "1/s")), default=1.0,
        label=_("connections per second"), absent=_("none"),
        about="TCP connections per second, one after the other, along with the round trips.",
        column="TCP connections a second; NA: none")

    def load(self) -> Stream:
        """The streams that fill the path."""
        return Stream(**self.passed_on(Stream))

    def round_trips(self) -> RoundTrip:
        """The requests before, during and after the load: as many under way as are sent within one
        time-out, so that no request has to wait for an earlier answer.
        """
        of_a_timeout = math.ceil(self.request_rate_per_s * self.request_timeout_s)
        return RoundTrip(
            **{name: getattr(self, name) for name in _OF_ALL},
            protocol=self.request_protocol,
            message_bytes=self.request_bytes,
            message_rate_per_s=self.request_rate_per_s,
            outstanding=min(OUTSTANDING_MOST, of_a_timeout + 1),
            timeout_s=self.request_timeout_s,
            nodelay=self.request_protocol == "TCP",
            duration_s=self.round_trips_s(),
        )

    def connections(self) -> Connect | None:
        """The connections that are opened before, during and after the load; ``None``: there are
        none.
        """
        if self.connect_rate_per_s is None:
            return None
        return Connect(
            **{name: getattr(self, name) for name in _OF_ALL},
            message_bytes=self.request_bytes,
            message_rate_per_s=self.connect_rate_per_s,
            duration_s=self.round_trips_s(),
        )

    def round_trips_s(self) -> float:
        """Duration of the round trips, with one time-out in which a queue may drain."""
        assert self.duration_s is not None  # noqa: S101  (there is no count here)
        return self.idle_s + self.duration_s + self.request_timeout_s + self.after_s + TAIL_S

    # fmt: on
    probe_test = "stream"

    def demands(self) -> Iterator[tuple[str, str]]:
        """As for all tests."""
        yield from super().demands()
        yield "round_trip", "test"
        yield self.request_protocol.lower(), "request_protocol"
        if self.connect_rate_per_s is not None:
            yield "connect", "connect_rate"
            yield "tcp", "connect_rate"

    def faults(self) -> Iterator[SettingFault]:
        """As for all tests."""
        load = self.load()
        if load.receive == "adaptive":
            load = replace(load, receive="blocking")
            yield (
                "receive",
                "`adaptive` needs a warm-up, and the load has none: "
                "choose `blocking`, `spinning` or `polling`",
            )
        yield from load.faults()
        if self.request_protocol == "UDP" and self.request_bytes < groups.SEQUENCE_BYTES:
            yield (
                "request_bytes",
                f"a UDP request needs {groups.SEQUENCE_BYTES} bytes for its sequence number",
            )
        most = ethernet.MAX_DATAGRAM_BYTES[self.ip_version]
        if self.request_protocol == "UDP" and self.request_bytes > most:
            yield (
                "request_bytes",
                f"a UDP message carries {most} bytes at most over IPv{self.ip_version}: "
                "give fewer bytes, or `request_protocol: TCP`",
            )
        request_count = self.request_rate_per_s * self.request_timeout_s
        if request_count > OUTSTANDING_MOST:
            yield (
                "request_timeout_s",
                f"{request_count:.0f} requests would be under way at once, and at most "
                f"{OUTSTANDING_MOST} can be: set a lower `request_rate`",
            )

    def sent_by(self, end: str) -> SentMessages | None:
        """The messages of the load, without the requests and answers beside them."""
        return self.load().sent_by(end)

    def window_s(self) -> float | None:
        """As for all tests."""
        return self.round_trips_s()


_PHASES: Mapping[str, str] = {
    "idle": "before the load",
    "loaded": "during the load",
    "after": "after the load",
}

_CONNECT = "time from the connect call to the answer to the first request"

_OF_A_PHASE: tuple[tuple[str, Dtype, str, str], ...] = (
    ("rtt_count", "Int64", "", "number of requests"),
    ("lost_messages", "Int64", "", "requests without an answer in time,"),
    ("rtt_p50_ns", "Int64", "ns", "median round trip"),
    ("rtt_p90_ns", "Int64", "ns", "90th percentile of the round trips"),
    ("rtt_p99_ns", "Int64", "ns", "99th percentile of the round trips"),
    ("rtt_max_ns", "Int64", "ns", "longest round trip"),
    ("connections", "Int64", "", "number of attempted connections"),
    ("lost_connections", "Int64", "", "connections without an answer within 5 s,"),
    ("connect_p50_ns", "Int64", "ns", f"median {_CONNECT},"),
    ("connect_max_ns", "Int64", "ns", f"longest {_CONNECT},"),
)

# A table: each row takes as few lines as possible.
# fmt: off
COLUMNS: Mapping[str, Column] = {
    # What was requested.
    **setting_columns(LatencyUnderLoad, but=Stream.names()),
    # What was measured.
    "increase_ns": Column("Int64", "ns",
        "median round trip under load minus the median idle round trip"),
    **{
        f"{phase}_{name}": Column(dtype, unit, f"{words} {phase_words}")
        for phase, phase_words in _PHASES.items()
        for name, dtype, unit, words in _OF_A_PHASE
    },
    "round_trips_per_minute_loaded": Column("Float64", "",
        "60 s divided by the mean of the lowest 95 % of the round trips under load"),
    "responsiveness_per_minute": Column("Float64", "",
        "RPM after draft-ietf-ippm-responsiveness-09, over TCP alone, without TLS and HTTP"),
    "fairness_index": Column("Float64", "",
        "Jain's fairness index of the streams' bytes: 1/n to 1"),
    "idle_open_ns": Column("Int64", "ns",
        "start of the first phase, counted from the first request"),
    "load_open_ns": Column("Int64", "ns", "start of the load"),
    "settled_ns": Column("Int64", "ns", "start of the loaded phase"),
    "load_close_ns": Column("Int64", "ns", "end of the loaded phase and of the load"),
    "drained_ns": Column("Int64", "ns", "start of the last phase, when the queue is empty"),
    "after_close_ns": Column("Int64", "ns", "end of the last phase"),
    "trip_ns": Column("string", "ns", "round trips one by one, in the order of their requests"),
    "lost_trips": Column("string", "", "numbers of the lost requests; the first request is 0"),
    "connection_at_ns": Column("string", "ns", "time at which each connection was attempted"),
    "connection_ns": Column("string", "ns", f"{_CONNECT}, of each connection"),
    "lost_connection_at_ns": Column("string", "ns",
        "time at which each unanswered connection was attempted"),
}
