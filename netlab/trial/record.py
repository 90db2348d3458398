"""A record (the result of one trial, or its failure with a reason), and its form in JSON."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from netlab.messages import Message, _, sentence_case
from netlab.stats.histogram import Histogram, from_pairs

Value = str | int | float | bool | list[int] | list[float]
"""Types of a record's values, without NaN and special values: an unknown value is absent."""

LARGEST_FLOAT = 1e30
"""Largest number of a record, whichever its unit: sums of squares do not overflow."""
SCHEMA = 1
"""Version of a record's JSON and of the run folder around it; every record has it.

History (netlab reads every version in this list; each has a fixture under tests/fixtures/):

1. First version. Run folder: run.json, matrix.yaml, journal.jsonl.
"""

FLOWS: Mapping[str, str] = {"": "", "to_server_": _("to server"), "to_client_": _("to client")}
"""Prefix of a flow's values → name of the flow in a test that sends both ways."""

PREFIXES: Mapping[str, str] = {name: prefix for prefix, name in FLOWS.items()}


def server_sends(settings: Mapping[str, Any], prefix: str) -> bool:
    """Whether the server sends the flow with this prefix (empty for a test with one flow)."""
    return prefix == "to_client_" or settings.get("direction") == "server-sends"


class Status(StrEnum):
    """How a trial ended."""

    OK = "ok"
    FAILED = "failed"
    """A resumed run tries it again."""
    IMPOSSIBLE = "impossible"
    """The host, the path or the protocol refuses the trial: no error of the run, and final."""
    PENDING = "pending"
    """A host of the trial is away, or the trial was not measured yet."""


STATUSES: Mapping[str, str] = {
    "ok": _("ok"),
    "failed": _("failed"),
    "impossible": _("impossible"),
    "pending": _("pending"),
}
"""Status of a trial → its text."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a trial has no result."""

    clause: Message
    """A sentence without a capital letter at its beginning, and without its full stop."""
    impossible: bool
    """Whether the host, the path or the protocol refuses the cell."""
    lasting: bool = False
    """Whether the reason is permanent: a system or a protocol can never do it."""

    @property
    def words(self) -> str:
        """The clause with a capital letter at its beginning, unless it begins with ``netlab``."""
        return self.clause if self.clause.startswith("netlab ") else sentence_case(self.clause)

    @property
    def sentence(self) -> Message:
        """The clause as a whole sentence, for a footnote."""
        return _("{sentence}.", sentence=self.words)

    def __str__(self) -> str:
        return self.sentence


