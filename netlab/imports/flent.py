"""Import: a run folder out of what flent wrote, ``.flent`` and ``.flent.gz``.

flent computes its averages and sums from its own samples, so this import does not read them. The
format is version 4, as flent 2.0 to 2.3 writes it (doc/data-format.rst of
https://github.com/tohojo/flent); other versions are read as far as they are understood.
"""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from netlab.imports.common import tool_results
from netlab.imports.common.csv_table import NOT_RECORDED, fault_at, text_of
from netlab.imports.common.tool_results import Output, ToolResult
from netlab.stats.histogram import BITS, bucket_of
from netlab.trial.record import Value, utc_of, utc_text

MAX_TEXT_BYTES = 64 * 2**20
"""A longer text is an attack: an hour of rrul has less than 20 MB."""

MAX_SERIES = 2000

_GZIP = b"\x1f\x8b"
_VERSION = 4
_MAX_MEMBERS = 8
_MAX_MS = 1e9
_MAX_TRIPS = 10**6
_TEST = re.compile(r" -t (TCP_STREAM|TCP_MAERTS|UDP_RR) ")
_MARK = re.compile(r" -Y 0x([0-9a-f]{1,2})[, ]")
_CONGESTION = re.compile(r"[A-Za-z0-9_.-]{1,32}")
_PINGS = ("PING", "IRTT", "UDP_RR")
_FLOWS = {"TCP_STREAM": "to_server_", "TCP_MAERTS": "to_client_"}

_NAMES = {"TCP upload": "TCP_STREAM", "TCP download": "TCP_MAERTS", "Ping (ms) UDP": "UDP_RR"}
"""Start of a series' name → netperf's test; used if the file does not have netperf's command."""

Known = TypeVar("Known")
NamedSeries = tuple[str, Mapping[str, Any]]


def text_of_flent(data: bytes, file: str) -> str:
    """The text of a file, decompressed if it is gzip. Raises MatrixError if it is damaged."""
    if not data.startswith(_GZIP):
        return text_of(data, file)
    parts: list[bytes] = []
    room = MAX_TEXT_BYTES + 1
    while data.startswith(_GZIP):
        inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            part = inflater.decompress(data, room)
        except zlib.error as error:
            raise fault_at(file, 1, 1, f"damaged gzip data: {error}") from None
        room -= len(part)
        if room <= 0:
            limit = MAX_TEXT_BYTES // 2**20
            raise fault_at(file, 1, 1, f"larger than {limit} MiB after decompression")
        if not inflater.eof:
            raise fault_at(file, 1, 1, "the gzip data end too early")
        parts.append(part)
        if len(parts) > _MAX_MEMBERS:
            raise fault_at(file, 1, 1, "too many gzip members")
        data = inflater.unused_data
    return text_of(b"".join(parts), file)


def parse_flent(text: str, file: str) -> tuple[ToolResult, ...]:
    """The streams and the pings in a text. Raises MatrixError if it is not JSON of flent."""
    with tool_results.json_faults(file, "flent"):
        document = tool_results.JSON.decode(text)
    for part in ("metadata", "results"):
        if not isinstance(document, dict) or not isinstance(document.get(part), dict):
            raise fault_at(file, 1, 1, f"not an output of flent: it has no `{part}`")
    return tuple(_FlentRun(document, file).results())


