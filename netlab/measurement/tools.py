"""The tools that netlab can measure with: what each can follow, its command lines, its results.

A tool is tried with one version; its settings, limits and options are those of this version.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

from netlab.errors import MatrixError
from netlab.imports.common.csv_table import NOT_RECORDED
from netlab.imports.common.tool_results import PERCENTILES, ToolResult
from netlab.imports.iperf2 import parse_iperf2
from netlab.imports.iperf3 import NO_RATE, parse_iperf3
from netlab.imports.neper import parse_neper
from netlab.imports.netperf import parse_netperf
from netlab.imports.nuttcp import parse_nuttcp
from netlab.imports.sockperf import parse_sockperf
from netlab.kinds import RoundTrip, Stream
from netlab.kinds.groups import SettingFault
from netlab.measurement import tool
from netlab.measurement.tool import Tool, ToolSetup, ToolTrial, flag, option
from netlab.remote.answers import decimal

_IPERF3_DIRECTIONS = {"client-sends": (), "server-sends": ("-R",), "both": ("--bidir",)}


_OF_IPERF3 = tool.OF_RATED_STREAMS | {
    *("warm_up_s", "interface", "source_port", "client_cpu", "server_cpu")
}


class _Iperf3(Tool):
    """Streams over TCP and UDP, in either or both directions. Throughput is the receiver's."""

    name = "iperf3"
    version_words = ("iperf3", "--version")
    tried_version = "3.12"
    serves_once = True
    follows: ClassVar = {
        ("stream", "TCP"): _OF_IPERF3 | {"congestion", "nodelay", "tcp_receive_call"},
        ("stream", "UDP"): _OF_IPERF3 | {"dont_fragment"},
    }

    def limits(self, setup: ToolSetup) -> Iterator[SettingFault]:
        stream = tool.stream_of(setup)
        yield from tool.faults_of_seconds(setup, "iperf3")
        most_s, last_cpu, most_bytes = 60, 1024, 512 * 2**20
        if not (tool.is_whole(setup.warm_up_s) and setup.warm_up_s <= most_s):
            yield "warm_up_s", f"iperf3 omits whole seconds, {most_s} at most"
        if setup.protocol == "UDP":
            yield from tool.faults_of_size(setup, "iperf3", 16, tool.UDP_MOST_BYTES, of=" over UDP")
        else:
            yield from tool.faults_of_size(setup, "iperf3", most=2**20)
        if stream.streams > tool.MOST_STREAMS:
            yield "streams", f"iperf3 has at most {tool.MOST_STREAMS} streams"
        if (setup.socket_buffer_bytes or 0) > most_bytes:
            yield "socket_buffer_bytes", f"iperf3 takes at most {most_bytes} bytes"
        for name, cpu in (("client_cpu", setup.client_cpu), ("server_cpu", setup.server_cpu)):
            if (cpu or 0) > last_cpu:
                yield name, f"iperf3 knows the CPUs 0 to {last_cpu}"
        if setup.dont_fragment and setup.ip_version == 6:
            yield "dont_fragment", "iperf3 sets it over IPv4 only"
        yield from tool.faults_of_rate(stream, "iperf3")

    def remarks(self, setup: ToolSetup) -> Iterator[str]:
        stream = tool.stream_of(setup)
        if tool.rate_of_each(stream) is not None:
            yield "sends what is due once a millisecond"
        if stream.streams > 1:
            yield "before iperf 3.16, its streams share one thread at each end"
        yield from tool.remarks_on_receive_call(stream)

    def server_words(self, trial: ToolTrial, /) -> tuple[str, ...]:
        return (
            *("iperf3", "-s", "-1", "-J", "-B", trial.server_address, "-p", str(trial.ports[0])),
            *option("-A", trial.setup.server_cpu),
        )

    def client_words(self, trial: ToolTrial, /) -> tuple[str, ...]:
        setup = tool.stream_of(trial.setup)
        is_udp = setup.protocol == "UDP"
        # Without -b, iperf3 would send 1 Mbit/s over UDP; the rate 0 means as fast as possible.
        rate = tool.rate_of_each(setup)
        return (
            *("iperf3", "-c", trial.server_address, "-p", str(trial.ports[0])),
            *("-B", trial.client_address, "-J"),
            *("-l", str(setup.message_bytes), "-t", decimal(tool.duration_of(setup))),
            *flag("-u", when=is_udp),
            *option("-b", 0 if is_udp and rate is None else rate),
            *option("-O", decimal(setup.warm_up_s) if setup.warm_up_s else None),
            *option("-P", tool.several_streams(setup)),
            *_IPERF3_DIRECTIONS[setup.direction],
            *option("-w", setup.socket_buffer_bytes),
            *option("-C", setup.congestion),
            *flag("-N", when=setup.nodelay),
            *flag("--dont-fragment", when=setup.dont_fragment),
            *option("--dscp", setup.dscp),
            *option("--cport", setup.source_port),
            *option("--bind-dev", setup.interface),
            *option("-A", setup.client_cpu),
        )

    def result(self, trial: ToolTrial, /, *, server: str, client: str) -> ToolResult:
        """The client's result; if the server received, with the values that the server counted: a
        client's counts of UDP messages are wrong with ``-O``.
        """
        result = tool.last_result(parse_iperf3, client, "client")
        # The printed rate only repeats -b, which is the rate of each stream, not of all together.
        result = replace(result, settings=tool.without("rate_bit_per_s", result.settings))
        is_failed = result.reason is not None and result.detail != NO_RATE
        if is_failed or tool.stream_of(trial.setup).direction == "server-sends":
            return result
        try:
            counted = tool.last_result(parse_iperf3, server, "server")
        except MatrixError:
            return result  # the client's output has the receiver's rate too
        if counted.reason is not None or counted.identity != result.identity:
            return result
        return replace(
            result,
            values={**result.values, **counted.values},
            reason=None,
            detail=None,
            unread=tuple(dict.fromkeys((*result.unread, *counted.unread))),
        )