_WORDS = {
    # Reported by a probe: the error words of docs/protocol.md.
    "bad-request": _("the probe could not parse the request"),
    "line-too-long": _("the request was longer than the control protocol's 8192 bytes"),
    "unknown-verb": _("the probe does not know the request's verb"),
    "unknown-key": _("the probe does not know a key of the request"),
    "missing-key": _("the request lacked a key that the probe needs"),
    "bad-value": _("a value of the request was outside the range that the probe accepts"),
    "id-in-use": _("the request's id was already in use"),
    "unknown-test": _("the probe knows no test of that id"),
    "too-many-tests": _("more than 64 tests at once were requested of one agent"),
    "program-missing": _("the host has no program of that name"),
    "unknown-entry": _("the host's undo log has no such entry, or the entry is damaged"),
    "entry-in-use": _("another agent works on that entry of the host's undo log"),
    "too-many-entries": _("the host's undo log has no room for another entry of one agent"),
    "message-too-long": _("the message is longer than the protocol or the path can carry"),
    "no-buffers": _("the system refused every send call: it had no buffer space"),
    "capability-missing": _("the host's system cannot do what the cell requests"),
    "permission-denied": _("the host's system requires rights that the probe does not have"),
    "connect-refused": _("the other host refused the connection"),
    "unreachable": _("there was no route to the other host"),
    "connect-timeout": _("the other host did not answer the connection request in time"),
    "address-in-use": _("the address or port was already in use"),
    "address-not-available": _("the host does not have the address that it should use"),
    "no-such-interface": _("the host has no network interface of that name"),
    "no-peer": _("the other probe did not come before the deadline"),
    "peer-vanished": _("the connection was reset or ended early"),
    "no-traffic": _("the other probe came, but no message arrived"),
    "too-few-messages": _("fewer than 20 marks fell into the window: too few for a figure"),
    "deadline": _("the trial did not end before its deadline"),
    "stopped": _("the trial was stopped before it had a result"),
    "cannot-pin": _("the probe may not use the requested CPU, or spinning would occupy every CPU"),
    "out-of-memory": _("the host had no memory for the trial"),
    "system": _("a system call failed with an error that has no error word of its own"),
    "locked": _("another controller was measuring with this host"),
    # Reported by the controller.
    "host-away": _("the host did not answer, or runs its other operating system"),
    "no-host": _("the inventory has no hosts for the pairing"),
    "engine-cannot": _("the tool that measures cannot do what the cell requests"),
    "engine-failed": _("the tool that measures ended without a result"),
    "state-not-reached": _("a host’s own settings are not those of the variant"),
    "mirror-failed": _("the mirror that the matrix names did not answer, or its program ended"),
    "not-as-set-up": _("the hosts, as they are set up, cannot do what the cell requests"),
    "host-gone": _("the host stopped answering during the trial"),
    "host-refused": _("the host refused the login, or its key differs from the known key"),
    "probe-died": _("the probe ended during the trial"),
    "bad-answer": _("the probe's answer could not be read"),
    "no-answer": _("no answer came in time, either from the probe or to any request of the test"),
    "path-blocked": _("the check before the run found that packets do not pass on this path"),
    "path-mtu": _(
        "the path drops packets of the length that the cell sends, and nothing fragments them"
    ),
    "wrong-path": _("the traffic did not use the test network"),
    "interrupted": _("the run was interrupted during the trial"),
    "tester-bound": _(
        "the measuring hosts lost frames, or could not send them, at every rate tried"
    ),
    "pair-gone": _("another pair of hosts left the search that both ran together"),
    "not-measured-yet": _("not measured yet"),
    "not-recorded": _("the imported document has no value here"),
    "unknown-error": _("the probe reported an error word that this netlab does not know"),
    "internal": _("netlab itself failed; this is a fault of the program"),
}

_LASTING = frozenset({"capability-missing", "engine-cannot"})
_IMPOSSIBLE = _LASTING | {
    *("not-as-set-up", "message-too-long", "no-buffers", "path-mtu", "program-missing")
}

REASONS: Mapping[str, Reason] = MappingProxyType(
    {word: Reason(clause, word in _IMPOSSIBLE, word in _LASTING) for word, clause in _WORDS.items()}
)
"""The closed list of reason words: those of docs/protocol.md and those of the controller."""


def utc_now() -> str:
    """The wall clock of this machine: ISO 8601, UTC, microseconds, such as ``2026-01-31T…Z``."""
    return utc_text(datetime.now(UTC))


def utc_text(time: datetime) -> str:
    """A time with a time zone, as ``utc_now`` writes it. OverflowError outside years 1 to 9999."""
    return time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def utc_of(text: object) -> datetime | None:
    """A text of ``utc_now`` as a time; ``None`` for other texts and those without a time zone."""
    try:
        time = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    except ValueError:
        return None
    return time.astimezone(UTC) if time.tzinfo else None


def reason_of(word: str) -> str:
    """A probe's error word itself if it is in the closed list; otherwise ``unknown-error``."""
    return word if word in REASONS else "unknown-error"


def histogram_of(pairs: object, bits: object) -> Histogram | None:
    """A histogram recorded as bucket, count, bucket, count, …; ``None`` if empty or damaged."""
    if not isinstance(pairs, list | tuple) or not pairs or type(bits) is not int:
        return None
    try:
        return from_pairs([*map(int, pairs)], bits)
    except ValueError:
        return None