class _FlentRun(Output):
    """The content of a file: metadata and series."""

    def __init__(self, document: Mapping[str, Any], file: str) -> None:
        super().__init__(file)
        self._metadata: Mapping[str, Any] = document["metadata"]
        self._raw = _part(document, "raw_values")
        self._by_test: dict[str, list[NamedSeries]] = {}
        """The series, by the kind of test that made them."""
        version = document.get("version")
        if version != _VERSION:
            word = repr(version)[:20] if isinstance(version, int | float | str) else "unstated"
            self.unread.append(f"format version {word}: read as far as it is understood")
        if tool_results.bounded(self._metadata.get("FAILED_RUNNERS"), 1.0):
            self.unread.append("flent says that some of its programs failed")
        results = document["results"]
        descriptions = _part(self._metadata, "SERIES_META")
        for name in sorted(results)[:MAX_SERIES]:
            series = _part(descriptions, name)
            if "COMPUTED_LATE" in series or name.endswith((" avg", " sum", " totals")):
                continue
            if test := _test_of(name, series):
                self._by_test.setdefault(test, []).append((name, series))
            else:
                self.unread.append(f"the series {name[:60]!r} is not understood")
        if len(results) > MAX_SERIES:
            self.unread.append(f"more than {MAX_SERIES} series: the rest is left out")

    def results(self) -> Iterator[ToolResult]:
        """The result of the streams, then those of each series of pings. flent pings before, during
        and after the streams: no test ``latency_under_load``, but the settings state the streams.
        """
        servers = self._metadata.get("HOSTS")
        if isinstance(servers, list) and len({_text(server) for server in servers}) > 1:
            yield self._ended("stream", {}, {}, "its series have several servers")
            return
        tests = self._by_test
        flows = {flow: tests[test] for test, flow in _FLOWS.items() if test in tests}
        load: dict[str, Value] = {}
        if flows:
            directions = {"to_server_": "client-sends", "to_client_": "server-sends"}
            load["direction"] = "both" if len(flows) > 1 else directions[next(iter(flows))]
            first, *others = map(len, flows.values())
            if [first] * len(others) == others:
                load["streams"] = first
            else:
                self.unread.append(f"{first} streams to the server, {others[0]} to the client")
            yield self._streams(flows, load)
        for test in _PINGS:
            for name, series in tests.get(test, ()):
                yield self._pings(test, name, series, load)
        if not flows and tests.keys().isdisjoint(_PINGS):
            yield self._ended("stream", {}, {}, "no series that netlab understands")

    def _ended(
        self,
        test: str,
        settings: Mapping[str, Value],
        values: Mapping[str, Value],
        detail: str | None = None,
    ) -> ToolResult:
        """The result of a test; ``detail`` says why there is none."""
        # The client is the address from which flent reached the server, or its machine's name.
        client = _text(_part(self._metadata, "EGRESS_INFO").get("src"))
        if tool_results.ip_version_of(client) is None:
            client = _text(self._metadata.get("LOCAL_HOST"))
        try:
            time = utc_of(_text(self._metadata.get("TIME")))
        except OverflowError:
            time = None
        result = self.result(
            settings,
            values,
            (NOT_RECORDED if detail else None, detail),
            test=test,
            server=_text(self._metadata.get("HOST")),
            client=client,
            # Older versions state no time zone.
            started_at="" if time is None else utc_text(time),
        )
        self.unread.clear()
        return result

    def _settings(self, protocol: str, length: str) -> dict[str, Value]:
        version = self._metadata.get("IP_VERSION")
        return tool_results.requested(
            protocol=protocol,
            duration_s=tool_results.bounded(self._metadata.get(length), 0.0, 1e7),
            ip_version=version if version in (4, 6) and isinstance(version, int) else None,
        )

    def _streams(
        self, flows: Mapping[str, Sequence[NamedSeries]], load: Mapping[str, Value]
    ) -> ToolResult:
        """One test, as all streams ran at the same time. A stream's rate is the mean that netperf
        printed, which is the receiver's in both directions.
        """
        settings = {**self._settings("TCP", "LENGTH"), **load}
        streams = [pair for flow in flows.values() for pair in flow]
        size = _same(_whole(series.get("SEND_SIZE"), 2**40) for _, series in streams)
        settings |= tool_results.requested(message_bytes=size)
        marks = {_whole(series.get("DATA_TOS"), 255) for _, series in streams}
        if len(marks) > 1:
            self.unread.append("the streams have different DSCPs: read without one")
        elif mark := marks.pop():
            settings["dscp"] = mark >> 2
        for name, series in streams:
            mean = tool_results.bounded(series.get("MEAN_VALUE"))
            if not mean or series.get("UNITS") != "Mbits/s":
                detail = f"no mean in Mbits/s of {name[:60]!r}"
                return self._ended("stream", settings, {}, detail)
        mss_bytes = _same(_whole(series.get("TCP_MSS"), 65535) for _, series in streams)
        values = tool_results.requested(mss_bytes=mss_bytes)
        for prefix, flow in flows.items():
            rates = [tool_results.bounded(series.get("MEAN_VALUE")) or 0.0 for _, series in flow]
            word = _same(_text(series.get("CONG_CONTROL")) for _, series in flow) or ""
            values |= tool_results.measured(
                prefix if len(flows) > 1 else "",
                throughput_bit_per_s=round(1e6 * math.fsum(rates), 3),
                elapsed_ns=_same(_elapsed_ns(series) for _, series in flow),
                sender_congestion=word if _CONGESTION.fullmatch(word) else None,
            )
        return self._ended("stream", settings, values)

    def _pings(
        self, test: str, name: str, series: Mapping[str, Any], load: Mapping[str, Value]
    ) -> ToolResult:
        protocol = "ICMP" if test == "PING" else "UDP"
        settings = {**self._settings(protocol, "TOTAL_LENGTH"), **load}
        if mark := _MARK.search(_text(series.get("COMMAND"))):
            settings |= tool_results.requested(dscp=int(mark[1], 16) >> 2)
        mean_ms = tool_results.bounded(series.get("MEAN_VALUE"), 0.0, _MAX_MS)
        if not mean_ms:
            return self._ended("round_trip", settings, {}, f"no mean of {name[:60]!r}")
        values: dict[str, Value] = {"rtt_mean_ns": round(1e6 * mean_ms, 3)}
        if test == "UDP_RR":
            # A file has only this mean, which is the inverse of the rate.
            values |= tool_results.measured(
                transactions_per_s=round(1e3 / mean_ms, 6), elapsed_ns=_elapsed_ns(series)
            )
            return self._ended("round_trip", settings, values)
        form = "RTT_{}" if test == "IRTT" else "{}_VALUE"
        for word in ("min", "max"):
            extreme_ms = tool_results.bounded(series.get(form.format(word.upper())), 0.0, _MAX_MS)
            if extreme_ms is not None:
                values[f"rtt_{word}_ns"] = round(1e6 * extreme_ms)
        sent, answered = (_whole(series.get(f"PACKETS_{word}")) for word in ("SENT", "RECEIVED"))
        if sent and answered and answered <= sent:
            values["lost_messages"] = sent - answered
        return self._ended("round_trip", settings, {**values, **self._trips(name)})

    def _trips(self, name: str) -> dict[str, Value]:
        """Number and histogram of the single round trips, if the file has them."""
        points = self._raw.get(name)
        if not isinstance(points, list) or len(points) > _MAX_TRIPS:
            return {}
        counts: Counter[int] = Counter()
        for point in points:
            if isinstance(point, dict) and point.get("val") is not None:
                time_ms = tool_results.bounded(point["val"], 0.0, _MAX_MS)
                if time_ms is None:
                    self.unread.append(f"{name[:60]!r} has a round trip that is out of range")
                    return {}
                counts[bucket_of(round(1e6 * time_ms))] += 1
        if not counts:
            return {}
        return {
            "transactions": counts.total(),
            "rtt_count": counts.total(),
            "rtt_histogram": [number for pair in sorted(counts.items()) for number in pair],
            "rtt_histogram_bits": BITS,
        }


