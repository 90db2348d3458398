"""Import: a run folder out of what ``netperf`` printed on the client.

It reads the classic tables of TCP_STREAM, TCP_MAERTS, UDP_STREAM, TCP_RR, UDP_RR and TCP_CRR, and
omni tests as keys (``-k``), as CSV (``-o``) and as columns below four lines of labels (``-O``). The
format is that of netperf 2.4 to 2.7 (``nettest_omni.c``,
https://github.com/HewlettPackard/netperf); no output states its version.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from netlab.imports.common import tool_results
from netlab.imports.common.csv_table import NOT_RECORDED, fault_at
from netlab.imports.common.tool_results import NUMBER, Failure, Output, ToolResult
from netlab.trial.record import Value

MAX_LINE_CHARACTERS = 2**16

_BANNER = re.compile(
    r"(?P<title>[A-Za-z/| -]{3,60}) TEST(?: from (?P<client>\S*) \(\S*\) port \d+ \S+)?"
    r" to (?P<server>\S+)(?: \(\S*\) port \d+ (?P<family>\S+))?(?P<flags>(?: : ?.*)?)"
)
_KEY = re.compile(r"([A-Z][A-Z0-9_]{1,40}(?:\[[0-9]{1,9}\])?)=(.*)")
_INTERIM = re.compile(
    r"Interim result: +-?[\d.]+ \S+ over (?P<length>[\d.]+) seconds(?: ending at (?P<end>[\d.]+))?"
)
_INTERIM_CSV = re.compile(r" *-?[\d.]+,[^,]+/s,(?P<length>[\d.]+),(?P<end>[\d.]+)")
_UNIT = re.compile(r"(10\^[0369]bits|[KMG]?Bytes) {0,3}/s")
_NOT_MEASURED = re.compile(r"(?:-[12](?:\.0+)?)?")
"""Text of a number that was not measured, or not requested."""

# netperf prints bits in powers of ten and bytes in powers of 1024 (netlib.c).
_UNITS: Mapping[str, int] = {f"10^{power}bits": 10**power for power in (0, 3, 6, 9)} | {
    f"{letter}Bytes": 8 * 1024**power for power, letter in enumerate(("", *"KMG"))
}
"""Unit of a rate, without ``/s`` → its size in bits."""

_HEIGHTS: Mapping[tuple[str, str], int] = {
    ("Recv", "Send"): 4,
    ("Local", "/Remote"): 4,
    ("Socket", "Message"): 3,
}
"""First two words of a classic table → the number of lines above its rows."""

_UDP_SENT = ("LOCAL_SEND_SIZE", "ELAPSED_TIME", "LOCAL_SEND_CALLS", "", "LOCAL_SEND_THROUGHPUT")
_ROWS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "Recv": (("", "", "LOCAL_SEND_SIZE", "ELAPSED_TIME", "THROUGHPUT"),),
    "Local": (("", "", "REQUEST_SIZE", "RESPONSE_SIZE", "ELAPSED_TIME", "THROUGHPUT"),),
    "Socket": (("", *_UDP_SENT), ("", "", "REMOTE_RECV_CALLS", "REMOTE_RECV_THROUGHPUT")),
}
"""First word of a classic table → the keys of the figures in its rows; figures with an empty key
are not read. A table ``Local`` may have one more row, which has the buffer sizes that
the system chose. This row is skipped."""

_OF_A_SIDE = (
    *("Send Size", "Send Calls", "Recv Calls", "Send Throughput", "Recv Throughput"),
    *("NODELAY", "Interval Usecs", "Interval Burst"),
)
_LABELS: Mapping[str, str] = {
    "Protocol": "PROTOCOL",
    "Direction": "DIRECTION",
    "Elapsed Time (sec)": "ELAPSED_TIME",
    "Throughput": "THROUGHPUT",
    "Throughput Units": "THROUGHPUT_UNITS",
    "Transaction Rate Tran/s": "TRANSACTION_RATE",
    "Round Trip Latency usec/tran": "RT_LATENCY",
    "Transport MSS bytes": "TRANSPORT_MSS",
    "Request Size Bytes": "REQUEST_SIZE",
    "Response Size Bytes": "RESPONSE_SIZE",
    "Initial Burst Requests": "BURST_SIZE",
    "Source Address": "SOURCE_ADDR",
    "Destination Address": "DEST_ADDR",
    "Minimum Latency Microseconds": "MIN_LATENCY",
    "Maximum Latency Microseconds": "MAX_LATENCY",
    "Mean Latency Microseconds": "MEAN_LATENCY",
    **{f"{n}th Percentile Latency Microseconds": f"P{n}_LATENCY" for n in (50, 90, 99)},
    "Command Line": "COMMAND_LINE",
    **{
        f"{side} {label}": key.format(side=side.upper(), letter=side[0])
        for side in ("Local", "Remote")
        for label, key in (
            ("Send Socket Size Requested", "{letter}SS_SIZE_REQ"),
            ("Recv Socket Size Requested", "{letter}SR_SIZE_REQ"),
            ("Congestion Control Algorithm", "{side}_CONG_CONTROL"),
            ("Socket TOS", "{side}_SOCKET_TOS"),
            *((words, "{side}_" + words.replace(" ", "_").upper()) for words in _OF_A_SIDE),
        )
    },
}
"""Label of a column in the second and third form → the key that omni prints with ``-k``."""

_WORDS_OF_LABELS = frozenset(label.split()[0] for label in _LABELS)
_ERRORS = ("establish control", "establish_control", "netperf:", "recv_response", "send_omni")


class NetperfOutput(Output):
    """What one output states, from the line ``first`` of the file on."""

    def __init__(self, file: str, first: int, banner: Mapping[str, str]) -> None:
        super().__init__(file)
        self.first = first
        self.banner = banner
        """Parts of the output's first line: ``title``, ``client``, ``server``, ``family`` (of
        addresses) and ``flags``; empty if the output has no such line."""
        self.started_at = ""
        self.error = ""

    @property
    def title(self) -> str:
        """The banner's title without ``MIGRATED``, which netperf prints since 2.5."""
        return self.banner.get("title", "").removeprefix("MIGRATED ")

    @property
    def is_test(self) -> bool:
        """Whether this is the output of a test. A test that could not begin counts as well."""
        return bool(self.banner or self.error or {"THROUGHPUT", "PROTOCOL"} & self.fields.keys())

    def has_flag(self, flag: str) -> bool:
        """Whether the banner has a flag such as ``nodelay``."""
        return f" : {flag}" in self.banner.get("flags", "")

    def text(self, name: str) -> str | None:
        """The text of a field; ``None`` if it is absent or not measured."""
        text = self.fields.get(name, "").strip()
        return None if _NOT_MEASURED.fullmatch(text) else text

    def whole(self, name: str, most: int = 2**40) -> int | None:
        """A whole number above 0, or ``None``. netperf prints 0 for what is not set."""
        number = self.number(name, most)
        return int(number) if number and number == int(number) else None

    @property
    def unit(self) -> str:
        """The unit of the output's rates, without ``/s``."""
        return self.fields.get("THROUGHPUT_UNITS", "").removesuffix("/s")

    def rate(self, name: str) -> tuple[float, float] | None:
        """A rate in bit/s, and the size in bit/s of one step in its last printed digit."""
        number, factor = self.number(name), _UNITS.get(self.unit)
        if number is None or factor is None or number * factor > 10**15:
            return None
        step = Decimal(1).scaleb(int(number.as_tuple().exponent)) * factor
        return float(number * factor), float(step)


