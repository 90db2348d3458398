"""Import: a run folder out of what a client of sockperf printed.

It reads the modes ping-pong (``pp``), under-load (``ul``), playback (``pb``) and throughput
(``tp``), with or without terminal colours. The format is that of sockperf 2.7 to 3.10
(``client.cpp``, https://github.com/Mellanox/sockperf); other versions are read as far as they are
understood.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

from netlab.imports.common import tool_results
from netlab.imports.common.csv_table import MAX_LINE_CHARACTERS, NOT_RECORDED, fault_at
from netlab.imports.common.tool_results import Failure, Output, ToolResult
from netlab.trial.record import Value

_WHOLE = "([0-9]{1,12})"
_THREE = r"([0-9]{1,12}\.[0-9]{3})"
"""A number with all three decimals, so that a number that is cut off does not match."""

_LINES = {
    name: re.compile(pattern)
    for name, pattern in {
        "version": r"== version #(\S{1,60}) ==",
        "address": rf"\[ ?{_WHOLE}\] IP = (\S{{1,60}}) +PORT = +{_WHOLE} # (TCP|UDP)",
        "total": rf"\[Total Run\] RunTime={_THREE} sec; (?:Warm up time={_WHOLE} msec; )?"
        rf"(?:Warm up packets={_WHOLE}; )?SentMessages={_WHOLE}; ReceivedMessages={_WHOLE}"
        r"(?:; SkippedMessages=[0-9]{1,20})?",
        "valid": rf"\[Valid Duration\] RunTime={_THREE} sec; SentMessages={_WHOLE}; "
        rf"ReceivedMessages={_WHOLE}",
        "mean": rf"====> avg-(latency|lat|rtt)= *{_THREE} \(std-dev=.*",
        "summary": rf"Summary: (?:Latency|Round trip)(?: of burst of {_WHOLE} messages)? is "
        rf"{_THREE} usec",
        "dropped": rf"# dropped messages = {_WHOLE}; # duplicated messages = {_WHOLE}; "
        rf"# out-of-order messages = {_WHOLE}",
        "percentile": r"---> percentile +([0-9]{1,3}\.[0-9]{2,3}) = +" + _THREE,
        "extreme": rf"---> <(MIN|MAX)> observation = +{_THREE}",
        "count": rf"Total of {_WHOLE} messages sent in {_THREE} sec"
        r"(?: \([0-9]{1,20} messages skipped\))?",
        "sizes": rf"NOTE: test was performed, using msg-size={_WHOLE}(?:, mps={_WHOLE})?\. .*",
        "bandwidth": r"Summary: BandWidth is [0-9.]{1,30} ([MG])Bps "
        r"\(([0-9]{1,12}\.(?:[0-9]{9}|[0-9]{3})) [MG]bps\)",
    }.items()
}
_FIGURES = re.compile(
    r"Total Run|Valid Duration|avg-|Summary: (?!Message)|dropped messages|percentile +[0-9]"
    r"|observation =|messages sent|average msg-size|IP =|ADDR ="
)
"""Words of lines that have a figure or a setting."""

_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}m")
_KNOWN = re.compile(r"(2\.[789]|3\.[0-9]|3\.10)([^0-9].*)?")
_WHOLE_END = re.compile(r"(?:\.[0-9]{3}|[.)]|usec|sec\])\Z")
"""How a complete line ends; it shows whether a last line without a line feed is complete."""

_UNSUPPORTED_OPTION = "It could be that this option is not"
"""After an error that contains these words, sockperf continues."""

_ENDINGS = {
    "no messages were received": "no-answer",
    "no messages were sent": "no-traffic",
    "no valid observations": "too-few-messages",
    "end before test start": "too-few-messages",
}
"""Words in a line that is not marked as an error, after which sockperf prints no result."""
_REASONS = {
    **tool_results.SYSTEM_ERRORS,
    "connect timeout": "connect-timeout",
    "forcibly closed": "peer-vanished",
    "taking too long": "deadline",
    **_ENDINGS,
}
MAX_OUTPUTS = 10_000
MAX_REMARKS = 20


def parse_sockperf(text: str, file: str) -> tuple[ToolResult, ...]:
    """The tests in an output. Raises MatrixError if the text is not sockperf's."""
    outputs: list[_SockperfOutput] = []
    lines = text.split("\n")
    for number, raw in enumerate(lines, 1):
        line = _COLOUR.sub("", raw[:MAX_LINE_CHARACTERS]).rstrip()
        is_version = line.removeprefix("sockperf:").lstrip().startswith("== version #")
        if is_version or (not outputs and line.startswith("sockperf")):
            if len(outputs) == MAX_OUTPUTS:
                raise fault_at(file, number, 1, f"more than {MAX_OUTPUTS} outputs")
            outputs.append(_SockperfOutput(file))
        if not outputs or not line:
            continue
        if len(raw) > MAX_LINE_CHARACTERS:
            sentence = f"line {number} is longer than {MAX_LINE_CHARACTERS} characters"
            outputs[-1].remark(sentence)
        elif number == len(lines) and not _WHOLE_END.search(line):
            # Nothing shows whether a number lost its last digits.
            outputs[-1].remark(f"line {number} has no line end: it may be cut, and is not read")
        else:
            outputs[-1].add(number, line)
    if not outputs:
        raise fault_at(file, 1, 1, "not an output of sockperf: no line begins with its name")
    return tuple(map(_result, outputs))