_IPERF2_UDP_LEAST_BYTES = 12
"""Length of the sequence number and the time that iperf writes into each message."""
_IPERF2_UDP_REVERSE_LEAST_BYTES = 68
"""With ``-R``, the first message also carries the request to the server. A shorter message holds
only a part of the request; the server then sends at another rate or not at all."""
_IPERF2_READ_LEAST_BYTES = 8
"""If a receive call over TCP takes fewer bytes, iperf divides by zero and crashes."""
_IPERF2_FLAT_OUT = "1000g"
"""A rate that no host reaches, so that UDP is sent as fast as possible. Over UDP, iperf refuses the
rate 0, and without a rate it sends 1 Mbit/s."""
_IPERF2_CONNECT_RETRIES = 3
"""Number of further tries of a TCP client to connect, 0.2 s apart. Without them the client would
end with the exit code 0 if the server does not listen yet."""
_IPERF2_HEADS = ("Client connecting to", "Server listening on")
_IPERF2_REORDER = "datagrams received out-of-order"
"""The end of a line that the importer (``netlab.imports.iperf2``) does not know."""
_STARRED_PEER = re.compile(r"(?m)^\[ *\*[0-9]+\] local ")
_STARRED_ROW = re.compile(r"(?m)^\[( *)\*([0-9]+)\](?= )")


def _iperf2_common(trial: ToolTrial) -> tuple[str, ...]:
    """Options of both ends. ``-f k``: rates in bit/s may have more digits than are read."""
    return (
        *flag("-u", when=trial.setup.protocol == "UDP"),
        *flag("-V", when=trial.setup.ip_version == 6),
        *("-p", str(trial.ports[0]), "-f", "k"),
    )


def _iperf2_of_sender(setup: Stream, direction: str) -> tuple[str, ...]:
    """Options that work only at the end that sends: a client that receives refuses ``-Z``."""
    if setup.direction != direction:
        return ()
    return (*flag("-N", when=setup.nodelay), *option("-Z", setup.congestion))


