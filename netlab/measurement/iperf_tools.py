"""Measuring with iperf3 and with iperf 2: settings, command lines and results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from netlab.errors import MatrixError
from netlab.imports.common.csv_table import NOT_RECORDED
from netlab.imports.common.tool_results import ToolResult
from netlab.imports.iperf2 import parse_iperf2
from netlab.imports.iperf3 import NO_RATE, parse_iperf3
from netlab.kinds import Stream
from netlab.kinds.groups import SettingFault
from netlab.measurement.tool import (
    MOST_STREAMS,
    OF_RATED_STREAMS,
    UDP_MOST_BYTES,
    Tool,
    ToolSetup,
    ToolTrial,
    duration_of,
    faults_of_rate,
    faults_of_seconds,
    faults_of_size,
    flag,
    is_whole,
    last_result,
    option,
    rate_of_each,
    remarks_on_receive_call,
    several_streams,
    stream_of,
    traffic_class,
    without,
)
from netlab.remote.answers import decimal

# ---- iperf3 ----

_IPERF3_DIRECTIONS = {"client-sends": (), "server-sends": ("-R",), "both": ("--bidir",)}
_IPERF3_LAST_CPU = 1024
_IPERF3_MOST_WARM_UP_S = 60
_IPERF3_MOST_BUFFER_BYTES = 512 * 2**20


def _iperf3_limits(setup: ToolSetup) -> Iterator[SettingFault]:
    stream = stream_of(setup)
    yield from faults_of_seconds(setup, "iperf3")
    if not (is_whole(setup.warm_up_s) and setup.warm_up_s <= _IPERF3_MOST_WARM_UP_S):
        yield "warm_up_s", f"iperf3 omits whole seconds, {_IPERF3_MOST_WARM_UP_S} at most"
    if setup.protocol == "UDP":
        yield from faults_of_size(setup, "iperf3", 16, UDP_MOST_BYTES, of=" over UDP")
    else:
        yield from faults_of_size(setup, "iperf3", most=2**20)
    if stream.streams > MOST_STREAMS:
        yield "streams", f"iperf3 has at most {MOST_STREAMS} streams"
    if (setup.socket_buffer_bytes or 0) > _IPERF3_MOST_BUFFER_BYTES:
        yield "socket_buffer_bytes", f"iperf3 takes at most {_IPERF3_MOST_BUFFER_BYTES} bytes"
    for name, cpu in (("client_cpu", setup.client_cpu), ("server_cpu", setup.server_cpu)):
        if (cpu or 0) > _IPERF3_LAST_CPU:
            yield name, f"iperf3 knows the CPUs 0 to {_IPERF3_LAST_CPU}"
    if setup.dont_fragment and setup.ip_version == 6:
        yield "dont_fragment", "iperf3 sets it over IPv4 only"
    yield from faults_of_rate(stream, "iperf3")


def _iperf3_remarks(setup: ToolSetup) -> Iterator[str]:
    stream = stream_of(setup)
    if rate_of_each(stream) is not None:
        yield "sends what is due once a millisecond"
    if stream.streams > 1:
        yield "before iperf 3.16, its streams share one thread at each end"
    yield from remarks_on_receive_call(stream)


def _iperf3_server(trial: ToolTrial) -> tuple[str, ...]:
    return (
        *("iperf3", "-s", "-1", "-J", "-B", trial.server_address, "-p", str(trial.ports[0])),
        *option("-A", trial.setup.server_cpu),
    )


def _iperf3_client(trial: ToolTrial) -> tuple[str, ...]:
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
        *option("-P", several_streams(setup)),
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


def _iperf3_result(trial: ToolTrial, *, server: str, client: str) -> ToolResult:
    """The client's result; if the server received, with the values that the server counted: a
    client's counts of UDP messages are wrong with ``-O``.
    """
    result = last_result(parse_iperf3, client, "client")
    # The printed rate only repeats -b, which is the rate of each stream, not of all together.
    result = replace(result, settings=without("rate_bit_per_s", result.settings))
    is_failed = result.reason is not None and result.detail != NO_RATE
    if is_failed or stream_of(trial.setup).direction == "server-sends":
        return result
    try:
        counted = last_result(parse_iperf3, server, "server")
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


_OF_IPERF3 = OF_RATED_STREAMS | {
    *("warm_up_s", "interface", "source_port", "client_cpu", "server_cpu"),
}
IPERF3 = Tool(
    name="iperf3",
    version_words=("iperf3", "--version"),
    tried_version="3.12",
    serves_once=True,
    follows={
        ("stream", "TCP"): _OF_IPERF3 | {"congestion", "nodelay", "tcp_receive_call"},
        ("stream", "UDP"): _OF_IPERF3 | {"dont_fragment"},
    },
    limits=_iperf3_limits,
    remarks=_iperf3_remarks,
    server_words=_iperf3_server,
    client_words=_iperf3_client,
    result=_iperf3_result,
)
"""Streams over TCP and UDP, in either direction and in both at once. Throughput is what the
receiver counted."""


# ---- iperf 2 ----

_IPERF2_LEAST_S = 0.1
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


def _iperf2_limits(setup: ToolSetup) -> Iterator[SettingFault]:
    stream = stream_of(setup)
    is_udp, is_reverse = setup.protocol == "UDP", stream.direction == "server-sends"
    if stream.direction == "both":
        yield "direction", "the figures of iperf2 for both directions at once are not read"
    if not is_whole(100 * duration_of(setup)) or duration_of(setup) < _IPERF2_LEAST_S:
        yield "duration_s", f"iperf2 measures for {_IPERF2_LEAST_S:g} s and more, in steps of 10 ms"
    if is_udp:
        least = _IPERF2_UDP_REVERSE_LEAST_BYTES if is_reverse else _IPERF2_UDP_LEAST_BYTES
        of = " over UDP if the server sends" if is_reverse else " over UDP"
        yield from faults_of_size(setup, "iperf2", least, of=of)
    elif is_reverse or stream.tcp_receive_call is not None:
        of = " over TCP if the server sends" if is_reverse else " with `tcp_receive_call`"
        yield from faults_of_size(setup, "iperf2", _IPERF2_READ_LEAST_BYTES, of=of)
    if is_reverse and is_udp and stream.streams > 1:
        # Some of several streams receive nothing.
        yield "streams", "iperf2 has one stream over UDP if the server sends"
    if is_reverse and setup.socket_buffer_bytes is not None:
        yield (
            "socket_buffer_bytes",
            "iperf2 sets the client's send buffer and the server's receive buffer, which do "
            "not matter if the server sends",
        )
    if setup.source_port is not None and setup.ip_version == 6:
        yield "source_port", "iperf2 takes a source port over IPv4 only"
    yield from faults_of_rate(stream, "iperf2")


def _iperf2_remarks(setup: ToolSetup) -> Iterator[str]:
    stream = stream_of(setup)
    if setup.socket_buffer_bytes is not None:
        yield "sets the send buffer of the sender and the receive buffer of the receiver only"
    if stream.direction == "server-sends":
        yield from remarks_on_receive_call(stream)


def _iperf2_common(trial: ToolTrial) -> tuple[str, ...]:
    """Options of both ends. ``-f k`` asks for rates in kbit/s: in bit/s, high rates would have more
    digits than the importer reads.
    """
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


def _iperf2_server(trial: ToolTrial) -> tuple[str, ...]:
    setup = stream_of(trial.setup)
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


def _iperf2_client(trial: ToolTrial) -> tuple[str, ...]:
    setup = stream_of(trial.setup)
    rate = rate_of_each(setup)
    is_flat_out = rate is None and setup.protocol == "UDP"
    port = "" if setup.source_port is None else f":{setup.source_port}"
    return (
        # -c is the first option, because iperf forgets a -P that stands before it.
        *("iperf", "-c", trial.server_address, *_iperf2_common(trial)),
        *("-B", trial.client_address + port),
        *("-l", str(setup.message_bytes), "-t", decimal(duration_of(setup))),
        *option("-b", _IPERF2_FLAT_OUT if is_flat_out else rate),
        *option("-P", several_streams(setup)),
        *flag("-R", when=setup.direction == "server-sends"),
        *option("-w", setup.socket_buffer_bytes),
        *option("-S", traffic_class(setup)),
        *_iperf2_of_sender(setup, "client-sends"),
        *option("--connect-retries", _IPERF2_CONNECT_RETRIES if setup.protocol == "TCP" else None),
    )


def _iperf2_result(trial: ToolTrial, *, server: str, client: str) -> ToolResult:
    """The result that the receiver printed, with the rate that the sender printed."""
    setup = stream_of(trial.setup)
    texts = {"server": server, "client": client}
    to, by = ("client", "server") if setup.direction == "server-sends" else ("server", "client")
    result = _iperf2_parsed(texts[to], to)
    # iperf rounds the buffer size that it prints, so this size may differ from the requested one.
    result = replace(result, settings=without("socket_buffer_bytes", result.settings))
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
    return last_result(parse_iperf2, text, side)


_OF_IPERF2 = OF_RATED_STREAMS | {"source_port"}
IPERF2 = Tool(
    name="iperf2",
    version_words=("iperf", "--version"),
    tried_version="2.1.8",
    serves_once=True,
    follows={
        ("stream", "TCP"): _OF_IPERF2 | {"congestion", "nodelay", "tcp_receive_call"},
        ("stream", "UDP"): _OF_IPERF2,
    },
    limits=_iperf2_limits,
    remarks=_iperf2_remarks,
    server_words=_iperf2_server,
    client_words=_iperf2_client,
    result=_iperf2_result,
)
"""Streams over TCP and UDP, in either direction; versions before 2.1 cannot reverse a test (``-R``:
the server sends). The server ends by itself after as many connections as ``-P`` says. iperf accepts
a device such as ``%lo`` after an address, but does not bind the socket to it: no ``interface``."""
