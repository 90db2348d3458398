"""The journal: an append-only file of lines with checksums. Damaged lines are reported.

A line is ``crc32 space json line-feed``. The first part is eight hex digits of zlib.crc32 over the
JSON's bytes. The JSON is one object in ASCII with at least ``kind`` and ``at`` (wall clock). One
call writes a line. A line that was only partly written (a torn line) is never changed, and the next
line begins after it.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import re
import stat
import threading
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from netlab.errors import StoreError
from netlab.experiment.records import refuse_constant
from netlab.messages import _, counted
from netlab.store.background_sync import BackgroundSync
from netlab.store.files import disk_error, open_inside, sync_folder, write_all
from netlab.store.system import open_file, read_at

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
    """Number of the line in the file, from 1."""
    data: dict[str, Any]
    text: str
    """The JSON as it is in the file."""


@dataclass(frozen=True, slots=True)
class Damage:
    """One damaged place of a journal."""

    line: int
    """Number of the line, from 1."""
    message: str
    torn: bool = False
    """Whether the end of the line is missing: a write was cut off, or is not complete yet."""

    def __str__(self) -> str:
        return _("line {line}: {message}", line=self.line, message=self.message)


def encode_line(json_text: str) -> bytes:
    """A JSON object as a line of the journal."""
    body = json_text.encode("ascii")
    return b"%08x %s\n" % (zlib.crc32(body), body)


def decode(data: bytes) -> tuple[tuple[JournalLine, ...], tuple[Damage, ...]]:
    """All intact lines of a journal's bytes, and every damaged place with its line number."""
    return _separated(_scan(_pieces(io.BytesIO(data)), 1))


def _separated(
    scanned: Iterable[JournalLine | Damage],
) -> tuple[tuple[JournalLine, ...], tuple[Damage, ...]]:
    items = list(scanned)
    lines = tuple(item for item in items if isinstance(item, JournalLine))
    return lines, tuple(item for item in items if isinstance(item, Damage))