def _outputs(text: str, file: str) -> list[NetperfOutput]:
    lines = []
    for number, line in enumerate(text.split("\n"), start=1):
        if len(line) > MAX_LINE_CHARACTERS:
            sentence = f"longer than {MAX_LINE_CHARACTERS} characters"
            raise fault_at(file, number, MAX_LINE_CHARACTERS + 1, sentence)
        if "\0" in line:
            raise fault_at(file, number, line.index("\0") + 1, "a NUL byte")
        lines.append(line.rstrip())
    rest = lines.pop()
    tests: list[NetperfOutput] = []
    before: list[str] = []
    first = 1
    for section in _sections(lines):
        output = _output(section, first, file)
        first += len(section)
        if output.is_test:
            output.unread[:0] = before
            tests.append(output)
        before = [] if output.is_test else [*before, *output.unread][:3]
    if not tests:
        sentence = "not an output of netperf: no line names a test, such as TCP STREAM TEST"
        raise fault_at(file, 1, 1, sentence)
    tests[-1].unread += before
    if rest:
        # A figure at the end of a file may lack its last digits.
        sentence = f"line {len(lines) + 1} does not end, so it is not read: {rest[:40]!r}"
        tests[-1].unread.append(sentence)
    return tests


def _sections(lines: Sequence[str]) -> Iterator[list[str]]:
    """The lines of each output, which begins at a banner or at a key that is there already."""
    section: list[str] = []
    keys: set[str] = set()
    has_banner = False
    for line in lines:
        key = match[1] if (match := _KEY.fullmatch(line)) else ""
        is_banner = _BANNER.fullmatch(line) is not None
        is_start = is_banner or line.startswith("establish control:")
        if is_start or (key in keys and not has_banner):
            yield section
            section, keys, has_banner = [], set(), is_banner
        section.append(line)
        keys |= {key} if key else set()
    yield section


