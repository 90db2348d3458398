"""The control protocol (docs/protocol.md): encodes requests, and decodes and validates records.

A value has the type of the column that its key names (netlab/results/columns.py), except for the
keys in ``_KINDS`` and ``_BY_PATTERN``. The value of an unknown key must be a text, a finite number
or a list of finite numbers; if the key ends in a unit, it must be a number or a list of numbers.
"""

from __future__ import annotations

import json
import logging
import math
import queue
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from netlab import clock
from netlab.errors import HostGone, ProbeError
from netlab.results.columns import describe
from netlab.results.value_types import COUNTS_OF_AN_END, HEADLINES, TIMES_OF_AN_END
from netlab.stats.histogram import from_pairs
from netlab.terminal import excerpt
from netlab.trial.record import LARGEST_FLOAT
from netlab.units import format_seconds, plain_figures

TESTS = frozenset({"receive", "send", "ask", "mirror"})
"""Verbs that begin a test. A test is answered with several records."""
PROGRAMS = frozenset({"run", "undo"})
"""Verbs that start another program. Such a verb is answered with several records, too."""
LEFTOVERS = "leftovers"
"""Verb that lists entries of the undo log: it is answered with a `leftover` record for each entry,
and then with one `leftovers` record."""
TEST_RECORDS_AT_ONCE = 64
TEST_RECORDS_PER_S = 16
"""Limits for the records of one test: `progress` once a second, and records of at most four other
types."""
TRIPS_RECORDS = 527
"""Additional records at the end of a test that reports single round trips: a million round trips,
1900 in each record."""
OUTPUT_RECORDS = 160
"""Additional records of a program whose whole output of 1 MiB arrives at once, in two streams."""
KEYS_MOST = 512
"""Maximum number of keys in one record; a result has about 130. Each key is a column."""

_NAME = re.compile(r"[a-z][a-z0-9_]{0,99}")
_NAME_MOST = 101
_OF_TESTS = frozenset({"ready", "progress", "window", "trips", "result", "error"})
_OF_PROGRAMS = frozenset({"started", "output", "result", "error"})
_OF_LEFTOVERS = frozenset({"leftover", LEFTOVERS, "error"})
_OF_OTHERS = frozenset(
    {"hello", "heartbeat", "clock", "facts", "lock", "unlock", "guard", "stop", "quit", "error"}
)
_KNOWN_TYPES = _OF_TESTS | _OF_PROGRAMS | _OF_LEFTOVERS | _OF_OTHERS
_TYPES_OF = {
    **dict.fromkeys(TESTS, _OF_TESTS),
    **dict.fromkeys(PROGRAMS, _OF_PROGRAMS),
    LEFTOVERS: _OF_LEFTOVERS,
}
"""Verb → types of the records that may answer it; any other verb answers itself, or `error`."""
_LED = TESTS | PROGRAMS
_KNOWN_VERBS = TESTS | PROGRAMS | {LEFTOVERS} | _OF_OTHERS


class Allowance:
    """A token bucket of size ``at_once``, refilled at ``per_s``. The caller passes the time."""

    def __init__(self, at_once: float, per_s: float) -> None:
        self._most = self._left = at_once
        self._per_s = per_s
        self._at_s: float | None = None

    def takes(self, amount: float, now_s: float) -> bool:
        """Take an amount if it is available now; returns whether it was."""
        passed_s = 0.0 if self._at_s is None else max(0.0, now_s - self._at_s)
        self._at_s = now_s
        self._left = min(self._most, self._left + passed_s * self._per_s)
        if amount > self._left:
            return False
        self._left -= amount
        return True


