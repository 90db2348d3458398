"""The tools that netlab can measure with: what each can follow, its command lines, its results.

A tool is tried with one version; its settings, limits and options are those of this version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from netlab.errors import MatrixError
from netlab.imports.common.tool_results import PERCENTILES, ToolResult
from netlab.imports.neper import parse_neper
from netlab.imports.netperf import parse_netperf
from netlab.imports.nuttcp import parse_nuttcp
from netlab.imports.sockperf import parse_sockperf
from netlab.kinds import RoundTrip, Stream
from netlab.kinds.groups import SettingFault
from netlab.measurement.iperf_tools import IPERF2, IPERF3
from netlab.measurement.tool import (
    MOST_STREAMS,
    OF_ALL,
    OF_RATED_STREAMS,
    ONE_THREAD,
    UDP_MOST_BYTES,
    WAITS_FOR_THE_LOST,
    Tool,
    ToolSetup,
    ToolTrial,
    answer_bytes_of,
    duration_of,
    faults_of_seconds,
    faults_of_size,
    flag,
    is_whole,
    last_result,
    option,
    printed_by_client,
    remarks_on_receive_call,
    several_streams,
    stream_of,
    traffic_class,
    without,
)
from netlab.remote.answers import decimal

# ---- netperf ----

_NETPERF_KEYS = (
    *("PROTOCOL", "DIRECTION", "THROUGHPUT", "THROUGHPUT_UNITS", "ELAPSED_TIME", "TRANSPORT_MSS"),
    *("LSS_SIZE_REQ", "LSR_SIZE_REQ", "RSS_SIZE_REQ", "RSR_SIZE_REQ"),
    *("LOCAL_NODELAY", "REMOTE_NODELAY", "LOCAL_SOCKET_TOS", "REMOTE_SOCKET_TOS"),
    *("SOURCE_ADDR", "DEST_ADDR"),
)
STREAM_KEYS = (
    *_NETPERF_KEYS,
    *("LOCAL_SEND_SIZE", "LOCAL_SEND_CALLS", "LOCAL_RECV_CALLS", "LOCAL_CONG_CONTROL"),
    *("REMOTE_SEND_SIZE", "REMOTE_SEND_CALLS", "REMOTE_RECV_CALLS", "REMOTE_CONG_CONTROL"),
    *("LOCAL_SEND_THROUGHPUT", "REMOTE_SEND_THROUGHPUT"),
)
"""The keys of a stream. If they included latencies, netperf would time every send call."""
ROUND_TRIP_KEYS = (
    *_NETPERF_KEYS,
    *("REQUEST_SIZE", "RESPONSE_SIZE", "BURST_SIZE"),
    *("MIN_LATENCY", "P50_LATENCY", "P90_LATENCY", "P99_LATENCY", "MAX_LATENCY", "MEAN_LATENCY"),
)


def _netperf_limits(setup: ToolSetup) -> Iterator[SettingFault]:
    yield from faults_of_seconds(setup, "netperf")
    if isinstance(setup, Stream) and setup.direction == "both":
        yield "direction", "netperf sends in one direction at a time"


def _netperf_remarks(setup: ToolSetup) -> Iterator[str]:
    if setup.protocol != "UDP":
        return
    if isinstance(setup, RoundTrip):
        yield WAITS_FOR_THE_LOST
    elif setup.direction == "client-sends":
        yield (
            "divides what was received by the sender's time, so what then still waited in its "
            "socket buffer is counted too"
        )


def _netperf_server(trial: ToolTrial) -> tuple[str, ...]:
    # -D: it stays in the foreground; -f: it starts no further process for a test. The family behind
    # an address keeps netperf from choosing the other family.
    server = f"{trial.server_address},{trial.setup.ip_version}"
    return ("netserver", "-D", "-f", "-L", server, "-p", str(trial.ports[0]))


def _netperf_client(trial: ToolTrial) -> tuple[str, ...]:
    setup = trial.setup
    is_stream = isinstance(setup, Stream)
    ends = [f"{at},{setup.ip_version}" for at in (trial.server_address, trial.client_address)]
    addresses = ("-H", ends[0], "-L", ends[1])
    # An end without a CPU is left empty: ``,3``.
    cpus = ["" if cpu is None else str(cpu) for cpu in (setup.client_cpu, setup.server_cpu)]
    mark, buffers = traffic_class(setup), setup.socket_buffer_bytes
    sizes = None if buffers is None else f"{buffers},{buffers}"
    return (
        *("netperf", *addresses, "-p", str(trial.ports[0])),
        # Of the units that netperf can print a rate in, kbit/s gives the most digits.
        *("-t", "omni", *flag("-fk", when=is_stream), "-l", decimal(duration_of(setup))),
        *option("-T", ",".join(cpus) if any(cpus) else None),
        *option("-Y", None if mark is None else f"{mark:#x},{mark:#x}"),
        # Behind --, -H and -L bind the data connection to the addresses of the control connection.
        *("--", *addresses, "-T", setup.protocol),
        *(_netperf_stream(setup) if isinstance(setup, Stream) else _netperf_round_trip(setup)),
        *option("-s", sizes),
        *option("-S", sizes),
        *option("-K", setup.congestion),
        *flag("-D", when=setup.nodelay),
        *("-P", f"{setup.source_port or ''},{trial.ports[1]}"),
        *("-k", ",".join(STREAM_KEYS if is_stream else ROUND_TRIP_KEYS)),
    )


def _netperf_stream(setup: Stream) -> tuple[str, ...]:
    """Options: which end sends, the bytes of a send call and, if set, of a receive call. The size
    before the comma is for data to the server, the size behind it for data to the client.
    """
    is_reverse = setup.direction == "server-sends"
    size = f",{setup.message_bytes}" if is_reverse else f"{setup.message_bytes},"
    return (
        *("-d", "recv" if is_reverse else "send", "-m", size),
        *option("-M", None if setup.tcp_receive_call is None else size),
        # Without -R 1, netperf sends no UDP stream through a router.
        *option("-R", 1 if setup.protocol == "UDP" else None),
    )


def _netperf_round_trip(setup: RoundTrip) -> tuple[str, ...]:
    """Options without ``-e``, the receive timeout of UDP_RR: after a timeout, netperf takes a late
    answer for the answer to the next request, and all further latencies are wrong.
    """
    return (
        *("-d", "rr", "-r", f"{setup.message_bytes},{answer_bytes_of(setup)}"),
        # -b is the number of requests that are under way in addition to the first.
        *option("-b", setup.outstanding - 1 if setup.outstanding > 1 else None),
    )


_OF_NETPERF = OF_ALL | {
    *("socket_buffer_bytes", "dscp", "source_port", "client_cpu", "server_cpu"),
}
_OF_NETPERF_TRIPS = _OF_NETPERF | {"response_bytes", "outstanding"}
NETPERF = Tool(
    name="netperf",
    version_words=("netperf", "-V"),
    tried_version="2.7.0",
    serves_once=False,
    follows={
        ("stream", "TCP"): _OF_NETPERF | {"direction", "congestion", "nodelay", "tcp_receive_call"},
        ("stream", "UDP"): _OF_NETPERF | {"direction"},
        ("round_trip", "TCP"): _OF_NETPERF_TRIPS | {"congestion", "nodelay"},
        ("round_trip", "UDP"): _OF_NETPERF_TRIPS,
    },
    limits=_netperf_limits,
    remarks=_netperf_remarks,
    server_words=_netperf_server,
    client_words=_netperf_client,
    result=printed_by_client(parse_netperf),
)
"""Streams in either direction, and round trips, over TCP and UDP, with netperf's test ``omni``,
which prints the figures whose keys are requested. ``THROUGHPUT`` is what the receiver counted."""


# ---- nuttcp ----

_NUTTCP_LEAST_S = 0.1
"""Shortest duration: nuttcp prints times in hundredths of a second."""
_NUTTCP_MOST_RATE = 10**9
"""Maximum rate, in kbit/s or in messages a second."""


def _nuttcp_limits(setup: ToolSetup) -> Iterator[SettingFault]:
    stream = stream_of(setup)
    if stream.direction == "both":
        yield "direction", "nuttcp sends in one direction at a time"
    if duration_of(setup) < _NUTTCP_LEAST_S:
        yield "duration_s", f"nuttcp measures for {_NUTTCP_LEAST_S:g} s and more"
    if setup.protocol == "UDP":
        # nuttcp replaces a shorter or a longer message size by one of these.
        yield from faults_of_size(setup, "nuttcp", 5, UDP_MOST_BYTES, of=" over UDP")
    if stream.streams > MOST_STREAMS:
        yield "streams", f"nuttcp has at most {MOST_STREAMS} streams"
    if setup.socket_buffer_bytes is not None and setup.socket_buffer_bytes % 1024:
        yield "socket_buffer_bytes", "nuttcp takes whole KiB"
    if setup.dscp and setup.ip_version == 6:
        yield "dscp", "nuttcp sets the code point over IPv4 only"
    # nuttcp would cut a rate to a whole number, and the rate 0 means no limit.
    most = _NUTTCP_MOST_RATE
    rate, message_rate = stream.rate_bit_per_s, stream.message_rate_per_s
    if rate is not None and not (is_whole(rate / 1000) and 1000 <= rate <= 1000 * most):
        yield "rate_bit_per_s", f"nuttcp takes whole kbit/s, up to {most}"
    if message_rate is not None and not (is_whole(message_rate) and 1 <= message_rate <= most):
        yield "message_rate_per_s", f"nuttcp takes whole messages a second, up to {most}"


def _nuttcp_remarks(setup: ToolSetup) -> Iterator[str]:
    stream = stream_of(setup)
    yield "its server listens on all addresses of the host"
    if stream.streams > 1:
        yield ONE_THREAD
    if setup.protocol == "UDP" and stream.direction == "server-sends":
        yield "the server sends to a port of the client"
    yield from remarks_on_receive_call(stream)


def _nuttcp_server(trial: ToolTrial) -> tuple[str, ...]:
    return ("nuttcp", "-1", "--nofork", f"-{trial.setup.ip_version}", f"-P{trial.ports[0]}")


def _nuttcp_client(trial: ToolTrial) -> tuple[str, ...]:
    setup = stream_of(trial.setup)
    is_udp, is_reverse = setup.protocol == "UDP", setup.direction == "server-sends"
    # The rate is that of all streams together. Without one, nuttcp would send 1 Mbit/s over UDP.
    rate = "u" if is_udp else None
    if setup.rate_bit_per_s is not None:
        rate = str(round(setup.rate_bit_per_s / 1000))
    elif setup.message_rate_per_s is not None:
        rate = f"{round(setup.message_rate_per_s)}p"
    buffers = setup.socket_buffer_bytes
    return (
        *("nuttcp", f"-P{trial.ports[0]}", *_joined("-p", trial.ports[1] or None), "-fparse"),
        "-r" if is_reverse else "-t",
        # -F: over TCP, the client connects although the server sends.
        *flag("-F", when=is_reverse and not is_udp),
        *flag("-u", when=is_udp),
        *_joined("-R", rate),
        *(f"-l{setup.message_bytes}", f"-T{decimal(duration_of(setup))}"),
        *_joined("-N", several_streams(setup)),
        # Without -wb, only one buffer of each end would be set.
        *(() if buffers is None else (f"-w{buffers // 1024}", "-wb")),
        *_joined("-c", setup.dscp),
        *flag("-D", when=setup.nodelay),
        trial.server_address,
    )


def _joined(word: str, level: object) -> tuple[str, ...]:
    """An option whose value follows without a space."""
    return () if level is None else (f"{word}{level}",)


NUTTCP = Tool(
    name="nuttcp",
    version_words=("nuttcp", "-V"),
    tried_version="6.1.2",
    serves_once=True,
    follows={
        ("stream", "TCP"): OF_RATED_STREAMS | {"nodelay", "tcp_receive_call"},
        ("stream", "UDP"): OF_RATED_STREAMS,
    },
    limits=_nuttcp_limits,
    remarks=_nuttcp_remarks,
    server_words=_nuttcp_server,
    client_words=_nuttcp_client,
    result=printed_by_client(parse_nuttcp),
)
"""Streams over TCP and UDP, in either direction. Its client prints what the receiver counted.
Neither end can be bound to an address. Several streams use that many ports, beginning with the data
port. If the server sends over UDP, the data port is the client's."""


