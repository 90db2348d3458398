"""Import: a run folder out of what ``netperf`` printed on the client.

This import reads the classic tables of TCP_STREAM, TCP_MAERTS, UDP_STREAM, TCP_RR, UDP_RR and
TCP_CRR (which becomes a test ``connect``). It also reads omni tests as keys (``-k``), as CSV
(``-o``) and as columns (``-O``). A file may have several outputs. CPU load and service demand, the
socket buffers that the system chose, and the latencies of a stream (times of its send calls) are
left out. An omni output without the key PROTOCOL does not state whether it is TCP or UDP, so it
becomes no record.

netperf prints bits in powers of ten and bytes in powers of 1024 (``netlib.c``). The
throughput of a stream is what the receiver counted. With ``-N``, and in TCP_STREAM before 2.5,
netperf prints the sender's figure instead, and it is imported as the sender's. The start time comes
from the first interim result (``-D``). The format is that of netperf 2.4 to 2.7
(``nettest_omni.c``, https://github.com/HewlettPackard/netperf); no output states its version.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial

from netlab.experiment.records import Value
from netlab.imports import Importer
from netlab.imports.common.netperf_output import NetperfOutput, outputs
from netlab.imports.common.tool_result import ToolResult
from netlab.imports.common.tool_results import (
    TOOL_OPTIONS,
    import_results,
    ip_version_of,
    reason_of_error,
)

_TESTS: Mapping[str, tuple[str, str]] = {
    "Send": ("stream", "client-sends"),
    "Receive": ("stream", "server-sends"),
    "Send|Recv": ("round_trip", ""),
    "Connect|Send|Recv": ("connect", ""),
}
"""Direction, as omni prints it → netlab's kind of test, and the direction if it is a stream."""

_TITLES: Mapping[str, tuple[str, str]] = {
    "TCP STREAM": ("TCP", "Send"),
    "TCP SENDFILE": ("TCP", "Send"),
    "TCP MAERTS": ("TCP", "Receive"),
    "UDP STREAM": ("UDP", "Send"),
    "UDP UNIDIRECTIONAL SEND": ("UDP", "Send"),
    "TCP REQUEST/RESPONSE": ("TCP", "Send|Recv"),
    "UDP REQUEST/RESPONSE": ("UDP", "Send|Recv"),
    "TCP Connect/Request/Response": ("TCP", "Connect|Send|Recv"),
    **{f"OMNI {direction}": ("", direction) for direction in _TESTS},
}
"""Title in a banner → protocol, and direction as omni prints it."""

_FLAGS = re.compile(
    r"|\+/-.*|nodelay|copy avoidance|no control|histogram|(?:spin )?interval|dirty data|demo"
    r"|first burst -?[0-9]{1,9}|cpu bind"
)
_BURST = re.compile(r" : first burst ([0-9]{1,6})(?: |$)")
_DURATION = re.compile(r" -l ?([1-9][0-9]{0,8})(?: |$)")
_SERVICE = re.compile(r"0x([0-9a-f]{2})")

_LATENCIES: Mapping[str, str] = {
    "rtt_min_ns": "MIN_LATENCY",
    "rtt_max_ns": "MAX_LATENCY",
    "rtt_p50_ns": "P50_LATENCY",
    "rtt_p90_ns": "P90_LATENCY",
    "rtt_p99_ns": "P99_LATENCY",
}

_FIGURES = ("throughput_bit_per_s", "sent_bit_per_s", "transactions_per_s", "rtt_mean_ns")
"""A test has a result if it has one of these values, and if the first one that it has is not 0."""

_REASONS = {
    "connection refused": "connect-refused",
    "no route to host": "unreachable",
    "network is unreachable": "unreachable",
    "timed out": "connect-timeout",
    "address already in use": "address-in-use",
    "cannot assign requested address": "address-not-available",
    "connection reset": "peer-vanished",
    "partial response": "peer-vanished",
    "broken pipe": "peer-vanished",
    "message too long": "message-too-long",
    "no buffer space": "no-buffers",
    "permission denied": "permission-denied",
    "not permitted": "permission-denied",
    "interrupt": "interrupted",
}
"""Words in an error of netperf → the reason."""


def parse_netperf(text: str, file: str) -> tuple[ToolResult, ...]:
    """The tests in an output. No I/O. Raises MatrixError if the text is not netperf's."""
    return tuple(_result(output, file) for output in outputs(text, file))


