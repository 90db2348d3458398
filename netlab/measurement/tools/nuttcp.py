"""Measuring with nuttcp: its command lines, and how its output is read. No I/O.

Tried with nuttcp 6.1.2 over IPv4 and IPv6. Its client prints what the receiver counted, in either
direction. Neither end can be bound to an address: the server listens on all addresses. Several
streams use that many ports, beginning with the data port. If the server sends over UDP, the data
port is the client's, and the server sends to this port first; over TCP, the client connects because
of ``-F``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from netlab.experiment.feasibility import SettingFault
from netlab.experiment.kinds import Stream
from netlab.imports.common.tool_result import ToolResult
from netlab.imports.nuttcp import parse_nuttcp
from netlab.measurement.tools.tool import (
    FOR_BOTH,
    ONE_THREAD,
    Setup,
    ToolTrial,
    duration_of,
    fault_of_size,
    flag,
    is_whole,
    only,
    remarks_on_receive_call,
    stream_of,
)
from netlab.remote.protocol import decimal

_OF_STREAMS = FOR_BOTH | {
    *("socket_buffer_bytes", "dscp"),
    *("direction", "streams", "rate_bit_per_s", "message_rate_per_s"),
}

LEAST_S = 0.1
"""Shortest duration: nuttcp prints times in hundredths of a second."""
MOST_STREAMS = 128
UDP_LEAST_BYTES, UDP_MOST_BYTES = 5, 65507
"""nuttcp replaces a shorter or a longer message size by one of these."""
MOST_RATE = 10**9
"""Maximum rate, in kbit/s or in messages a second."""


class NuttcpTool:
    """nuttcp: streams over TCP and UDP, in either direction."""

    name = "nuttcp"
    version_words = ("nuttcp", "-V")
    tried_version = "6.1.2"
    serves_once = True
    follows: Mapping[tuple[str, str], frozenset[str]] = {
        ("stream", "TCP"): _OF_STREAMS | {"nodelay", "tcp_receive_call"},
        ("stream", "UDP"): _OF_STREAMS,
    }

    def limits(self, setup: Setup) -> Iterator[SettingFault]:
        """The settings whose values the tool cannot follow, each with a sentence that says why."""
        stream = stream_of(setup)
        if stream.direction == "both":
            yield "direction", "nuttcp sends in one direction at a time"
        if duration_of(setup) < LEAST_S:
            yield "duration_s", f"nuttcp measures for {LEAST_S:g} s and more"
        if setup.protocol == "UDP":
            yield from fault_of_size(
                setup, self.name, UDP_LEAST_BYTES, UDP_MOST_BYTES, of=" over UDP"
            )
        if stream.streams > MOST_STREAMS:
            yield "streams", f"nuttcp has at most {MOST_STREAMS} streams"
        if setup.socket_buffer_bytes is not None and setup.socket_buffer_bytes % 1024:
            yield "socket_buffer_bytes", "nuttcp takes whole KiB"
        if setup.dscp and setup.ip_version == 6:
            yield "dscp", "nuttcp sets the code point over IPv4 only"
        yield from _faults_of_rate(stream)

    def remarks(self, setup: Setup) -> Iterator[str]:
        """Sentences that state what the tool does differently from the settings."""
        stream = stream_of(setup)
        yield "its server listens on all addresses of the host"
        if stream.streams > 1:
            yield ONE_THREAD
        if setup.protocol == "UDP" and stream.direction == "server-sends":
            yield "the server sends to a port of the client"
        yield from remarks_on_receive_call(stream)

    def server_words(self, trial: ToolTrial) -> tuple[str, ...]:
        """The program and its arguments at the server."""
        return ("nuttcp", "-1", "--nofork", f"-{trial.setup.ip_version}", f"-P{trial.ports[0]}")

    def client_words(self, trial: ToolTrial) -> tuple[str, ...]:
        """The program and its arguments at the client."""
        setup = stream_of(trial.setup)
        is_udp, is_reverse = setup.protocol == "UDP", setup.direction == "server-sends"
        return (
            *("nuttcp", f"-P{trial.ports[0]}", *_joined("-p", trial.ports[1] or None), "-fparse"),
            *(("-r",) if is_reverse else ("-t",)),
            *flag("-F", when=is_reverse and not is_udp),
            *flag("-u", when=is_udp),
            *_rate(setup),
            *(f"-l{setup.message_bytes}", f"-T{decimal(duration_of(setup))}"),
            *_joined("-N", setup.streams if setup.streams > 1 else None),
            *_buffers(setup.socket_buffer_bytes),
            *_joined("-c", setup.dscp),
            *flag("-D", when=setup.nodelay),
            trial.server_address,
        )

    def result(self, trial: ToolTrial, *, server: str, client: str) -> ToolResult:
        """The receiver's figures, which the client prints.

        Raises MatrixError if the client's output is not that of nuttcp.
        """
        return only(parse_nuttcp(client, "client"), "client")


def _joined(word: str, level: object) -> tuple[str, ...]:
    """An option whose value follows without a space."""
    return () if level is None else (f"{word}{level}",)


def _buffers(size_bytes: int | None) -> tuple[str, ...]:
    """Options for both buffers of both ends; without ``-wb``, two buffers would not be set."""
    return () if size_bytes is None else (f"-w{size_bytes // 1024}", "-wb")


def _rate(setup: Stream) -> tuple[str, ...]:
    """The rate of all streams together. Without a rate, nuttcp would send 1 Mbit/s over UDP."""
    if setup.rate_bit_per_s is not None:
        return (f"-R{round(setup.rate_bit_per_s / 1000)}",)
    if setup.message_rate_per_s is not None:
        return (f"-R{round(setup.message_rate_per_s)}p",)
    return ("-Ru",) if setup.protocol == "UDP" else ()


def _faults_of_rate(setup: Stream) -> Iterator[SettingFault]:
    """Faults of a rate that nuttcp would cut to a whole number. For nuttcp, the rate 0 means no
    limit.
    """
    rate, message_rate = setup.rate_bit_per_s, setup.message_rate_per_s
    if rate is not None and not (is_whole(rate / 1000) and 1000 <= rate <= 1000 * MOST_RATE):
        yield "rate_bit_per_s", f"nuttcp takes whole kbit/s, up to {MOST_RATE}"
    if message_rate is not None and not (is_whole(message_rate) and 1 <= message_rate <= MOST_RATE):
        yield "message_rate_per_s", f"nuttcp takes whole messages a second, up to {MOST_RATE}"


NUTTCP = NuttcpTool()