def _iperf2_parsed(text: str, side: str) -> ToolResult:
    """The result in an output, which is first brought into a form that the importer can read."""
    lines = text.splitlines(keepends=True)
    lines = [line for line in lines if not line.rstrip().endswith(_IPERF2_REORDER)]
    head = next((at for at, line in enumerate(lines) if line.startswith(_IPERF2_HEADS)), 0)
    # With several streams, the line of the first stream may come before the heading.
    text = "".join((*lines[head : head + 1], *lines[:head], *lines[head + 1 :]))
    if not _STARRED_PEER.search(text):
        # With -R, 2.1.8 marks the rows of a stream with a star, but not the line that names it.
        text = _STARRED_ROW.sub(r"[\1 \2]", text)
    return tool.last_result(parse_iperf2, text, side)


_OF_IPERF2 = tool.OF_RATED_STREAMS | {"source_port"}


class _Iperf2(Tool):
    """Streams over TCP and UDP, in either direction; versions before 2.1 have no ``-R``, with which
    the server sends. The server ends by itself after as many connections as ``-P`` says. iperf
    accepts ``%lo`` after an address, but does not bind the socket to it: no ``interface``.
    """

    name = "iperf2"
    version_words = ("iperf", "--version")
    tried_version = "2.1.8"
    serves_once = True
    follows: ClassVar = {
        ("stream", "TCP"): _OF_IPERF2 | {"congestion", "nodelay", "tcp_receive_call"},
        ("stream", "UDP"): _OF_IPERF2,
    }

    def limits(self, setup: ToolSetup) -> Iterator[SettingFault]:
        stream = tool.stream_of(setup)
        is_udp, is_reverse = setup.protocol == "UDP", stream.direction == "server-sends"
        if stream.direction == "both":
            yield "direction", "the figures of iperf2 for both directions at once are not read"
        duration_s, least_s = tool.duration_of(setup), 0.1
        if not tool.is_whole(100 * duration_s) or duration_s < least_s:
            yield "duration_s", f"iperf2 measures for {least_s:g} s and more, in steps of 10 ms"
        if is_udp:
            least = _IPERF2_UDP_REVERSE_LEAST_BYTES if is_reverse else _IPERF2_UDP_LEAST_BYTES
            of = " over UDP if the server sends" if is_reverse else " over UDP"
            yield from tool.faults_of_size(setup, "iperf2", least, of=of)
        elif is_reverse or stream.tcp_receive_call is not None:
            of = " over TCP if the server sends" if is_reverse else " with `tcp_receive_call`"
            yield from tool.faults_of_size(setup, "iperf2", _IPERF2_READ_LEAST_BYTES, of=of)
        if is_reverse and is_udp and stream.streams > 1:
            # Some of several streams receive nothing.
            yield "streams", "iperf2 has one stream over UDP if the server sends"
        if is_reverse and setup.socket_buffer_bytes is not None:
            idle = "the client's send buffer and the server's receive buffer"
            why = f"iperf2 sets {idle}, which do not matter if the server sends"
            yield "socket_buffer_bytes", why
        if setup.source_port is not None and setup.ip_version == 6:
            yield "source_port", "iperf2 takes a source port over IPv4 only"
        yield from tool.faults_of_rate(stream, "iperf2")

    def remarks(self, setup: ToolSetup) -> Iterator[str]:
        stream = tool.stream_of(setup)
        if setup.socket_buffer_bytes is not None:
            yield "sets the send buffer of the sender and the receive buffer of the receiver only"
        if stream.direction == "server-sends":
            yield from tool.remarks_on_receive_call(stream)

    def server_words(self, trial: ToolTrial, /) -> tuple[str, ...]:
        setup = tool.stream_of(trial.setup)
        # Over UDP, the server would cut messages longer than its -l. Over TCP, it reads 128 KiB a
        # call without -l; the matrix may ask for one message a call instead.
        has_size = setup.protocol == "UDP" or setup.tcp_receive_call is not None
        return (
            *("iperf", "-s", *_iperf2_common(trial), "-B", trial.server_address),
            *("-P", str(setup.streams)),
            *option("-l", setup.message_bytes if has_size else None),
            *option("-w", setup.socket_buffer_bytes),
            *_iperf2_of_sender(setup, "server-sends"),
        )

    def client_words(self, trial: ToolTrial, /) -> tuple[str, ...]:
        setup = tool.stream_of(trial.setup)
        rate = tool.rate_of_each(setup)
        is_flat_out = rate is None and setup.protocol == "UDP"
        port = "" if setup.source_port is None else f":{setup.source_port}"
        return (
            # -c is the first option, because iperf forgets a -P that stands before it.
            *("iperf", "-c", trial.server_address, *_iperf2_common(trial)),
            *("-B", trial.client_address + port),
            *("-l", str(setup.message_bytes), "-t", decimal(tool.duration_of(setup))),
            *option("-b", _IPERF2_FLAT_OUT if is_flat_out else rate),
            *option("-P", tool.several_streams(setup)),
            *flag("-R", when=setup.direction == "server-sends"),
            *option("-w", setup.socket_buffer_bytes),
            *option("-S", tool.traffic_class(setup)),
            *_iperf2_of_sender(setup, "client-sends"),
            *option(
                "--connect-retries", _IPERF2_CONNECT_RETRIES if setup.protocol == "TCP" else None
            ),
        )

    def result(self, trial: ToolTrial, /, *, server: str, client: str) -> ToolResult:
        """The result that the receiver printed, with the rate that the sender printed."""
        setup = tool.stream_of(trial.setup)
        texts = {"server": server, "client": client}
        to, by = ("client", "server") if setup.direction == "server-sends" else ("server", "client")
        result = _iperf2_parsed(texts[to], to)
        # iperf rounds the buffer size that it prints, so it may differ from the requested size.
        result = replace(result, settings=tool.without("socket_buffer_bytes", result.settings))
        if result.reason is not None:
            return result
        if result.settings["streams"] != setup.streams:
            detail = f"{result.settings['streams']} of {setup.streams} streams are there"
            return replace(result, values={}, reason=NOT_RECORDED, detail=detail)
        try:
            sent = _iperf2_parsed(texts[by], by).values.get("sent_bit_per_s")
        except MatrixError:
            sent = None
        values = result.values if sent is None else {"sent_bit_per_s": sent, **result.values}
        return replace(result, values=values)


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


