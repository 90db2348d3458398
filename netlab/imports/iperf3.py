"""Import: a run folder out of what ``iperf3 -J`` printed, on the client, the server, or both.

Throughput is the rate that the receiver counted, even if the sender printed it. If the output has
neither this rate nor the receiver's intervals, there is no throughput. A file may have several
tests, because a server prints one after another. The two outputs of one test have the same cookie.
The format is that of iperf 3.1 to 3.19 (``iperf_api.c``, https://github.com/esnet/iperf); other
versions are read as far as they are understood.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

from netlab.errors import Fault, MatrixError
from netlab.imports import Importer
from netlab.imports.common.tool_results import (
    TOOL_OPTIONS,
    ToolResult,
    bounded,
    import_results,
    ip_version_of,
    reason_of_error,
)
from netlab.trial.record import Value, utc_text

_KNOWN = re.compile(r"iperf 3\.\d{1,2}(\D.*)?")
NO_RATE = "iperf3 printed no rate of the receiver"
"""Error of an output that is complete except for this rate."""

_REASONS = {
    "connection refused": "connect-refused",
    "no route to host": "unreachable",
    "network is unreachable": "unreachable",
    "timed out": "connect-timeout",
    "timeout": "connect-timeout",
    "address already in use": "address-in-use",
    "server has terminated": "peer-vanished",
    "connection reset": "peer-vanished",
    "control socket has closed": "peer-vanished",
    "interrupt": "interrupted",
}
"""Words in an error of iperf3 → the reason."""

_LATEST_S = 253402300799
"""The end of the year 9999."""


def parse_iperf3(text: str, file: str) -> tuple[ToolResult, ...]:
    """The tests in an output. No I/O. Raises MatrixError with the place where it is not JSON."""
    return tuple(_result(document, file) for document in _documents(text, file))


def _documents(text: str, file: str) -> Iterator[Mapping[str, Any]]:
    """The JSON objects in a text, one after another."""
    decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    at = _next(text, 0)
    while at < len(text):
        try:
            document, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise _fault(text, file, error.pos, f"not JSON: {error.msg}") from None
        except (ValueError, RecursionError) as error:
            sentence = "nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise _fault(text, file, at, f"not JSON of iperf3: {sentence}") from None
        if not isinstance(document, dict) or not {"start", "end", "error"} & document.keys():
            raise _fault(text, file, at, "not an output of iperf3 -J: no `start` and no `end`")
        yield document
        at = _next(text, end)


def _next(text: str, at: int) -> int:
    """The first index from ``at`` on that is not white space."""
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a number")


def _fault(text: str, file: str, at: int, sentence: str) -> MatrixError:
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    return MatrixError([Fault(file, line, column, "", sentence)])


class _Iperf3Output:
    """The parts of one JSON document. ``unread`` has sentences about what is not understood."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self.unread: list[str] = []

    def part(self, path: str) -> Any:
        """The part at a path such as ``end.sum``; ``None`` if it is absent."""
        part: Any = self._document
        for name in path.split("."):
            if not isinstance(part, Mapping):
                return None
            part = part.get(name)
        return part

    def number(self, path: str, most: float = 1e15) -> float | None:
        """A number from 0 to ``most``; ``None`` if it is absent. Any other value gives ``None`` and
        is noted in ``unread``.
        """
        value = self.part(path)
        if value is None:
            return None
        number = bounded(value, 0.0, most)
        if number is None:
            self.unread.append(f"`{path}` is left out: {str(value)[:40]!r} is out of range")
        return number

    def text(self, path: str) -> str:
        """A short text; empty if it is absent."""
        value = self.part(path)
        return value[:200] if isinstance(value, str) else ""