def _output(lines: Sequence[str], first: int, file: str) -> NetperfOutput:
    banner = _BANNER.fullmatch(lines[0]) if lines else None
    output = NetperfOutput(file, first, banner.groupdict("") if banner else {})
    unknown: list[int] = []
    at = 0
    while at < len(lines):
        count = _step(output, lines, at)
        unknown += [] if count else [at]
        at += count or 1
    if errors := [lines[at] for at in unknown if lines[at].startswith(_ERRORS)]:
        output.error = "; ".join(errors[:3])[:200]
    if unknown:
        words = "line is" if len(unknown) == 1 else "lines are"
        at = unknown[0]
        output.unread.append(
            f"{len(unknown)} {words} not read, first line {first + at}: {lines[at][:60]!r}"
        )
    if not output.started_at:
        length, end = (output.fields.get(f"NETPERF_{w}[0]", "") for w in ("INTERVAL", "ENDING"))
        output.started_at = _start(length, end)
    return output


def _step(output: NetperfOutput, lines: Sequence[str], at: int) -> int:
    """Read one line or more from index ``at`` on. Returns how many lines were understood."""
    text = lines[at]
    if not text or (at == 0 and output.banner):
        return 1
    if match := _KEY.fullmatch(text):
        is_new = match[1] not in output.fields
        output.fields.setdefault(match[1], match[2])
        return int(is_new)
    if match := _INTERIM.fullmatch(text) or _INTERIM_CSV.fullmatch(text):
        output.started_at = output.started_at or _start(match["length"], match["end"] or "")
        return 1
    if text.startswith("!!!"):
        if "Throughput" in text:
            width = text.rpartition(":")[2].strip()[:20]
            output.unread.append(f"netperf warns that its throughput varies: by {width}")
        return 1
    return (
        _classic_table(output, lines, at)
        or _more_of_a_table(output, lines, at)
        or _csv_table(output, lines, at)
        or _columns(output, lines, at)
    )


def _start(length: str, end: str) -> str:
    """The time at which an interim result (``-D``) began; empty if it is unknown."""
    if not (NUMBER.fullmatch(length) and NUMBER.fullmatch(end)):
        return ""
    return tool_results.time_of_epoch(float(Decimal(end) - Decimal(length)))


