"""Makes a run folder out of the results in a tool's outputs, and of settings that these lack.

Also what the readers of several tools and of tables share: texts as values of netlab's columns,
numbers within bounds, JSON, errors and their reasons.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar, Unpack, get_args

from netlab.errors import UsageError
from netlab.experiment.hosts import ROLE, named, role_of
from netlab.imports import CommandOption, Importer
from netlab.imports.common import csv_table
from netlab.imports.common.csv_table import Read, shown
from netlab.kinds import ROWS, SETUPS
from netlab.results.columns import columns_of, describe
from netlab.store.plan import PlannedCell, Remark
from netlab.trial.column import Column
from netlab.trial.record import Record, Status, Value, utc_of, utc_text
from netlab.trial.settings import NumberWithUnit, Or, Whole


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """One test of a tool, from the output of the client, of the server, or of both."""

    file: str
    test: str = "stream"
    server: str = ""
    """Name or address, as printed; empty if the output has none."""
    client: str = ""
    settings: Mapping[str, Value] = field(default_factory=dict)
    values: Mapping[str, Value] = field(default_factory=dict)
    started_at: str = ""
    """ISO 8601, UTC; empty if not stated."""
    identity: str = ""
    """A word by which the outputs of client and server are recognised as one test; may be empty."""
    reason: str | None = None
    """Why there is no result: a word of netlab's fixed list; ``None`` if there is a result."""
    detail: str | None = None
    pairing: str = ""
    """The operating systems of the two hosts, server first, if the output names no hosts."""
    unread: tuple[str, ...] = ()
    """Sentences about what the output has and netlab does not understand."""


MAX_FILES = 10_000
MAX_VALUE = 10**15
"""A higher figure is an error of the output: 1 Pbit/s, or a thousand years in microseconds."""

_KNOWN = frozenset(name for kind in SETUPS.values() for name in kind.names()) - {"protocol"}
"""All settings except the protocol: the meaning of a tool's figures depends on the protocol."""

_SHARES = ("50", "90", "99", "99.9", "99.99")
PERCENTILES = {share: f"rtt_p{share.replace('.', '_')}_ns" for share in _SHARES}
"""Percentage of the round trips → the column of the time that it does not exceed."""

SYSTEM_ERRORS: Mapping[str, str] = {
    "refused": "connect-refused",
    "no route to host": "unreachable",
    "unreachable": "unreachable",
    "timed out": "connect-timeout",
    "already in use": "address-in-use",
    "cannot assign": "address-not-available",
    "connection reset": "peer-vanished",
    "broken pipe": "peer-vanished",
    "message too long": "message-too-long",
    "permission denied": "permission-denied",
}
"""Words of operating systems that any tool may print in an error → the reason."""


def with_settings(results: Iterable[ToolResult], texts: Mapping[str, str]) -> list[ToolResult]:
    """The results, with those settings of ``texts`` that their kinds of test have. Raises
    UsageError if an output states another value, if a value is wrong, or if no test has a setting.
    """
    completed = []
    used_names: set[str] = set()
    for result in results:
        columns = columns_of_test(result.test)
        added: dict[str, Value] = {}
        for name, text in texts.items():
            if name not in columns or name not in SETUPS[result.test].names():
                continue
            used_names.add(name)
            try:
                value = constant_value(result.test, name, text)
            except ValueError as error:
                raise UsageError(f"--setting {name}: {error}") from None
            if (printed := result.settings.get(name, value)) != value:
                file = Path(result.file).name
                raise UsageError(f"{file} states {name} {printed}; --setting states {text}")
            if value is not None:
                added[name] = value
        completed.append(replace(result, settings={**result.settings, **added}))
    for name in sorted(texts.keys() - used_names) if completed else ():
        raise UsageError(f"--setting {name}: no test of the output has this setting")
    return completed


Parse = Callable[[str, str], tuple[ToolResult, ...]]
"""Returns the results in a text; the second argument is the file's name for messages."""