class Answers:
    """The records that are valid as answers to one request."""

    def __init__(self, verb: str, keys: Mapping[str, Any]) -> None:
        self.verb = verb
        self.is_test = verb in _LED
        self._keys = keys
        self._is_limited = self.is_test or verb == LEFTOVERS
        self._kinds = _TYPES_OF.get(verb, frozenset({verb, "error"}))
        more = OUTPUT_RECORDS if verb in PROGRAMS else TRIPS_RECORDS if "trips" in keys else 0
        self._allowance = Allowance(TEST_RECORDS_AT_ONCE + more, TEST_RECORDS_PER_S)
        checks_only = keys.get("kind") == "check"
        self._wanted = () if checks_only else _RESULT.get(verb, ())
        if verb == "receive" and not checks_only and "count" not in keys:
            # With a `count`, a test may receive too few messages to have a throughput.
            self._wanted = (*self._wanted, "throughput_bit_per_s")

    @property
    def asked(self) -> str:
        """The request in words."""
        return " ".join([self.verb, *(f"{name}={value}" for name, value in self._keys.items())])

    def checked(self, record: Mapping[str, Any], now_s: float) -> Mapping[str, Any] | None:
        """Returns the record, or an ``error`` if it is invalid; ``None`` for an unknown type."""
        kind = record["type"]
        if kind not in self._kinds and self.verb in _KNOWN_VERBS:
            if kind not in _KNOWN_TYPES:
                return None
            return bad_answer(record, f"it answered `{self.verb}` with `{excerpt(kind)}`")
        if self._is_limited and not self._allowance.takes(1, now_s):
            return bad_answer(record, "it sends too many records")
        keys = self._wanted if kind == "result" else _WANTED.get(kind, ())
        fault = fault_in_record(record, keys)
        return record if fault is None else bad_answer(record, fault)


def bad_answer(record: Mapping[str, Any], fault: str) -> dict[str, Any]:
    """The ``error`` record that replaces an invalid one."""
    return {"type": "error", "id": record.get("id"), "error": BAD_ANSWER, "detail": fault}


def fault_in_record(record: Mapping[str, Any], keys: tuple[str, ...] = ()) -> str | None:
    """The first fault of a record as a sentence without a full stop; ``None`` if it has no fault.

    ``keys``: the keys that the record must have.
    """
    if len(record) > KEYS_MOST:
        kind = excerpt(str(record["type"]))
        return f"its {kind} has {len(record)} keys; the limit is {KEYS_MOST}"
    for name, value in record.items():
        # A longer name is not valid, and must not fill the cache of `_kind_of`.
        fits, words = _kind_of(record["type"], name) if len(name) < _NAME_MOST else _NO_NAME
        if not fits(value):
            kind = excerpt(str(record["type"]))
            if not _NAME.fullmatch(name):
                return f"its {kind} has a key {excerpt(repr(name))}, which is not a valid name"
            if isinstance(value, dict):
                shown = "with an object in it"
            elif isinstance(value, int) and value.bit_length() > 64:
                shown = f"of {value.bit_length()} bits"
            else:
                shown = excerpt(repr(value[:8] if isinstance(value, list) else value))
            return f"its {kind} has {name} {shown}, which should be {words}"
    for name in keys:
        if name not in record:
            return f"its {excerpt(str(record['type']))} has no {name}"
    return _contradiction(record)


def _contradiction(record: Mapping[str, Any]) -> str | None:
    """The first contradiction between the keys of a record; ``None`` if there is none."""
    if record["type"] == "trips":
        times, trips = len(record.get("trip_at_us", ())), len(record.get("trip_ns", ()))
        if times != trips:
            return f"its trips has {times} times in trip_at_us, and {trips} round trips in trip_ns"
        return None
    if record["type"] == "leftover" and not record.get("damaged"):
        missing = [name for name in _OF_ENTRY if name not in record]
        return f"its leftover has no {missing[0]}" if missing else None
    elapsed_ns = record.get("elapsed_ns", 0)
    for rate, count, scale in _RATES if record["type"] == "result" else ():
        if rate not in record or count not in record:
            continue
        true = scale * record[count] / elapsed_ns if elapsed_ns else math.inf
        if not math.isclose(record[rate], true, rel_tol=1e-6):
            return (
                f"its result has {rate} {plain_figures(record[rate], 6)}, and {count} "
                f"{record[count]} in {elapsed_ns} ns"
            )
    for bits in record:
        if bits.endswith(_OF_HISTOGRAM) and (name := bits.removesuffix("_bits")) in record:
            try:
                from_pairs(record[name], record[bits])
            except (TypeError, ValueError):
                return f"its {record['type']} has {name}, which is no histogram"
    return None


_RATES = (
    ("throughput_bit_per_s", "received_bytes", 8e9),
    ("sent_bit_per_s", "sent_bytes", 8e9),
    ("transactions_per_s", "transactions", 1e9),
)
"""A rate, its count within `elapsed_ns`, and the factor from count/ns to the unit of the rate."""


_OF_HISTOGRAM = "_histogram_bits"
_OF_ENTRY = ("entry", "program", "deadline_ns", "written_wall_ns")


