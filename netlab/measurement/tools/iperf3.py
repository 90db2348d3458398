"""Measuring with iperf3: its command lines, and how its output is read. No I/O.

Tried with iperf 3.12 over IPv4 and IPv6. Throughput is what the receiver counted: the server's
figure, which the client gets over the control connection, or the client's own with ``-R``. If
the server received, the values in its own output are used, because a client's counts of UDP
messages are wrong with ``-O``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from netlab.errors import MatrixError
from netlab.experiment.feasibility import SettingFault
from netlab.imports.common.tool_result import ToolResult
from netlab.imports.iperf3 import NO_RATE, parse_iperf3
from netlab.measurement.tools.tool import (
    FOR_BOTH,
    Setup,
    ToolTrial,
    duration_of,
    fault_of_size,
    faults_of_rate,
    faults_of_seconds,
    flag,
    is_whole,
    only,
    option,
    rate_of_each,
    remarks_on_receive_call,
    stream_of,
)
from netlab.remote.protocol import decimal

_OF_STREAMS = FOR_BOTH | {
    *("warm_up_s", "socket_buffer_bytes", "dscp", "interface", "source_port"),
    *("direction", "streams", "rate_bit_per_s", "message_rate_per_s", "client_cpu", "server_cpu"),
}
_DIRECTIONS = {"client-sends": (), "server-sends": ("-R",), "both": ("--bidir",)}

LAST_CPU = 1024
MOST_STREAMS = 128
MOST_WARM_UP_S = 60
MOST_BUFFER_BYTES = 512 * 2**20
TCP_MOST_BYTES = 2**20
UDP_LEAST_BYTES, UDP_MOST_BYTES = 16, 65507


class Iperf3Tool:
    """iperf3: streams over TCP and UDP, in either direction and in both at once."""

    name = "iperf3"
    version_words = ("iperf3", "--version")
    tried_version = "3.12"
    serves_once = True
    follows: Mapping[tuple[str, str], frozenset[str]] = {
        ("stream", "TCP"): _OF_STREAMS | {"congestion", "nodelay", "tcp_receive_call"},
        ("stream", "UDP"): _OF_STREAMS | {"dont_fragment"},
    }

    def limits(self, setup: Setup) -> Iterator[SettingFault]:
        """The settings whose values the tool cannot follow, each with a sentence that says why."""
        stream = stream_of(setup)
        yield from faults_of_seconds(setup, self.name)
        if not (is_whole(setup.warm_up_s) and setup.warm_up_s <= MOST_WARM_UP_S):
            yield "warm_up_s", f"iperf3 omits whole seconds, {MOST_WARM_UP_S} at most"
        if setup.protocol == "UDP":
            yield from fault_of_size(
                setup, self.name, UDP_LEAST_BYTES, UDP_MOST_BYTES, of=" over UDP"
            )
        else:
            yield from fault_of_size(setup, self.name, most=TCP_MOST_BYTES)
        if stream.streams > MOST_STREAMS:
            yield "streams", f"iperf3 has at most {MOST_STREAMS} streams"
        if (setup.socket_buffer_bytes or 0) > MOST_BUFFER_BYTES:
            yield "socket_buffer_bytes", f"iperf3 takes at most {MOST_BUFFER_BYTES} bytes"
        for name, cpu in (("client_cpu", setup.client_cpu), ("server_cpu", setup.server_cpu)):
            if (cpu or 0) > LAST_CPU:
                yield name, f"iperf3 knows the CPUs 0 to {LAST_CPU}"
        if setup.dont_fragment and setup.ip_version == 6:
            yield "dont_fragment", "iperf3 sets it over IPv4 only"
        yield from faults_of_rate(stream, self.name)

    def remarks(self, setup: Setup) -> Iterator[str]:
        """Sentences that state what the tool does differently from the settings."""
        stream = stream_of(setup)
        if rate_of_each(stream) is not None:
            yield "sends what is due once a millisecond"
        if stream.streams > 1:
            yield "before iperf 3.16, its streams share one thread at each end"
        yield from remarks_on_receive_call(stream)

    def server_words(self, trial: ToolTrial) -> tuple[str, ...]:
        """The program and its arguments at the server."""
        return (
            *("iperf3", "-s", "-1", "-J", "-B", trial.server_address, "-p", str(trial.ports[0])),
            *option("-A", trial.setup.server_cpu),
        )

    def client_words(self, trial: ToolTrial) -> tuple[str, ...]:
        """The program and its arguments at the client."""
        setup = stream_of(trial.setup)
        is_udp = setup.protocol == "UDP"
        # Without -b, iperf3 would send 1 Mbit/s over UDP; the rate 0 means as fast as possible.
        rate = rate_of_each(setup)
        return (
            *("iperf3", "-c", trial.server_address, "-p", str(trial.ports[0])),
            *("-B", trial.client_address, "-J"),
            *("-l", str(setup.message_bytes), "-t", decimal(duration_of(setup))),
            *flag("-u", when=is_udp),
            *option("-b", 0 if is_udp and rate is None else rate),
            *option("-O", decimal(setup.warm_up_s) if setup.warm_up_s else None),
            *option("-P", setup.streams if setup.streams > 1 else None),
            *_DIRECTIONS[setup.direction],
            *option("-w", setup.socket_buffer_bytes),
            *option("-C", setup.congestion),
            *flag("-N", when=setup.nodelay),
            *flag("--dont-fragment", when=setup.dont_fragment),
            *option("--dscp", setup.dscp),
            *option("--cport", setup.source_port),
            *option("--bind-dev", setup.interface),
            *option("-A", setup.client_cpu),
        )

    def result(self, trial: ToolTrial, *, server: str, client: str) -> ToolResult:
        """The client's result; if the server received, with the values that the server counted.

        Raises MatrixError if the client's output is not that of iperf3.
        """
        result = only(parse_iperf3(client, "client"), "client")
        # The printed rate only repeats -b, which is the rate of each stream, not of all together.
        settings = {name: v for name, v in result.settings.items() if name != "rate_bit_per_s"}
        result = replace(result, settings=settings)
        is_failed = result.reason is not None and result.detail != NO_RATE
        if is_failed or stream_of(trial.setup).direction == "server-sends":
            return result
        try:
            counted = only(parse_iperf3(server, "server"), "server")
        except MatrixError:
            return result  # the client's output has the receiver's rate too
        if counted.reason is not None or counted.identity != result.identity:
            return result
        unread = tuple(dict.fromkeys((*result.unread, *counted.unread)))
        return replace(
            result,
            values={**result.values, **counted.values},
            reason=None,
            detail=None,
            unread=unread,
        )


IPERF3 = Iperf3Tool()