def _result(output: NetperfOutput, file: str) -> ToolResult:
    protocol, test, direction = _kind(output)
    _note_flags(output)
    server = _address(output, "server", "DEST_ADDR")
    settings: dict[str, Value] = {}
    values: dict[str, Value] = {}
    if test:
        settings = dict(_settings(output, test, direction))
        settings |= {"protocol": protocol} if protocol else {}
        if version := _ip_version(output.banner.get("family", ""), server):
            settings["ip_version"] = version
        is_stream = test == "stream"
        values = dict(_stream(output, protocol, direction) if is_stream else _round_trips(output))
        values |= dict(_common(output, protocol))
    reason, detail = _failure(output, test, values)
    if reason is None and not protocol:
        detail = "TCP or UDP is not stated; with -k or -o, the key PROTOCOL states it"
    return ToolResult(
        file=file,
        test=test or "stream",
        server=server,
        client=_address(output, "client", "SOURCE_ADDR"),
        settings=settings,
        values={} if reason else values,
        started_at=output.started_at,
        # netperf's UUID identifies no test: it is an option, so several tests may share one.
        identity="",
        reason=reason,
        detail=detail,
        unread=tuple(output.unread),
    )


def _title(output: NetperfOutput) -> str:
    """The banner's title without its first word ``MIGRATED``, which netperf prints since 2.5."""
    return output.banner.get("title", "").removeprefix("MIGRATED ")


def _kind(output: NetperfOutput) -> tuple[str, str, str]:
    """Protocol, test, and direction of a stream; each is empty if it is not stated."""
    title = _title(output)
    # If a banner has a title, only the title counts, not the key DIRECTION.
    direction = "" if title else output.fields.get("DIRECTION", "")
    protocol, direction = _TITLES.get(title, ("", direction))
    printed = output.fields.get("PROTOCOL", "")
    if printed not in ("", "TCP", "UDP"):
        output.unread.append(f"the protocol {printed[:40]!r} is not known")
    elif not protocol:
        protocol = printed
    return (protocol, *_TESTS.get(direction, ("", "")))


def _address(output: NetperfOutput, part: str, key: str) -> str:
    """The server's or client's name or address; empty if netperf printed a wildcard address."""
    address = output.banner.get(part) or output.fields.get(key, "")
    return "" if address in ("0.0.0.0", "::", "::0") else address[:200]  # noqa: S104


def _ip_version(family: str, address: str) -> int | None:
    if family in ("AF_INET", "AF_INET6"):
        return 6 if family == "AF_INET6" else 4
    return ip_version_of(address)


def _note_flags(output: NetperfOutput) -> None:
    """Add remarks: which flags of the banner are not known, and what the figures mean."""
    flags = output.banner.get("flags", "")
    for flag in flags.split(" : ")[:20]:
        if not _FLAGS.fullmatch(flag.strip()):
            output.unread.append(f"{flag.strip()[:60]!r} in the banner is not known")
    if output.has_flag("+/-"):
        output.unread.append(
            "the figures are means of several runs (-i); counts of messages, and the rates of"
            " UDP_STREAM, are those of the last run"
        )
    if _is_old(output):
        output.unread.append("netperf before 2.5, or built without omni: the rate is the sender's")


def _is_old(output: NetperfOutput) -> bool:
    """Whether the sender counted the rate of TCP_STREAM, as in netperf before 2.5."""
    return output.banner.get("title", "") in ("TCP STREAM", "TCP SENDFILE")


def _settings(output: NetperfOutput, test: str, direction: str) -> Iterator[tuple[str, Value]]:
    """What was requested, as far as the output states it."""
    near = "REMOTE" if direction == "server-sends" else "LOCAL"
    if direction:
        yield "direction", direction
    if size := output.whole(f"{near}_SEND_SIZE" if test == "stream" else "REQUEST_SIZE"):
        yield "message_bytes", size
    if test != "stream" and (size := output.whole("RESPONSE_SIZE")):
        yield "response_bytes", size
    if test == "round_trip" and (outstanding := _outstanding(output)):
        yield "outstanding", outstanding
    if output.has_flag("nodelay") or any(
        output.whole(f"{side}_NODELAY", 1) for side in ("LOCAL", "REMOTE")
    ):
        yield "nodelay", True
    # A negative -l is a number of bytes or transactions, not a duration.
    options = output.fields.get("COMMAND_LINE", "").partition(" -- ")[0]
    if duration := _DURATION.search(options):
        yield "duration_s", float(duration[1])
    if buffer_bytes := _buffer_bytes(output):
        yield "socket_buffer_bytes", buffer_bytes
    burst, pause_us = (output.whole(f"{near}_INTERVAL_{name}") for name in ("BURST", "USECS"))
    if burst and pause_us:
        yield "message_rate_per_s", 1e6 * burst / pause_us
    service = _SERVICE.fullmatch(output.fields.get(f"{near}_SOCKET_TOS", ""))
    if service and int(service[1], 16):
        yield "dscp", int(service[1], 16) >> 2