# ---- sockperf ----

_SOCKPERF_WARM_UP_S = 0.4
_SOCKPERF_LEFT_OUT_AT_THE_END_S = 0.05
_SOCKPERF_LEAST_BYTES = 14
"""The length of sockperf's own header."""
_SOCKPERF_MOST_BYTES = {"TCP": 2**20 - 1, "UDP": UDP_MOST_BYTES}
_SOCKPERF_MOST_RATE_PER_S = 2**30


def _sockperf_limits(setup: ToolSetup) -> Iterator[SettingFault]:
    if setup.ip_version == 6:
        yield "ip_version", "sockperf 3.7 has no IPv6"
    yield from faults_of_seconds(setup, "sockperf", 36_000_000)
    if setup.warm_up_s > _SOCKPERF_WARM_UP_S:
        yield "warm_up_s", f"sockperf's warm-up is always {_SOCKPERF_WARM_UP_S:g} s"
    least, most = _SOCKPERF_LEAST_BYTES, _SOCKPERF_MOST_BYTES[setup.protocol]
    yield from faults_of_size(setup, "sockperf", least, most, of=f" over {setup.protocol}")
    rate, most_rate = setup.message_rate_per_s, _SOCKPERF_MOST_RATE_PER_S
    if rate is not None and not (is_whole(rate) and 1 <= rate <= most_rate):
        yield "message_rate_per_s", f"sockperf takes whole requests a second, {most_rate} at most"


