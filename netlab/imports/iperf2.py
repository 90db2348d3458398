"""Import: a run folder out of what ``iperf`` (version 2) printed: its text, or rows of ``-y C``.

A row of ``-y C`` does not state which side printed it: this is the last word ``client`` or
``server`` in the file's name. If the names of two files differ only by these words, tests in them
with the same ports are the two sides of one test. The formats are those of iperf 2.0.5 to 2.2
(``Locale.c``, https://sourceforge.net/projects/iperf2/).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from netlab.imports.common import tool_results
from netlab.imports.common.csv_table import NOT_RECORDED, fault_at, lines_of
from netlab.imports.common.tool_results import Failure, Output, ToolResult, failed
from netlab.trial.record import Value, utc_text

PORT = 5001
"""The port of a server, unless another is requested."""
End = tuple[str, int]
Iperf2Ends = tuple[End, End]


@dataclass(frozen=True, slots=True)
class Iperf2Figures:
    """The figures of one line."""

    start_s: float
    seconds: float
    rate_bit_per_s: float
    bits: float
    packets: int | None = None
    losses: int | None = None
    jitter_ms: float | None = None
    reorders: int | None = None
    step_bit_per_s: float | None = None
    """Size of one step in the last printed digit of the rate (100,000 for ``94.1 Mbits/sec``)."""


@dataclass(slots=True)
class Iperf2Stream:
    """A connection, or a flow of UDP."""

    name: str
    protocol: str
    client: End
    server: End
    is_sender: bool  # whether the side that printed the stream is the sender
    first: int  # the line of the file where it begins
    last: int
    lines: int = 0
    whole: Iperf2Figures | None = None
    report: Iperf2Figures | None = None  # the receiver's figures, printed by the sender
    sent_messages: int | None = None
    mss_bytes: int = 0
    started_at: str = ""
    end_time: datetime | None = None
    flaw: str = ""

    def add(self, number: int, figures: Iperf2Figures) -> None:
        """Add the figures of the next line. The last line is of the whole test, from 0 s on."""
        self.lines += 1
        self.last = number
        self.whole = figures if figures.start_s == 0 else None

    def is_ended_by(self, figures: Iperf2Figures) -> bool:
        """Whether these figures are another stream's, as the whole test's line came before."""
        if self.whole is None or figures.start_s > 0:
            return False
        return self.lines > 1 or figures.bits < self.whole.bits


@dataclass(slots=True)
class Iperf2Block:
    """What one iperf process printed."""

    is_client: bool
    is_text: bool
    protocol: str = ""
    address: str = ""  # the address to which a client connects
    port: int = PORT
    flows: int = 0  # number of streams, if iperf stated it; otherwise 0
    settings: dict[str, Value] = field(default_factory=dict)
    streams: list[Iperf2Stream] = field(default_factory=list)
    sums: list[tuple[int, Iperf2Figures]] = field(default_factory=list)
    """For each row SUM: how many streams came before the row, and the row's figures."""
    errors: list[tuple[int, str]] = field(default_factory=list)


BOTH_WAYS = "a test in both directions is not read"

