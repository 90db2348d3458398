"""Measuring with iperf (version 2): its command lines, and how its output is read. No I/O.

Tried with iperf 2.1.8 over IPv4 and IPv6; versions before 2.1 cannot reverse a test
(``-R``: the server sends). Throughput is what the receiver printed: the server, or with ``-R`` the
client. The server ends by itself after as many connections as ``-P`` says.

netlab refuses what does not work in 2.1.8:

- ``-w`` with ``-R``: in both directions iperf sets the client's send buffer and the server's
  receive buffer, and with ``-R`` the opposite buffers matter
- several UDP streams with ``-R``: some of them receive nothing
- a source port over IPv6
- a device: iperf accepts ``%lo`` after an address, but does not bind the socket to it

``-N`` and ``-Z`` have an effect only at the end that sends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from netlab.errors import MatrixError
from netlab.experiment.feasibility import SettingFault
from netlab.experiment.kinds import Stream
from netlab.imports.common.tool_result import NOT_RECORDED, ToolResult
from netlab.imports.iperf2 import parse_iperf2
from netlab.measurement.tools.tool import (
    FOR_BOTH,
    Setup,
    ToolTrial,
    duration_of,
    fault_of_size,
    faults_of_rate,
    flag,
    is_whole,
    only,
    option,
    rate_of_each,
    remarks_on_receive_call,
    stream_of,
    traffic_class,
)
from netlab.remote.protocol import decimal

_OF_STREAMS = FOR_BOTH | {
    *("socket_buffer_bytes", "dscp", "source_port"),
    *("direction", "streams", "rate_bit_per_s", "message_rate_per_s"),
}

LEAST_S = 0.1
UDP_LEAST_BYTES = 12
"""Length of the sequence number and the time that iperf writes into each message."""
UDP_REVERSE_LEAST_BYTES = 68
"""With ``-R``, the first message also carries the request to the server. A shorter message holds
only a part of the request; the server then sends at another rate or not at all."""
READ_LEAST_BYTES = 8
"""If a receive call over TCP takes fewer bytes, iperf divides by zero and crashes."""
FLAT_OUT = "1000g"
"""A rate that no host reaches, so that UDP is sent as fast as possible. Over UDP, iperf refuses the
rate 0, and without a rate it sends 1 Mbit/s."""
CONNECT_RETRIES = 3
"""Number of further tries of a TCP client to connect, 0.2 s apart. Without them the client would
end with the exit code 0 if the server does not listen yet."""

_HEADS = ("Client connecting to", "Server listening on")
_REORDER = "datagrams received out-of-order"
"""The end of a line that the importer (``netlab.imports.iperf2``) does not know."""
_STARRED_PEER = re.compile(r"(?m)^\[ *\*[0-9]+\] local ")
_STARRED_ROW = re.compile(r"(?m)^\[( *)\*([0-9]+)\](?= )")


class Iperf2Tool:
    """iperf 2: streams over TCP and UDP, in either direction."""

    name = "iperf2"
    version_words = ("iperf", "--version")
    tried_version = "2.1.8"
    serves_once = True
    follows: Mapping[tuple[str, str], frozenset[str]] = {
        ("stream", "TCP"): _OF_STREAMS | {"congestion", "nodelay", "tcp_receive_call"},
        ("stream", "UDP"): _OF_STREAMS,
    }

    def limits(self, setup: Setup) -> Iterator[SettingFault]:
        """The settings whose values the tool cannot follow, each with a sentence that says why."""
        stream = stream_of(setup)
        is_udp, is_reverse = setup.protocol == "UDP", stream.direction == "server-sends"
        if stream.direction == "both":
            yield "direction", "the figures of iperf2 for both directions at once are not read"
        if not is_whole(100 * duration_of(setup)) or duration_of(setup) < LEAST_S:
            yield "duration_s", f"iperf2 measures for {LEAST_S:g} s and more, in steps of 10 ms"
        if is_udp:
            least = UDP_REVERSE_LEAST_BYTES if is_reverse else UDP_LEAST_BYTES
            yield from fault_of_size(setup, self.name, least, of=_over_udp(stream))
        elif is_reverse or stream.tcp_receive_call is not None:
            of = " over TCP if the server sends" if is_reverse else " with `tcp_receive_call`"
            yield from fault_of_size(setup, self.name, READ_LEAST_BYTES, of=of)
        if is_reverse and is_udp and stream.streams > 1:
            yield "streams", "iperf2 has one stream over UDP if the server sends"
        if is_reverse and setup.socket_buffer_bytes is not None:
            yield (
                "socket_buffer_bytes",
                "iperf2 sets the client's send buffer and the server's receive buffer, which do "
                "not matter if the server sends",
            )
        if setup.source_port is not None and setup.ip_version == 6:
            yield "source_port", "iperf2 takes a source port over IPv4 only"
        yield from faults_of_rate(stream, self.name)

    def remarks(self, setup: Setup) -> Iterator[str]:
        """Sentences that state what the tool does differently from the settings."""
        stream = stream_of(setup)
        if setup.socket_buffer_bytes is not None:
            yield "sets the send buffer of the sender and the receive buffer of the receiver only"
        if stream.direction == "server-sends":
            yield from remarks_on_receive_call(stream)

    def server_words(self, trial: ToolTrial) -> tuple[str, ...]:
        """The program and its arguments at the server."""
        setup = stream_of(trial.setup)
        # Over UDP, the server would cut messages longer than its -l. Over TCP, it reads 128 KiB a
        # call without -l; the matrix may ask for one message a call instead.
        has_size = setup.protocol == "UDP" or setup.tcp_receive_call is not None
        return (
            *("iperf", "-s", *_common(trial), "-B", trial.server_address),
            *("-P", str(setup.streams)),
            *option("-l", setup.message_bytes if has_size else None),
            *option("-w", setup.socket_buffer_bytes),
            *_of_sender(setup, "server-sends"),
        )

    def client_words(self, trial: ToolTrial) -> tuple[str, ...]:
        """The program and its arguments at the client."""
        setup = stream_of(trial.setup)
        rate = rate_of_each(setup)
        is_flat_out = rate is None and setup.protocol == "UDP"
        source = trial.client_address
        if setup.source_port is not None:
            source += f":{setup.source_port}"
        return (
            # -c is the first option, because iperf forgets a -P that stands before it.
            *("iperf", "-c", trial.server_address, *_common(trial), "-B", source),
            *("-l", str(setup.message_bytes), "-t", decimal(duration_of(setup))),
            *option("-b", FLAT_OUT if is_flat_out else rate),
            *option("-P", setup.streams if setup.streams > 1 else None),
            *flag("-R", when=setup.direction == "server-sends"),
            *option("-w", setup.socket_buffer_bytes),
            *option("-S", traffic_class(setup.dscp)),
            *_of_sender(setup, "client-sends"),
            *option("--connect-retries", CONNECT_RETRIES if setup.protocol == "TCP" else None),
        )

    def result(self, trial: ToolTrial, *, server: str, client: str) -> ToolResult:
        """The result that the receiver printed, with the rate that the sender printed.

        Raises MatrixError if what the receiver printed is not the output of iperf 2.
        """
        setup = stream_of(trial.setup)
        texts = {"server": server, "client": client}
        to, by = ("client", "server") if setup.direction == "server-sends" else ("server", "client")
        result = _parsed(texts[to], to)
        # iperf rounds the buffer size that it prints, so this size may differ from the requested
        # one.
        settings = {name: v for name, v in result.settings.items() if name != "socket_buffer_bytes"}
        result = replace(result, settings=settings)
        if result.reason is not None:
            return result
        if result.settings["streams"] != setup.streams:
            detail = f"{result.settings['streams']} of {setup.streams} streams are there"
            return replace(result, values={}, reason=NOT_RECORDED, detail=detail)
        try:
            sent = _parsed(texts[by], by).values.get("sent_bit_per_s")
        except MatrixError:
            sent = None
        values = result.values if sent is None else {"sent_bit_per_s": sent, **result.values}
        return replace(result, values=values)


def _over_udp(setup: Stream) -> str:
    is_reverse = setup.direction == "server-sends"
    return " over UDP if the server sends" if is_reverse else " over UDP"


def _common(trial: ToolTrial) -> tuple[str, ...]:
    """Options of both ends. ``-f k`` asks for rates in kbit/s: in bit/s, high rates would have more
    digits than the importer reads.
    """
    return (
        *flag("-u", when=trial.setup.protocol == "UDP"),
        *flag("-V", when=trial.setup.ip_version == 6),
        *("-p", str(trial.ports[0]), "-f", "k"),
    )


def _of_sender(setup: Stream, direction: str) -> tuple[str, ...]:
    """Options that work only at the end that sends: a client that receives refuses ``-Z``."""
    if setup.direction != direction:
        return ()
    return (*flag("-N", when=setup.nodelay), *option("-Z", setup.congestion))


def _parsed(text: str, side: str) -> ToolResult:
    """The result in an output, which is first brought into a form that the importer can read."""
    lines = [
        line for line in text.splitlines(keepends=True) if not line.rstrip().endswith(_REORDER)
    ]
    head = next((at for at, line in enumerate(lines) if line.startswith(_HEADS)), 0)
    # With several streams, the line of the first stream may come before the heading.
    text = "".join((*lines[head : head + 1], *lines[:head], *lines[head + 1 :]))
    if not _STARRED_PEER.search(text):
        # With -R, 2.1.8 marks the rows of a stream with a star, but not the line that names it.
        text = _STARRED_ROW.sub(r"[\1 \2]", text)
    return only(parse_iperf2(text, side), side)


IPERF2 = Iperf2Tool()
