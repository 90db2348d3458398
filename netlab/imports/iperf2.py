"""Import: a run folder out of what ``iperf`` (version 2) printed: its text, or rows of ``-y C``.

The text (with ``-e`` or without it) states whether the client or the server printed it, and so
whether a figure is the sender's or the receiver's; a UDP client prints the receiver's figures below
``Server Report``. A row of ``-y C`` (CSV) does not state which side printed it. This side is the
last word ``client`` or ``server`` in the file's name, such as in ``test.client.csv``. From iperf
2.1 on, a row names the sender first. The server is the host with port 5001, otherwise the second
host. With several streams, the figures are those of the row SUM; without such a row, as in 2.1.8,
the rate is all data divided by the longest time. K, M and G are powers of 1000 for bits, and powers
of 1024 for bytes.

In rows of a client, a stream number that appears again begins the next test. If the names of two
files differ only by ``client`` and ``server``, tests in them with the same ports are the two sides
of one test. The time of a row is left out, because it is the end of an interval and has no time
zone; a time in the text is read if it is in UTC. Tests in both directions and with ``--bounceback``
are recognised but not read. The formats are those of iperf 2.0.5 to 2.2 (``Locale.c``,
https://sourceforge.net/projects/iperf2/).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import Path

from netlab.errors import Fault, MatrixError
from netlab.imports import Importer
from netlab.imports.common.csv_table import MAX_LINE_CHARACTERS
from netlab.imports.common.iperf2_lines import (
    BOTH_WAYS,
    Iperf2Block,
    Iperf2Figures,
    Iperf2Output,
    Iperf2Stream,
)
from netlab.imports.common.tool_results import (
    TOOL_OPTIONS,
    ToolResult,
    bounded,
    import_results,
    ip_version_of,
    reason_of_error,
)
from netlab.trial.record import Value

_MISSING = "the line of the whole test is missing"
_AT_ONCE = "the rows do not say whether the connections were at once: -i 1 at the server shows it"
_SIDES = re.compile(r"(?i)(?<![a-z])(?:client|server)(?![a-z])")

_REASONS = {
    "refused": "connect-refused",
    "unreachable": "unreachable",
    "no route to host": "unreachable",
    "timed out": "connect-timeout",
    "in progress": "connect-timeout",
    "already in use": "address-in-use",
    "cannot assign": "address-not-available",
    "message too long": "message-too-long",
    "reset by peer": "peer-vanished",
    "broken pipe": "peer-vanished",
    "permission denied": "permission-denied",
}
"""Words in an error of iperf → the reason."""


@dataclass(slots=True)
class _Iperf2Test:
    """The streams of a test."""

    streams: list[Iperf2Stream]
    sums: int
    """How many rows SUM came before the test."""
    last: int
    names: set[str]
    sides: frozenset[str]
    protocol: str
    total: Iperf2Figures | None = None
    flaw: str = ""
    errors: list[str] = field(default_factory=list)

    def add(self, stream: Iperf2Stream) -> None:
        """Add a stream to the test."""
        self.streams.append(stream)
        self.last = max(self.last, stream.last)
        self.names.add(stream.name)
        if (
            stream.is_sender != self.streams[0].is_sender
            or stream.client[0] != self.streams[0].client[0]
        ):
            self.flaw = BOTH_WAYS


def parse_iperf2(text: str, file: str) -> tuple[ToolResult, ...]:
    """The tests in an output. No I/O. Raises MatrixError with the place if the text has none."""
    output = Iperf2Output(file)
    lines = text.split("\n")
    for number, full_line in enumerate(lines, start=1):
        if len(full_line) > MAX_LINE_CHARACTERS:
            sentence = f"longer than {MAX_LINE_CHARACTERS} characters"
            raise _fault(file, number, MAX_LINE_CHARACTERS + 1, sentence)
        if line := full_line.strip():
            output.read(number, line, is_cut=number == len(lines))
    results = list(_results(output, file))
    if not results:
        first = next((number for number, line in enumerate(lines, 1) if line.strip()), 1)
        sentence = "not an output of iperf 2: it contains no test and no rows of -y C"
        sentence = "; ".join([sentence, *output.unread[:1]])
        raise _fault(file, first, 1, sentence if text.strip() else "empty")
    if unread := output.unread:
        results[-1] = replace(results[-1], unread=(*results[-1].unread, *unread))
    return tuple(results)


def _fault(file: str, line: int, column: int, sentence: str) -> MatrixError:
    return MatrixError([Fault(file, line, column, "", sentence)])


def _results(output: Iperf2Output, file: str) -> Iterator[ToolResult]:
    """The results of all iperf processes whose output is in a file."""
    numbers: dict[str, int] = {}
    for error in output.loose_errors[:1]:
        yield _failed(file, "", "", {}, reason_of_error(error, _REASONS), error)
    for block in output.blocks:
        tests = _tests(block)
        for test in tests:
            yield _result(block, test, file, numbers)
        errors = [error for _, error in block.errors]
        if not tests and (block.is_client or errors):
            settings: dict[str, Value] = {"protocol": block.protocol}
            settings |= _ip_version(block.address)
            reason = reason_of_error(errors[0], _REASONS) if errors else "not-recorded"
            detail = errors[0] if errors else _MISSING
            server = block.address if block.is_client else ""
            yield _failed(file, server, "", {**settings, **block.settings}, reason, detail)


def _failed(
    file: str, server: str, client: str, settings: Mapping[str, Value], reason: str, detail: str
) -> ToolResult:
    return ToolResult(
        file=file,
        test="stream",
        server=server,
        client=client,
        settings=settings,
        values={},
        reason=reason,
        detail=detail,
    )


def _tests(block: Iperf2Block) -> list[_Iperf2Test]:
    """The tests that an iperf process printed, each with the streams that belong to the test."""
    tests: list[_Iperf2Test] = []
    test_of: list[_Iperf2Test] = []
    position = 0
    for index, stream in enumerate(block.streams):
        while position < len(block.sums) and block.sums[position][0] <= index:
            position += 1
        if not tests or not _is_of(tests[-1], stream, block, position):
            sides = frozenset((stream.client[0], stream.server[0]))
            tests.append(_Iperf2Test([], position, stream.last, set(), sides, stream.protocol))
        tests[-1].add(stream)
        tests[-1].flaw = tests[-1].flaw or stream.flaw
        test_of.append(tests[-1])
    for count, figures in block.sums:
        if count and figures.start_s == 0:
            test_of[count - 1].total = figures
    _add_errors(tests, block)
    return tests


def _is_of(test: _Iperf2Test, stream: Iperf2Stream, block: Iperf2Block, sums: int) -> bool:
    """Whether a stream belongs to the test before it."""
    if block.is_text and block.is_client:
        return True
    if {stream.client[0], stream.server[0]} != test.sides or stream.protocol != test.protocol:
        return False
    if stream.first < test.last:
        return True
    is_lone = stream.lines == test.streams[-1].lines == 1 and not block.is_text
    if not is_lone or sums > test.sums or stream.name in test.names:
        return False
    is_at_once = block.is_client or _is_at_once(test.streams[0], stream)
    if is_at_once is None:
        test.flaw = _AT_ONCE
    return is_at_once is not False


def _is_at_once(one: Iperf2Stream, other: Iperf2Stream) -> bool | None:
    """Whether two streams of one row each began together; ``None`` if the times do not show it."""
    if not (one.end_time and other.end_time and one.whole and other.whole):
        return None
    if min(one.whole.seconds, other.whole.seconds) < 3 or one.whole.seconds > 1e7:
        return None  # too short: the times are in whole seconds
    begins = [
        stream.end_time - timedelta(seconds=min(1e7, stream.whole.seconds))
        for stream in (one, other)
        if stream.end_time and stream.whole
    ]
    return abs(begins[1] - begins[0]) <= timedelta(seconds=1.5)


def _add_errors(tests: Sequence[_Iperf2Test], block: Iperf2Block) -> None:
    """Add each error to the last test that began before it, or else to the first test."""
    index = 0
    for number, error in block.errors:
        while index + 1 < len(tests) and tests[index + 1].streams[0].first < number:
            index += 1
        if tests:
            tests[index].errors.append(error)


def _result(
    block: Iperf2Block, test: _Iperf2Test, file: str, numbers: dict[str, int]
) -> ToolResult:
    first = test.streams[0]
    settings: dict[str, Value] = {
        "protocol": first.protocol,
        "streams": block.flows or len(test.streams),
        "direction": "client-sends" if first.is_sender == block.is_client else "server-sends",
        **_ip_version(first.server[0]),
        **block.settings,
    }
    if test.flaw == BOTH_WAYS:
        settings["direction"] = "both"
    reason, detail = _failure(block, test)
    values = {} if reason else dict(_values(test))
    if not reason and not {"throughput_bit_per_s", "sent_bit_per_s"} & values.keys():
        reason, detail = "no-traffic", "no data were received"
    return ToolResult(
        file=file,
        test="stream",
        server=first.server[0],
        client=first.client[0],
        settings=settings,
        values=values if reason is None else {},
        started_at=first.started_at,
        identity=_identity(test, file, numbers),
        reason=reason,
        detail=detail,
    )


def _ip_version(address: str) -> dict[str, Value]:
    version = ip_version_of(address)
    return {} if version is None else {"ip_version": version}


def _identity(test: _Iperf2Test, file: str, numbers: dict[str, int]) -> str:
    """A word that is the same for both sides of a test: the common part of the files' names,
    protocol, addresses and ports, and a number. The number counts the tests of
    the file for which all of these are equal.
    """
    path = Path(file)
    if not _SIDES.search(path.name):
        return ""
    stem = _SIDES.sub("", path.name)
    first = test.streams[0]
    ports = " ".join(sorted(str(stream.client[1]) for stream in test.streams))
    word = f"{path.parent} {stem} {first.protocol} {first.client[0]} {first.server} {ports}"
    numbers[word] = numbers.get(word, 0) + 1
    return f"{word} {numbers[word]}"


def _failure(block: Iperf2Block, test: _Iperf2Test) -> tuple[str | None, str | None]:
    """Why a test has no result, as a reason and a sentence; both ``None`` if it has a result."""
    if test.errors:
        return reason_of_error(test.errors[0], _REASONS), test.errors[0]
    if test.flaw:
        return "not-recorded", test.flaw
    if len(test.streams) < block.flows:
        return "not-recorded", f"{len(test.streams)} of {block.flows} streams are there"
    if any(stream.whole is None for stream in test.streams):
        return "not-recorded", _MISSING
    figures = _figures(test)
    if not figures.bits or not figures.rate_bit_per_s:
        return "no-traffic", "no data: 0 bytes"
    return None, None


def _figures(test: _Iperf2Test) -> Iperf2Figures:
    """The figures of all streams of a test together."""
    figures = [stream.whole for stream in test.streams if stream.whole]
    longest = max(part.seconds for part in figures)
    if test.total and len(figures) > 1 and abs(test.total.seconds - longest) < 0.3:
        return test.total
    return _total(figures)


def _total(figures: Sequence[Iperf2Figures]) -> Iperf2Figures:
    """The streams' figures together: all data over the longest time, as in a row SUM."""
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