def _classic_table(output: NetperfOutput, lines: Sequence[str], at: int) -> int:
    """Read the table of a classic test such as TCP_STREAM."""
    words = lines[at].split()[:2]
    height = _HEIGHTS.get((words[0], words[-1]), 0)
    if not height or "ELAPSED_TIME" in output.fields:
        return 0
    title = " ".join(lines[at : at + height])
    count = height + (at + height < len(lines) and not lines[at + height])
    rows = [line.split() for line in lines[at + count : at + count + 2]]
    names = _ROWS[words[0]]
    if len(rows) < len(names) or any(
        len(row) < len(part) or not all(map(NUMBER.fullmatch, row[: len(part)]))
        for row, part in zip(rows, names, strict=False)
    ):
        return height
    for row, part in zip(rows, names, strict=False):
        output.fields.update({name: text for name, text in zip(part, row, strict=False) if name})
    if "MAERTS" in output.banner.get("title", "") and "LOCAL_SEND_SIZE" in output.fields:
        output.fields["REMOTE_SEND_SIZE"] = output.fields.pop("LOCAL_SEND_SIZE")
    unit = _UNIT.search(title)
    output.fields["THROUGHPUT_UNITS"] = unit[1] if unit else "Trans" * ("Trans." in title)
    sizes = rows[1] if len(rows) == 2 else []
    is_of_sizes = words[0] == "Local" and len(sizes) == 2 and all(map(NUMBER.fullmatch, sizes))
    return count + len(names) + is_of_sizes


def _more_of_a_table(output: NetperfOutput, lines: Sequence[str], at: int) -> int:
    """Read what a classic test prints below its table with ``-v 2``."""
    title = lines[at].split()
    row = lines[at + 1].split() if at + 1 < len(lines) else []
    if "usec/Tran" in title and len(row) == 8:
        output.fields.setdefault("RT_LATENCY", row[4])
    elif title == ["Size", "(bytes)"] and len(row) == 1:
        output.fields.setdefault("TRANSPORT_MSS", row[0])
    else:
        return 0
    return 2


def _csv_table(output: NetperfOutput, lines: Sequence[str], at: int) -> int:
    """Read a row of labels and the row of values below it."""
    if "," not in lines[at]:
        return 0
    labels, *rows = map(_cells, lines[at : at + 2])
    if len(labels) < 2 or not any(label in _LABELS for label in labels):
        return 0
    if not rows or len(rows[0]) != len(labels):
        output.unread.append(f"the row below line {output.first + at} has not its number of values")
        return 1
    return 2 if _is_labelled(output, labels, rows[0]) else 0


def _cells(text: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([text]), [])]
    except csv.Error:
        return []


def _columns(output: NetperfOutput, lines: Sequence[str], at: int) -> int:
    """Read a table with four lines of labels above a line of values."""
    if at + 4 >= len(lines) or _WORDS_OF_LABELS.isdisjoint(lines[at].split()):
        return 0
    title, row = lines[at : at + 4], lines[at + 4]
    words = [*re.finditer(r"\S+", row)]
    if not words:
        return 0
    places = [match.start() for match in words]
    labels = [
        " ".join(part for line in title if (part := line[start:end].strip()))
        for start, end in zip(places, [*places[1:], None], strict=True)
    ]
    return 5 if _is_labelled(output, labels, [match[0] for match in words]) else 0


def _is_labelled(output: NetperfOutput, labels: Sequence[str], values: Sequence[str]) -> bool:
    pairs = zip(labels, values, strict=True)
    fields = {_LABELS[label]: value for label, value in pairs if label in _LABELS}
    output.fields = {**fields, **output.fields}
    return bool(fields)


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

_FIGURES = ("throughput_bit_per_s", "sent_bit_per_s", "transactions_per_s", "rtt_mean_ns")
"""A test has a result if it has one of these values, and if the first one that it has is not 0."""

_REASONS = {
    **tool_results.SYSTEM_ERRORS,
    "partial response": "peer-vanished",
    "no buffer space": "no-buffers",
    "not permitted": "permission-denied",
    "interrupt": "interrupted",
}


