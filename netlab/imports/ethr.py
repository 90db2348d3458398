"""Import: a run folder out of a log (``-o FILE``) that ethr wrote on the client or the server.

The format was read from the source code, not from recorded outputs: from ethr 1.0.0 and its main
branch (https://github.com/microsoft/ethr, ``log.go``). Each line is a JSON object. If ethr appended
to a log, the log has several tests.

ethr logs the bandwidth of each second, rounded to one or two decimals of K, M or G (powers of ten),
and logs no total. The result is the mean of all logged seconds, including incomplete seconds.
ethr does not log whether ``-r`` was given. Therefore this import assumes that it was not:
the client sent, and the server received. A remark in the run states this assumption. Each line of a
latency test becomes one trial of a ``round_trip`` test.

ethr writes the percentiles of its log into the wrong fields: the maximum is in ``P50``, each
percentile is one field too late, and ``Max`` has the 99.99th. If the order of the values shows
this, each value is assigned to its right field. This import leaves out connections per second
(no request is sent on them), the times of pings (a TCP handshake or an ICMP echo), routes, and
the round trips in a server's log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from netlab.errors import Fault, MatrixError
from netlab.experiment.records import Value, utc_of, utc_text
from netlab.imports import Importer
from netlab.imports.common.tool_result import NOT_RECORDED, ToolResult
from netlab.imports.common.tool_results import (
    TOOL_OPTIONS,
    bounded,
    import_results,
    reason_of_error,
)

MAX_LINE_CHARACTERS = 65536

_KINDS = frozenset({"INFO", "ERROR", "DEBUG", "TestResult", "LatencyResult"})
_RATE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,3})?)([KMGT]?)")
_FACTORS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_TIME = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(ns|us|µs|ms|s)")
_UNITS_NS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
_LENGTH = re.compile(r"(?:([0-9]{1,5})h)?(?:([0-9]{1,5})m)?(?:([0-9]{1,9}(?:\.[0-9]{1,9})?)s)?")
_CONNECTION = re.compile(
    r"\[ {0,9}[0-9]{1,9}\] local (\S{1,60}) port [0-9]{1,5} connected to (\S{1,60}) port [0-9]{1,5}"
)
_LATENCY = re.compile(r"Running latency test: ([0-9]{1,9}), ([0-9]{1,9})")
_GAP = timedelta(seconds=3)
"""If a server's log has no line for longer than this, a test has ended."""

_FIELDS = ("P50", "P90", "P95", "P99", "P999", "P9999", "Max")
_VALUES = {"P50": "p50", "P90": "p90", "P99": "p99", "P999": "p99_9", "P9999": "p99_99"}
_REASONS = {
    "refused": "connect-refused",
    "no route": "unreachable",
    "unreachable": "unreachable",
    "timeout": "connect-timeout",
    "timed out": "connect-timeout",
    "resolve": "unreachable",
    "connection terminated": "peer-vanished",
    "interrupt signal": "interrupted",
}
"""Words in a message of ethr → the reason."""


@dataclass(slots=True)
class _EthrSession:
    """The lines of one ethr process."""

    is_server: bool | None
    """``None``: the log does not say."""
    started_at: str
    rates: dict[tuple[str, str], list[tuple[str, float]]] = field(default_factory=dict)
    """Address of the other side, and protocol → time and rate of each second."""
    latencies: list[Mapping[str, Any]] = field(default_factory=list)
    """Lines with round trips."""
    addresses: tuple[str, str] = ("", "")
    """The client's and the server's address, from the client's first connection."""
    connections: int = 0
    duration_s: float | None = None
    trips: tuple[int, int] | None = None
    """Number and length of the requests of a latency test."""
    is_ping: bool = False
    error: str = ""
    unread: list[str] = field(default_factory=list)


def parse_ethr(text: str, file: str) -> tuple[ToolResult, ...]:
    """The tests in a log. No I/O. Raises MatrixError with the place of a line that ethr did not
    write.
    """
    sessions: list[_EthrSession] = []
    for line in _lines(text, file):
        if not sessions or _opens(line):
            sessions.append(_EthrSession(_side(line), _time(line)))
        _add(sessions[-1], line)
    results = [result for session in sessions for result in _results(session, file)]
    if not results:
        raise MatrixError([Fault(file, 1, 1, "", "the log of ethr has no result and no error")])
    return tuple(results)


def _lines(text: str, file: str) -> Iterator[Mapping[str, Any]]:
    """The JSON objects in the lines. If the last line is not JSON of ethr, it may be cut off.
    Instead of this line, an object with the key ``Cut`` is returned.
    """
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        stripped = line.strip()
        if not stripped:
            continue
        try:
            document = _object(stripped)
        except ValueError as error:
            if number == len(lines) > 1:
                yield {"Type": "DEBUG", "Cut": True}
                return
            column = len(line) - len(line.lstrip()) + 1
            raise MatrixError([Fault(file, number, column, "", str(error))]) from None
        yield document