def _values(test: _Iperf2Test) -> Iterator[tuple[str, Value]]:
    """The measured values; their names state whether the sender or the receiver counted them."""
    first = test.streams[0]
    if first.mss_bytes and first.protocol == "TCP":
        yield "mss_bytes", first.mss_bytes
    figures = _figures(test)
    if not first.is_sender:
        yield from _received(figures)
        return
    yield "sent_bit_per_s", figures.rate_bit_per_s
    sent = _sum([stream.sent_messages for stream in test.streams])
    if sent is None and figures.packets is not None and figures.packets > 0:
        sent = figures.packets  # iperf 2.1.8 prints -1 for the whole test
    reports = [stream.report for stream in test.streams if stream.report]
    if len(reports) == len(test.streams):
        yield from _received(_total(reports))
    if sent:
        yield "sent_messages", sent


def _received(figures: Iperf2Figures) -> Iterator[tuple[str, Value]]:
    """What the receiver counted."""
    if figures.rate_bit_per_s > 0 and bounded(figures.rate_bit_per_s) is not None:
        yield "throughput_bit_per_s", figures.rate_bit_per_s
        if figures.step_bit_per_s:
            yield "printed_step_bit_per_s", figures.step_bit_per_s
        yield "elapsed_ns", round(1e9 * figures.seconds)
    packets, losses = figures.packets, figures.losses
    if packets is None or losses is None or not 0 <= losses <= packets or not packets:
        return
    yield "received_messages", packets - losses
    yield "lost_messages", losses
    yield "sent_messages", packets
    if figures.reorders is not None and 0 <= figures.reorders <= packets:
        yield "reordered_messages", figures.reorders
    if figures.jitter_ms is not None:
        yield "receiver_jitter_ns", round(1e6 * figures.jitter_ms)


import_iperf2 = partial(import_results, parse=parse_iperf2)
"""Makes a run folder; the arguments are those of ``import_results``."""

IMPORTER = Importer(
    read=import_iperf2,
    is_of_files=True,
    help="""Make a run folder out of what iperf 2 printed, and its report.

    FILES are texts or rows of -y C of clients or servers, or folders of them. The name of a file
    of rows says who printed it, such as test.client.csv. Tests with the same settings between the
    same hosts are trials of one cell.
    """,
    options=TOOL_OPTIONS,
)