def _sockperf_remarks(setup: ToolSetup) -> Iterator[str]:
    yield (
        f"leaves out the first {_SOCKPERF_WARM_UP_S:g} s and the last "
        f"{_SOCKPERF_LEFT_OUT_AT_THE_END_S:g} s of the duration"
    )
    if setup.message_rate_per_s is not None:
        yield "a round trip begins when its request is sent, not when it was due"
    if setup.protocol == "UDP":
        yield WAITS_FOR_THE_LOST


def _sockperf_common(trial: ToolTrial) -> tuple[str, ...]:
    """Options of both ends. Without ``-m``, a server takes messages of at most 65507 bytes."""
    setup = trial.setup
    is_tcp = setup.protocol == "TCP"
    return (
        *("-i", trial.server_address, "-p", str(trial.ports[0])),
        *flag("--tcp", when=is_tcp),
        # sockperf sets TCP_NODELAY unless an option forbids it.
        *flag("--tcp-avoid-nodelay", when=is_tcp and not setup.nodelay),
        *("-m", str(setup.message_bytes)),
        *option("--buffer-size", setup.socket_buffer_bytes),
        *option("--tos", traffic_class(setup)),
    )


def _sockperf_server(trial: ToolTrial) -> tuple[str, ...]:
    affinity = option("--cpu-affinity", trial.setup.server_cpu)
    return ("sockperf", "server", *_sockperf_common(trial), *affinity)


