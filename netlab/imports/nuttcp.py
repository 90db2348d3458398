"""Import: a run folder out of what a client of ``nuttcp`` printed, one line for each test.

A test is one line such as ``22.8611 MB / 2.04 sec = 94.1214 Mbps 0 %TX 3 %RX 0 retrans``, or with
``-fparse`` such as ``megabytes=22.8611 real_seconds=2.04 …``. The rate and the time in the line are
the receiver's, in either direction. A rate is in 10^6 bit/s, an amount of data in 2^20 byte. Lines
of ``-i`` state intervals of a test and are no results. A line states no hosts, direction, message
size or version of nuttcp. ``retrans`` or ``RTT`` in a line shows TCP, and losses show UDP; a line
with neither is no result. nuttcp computes the number of UDP messages from rounded amounts.

This import leaves out CPU times, retransmissions and the round trip of the handshake, for which
netlab has no columns. It does not read the long form (``-v``) or the lines of nuttcp's old
protocol, which have the CPU time of only one side. The format is that of nuttcp 5.1 to 8.1
(``nuttcp.c``, https://nuttcp.net/nuttcp/).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from netlab.errors import Fault, MatrixError
from netlab.imports import Importer
from netlab.imports.common.csv_table import MAX_LINE_CHARACTERS, throughput
from netlab.imports.common.tool_results import (
    MAX_VALUE,
    TOOL_OPTIONS,
    ToolResult,
    bounded,
    import_results,
    reason_of_error,
)
from netlab.trial.record import Value

_NUMBER = r"([0-9]{1,12}(?:\.[0-9]{1,6})?)"
_LINE = re.compile(
    rf"(?:[^:]{{1,64}}: )? *{_NUMBER} MB / {{1,8}}{_NUMBER} sec = {{1,8}}{_NUMBER} Mbps"
)
_LOSS = re.compile(r" (-?[0-9]{1,15}) / {1,8}([0-9]{1,15}) drop/pkt")
_PAIR = re.compile(r"(?<!\S)([A-Za-z_-]{1,32})=(\S{1,64})")
_DECIMAL = re.compile(_NUMBER)
_WHOLE = re.compile(r"-?[0-9]{1,15}")
_ERROR = re.compile(r"(?i)\b(?:error|refused|unreachable|timed out|timeout|not acking)\b")
_VERBOSE = re.compile(r"nuttcp-[tr]")

_REASONS = {
    "refused": "connect-refused",
    "unreachable": "unreachable",
    "no route to host": "unreachable",
    "not receiving": "peer-vanished",
    "not acking": "peer-vanished",
    "reset by peer": "peer-vanished",
    "broken pipe": "peer-vanished",
    "timed out": "connect-timeout",
    "timeout": "connect-timeout",
    "already in use": "address-in-use",
    "interrupt": "interrupted",
}
"""Words in an error of nuttcp → the reason."""

_PARSED = "megabytes="
"""The beginning of a line of ``-fparse``."""

_SHOWN = 3
"""At most this many lines that are not understood are quoted; the rest are only counted."""


@dataclass(slots=True)
class _NuttcpLine:
    """The figures of a line, as texts."""

    megabytes: str
    seconds: str
    mbit_per_s: str
    protocol: str
    is_whole: bool
    """Whether the line states the whole test, and not an interval."""
    losses: int | None = None
    packets: int | None = None


@dataclass(slots=True)
class _NuttcpPart:
    """What a test's lines before the last one state."""

    protocol: str = ""
    intervals: int = 0
    errors: list[str] = field(default_factory=list)


def parse_nuttcp(text: str, file: str) -> tuple[ToolResult, ...]:
    """The tests in an output. No I/O. Raises MatrixError with the place if the text has none."""
    results: list[ToolResult] = []
    oddities: list[str] = []
    part = _NuttcpPart()
    lines = text.split("\n")
    for number, full_line in enumerate(lines, start=1):
        if len(full_line) > MAX_LINE_CHARACTERS:
            sentence = f"longer than {MAX_LINE_CHARACTERS} characters"
            raise _fault(file, number, MAX_LINE_CHARACTERS + 1, sentence)
        line = full_line.rstrip()
        figures = _figures(line, is_cut=number == len(lines))
        if figures is not None:
            part.protocol = figures.protocol or part.protocol
            part.intervals += not figures.is_whole
            if figures.is_whole:
                results.append(_result(figures, part, file))
                part = _NuttcpPart()
        elif _ERROR.search(line):
            part.errors.append(line.strip()[:200])
        elif line.strip():
            oddities.append(f"line {number} is not understood: {line.strip()[:60]!r}")
    if part.intervals or part.errors:
        results.append(_unfinished(part, file))
    if not results:
        raise _fault(file, *_place(lines), _nothing(text))
    if oddities:
        results[-1] = _with_unread(results[-1], oddities)
    return tuple(results)


def _fault(file: str, line: int, column: int, sentence: str) -> MatrixError:
    return MatrixError([Fault(file, line, column, "", sentence)])


def _place(lines: list[str]) -> tuple[int, int]:
    """The first line that is not empty, and its column."""
    for number, line in enumerate(lines, start=1):
        if stripped := line.lstrip():
            return number, len(line) - len(stripped) + 1
    return 1, 1


def _nothing(text: str) -> str:
    if _VERBOSE.search(text):
        return "no line has a result: netlab does not read the long form of nuttcp -v"
    return "not an output of nuttcp: no line has a result" if text.strip() else "empty"