def _object(line: str) -> Mapping[str, Any]:
    """The JSON object of a line. Raises ValueError with a sentence for the user."""
    if len(line) > MAX_LINE_CHARACTERS:
        raise ValueError(f"longer than {MAX_LINE_CHARACTERS} characters")
    try:
        document = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"not a line of ethr's log: {error.msg}") from None
    except RecursionError:
        raise ValueError("not a line of ethr's log: nested too deeply") from None
    kind = document.get("Type") if isinstance(document, dict) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ValueError("not a line of ethr's log: its `Type` is missing or unknown")
    line_document: Mapping[str, Any] = document
    return line_document


def _opens(line: Mapping[str, Any]) -> bool:
    """Whether this line is the first one of an ethr process."""
    return _message(line).startswith(("Using destination: ", "Accepting IP version: "))


def _side(line: Mapping[str, Any]) -> bool | None:
    return _message(line).startswith("Accepting IP version: ") if _opens(line) else None


def _message(line: Mapping[str, Any]) -> str:
    return _text(line, "Message") if line["Type"] in ("INFO", "ERROR") else ""


def _text(line: Mapping[str, Any], name: str) -> str:
    """A text of a line; empty if the value is not a text or has unprintable characters."""
    value = line.get(name)
    return value[:400] if isinstance(value, str) and value.isprintable() else ""


def _time(line: Mapping[str, Any]) -> str:
    """The time of a line; ethr writes it in UTC, in whole seconds."""
    try:
        time = utc_of(_text(line, "Time"))
    except OverflowError:
        return ""
    return "" if time is None else utc_text(time)


def _add(session: _EthrSession, line: Mapping[str, Any]) -> None:
    """Add a line to its session."""
    if line.get("Cut"):
        session.unread.append("the last line of the log is cut: left out")
    elif line["Type"] == "TestResult":
        _add_second(session, line)
    elif line["Type"] == "LatencyResult":
        if session.is_ping:
            session.unread.append("the times of pings are left out")
        else:
            session.latencies.append(line)
    else:
        _add_message(session, _message(line), is_error=line["Type"] == "ERROR")


def _add_second(session: _EthrSession, line: Mapping[str, Any]) -> None:
    other, protocol = _text(line, "RemoteAddr"), _text(line, "Protocol")
    if other == "[SUM]":
        return
    rate = _rate(_text(line, "BitsPerSecond"))
    if session.is_server and _nanoseconds(_text(line, "AverageLatency")):
        session.unread.append("the lines of a server with a latency are left out")
    elif protocol not in ("TCP", "UDP") or rate is None:
        kind = "connections a second" if _text(line, "ConnectionsPerSecond") else "a line"
        session.unread.append(f"{kind} without a rate of TCP or UDP: left out")
    else:
        session.rates.setdefault((other, protocol), []).append((_time(line), rate))


def _add_message(session: _EthrSession, message: str, *, is_error: bool) -> None:
    if match := _CONNECTION.fullmatch(message):
        session.connections += 1
        session.addresses = session.addresses if any(session.addresses) else (match[1], match[2])
        session.is_server = bool(session.is_server)
    elif match := _LATENCY.fullmatch(message):
        session.trips = int(match[1]), int(match[2])
        session.is_server = False
    elif message.startswith(("TCP connect statistics for ", "[tcp] ", "[icmp] ")):
        session.is_ping = True
    elif message.startswith("Ethr done, duration: "):
        match = _LENGTH.fullmatch(message.removeprefix("Ethr done, duration: ").removesuffix("."))
        parts = [float(part or 0) for part in match.groups()] if match else [0.0, 0.0, 0.0]
        session.duration_s = 3600 * parts[0] + 60 * parts[1] + parts[2] or None
    elif is_error or message.endswith(("received interrupt signal.", "connection terminated.")):
        session.error = session.error or message or "an error without a message"


def _results(session: _EthrSession, file: str) -> Iterator[ToolResult]:
    """The results of a session. The first one has the sentences about what is not understood."""
    results = [
        *(
            _bandwidth(session, file, other, protocol, seconds)
            for (other, protocol), lines in session.rates.items()
            for seconds in _tests(lines, split=bool(session.is_server))
        ),
        *(_latency(session, file, line) for line in session.latencies),
    ]
    unread = tuple(dict.fromkeys(session.unread))
    if not results and (session.error or unread):
        detail = session.error or unread[0]
        reason = reason_of_error(detail, _REASONS) if session.error else NOT_RECORDED
        results = [
            ToolResult(
                file=file,
                test="stream",
                server="",
                client="",
                settings={},
                values={},
                reason=reason,
                detail=detail,
            )
        ]
    for number, result in enumerate(results):
        yield result if number else replace(result, unread=(*result.unread, *unread))