# The kinds of values. In Python, a bool is also an int; here, `true` is a flag and not a count.

Fits = Callable[[Any], bool]


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _is_wide(value: object) -> bool:
    return type(value) is int and -(1 << 63) <= value < 1 << 64


def _is_finite(value: object) -> bool:
    return _is_wide(value) or (type(value) is float and abs(value) <= LARGEST_FLOAT)


def _is_number(value: Any) -> bool:
    return _is_finite(value) and value >= 0


def _is_measure(value: object) -> bool:
    return all(map(_is_finite, value)) if isinstance(value, list) else _is_finite(value)


_PORT_LIST = re.compile(r"[0-9]{1,5}(,[0-9]{1,5}){0,999}")

_TEXT: tuple[Fits, str] = (lambda value: type(value) is str, "a text")
_WORD: tuple[Fits, str] = (
    lambda value: type(value) is str and re.fullmatch(r"[a-z-]{1,40}", value) is not None,
    "a word",
)
_ENTRY: tuple[Fits, str] = (
    # A message tells a person to type this id, so no character may be special to a shell.
    lambda value: type(value) is str and re.fullmatch(r"[A-Za-z0-9-]{1,64}", value) is not None,
    "the id of an entry",
)
_COUNT: tuple[Fits, str] = (_is_count, "a whole number from 0 to 2^63 - 1")
_COUNTS: tuple[Fits, str] = (
    lambda value: type(value) is list and all(map(_is_count, value)),
    "a list of whole numbers from 0 to 2^63 - 1",
)
_WIDE: tuple[Fits, str] = (_is_wide, "a whole number of 64 bits")
_NUMBER: tuple[Fits, str] = (_is_number, "a number, 0 or more")
_REAL: tuple[Fits, str] = (_is_finite, "a number")
_SHARE: tuple[Fits, str] = (
    # Linux sometimes decreases a CPU's idle time (proc(5), iowait): a share may exceed 1.
    lambda value: _is_number(value) and value <= 1.1,
    "a number from 0 to 1",
)
_FLAG: tuple[Fits, str] = (lambda value: value in (0, 1), "0 or 1")
_PORT: tuple[Fits, str] = (lambda value: _is_count(value) and value < 1 << 16, "a port")
_PORTS: tuple[Fits, str] = (
    lambda value: type(value) is str and _PORT_LIST.fullmatch(value) is not None,
    "ports with commas between",
)
_NO_NAME: tuple[Fits, str] = (lambda _value: False, "no key")
_MEASURE: tuple[Fits, str] = (_is_measure, "a number, or a list of numbers")
_FLAT: tuple[Fits, str] = (
    lambda value: isinstance(value, str | bool) or _is_measure(value),
    "a text, a number or a list of numbers",
)