def parse_netperf(text: str, file: str) -> tuple[ToolResult, ...]:
    """The tests in an output. Raises MatrixError if the text is not netperf's."""
    return tuple(map(_result, _outputs(text, file)))


def _result(output: NetperfOutput) -> ToolResult:
    # If a banner has a title, only the title counts, not the key DIRECTION.
    stated = "" if output.title else output.fields.get("DIRECTION", "")
    protocol, stated = _TITLES.get(output.title, ("", stated))
    test, direction = _TESTS.get(stated, ("", ""))
    printed = output.fields.get("PROTOCOL", "")
    if printed not in ("", "TCP", "UDP"):
        output.unread.append(f"the protocol {printed[:40]!r} is not known")
    else:
        protocol = protocol or printed
    _note_flags(output)
    server = _address(output, "server", "DEST_ADDR")
    settings: dict[str, Value] = {}
    values: dict[str, Value] = {}
    if test:
        families = {"AF_INET": 4, "AF_INET6": 6}
        version = families.get(output.banner.get("family", ""))
        version = version or tool_results.ip_version_of(server)
        settings = _settings(output, test, direction)
        settings |= tool_results.requested(protocol=protocol, ip_version=version)
        is_stream = test == "stream"
        values = _stream(output, protocol, direction) if is_stream else _round_trips(output)
        values |= tool_results.measured(
            elapsed_ns=tool_results.in_ns(output.number("ELAPSED_TIME", 1e7))
        )
        if protocol == "TCP":
            values |= tool_results.requested(mss_bytes=output.whole("TRANSPORT_MSS", 65535))
    reason, detail = _failure(output, test, values)
    if reason is None and not protocol:
        detail = "TCP or UDP is not stated; with -k or -o, the key PROTOCOL states it"
    # netperf's UUID identifies no test: it is an option, so several tests may share one.
    return output.result(
        settings,
        values,
        (reason, detail),
        test=test or "stream",
        server=server,
        client=_address(output, "client", "SOURCE_ADDR"),
        started_at=output.started_at,
    )


def _address(output: NetperfOutput, part: str, key: str) -> str:
    address = output.banner.get(part) or output.fields.get(key, "")
    # A wildcard address is that of no host.
    return "" if address in ("0.0.0.0", "::", "::0") else address[:200]  # noqa: S104


def _note_flags(output: NetperfOutput) -> None:
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


def _settings(output: NetperfOutput, test: str, direction: str) -> dict[str, Value]:
    near = "REMOTE" if direction == "server-sends" else "LOCAL"
    is_stream = test == "stream"
    settings = tool_results.requested(
        direction=direction,
        message_bytes=output.whole(f"{near}_SEND_SIZE" if is_stream else "REQUEST_SIZE"),
        response_bytes=None if is_stream else output.whole("RESPONSE_SIZE"),
    )
    if test == "round_trip":
        # The requests in flight are those of the first burst, and one more.
        match = _BURST.search(output.banner.get("flags", ""))
        burst = Decimal(match[1]) if match else output.number("BURST_SIZE", 1e6)
        if burst is not None:
            settings["outstanding"] = int(burst) + 1
    ends = [output.number(f"{end}_NODELAY", 1) for end in ("LOCAL", "REMOTE")]
    is_stated = ends != [None, None]
    # A negative -l is a number of bytes or transactions, not a duration.
    options = output.fields.get("COMMAND_LINE", "").partition(" -- ")[0]
    duration = _DURATION.search(options)
    # Both ends must state one size of the buffers.
    stated = [key for key in ("LSS", "LSR", "RSS", "RSR") if output.fields.get(f"{key}_SIZE_REQ")]
    sizes = {output.whole(f"{key}_SIZE_REQ") for key in stated}
    buffer_bytes = None
    if len(sizes) == 1 and len({key[0] for key in stated}) == 2:
        buffer_bytes = sizes.pop()
    elif sizes - {None}:
        output.unread.append("the requested socket buffers are not stated as one size at both ends")
    settings |= tool_results.requested(
        nodelay=output.has_flag("nodelay") or (any(ends) if is_stated else None),
        duration_s=float(duration[1]) if duration else None,
        socket_buffer_bytes=buffer_bytes,
    )
    batch, pause_us = (output.whole(f"{near}_INTERVAL_{name}") for name in ("BURST", "USECS"))
    if batch and pause_us:
        settings["message_rate_per_s"] = 1e6 * batch / pause_us
    service = _SERVICE.fullmatch(output.fields.get(f"{near}_SOCKET_TOS", ""))
    if service and int(service[1], 16):
        settings["dscp"] = int(service[1], 16) >> 2
    return settings