def import_results(
    paths: Sequence[Path],
    into: Path,
    *,
    parse: Parse,
    names: Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
    decode: Callable[[bytes, str], str] = csv_table.text_of,
    content: Mapping[str, Any] | None = None,
    **context: Unpack[csv_table.TableContext],
) -> Path:
    """Make the run folder ``into`` out of the outputs in files, or in all files of folders.
    ``names`` maps addresses, or ``server`` and ``client`` if there are none, to names of hosts.
    ``settings`` are texts of settings that no output states. ``decode`` makes the text out of a
    file's bytes and its name for messages. ``content``: further settings by which two imports
    differ, as JSON data. Tests with the same settings between the same hosts are trials of one
    cell, in the order of their starts. Raises MatrixError with every fault, UsageError, StoreError,
    LockedError.
    """
    names, settings = names or {}, settings or {}
    files = {path: csv_table.read_table(path) for path in _files(paths)}
    results = [
        result
        for path, data in files.items()
        for result in parse(decode(data, str(path)), str(path))
    ]
    tests = with_settings((r for r in results if "protocol" in r.settings), settings)
    if not tests:
        errors = "; ".join(f"{result.file}: {result.detail}" for result in results[:3])
        raise UsageError(errors or f"{paths[0]} contains no result of a test")
    source = csv_table.read_source(paths[0], b"".join(files.values()), **context)
    remarks: dict[Remark, None] = dict.fromkeys(source.stated.remarks)
    for result in results:
        texts = list(result.unread)
        if "protocol" not in result.settings:
            texts.append(f"not imported: {result.detail or 'its settings are not stated'}")
        for text in texts:
            remarks[Remark(text=text, pairings=(), source=Path(result.file).name)] = None
    cells, records = _trials(_merged(tests), names)
    identifying: dict[str, Any] = {
        "files": {path.name: hashlib.sha256(data).hexdigest() for path, data in files.items()},
        "names": dict(sorted(names.items())),
    }
    if settings:
        identifying["settings"] = dict(sorted(settings.items()))
    return csv_table.write_run(
        into,
        replace(source, stated=replace(source.stated, remarks=tuple(remarks))),
        cells,
        records,
        content=identifying | dict(content or {}),
        repeats=max(record.trial for record in records),
    )


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    count = 0
    for path in paths:
        try:
            files = sorted(path.iterdir()) if path.is_dir() else [path]
        except OSError as error:
            raise UsageError(f"{path}: cannot read the folder: {error.strerror}") from None
        for file in files:
            if file != path and (file.is_dir() or file.is_symlink()):
                continue
            count += 1
            if count > MAX_FILES:
                raise UsageError(f"{path}: more than {MAX_FILES} files")
            yield file


def _merged(results: Iterable[ToolResult]) -> list[ToolResult]:
    """One result per test. The first of its outputs counts; the others add what it lacks. Results
    without an identity come last.
    """
    tests: dict[object, ToolResult] = {}
    for result in results:
        first = tests.setdefault(result.identity or object(), result)
        if first is not result:
            tests[result.identity] = replace(
                first,
                settings={**result.settings, **first.settings},
                values={**result.values, **first.values},
                reason=first.reason and result.reason,
                unread=(*first.unread, *result.unread),
            )
    return sorted(tests.values(), key=lambda result: not result.identity)


def _trials(
    results: Sequence[ToolResult], names: Mapping[str, str]
) -> tuple[list[PlannedCell], list[Record]]:
    """The cells in the order of their first trials, and a record for each result."""

    def name_of(address: str, role: str) -> str:
        name = names.get(address or role, address or role).replace(":", "-").replace("%", "-")
        return next((word for word in (name, f"{role}{name}") if ROLE.fullmatch(word)), role)

    cells: dict[str, PlannedCell] = {}
    trials: Counter[str] = Counter()
    records = []
    for result in sorted(results, key=lambda result: (result.started_at, result.file)):
        pairing, server, client = result.pairing, result.server, result.client
        if not pairing:
            server, client = name_of(server, "server"), name_of(client, "client")
            pairing = named(server, client)
        words = [str(result.settings.get("protocol", "unknown")).lower()]
        cell = csv_table.cell_of(pairing, result.test, result.settings, words)
        cells.setdefault(cell.key, cell)
        trials[cell.key] += 1
        record = csv_table.record_of(
            cell,
            {} if result.reason else result.values,
            printed="" if result.reason else "yes",
            trial=trials[cell.key],
            server=server,
            client=client,
        )
        if result.reason not in (None, csv_table.NOT_RECORDED):
            record = replace(record, status=Status.FAILED, reason=result.reason)
        records.append(replace(record, detail=result.detail, started_at=result.started_at))
    return [replace(cell, repeats=trials[key]) for key, cell in cells.items()], records