_KINDS: tuple[tuple[tuple[Fits, str], str], ...] = (
    (_TEXT, "type id role sequence receive_method receive_steering send_method latency_from close"),
    (_TEXT, "closed_by stack_stamps local_address peer_address opened congestion interface"),
    (_TEXT, "receive_from receive_chosen text file program arguments"),
    (_COUNT, "descriptor exit_code signal output_bytes discarded_bytes"),
    (_WORD, "error"),
    (_ENTRY, "entry"),
    (_COUNT, "count left_out elsewhere deadline_ns written_wall_ns tried_wall_ns"),
    (_FLAG, "left killed damaged"),
    (_TEXT, "detail key version build os os_release architecture clock capabilities"),
    (_TEXT, "machine_id kernel distribution hostname cpu_model boot_id virtual governor turbo"),
    (_TEXT, "congestion_available congestion_allowed route_interface route_source"),
    (_TEXT, "route_gateway addresses"),
    (_TEXT, "interface_driver interface_qdisc interface_offloads interface_duplex token"),
    (_COUNT, "receive_calls empty_receives receive_call_messages receive_pause_ns"),
    (_COUNT, "streams marks strangers queue_looks queue_drops udp_receive_buffer_errors pid"),
    (_COUNT, "local_drops largest_burst send_calls send_calls_sampled send_room_looks cpu_count"),
    (_COUNT, "rtt_count transactions outstanding stack_count quota_periods dscp cpu"),
    (_COUNT, "quota_throttled_periods host_busiest_core ip_fragments_created ip_fragments_failed"),
    (_COUNT, "ip_reassembled ip_reassembly_failures bytes messages errno rtt_histogram_bits"),
    (_COUNT, "stack_histogram_bits send_call_histogram_bits window_open_ns window_close_ns"),
    (_COUNT, "received_bytes total_bytes total_messages sent_bytes sent_messages_window"),
    (_COUNT, "late_messages foreign_messages refused_messages mismatched_messages"),
    (_COUNT, "skipped_messages answered_messages jitter_ns later_mean_ns receive_call_bytes"),
    (_COUNT, "last_send_ns largest_receive_bytes longest_gap_ns queue_open_bytes"),
    (_COUNT, "queue_close_bytes interval_ns send_call_median_ns send_call_p90_ns user_ns"),
    (_COUNT, "system_ns thread_ns run_queue_delay_ns stalled_ns quota_throttled_ns"),
    (_COUNT, "udp_checksum_errors interface_sent_bytes interface_received_bytes"),
    (_COUNT, "send_buffer_requested_bytes receive_buffer_requested_bytes receive_buffer_bytes"),
    (_COUNT, "stack_min_ns stack_max_ns stack_sum_ns connect_sum_ns monotonic_ns wall_ns"),
    (_COUNT, "memory_bytes send_buffer_bytes later_max_ns interface_mtu_bytes"),
    (_COUNTS, "interval_bytes late_histogram_ns first_rtt_ns rtt_histogram stack_histogram"),
    (_COUNTS, "send_call_histogram cpu_numbers cpu_busy_ticks cpu_total_ticks gaps"),
    (_COUNTS, "trip_at_us trip_ns lost_trip_at_us"),
    (_COUNTS, "gap_queue_full late_ticks stream_bytes stream_cpus_open stream_cpus_close cpus"),
    (_NUMBER, "fairness_index rtt_mean_ns stack_mean_ns connect_mean_ns"),
    (_FLAG, "closed_by_silence coarse nodelay dont_fragment spin send_buffer_doubled"),
    (_FLAG, "receive_buffer_doubled send_buffer_capped receive_buffer_capped tcp_window_scaling"),
    (_PORT, "port local_port peer_port"),
    (_PORTS, "ports"),
    # The largest 64-bit number means that a test never sent, or that a rate has no limit.
    (_WIDE, "first_send_ns network_id wall_step_ns"),
)
_KIND_OF = {name: kind for kind, names in _KINDS for name in names.split()}
_BY_PATTERN: tuple[tuple[re.Pattern[str], tuple[Fits, str]], ...] = (
    # Readers of run folders rely on these endings, so unknown keys with them are checked, too.
    (re.compile(rf"\w+({'|'.join(TIMES_OF_AN_END)})"), _COUNTS),
    (re.compile(rf"\w+({'|'.join(COUNTS_OF_AN_END)})"), _COUNT),
    (re.compile(rf"\w*({'|'.join(HEADLINES)})"), _NUMBER),
    (re.compile(r"interface_\w+_packets|interface_errors|softnet_dropped_packets"), _COUNT),
    (re.compile(r"interface_pause_frames_(sent|received)"), _COUNT),
    # TCP's own figures, and facts that are values of a sysctl.
    (re.compile(r"tcp_\w+_options|tcp_[rw]mem"), _TEXT),
    (re.compile(r"tcp_series_\w+"), _COUNTS),
    (re.compile(r"tcp_\w+"), _WIDE),
    (re.compile(r"\w+_share"), _SHARE),
    (re.compile(r"\w+_ppm"), _REAL),
)


@lru_cache(maxsize=4096)
def _kind_of(record_type: str, name: str) -> tuple[Fits, str]:
    """The check for the value of a key, and the name of its kind in a sentence."""
    if name == "protocol":
        return _COUNT if record_type == "hello" else _TEXT
    if name in _KIND_OF or not _NAME.fullmatch(name):
        return _KIND_OF.get(name, _NO_NAME)
    for pattern, kind in _BY_PATTERN:
        if pattern.fullmatch(name):
            return kind
    column = describe(name)
    if not column.unit and not name.endswith("_messages"):
        return _FLAT
    if column.meaning.startswith("`"):
        # An unknown key: only its unit is known.
        return _MEASURE
    return _COUNT if column.dtype == "Int64" else _NUMBER


