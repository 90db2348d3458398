"""Import: a run folder out of what ``iperf3 -J`` printed, on the client, the server, or both.

Throughput is the rate that the receiver counted, even if the sender printed it. The two outputs of
one test have the same cookie. The format is that of iperf 3.1 to 3.19 (``iperf_api.c``,
https://github.com/esnet/iperf); other versions are read as far as they are understood.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from netlab.errors import place
from netlab.imports.common import tool_results
from netlab.imports.common.csv_table import fault_at
from netlab.imports.common.tool_results import Output, ToolResult
from netlab.trial.record import Value

_KNOWN = re.compile(r"iperf 3\.\d{1,2}(\D.*)?")
_SOLID = re.compile(r"\S")
NO_RATE = "iperf3 printed no rate of the receiver"
"""Error of an output that is complete except for this rate."""

_REASONS = {
    **tool_results.SYSTEM_ERRORS,
    "timeout": "connect-timeout",
    "server has terminated": "peer-vanished",
    "control socket has closed": "peer-vanished",
    "interrupt": "interrupted",
}

_MOST_BYTES, _MOST_SECONDS = 2**40, 1e7
_START = "start.test_start"
_SETTINGS: tuple[tuple[str, str, float, type[int] | type[float]], ...] = (
    ("message_bytes", f"{_START}.blksize", _MOST_BYTES, int),
    ("streams", f"{_START}.num_streams", _MOST_BYTES, int),
    ("count", f"{_START}.blocks", _MOST_BYTES, int),
    ("duration_s", f"{_START}.duration", _MOST_SECONDS, float),
    ("warm_up_s", f"{_START}.omit", _MOST_SECONDS, float),
    ("socket_buffer_bytes", "start.sock_bufsize", _MOST_BYTES, int),
)
"""Setting, its path, the largest number, its type. iperf3 prints 0 for what is not set."""


def parse_iperf3(text: str, file: str) -> tuple[ToolResult, ...]:
    """The tests in an output: several if a server printed them. MatrixError: it is not JSON."""
    results: list[ToolResult] = []
    end = 0
    while begin := _SOLID.search(text, end):
        at = begin.start()
        with tool_results.json_faults(file, "iperf3", partial(place, text, at)):
            document, end = tool_results.JSON.raw_decode(text, at)
        if not isinstance(document, dict) or not {"start", "end", "error"} & document.keys():
            sentence = "not an output of iperf3 -J: no `start` and no `end`"
            raise fault_at(file, *place(text, at), sentence)
        results.append(_result(_Iperf3Output(document, file)))
    return tuple(results)


class _Iperf3Output(Output):
    """The parts of one JSON document."""

    def __init__(self, document: Mapping[str, Any], file: str) -> None:
        super().__init__(file)
        self._document = document
        # Only a server prints the connection that it accepted.
        self.is_server = self.part("start.accepted_connection") is not None

    def part(self, path: str) -> Any:
        """The part at a path such as ``end.sum``; ``None`` if it is absent."""
        part: Any = self._document
        for name in path.split("."):
            if not isinstance(part, Mapping):
                return None
            part = part.get(name)
        return part

    def figure(self, path: str, most: float = 1e15) -> float | None:
        """A number from 0 to ``most``; ``None`` if absent, or if it is any other value (noted)."""
        value = self.part(path)
        if value is None:
            return None
        number = tool_results.bounded(value, 0.0, most)
        if number is None:
            self.unread.append(f"`{path}` is left out: {str(value)[:40]!r} {self.fault}")
        return number

    def text(self, name: str) -> str:
        """A short text at a path; empty if it is absent."""
        value = self.part(name)
        return value[:200] if isinstance(value, str) else ""


def _result(output: _Iperf3Output) -> ToolResult:
    version = output.text("start.version")
    if version and not _KNOWN.fullmatch(version):
        output.unread.append(f"{version!r} {tool_results.NOT_KNOWN}")
    connections = output.part("start.connected")
    first = connections[0] if isinstance(connections, list) and connections else {}
    local, remote = "", ""
    if isinstance(first, Mapping):
        ends = (first.get("local_host"), first.get("remote_host"))
        local, remote = (end if isinstance(end, str) else "" for end in ends)
        if not isinstance(ends[1], str):
            remote = output.text("start.connecting_to.host")
    settings = _settings(output, local or remote)
    error = output.text("error")
    values = {} if error else _values(output, settings)
    # If data flowed both ways, the figure of one direction is enough for a result.
    if not error and not any(name.endswith("throughput_bit_per_s") for name in values):
        error = NO_RATE
    seconds = output.figure("start.timestamp.timesecs", 253402300799)
    result = output.result(
        settings,
        values,
        tool_results.failed(error, _REASONS) if error else (None, None),
        server=local if output.is_server else remote,
        client=remote if output.is_server else local,
        started_at=tool_results.time_of_epoch(seconds),
        identity=output.text("start.cookie"),
    )
    # The values stay beside an error: those of the other side may complete them.
    return replace(result, values=values)


def _settings(output: _Iperf3Output, address: str) -> dict[str, Value]:
    settings: dict[str, Value] = {}
    protocol = output.text(f"{_START}.protocol")
    if protocol in ("TCP", "UDP"):
        settings["protocol"] = protocol
    elif protocol:
        output.unread.append(f"the protocol {protocol!r} is not known")
    for name, path, most, kind in _SETTINGS:
        if (number := output.figure(path, most)) is not None:
            settings |= tool_results.requested(**{name: kind(number)})
    rate = output.figure(f"{_START}.target_bitrate") or output.figure("start.target_bitrate")
    settings |= tool_results.requested(rate_bit_per_s=rate)
    if service := output.figure(f"{_START}.tos", 255):
        settings["dscp"] = int(service) >> 2
    both = output.part("end.sum_received_bidir_reverse") is not None
    if both or output.figure(f"{_START}.bidir", 1):
        settings["direction"] = "both"
    else:
        is_reverse = output.figure(f"{_START}.reverse", 1)
        settings["direction"] = "server-sends" if is_reverse else "client-sends"
    return settings | tool_results.requested(ip_version=tool_results.ip_version_of(address))


def _values(output: _Iperf3Output, settings: Mapping[str, Value]) -> dict[str, Value]:
    """Each side has its own counts; the client also gets the server's counts."""
    names = ("start.tcp_mss", "start.tcp_mss_default")
    mss_bytes = next(filter(None, (output.figure(name, 65535) for name in names)), None)
    values = tool_results.requested(mss_bytes=mss_bytes and int(mss_bytes))
    if settings.get("protocol") != "TCP":
        values.clear()
    if settings["direction"] == "both":
        values |= _flow(output, "to_server_", "", to_server=True)
        return values | _flow(output, "to_client_", "_bidir_reverse", to_server=False)
    to_server = settings["direction"] == "client-sends"
    values |= _flow(output, "", "", to_server=to_server)
    if output.is_server == to_server and output.part("end.sum_received") is None:
        values |= _of_intervals(output)
    return values