# ---- texts of people and of tables as values of netlab's columns, in netlab's units ----

HOSTS = ("pairing", "server", "client")
TIME = "started_at"
JITTER = "receiver_jitter_ns"
_OF_NETLAB = frozenset({"cell", "trial", "attempt", "status", "reason", "errno", "detail", "test"})
"""Columns that the import fills in itself; a table cannot give them."""

MAX_RATE = 10**14
"""In bit/s; a higher rate is a typing error or an attack."""

_NUMBER = r"[0-9]{1,18}(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,2})?"
_QUANTITY = re.compile(rf"({_NUMBER})\s*([A-Za-zµ/1]*)")
_WITH_COMMA = re.compile(r"[0-9]+(,[0-9]+)+(\.[0-9]+)?")

_PREFIXES = {"": 0, "k": 3, "M": 6, "G": 9, "T": 12}
_BINARY = {"Ki": 1024, "Mi": 1024**2, "Gi": 1024**3}
_SECONDS = {"s": 0, "ms": -3, "us": -6, "µs": -6, "ns": -9}


def _times(power: int) -> dict[str, Decimal]:
    """Unit of time → its size in units of 10^-power seconds."""
    return {unit: Decimal(10) ** (exponent + power) for unit, exponent in _SECONDS.items()}


FACTORS: Mapping[str, Mapping[str, Decimal]] = {
    "bit/s": {
        **{f"{prefix}bit/s": Decimal(10) ** power for prefix, power in _PREFIXES.items()},
        **{f"{prefix}byte/s": 8 * Decimal(10) ** power for prefix, power in _PREFIXES.items()},
        **{f"{prefix}B/s": Decimal(8 * factor) for prefix, factor in _BINARY.items()},
    },
    "byte": {
        "byte": Decimal(1),
        **{f"{prefix}B": Decimal(10) ** power for prefix, power in _PREFIXES.items()},
        **{f"{prefix}B": Decimal(factor) for prefix, factor in _BINARY.items()},
    },
    "s": _times(0),
    "us": _times(6),
    "ns": _times(9),
    "1/s": {"1/s": Decimal(1), "/s": Decimal(1), "k/s": Decimal(1000)},
    "ppm": {"ppm": Decimal(1)},
    "s/Gbit": {"s/Gbit": Decimal(1)},
    "": {},
}
"""netlab's unit → unit in a table → how many of netlab's units equal the unit in the table.
``MB/s`` is left out, because some people write it for 10^6 byte/s and others for 10^6 bit/s.
"""


@cache
def columns_of_test(test: str) -> Mapping[str, Column]:
    """The columns that a table can give for a kind of test, settings first."""
    settings = SETUPS[test].names()
    all_columns = {**columns_of([test]), JITTER: describe(JITTER)}
    return {
        name: column
        for name, column in sorted(all_columns.items(), key=lambda item: item[0] not in settings)
        if name in (*settings, *HOSTS, TIME)
        or (column.dtype != "string" and name not in _OF_NETLAB and not name.startswith("printed_"))
    }


def constant_value(test: str, name: str, text: str) -> Value | None:
    """The value of a column that is the same in every row. Returns and raises as ``Read`` does."""
    return text_reader(test, name, columns_of_test(test)[name].unit, ".")(text)