class MeasuredValues(ABC):
    """Typed access to measured values by name; each name ends in its unit. A value that is absent,
    or of another type than its reader returns, is ``None``.
    """

    __slots__ = ()

    @abstractmethod
    def value(self, name: str) -> Any:
        """The measured value, of whatever type."""

    def number(self, name: str) -> float | None:
        """A number."""
        return as_number(self.value(name))

    def whole(self, name: str) -> int | None:
        """A whole number."""
        value = self.value(name)
        return value if type(value) is int else None

    def text(self, name: str) -> str | None:
        """A text."""
        value = self.value(name)
        return value if isinstance(value, str) else None

    def flag(self, name: str) -> bool | None:
        """A truth value."""
        value = self.value(name)
        return value if isinstance(value, bool) else None

    def series(self, name: str) -> Sequence[float]:
        """A list of numbers; empty if there is none, or if it holds anything else."""
        value = self.value(name)
        if not isinstance(value, list) or not set(map(type, value)) <= {int, float}:
            return ()
        return value

    def histogram(self, name: str) -> Histogram | None:
        """A histogram with at least one value; ``None`` also if it is damaged."""
        return histogram_of(self.value(name), self.value(f"{name}_bits"))

    def grown(self, end: str, counter: str) -> int | None:
        """Growth of a counter of an end's TCP over its window; ``None`` also if it fell."""
        begin = self.whole(f"{end}_tcp_begin_{counter}")
        after = self.whole(f"{end}_tcp_end_{counter}")
        return None if begin is None or after is None or after < begin else after - begin


Kept = TypeVar("Kept")


class Recorded(Generic[Kept]):
    """An attribute of derived figures that is a measured value under another name: the class of
    the figures has the values as ``measured``.
    """

    def __init__(self, read: Callable[[MeasuredValues, str], Kept], name: str) -> None:
        self._read, self._name = read, name

    def __set_name__(self, _owner: type, attribute: str) -> None:
        self._attribute = attribute

    def __get__(self, figures: Any, _kind: object = None) -> Kept:
        value = self._read(figures.measured, self._name)
        if (kept := getattr(figures, "__dict__", None)) is not None:
            kept[self._attribute] = value  # rules ask millions of times
        return value


NUMBER, WHOLE, TEXT = MeasuredValues.number, MeasuredValues.whole, MeasuredValues.text


