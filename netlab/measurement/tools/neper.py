"""Measuring with neper: its programs tcp_stream, udp_stream, tcp_rr and udp_rr. No I/O.

No operating system has a package of neper. netlab was tried over IPv4 and IPv6 with the main branch
of 2026 (version 1.1.0), built from https://github.com/google/neper; ``--no-delay`` and
``--no-cork`` are from September 2025, ``--congestion-control`` from October 2025. Throughput is
what the receiving end counted: the two ends exchange their rates. Both ends need the options for
the direction: ``-M``, or ``-r`` and ``-w``.

The number of transactions that neper prints is left out: neper counts them up to its last sample,
which is taken before the end of the test, by up to a fifth of the duration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from netlab.errors import MatrixError
from netlab.experiment.feasibility import SettingFault
from netlab.experiment.kinds import RoundTrip, Stream
from netlab.experiment.records import Value
from netlab.imports.common.tool_result import ToolResult
from netlab.imports.neper import parse_neper
from netlab.measurement.tools.tool import (
    FOR_BOTH,
    ONE_THREAD,
    WAITS_FOR_THE_LOST,
    Setup,
    ToolTrial,
    duration_of,
    faults_of_seconds,
    flag,
    only,
    option,
    remarks_on_receive_call,
)
from netlab.remote.protocol import decimal

_OF_BOTH_TESTS = FOR_BOTH | {"source_port"}
_PROGRAMS = {
    ("stream", "TCP"): "tcp_stream",
    ("stream", "UDP"): "udp_stream",
    ("round_trip", "TCP"): "tcp_rr",
    ("round_trip", "UDP"): "udp_rr",
}
_DIRECTIONS = {"client-sends": (), "server-sends": ("-M",), "both": ("-r", "-w")}
PERCENTILES = "50,90,99,99.9,99.99"


class NeperTool:
    """neper: streams and round trips over TCP and UDP."""

    name = "neper"
    version_words = ("tcp_rr", "--logtostderr", "--version")
    tried_version = "1.1.0"
    serves_once = True
    follows: Mapping[tuple[str, str], frozenset[str]] = {
        ("stream", "TCP"): _OF_BOTH_TESTS
        | {"direction", "streams", "congestion", "nodelay", "tcp_receive_call"},
        ("stream", "UDP"): _OF_BOTH_TESTS | {"streams"},
        ("round_trip", "TCP"): _OF_BOTH_TESTS | {"response_bytes", "congestion", "nodelay"},
        ("round_trip", "UDP"): _OF_BOTH_TESTS | {"response_bytes"},
    }

    def limits(self, setup: Setup) -> Iterator[SettingFault]:
        """The settings whose values the tool cannot follow, each with a sentence that says why."""
        yield from faults_of_seconds(setup, self.name)

    def remarks(self, setup: Setup) -> Iterator[str]:
        """Sentences that state what the tool does differently from the settings."""
        yield "its rate is the slope of a line through about ten samples"
        if isinstance(setup, Stream):
            yield from _remarks_of_stream(setup)
        elif setup.protocol == "UDP":
            yield WAITS_FOR_THE_LOST

    def server_words(self, trial: ToolTrial) -> tuple[str, ...]:
        """The program and its arguments at the server."""
        return _common(trial)

    def client_words(self, trial: ToolTrial) -> tuple[str, ...]:
        """The program and its arguments at the client."""
        setup = trial.setup
        return (
            *_common(trial),
            "-c",
            # neper binds to an address or to a port, not to both.
            *option("-L", trial.client_address if setup.source_port is None else None),
            *option("--source-port", setup.source_port),
            *option("-p", PERCENTILES if isinstance(setup, RoundTrip) else None),
        )

    def result(self, trial: ToolTrial, *, server: str, client: str) -> ToolResult:
        """The client's result; if the server received, with the time that the server printed.

        Raises MatrixError if the client's output is not that of neper.
        """
        result = only(parse_neper(client, "client"), "client")
        values = {name: v for name, v in result.values.items() if name != "transactions"}
        if result.reason is None:
            values |= _received(trial.setup, server)
        # netlab itself set this option, so the record need not mention it.
        unread = tuple(sentence for sentence in result.unread if "`no_cork`" not in sentence)
        return replace(result, values=values, unread=unread)


def _remarks_of_stream(setup: Stream) -> Iterator[str]:
    if setup.streams > 1:
        yield ONE_THREAD
    if setup.protocol == "TCP" and not setup.nodelay:
        yield "sends with MSG_MORE, so that TCP fills its segments"
    yield from remarks_on_receive_call(setup)


def _common(trial: ToolTrial) -> tuple[str, ...]:
    """Options of both ends. ``-H`` is the server's address; the server binds to it too."""
    setup = trial.setup
    is_tcp = setup.protocol == "TCP"
    return (
        # Otherwise neper writes a log file into the current folder, and fails if it cannot.
        *(_PROGRAMS[trial.test, setup.protocol], "--logtostderr", f"-{setup.ip_version}"),
        *("-H", trial.server_address),
        *("-C", str(trial.ports[0]), "-P", str(trial.ports[1]), "-l", decimal(duration_of(setup))),
        *(_stream(setup) if isinstance(setup, Stream) else _round_trip(setup)),
        *flag("--no-delay", when=setup.nodelay),
        *option("--congestion-control", setup.congestion if is_tcp else None),
    )


def _stream(setup: Stream) -> tuple[str, ...]:
    return (
        *("-B", str(setup.message_bytes)),
        *option("-F", setup.streams if setup.streams > 1 else None),
        *_DIRECTIONS[setup.direction],
        # With MSG_MORE, small messages would wait for further data in spite of TCP_NODELAY.
        *flag("--no-cork", when=setup.nodelay),
    )


def _round_trip(setup: RoundTrip) -> tuple[str, ...]:
    answer = setup.message_bytes if setup.response_bytes is None else setup.response_bytes
    return ("-Q", str(setup.message_bytes), "-R", str(answer))


def _received(setup: Setup, server: str) -> dict[str, Value]:
    """The time over which the server received, which only the server prints.

    Empty if the server did not receive, or printed no time.
    """
    if not isinstance(setup, Stream):
        return {}
    try:
        result = only(parse_neper(server, "server"), "server")
    except MatrixError:
        return {}
    name = "to_server_elapsed_ns" if setup.direction == "both" else "elapsed_ns"
    is_receiver = setup.direction != "server-sends" and name in result.values
    return {name: result.values[name]} if is_receiver else {}


NEPER = NeperTool()