def text_reader(test: str, name: str, unit: str, decimal: str) -> Read:
    """The function that reads the texts of a column; numbers without a unit are in ``unit``."""
    if name in _READ:
        return _READ[name]
    column = columns_of_test(test)[name]
    if column.dtype == "boolean":
        return _truth
    if name in SETUPS[test].names():
        return _setting(name, column, unit, decimal)

    def measured(text: str) -> Value:
        exact = _exact(text, column.unit, unit, decimal)
        limit = MAX_RATE if column.unit == "bit/s" else MAX_VALUE
        if exact > limit:
            raise ValueError(f"{shown(text)} is more than {limit} {column.unit}".rstrip())
        if column.unit == "bit/s" and not exact:
            raise ValueError("0 is not a throughput; leave the field empty if nothing was measured")
        if column.dtype == "Int64":
            return _whole(text, exact) if column.unit in ("", "byte") else round(exact)
        return csv_table.plain_number(exact)

    return measured


def table_number(text: str, known_unit: str, unit: str, decimal: str) -> tuple[str, Decimal]:
    """The number in a text, with a decimal point, and how many of netlab's units equal its unit. A
    unit in the text is used instead of ``unit``, the column's unit.
    """
    match = _QUANTITY.fullmatch(text.replace(",", ".", 1) if decimal == "," else text)
    if match is None:
        hint = ""
        if _WITH_COMMA.fullmatch(text):
            hint = "; write the number without separators of thousands"
        if decimal == "." and re.fullmatch(r"[0-9]+,[0-9]{1,2}", text):
            hint = "; state `decimal: ','` if the table has decimal commas"
        raise ValueError(f"{shown(text)} is not a plain number{hint}")
    factors = FACTORS[known_unit]
    own_unit = match[2] or unit
    if own_unit and own_unit not in factors:
        units = f"; known units: {', '.join(factors)}" if factors else "; this column has no unit"
        raise ValueError(f"{shown(text)}: {own_unit} is not a unit here{units}")
    return match[1], factors.get(own_unit, Decimal(1))


def _exact(text: str, known_unit: str, unit: str, decimal: str) -> Decimal:
    digits, factor = table_number(text, known_unit, unit, decimal)
    return Decimal(digits) * factor


def _setting(name: str, column: Column, unit: str, decimal: str) -> Read:
    row = ROWS[name]
    words: tuple[Value, ...] = get_args(row.type)
    absent_word = row.reads.word if isinstance(row.reads, Or) else None
    numbers = row.reads.reads if isinstance(row.reads, Or) else row.reads

    def read(text: str) -> Value | None:
        if absent_word is not None and text.lower() == absent_word:
            return None
        if words:
            for word in words:
                if text.lower() == str(word).lower():
                    return word
            raise ValueError(f"{shown(text)} is not one of {', '.join(map(str, words))}")
        if row.type is str:
            return text
        exact = _exact(text, column.unit, unit, decimal)
        if isinstance(numbers, Whole | NumberWithUnit):
            least, most = numbers.least, numbers.most
            if not least <= exact <= most:
                raise ValueError(f"{shown(text)} is not between {least:g} and {most:g}")
        elif exact > MAX_VALUE:
            raise ValueError(f"{shown(text)} is more than {MAX_VALUE}")
        return _whole(text, exact) if row.type is int else float(exact)

    return read


def _whole(text: str, exact: Decimal) -> int:
    if exact != exact.to_integral_value():
        raise ValueError(f"{shown(text)} is not a whole number")
    return int(exact)


def _truth(text: str) -> bool:
    is_true = text.lower() in ("true", "yes", "on", "1")
    if not is_true and text.lower() not in ("false", "no", "off", "0"):
        raise ValueError(f"{shown(text)} is neither true nor false")
    return is_true


def _time(text: str) -> str:
    time = utc_of(text)
    if time is None:
        example = "2026-01-31T12:00:00Z (Z: UTC)"
        raise ValueError(f"{shown(text)} is not a time with its time zone, such as {example}")
    return utc_text(time)


_READ: Mapping[str, Read] = {
    TIME: _time,
    "pairing": csv_table.pairing,
    "server": csv_table.host,
    "client": csv_table.host,
}


# ---- the command's options ----