_OF_NETPERF = tool.OF_ALL | {
    *("socket_buffer_bytes", "dscp", "source_port", "client_cpu", "server_cpu")
}
_OF_NETPERF_TRIPS = _OF_NETPERF | {"response_bytes", "outstanding"}


class _Netperf(Tool):
    """Streams in either direction, and round trips, over TCP and UDP, with netperf's test ``omni``,
    which prints the figures whose keys are requested. ``THROUGHPUT`` is what the receiver counted.
    """

    name = "netperf"
    version_words = ("netperf", "-V")
    tried_version = "2.7.0"
    serves_once = False
    follows: ClassVar = {
        ("stream", "TCP"): _OF_NETPERF | {"direction", "congestion", "nodelay", "tcp_receive_call"},
        ("stream", "UDP"): _OF_NETPERF | {"direction"},
        ("round_trip", "TCP"): _OF_NETPERF_TRIPS | {"congestion", "nodelay"},
        ("round_trip", "UDP"): _OF_NETPERF_TRIPS,
    }

    def limits(self, setup: ToolSetup) -> Iterator[SettingFault]:
        yield from tool.faults_of_seconds(setup, "netperf")
        if isinstance(setup, Stream) and setup.direction == "both":
            yield "direction", "netperf sends in one direction at a time"

    def remarks(self, setup: ToolSetup) -> Iterator[str]:
        if setup.protocol != "UDP":
            return
        if isinstance(setup, RoundTrip):
            yield tool.WAITS_FOR_THE_LOST
        elif setup.direction == "client-sends":
            yield (
                "divides what was received by the sender's time, so what then still waited in its "
                "socket buffer is counted too"
            )

    def server_words(self, trial: ToolTrial, /) -> tuple[str, ...]:
        # -D: it stays in the foreground; -f: it starts no further process for a test. The family
        # behind an address keeps netperf from choosing the other family.
        server = f"{trial.server_address},{trial.setup.ip_version}"
        return ("netserver", "-D", "-f", "-L", server, "-p", str(trial.ports[0]))

    def client_words(self, trial: ToolTrial, /) -> tuple[str, ...]:
        setup = trial.setup
        is_stream = isinstance(setup, Stream)
        ends = [f"{at},{setup.ip_version}" for at in (trial.server_address, trial.client_address)]
        addresses = ("-H", ends[0], "-L", ends[1])
        # An end without a CPU is left empty: ``,3``.
        cpus = ["" if cpu is None else str(cpu) for cpu in (setup.client_cpu, setup.server_cpu)]
        mark, buffers = tool.traffic_class(setup), setup.socket_buffer_bytes
        sizes = None if buffers is None else f"{buffers},{buffers}"
        of_test: tuple[str, ...]
        if isinstance(setup, Stream):
            # A size before the comma is for data to the server, one behind it for data from it.
            is_reverse = setup.direction == "server-sends"
            size = f",{setup.message_bytes}" if is_reverse else f"{setup.message_bytes},"
            of_test = (
                *("-d", "recv" if is_reverse else "send", "-m", size),
                *option("-M", None if setup.tcp_receive_call is None else size),
                # Without -R 1, netperf sends no UDP stream through a router.
                *option("-R", 1 if setup.protocol == "UDP" else None),
            )
        else:
            # No -e, the receive timeout of UDP_RR: after a timeout, netperf takes a late answer for
            # the answer to the next request, and all further latencies are wrong. -b is the number
            # of requests that are under way in addition to the first.
            sizes_words = f"{setup.message_bytes},{setup.answer_bytes}"
            further = setup.outstanding - 1 if setup.outstanding > 1 else None
            of_test = ("-d", "rr", "-r", sizes_words, *option("-b", further))
        return (
            *("netperf", *addresses, "-p", str(trial.ports[0])),
            # Of the units that netperf can print a rate in, kbit/s gives the most digits.
            *("-t", "omni", *flag("-fk", when=is_stream), "-l", decimal(tool.duration_of(setup))),
            *option("-T", ",".join(cpus) if any(cpus) else None),
            *option("-Y", None if mark is None else f"{mark:#x},{mark:#x}"),
            # Behind --, -H and -L bind the data connection to the control connection's addresses.
            *("--", *addresses, "-T", setup.protocol),
            *of_test,
            *option("-s", sizes),
            *option("-S", sizes),
            *option("-K", setup.congestion),
            *flag("-D", when=setup.nodelay),
            *("-P", f"{setup.source_port or ''},{trial.ports[1]}"),
            *("-k", ",".join(STREAM_KEYS if is_stream else ROUND_TRIP_KEYS)),
        )

    def result(self, trial: ToolTrial, /, *, server: str, client: str) -> ToolResult:
        return tool.last_result(parse_netperf, client, "client")