def _result(document: Mapping[str, Any], file: str) -> ToolResult:
    output = _Iperf3Output(document)
    version = output.text("start.version")
    if version and not _KNOWN.fullmatch(version):
        output.unread.append(f"{version!r} is not known: read as far as it is understood")
    is_server = _is_server(output)
    local, remote = _addresses(output)
    settings = _settings(output, local or remote)
    values = {} if output.text("error") else dict(_values(output, settings, is_server=is_server))
    error = output.text("error")
    if not error and "throughput_bit_per_s" not in values:
        # If data flowed both ways, the figure of one direction is enough for a result.
        has_flow = any(name.endswith("_throughput_bit_per_s") for name in values)
        error = "" if has_flow else NO_RATE
    reason = None if not error else reason_of_error(error, _REASONS)
    return ToolResult(
        file=file,
        test="stream",
        server=local if is_server else remote,
        client=remote if is_server else local,
        settings=settings,
        values=values,
        started_at=_started_at(output),
        identity=output.text("start.cookie"),
        reason=reason,
        detail=error or None,
        unread=tuple(output.unread),
    )


def _is_server(output: _Iperf3Output) -> bool:
    """Whether a server printed the output: only a server prints the connection that it accepted."""
    return output.part("start.accepted_connection") is not None


def _addresses(output: _Iperf3Output) -> tuple[str, str]:
    """The local and the remote address of the first connection; empty if there is none."""
    connections = output.part("start.connected")
    first = connections[0] if isinstance(connections, list) and connections else {}
    if not isinstance(first, Mapping):
        return "", ""
    local, remote = (first.get(f"{side}_host") for side in ("local", "remote"))
    if not isinstance(remote, str):
        remote = output.text("start.connecting_to.host")
    return (local if isinstance(local, str) else ""), remote


def _settings(output: _Iperf3Output, address: str) -> dict[str, Value]:
    """What was requested, as far as the output states it."""
    start = "start.test_start"
    settings: dict[str, Value] = {}
    protocol = output.text(f"{start}.protocol")
    if protocol in ("TCP", "UDP"):
        settings["protocol"] = protocol
    elif protocol:
        output.unread.append(f"the protocol {protocol!r} is not known")
    for name, path in (
        ("message_bytes", "blksize"),
        ("streams", "num_streams"),
        ("count", "blocks"),
    ):
        number = output.number(f"{start}.{path}", 2**40)
        if number:
            settings[name] = int(number)
    for name, path in (("duration_s", "duration"), ("warm_up_s", "omit")):
        number = output.number(f"{start}.{path}", 1e7)
        if number:
            settings[name] = number
    buffer_bytes = output.number("start.sock_bufsize", 2**40)
    if buffer_bytes:
        settings["socket_buffer_bytes"] = int(buffer_bytes)
    rate = output.number(f"{start}.target_bitrate") or output.number("start.target_bitrate")
    if rate:
        settings["rate_bit_per_s"] = rate
    service = output.number(f"{start}.tos", 255)
    if service:
        settings["dscp"] = int(service) >> 2
    settings["direction"] = _direction(output)
    if version := ip_version_of(address):
        settings["ip_version"] = version
    return settings


def _direction(output: _Iperf3Output) -> str:
    both = output.part("end.sum_received_bidir_reverse") is not None
    if both or output.number("start.test_start.bidir", 1):
        return "both"
    return "server-sends" if output.number("start.test_start.reverse", 1) else "client-sends"


def _values(
    output: _Iperf3Output, settings: Mapping[str, Value], *, is_server: bool
) -> Iterator[tuple[str, Value]]:
    """What was measured. Each side has its own counts; the client also gets the server's counts."""
    mss_bytes = output.number("start.tcp_mss", 65535) or output.number(
        "start.tcp_mss_default", 65535
    )
    if mss_bytes and settings.get("protocol") == "TCP":
        yield "mss_bytes", int(mss_bytes)
    direction = settings["direction"]
    if direction == "both":
        yield from _flow(output, "to_server_", "", sent=not is_server, received=True)
        yield from _flow(output, "to_client_", "_bidir_reverse", sent=True, received=not is_server)
        return
    server_sends = direction == "server-sends"
    is_receiver = is_server != server_sends
    sent, received = not (is_server and is_receiver), not is_server or is_receiver
    yield from _flow(output, "", "", sent=sent, received=received)
    if is_receiver and output.part("end.sum_received") is None:
        yield from _of_intervals(output)