def _tests(
    lines: Sequence[tuple[str, float]], *, split: bool
) -> Iterator[Sequence[tuple[str, float]]]:
    """The seconds of each test. In a server's log (``split``), only a pause longer than ``_GAP``
    shows that a test ended.
    """
    test: list[tuple[str, float]] = []
    previous: datetime | None = None
    for time, rate in lines:
        now = utc_of(time)
        if split and test and now and previous and now - previous > _GAP:
            yield test
            test = []
        previous = now or previous
        test.append((time, rate))
    yield test


def _bandwidth(
    session: _EthrSession,
    file: str,
    other: str,
    protocol: str,
    seconds: Sequence[tuple[str, float]],
) -> ToolResult:
    """The mean of the seconds of a bandwidth test."""
    settings: dict[str, Value] = {"protocol": protocol, "direction": "client-sends"}
    if session.duration_s and session.duration_s < 1e7:
        settings["duration_s"] = session.duration_s
    if session.connections:
        settings["streams"] = session.connections
    mean = bounded(sum(rate for _, rate in seconds) / len(seconds))
    reason: str | None = None
    detail: str | None = None
    if session.is_server is None:
        reason, detail = NOT_RECORDED, "the log does not state whose it is"
    elif session.error and not session.is_server:
        reason, detail = reason_of_error(session.error, _REASONS), session.error
    elif not mean:
        reason, detail = "no-traffic", "ethr counted no byte"
    name = "throughput_bit_per_s" if session.is_server else "sent_bit_per_s"
    words = "received" if session.is_server else "sent"
    return ToolResult(
        file=file,
        test="stream",
        server="" if session.is_server else other,
        client=other if session.is_server else session.addresses[0],
        settings=settings,
        values={name: round(mean, 3)} if mean and reason is None else {},
        started_at=seconds[0][0] if session.is_server else session.started_at,
        reason=reason,
        detail=detail,
        unread=(f"ethr does not log whether -r was given: read as what this side {words}",),
    )


def _latency(session: _EthrSession, file: str, line: Mapping[str, Any]) -> ToolResult:
    """The result of one line of a latency test: requests one after another on one connection."""
    protocol = _text(line, "Protocol")
    settings: dict[str, Value] = {}
    if protocol in ("TCP", "UDP"):
        settings["protocol"] = protocol
    if session.trips and all(session.trips):
        settings["count"], settings["message_bytes"] = session.trips
    mean, least = (_nanoseconds(_text(line, name)) for name in ("Avg", "Min"))
    values: dict[str, Value] = {}
    unread = []
    if mean:
        values["rtt_mean_ns"] = mean
        if least is not None:
            values["rtt_min_ns"] = round(least)
        times, remark = _times([_nanoseconds(_text(line, name)) for name in _FIELDS])
        unread = [remark] if remark else []
        values |= {
            f"rtt_{name}_ns": round(times[part]) for part, name in _VALUES.items() if part in times
        }
        if "Max" in times:
            values["rtt_max_ns"] = round(times["Max"])
    return ToolResult(
        file=file,
        test="round_trip",
        server=_text(line, "RemoteAddr"),
        client=session.addresses[0],
        settings=settings,
        values=values,
        started_at=_time(line),
        reason=None if values else NOT_RECORDED,
        detail=None if values else "the line has no mean",
        unread=tuple(unread),
    )


def _times(times: Sequence[float | None]) -> tuple[dict[str, float], str]:
    """Returns field → its time, and a remark, which may be empty. ethr writes each percentile into
    the field after its own.
    """
    whole = [time for time in times if time is not None]
    if len(whole) != len(times):
        return {}, "percentiles and maximum are left out: some are missing"
    if whole == sorted(whole):
        return dict(zip(_FIELDS, whole, strict=True)), ""
    shifted = [*whole[1:], whole[0]]
    if shifted == sorted(shifted):
        remark = "ethr logs the maximum as P50 and each percentile one field too late: put right"
        return dict(zip(_FIELDS, shifted, strict=True)), remark
    return {}, "percentiles and maximum are left out: they are not in order"


def _rate(text: str) -> float | None:
    """A rate as ethr prints it, such as 94.1M: powers of ten."""
    match = _RATE.fullmatch(text)
    return bounded(float(match[1]) * _FACTORS[match[2]]) if match else None


def _nanoseconds(text: str) -> float | None:
    """A time as ethr prints it, such as 58.413us."""
    match = _TIME.fullmatch(text)
    return bounded(round(float(match[1]) * _UNITS_NS[match[2]], 3)) if match else None


import_ethr = partial(import_results, parse=parse_ethr)
"""Makes a run folder; the arguments are those of ``import_results``."""

IMPORTER = Importer(
    read=import_ethr,
    is_of_files=True,
    help="""Make a run folder out of logs of ethr (-o FILE), and its report.

    FILES are logs of clients or servers, or folders of them. Tests with the same settings between
    the same hosts are trials of one cell.
    """,
    options=TOOL_OPTIONS,
)