def _joined(word: str, level: object) -> tuple[str, ...]:
    """An option whose value follows without a space."""
    return () if level is None else (f"{word}{level}",)


class _Nuttcp(Tool):
    """Streams over TCP and UDP, in either direction. Its client prints what the receiver counted.
    Neither end can be bound to an address. Several streams use that many ports from the data port
    on. If the server sends over UDP, the data port is the client's.
    """

    name = "nuttcp"
    version_words = ("nuttcp", "-V")
    tried_version = "6.1.2"
    serves_once = True
    follows: ClassVar = {
        ("stream", "TCP"): tool.OF_RATED_STREAMS | {"nodelay", "tcp_receive_call"},
        ("stream", "UDP"): tool.OF_RATED_STREAMS,
    }

    def limits(self, setup: ToolSetup) -> Iterator[SettingFault]:
        stream = tool.stream_of(setup)
        if stream.direction == "both":
            yield "direction", "nuttcp sends in one direction at a time"
        least_s = 0.1  # nuttcp prints times in hundredths of a second
        if tool.duration_of(setup) < least_s:
            yield "duration_s", f"nuttcp measures for {least_s:g} s and more"
        if setup.protocol == "UDP":
            # nuttcp replaces a shorter or a longer message size by one of these.
            yield from tool.faults_of_size(setup, "nuttcp", 5, tool.UDP_MOST_BYTES, of=" over UDP")
        if stream.streams > tool.MOST_STREAMS:
            yield "streams", f"nuttcp has at most {tool.MOST_STREAMS} streams"
        if setup.socket_buffer_bytes is not None and setup.socket_buffer_bytes % 1024:
            yield "socket_buffer_bytes", "nuttcp takes whole KiB"
        if setup.dscp and setup.ip_version == 6:
            yield "dscp", "nuttcp sets the code point over IPv4 only"
        # nuttcp would cut a rate to a whole number, and the rate 0 means no limit.
        most = 10**9
        rate, message_rate = stream.rate_bit_per_s, stream.message_rate_per_s
        if rate is not None and not (tool.is_whole(rate / 1000) and 1000 <= rate <= 1000 * most):
            yield "rate_bit_per_s", f"nuttcp takes whole kbit/s, up to {most}"
        if message_rate is not None and not (
            tool.is_whole(message_rate) and 1 <= message_rate <= most
        ):
            yield "message_rate_per_s", f"nuttcp takes whole messages a second, up to {most}"

    def remarks(self, setup: ToolSetup) -> Iterator[str]:
        stream = tool.stream_of(setup)
        yield "its server listens on all addresses of the host"
        if stream.streams > 1:
            yield tool.ONE_THREAD
        if setup.protocol == "UDP" and stream.direction == "server-sends":
            yield "the server sends to a port of the client"
        yield from tool.remarks_on_receive_call(stream)

    def server_words(self, trial: ToolTrial, /) -> tuple[str, ...]:
        return ("nuttcp", "-1", "--nofork", f"-{trial.setup.ip_version}", f"-P{trial.ports[0]}")

    def client_words(self, trial: ToolTrial, /) -> tuple[str, ...]:
        setup = tool.stream_of(trial.setup)
        is_udp, is_reverse = setup.protocol == "UDP", setup.direction == "server-sends"
        # The rate is that of all streams together. Without one, nuttcp sends 1 Mbit/s over UDP.
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
            *(f"-l{setup.message_bytes}", f"-T{decimal(tool.duration_of(setup))}"),
            *_joined("-N", tool.several_streams(setup)),
            # Without -wb, only one buffer of each end would be set.
            *(() if buffers is None else (f"-w{buffers // 1024}", "-wb")),
            *_joined("-c", setup.dscp),
            *flag("-D", when=setup.nodelay),
            trial.server_address,
        )

    def result(self, trial: ToolTrial, /, *, server: str, client: str) -> ToolResult:
        return tool.last_result(parse_nuttcp, client, "client")


