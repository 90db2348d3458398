"""Import: a run folder out of what neper printed, on the client or the server.

It reads the ``key=value`` lines of ``tcp_stream``, ``udp_stream``, ``tcp_rr``, ``udp_rr`` and
``tcp_crr``, as neper 1.1 prints them since 2019 (``thread.c``, ``stream.c``, ``rr.c``,
https://github.com/google/neper); other versions are read as far as they are understood. Nothing
shows which two outputs are of one test, so they are two results.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from netlab.imports.common import tool_results
from netlab.imports.common.csv_table import MAX_LINE_CHARACTERS, NOT_RECORDED, fault_at
from netlab.imports.common.tool_results import Failure, Output, ToolResult
from netlab.trial.record import Value

_KNOWN = re.compile(r"1\.[01]\.[0-9]{1,3}")
_LINE = re.compile(r"([A-Za-z_][A-Za-z0-9_.]{0,60})=(.*)")
MAX_OUTPUTS = 10_000
MAX_ERRORS = 20
"""At most this many lines without a key are kept and searched for an error."""

_COMMON = frozenset({"client", "test_length", "num_flows"})
"""Options that all programs print, after the options that show which program it is."""

_OTHER_OPTIONS = {
    **{"num_threads": "1", "num_ports": "1", "num_clients": "1", "delay": "0", "noburst": "0"},
    **{"max_pacing_rate": "0", "zerocopy": "0", "rx_zerocopy": "0", "skip_rx_copy": "0"},
    **{"edge_trigger": "0", "no_cork": "0", "nonblocking": "0", "tcp_fastopen": "0"},
    **{"tcp_tx_delay": "0", "pin_cpu": "0", "pin_numa": "0", "invalid_secret_count": "0"},
}
"""Options that change a test and are no setting of netlab → their default."""

_REASONS = {
    **tool_results.SYSTEM_ERRORS,
    "could not connect": "connect-refused",
    "could not bind": "address-in-use",
    "read error": "peer-vanished",
    "handshake mismatch": "peer-vanished",
}


def parse_neper(text: str, file: str) -> tuple[ToolResult, ...]:
    """The tests in an output. Raises MatrixError with the place if the text has none."""
    outputs: list[_NeperOutput] = []
    *lines, rest = text.split("\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if not outputs or (line.startswith("VERSION=") and outputs[-1].fields):
            if len(outputs) == MAX_OUTPUTS:
                raise fault_at(file, number, 1, f"more than {MAX_OUTPUTS} outputs")
            outputs.append(_NeperOutput(file, number))
        outputs[-1].add(number, line.rstrip("\r"))
    if outputs and rest.strip():
        # Nothing shows whether a number lost its last digits.
        sentence = "has no line end: it may be cut, and is not read"
        outputs[-1].unread.append(f"line {len(lines) + 1} {sentence}")
    results = tuple(map(_result, outputs))
    if not any("protocol" in result.settings for result in results):
        line_number = outputs[0].line if outputs else 1
        sentence = "not an output of neper, or only its beginning: the options are missing"
        raise fault_at(file, line_number, 1, sentence)
    return results


class _NeperOutput(Output):
    """The lines of one output, from ``line`` on."""

    def __init__(self, file: str, line: int) -> None:
        super().__init__(file, quoted=1)
        self.line = line
        self.errors: list[str] = []
        self._ambiguities: set[str] = set()

    def add(self, number: int, line: str) -> None:
        """Read a line: a key with its value, or a text that may be an error."""
        match = _LINE.fullmatch(line) if len(line) <= MAX_LINE_CHARACTERS else None
        if match is None:
            self.leave(number, line)
            if len(self.errors) < MAX_ERRORS:
                self.errors.append(line[:200])
        elif self.fields.setdefault(match[1], match[2]) != match[2]:
            self._ambiguities.add(match[1])

    def text(self, name: str) -> str | None:
        """The text of a field; ``None`` if it is absent or has several values (noted)."""
        if name not in self._ambiguities:
            return self.fields.get(name)
        self.unread.append(f"`{name}` is left out: it has several values")
        return None

    def whole(self, name: str, most: float, least: float = 0.0) -> int | None:
        """As ``number``, but a number that is not whole also gives ``None`` and is noted."""
        number = self.number(name, most, least)
        if number is None or number == int(number):
            return None if number is None else int(number)
        self.unread.append(f"`{name}` is left out: {number} is not whole")
        return None

    def is_set(self, name: str) -> bool:
        """Whether an option is on."""
        return self.fields.get(name) == "1"


def _result(output: _NeperOutput) -> ToolResult:
    names = output.fields.keys()
    test = ""
    if names >= _COMMON and output.fields["client"] in ("0", "1"):
        test = "stream" if "buffer_size" in names else ""
        if "request_size" in names:
            # tcp_rr and udp_rr print the option `delay`; tcp_crr does not.
            test = "round_trip" if "delay" in names else "connect"
    output.count_left()
    settings: dict[str, Value] = {}
    values: dict[str, Value] = {}
    detail = f"the output from line {output.line} on does not have the options"
    failure: Failure = (NOT_RECORDED, detail)
    if test:
        version = output.fields.get("VERSION", "")
        if not _KNOWN.fullmatch(version):
            output.unread.append(f"version {version[:40]!r} of neper {tool_results.NOT_KNOWN}")
        settings = _settings(output, test)
        values = _stream(output, settings) if test == "stream" else _round_trips(output)
        failure = _failure(output, test, values)
        for name, default in _OTHER_OPTIONS.items():
            word = output.fields.get(name, default)
            if word != default:
                output.unread.append(f"`{name}` is {word[:40]!r}: netlab has no setting for it")
        if not output.is_set("client"):
            output.unread.append(
                "the output of a server: if the client's is imported as well, the test is there "
                "twice"
            )
    local = output.fields.get("local_hosts", "")[:200]
    return output.result(
        settings,
        values,
        failure,
        test=test or "stream",
        server=output.fields.get("host", "")[:200],  # only a client's output has it
        client=local if "," not in local else "",
    )


def _settings(output: _NeperOutput, test: str) -> dict[str, Value]:
    is_client = output.is_set("client")
    is_tcp = bool({"num_ports", "tcp_fastopen"} & output.fields.keys())
    settings: dict[str, Value] = {"protocol": "TCP" if is_tcp else "UDP"}
    names = {"message_bytes": "request_size", "response_bytes": "response_size"}
    if test == "stream":
        reads, writes = output.is_set("enable_read"), output.is_set("enable_write")
        # udp_stream prints neither option: its client sends.
        client_reads = reads if is_client else writes
        settings["direction"] = "server-sends" if client_reads else "client-sends"
        if reads and writes:
            settings["direction"] = "both"
        # On a side that only reads, buffer_size is the length of its receive calls.
        names = {"message_bytes": "buffer_size"} if (writes if is_tcp else is_client) else {}
    sizes = {name: output.whole(option, 2**31, 1) for name, option in names.items()}
    settings |= tool_results.requested(**sizes)
    if is_client:  # the server does not know these
        flows = output.whole("num_flows", 2**31, 1)
        if flows and output.is_set("split_bidir"):
            # Each direction has a socket of its own, and num_flows counts both sockets.
            flows = max(1, flows // 2)
        length = output.whole("test_length", 1e7, -1e10) or 0
        port = output.whole("source_port", 65535, -1) or 0
        settings |= tool_results.requested(
            streams=flows,
            duration_s=float(max(0, length)),
            count=max(0, -length),  # a negative length is a number of transactions
            source_port=max(0, port),
        )
    versions = [version for version in (4, 6) if output.is_set(f"ipv{version}")]
    host = output.fields.get("host", "")[:200]
    return settings | tool_results.requested(
        nodelay=output.is_set("no_delay") if "no_delay" in output.fields else None,
        congestion=output.fields.get("congestion_control", "")[:200],
        ip_version=versions[0] if len(versions) == 1 else tool_results.ip_version_of(host),
    )


def _stream(output: _NeperOutput, settings: Mapping[str, Value]) -> dict[str, Value]:
    """A side that reads nothing prints a rate of zero."""
    is_client = output.is_set("client")
    direction = settings["direction"]
    values: dict[str, Value] = {}
    for side, to_client in (("local", is_client), ("remote", not is_client)):
        rate = output.number(f"{side}_throughput")
        if not rate:
            continue
        if direction == "both":
            flow = "to_client_" if to_client else "to_server_"
        elif to_client == (direction == "server-sends"):
            flow = ""
        else:
            output.unread.append(f"`{side}_throughput` is of a direction that was not requested")
            continue
        values[f"{flow}throughput_bit_per_s"] = float(rate)
        if side == "local":
            values |= _elapsed(output, flow)
    return values


def _round_trips(output: _NeperOutput) -> dict[str, Value]:
    """In ``tcp_crr``, a transaction lasts from one answer to the next, with the setup of a
    connection. The server prints zeros for times.
    """
    is_client = output.is_set("client")
    rate = output.number("throughput" if is_client else "remote_throughput")
    values = tool_results.requested(
        transactions_per_s=float(rate) if rate else None,
        transactions=output.whole("num_transactions", 2**53),
    )
    if not is_client:
        return values
    values |= _elapsed(output, "")
    mean_s = output.number("latency_mean", 1e6)
    if not mean_s:
        return values
    values["rtt_mean_ns"] = float(mean_s * 10**9)
    shares = {f"latency_p{share}": column for share, column in tool_results.PERCENTILES.items()}
    names = {"latency_min": "rtt_min_ns", "latency_max": "rtt_max_ns", **shares}
    for name, column in names.items():
        seconds = output.number(name, 1e6)
        if seconds is not None:
            values[column] = round(seconds * 10**9)
    return values


def _elapsed(output: _NeperOutput, flow: str) -> dict[str, Value]:
    """The time between the first and the last event of this side."""
    start_s, end_s = output.number("time_start"), output.number("time_end")
    if start_s is None or end_s is None or not start_s < end_s < start_s + 10**7:
        return {}
    return tool_results.measured(flow, elapsed_ns=tool_results.in_ns(end_s - start_s))


def _failure(output: _NeperOutput, test: str, values: Mapping[str, Value]) -> Failure:
    endings = ("throughput_bit_per_s", "transactions_per_s", "rtt_mean_ns")
    if any(name.endswith(endings) for name in values):
        return None, None
    for error in output.errors:
        if (reason := tool_results.reason_of_error(error, _REASONS)) != "unknown-error":
            return reason, error
    if output.fields.keys() >= {"local_throughput", "remote_throughput"}:
        reason = "no-traffic" if test == "stream" else "no-answer"
        return reason, "neper printed a rate of 0"
    return NOT_RECORDED, "neper printed no rate"


IMPORTER = tool_results.tool_importer(
    parse_neper,
    "what neper printed",
    "outputs of tcp_stream, udp_stream, tcp_rr, udp_rr or tcp_crr, or folders of them. The "
    "client's output has more than the server's. Import only one of the two: they are not "
    "recognised as one test.",
)