_NUMBER = r"([0-9]{1,9}(?:\.[0-9]{1,6})?)"
_LABEL = r"\[ {0,8}(\*?(?:SUM(?:-[0-9]{1,6})?|[0-9]{1,9}))\] {0,8}"
_HEAD = re.compile(
    r"(Client connecting to|Server listening on) (?:(\S{1,100}), )?(TCP|UDP) ports? ([0-9]{1,5})"
)
_FLOWS = re.compile(r"\(([0-9]{1,6})(?:/[0-9]{1,6})? flows")
_PEER = re.compile(
    rf"{_LABEL}local (\S{{1,100}}) port ([0-9]{{1,5}}) "
    r"connected with (\S{1,100}) port ([0-9]{1,5})(?![0-9])"
)
_ROW = re.compile(
    rf"{_LABEL}{_NUMBER}- {{0,8}}{_NUMBER} sec {{1,8}}{_NUMBER} ([KMGTP]?)(Byte|bit)s {{1,8}}"
    rf"{_NUMBER} ([KMGTP]?)(Byte|bit)s/sec"
)
_LOSS = re.compile(
    rf"(?: {{1,16}}{_NUMBER} ms)? {{1,16}}([0-9]{{1,15}})/ {{0,16}}([0-9]{{1,15}}) \("
)
_SENT = re.compile(rf"{_LABEL}Sent ([0-9]{{1,15}}) datagrams")
_REPORT = re.compile(rf"{_LABEL}Server Report:")
_BUFFER = re.compile(rf"(?:TCP window|UDP buffer) size: {{1,8}}{_NUMBER} ([KMG]?)Byte(.{{0,80}})")
_REQUEST = re.compile(rf"requested {{1,8}}{_NUMBER} ([KMG]?)Byte")
_MESSAGE = re.compile(r"(?:Sending|Write buffer size:) {1,8}([0-9]{1,9}) [Bb]yte")
_TOS = re.compile(r"TOS (?:will be )?set to 0x([0-9a-fA-F]{1,2})(?![0-9a-fA-F])")
_DATE = re.compile(r" on ([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8})(?:\.[0-9]{1,6})? \((?:UTC|GMT)\)")
_MSS = re.compile(r"(?:icwnd/mss/irtt=[0-9]{1,9}/|MSS=)([0-9]{1,5})[/)]")
_VERSION = re.compile(r"\(peer ([0-9][0-9a-z.-]{0,20})\)")
_ERROR = re.compile(r"(?i)^error\b|\b(?!shutdown)[a-z]{1,20} failed\b|\brefused\b|\bunreachable\b")
_DECORATION = re.compile(
    r"-{20}|\[ ID\]|\[SUM-cnt\]|Binding to|Read buffer|Receiving|Joining|Setting multicast|"
    r"\[SUM(?:-[0-9]{1,6})?\] Sent|TCP congestion|\[ {0,3}CT\]"
)
_SPAN = re.compile(rf"{_NUMBER}- {{0,4}}{_NUMBER}")
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_SIDE = re.compile(r"(?i)(?<![a-z])(?:client|server)(?![a-z])")
_POWER = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}
_BASIC = (
    *("time", "srcaddress", "srcport", "dstaddr", "dstport", "transferid"),
    *("interval", "bytes", "speed"),
)
_OF_UDP = ("jitter", "errors", "datagrams", "errpercent", "outoforder")