def _figures(line: str, *, is_cut: bool) -> _NuttcpLine | None:
    """The figures in a line; ``None`` if it has none.

    ``is_cut``: no line feed follows the line, so its last number may have lost digits.
    """
    if line.startswith(_PARSED) or f": {_PARSED}" in line[:80]:
        return _of_pairs(line, is_cut=is_cut)
    match = _LINE.match(line)
    if match is None:
        return None
    more = line[match.end() :]
    before, processor, after = more.partition("%RX")
    is_whole = bool(processor) and "%TX" in before
    figures = _NuttcpLine(match[1], match[2], match[3], _protocol(more), is_whole=is_whole)
    if loss := _LOSS.match(after):
        figures.losses, figures.packets = int(loss[1]), int(loss[2])
    return figures


def _protocol(text: str) -> str:
    """The protocol: lines of TCP have retransmissions or RTT, lines of UDP have losses."""
    if "loss" in text or "drop" in text:
        return "UDP"
    return "TCP" if "retrans" in text or "RTT" in text or "rtt_ms" in text else ""


def _of_pairs(line: str, *, is_cut: bool) -> _NuttcpLine | None:
    """The figures in a line of ``-fparse``."""
    pairs = dict(_PAIR.findall(line))
    last = next(reversed(pairs), "")
    if is_cut and line.endswith(f"{last}={pairs.get(last)}"):
        pairs[last] = ""
    seconds = pairs.get("real_seconds") or pairs.get("real_sec", "")
    megabytes, rate = pairs.get("megabytes", ""), pairs.get("rate_Mbps", "")
    if not all(map(_DECIMAL.fullmatch, (megabytes, seconds, rate))):
        return None
    is_whole = {"real_seconds", "tx_cpu", "rx_cpu"} <= pairs.keys()
    figures = _NuttcpLine(megabytes, seconds, rate, _protocol(" ".join(pairs)), is_whole=is_whole)
    counts = [pairs.get(name, "") for name in ("drop", "pkt")]
    if all(_WHOLE.fullmatch(text) for text in counts):
        figures.losses, figures.packets = int(counts[0]), int(counts[1])
    return figures


def _result(line: _NuttcpLine, part: _NuttcpPart, file: str) -> ToolResult:
    """The result from the line that states a whole test."""
    settings: dict[str, Value] = {"protocol": part.protocol} if part.protocol else {}
    values: dict[str, Value] = {}
    unread: list[str] = []
    reason, detail = _failure(line, part)
    if reason is None:
        values = dict(_values(line, unread))
    return ToolResult(
        file=file,
        test="stream",
        server="",
        client="",
        settings=settings,
        values=values,
        reason=reason,
        detail=detail,
        unread=tuple(unread),
    )


def _failure(line: _NuttcpLine, part: _NuttcpPart) -> tuple[str | None, str | None]:
    """Why a line is no result, as a reason and a sentence; both are ``None`` if it is a result."""
    if part.errors:
        return reason_of_error(part.errors[0], _REASONS), part.errors[0]
    if not part.protocol:
        return "not-recorded", "the line says neither TCP nor UDP"
    if bounded(float(line.mbit_per_s) * 1e6) is None:
        return "not-recorded", f"the rate of {line.mbit_per_s} Mbps is out of range"
    is_lost = line.packets is not None and line.losses is not None
    if is_lost and line.packets == line.losses:
        return "no-traffic", "nothing was received: 100 % loss"
    if not float(line.megabytes) or not float(line.mbit_per_s):
        return "no-traffic", "nothing was received: 0 MB"
    return None, None


def _values(line: _NuttcpLine, unread: list[str]) -> Iterator[tuple[str, Value]]:
    yield from throughput(line.mbit_per_s).items()
    seconds = bounded(float(line.seconds), 0.0, MAX_VALUE / 1e9)
    if seconds:
        yield "elapsed_ns", round(1e9 * seconds)
    losses, packets = line.losses, line.packets
    if losses is None or packets is None:
        return
    if 0 <= losses <= packets:
        yield "received_messages", packets - losses
        yield "lost_messages", losses
        yield "sent_messages", packets
    else:
        unread.append(f"{losses} lost of {packets} messages are left out: this cannot be")


def _unfinished(part: _NuttcpPart, file: str) -> ToolResult:
    """The result of a test that failed, because the line of the whole test is missing."""
    error = part.errors[0] if part.errors else ""
    return ToolResult(
        file=file,
        test="stream",
        server="",
        client="",
        settings={"protocol": part.protocol} if part.protocol else {},
        values={},
        reason=reason_of_error(error, _REASONS) if error else "not-recorded",
        detail=error or "the line of the whole test is missing",
    )


def _with_unread(result: ToolResult, sentences: list[str]) -> ToolResult:
    more = len(sentences) - _SHOWN
    excerpts = (
        *sentences[:_SHOWN],
        *([f"{more} more lines are not understood"] if more > 0 else []),
    )
    return replace(result, unread=(*result.unread, *excerpts))


import_nuttcp = partial(import_results, parse=parse_nuttcp)
"""Makes a run folder; the arguments are those of ``import_results``."""

IMPORTER = Importer(
    read=import_nuttcp,
    is_of_files=True,
    help="""Make a run folder out of what clients of nuttcp printed, and its report.

    FILES are outputs with one line per test, or the same with -fparse, or folders of them. Tests
    with the same settings are trials of one cell: nuttcp prints neither hosts nor direction.
    """,
    options=TOOL_OPTIONS,
)