def _outstanding(output: NetperfOutput) -> int | None:
    """Number of requests in flight at once: those of the first burst, and one more."""
    if match := _BURST.search(output.banner.get("flags", "")):
        return int(match[1]) + 1
    burst = output.number("BURST_SIZE", 1e6)
    return int(burst) + 1 if burst is not None else None


def _buffer_bytes(output: NetperfOutput) -> int | None:
    """The requested size of the socket buffers, if both ends state the same size."""
    keys = [key for key in ("LSS", "LSR", "RSS", "RSR") if output.fields.get(f"{key}_SIZE_REQ")]
    sizes = {output.whole(f"{key}_SIZE_REQ") for key in keys}
    if len(sizes) == 1 and len({key[0] for key in keys}) == 2:
        return sizes.pop()
    if sizes - {None}:
        output.unread.append("the requested socket buffers are not stated as one size at both ends")
    return None


def _common(output: NetperfOutput, protocol: str) -> Iterator[tuple[str, Value]]:
    """The values that streams and round trips both have."""
    if seconds := output.number("ELAPSED_TIME", 1e7):
        yield "elapsed_ns", int(seconds * 10**9)
    if protocol == "TCP" and (mss_bytes := output.whole("TRANSPORT_MSS", 65535)):
        yield "mss_bytes", mss_bytes


def _stream(output: NetperfOutput, protocol: str, direction: str) -> Iterator[tuple[str, Value]]:
    """The values of a stream, as counted by the receiver and by the sender."""
    from_client = direction == "client-sends"
    sender, receiver = ("LOCAL", "REMOTE") if from_client else ("REMOTE", "LOCAL")
    carried = output.rate("THROUGHPUT") or output.rate(f"{receiver}_RECV_THROUGHPUT")
    sent = output.rate(f"{sender}_SEND_THROUGHPUT")
    # Without a control connection, netperf assumes that all data arrived.
    is_assumed = from_client and (output.has_flag("no control") or _is_old(output))
    if is_assumed:
        carried, sent = None, sent or output.rate("THROUGHPUT")
    if carried:
        yield "throughput_bit_per_s", carried[0]
        yield "printed_step_bit_per_s", carried[1]
    if sent:
        yield "sent_bit_per_s", sent[0]
    congestion = output.fields.get(f"{sender}_CONG_CONTROL", "")
    if congestion:
        yield "sender_congestion", congestion[:40]
    if protocol != "UDP":
        return
    messages = output.number(f"{sender}_SEND_CALLS", 2**53)
    received = output.number(f"{receiver}_RECV_CALLS", 2**53)
    if messages is not None:
        yield "sent_messages", int(messages)
    if received is not None and not is_assumed:
        yield "received_messages", int(received)
        if messages is not None and received <= messages:
            yield "lost_messages", int(messages - received)


def _round_trips(output: NetperfOutput) -> Iterator[tuple[str, Value]]:
    """Transactions, and latencies of requests with their answers, or of whole connections."""
    key = "THROUGHPUT" if output.unit == "Trans" else "TRANSACTION_RATE"
    rate = output.number(key)
    if rate is not None:
        yield "transactions_per_s", float(rate)
    means_us = (output.number(key, 1e9) for key in ("MEAN_LATENCY", "RT_LATENCY"))
    mean_us = next((mean for mean in means_us if mean is not None), None)
    if mean_us is not None:
        yield "rtt_mean_ns", float(1000 * mean_us)
    for name, key in _LATENCIES.items():
        latency_us = output.number(key, 1e9)
        if latency_us is not None:
            yield name, int(1000 * latency_us)


def _failure(
    output: NetperfOutput, test: str, values: Mapping[str, Value]
) -> tuple[str | None, str | None]:
    """Why there is no result, as a reason and a sentence; both ``None`` if there is a result."""
    figures = [values[name] for name in _FIGURES if name in values]
    if output.error and not figures:
        return reason_of_error(output.error, _REASONS), output.error
    if not test:
        title = f"the test {_title(output)!r} is not known" if output.banner else ""
        return "not-recorded", title or "the test is not stated; the key DIRECTION states it"
    if not figures:
        is_bits = test != "stream" and "bits" in output.unit
        words = "a rate in bits instead of transactions" if is_bits else "no whole result"
        return "not-recorded", f"netperf printed {words}"
    if not figures[0]:
        return ("no-traffic" if test == "stream" else "no-answer"), "netperf counted nothing"
    return None, None


import_netperf = partial(import_results, parse=parse_netperf)
"""Makes a run folder; the arguments are those of ``import_results``."""

IMPORTER = Importer(
    read=import_netperf,
    is_of_files=True,
    help="""Make a run folder out of what netperf printed, and its report.

    FILES are outputs of clients, or folders of them: classic tables, or those of omni with -k, -o
    or -O. Tests with the same settings between the same hosts are trials of one cell.
    """,
    options=TOOL_OPTIONS,
)