@dataclass(frozen=True, slots=True)
class FlowValues(MeasuredValues):
    """The measured values of the data in one direction, by their names without the prefix."""

    values: Mapping[str, Value]
    prefix: str

    def value(self, name: str) -> Any:
        """As for any measured values."""
        return self.values.get(self.prefix + name)

    @property
    def measured(self) -> MeasuredValues:
        """The values themselves."""
        return self

    throughput_bit_per_s = Recorded(NUMBER, "throughput_bit_per_s")
    """Measured at the receiver."""
    sent_messages = Recorded(WHOLE, "sent_messages")
    """In the whole test, as lost messages."""
    lost_messages = Recorded(WHOLE, "lost_messages")
    mss_bytes = Recorded(WHOLE, "mss_bytes")
    """Largest payload of a TCP segment."""
    tcp_timestamps = Recorded(MeasuredValues.flag, "tcp_timestamps")
    """Whether TCP's segments had timestamps."""
    connected_by = Recorded(TEXT, "connected_by")
    """The side that connected: ``client`` or ``server``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(MeasuredValues):
    """The result of one trial, its failure, or a trial that is not measured yet."""

    cell: str
    """Key of the cell: a combination of a pairing (server and client), a test and its settings."""
    trial: int
    """Counted from 1."""
    attempt: int
    """Counted from 1; 0 for a trial not measured yet."""
    status: Status
    pairing: str
    server: str
    """Name of the host; empty if none was chosen."""
    client: str
    test: str
    started_at: str
    """Wall clock of the controller, ISO 8601, UTC, microseconds; empty if an import has none."""
    settings: Mapping[str, Value]
    """All that was requested, by keys that name their units; else, the host's default applied."""
    values: Mapping[str, Value]
    """All that was measured, by keys that name their units."""
    reason: str | None = None
    """A word of the closed list, for every status except ``ok``."""
    errno: int | None = None
    """The error number behind the reason, in the numbering of the host's system."""
    detail: str | None = None
    """One sentence for people."""

    @classmethod
    def not_measured(
        cls, cell: str, trial: int, *, pairing: str, test: str, settings: Mapping[str, Value]
    ) -> Record:
        """A planned trial that has no record yet."""
        return cls(
            cell=cell,
            trial=trial,
            attempt=0,
            status=Status.PENDING,
            pairing=pairing,
            server="",
            client="",
            test=test,
            started_at="",
            settings=settings,
            values={},
            reason="not-measured-yet",
        )

    def value(self, name: str) -> Any:
        """A measured value; ``None`` for a trial without a result."""
        return self.values.get(name) if self.status is Status.OK else None

    @property
    def measured(self) -> Mapping[str, Value]:
        """The values of a trial with a result; empty for any other trial."""
        return self.values if self.status is Status.OK else {}

    @property
    def flows(self) -> Mapping[str, FlowValues]:
        """Prefix of its values → flow: one, or two if the test sends both ways."""
        is_two_way = self.settings.get("direction") == "both"
        return {prefix: self.flow(prefix) for prefix in FLOWS if bool(prefix) == is_two_way}

    def flow(self, prefix: str) -> FlowValues:
        """The measured values with this prefix: a flow of the trial, or one end of it."""
        return FlowValues(self.measured, prefix)

    @property
    def same_host(self) -> bool:
        """Whether server and client were one host: no wire was used."""
        return self.values.get("same_host") is True

    @property
    def protocol(self) -> str:
        """``TCP`` or ``UDP``; empty if the test has none."""
        return str(self.settings.get("protocol", ""))

    @property
    def message_bytes(self) -> int | None:
        """Bytes of one message."""
        size = self.settings.get("message_bytes")
        return size if isinstance(size, int) else None

    @property
    def why_blank(self) -> str:
        """Why the trial has no figure: a sentence for a footnote, with reason and error number."""
        word = self.reason or ("no-figure" if self.status == "ok" else "no-reason-given")
        entry = REASONS.get(word)
        code = word
        if self.errno is not None:
            code = _("{word}, error number {number}", word=word, number=self.errno)
        status = STATUSES.get(self.status, self.status)
        if entry is None:
            return _("{status} ({code}).", status=status, code=code)
        if word in ("not-recorded", "not-measured-yet"):
            return _("{reason} ({code}).", reason=entry.words, code=code)
        return _("{status}: {reason} ({code}).", status=status, reason=entry.words, code=code)

    @property
    def key(self) -> tuple[str, int]:
        """Key of the cell, and number of the trial."""
        return self.cell, self.trial

    @property
    def is_final(self) -> bool:
        """Whether a resumed run keeps the record: it is a result, or no result can ever exist.

        A resumed run repeats a trial that was impossible because of an MTU, a buffer or a system
        call that failed (``errno``): the host or the path may have changed since.
        """
        if self.status is Status.IMPOSSIBLE:
            reason = REASONS.get(self.reason or "")
            return reason is not None and reason.lasting and self.errno is None
        return self.status is Status.OK


Member = TypeVar("Member")
GroupKey = TypeVar("GroupKey", bound=Hashable)


def grouped(
    members: Iterable[Member], key: Callable[[Member], GroupKey]
) -> dict[GroupKey, list[Member]]:
    """Key → the members with this key; keys and members in the order of the members."""
    groups: dict[GroupKey, list[Member]] = {}
    for member in members:
        groups.setdefault(key(member), []).append(member)
    return groups