def _stated_settings(words: tuple[str, ...]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for word in words:
        name, _, text = word.partition("=")
        if not text:
            raise ValueError(f"{word!r} is not SETTING=VALUE, such as message_bytes=1472")
        if name == "protocol":
            raise ValueError(
                "the protocol cannot be given here: netlab reads it from the tool's output"
            )
        if name not in _KNOWN:
            from netlab.config.document import did_you_mean  # imports pydantic, which is slow

            raise ValueError(f"no setting is called {name}{did_you_mean(name, _KNOWN)}")
        if texts.setdefault(name, text) != text:
            raise ValueError(f"{name} has two values")
    return texts


def _host_names(words: tuple[str, ...]) -> dict[str, str]:
    names: dict[str, str] = {}
    for word in words:
        address, equals, name = word.partition("=")
        if not equals or not address:
            raise ValueError(f"{word!r} is not ADDRESS=NAME, such as 192.0.2.11=nas")
        role_of(name)
        names[address] = name
    return names


_OPTIONS = (
    CommandOption(
        "names",
        "--host-name",
        "Name of the host with an address, or of server or client if the output has no address "
        "(may be repeated).",
        metavar="ADDRESS=NAME",
        repeated=True,
        convert=_host_names,
    ),
    CommandOption(
        "settings",
        "--setting",
        "A setting of all tests that the output does not state, such as message_bytes=1472 (may be "
        "repeated).",
        metavar="SETTING=VALUE",
        repeated=True,
        convert=_stated_settings,
    ),
)


def tool_importer(
    parse: Parse,
    outputs: str,
    files: str,
    *,
    trials: str = "Tests with the same settings between the same hosts are trials of one cell.",
    decode: Callable[[bytes, str], str] = csv_table.text_of,
) -> Importer:
    """The importer of a tool's outputs. Its help says what ``outputs`` and what ``files`` it reads,
    and which tests are ``trials`` of one cell.
    """
    explained = f"Make a run folder out of {outputs}, and its report.\n\nFILES are {files} {trials}"
    read = partial(import_results, parse=parse, decode=decode)
    return Importer(read=read, is_of_files=True, help=explained, options=_OPTIONS)


# ---- what the readers of several tools share ----

Failure = tuple[str | None, str | None]
"""Why there is no result: a reason, and a sentence; twice ``None`` if there is a result."""

NUMBER = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,12})?")
NOT_KNOWN = "is not known: read as far as it is understood"
"""About the version of a tool or of a format."""


class Output:
    """What one output of a tool states. The reader of a tool extends it."""

    fault: ClassVar[str] = "is out of range"
    """About the text of a number that is left out."""

    def __init__(self, file: str, quoted: int = 5) -> None:
        self.file = file
        self._quoted = quoted
        """At most this many lines that are not understood are quoted; the rest are only counted."""
        self.fields: dict[str, str] = {}
        """Name, as the tool prints it → the text of its value."""
        self.unread: list[str] = []
        """Sentences about what is not understood."""
        self._left = 0

    def leave(self, number: int, line: str, reason: str = "is not understood") -> None:
        """Note a line that is not read, by its number from 1."""
        self._left += 1
        if self._left <= self._quoted:
            self.unread.append(f"line {number} {reason}: {line[:60]!r}")

    def count_left(self) -> None:
        """Note how many more lines are not understood, if there are more than are quoted."""
        if (more := self._left - self._quoted) > 0:
            self.unread.append(f"{more} more lines are not understood")

    def whole_file(
        self, results: Sequence[ToolResult], text: str, nothing: str, *, is_indented: bool = False
    ) -> tuple[ToolResult, ...]:
        """The results of a file, the last one with the sentences about what is not understood.
        Raises MatrixError with the sentence ``nothing`` if there are none, at the first line, or
        behind its blanks if the text ``is_indented``.
        """
        if not results:
            first = next(csv_table.lines_of(text, self.file), csv_table.Line(self.file, 1, ""))
            blanks = len(first.text) - len(first.text.lstrip())
            column = 1 + blanks * is_indented
            sentence = nothing if first.text else "empty"
            raise csv_table.fault_at(self.file, first.number, column, sentence)
        self.count_left()
        unread = (*results[-1].unread, *self.unread)
        return (*results[:-1], replace(results[-1], unread=unread))

    def text(self, name: str) -> str | None:
        """The text of a field; ``None`` if it is absent, or if it means that there is no value."""
        return self.fields.get(name)

    def number(self, name: str, most: float = MAX_VALUE, least: float = 0.0) -> Decimal | None:
        """A number from ``least`` to ``most``; ``None`` if absent, or if it is any other text
        (noted).
        """
        text = self.text(name)
        if text is None:
            return None
        number = Decimal(text) if NUMBER.fullmatch(text) else None
        if number is None or bounded(float(number), least, most) is None:
            self.unread.append(f"`{name}` is left out: {text[:40]!r} {self.fault}")
            return None
        return number

    def result(
        self,
        settings: Mapping[str, Value],
        values: Mapping[str, Value],
        failure: Failure,
        **more: str,
    ) -> ToolResult:
        """The result of the test, without values if there is a failure; ``more``: its texts."""
        reason, detail = failure
        return ToolResult(
            file=self.file,
            settings=settings,
            values={} if reason else values,
            reason=reason,
            detail=detail,
            unread=tuple(self.unread),
            **more,
        )