class _SockperfOutput(Output):
    """The parts of one output."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.parts: dict[str, re.Match[str]] = {}
        """Name of a line in ``_LINES``, with its share or extreme if it has one → the line."""
        self.addresses = 0
        self.is_server = False
        self.is_answered = False
        """Whether the client waits for answers, which it does not do in throughput mode."""
        self.error = ""
        self._is_first_server = True

    def add(self, number: int, line: str) -> None:
        """Read a line, whose terminal colours were removed."""
        if "Printing statistics for Server No: " in line and not line.endswith(": 0"):
            self._is_first_server = False
            self.remark("the figures of more servers than the first are left out")
        self.is_server |= "[SERVER]" in line
        self.is_answered |= "() to block on socket(s)" in line or "[Total Run]" in line
        if not self._is_first_server:
            return
        plain = line.removeprefix("sockperf: ").strip()
        lower = plain.lower()
        if _UNSUPPORTED_OPTION in plain:
            self.remark(f"line {number}: {plain[:160]}")
            return
        if "sockperf: ERROR: " in line or any(words in lower for words in _ENDINGS):
            self.error = self.error or plain.rpartition("ERROR: ")[2][:200]
            return
        for name, pattern in _LINES.items():
            if match := pattern.fullmatch(plain):
                self._keep(name, match)
                return
        if _FIGURES.search(plain):
            self.remark(f"line {number} is not understood: {plain[:60]!r}")

    def _keep(self, name: str, match: re.Match[str]) -> None:
        """Keep the figures of a line of ``_LINES``, of which the first one of a kind counts."""
        self.addresses += name == "address"
        if name in ("percentile", "extreme"):
            word = f"{Decimal(match[1]).normalize():f}" if name == "percentile" else match[1]
            if self.parts.setdefault(f"{name} {word}", match)[2] != match[2]:
                self.remark(f"{name} {word} has several values: the first is read")
        elif self.parts.setdefault(name, match).groups() != match.groups() and name != "address":
            self.remark(f"a second line of this kind is left out: {match[0][:60]!r}")

    def remark(self, sentence: str) -> None:
        """Add a sentence about what is not read."""
        if len(self.unread) < MAX_REMARKS and sentence not in self.unread:
            self.unread.append(sentence)

    def part(self, name: str, group: int) -> str:
        """The text of a group of the line ``name``; empty if it is absent."""
        match = self.parts.get(name)
        return (match[group] or "") if match else ""


def _result(output: _SockperfOutput) -> ToolResult:
    version = output.part("version", 1)
    if not _KNOWN.fullmatch(version):
        output.remark(f"version {version!r} of sockperf {tool_results.NOT_KNOWN}")
    if output.addresses > 1:
        output.remark(f"the server has {output.addresses} addresses: only the first is named")
    is_throughput = not output.is_answered and "mean" not in output.parts
    settings = {} if output.is_server else _settings(output, is_throughput=is_throughput)
    values = _sender_counts(output) if is_throughput else _round_trips(output)
    test, server = "stream" if is_throughput else "round_trip", output.part("address", 2)
    failure = _failure(output, values)
    return output.result(settings, values, failure, test=test, server=server)


def _failure(output: _SockperfOutput, values: Mapping[str, Value]) -> Failure:
    if output.is_server:
        return NOT_RECORDED, "the output of a server of sockperf has no figures"
    if output.error:
        return tool_results.failed(output.error, _REASONS)
    if "address" not in output.parts:
        return NOT_RECORDED, "sockperf printed no address and protocol of the server"
    if "sent_bit_per_s" in values or "rtt_mean_ns" in values:
        return None, None
    return NOT_RECORDED, "sockperf printed no rate and no mean latency above 0"


def _settings(output: _SockperfOutput, *, is_throughput: bool) -> dict[str, Value]:
    if "address" not in output.parts:
        return {}
    version = tool_results.ip_version_of(output.part("address", 2))
    if version is None:
        output.remark("the server is no address of IP")
    return tool_results.requested(
        protocol=output.part("address", 4),
        ip_version=version,
        direction="client-sends" if is_throughput else None,
        message_bytes=int(output.part("sizes", 1) or 0),
        message_rate_per_s=float(output.part("sizes", 2) or 0),
        warm_up_s=int(warm_up_ms) / 1000 if (warm_up_ms := output.part("total", 2)) else None,
        outstanding=int(output.part("summary", 1) or 0),
    )


def _sender_counts(output: _SockperfOutput) -> dict[str, Value]:
    """The output does not state what arrived. Mbps are 2^20 bits per second, and Gbps 1000 times as
    much; nine decimals mean Mbps, even where sockperf (up to 3.7) prints Gbps.
    """
    values: dict[str, Value] = {}
    if count := output.part("count", 1):
        values["sent_messages"] = int(count)
    if word := output.part("bandwidth", 2):
        decimals = len(word.partition(".")[2])
        factor = 1000 if output.part("bandwidth", 1) == "G" and decimals == 3 else 1
        rate = tool_results.bounded(float(Decimal(word) * factor * 2**20))
        if rate is None:
            output.remark(f"the bandwidth is left out: {word!r} is out of range")
        values |= tool_results.requested(sent_bit_per_s=rate)
    return values


def _round_trips(output: _SockperfOutput) -> dict[str, Value]:
    """The figures of the valid duration. netlab has no columns for deviations and for the
    percentiles 25, 75 and 99.999.
    """
    values = tool_results.requested(
        transactions=int(output.part("valid", 3) or 0),
        elapsed_ns=tool_results.in_ns(Decimal(output.part("valid", 1) or 0)),
    )
    names = ("lost_messages", "duplicate_messages", "reordered_messages")
    for group, name in enumerate(names, 1):
        if word := output.part("dropped", group):
            values[name] = int(word)
    mean = Decimal(output.part("mean", 2) or 0)
    if not mean:
        return values
    messages, answers = (int(output.part("total", group) or 0) for group in (4, 5))
    if messages > 2 * answers > 0:
        output.remark(
            f"a test under load, whose rate and size are not stated: {messages} messages and "
            f"{answers} answers"
        )
    # sockperf prints half of a round trip as its latency, unless --full-rtt asks for round trips.
    unit_ns = 1000 if output.part("mean", 1) == "rtt" else 2000
    values["rtt_mean_ns"] = float(mean * unit_ns)
    lines = {"rtt_min_ns": "extreme MIN", "rtt_max_ns": "extreme MAX"}
    lines |= {column: f"percentile {share}" for share, column in tool_results.PERCENTILES.items()}
    for column, name in lines.items():
        if figure := output.part(name, 2):
            values[column] = round(Decimal(figure) * unit_ns)
    if "rtt_min_ns" not in values:
        output.remark("the output ends early: it has no shortest latency")
    return values


IMPORTER = tool_results.tool_importer(
    parse_sockperf,
    "what clients of sockperf printed",
    "outputs of sockperf ping-pong, under-load or throughput, or folders of them. sockperf "
    "does not print the size of a round trip's message: import tests of different sizes, or "
    "with different load, into different folders.",
)