def by_cell(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Cell → its trials, with and without a result; cells and trials in the records' order."""
    return grouped(records, lambda record: record.cell)


HEADLINE_ENDINGS = ("throughput_bit_per_s", "transactions_per_s", "frames_per_s")
"""Endings of the names of values that a record without a result must not have."""


_FIELDS: Mapping[str, type] = {
    **{"cell": str, "trial": int, "attempt": int, "status": str},
    **{"reason": str, "errno": int, "detail": str},
    **{"pairing": str, "server": str, "client": str, "test": str, "started_at": str},
    **{"settings": dict, "values": dict},
}
"""Key of a record in JSON → its type, in the order in which they are written."""
_OPTIONAL = frozenset({"reason", "errno", "detail"})


def to_json(record: Record) -> str:
    """The record as one JSON object, ASCII, without line feeds; ``None`` is left out.

    Raises ValueError for an invalid record: NaN or infinity, a status without its reason, a reason
    outside of ``REASONS``, a failure with a throughput or a rate of transactions.
    """
    if record.status is Status.OK:
        if record.reason is not None:
            raise ValueError(f"{record.cell}: status ok, but with the reason {record.reason!r}")
    elif record.reason not in REASONS:
        raise ValueError(
            f"{record.cell}: status {record.status} with the reason {record.reason!r}, "
            "which netlab does not know"
        )
    if record.trial < 1 or record.attempt < 1:
        raise ValueError(f"{record.cell}: the numbers of trial and attempt begin at 1")
    _check_values(record)
    _check_failure(record)
    fields: dict[str, Any] = {"schema": SCHEMA}
    fields |= {name: value for name in _FIELDS if (value := getattr(record, name)) is not None}
    fields |= {"settings": dict(record.settings), "values": dict(record.values)}
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def from_json(text: str) -> Record:
    """The record in a JSON object that ``to_json`` wrote; unknown keys are ignored.

    Raises ValueError if the text is not a JSON object, if this netlab does not know its schema, or
    if a field is missing or has the wrong type.
    """
    try:
        data = json.loads(text, parse_constant=refuse_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(data, dict):
        raise ValueError("not a JSON object")
    return from_data(data)


def from_data(data: Mapping[str, Any], *, look_at_values: bool = True) -> Record:
    """The record in a decoded JSON object; raises ValueError as ``from_json`` does.

    Without ``look_at_values``, the caller must check the record's settings and values.
    """
    check_schema(data.get("schema"))
    fields: dict[str, Any] = {}
    for name, kind in _FIELDS.items():
        if name in data:
            fields[name] = data[name]
            if type(data[name]) is not kind:
                kind_name = kind.__name__
                raise ValueError(f"{name} is {data[name]!r}, and should be of type {kind_name}")
        elif name not in _OPTIONAL:
            raise ValueError(f"{name} is missing")
    try:
        fields["status"] = Status(fields["status"])
    except ValueError:
        unknown = f"status is {fields['status']!r}, which this netlab does not know"
        raise ValueError(unknown) from None
    record = Record(**fields)
    if look_at_values:
        _check_values(record)
    _check_failure(record)
    return record


def as_number(value: Any) -> float | None:
    """The value if it is a number that a record may hold, and no truth value; else ``None``."""
    kind = type(value)
    if (kind is int or kind is float) and -LARGEST_FLOAT <= value <= LARGEST_FLOAT:
        return float(value)
    return None


def as_whole(value: object) -> int | None:
    """The value if it is a whole number; ``None`` for anything else, including truth values."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def check_schema(schema: object) -> None:
    """Raise ValueError unless this netlab reads that version of the format."""
    if schema == SCHEMA and type(schema) is int:
        return
    if type(schema) is int and schema > SCHEMA:
        raise ValueError(
            f"written in format version {schema}, and this netlab reads up to {SCHEMA}: "
            "use a newer netlab"
        )
    raise ValueError(f"its format version is {schema!r}, which never existed")


def refuse_constant(name: str) -> None:
    """For JSON's ``parse_constant``: ValueError for NaN and the infinities."""
    raise ValueError(f"{name} is not a JSON number")


def check_text(text: str) -> None:
    """Raise ValueError for a text with half a surrogate pair, which no file can hold."""
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ValueError(_("a text contains half a surrogate pair"))


_PLAIN = frozenset({str, int, bool})
"""Types of nearly all values: a value of one of them is allowed in a record."""


def _check_values(record: Record) -> None:
    for part in (record.settings, record.values):
        for name, value in part.items():
            if type(value) not in _PLAIN and not _is_value(value):
                raise ValueError(f"{record.cell}: {name} is {value!r}, which a record cannot hold")


def _check_failure(record: Record) -> None:
    if record.status is not Status.OK:
        for name in record.values:
            if name.endswith(HEADLINE_ENDINGS):
                raise ValueError(f"{record.cell}: status {record.status}, but {name} is given")


def _is_value(value: object) -> bool:
    if isinstance(value, float):
        return abs(value) <= LARGEST_FLOAT
    if isinstance(value, list):
        # Most lists have only whole numbers: check the types of all items at once.
        kinds = set(map(type, value)) - {int, bool}
        return not kinds or (kinds == {float} and all(_is_value(number) for number in value))
    return isinstance(value, str | int)