_SOCKPERF_WARM_UP_S = 0.4
_SOCKPERF_LEFT_OUT_AT_THE_END_S = 0.05


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
        *option("--tos", tool.traffic_class(setup)),
    )


_OF_SOCKPERF = tool.OF_ALL | {
    *("warm_up_s", "socket_buffer_bytes", "dscp", "source_port", "message_rate_per_s"),
    *("client_cpu", "server_cpu"),
}


class _Sockperf(Tool):
    """Round trips over TCP and UDP (mode ping-pong), over IPv4: later versions have IPv6. Its mode
    throughput counts at the sender alone, so netlab measures no ``stream`` with it. A test takes
    about two seconds longer than its duration.
    """

    name = "sockperf"
    version_words = ("sockperf", "--version")
    tried_version = "3.7"
    serves_once = False
    follows: ClassVar = {
        ("round_trip", "TCP"): _OF_SOCKPERF | {"nodelay"},
        ("round_trip", "UDP"): _OF_SOCKPERF,
    }

    def limits(self, setup: ToolSetup) -> Iterator[SettingFault]:
        if setup.ip_version == 6:
            yield "ip_version", "sockperf 3.7 has no IPv6"
        yield from tool.faults_of_seconds(setup, "sockperf", 36_000_000)
        if setup.warm_up_s > _SOCKPERF_WARM_UP_S:
            yield "warm_up_s", f"sockperf's warm-up is always {_SOCKPERF_WARM_UP_S:g} s"
        least = 14  # the length of sockperf's own header
        most = 2**20 - 1 if setup.protocol == "TCP" else tool.UDP_MOST_BYTES
        yield from tool.faults_of_size(setup, "sockperf", least, most, of=f" over {setup.protocol}")
        rate, most_rate = setup.message_rate_per_s, 2**30
        if rate is not None and not (tool.is_whole(rate) and 1 <= rate <= most_rate):
            yield (
                "message_rate_per_s",
                f"sockperf takes whole requests a second, {most_rate} at most",
            )

    def remarks(self, setup: ToolSetup) -> Iterator[str]:
        yield (
            f"leaves out the first {_SOCKPERF_WARM_UP_S:g} s and the last "
            f"{_SOCKPERF_LEFT_OUT_AT_THE_END_S:g} s of the duration"
        )
        if setup.message_rate_per_s is not None:
            yield "a round trip begins when its request is sent, not when it was due"
        if setup.protocol == "UDP":
            yield tool.WAITS_FOR_THE_LOST

    def server_words(self, trial: ToolTrial, /) -> tuple[str, ...]:
        affinity = option("--cpu-affinity", trial.setup.server_cpu)
        return ("sockperf", "server", *_sockperf_common(trial), *affinity)

    def client_words(self, trial: ToolTrial, /) -> tuple[str, ...]:
        setup = trial.setup
        rate = setup.message_rate_per_s
        return (
            *("sockperf", "ping-pong", *_sockperf_common(trial)),
            *("--client_ip", trial.client_address, "-t", decimal(tool.duration_of(setup))),
            "--full-rtt",  # otherwise sockperf prints half of each round-trip time
            *option("--mps", None if rate is None else round(rate)),
            *option("--client_port", setup.source_port),
            *option("--sender-affinity", setup.client_cpu),
        )

    def result(self, trial: ToolTrial, /, *, server: str, client: str) -> ToolResult:
        """The client's result, with the rate of its transactions."""
        result = tool.last_result(parse_sockperf, client, "client")
        values = result.values
        count, elapsed_ns = values.get("transactions"), values.get("elapsed_ns")
        if isinstance(count, int) and isinstance(elapsed_ns, int) and elapsed_ns:
            values = {"transactions_per_s": count / (elapsed_ns / 1e9), **values}
        # A remark states sockperf's warm-up, whatever the setting is.
        return replace(result, settings=tool.without("warm_up_s", result.settings), values=values)