_RESULT: Mapping[str, tuple[str, ...]] = {
    "receive": (
        *("elapsed_ns", "received_bytes", "received_messages", "marks"),
        *("total_bytes", "total_messages"),
    ),
    "send": ("elapsed_ns", "sent_messages", "total_bytes"),
    "ask": ("elapsed_ns", "transactions", "rtt_count", "lost_messages"),
    "mirror": ("received_messages", "answered_messages"),
    "run": ("elapsed_ns", "output_bytes", "discarded_bytes"),
    "undo": ("elapsed_ns", "output_bytes", "discarded_bytes", "entry"),
}
"""Verb → keys that its `result` must have, unless the request only checks the path."""
_WANTED: Mapping[str, tuple[str, ...]] = {
    "clock": ("monotonic_ns",),
    "ready": ("port",),
    "started": ("pid",),
    "output": ("descriptor", "text"),
    "trips": ("window_open_ns", "trip_at_us", "trip_ns", "lost_trip_at_us"),
    "guard": ("entry",),
    "leftover": ("file",),
    LEFTOVERS: ("count", "left_out", "elsewhere"),
    "error": ("error",),
}
"""Type of a record other than `result` → keys that the record must have."""


STREAMING = frozenset(
    {"ready", "progress", "window", "trips", "started", "output", "leftover"},
)
"""Types of records that are followed by further records of the same request."""
GONE = "gone"
"""Type of the record that an inbox gets if the host is lost."""

ADVICE = {
    ("capability-missing", "congestion"): (
        "or set another `congestion` in the matrix, or none to use the host's default"
    ),
}
"""(reason, key of the request) → what a person can change in the matrix. The probe itself reports
what can be changed at the host."""

LOGGED = frozenset({"hello", "facts", "lock", "unlock"})
"""Requests whose answers are logged. The other requests belong to a trial (a measurement), whose
result is stored, or are sent again and again."""
_LOG = logging.getLogger(__name__)

DETAIL_CHARACTERS = 500

Inbox = Callable[["Pending", Mapping[str, Any]], None]


class Pending:
    """A request and its records; ``answers`` validates and limits them."""

    def __init__(self, host: str, request_id: str, inbox: Inbox | None, answers: Answers) -> None:
        self.id = request_id
        self.answers = answers
        self._host = host
        self._inbox = inbox
        self._asked_at = clock.monotonic()
        self._records: queue.SimpleQueue[Mapping[str, Any]] = queue.SimpleQueue()

    def record(self, timeout_s: float) -> Mapping[str, Any]:
        """The next record; ProbeError for an error or a timeout, HostGone if the host is lost."""
        try:
            record = clock.get(self._records, timeout_s)
        except queue.Empty:
            detail = f"nothing in {timeout_s:g} s"
            raise ProbeError(self._host, "no-answer", detail=detail) from None
        if record["type"] == GONE:
            raise HostGone(str(record["detail"]))
        if record["type"] == "error":
            raise fault_in(self._host, record)
        return record

    def deliver(self, record: Mapping[str, Any]) -> None:
        """Pass on a record; the reading thread calls it."""
        if self.answers.verb in LOGGED and _LOG.isEnabledFor(logging.DEBUG):
            took = format_seconds(clock.monotonic() - self._asked_at)
            summary = "an error" if record["type"] == "error" else f"{len(record)} keys"
            _LOG.debug("%s: asked %s: %s after %s", self._host, self.answers.asked, summary, took)
        if self._inbox is not None:
            self._inbox(self, record)
        else:
            self._records.put(record)


def fault_in(host: str, record: Mapping[str, Any]) -> ProbeError:
    """The ProbeError that reports the fault in an ``error`` record."""
    path_mtu_bytes = record.get("path_mtu_bytes")
    word, key = str(record.get("error", "unknown-error")), str(record.get("key") or "")
    detail = excerpt(str(record.get("detail") or key), DETAIL_CHARACTERS)
    return ProbeError(
        host,
        word,
        errno=record.get("errno"),
        detail="; ".join(filter(None, (detail, ADVICE.get((word, key))))),
        path_mtu_bytes=path_mtu_bytes if isinstance(path_mtu_bytes, int) else None,
    )


BAD_ANSWER = "bad-answer"
"""Reason of a failed trial whose probe sent invalid records."""
LINE_MOST_BYTES = 1 << 16
"""Maximum length of a record; a longer line is dropped."""