def _sockperf_client(trial: ToolTrial) -> tuple[str, ...]:
    setup = trial.setup
    rate = setup.message_rate_per_s
    return (
        *("sockperf", "ping-pong", *_sockperf_common(trial)),
        *("--client_ip", trial.client_address, "-t", decimal(duration_of(setup))),
        "--full-rtt",  # otherwise sockperf prints half of each round-trip time
        *option("--mps", None if rate is None else round(rate)),
        *option("--client_port", setup.source_port),
        *option("--sender-affinity", setup.client_cpu),
    )


def _sockperf_result(_trial: ToolTrial, *, server: str, client: str) -> ToolResult:
    """The client's result, with the rate of its transactions, whose number and time it prints."""
    result = last_result(parse_sockperf, client, "client")
    values = result.values
    count, elapsed_ns = values.get("transactions"), values.get("elapsed_ns")
    if isinstance(count, int) and isinstance(elapsed_ns, int) and elapsed_ns:
        values = {"transactions_per_s": count / (elapsed_ns / 1e9), **values}
    # A remark states sockperf's warm-up, whatever the setting is.
    return replace(result, settings=without("warm_up_s", result.settings), values=values)


_OF_SOCKPERF = OF_ALL | {
    *("warm_up_s", "socket_buffer_bytes", "dscp", "source_port", "message_rate_per_s"),
    *("client_cpu", "server_cpu"),
}
SOCKPERF = Tool(
    name="sockperf",
    version_words=("sockperf", "--version"),
    tried_version="3.7",
    serves_once=False,
    follows={
        ("round_trip", "TCP"): _OF_SOCKPERF | {"nodelay"},
        ("round_trip", "UDP"): _OF_SOCKPERF,
    },
    limits=_sockperf_limits,
    remarks=_sockperf_remarks,
    server_words=_sockperf_server,
    client_words=_sockperf_client,
    result=_sockperf_result,
)
"""Round trips over TCP and UDP (mode ping-pong), over IPv4: later versions have IPv6. Its mode
throughput counts at the sender alone, so it is not used for the test ``stream``. A test takes about
two seconds longer than its duration."""


# ---- neper ----

_NEPER_PROGRAMS = {
    ("stream", "TCP"): "tcp_stream",
    ("stream", "UDP"): "udp_stream",
    ("round_trip", "TCP"): "tcp_rr",
    ("round_trip", "UDP"): "udp_rr",
}
_NEPER_DIRECTIONS = {"client-sends": (), "server-sends": ("-M",), "both": ("-r", "-w")}