def _test_of(name: str, series: Mapping[str, Any]) -> str:
    """The test of netperf, PING or IRTT; empty if it is another program's series."""
    runner = _text(series.get("RUNNER"))
    if runner in ("PingRunner", "IrttRunner"):
        return runner.removesuffix("Runner").upper()
    if runner not in ("", "NetperfDemoRunner"):
        return ""
    if match := _TEST.search(_text(series.get("COMMAND"))):
        # The command decides, not the name: `--swap-up-down` swaps directions but keeps names.
        return match[1]
    if name.startswith("Ping (ms) ICMP"):
        return "PING"
    return next((test for start, test in _NAMES.items() if name.startswith(start)), "")


def _text(value: Any) -> str:
    """A text; empty if the value is not a text or has unprintable characters."""
    return value[:4096] if isinstance(value, str) and value.isprintable() else ""


def _part(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """An object in another one; empty if it is absent."""
    part = document.get(name)
    return part if isinstance(part, dict) else {}


def _same(values: Iterable[Known]) -> Known | None:
    """The value, if all are the same."""
    known = {*values}
    return known.pop() if len(known) == 1 else None


def _elapsed_ns(series: Mapping[str, Any]) -> int | None:
    return tool_results.in_ns(tool_results.bounded(series.get("ELAPSED_TIME"), 0.0, 1e7))


def _whole(value: Any, most: float = 2**53) -> int | None:
    number = tool_results.bounded(value, 0.0, most)
    return None if number is None else int(number)


IMPORTER = tool_results.tool_importer(
    parse_flent,
    "files of flent",
    ".flent or .flent.gz, or folders of them. The TCP streams of a file are one test, with "
    "the rates of both directions; each series of pings is a test of round trips.",
    decode=text_of_flent,
)
