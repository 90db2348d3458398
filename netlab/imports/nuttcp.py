"""Import: a run folder out of what a client of ``nuttcp`` printed, one line for each test.

The rate and the time in a line are the receiver's, in either direction. The long form (``-v``) and
the lines of nuttcp's old protocol, which have the CPU time of only one side, are not read. The
format is that of nuttcp 5.1 to 8.1 (``nuttcp.c``, https://nuttcp.net/nuttcp/).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from netlab.imports.common import tool_results
from netlab.imports.common.csv_table import NOT_RECORDED, lines_of, throughput
from netlab.imports.common.tool_results import Failure, Output, ToolResult
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
    **tool_results.SYSTEM_ERRORS,
    "not receiving": "peer-vanished",
    "not acking": "peer-vanished",
    "timeout": "connect-timeout",
    "interrupt": "interrupted",
}

_PARSED = "megabytes="


@dataclass(slots=True)
class _NuttcpLine:
    """The figures of a line, as texts."""

    megabytes: str  # of 2^20 bytes
    seconds: str
    mbit_per_s: str
    protocol: str
    is_whole: bool  # whether the line states the whole test, and not an interval
    losses: int | None = None
    packets: int | None = None  # nuttcp computes it from rounded amounts


class _NuttcpPart(Output):
    """What a test's lines before the last one state."""

    protocol = ""
    intervals = 0
    error = ""

    def ended(self, line: _NuttcpLine | None = None) -> ToolResult:
        """The test's result. ``line``: that of the whole test, if it is there."""
        failure = self._failure(line)
        values: dict[str, Value] = {}
        if line is not None and failure == (None, None):
            # netlab has no columns for CPU times, retransmissions and the handshake's round trip.
            seconds = tool_results.bounded(float(line.seconds), 0.0, tool_results.MAX_VALUE / 1e9)
            elapsed = tool_results.measured(elapsed_ns=tool_results.in_ns(seconds))
            counts = tool_results.received_messages(line.packets, line.losses)
            values = throughput(line.mbit_per_s) | elapsed | counts
            if not counts and line.losses is not None:
                lost = f"{line.losses} lost of {line.packets} messages"
                self.unread.append(f"{lost} are left out: this cannot be")
        settings = tool_results.requested(protocol=self.protocol)
        return self.result(settings, values, failure)

    def _failure(self, line: _NuttcpLine | None) -> Failure:
        if self.error:
            return tool_results.failed(self.error, _REASONS)
        if line is None:
            return NOT_RECORDED, "the line of the whole test is missing"
        if not self.protocol:
            return NOT_RECORDED, "the line says neither TCP nor UDP"
        if tool_results.bounded(float(line.mbit_per_s) * 1e6) is None:
            return NOT_RECORDED, f"the rate of {line.mbit_per_s} Mbps is out of range"
        is_lost = line.packets is not None and line.packets == line.losses
        if is_lost or not float(line.megabytes) or not float(line.mbit_per_s):
            return "no-traffic", f"nothing was received: {'100 % loss' if is_lost else '0 MB'}"
        return None, None


def parse_nuttcp(text: str, file: str) -> tuple[ToolResult, ...]:
    """The tests in an output. Raises MatrixError with the place if the text has none."""
    results: list[ToolResult] = []
    output = Output(file, quoted=3)
    part = _NuttcpPart(file)
    for line in lines_of(text, file):
        figures = _figures(line.text.rstrip(), is_cut=line.is_cut)
        if figures is not None:
            part.protocol = figures.protocol or part.protocol
            part.intervals += not figures.is_whole
            if figures.is_whole:
                results.append(part.ended(figures))
                part = _NuttcpPart(file)
        elif _ERROR.search(line.text):
            part.error = part.error or line.text.strip()[:200]
        else:
            output.leave(line.number, line.text.strip())
    if part.intervals or part.error:
        results.append(part.ended())
    nothing = "not an output of nuttcp: no line has a result"
    if _VERBOSE.search(text):
        nothing = "no line has a result: netlab does not read the long form of nuttcp -v"
    return output.whole_file(results, text, nothing, is_indented=True)


def _figures(line: str, *, is_cut: bool) -> _NuttcpLine | None:
    """The figures in a line. ``is_cut``: no line feed follows, so digits may be missing."""
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


def _of_pairs(line: str, *, is_cut: bool) -> _NuttcpLine | None:
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


def _protocol(text: str) -> str:
    """Lines of TCP have retransmissions or RTT, lines of UDP have losses."""
    if "loss" in text or "drop" in text:
        return "UDP"
    return "TCP" if "retrans" in text or "RTT" in text or "rtt_ms" in text else ""


IMPORTER = tool_results.tool_importer(
    parse_nuttcp,
    "what clients of nuttcp printed",
    "outputs with one line per test, or the same with -fparse, or folders of them.",
    trials="Tests with the same settings are trials of one cell: "
    "nuttcp prints neither hosts nor direction.",
)