def _of_intervals(output: _Iperf3Output) -> Iterator[tuple[str, Value]]:
    """What the receiver counted, as the sum of its intervals without those of the warm-up.

    Over UDP, iperf3 before 3.11 prints one total, which has the rate of the sender. This
    total is not read.
    """
    intervals = output.part("intervals")
    totals = {"bytes": 0.0, "seconds": 0.0, "packets": 0.0, "lost_packets": 0.0}
    for interval in intervals if isinstance(intervals, list) else ():
        counts = _Iperf3Output(interval if isinstance(interval, Mapping) else {})
        if counts.part("sum.omitted") is True:
            continue
        numbers = {name: counts.number(f"sum.{name}", 2**53) for name in totals}
        if None in numbers.values():
            return
        totals = {name: total + (numbers[name] or 0.0) for name, total in totals.items()}
    if not totals["seconds"]:
        return
    output.unread.append(
        "this version prints no total of the receiver: the figures are the sum of its intervals"
    )
    yield "throughput_bit_per_s", 8 * totals["bytes"] / totals["seconds"]
    yield "elapsed_ns", round(1e9 * totals["seconds"])
    if totals["lost_packets"] <= totals["packets"]:
        yield "received_messages", int(totals["packets"] - totals["lost_packets"])
        yield "lost_messages", int(totals["lost_packets"])
        yield "sent_messages", int(totals["packets"])


def _flow(
    output: _Iperf3Output, prefix: str, suffix: str, *, sent: bool, received: bool
) -> Iterator[tuple[str, Value]]:
    """The values of one direction. ``sent`` and ``received`` state whether this side knows the
    sender's and the receiver's counts. It prints zeros for counts that it does not know.
    """
    receiving, sending = f"end.sum_received{suffix}", f"end.sum_sent{suffix}"
    if received:
        rate = output.number(f"{receiving}.bits_per_second")
        if rate is not None:
            yield f"{prefix}throughput_bit_per_s", rate
        seconds = output.number(f"{receiving}.seconds", 1e7)
        if seconds:
            yield f"{prefix}elapsed_ns", round(1e9 * seconds)
        packets, lost = (
            output.number(f"{receiving}.{name}", 2**53) for name in ("packets", "lost_packets")
        )
        if packets is not None and lost is not None and lost <= packets:
            yield f"{prefix}received_messages", int(packets - lost)
            yield f"{prefix}lost_messages", int(lost)
            yield f"{prefix}sent_messages", int(packets)
            jitter_ms = output.number(f"{receiving}.jitter_ms", 1e9)
            if jitter_ms is not None:
                yield f"{prefix}receiver_jitter_ns", round(1e6 * jitter_ms)
    if sent:
        rate = output.number(f"{sending}.bits_per_second")
        if rate is not None:
            yield f"{prefix}sent_bit_per_s", rate
        congestion = output.text("end.sender_tcp_congestion")
        if congestion and not suffix:
            yield f"{prefix}sender_congestion", congestion


def _started_at(output: _Iperf3Output) -> str:
    seconds = output.number("start.timestamp.timesecs", _LATEST_S)
    if seconds is None:
        return ""
    return utc_text(datetime.fromtimestamp(seconds, UTC))


import_iperf3 = partial(import_results, parse=parse_iperf3)
"""Makes a run folder; the arguments are those of ``import_results``."""

IMPORTER = Importer(
    read=import_iperf3,
    is_of_files=True,
    help="""Make a run folder out of what iperf3 -J printed, and its report.

    FILES are outputs of clients or servers, or folders of them. The two outputs of one test are
    one trial. Tests with the same settings between the same hosts are trials of one cell.
    """,
    options=TOOL_OPTIONS,
)