def _pieces(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """The length in the file of each line, and the line with its line feed; a line that is too long
    is cut, as if it ended there.
    """
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


def _scan(pieces: Iterable[tuple[int, bytes]], first: int) -> Iterator[JournalLine | Damage]:
    """Intact lines and damages, in order, of pieces that end with their line feed.

    ``first``: number of the first piece.
    """
    reported = unreported = last = 0
    for number, (_size_bytes, piece) in enumerate(pieces, start=first):
        for item in items_of(piece, number):
            if isinstance(item, JournalLine) or reported < MAX_DAMAGES:
                yield item
                if isinstance(item, Damage):
                    reported, last = reported + 1, number
            else:
                unreported += 1
    if unreported:
        yield Damage(last + 1, _("{lines} more damaged lines follow", lines=unreported))


def items_of(piece: bytes, number: int) -> Iterator[JournalLine | Damage]:
    """The intact lines in one line of the file, and its damage; nothing for an empty line.

    ``piece``: the line with its line feed. ``number``: its number in the file.
    """
    body = piece.removesuffix(b"\n")
    line = _intact(body, number)
    if line is not None:
        yield line
    elif body:  # a writer may have added a line feed to a line that already had one
        salvaged = list(_salvage(body, number))
        yield from salvaged
        torn = len(body) == len(piece)
        yield Damage(number, _describe(body, len(salvaged), torn), torn)


def _intact(piece: bytes, number: int) -> JournalLine | None:
    """The line, if the piece is one intact line and nothing else."""
    if not _LINE_START.match(piece) or len(piece) > MAX_LINE_BYTES:
        return None
    body = piece[9:]
    if not _checksum_matches(piece):
        return None
    try:
        text = body.decode("utf-8")
        data = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
    return JournalLine(number, data, text) if isinstance(data, dict) else None


def _checksum_matches(piece: bytes) -> bool:
    """Whether a piece begins with the checksum of the rest."""
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
        self._background = BackgroundSync(self._sync)

    @classmethod
    def open(cls, path: Path) -> Journal:
        """Create the file (0600), or open it to append; a torn end stays as it is."""
        flags = os.O_RDWR | os.O_APPEND
        try:
            try:
                descriptor = open_file(path, flags | os.O_CREAT | os.O_EXCL)
            except FileExistsError:
                descriptor = open_file(path, flags)
            try:
                return cls(path, descriptor, fresh=_is_fresh(path, descriptor))
            except BaseException:
                os.close(descriptor)
                raise
        except OSError as error:
            raise disk_error(error, path, "open the journal") from None

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
                self._background.check()
                self._write(line if self._fresh else b"\n" + line)
                self._fresh = True
                if durable:
                    # The system reports a failed sync once per descriptor, to whoever asks first.
                    self._background.wait()
                    self._sync()
            except StoreError:
                self._broken = True
                raise
            self._unsynced = not durable

    def sync_soon(self) -> Future[None]:
        """Make all lines written so far durable while the caller continues.

        If the disk refuses, the future holds the StoreError, and the next call of ``append`` or
        ``close`` raises it.
        """
        with self._turn:
            if self._closed:
                raise StoreError(f"{self._path}: cannot be made durable: the journal is closed")
            return self._background.ask()

    def close(self) -> None:
        """Make the last lines durable and close; a second call does nothing."""
        with self._turn:
            if self._closed:
                return
            self._closed = True
            try:
                self._settle()
            finally:
                self._background.end()
                with contextlib.suppress(OSError):
                    os.close(self._descriptor)

    def _settle(self) -> None:
        """Make all written lines durable. An error that was raised before is not raised again."""
        try:
            self._background.wait()
            if self._unsynced and not self._broken:
                os.fsync(self._descriptor)
        except StoreError:
            if not self._broken:
                raise
        except OSError as error:
            raise disk_error(error, self._path, "make the journal durable") from None

    def _write(self, data: bytes) -> None:
        try:
            write_all(self._descriptor, data)
        except OSError as error:
            raise disk_error(error, self._path, "write a record") from None

    def _sync(self) -> None:
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            raise disk_error(error, self._path, "write a record") from None


def _is_fresh(path: Path, descriptor: int) -> bool:
    """Whether a journal just opened is empty or ends with a line feed; makes all of it durable.

    A resumed run relies on every line that it reads. A process that was killed may have left a line
    only in the page cache.
    """
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise StoreError(f"{path}: not a regular file; restore it from a copy")
    os.fsync(descriptor)
    sync_folder(path.parent)
    return status.st_size == 0 or read_at(descriptor, 1, status.st_size - 1) == b"\n"


def read_journal(path: Path) -> tuple[tuple[JournalLine, ...], tuple[Damage, ...]]:
    """Intact lines and damages of a journal file; needs no lock, even while a writer is active."""
    return _separated(scan_journal(path))


def scan_journal(
    path: Path, begin_bytes: int = 0, first: int = 1
) -> Iterator[JournalLine | Damage]:
    """As ``read_journal``, but one by one, so that a large journal is not in memory twice.

    ``begin_bytes``: where the line with the number ``first`` begins; earlier lines are left out.
    """
    try:
        with os.fdopen(open_inside(path), "rb") as file:
            file.seek(begin_bytes)
            yield from _scan(_pieces(file), first)
    except OSError as error:
        if error.errno != errno.ENOENT:
            raise disk_error(error, path, "read the journal") from None
        yield Damage(1, _("the journal is missing"))


def scan_pieces(path: Path, begin_bytes: int) -> Iterator[tuple[int, bytes]]:
    """The lines of a journal from a position on: length in the file, and text with its line feed.

    A line that is too long is cut. Raises StoreError if the journal cannot be read.
    """
    try:
        with os.fdopen(open_inside(path), "rb") as file:
            file.seek(begin_bytes)
            yield from _pieces(file)
    except OSError as error:
        raise disk_error(error, path, "read the journal") from None
