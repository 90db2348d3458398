"""Measuring with sockperf: its command lines, and how its output is read. No I/O.

Tried with sockperf 3.7, over IPv4: this version refuses IPv6 addresses, later versions accept them.
Its mode ping-pong measures round trips. Its mode throughput counts at the sender alone, so netlab
does not use it for the test ``stream``. A test takes about two seconds longer than its duration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from netlab.experiment.feasibility import SettingFault
from netlab.experiment.records import Value
from netlab.imports.common.tool_result import ToolResult
from netlab.imports.sockperf import parse_sockperf
from netlab.measurement.tools.tool import (
    FOR_BOTH,
    WAITS_FOR_THE_LOST,
    Setup,
    ToolTrial,
    duration_of,
    fault_of_size,
    faults_of_seconds,
    flag,
    is_whole,
    only,
    option,
    round_trip_of,
    traffic_class,
)
from netlab.remote.protocol import decimal

_OF_ROUND_TRIPS = FOR_BOTH | {
    *("warm_up_s", "socket_buffer_bytes", "dscp", "source_port", "message_rate_per_s"),
    *("client_cpu", "server_cpu"),
}

MOST_S = 36_000_000
WARM_UP_S = 0.4
LEFT_OUT_AT_THE_END_S = 0.05
LEAST_BYTES = 14
"""The length of sockperf's own header."""
MOST_BYTES = {"TCP": 2**20 - 1, "UDP": 65507}
MOST_RATE_PER_S = 2**30


class SockperfTool:
    """sockperf: round trips over TCP and UDP."""

    name = "sockperf"
    version_words = ("sockperf", "--version")
    tried_version = "3.7"
    serves_once = False
    follows: Mapping[tuple[str, str], frozenset[str]] = {
        ("round_trip", "TCP"): _OF_ROUND_TRIPS | {"nodelay"},
        ("round_trip", "UDP"): _OF_ROUND_TRIPS,
    }

    def limits(self, setup: Setup) -> Iterator[SettingFault]:
        """The settings whose values the tool cannot follow, each with a sentence that says why."""
        if setup.ip_version == 6:
            yield "ip_version", "sockperf 3.7 has no IPv6"
        yield from faults_of_seconds(setup, self.name, MOST_S)
        if setup.warm_up_s > WARM_UP_S:
            yield "warm_up_s", f"sockperf's warm-up is always {WARM_UP_S:g} s"
        yield from fault_of_size(
            setup, self.name, LEAST_BYTES, MOST_BYTES[setup.protocol], of=f" over {setup.protocol}"
        )
        rate = setup.message_rate_per_s
        if rate is not None and not (is_whole(rate) and 1 <= rate <= MOST_RATE_PER_S):
            yield "message_rate_per_s", f"sockperf takes whole requests a second, {2**30} at most"

    def remarks(self, setup: Setup) -> Iterator[str]:
        """Sentences that state what the tool does differently from the settings."""
        yield (
            f"leaves out the first {WARM_UP_S:g} s and the last {LEFT_OUT_AT_THE_END_S:g} s of the "
            "duration"
        )
        if setup.message_rate_per_s is not None:
            yield "a round trip begins when its request is sent, not when it was due"
        if setup.protocol == "UDP":
            yield WAITS_FOR_THE_LOST

    def server_words(self, trial: ToolTrial) -> tuple[str, ...]:
        """The program and its arguments at the server."""
        return (
            *("sockperf", "server", *_common(trial)),
            *option("--cpu-affinity", trial.setup.server_cpu),
        )

    def client_words(self, trial: ToolTrial) -> tuple[str, ...]:
        """The program and its arguments at the client."""
        setup = round_trip_of(trial.setup)
        rate = setup.message_rate_per_s
        return (
            *("sockperf", "ping-pong", *_common(trial)),
            *("--client_ip", trial.client_address, "-t", decimal(duration_of(setup))),
            "--full-rtt",  # otherwise sockperf prints half of each round-trip time
            *option("--mps", None if rate is None else round(rate)),
            *option("--client_port", setup.source_port),
            *option("--sender-affinity", setup.client_cpu),
        )

    def result(self, trial: ToolTrial, *, server: str, client: str) -> ToolResult:
        """The client's result, with the rate of its transactions.

        Raises MatrixError if the client's output is not that of sockperf.
        """
        result = only(parse_sockperf(client, "client"), "client")
        # A remark states sockperf's warm-up, whatever the setting is.
        settings = {name: v for name, v in result.settings.items() if name != "warm_up_s"}
        return replace(result, settings=settings, values=_with_rate(result.values))


def _common(trial: ToolTrial) -> tuple[str, ...]:
    """Options of both ends. Without ``-m``, a server takes messages of at most 65507 bytes."""
    setup = round_trip_of(trial.setup)
    is_tcp = setup.protocol == "TCP"
    return (
        *("-i", trial.server_address, "-p", str(trial.ports[0])),
        *flag("--tcp", when=is_tcp),
        # sockperf sets TCP_NODELAY unless an option forbids it.
        *flag("--tcp-avoid-nodelay", when=is_tcp and not setup.nodelay),
        *("-m", str(setup.message_bytes)),
        *option("--buffer-size", setup.socket_buffer_bytes),
        *option("--tos", traffic_class(setup.dscp)),
    )


def _with_rate(values: Mapping[str, Value]) -> Mapping[str, Value]:
    """The values and the transactions per second: sockperf prints their number and their time."""
    count, elapsed_ns = values.get("transactions"), values.get("elapsed_ns")
    if not isinstance(count, int) or not isinstance(elapsed_ns, int) or not elapsed_ns:
        return values
    return {"transactions_per_s": count / (elapsed_ns / 1e9), **values}


SOCKPERF = SockperfTool()