def bounded(value: Any, least: float = 0.0, most: float = MAX_VALUE) -> float | None:
    """A number within the bounds; ``None`` for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) and least <= number <= most else None


def ip_version_of(address: str) -> int | None:
    """4 or 6; ``None`` if the text is no address."""
    try:
        return ipaddress.ip_address(address.partition("%")[0]).version
    except ValueError:
        return None


def reason_of_error(error: str, reasons: Mapping[str, str]) -> str:
    """The reason of the first words, in lower case, that are in an error."""
    lower = error.lower()
    return next((reason for words, reason in reasons.items() if words in lower), "unknown-error")


def failed(error: str, reasons: Mapping[str, str]) -> Failure:
    """The failure that an error states."""
    return reason_of_error(error, reasons), error


def requested(**settings: Value | None) -> dict[str, Value]:
    """The settings that are stated: tools print 0, or nothing, for what is not set. Only of a
    switch and of a warm-up 0 is a value.
    """
    off = {"nodelay", "warm_up_s"}
    return {n: value for n, value in settings.items() if value or (n in off and value is not None)}


def measured(flow: str = "", /, **values: Value | None) -> dict[str, Value]:
    """The values that are known; ``flow`` stands before their names if data flow both ways."""
    return {f"{flow}{name}": value for name, value in values.items() if value is not None}


def in_ns(seconds: float | Decimal | None) -> int | None:
    """A time in ns; ``None`` for 0, which tools print for what they did not measure."""
    return round(seconds * 10**9) if seconds else None


def received_messages(
    packets: float | None, losses: float | None, flow: str = ""
) -> dict[str, Value]:
    """Counts of messages from how many were sent and lost; none if these contradict each other."""
    if packets is None or losses is None or not 0 <= losses <= packets:
        return {}
    received = int(packets - losses)
    return measured(
        flow, received_messages=received, lost_messages=int(losses), sent_messages=int(packets)
    )


def time_of_epoch(seconds: float | None) -> str:
    """The time in ISO 8601, from seconds since 1970; empty if it is unknown or after 9999."""
    if seconds is None or bounded(seconds, most=253402300799) is None:
        return ""
    return utc_text(datetime.fromtimestamp(seconds, UTC))


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a number")


JSON = json.JSONDecoder(parse_constant=_refuse_constant)
"""Refuses NaN and the infinities."""


@contextmanager
def json_faults(
    file: str, tool: str, place: Callable[[], tuple[int, int]] = lambda: (1, 1)
) -> Iterator[None]:
    """Errors of ``JSON`` become MatrixError, placed where the text is not JSON, or else at
    ``place``.
    """
    try:
        yield
    except json.JSONDecodeError as error:
        raise csv_table.fault_at(
            file, error.lineno, error.colno, f"not JSON: {error.msg}"
        ) from None
    except (ValueError, RecursionError) as error:
        sentence = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise csv_table.fault_at(file, *place(), f"not JSON of {tool}: {sentence}") from None