class Iperf2Output(Output):
    """Reads the lines of a file one after another, and keeps what they say."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        words = _SIDE.findall(Path(file).name)
        self._side = words[-1].lower() if words else ""
        self._columns: tuple[str, ...] = ()
        self._rows: Iperf2Block | None = None
        self._streams: dict[str | tuple[End, End, str], Iperf2Stream] = {}
        self._reports: set[str] = set()
        self.blocks: list[Iperf2Block] = []
        self.loose_errors: list[str] = []
        """Error lines that come before any other output of iperf."""

    def read(self, number: int, line: str, *, is_cut: bool) -> None:
        """Read the next line, which is not empty. ``is_cut``: no line feed follows the line."""
        if line.startswith("time,srcaddress,"):
            self._columns = tuple(line.split(","))
        elif line[:14].isdecimal() and line.count(",") >= 8:
            if is_cut:  # the line's last digits or columns may be missing
                self.leave(number, line, "is left out, as no line feed ends it")
            else:
                self._row(number, line)
        elif head := _HEAD.match(line):
            flows = _FLOWS.search(line)
            block = Iperf2Block(
                is_client=head[1].startswith("Client"),
                is_text=True,
                protocol=head[3],
                address=head[2] or "",
                port=int(head[4]),
                flows=int(flows[1]) if flows else 0,
            )
            self.blocks.append(block)
            self._streams.clear()
            self._reports.clear()
        elif not self._is_read(number, line):
            self.leave(number, line)

    def _is_read(self, number: int, line: str) -> bool:
        """Read a line of text. Returns whether the line is understood."""
        block = self.blocks[-1] if self.blocks else None
        if _ERROR.search(line) and "WARN" not in line:
            if block is None:
                self.loose_errors.append(line[:200])
            else:
                block.errors.append((number, line[:200]))
            return True
        if block is None or not block.is_text:
            return _DECORATION.match(line) is not None
        if peer := _PEER.match(line):
            self._stream(block, number, peer, line)
        elif row := _ROW.match(line):
            return self._line(block, number, row, line[row.end() :])
        elif report := _REPORT.match(line):
            self._reports.add(report[1])
        elif (sent := _SENT.match(line)) and sent[1] in self._streams:
            self._streams[sent[1]].sent_messages = int(sent[2])
        else:
            return _is_setting(block, line) or _DECORATION.match(line) is not None
        return True

    def _stream(self, block: Iperf2Block, number: int, peer: re.Match[str], line: str) -> None:
        local, remote = (peer[2].partition("%")[0], int(peer[3])), (peer[4], int(peer[5]))
        ends = (local, remote) if block.is_client else (remote, local)
        is_reverse = peer[1].startswith("*") or "(reverse)" in line
        stream = _begun(block, peer[1], ends, block.protocol, number, is_reverse=is_reverse)
        self._streams[stream.name] = stream
        if mss := _MSS.search(line):
            stream.mss_bytes = int(mss[1])
        if (date := _DATE.search(line)) and (began := _utc(date[1], "%Y-%m-%d %H:%M:%S")):
            stream.started_at = utc_text(began)
        if "(bb " in line:
            stream.flaw = "a test with --bounceback is not read"
        elif "(full-duplex)" in line or (block.is_client and local[1] == block.port != remote[1]):
            stream.flaw = BOTH_WAYS
        version = _VERSION.search(line)
        if version and not version[1].startswith(("2.0.", "2.1.", "2.2.")):
            self.leave(number, version[1], "has a version that is not known, read all the same")

    def _line(self, block: Iperf2Block, number: int, row: re.Match[str], more: str) -> bool:
        figures = _of_text(row, more if block.protocol == "UDP" else "")
        if figures is None:
            return False
        name = row[1]
        stream = self._streams.get(name)
        if name.lstrip("*").startswith("SUM"):
            block.sums.append((len(block.streams), figures))
        elif stream is not None and name in self._reports:
            self._reports.discard(name)
            stream.report, stream.last = figures, number
        elif stream is None or stream.is_ended_by(figures):
            return False
        else:
            stream.add(number, figures)
        return True

    def _row(self, number: int, line: str) -> None:
        fields = line.split(",")
        columns = self._columns or (_BASIC if len(fields) == 9 else _BASIC + _OF_UDP)
        is_whole = len(fields) == len(columns) or (self._columns and len(fields) >= 10)
        names = dict(zip(columns, fields, strict=False))
        figures = _of_row(names) if is_whole else None
        ports = [names.get(name, "") for name in ("srcport", "dstport")]
        is_sum = (name := names.get("transferid", "")) == "-1"
        if figures is None or (not is_sum and not all(map(_WHOLE.fullmatch, ports))):
            self.leave(number, line, "is left out, as it is no row or has unlike figures")
            return
        if is_sum:
            if self._rows is not None:
                self._rows.sums.append((len(self._rows.streams), figures))
            return
        ends = ((names["srcaddress"][:100], int(ports[0])), (names["dstaddr"][:100], int(ports[1])))
        protocol = "UDP" if "datagrams" in names else "TCP"
        stream = self._streams.get(key := (*ends, name))
        if stream is not None and (stream.protocol, protocol) == ("TCP", "UDP"):
            # A UDP client of iperf 2.0 prints two rows: first its own figures, without the columns
            # of UDP, then the receiver's figures. This is the second row.
            stream.protocol, stream.report, stream.last = protocol, figures, number
            return
        if stream is None or stream.is_ended_by(figures):
            stream = self._streams[key] = self._row_stream(number, ends, name, protocol)
        stream.add(number, figures)
        # The end of an interval, in no known zone. In the last row, 2.1.8 prints the year 1970.
        ended = _utc(names["time"][:14], "%Y%m%d%H%M%S")
        stream.end_time = ended if ended and ended.year > 1970 else None

    def _row_stream(self, number: int, ends: Iperf2Ends, name: str, protocol: str) -> Iperf2Stream:
        """Add a stream that begins with a CSV row of the client or of the server."""
        # From iperf 2.1 on, a row names the sender first. The server has the port of a server.
        sender, receiver = ends
        is_reverse = sender[1] == PORT != receiver[1]
        is_client = self._side == "client"
        if {"writecnt", "readcnt"} & set(self._columns):
            is_client = is_reverse == ("readcnt" in self._columns)
        elif not self._side:
            sentence = (
                "a row of -y C does not say whether the client or the server printed it: "
                "name the file so, such as test.client.csv"
            )
            raise fault_at(self.file, number, 1, sentence)
        if self._rows is None or self._rows.is_client != is_client:
            self._rows = Iperf2Block(is_client=is_client, is_text=False)
            self.blocks.append(self._rows)
        roles = (receiver, sender) if is_reverse else (sender, receiver)
        stream = _begun(self._rows, name, roles, protocol, number, is_reverse=is_reverse)
        if is_reverse and not is_client and not self._columns:
            stream.flaw = (
                "rows with the server first: of iperf 2.0, or of a server that sent (--reverse)"
            )
        return stream


def _begun(
    block: Iperf2Block, name: str, ends: Iperf2Ends, protocol: str, line: int, *, is_reverse: bool
) -> Iperf2Stream:
    """Add a stream, whose ``ends`` are client and server, to a block."""
    is_sender = block.is_client != is_reverse
    stream = Iperf2Stream(name, protocol, *ends, is_sender=is_sender, first=line, last=line)
    block.streams.append(stream)
    return stream


def _is_setting(block: Iperf2Block, line: str) -> bool:
    settings = block.settings
    if message := _MESSAGE.match(line):
        if block.is_client and int(message[1]):
            settings["message_bytes"] = int(message[1])
    elif buffer := _BUFFER.match(line):
        size = _REQUEST.search(buffer[3]) or buffer
        size_bytes = round(float(size[1]) * 1024 ** _POWER[size[2]])
        if "(default)" not in buffer[3] and size_bytes:
            settings["socket_buffer_bytes"] = size_bytes
    elif tos := _TOS.match(line):
        if int(tos[1], 16):
            settings["dscp"] = int(tos[1], 16) >> 2
        if "nodelay" in line:
            settings["nodelay"] = True
    else:
        return False
    return True


def _of_text(row: re.Match[str], more: str) -> Iperf2Figures | None:
    start, end, amount, rate = (float(row[number]) for number in (2, 3, 4, 7))
    # K, M and G are powers of 1000 for bits, and powers of 1024 for bytes.
    data, unit = (
        8.0 * 1024 ** _POWER[row[at]] if row[at + 1] == "Byte" else 1000.0 ** _POWER[row[at]]
        for at in (5, 8)
    )
    if end <= start or tool_results.bounded(rate * unit) is None:
        return None
    loss = _LOSS.match(more)
    return Iperf2Figures(
        start_s=start,
        seconds=end - start,
        rate_bit_per_s=rate * unit,
        bits=amount * data,
        packets=int(loss[3]) if loss else None,
        losses=int(loss[2]) if loss else None,
        jitter_ms=float(loss[1]) if loss and loss[1] else None,
        step_bit_per_s=unit / 10 ** len(row[7].partition(".")[2]),
    )


def _of_row(names: Mapping[str, str]) -> Iperf2Figures | None:
    """``None`` if a figure is no number, or if the rate is not the data divided by the time."""
    text = names.get("interval") or f"{names.get('istart')}-{names.get('iend')}"
    span = _SPAN.fullmatch(text)
    amounts = [names.get(name, "") for name in ("bytes", "speed")]
    if span is None or not all(map(_WHOLE.fullmatch, amounts)):
        return None
    start, end = float(span[1]), float(span[2])
    bits, rate = 8.0 * int(amounts[0]), float(amounts[1])
    seconds = bits / rate if rate > 0 and bits > 0 else end - start
    tolerance_s = 0.11 + ((end - start) / rate if rate > 0 else 0.0)
    if abs(seconds - (end - start)) > tolerance_s or tool_results.bounded(rate) is None or bits < 0:
        return None
    losses, packets, reorders = (
        int(names[name]) if _WHOLE.fullmatch(names.get(name, "")) else None
        for name in ("errors", "datagrams", "outoforder")
    )
    jitter = names.get("jitter", "")
    return Iperf2Figures(
        start_s=start,
        seconds=seconds,
        rate_bit_per_s=rate,
        bits=bits,
        packets=packets,
        losses=losses,
        jitter_ms=float(jitter) if re.fullmatch(_NUMBER, jitter) else None,
        reorders=reorders,
    )


def _utc(text: str, form: str) -> datetime | None:
    try:
        return datetime.strptime(text, form).replace(tzinfo=UTC)
    except ValueError:
        return None


# ---- from the streams of each process to the results of tests ----

_MISSING = "the line of the whole test is missing"
_AT_ONCE = "the rows do not say whether the connections were at once: -i 1 at the server shows it"

_REASONS = {**tool_results.SYSTEM_ERRORS, "in progress": "connect-timeout"}


@dataclass(slots=True)
class _Iperf2Test:
    """The streams of a test."""

    streams: list[Iperf2Stream]
    sums: int  # how many rows SUM came before the test
    last: int = 0
    names: set[str] = field(default_factory=set)
    total: Iperf2Figures | None = None
    flaw: str = ""
    errors: list[str] = field(default_factory=list)

    def add(self, stream: Iperf2Stream) -> None:
        self.streams.append(stream)
        self.last = max(self.last, stream.last)
        self.names.add(stream.name)
        first = self.streams[0]
        if (stream.is_sender, stream.client[0]) != (first.is_sender, first.client[0]):
            self.flaw = BOTH_WAYS
        self.flaw = self.flaw or stream.flaw


def parse_iperf2(text: str, file: str) -> tuple[ToolResult, ...]:
    """The tests in an output. Raises MatrixError with the place if the text has none."""
    output = Iperf2Output(file)
    for line in lines_of(text, file):
        output.read(line.number, line.text.strip(), is_cut=line.is_cut)
    nothing = "not an output of iperf 2: it contains no test and no rows of -y C"
    sentence = "; ".join([nothing, *output.unread[:1]])
    return output.whole_file([*_results(output)], text, sentence)


def _results(output: Iperf2Output) -> Iterator[ToolResult]:
    numbers: Counter[str] = Counter()
    for error in output.loose_errors[:1]:
        yield Output(output.file).result({}, {}, failed(error, _REASONS))
    for block in output.blocks:
        tests = _tests(block)
        for test in tests:
            yield _result(block, test, output.file, numbers)
        if not tests and (block.is_client or block.errors):
            failure: Failure = (NOT_RECORDED, _MISSING)
            for _, error in block.errors[:1]:
                failure = failed(error, _REASONS)
            settings = tool_results.requested(ip_version=tool_results.ip_version_of(block.address))
            settings |= {"protocol": block.protocol, **block.settings}
            server = block.address if block.is_client else ""
            yield Output(output.file).result(settings, {}, failure, server=server)


def _tests(block: Iperf2Block) -> list[_Iperf2Test]:
    tests: list[_Iperf2Test] = []
    test_of: list[_Iperf2Test] = []
    counts = [count for count, _ in block.sums]
    for index, stream in enumerate(block.streams):
        position = bisect_right(counts, index)
        if not tests or not _is_of(tests[-1], stream, block, position):
            tests.append(_Iperf2Test([], position))
        tests[-1].add(stream)
        test_of.append(tests[-1])
    for count, figures in block.sums:
        if count and figures.start_s == 0:
            test_of[count - 1].total = figures
    begins = [test.streams[0].first for test in tests]
    for number, error in block.errors if tests else ():
        # An error is of the last test that began before it, or else of the first test.
        tests[max(0, bisect_left(begins, number) - 1)].errors.append(error)
    return tests


def _is_of(test: _Iperf2Test, stream: Iperf2Stream, block: Iperf2Block, sums: int) -> bool:
    """Whether a stream belongs to the test before it."""
    if block.is_text and block.is_client:
        return True
    first = test.streams[0]
    sides, first_sides = ({one.client[0], one.server[0]} for one in (stream, first))
    if sides != first_sides or stream.protocol != first.protocol:
        return False
    is_lone = stream.lines == test.streams[-1].lines == 1 and not block.is_text
    is_next = is_lone and sums <= test.sums and stream.name not in test.names
    if stream.first < test.last or not is_next or block.is_client:
        return stream.first < test.last or is_next
    ends, wholes = (first.end_time, stream.end_time), (first.whole, stream.whole)
    seconds = [whole.seconds for whole in wholes if whole]
    # The times are in whole seconds, so those of a short test do not show when it began.
    if None in ends or None in wholes or min(seconds) < 3 or seconds[0] > 1e7:
        test.flaw = _AT_ONCE
        return True
    began, began_too = (
        end - timedelta(seconds=min(1e7, length))
        for end, length in zip(ends, seconds, strict=True)
        if end
    )
    return abs(began_too - began) <= timedelta(seconds=1.5)


def _result(block: Iperf2Block, test: _Iperf2Test, file: str, numbers: Counter[str]) -> ToolResult:
    first = test.streams[0]
    direction = "client-sends" if first.is_sender == block.is_client else "server-sends"
    settings: dict[str, Value] = {
        "protocol": first.protocol,
        "streams": block.flows or len(test.streams),
        "direction": "both" if test.flaw == BOTH_WAYS else direction,
        **tool_results.requested(ip_version=tool_results.ip_version_of(first.server[0])),
        **block.settings,
    }
    failure = _failure(block, test)
    is_whole = failure == (None, None)
    values = _values(test) if is_whole else {}
    if is_whole and values.keys().isdisjoint(("throughput_bit_per_s", "sent_bit_per_s")):
        failure = ("no-traffic", "no data were received")
    # Both sides of a test have the same word: the common part of the files' names, protocol,
    # addresses and ports. Several tests of a file for which all these are equal are counted.
    path = Path(file)
    identity = ""
    if _SIDE.search(path.name):
        ports = " ".join(sorted(str(stream.client[1]) for stream in test.streams))
        word = f"{path.parent} {_SIDE.sub('', path.name)}"
        word += f" {first.protocol} {first.client[0]} {first.server} {ports}"
        numbers[word] += 1
        identity = f"{word} {numbers[word]}"
    return Output(file).result(
        settings,
        values,
        failure,
        server=first.server[0],
        client=first.client[0],
        started_at=first.started_at,
        identity=identity,
    )


def _failure(block: Iperf2Block, test: _Iperf2Test) -> Failure:
    if test.errors:
        return failed(test.errors[0], _REASONS)
    detail = test.flaw
    if not detail and len(test.streams) < block.flows:
        detail = f"{len(test.streams)} of {block.flows} streams are there"
    if not detail and any(stream.whole is None for stream in test.streams):
        detail = _MISSING
    if detail:
        return NOT_RECORDED, detail
    figures = _figures(test)
    if not figures.bits or not figures.rate_bit_per_s:
        return "no-traffic", "no data: 0 bytes"
    return None, None


def _figures(test: _Iperf2Test) -> Iperf2Figures:
    figures = [stream.whole for stream in test.streams if stream.whole]
    longest = max(part.seconds for part in figures)
    if test.total and len(figures) > 1 and abs(test.total.seconds - longest) < 0.3:
        return test.total
    return _total(figures)


def _total(figures: Sequence[Iperf2Figures]) -> Iperf2Figures:
    """All data over the longest time, as in a row SUM."""
    if len(figures) == 1:
        return figures[0]
    seconds = max(part.seconds for part in figures)
    bits = sum(part.bits for part in figures)
    return Iperf2Figures(
        start_s=0.0,
        seconds=seconds,
        rate_bit_per_s=bits / seconds,
        bits=bits,
        packets=_sum([part.packets for part in figures]),
        losses=_sum([part.losses for part in figures]),
        reorders=_sum([part.reorders for part in figures]),
    )


def _sum(counts: Sequence[int | None]) -> int | None:
    return None if None in counts else sum(count or 0 for count in counts)


def _values(test: _Iperf2Test) -> dict[str, Value]:
    """The names of values state whether the sender or the receiver counted them."""
    first, figures = test.streams[0], _figures(test)
    values = tool_results.requested(mss_bytes=first.mss_bytes if first.protocol == "TCP" else None)
    if not first.is_sender:
        return values | _received(figures)
    values["sent_bit_per_s"] = figures.rate_bit_per_s
    sent = _sum([stream.sent_messages for stream in test.streams])
    if sent is None and figures.packets is not None and figures.packets > 0:
        sent = figures.packets  # iperf 2.1.8 prints -1 for the whole test
    reports = [stream.report for stream in test.streams if stream.report]
    if len(reports) == len(test.streams):
        values |= _received(_total(reports))
    return values | tool_results.requested(sent_messages=sent)


def _received(figures: Iperf2Figures) -> dict[str, Value]:
    values: dict[str, Value] = {}
    if figures.rate_bit_per_s > 0 and tool_results.bounded(figures.rate_bit_per_s) is not None:
        values["throughput_bit_per_s"] = figures.rate_bit_per_s
        values |= tool_results.requested(printed_step_bit_per_s=figures.step_bit_per_s)
        values["elapsed_ns"] = round(1e9 * figures.seconds)
    packets = figures.packets
    counts = tool_results.received_messages(packets, figures.losses)
    if not packets or not counts:
        return values
    if figures.reorders is not None and 0 <= figures.reorders <= packets:
        counts["reordered_messages"] = figures.reorders
    if figures.jitter_ms is not None:
        counts["receiver_jitter_ns"] = round(1e6 * figures.jitter_ms)
    return values | counts


IMPORTER = tool_results.tool_importer(
    parse_iperf2,
    "what iperf 2 printed",
    "texts or rows of -y C of clients or servers, or folders of them. The name of a file of "
    "rows says who printed it, such as test.client.csv.",
)
