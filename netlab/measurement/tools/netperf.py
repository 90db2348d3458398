"""Measuring with netperf: its command lines, and how its output is read. No I/O.

Tried with netperf 2.7.0 over IPv4 and IPv6. netlab uses netperf's test ``omni``, which prints the
figures whose keys are requested. ``THROUGHPUT`` is what the receiver counted. The data connection
is bound to the same addresses as the control connection by ``-H`` and ``-L`` behind ``--``. Without
``-R 1`` behind ``--``, netperf sends no UDP stream through a router.

The receive timeout of UDP_RR (``-e``) is not used: after a timeout, netperf takes a late answer for
the answer to the next request, and all further latencies are wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from netlab.experiment.feasibility import SettingFault
from netlab.experiment.kinds import RoundTrip, Stream
from netlab.imports.common.tool_result import ToolResult
from netlab.imports.netperf import parse_netperf
from netlab.measurement.tools.tool import (
    FOR_BOTH,
    WAITS_FOR_THE_LOST,
    Setup,
    ToolTrial,
    duration_of,
    faults_of_seconds,
    flag,
    only,
    option,
    traffic_class,
)
from netlab.remote.protocol import decimal

_OF_BOTH_TESTS = FOR_BOTH | {
    *("socket_buffer_bytes", "dscp", "source_port", "client_cpu", "server_cpu"),
}
_OF_ROUND_TRIPS = _OF_BOTH_TESTS | {"response_bytes", "outstanding"}

_KEYS = (
    *("PROTOCOL", "DIRECTION", "THROUGHPUT", "THROUGHPUT_UNITS", "ELAPSED_TIME", "TRANSPORT_MSS"),
    *("LSS_SIZE_REQ", "LSR_SIZE_REQ", "RSS_SIZE_REQ", "RSR_SIZE_REQ"),
    *("LOCAL_NODELAY", "REMOTE_NODELAY", "LOCAL_SOCKET_TOS", "REMOTE_SOCKET_TOS"),
    *("SOURCE_ADDR", "DEST_ADDR"),
)
STREAM_KEYS = (
    *_KEYS,
    *("LOCAL_SEND_SIZE", "LOCAL_SEND_CALLS", "LOCAL_RECV_CALLS", "LOCAL_CONG_CONTROL"),
    *("REMOTE_SEND_SIZE", "REMOTE_SEND_CALLS", "REMOTE_RECV_CALLS", "REMOTE_CONG_CONTROL"),
    *("LOCAL_SEND_THROUGHPUT", "REMOTE_SEND_THROUGHPUT"),
)
"""The keys of a stream. If they included latencies, netperf would time every send call."""
ROUND_TRIP_KEYS = (
    *_KEYS,
    *("REQUEST_SIZE", "RESPONSE_SIZE", "BURST_SIZE"),
    *("MIN_LATENCY", "P50_LATENCY", "P90_LATENCY", "P99_LATENCY", "MAX_LATENCY", "MEAN_LATENCY"),
)


class NetperfTool:
    """netperf: streams in either direction, and round trips, over TCP and UDP."""

    name = "netperf"
    version_words = ("netperf", "-V")
    tried_version = "2.7.0"
    serves_once = False
    follows: Mapping[tuple[str, str], frozenset[str]] = {
        ("stream", "TCP"): _OF_BOTH_TESTS
        | {"direction", "congestion", "nodelay", "tcp_receive_call"},
        ("stream", "UDP"): _OF_BOTH_TESTS | {"direction"},
        ("round_trip", "TCP"): _OF_ROUND_TRIPS | {"congestion", "nodelay"},
        ("round_trip", "UDP"): _OF_ROUND_TRIPS,
    }

    def limits(self, setup: Setup) -> Iterator[SettingFault]:
        """The settings whose values the tool cannot follow, each with a sentence that says why."""
        yield from faults_of_seconds(setup, self.name)
        if isinstance(setup, Stream) and setup.direction == "both":
            yield "direction", "netperf sends in one direction at a time"

    def remarks(self, setup: Setup) -> Iterator[str]:
        """Sentences that state what the tool does differently from the settings."""
        if setup.protocol != "UDP":
            return
        if isinstance(setup, RoundTrip):
            yield WAITS_FOR_THE_LOST
        elif setup.direction == "client-sends":
            yield (
                "divides what was received by the sender's time, so what then still waited in its "
                "socket buffer is counted too"
            )

    def server_words(self, trial: ToolTrial) -> tuple[str, ...]:
        """The program and its arguments at the server."""
        # -D: it stays in the foreground; -f: it starts no further process for a test.
        return ("netserver", "-D", "-f", "-L", _at(trial, "server"), "-p", str(trial.ports[0]))

    def client_words(self, trial: ToolTrial) -> tuple[str, ...]:
        """The program and its arguments at the client."""
        setup = trial.setup
        server, client = _at(trial, "server"), _at(trial, "client")
        is_stream = isinstance(setup, Stream)
        buffers = setup.socket_buffer_bytes
        sizes = None if buffers is None else f"{buffers},{buffers}"
        return (
            *("netperf", "-H", server, "-L", client, "-p", str(trial.ports[0])),
            # Of the units that netperf can print a rate in, kbit/s gives the most digits.
            *("-t", "omni", *flag("-fk", when=is_stream), "-l", decimal(duration_of(setup))),
            *_cpus(setup),
            *option("-Y", _of_both(traffic_class(setup.dscp))),
            *("--", "-H", server, "-L", client, "-T", setup.protocol),
            *(_stream(setup) if isinstance(setup, Stream) else _round_trip(setup)),
            *option("-s", sizes),
            *option("-S", sizes),
            *option("-K", setup.congestion),
            *flag("-D", when=setup.nodelay),
            *("-P", f"{setup.source_port or ''},{trial.ports[1]}"),
            *("-k", ",".join(STREAM_KEYS if is_stream else ROUND_TRIP_KEYS)),
        )

    def result(self, trial: ToolTrial, *, server: str, client: str) -> ToolResult:
        """The figures of both ends, which the client prints.

        Raises MatrixError if the client's output is not that of netperf.
        """
        return only(parse_netperf(client, "client"), "client")


def _at(trial: ToolTrial, end: str) -> str:
    """The address of an end with its family: otherwise netperf may choose the other family."""
    address = trial.server_address if end == "server" else trial.client_address
    return f"{address},{trial.setup.ip_version}"


def _of_both(level: int | None) -> str | None:
    return None if level is None else f"{level:#x},{level:#x}"


def _cpus(setup: Setup) -> tuple[str, ...]:
    """The option for the CPUs of client and server. An end without a CPU is left empty: ``,3``."""
    ends = [setup.client_cpu, setup.server_cpu]
    if ends == [None, None]:
        return ()
    return ("-T", ",".join("" if cpu is None else str(cpu) for cpu in ends))


def _stream(setup: Stream) -> tuple[str, ...]:
    """Options: which end sends, the bytes of a send call and, if set, of a receive call."""
    is_reverse = setup.direction == "server-sends"
    # The size before the comma is for data to the server, the size behind it for data to the
    # client.
    size = f",{setup.message_bytes}" if is_reverse else f"{setup.message_bytes},"
    return (
        *("-d", "recv" if is_reverse else "send", "-m", size),
        *option("-M", None if setup.tcp_receive_call is None else size),
        *option("-R", 1 if setup.protocol == "UDP" else None),
    )


def _round_trip(setup: RoundTrip) -> tuple[str, ...]:
    answer = setup.message_bytes if setup.response_bytes is None else setup.response_bytes
    return (
        *("-d", "rr", "-r", f"{setup.message_bytes},{answer}"),
        # -b is the number of requests that are under way in addition to the first.
        *option("-b", setup.outstanding - 1 if setup.outstanding > 1 else None),
    )


NETPERF = NetperfTool()