_NEPER_PROGRAMS = {
    ("stream", "TCP"): "tcp_stream",
    ("stream", "UDP"): "udp_stream",
    ("round_trip", "TCP"): "tcp_rr",
    ("round_trip", "UDP"): "udp_rr",
}
_NEPER_DIRECTIONS = {"client-sends": (), "server-sends": ("-M",), "both": ("-r", "-w")}
_OF_NEPER = tool.OF_ALL | {"source_port"}


class _Neper(Tool):
    """Streams and round trips over TCP and UDP. No operating system has a package of neper: it was
    built from the main branch of 2026 (https://github.com/google/neper); ``--no-delay`` and
    ``--no-cork`` are from September 2025, ``--congestion-control`` from October 2025. Throughput is
    what the receiving end counted: the two ends exchange their rates.
    """

    name = "neper"
    version_words = ("tcp_rr", "--logtostderr", "--version")
    tried_version = "1.1.0"
    serves_once = True
    follows: ClassVar = {
        ("stream", "TCP"): _OF_NEPER
        | {"direction", "streams", "congestion", "nodelay", "tcp_receive_call"},
        ("stream", "UDP"): _OF_NEPER | {"streams"},
        ("round_trip", "TCP"): _OF_NEPER | {"response_bytes", "congestion", "nodelay"},
        ("round_trip", "UDP"): _OF_NEPER | {"response_bytes"},
    }

    def limits(self, setup: ToolSetup) -> Iterator[SettingFault]:
        return tool.faults_of_seconds(setup, "neper")

    def remarks(self, setup: ToolSetup) -> Iterator[str]:
        yield "its rate is the slope of a line through about ten samples"
        if isinstance(setup, RoundTrip):
            if setup.protocol == "UDP":
                yield tool.WAITS_FOR_THE_LOST
            return
        if setup.streams > 1:
            yield tool.ONE_THREAD
        if setup.protocol == "TCP" and not setup.nodelay:
            yield "sends with MSG_MORE, so that TCP fills its segments"
        yield from tool.remarks_on_receive_call(setup)

    def server_words(self, trial: ToolTrial, /) -> tuple[str, ...]:
        """The words of the server, and the first ones of the client: both need the options for the
        direction. ``-H`` is the server's address; the server binds to it too.
        """
        setup = trial.setup
        is_tcp = setup.protocol == "TCP"
        program = _NEPER_PROGRAMS[tool.test_of(setup), setup.protocol]
        if isinstance(setup, RoundTrip):
            answer = str(setup.answer_bytes)
            of_test: tuple[str, ...] = ("-Q", str(setup.message_bytes), "-R", answer)
        else:
            of_test = (
                *("-B", str(setup.message_bytes)),
                *option("-F", tool.several_streams(setup)),
                *_NEPER_DIRECTIONS[setup.direction],
                # With MSG_MORE, small messages would wait for further data in spite of TCP_NODELAY.
                *flag("--no-cork", when=setup.nodelay),
            )
        return (
            # Otherwise neper writes a log file into the current folder, and fails if it cannot.
            *(program, "--logtostderr", f"-{setup.ip_version}"),
            *("-H", trial.server_address),
            *(
                "-C",
                str(trial.ports[0]),
                "-P",
                str(trial.ports[1]),
                "-l",
                decimal(tool.duration_of(setup)),
            ),
            *of_test,
            *flag("--no-delay", when=setup.nodelay),
            *option("--congestion-control", setup.congestion if is_tcp else None),
        )

    def client_words(self, trial: ToolTrial, /) -> tuple[str, ...]:
        setup = trial.setup
        return (
            *(*self.server_words(trial), "-c"),
            # neper binds to an address or to a port, not to both.
            *option("-L", trial.client_address if setup.source_port is None else None),
            *option("--source-port", setup.source_port),
            *option("-p", ",".join(PERCENTILES) if isinstance(setup, RoundTrip) else None),
        )

    def result(self, trial: ToolTrial, /, *, server: str, client: str) -> ToolResult:
        """The client's result; if the server received, with its time, which only the server prints.

        The number of transactions is left out: neper counts them up to its last sample, which is
        taken before the end of the test, by up to a fifth of the duration.
        """
        setup, result = trial.setup, tool.last_result(parse_neper, client, "client")
        values = tool.without("transactions", result.values)
        if (
            result.reason is None
            and isinstance(setup, Stream)
            and setup.direction != "server-sends"
        ):
            name = "to_server_elapsed_ns" if setup.direction == "both" else "elapsed_ns"
            try:
                counted = tool.last_result(parse_neper, server, "server").values
            except MatrixError:
                counted = {}
            values |= {name: counted[name]} if name in counted else {}
        # netlab itself set this option, so the record need not mention it.
        unread = tuple(sentence for sentence in result.unread if "`no_cork`" not in sentence)
        return replace(result, values=values, unread=unread)


TOOLS: Mapping[str, Tool] = {
    tool.name: tool for tool in (_Iperf3(), _Iperf2(), _Netperf(), _Nuttcp(), _Sockperf(), _Neper())
}
"""The tools by their names in the setting ``engine``; a new tool needs a line here, and its name in
that setting."""