def request_line(request_id: str, verb: str, keys: Mapping[str, Any]) -> bytes:
    """``ID VERB key=value …`` with its line feed, as in docs/protocol.md."""
    words = [request_id, verb]
    for key, value in keys.items():
        # Spaces and control characters are written as ``%XX``.
        text = str(value)
        encoded = text if _PLAIN.fullmatch(text) else quote(text, safe=_SAFE) or "%00"
        words.append(f"{key}={encoded}")
    return " ".join(words).encode("ascii") + b"\n"


def decimal(number: float) -> str:
    """A number in the protocol's form: at most nine decimals, no exponent, no trailing zeros."""
    return f"{number:.9f}".rstrip("0").rstrip(".")


class RecordReader:
    """Splits the output of a probe into records, in bounded memory for any input."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._dropping = False

    def feed(self, part: bytes) -> Iterator[dict[str, Any] | bytes]:
        """Yields each record that ``part`` completes.

        A line that is not a record, such as a login's banner, is yielded as bytes. A record that is
        incomplete or too long becomes an ``error`` with the same id.
        """
        *ends, rest = part.split(b"\n")
        for end in ends:
            self._rest += end
            line = bytes(self._rest)
            self._rest.clear()
            yield line if self._dropping else record_in(line)
            self._dropping = False
        self._rest += rest
        if len(self._rest) > LINE_MOST_BYTES:
            fragment = bytes(self._rest)
            self._rest.clear()
            yield fragment if self._dropping else _broken(fragment, fragment)
            self._dropping = True


def record_in(line: bytes) -> dict[str, Any] | bytes:
    """The record that a line consists of or ends with; the line itself if it has no record.

    A prompt or a colour code may precede the record. A host may write its own names in another
    encoding, or the whole line in a 16-bit encoding.
    """
    if len(line) > LINE_MOST_BYTES:
        return _broken(line, line)
    narrow = line if _BEGINNING in line else line.replace(b"\0", b"")
    start = narrow.find(_BEGINNING)
    for text in (line, narrow[start:]) if start >= 0 else (line,):
        try:
            record = json.loads(text.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and isinstance(record.get("type"), str):
            return record
    return line if start < 0 else _broken(narrow[start:], line)


_BEGINNING = b'{"type":'
_NAMED = re.compile(rb'\{"type":"[a-z]{1,20}","id":"([A-Za-z0-9._-]{1,32})"')
_BEFORE_BYTES = 256
"""The id of a broken record is looked for in this many bytes."""


def _broken(text: bytes, line: bytes) -> dict[str, Any] | bytes:
    """An ``error`` with the id that the broken record in ``text`` has; without one, ``line``."""
    match = _NAMED.search(text, 0, _BEFORE_BYTES)
    if match is None:
        return line
    beginning = excerpt(text[match.start() :].decode("utf-8", "replace"))
    detail = f"an incomplete record, or one of more than {LINE_MOST_BYTES} bytes: {beginning}"
    return {"type": "error", "id": match[1].decode("ascii"), "error": BAD_ANSWER, "detail": detail}


_SAFE = "/:,.[]@+~=-_"
_PLAIN = re.compile(r"[A-Za-z0-9/:,.\[\]@+~=_-]+", re.ASCII)


EXCHANGES = 16


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """The offset between an agent's monotonic clock and that of the controller (this machine)."""

    offset_ns: int
    """Added to a time of the controller's clock, it makes the time of the agent's clock."""
    bound_ns: int
    """Largest possible error of the offset: half of the round trip."""


def fastest(
    exchange: Callable[[float], ClockOffset], *, first_s: float, all_s: float, enough_ns: int
) -> ClockOffset:
    """The offset with the smallest bound, from at most 16 exchanges.

    ``exchange`` has a time limit in seconds: ``first_s`` for the first exchange; the others end
    after ``all_s`` together. A bound of ``enough_ns`` or less ends the exchanges. Raises ProbeError
    if the first exchange has no answer.
    """
    give_up = clock.monotonic() + all_s
    best = exchange(first_s)
    for _ in range(EXCHANGES - 1):
        left_s = give_up - clock.monotonic()
        if left_s <= 0 or best.bound_ns <= enough_ns:
            break
        try:
            best = min(best, exchange(left_s), key=lambda offset: offset.bound_ns)
        except ProbeError as error:
            if error.word != "no-answer":
                raise
    return best
