"""The journal: an append-only file of checksummed lines, and the checked record or note in a line.

A line is ``crc32 space json line-feed``. The first part is eight hex digits of zlib.crc32 over the
JSON's bytes. The JSON is one object in ASCII with at least ``kind`` and ``at`` (wall clock). One
call writes a line. A line that was only partly written (a torn line) is never changed, and the next
line begins after it. Every line without a record is a note.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import stat
import sys
import threading
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Callable, ItemsView, Iterator, Mapping, Sequence, ValuesView
from concurrent import futures
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from netlab.errors import StoreError
from netlab.messages import _, counted
from netlab.store.files import disk_errors, open_file, open_inside, read_at, sync_folder, write_all
from netlab.store.plan import PlannedCell
from netlab.trial.record import Record, Value, check_text, from_data, refuse_constant

MAX_LINE_BYTES = 16 * 2**20
"""Maximum length of a line. A longer line counts as damaged; no intact line is looked for in it."""
MAX_SALVAGED = 64
"""Maximum number of places in a damaged line where an intact line is looked for."""
MAX_DAMAGES = 1000
"""Maximum number of damaged lines that are reported one by one; the others are only counted."""

_LINE_START = re.compile(rb"[0-9a-f]{8} \{")


@dataclass(frozen=True, slots=True)
class JournalLine:
    """One intact line of a journal."""

    number: int
    data: dict[str, Any]
    text: str
    """The JSON as it is in the file."""


@dataclass(frozen=True, slots=True)
class Damage:
    """One damaged place of a journal."""

    line: int
    message: str
    torn: bool = False
    """Whether the end of the line is missing: a write was cut off, or is not complete yet."""

    def __str__(self) -> str:
        return _("line {line}: {message}", line=self.line, message=self.message)


def encode_line(json_text: str) -> bytes:
    """A JSON object as a line of the journal."""
    body = json_text.encode("ascii")
    return b"%08x %s\n" % (zlib.crc32(body), body)


def items_of(piece: bytes, number: int) -> Iterator[JournalLine | Damage]:
    """The intact lines in one line of the file, and its damage; nothing for an empty line.

    ``piece``: the line with its line feed. ``number``: its number in the file.
    """
    body = piece.removesuffix(b"\n")
    data = None
    if _LINE_START.match(body) and len(body) <= MAX_LINE_BYTES and _checksum_matches(body):
        with contextlib.suppress(ValueError, RecursionError):
            text = body[9:].decode("utf-8")
            data = _DECODER.decode(text)
    if isinstance(data, dict):
        yield JournalLine(number, data, text)
    elif body:  # a writer may have added a line feed to a line that already had one
        salvaged = list(_salvage(body, number))
        yield from salvaged
        torn = len(body) == len(piece)
        yield Damage(number, _describe(body, len(salvaged), torn), torn)


def _checksum_matches(piece: bytes) -> bool:
    return int(piece[:8], 16) == zlib.crc32(piece[9:])


_DECODER = json.JSONDecoder(parse_constant=refuse_constant)


def _salvage(piece: bytes, number: int) -> Iterator[JournalLine]:
    """Intact lines inside a damaged line; a lost line feed joins two lines into a damaged one."""
    if len(piece) > MAX_LINE_BYTES:
        return
    text = piece.decode("latin-1")  # one character per byte, so that positions agree
    end = tries = 0
    for match in _LINE_START.finditer(piece):
        if match.start() < end:
            continue
        tries += 1
        if tries > MAX_SALVAGED:
            return
        try:
            data, stop = _DECODER.raw_decode(text, match.start() + 9)
        except (ValueError, RecursionError):
            continue
        body = piece[match.start() + 9 : stop]
        if int(match.group()[:8], 16) == zlib.crc32(body):
            end = stop
            yield JournalLine(number, data, body.decode("ascii", "replace"))


def _describe(piece: bytes, salvaged: int, torn: bool) -> str:
    if salvaged:
        return counted(
            "damaged; one intact line was recovered from it",
            "damaged; {number} intact lines were recovered from it",
            salvaged,
        )
    if torn:
        return _("torn: the file ends after {size} bytes of this line", size=len(piece))
    if len(piece) > MAX_LINE_BYTES:
        return _("damaged: more than {size} bytes without a line feed", size=MAX_LINE_BYTES)
    if not _LINE_START.match(piece):
        return _("damaged: it does not begin with a checksum and a JSON object")
    if _checksum_matches(piece):
        return _("damaged: the text after its checksum is not a JSON object")
    return _("damaged: the checksum does not match")


class Journal:
    """The only writer of a journal. Each line is one write. A durable line is also fsynced;
    ``sync_soon`` fsyncs the others in a thread.

    Threads may share the object. After the disk refused once, nothing more is written: the state
    that a failed fsync leaves is unknown until the file is read again.
    """

    def __init__(self, path: Path, descriptor: int, *, fresh: bool) -> None:
        self._path = path
        self._descriptor = descriptor
        self._fresh = fresh
        self._unsynced = False
        self._broken = False
        self._closed = False
        self._turn = threading.Lock()
        self._thread = futures.ThreadPoolExecutor(1)
        self._syncing: futures.Future[None] = futures.Future()
        """The last sync in the thread."""
        self._syncing.set_result(None)

    @classmethod
    def open(cls, path: Path) -> Journal:
        """Create the file (0600), or open it to append; a torn end stays as it is."""
        with disk_errors(path, "open the journal"):
            flags = os.O_RDWR | os.O_APPEND
            try:
                descriptor = open_file(path, flags | os.O_CREAT | os.O_EXCL)
            except FileExistsError:
                descriptor = open_file(path, flags)
            try:
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode):
                    raise StoreError(f"{path}: not a regular file; restore it from a copy")
                # A resumed run relies on every line that it reads. A process that was killed may
                # have left a line only in the page cache.
                os.fsync(descriptor)
                sync_folder(path.parent)
                size_bytes = status.st_size
                fresh = size_bytes == 0 or read_at(descriptor, 1, size_bytes - 1) == b"\n"
            except BaseException:
                os.close(descriptor)
                raise
        return cls(path, descriptor, fresh=fresh)

    def append(self, json_text: str, *, durable: bool = True) -> None:
        """Write one line; with ``durable`` it is on the disk when this returns.

        A line that is not durable reaches the disk with the next durable one, with ``sync_soon``
        or with ``close``. Raises StoreError, and then for every later line as well.
        """
        line = encode_line(json_text)
        with self._turn:
            if self._closed or self._broken:
                why = "is closed" if self._closed else "failed to write before"
                raise StoreError(f"{self._path}: cannot write a record: the journal {why}")
            try:
                if self._syncing.done():
                    self._syncing.result()
                with disk_errors(self._path, "write a record"):
                    write_all(self._descriptor, line if self._fresh else b"\n" + line)
                self._fresh = True
                if durable:
                    # The system reports a failed sync once per descriptor, to whoever asks first.
                    self._syncing.result()
                    self._sync()
            except StoreError:
                self._broken = True
                raise
            self._unsynced = not durable

    def sync_soon(self) -> futures.Future[None]:
        """Make all lines written so far durable while the caller continues.

        Calls during a sync share the next one; after one that failed there is no other. If the disk
        refuses, the future holds the StoreError, and the next ``append`` or ``close`` raises it.
        """
        with self._turn:
            if self._closed:
                raise StoreError(f"{self._path}: cannot be made durable: the journal is closed")
            last = self._syncing
            if last.running() or (last.done() and last.exception() is None):
                self._syncing = self._thread.submit(self._sync_after, last)
            return self._syncing

    def close(self) -> None:
        """Make the last lines durable and close; a second call does nothing."""
        with self._turn:
            if self._closed:
                return
            self._closed = True
            try:
                self._syncing.result()
                if self._unsynced and not self._broken:
                    with disk_errors(self._path, "make the journal durable"):
                        os.fsync(self._descriptor)
            except StoreError:
                if not self._broken:  # an error that was raised before is not raised again
                    raise
            finally:
                self._thread.shutdown(wait=False)
                with contextlib.suppress(OSError):
                    os.close(self._descriptor)

    def _sync_after(self, last: futures.Future[None]) -> None:
        last.result()
        self._sync()

    def _sync(self) -> None:
        with disk_errors(self._path, "write a record"):
            os.fsync(self._descriptor)


def read_journal(path: Path) -> tuple[tuple[JournalLine, ...], tuple[Damage, ...]]:
    """Intact lines and damages of a journal file; needs no lock, even while a writer is active."""
    items = list(scan_journal(path))
    lines = tuple(item for item in items if isinstance(item, JournalLine))
    return lines, tuple(item for item in items if isinstance(item, Damage))


def scan_journal(
    path: Path, begin_bytes: int = 0, first: int = 1
) -> Iterator[JournalLine | Damage]:
    """As ``read_journal``, but one by one, so that a large journal is not in memory twice.

    ``begin_bytes``: where the line with the number ``first`` begins; earlier lines are left out.
    """
    if not os.path.lexists(path):
        yield Damage(1, _("the journal is missing"))
        return
    reported = unreported = last = 0
    for number, (_size_bytes, piece) in enumerate(scan_pieces(path, begin_bytes), start=first):
        for item in items_of(piece, number):
            if isinstance(item, JournalLine) or reported < MAX_DAMAGES:
                yield item
                if isinstance(item, Damage):
                    reported, last = reported + 1, number
            else:
                unreported += 1
    if unreported:
        yield Damage(last + 1, _("{lines} more damaged lines follow", lines=unreported))


def scan_pieces(path: Path, begin_bytes: int) -> Iterator[tuple[int, bytes]]:
    """The lines of a journal from a position on: length in the file, and text with its line feed.

    A line that is too long is cut. Raises StoreError if the journal cannot be read.
    """
    with disk_errors(path, "read the journal"), open_inside(path.parent, path.name) as file:
        file.seek(begin_bytes)
        while piece := file.readline(MAX_LINE_BYTES + 1):
            if len(piece) <= MAX_LINE_BYTES or piece.endswith(b"\n"):
                yield len(piece), piece
                continue
            size_bytes = len(piece)
            while part := file.readline(MAX_LINE_BYTES):
                size_bytes += len(part)
                if part.endswith(b"\n"):
                    break
            yield size_bytes, piece + b"\n"


_LONGEST_SHARED = 64
"""Maximum length of a text that is stored once for all records, such as the name of a host."""
_CODES, _SIZES = "BHIQq", (1 << 8, 1 << 16, 1 << 32, 1 << 64)
"""Type codes of an array, and the first value that is too large for each unsigned one."""
COUNTS = frozenset("BHIQ")
_MOST_SETS = 4096
"""Maximum number of sets of names that are shared; further records have their own copy."""


class PackedValues(Mapping[str, Value]):
    """The values of one record, in their order; each access to a series builds a new list.

    A run has tens of thousands of records with some hundred values each, and few different sets of
    names: records with the same names share one copy of them, and a series of numbers is an array.
    """

    __slots__ = ("_held", "_places")

    def __init__(self, places: Mapping[str, int], entries: tuple[Any, ...]) -> None:
        self._places = places
        self._held = entries

    def __getitem__(self, name: str) -> Value:
        value: Value = _as_value(self._held[self._places[name]])
        return value

    def get(self, name: str, default: Any = None) -> Any:
        """As in any mapping."""
        place = self._places.get(name)
        if place is None:
            return default
        entry = self._held[place]
        return entry.tolist() if type(entry) is array else entry  # a report makes millions of calls

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._held)

    def values(self) -> ValuesView[Value]:
        """As in any mapping."""
        return self._plain().values()

    def items(self) -> ItemsView[str, Value]:
        """As in any mapping."""
        return self._plain().items()

    def _plain(self) -> dict[str, Value]:
        return dict(zip(self._places, map(_as_value, self._held), strict=True))

    def __repr__(self) -> str:
        return repr(self._plain())

    @property
    def held(self) -> tuple[Any, ...]:
        """All values as they are stored; the series must not be changed."""
        return self._held

    def counts(self, name: str) -> Sequence[int] | None:
        """A series of whole numbers from 0 as it is stored, not to be changed; else ``None``."""
        place = self._places.get(name)
        entry = None if place is None else self._held[place]
        return entry if type(entry) is array and entry.typecode in COUNTS else None


def packed_values(values: Mapping[str, Value]) -> PackedValues:
    """The same values in compact form."""
    entries: list[Any] = list(values.values())
    for place, kind in _other_places(tuple(map(type, entries))):
        value = entries[place]
        if kind is list:
            entries[place] = _as_array(value)
        elif len(value) <= _LONGEST_SHARED:
            entries[place] = sys.intern(value)  # as in ``shared``, without the cost of a call
    return PackedValues(_places(tuple(values)), tuple(entries))


@lru_cache(maxsize=_MOST_SETS)
def _other_places(types: tuple[type, ...]) -> tuple[tuple[int, type], ...]:
    """The places of texts and series, with their type."""
    return tuple((place, kind) for place, kind in enumerate(types) if kind in (str, list))


def shared(text: str) -> str:
    """The shared copy of a short text; a long text is returned itself."""
    return sys.intern(text) if type(text) is str and len(text) <= _LONGEST_SHARED else text


@lru_cache(maxsize=_MOST_SETS)
def _places(names: tuple[str, ...]) -> Mapping[str, int]:
    return {shared(name): place for place, name in enumerate(names)}


def _as_array(values: list[int] | list[float]) -> Any:
    """An array of machine numbers if all values have one type and fit; else the list itself."""
    # Many series have one number, because most trials have one stream.
    kind = type(values[0]) if values else None
    if len(values) > 1 and set(map(type, values)) != {kind}:
        return values
    if kind is float:
        return array("d", values)
    if kind is not int:
        return values
    try:
        return array(_CODES[bisect_right(_SIZES, max(values))], values)
    except OverflowError:  # below 0, or beyond 64 bits
        try:
            return array("q", values)
        except OverflowError:
            return values


def _as_value(entry: Any) -> Any:
    return entry.tolist() if type(entry) is array else entry


def all_shared(data: Any) -> Any:
    """The same JSON data with shared copies of its names."""
    if isinstance(data, dict):
        return {sys.intern(name): all_shared(value) for name, value in data.items()}
    return list(map(all_shared, data)) if isinstance(data, list) else data


MAX_NOTE_DEPTH = 16
MAX_NUMBER = 2**31
"""Numbers of trials and attempts are below this limit."""

TrialKey = tuple[str, int]


@dataclass(frozen=True, slots=True)
class RunCheck:
    """Checks of file contents; they raise ValueError, with a sentence, for impossible contents."""

    settings: Callable[[str, Mapping[str, Value]], None]
    """Checks the settings of a test, which is given by its name."""
    values: Callable[[Mapping[str, Value]], None]


@dataclass(frozen=True, slots=True)
class Note:
    """A line of the journal that is not a record: ``session``, ``facts``, ``attempt``, …"""

    kind: str
    at: str
    """Wall clock of the machine that ran netlab, ISO 8601, UTC."""
    data: Mapping[str, Any]
    line: int


Keep = Callable[[Record], Record] | None
"""Reduces a record to the part that is kept in memory; ``None``: the whole record is kept."""


def record_in(
    line: JournalLine, cells: Mapping[str, PlannedCell], check: RunCheck | None, keep: Keep = None
) -> Record:
    """The record in a line. Raises ValueError with a sentence if the record is malformed."""
    record = from_data(line.data, look_at_values=check is None)
    if not (0 < record.trial < MAX_NUMBER and 0 < record.attempt < MAX_NUMBER):
        raise ValueError("the number of the trial or of the attempt is not from 1 to 2^31 - 1")
    for name in (record.cell, record.pairing, record.server, record.client, record.test):
        check_text(name)
    cell = cells.get(record.cell)
    # Later readers of the record rely on the test of its cell.
    if cell is not None and (record.test, record.pairing) != (cell.test, cell.pairing):
        raise ValueError(_("its test or its pairing differs from that of its cell"))
    # The compact form is checked faster, because a series of machine numbers has one type.
    record = _compact(record, cell)
    if check is not None:
        check.settings(record.test, record.settings)
        check.values(record.values)
    reduced = record if keep is None else keep(record)
    return record if reduced is record else _compact(reduced, cell)


def _compact(record: Record, cell: PlannedCell | None) -> Record:
    return replace(
        record,
        cell=record.cell if cell is None else cell.key,
        pairing=shared(record.pairing),
        server=shared(record.server),
        client=shared(record.client),
        test=shared(record.test),
        settings=packed_values(record.settings),
        values=packed_values(record.values),
    )


def note_in(line: JournalLine) -> Note:
    """The note in a line. Raises ValueError with a sentence if the note is malformed."""
    kind, at, data = (line.data.get(name) for name in ("kind", "at", "data"))
    if not isinstance(kind, str) or not isinstance(at, str) or not isinstance(data, dict):
        raise ValueError(_("neither a record nor a note"))
    _check_note(data, MAX_NOTE_DEPTH)
    if kind == "facts" and not isinstance(data.get("facts", {}), dict):
        raise ValueError(_("a note of facts that contains no mapping"))
    return Note(shared(kind), at, all_shared(data), line.number)


def _check_note(value: object, depth: int) -> None:
    """Raise ValueError for data that a page of the report cannot show."""
    if isinstance(value, dict | list):
        if not depth:
            raise ValueError(_("a note nested more than {depth} levels deep", depth=MAX_NOTE_DEPTH))
        for item in (*value, *value.values()) if isinstance(value, dict) else value:
            _check_note(item, depth - 1)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(_("a note with a number that is infinite or not a number"))
    elif isinstance(value, str):
        check_text(value)