def _stream(output: NetperfOutput, protocol: str, direction: str) -> dict[str, Value]:
    """Its latencies are times of its send calls, and are not read."""
    from_client = direction == "client-sends"
    sender, receiver = ("LOCAL", "REMOTE") if from_client else ("REMOTE", "LOCAL")
    carried = output.rate("THROUGHPUT") or output.rate(f"{receiver}_RECV_THROUGHPUT")
    sent = output.rate(f"{sender}_SEND_THROUGHPUT")
    # Without a control connection, netperf assumes that all data arrived.
    is_assumed = from_client and (output.has_flag("no control") or _is_old(output))
    if is_assumed:
        carried, sent = None, sent or output.rate("THROUGHPUT")
    values = tool_results.measured(
        throughput_bit_per_s=carried and carried[0],
        printed_step_bit_per_s=carried and carried[1],
        sent_bit_per_s=sent and sent[0],
    ) | tool_results.requested(
        sender_congestion=output.fields.get(f"{sender}_CONG_CONTROL", "")[:40]
    )
    if protocol != "UDP":
        return values
    messages = output.number(f"{sender}_SEND_CALLS", 2**53)
    received = output.number(f"{receiver}_RECV_CALLS", 2**53)
    if messages is not None:
        values["sent_messages"] = int(messages)
    if received is not None and not is_assumed:
        values["received_messages"] = int(received)
        if messages is not None and received <= messages:
            values["lost_messages"] = int(messages - received)
    return values


def _round_trips(output: NetperfOutput) -> dict[str, Value]:
    """Transactions, and latencies of requests with their answers, or of whole connections."""
    values: dict[str, Value] = {}
    rate = output.number("THROUGHPUT" if output.unit == "Trans" else "TRANSACTION_RATE")
    if rate is not None:
        values["transactions_per_s"] = float(rate)
    means_us = (output.number(key, 1e9) for key in ("MEAN_LATENCY", "RT_LATENCY"))
    mean_us = next((mean for mean in means_us if mean is not None), None)
    if mean_us is not None:
        values["rtt_mean_ns"] = float(1000 * mean_us)
    for word in ("MIN", "MAX", "P50", "P90", "P99"):
        latency_us = output.number(f"{word}_LATENCY", 1e9)
        if latency_us is not None:
            values[f"rtt_{word.lower()}_ns"] = int(1000 * latency_us)
    return values


def _failure(output: NetperfOutput, test: str, values: Mapping[str, Value]) -> Failure:
    figures = [values[name] for name in _FIGURES if name in values]
    if output.error and not figures:
        return tool_results.failed(output.error, _REASONS)
    if not test:
        title = f"the test {output.title!r} is not known" if output.banner else ""
        return NOT_RECORDED, title or "the test is not stated; the key DIRECTION states it"
    if not figures:
        is_bits = test != "stream" and "bits" in output.unit
        words = "a rate in bits instead of transactions" if is_bits else "no whole result"
        return NOT_RECORDED, f"netperf printed {words}"
    if not figures[0]:
        return ("no-traffic" if test == "stream" else "no-answer"), "netperf counted nothing"
    return None, None


IMPORTER = tool_results.tool_importer(
    parse_netperf,
    "what netperf printed",
    "outputs of clients, or folders of them: classic tables, or those of omni with -k, -o or -O.",
)