def _neper_remarks(setup: ToolSetup) -> Iterator[str]:
    yield "its rate is the slope of a line through about ten samples"
    if isinstance(setup, RoundTrip):
        if setup.protocol == "UDP":
            yield WAITS_FOR_THE_LOST
        return
    if setup.streams > 1:
        yield ONE_THREAD
    if setup.protocol == "TCP" and not setup.nodelay:
        yield "sends with MSG_MORE, so that TCP fills its segments"
    yield from remarks_on_receive_call(setup)


def _neper_server(trial: ToolTrial) -> tuple[str, ...]:
    """The words of the server, and the first ones of the client: both need the options for the
    direction. ``-H`` is the server's address; the server binds to it too.
    """
    setup = trial.setup
    is_tcp = setup.protocol == "TCP"
    if isinstance(setup, RoundTrip):
        of_test: tuple[str, ...] = (
            "-Q",
            str(setup.message_bytes),
            "-R",
            str(answer_bytes_of(setup)),
        )
    else:
        of_test = (
            *("-B", str(setup.message_bytes)),
            *option("-F", several_streams(setup)),
            *_NEPER_DIRECTIONS[setup.direction],
            # With MSG_MORE, small messages would wait for further data in spite of TCP_NODELAY.
            *flag("--no-cork", when=setup.nodelay),
        )
    return (
        # Otherwise neper writes a log file into the current folder, and fails if it cannot.
        *(_NEPER_PROGRAMS[trial.test, setup.protocol], "--logtostderr", f"-{setup.ip_version}"),
        *("-H", trial.server_address),
        *("-C", str(trial.ports[0]), "-P", str(trial.ports[1]), "-l", decimal(duration_of(setup))),
        *of_test,
        *flag("--no-delay", when=setup.nodelay),
        *option("--congestion-control", setup.congestion if is_tcp else None),
    )


def _neper_client(trial: ToolTrial) -> tuple[str, ...]:
    setup = trial.setup
    return (
        *(*_neper_server(trial), "-c"),
        # neper binds to an address or to a port, not to both.
        *option("-L", trial.client_address if setup.source_port is None else None),
        *option("--source-port", setup.source_port),
        *option("-p", ",".join(PERCENTILES) if isinstance(setup, RoundTrip) else None),
    )


def _neper_result(trial: ToolTrial, *, server: str, client: str) -> ToolResult:
    """The client's result; if the server received, with the time of it, which only the server
    prints.

    The number of transactions is left out: neper counts them up to its last sample, which is taken
    before the end of the test, by up to a fifth of the duration.
    """
    setup, result = trial.setup, last_result(parse_neper, client, "client")
    values = without("transactions", result.values)
    if result.reason is None and isinstance(setup, Stream) and setup.direction != "server-sends":
        name = "to_server_elapsed_ns" if setup.direction == "both" else "elapsed_ns"
        try:
            counted = last_result(parse_neper, server, "server").values
        except MatrixError:
            counted = {}
        values |= {name: counted[name]} if name in counted else {}
    # netlab itself set this option, so the record need not mention it.
    unread = tuple(sentence for sentence in result.unread if "`no_cork`" not in sentence)
    return replace(result, values=values, unread=unread)


_OF_NEPER = OF_ALL | {"source_port"}
NEPER = Tool(
    name="neper",
    version_words=("tcp_rr", "--logtostderr", "--version"),
    tried_version="1.1.0",
    serves_once=True,
    follows={
        ("stream", "TCP"): _OF_NEPER
        | {"direction", "streams", "congestion", "nodelay", "tcp_receive_call"},
        ("stream", "UDP"): _OF_NEPER | {"streams"},
        ("round_trip", "TCP"): _OF_NEPER | {"response_bytes", "congestion", "nodelay"},
        ("round_trip", "UDP"): _OF_NEPER | {"response_bytes"},
    },
    limits=lambda setup: faults_of_seconds(setup, "neper"),
    remarks=_neper_remarks,
    server_words=_neper_server,
    client_words=_neper_client,
    result=_neper_result,
)
"""Streams and round trips over TCP and UDP. No operating system has a package of neper: it was
built from the main branch of 2026 (https://github.com/google/neper); ``--no-delay`` and
``--no-cork`` are from September 2025, ``--congestion-control`` from October 2025. Throughput is
what the receiving end counted: the two ends exchange their rates."""


TOOLS: Mapping[str, Tool] = {
    tool.name: tool for tool in (IPERF3, IPERF2, NETPERF, NUTTCP, SOCKPERF, NEPER)
}
"""The tools by their names in the setting ``engine``; a new tool needs a line here, and its name in
that setting."""