def _of_intervals(output: _Iperf3Output) -> dict[str, Value]:
    """The receiver's counts, as the sum of the intervals after the warm-up. Over UDP, iperf3 before
    3.11 prints one total with the rate of the sender, which is not read.
    """
    intervals = output.part("intervals")
    totals = {"bytes": 0.0, "seconds": 0.0, "packets": 0.0, "lost_packets": 0.0}
    for interval in intervals if isinstance(intervals, list) else ():
        counts = _Iperf3Output(interval if isinstance(interval, Mapping) else {}, output.file)
        if counts.part("sum.omitted") is True:
            continue
        for name in totals:
            number = counts.figure(f"sum.{name}", 2**53)
            if number is None:
                return {}
            totals[name] += number
    if not totals["seconds"]:
        return {}
    output.unread.append(
        "this version prints no total of the receiver: the figures are the sum of its intervals"
    )
    return {
        "throughput_bit_per_s": 8 * totals["bytes"] / totals["seconds"],
        **tool_results.measured(elapsed_ns=tool_results.in_ns(totals["seconds"])),
        **tool_results.received_messages(totals["packets"], totals["lost_packets"]),
    }


def _flow(output: _Iperf3Output, flow: str, suffix: str, *, to_server: bool) -> dict[str, Value]:
    """The values of one direction. A server does not know the client's counts, and prints zeros for
    them.
    """
    values: dict[str, Value] = {}
    if to_server or not output.is_server:
        total = f"end.sum_received{suffix}"
        values |= tool_results.measured(
            flow,
            throughput_bit_per_s=output.figure(f"{total}.bits_per_second"),
            elapsed_ns=tool_results.in_ns(output.figure(f"{total}.seconds", _MOST_SECONDS)),
        )
        packets, losses = (
            output.figure(f"{total}.{name}", 2**53) for name in ("packets", "lost_packets")
        )
        if counts := tool_results.received_messages(packets, losses, flow):
            jitter_ms = output.figure(f"{total}.jitter_ms", 1e9)
            jitter_ns = None if jitter_ms is None else round(1e6 * jitter_ms)
            values |= counts | tool_results.measured(flow, receiver_jitter_ns=jitter_ns)
    if not (output.is_server and to_server):
        rate = output.figure(f"end.sum_sent{suffix}.bits_per_second")
        values |= tool_results.measured(flow, sent_bit_per_s=rate)
        if congestion := "" if suffix else output.text("end.sender_tcp_congestion"):
            values[f"{flow}sender_congestion"] = congestion
    return values


IMPORTER = tool_results.tool_importer(
    parse_iperf3,
    "what iperf3 -J printed",
    "outputs of clients or servers, or folders of them. The two outputs of one test are one trial.",
)
