"""Import: a run folder out of what ``iperf3 -J`` printed, on the client, the server, or both.

Throughput is the rate that the receiver counted, even if the sender printed it. The two outputs of
one test have the same cookie. The format is that of iperf 3.1 to 3.19 (``iperf_api.c``,
https://github.com/esnet/iperf); other versions are read as far as they are understood.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from netlab.imports.common.csv_table import fault_at
from netlab.imports.common.tool_results import (
    JSON,
    SYSTEM_ERRORS,
    ToolResult,
    bounded,
    ip_version_of,
    json_faults,
    reason_of_error,
    received_messages,
    time_of_epoch,
    tool_importer,
)
from netlab.trial.record import Value

_KNOWN = re.compile(r"iperf 3\.\d{1,2}(\D.*)?")
_SOLID = re.compile(r"\S")
NO_RATE = "iperf3 printed no rate of the receiver"
"""Error of an output that is complete except for this rate."""

_REASONS = {
    **SYSTEM_ERRORS,
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
    """The tests in an output, which has several if a server printed one after another. Raises
    MatrixError with the place where the text is not JSON.
    """
    results: list[ToolResult] = []
    end = 0
    while begin := _SOLID.search(text, end):
        at = begin.start()
        with json_faults(file, "iperf3", partial(_place, text, at)):
            document, end = JSON.raw_decode(text, at)
        if not isinstance(document, dict) or not {"start", "end", "error"} & document.keys():
            sentence = "not an output of iperf3 -J: no `start` and no `end`"
            raise fault_at(file, *_place(text, at), sentence)
        results.append(_result(_Iperf3Output(document), file))
    return tuple(results)


def _place(text: str, at: int) -> tuple[int, int]:
    """Line and column of an index in a text, from 1."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


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


def _result(output: _Iperf3Output, file: str) -> ToolResult:
    version = output.text("start.version")
    if version and not _KNOWN.fullmatch(version):
        output.unread.append(f"{version!r} is not known: read as far as it is understood")
    # Only a server prints the connection that it accepted.
    is_server = output.part("start.accepted_connection") is not None
    local, remote = _addresses(output)
    settings = _settings(output, local or remote)
    error = output.text("error")
    values = {} if error else dict(_values(output, settings, is_server=is_server))
    # If data flowed both ways, the figure of one direction is enough for a result.
    if not error and not any(name.endswith("throughput_bit_per_s") for name in values):
        error = NO_RATE
    return ToolResult(
        file=file,
        server=local if is_server else remote,
        client=remote if is_server else local,
        settings=settings,
        values=values,
        started_at=time_of_epoch(output.number("start.timestamp.timesecs", 253402300799)),
        identity=output.text("start.cookie"),
        reason=reason_of_error(error, _REASONS) if error else None,
        detail=error or None,
        unread=tuple(output.unread),
    )


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
    settings: dict[str, Value] = {}
    protocol = output.text(f"{_START}.protocol")
    if protocol in ("TCP", "UDP"):
        settings["protocol"] = protocol
    elif protocol:
        output.unread.append(f"the protocol {protocol!r} is not known")
    for name, path, most, kind in _SETTINGS:
        if number := output.number(path, most):
            settings[name] = kind(number)
    rate = output.number(f"{_START}.target_bitrate") or output.number("start.target_bitrate")
    if rate:
        settings["rate_bit_per_s"] = rate
    if service := output.number(f"{_START}.tos", 255):
        settings["dscp"] = int(service) >> 2
    both = output.part("end.sum_received_bidir_reverse") is not None
    if both or output.number(f"{_START}.bidir", 1):
        settings["direction"] = "both"
    else:
        is_reverse = output.number(f"{_START}.reverse", 1)
        settings["direction"] = "server-sends" if is_reverse else "client-sends"
    if version := ip_version_of(address):
        settings["ip_version"] = version
    return settings


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
    is_receiver = is_server != (direction == "server-sends")
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
        for name in totals:
            number = counts.number(f"sum.{name}", 2**53)
            if number is None:
                return
            totals[name] += number
    if not totals["seconds"]:
        return
    output.unread.append(
        "this version prints no total of the receiver: the figures are the sum of its intervals"
    )
    yield "throughput_bit_per_s", 8 * totals["bytes"] / totals["seconds"]
    yield "elapsed_ns", round(1e9 * totals["seconds"])
    yield from received_messages(totals["packets"], totals["lost_packets"]).items()


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
        if seconds := output.number(f"{receiving}.seconds", _MOST_SECONDS):
            yield f"{prefix}elapsed_ns", round(1e9 * seconds)
        packets, losses = (
            output.number(f"{receiving}.{name}", 2**53) for name in ("packets", "lost_packets")
        )
        counts = received_messages(packets, losses, prefix)
        yield from counts.items()
        jitter_ms = output.number(f"{receiving}.jitter_ms", 1e9) if counts else None
        if jitter_ms is not None:
            yield f"{prefix}receiver_jitter_ns", round(1e6 * jitter_ms)
    if sent:
        rate = output.number(f"{sending}.bits_per_second")
        if rate is not None:
            yield f"{prefix}sent_bit_per_s", rate
        congestion = output.text("end.sender_tcp_congestion")
        if congestion and not suffix:
            yield f"{prefix}sender_congestion", congestion


IMPORTER = tool_importer(
    parse_iperf3,
    """Make a run folder out of what iperf3 -J printed, and its report.

    FILES are outputs of clients or servers, or folders of them. The two outputs of one test are
    one trial. Tests with the same settings between the same hosts are trials of one cell.
    """,
)
