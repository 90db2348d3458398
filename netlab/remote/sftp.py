"""Accesses a host's files over SFTP version 3 (draft-ietf-secsh-filexfer-02) to install a probe.

netlab has its own client because a host may send anything, or nothing: each reply has a time limit
and a length limit, and data that are no SFTP raise one type of error, SftpBroken.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

import paramiko
from paramiko.ssh_exception import SSHException

from netlab.errors import HostError
from netlab.remote.host_files import FileSeen
from netlab.terminal import excerpt

REPLY_S = 10.0
"""Time limit of a whole reply."""
PACKET_MOST_BYTES = 1 << 18
"""Maximum length of a packet, as in OpenSSH."""
PIECE_BYTES = 1 << 15
"""Bytes of a file per request; every server accepts this size."""
UNDERWAY_MOST = 32
"""Maximum number of requests that wait for a reply; together they transfer 1 MiB."""
ENTRIES_MOST = 10_000
"""Maximum number of files in a folder; the probe's own folder has a few."""
DAY_S = 86400

# Requests and replies.
_INIT, _VERSION, _OPEN, _CLOSE, _READ, _WRITE, _LSTAT = 1, 2, 3, 4, 5, 6, 7
_SETSTAT, _OPENDIR, _READDIR, _REMOVE, _MKDIR, _RMDIR, _REALPATH = 9, 11, 12, 13, 14, 15, 16
_RENAME = 18
_STATUS, _HANDLE, _DATA, _NAME, _ATTRS, _EXTENDED = 101, 102, 103, 104, 105, 200
_OK, _EOF = 0, 1
_FOR_READING, _NEW_FILE = 0x01, 0x02 | 0x08 | 0x20
"""Flags for opening a file: SSH_FXF_READ; SSH_FXF_WRITE, SSH_FXF_CREAT and SSH_FXF_EXCL."""
_HAS_SIZE, _HAS_OWNER, _HAS_MODE, _HAS_TIMES, _HAS_MORE = 0x1, 0x2, 0x4, 0x8, 0x80000000

T = TypeVar("T")


class SftpBroken(HostError):
    """A host's SFTP does not exist, does not answer, or sends data that are no SFTP."""


class Sftp:
    """One SFTP session. A refusal of the host raises OSError; any other fault raises SftpBroken."""

    def __init__(self, channel: paramiko.Channel, host_label: str) -> None:
        """``channel`` has the SFTP subsystem started; ``host_label`` names the host in messages."""
        self._channel = channel
        self._shown = host_label
        self._number = 0
        self._arrived: dict[int, tuple[int, bytes]] = {}
        self._awaited: set[int] = set()
        self._send(_INIT, struct.pack(">I", 3))
        kind, _ = self._packet()
        if kind != _VERSION:
            raise self._broken(f"begins with a packet of the wrong type, {kind}")

    def close(self) -> None:
        """End the session."""
        with suppress(SSHException, EOFError, OSError):
            self._channel.close()

    # The methods of HostFiles

    def seen(self, path: str) -> FileSeen:
        """As in HostFiles."""
        return self._parsed(_Fields.attributes, self._ask(_LSTAT, _text(path), _ATTRS))

    def make_folder(self, path: str) -> None:
        """As in HostFiles."""
        self._order(_MKDIR, _text(path) + struct.pack(">II", _HAS_MODE, 0o700))

    def remove_folder(self, path: str) -> None:
        """As in HostFiles."""
        self._order(_RMDIR, _text(path))

    def read(self, path: str, size_bytes: int) -> bytes:
        """As in HostFiles; a file that has become shorter is returned as it is."""
        with self._open(path, _FOR_READING) as handle:
            return self._pieces(handle, size_bytes)

    def _pieces(self, handle: bytes, size_bytes: int) -> bytes:
        offsets = iter(range(0, size_bytes, PIECE_BYTES))
        underway: dict[int, tuple[int, int]] = {}
        pieces: dict[int, bytes] = {}
        while True:
            for offset in offsets:
                self._ask_piece(handle, offset, min(PIECE_BYTES, size_bytes - offset), underway)
                if len(underway) >= UNDERWAY_MOST:
                    break
            if not underway:
                break
            request = next(iter(underway))
            offset, length = underway.pop(request)
            kind, reply = self._reply(request)
            if kind == _STATUS and _status(reply) == _EOF:
                continue
            data = self._parsed(_Fields.text, self._checked(kind, _DATA, reply))
            pieces[offset] = data
            if 0 < len(data) < length:
                self._ask_piece(handle, offset + len(data), length - len(data), underway)
        return b"".join(data for _, data in sorted(pieces.items()))

    def write(self, path: str, data: bytes) -> None:
        """As in HostFiles: never through a link or into an existing file."""
        with self._open(path, _NEW_FILE, 0o600) as handle:
            underway: list[int] = []
            for offset in range(0, len(data), PIECE_BYTES):
                piece = data[offset : offset + PIECE_BYTES]
                position = struct.pack(">Q", offset)
                underway.append(self._request(_WRITE, _text(handle) + position + _text(piece)))
                if len(underway) >= UNDERWAY_MOST:
                    self._done(underway.pop(0))
            for request in underway:
                self._done(request)

    def allow_start(self, path: str) -> None:
        """As in HostFiles."""
        self._order(_SETSTAT, _text(path) + struct.pack(">II", _HAS_MODE, 0o700))

    def rename(self, path: str, new: str) -> None:
        """Rename and replace in one step; if the server cannot, remove ``new`` and then rename."""
        paths = _text(path) + _text(new)
        try:
            self._order(_EXTENDED, _text("posix-rename@openssh.com") + paths)
        except OSError:
            # If this removal fails although it is needed, the plain rename fails as well.
            with suppress(OSError):
                self.remove(new)
            self._order(_RENAME, paths)

    def remove(self, path: str) -> None:
        """As in HostFiles."""
        self._order(_REMOVE, _text(path))

    def touch(self, path: str) -> None:
        """As in HostFiles."""
        now = int(time.time())
        self._order(_SETSTAT, _text(path) + struct.pack(">III", _HAS_TIMES, now, now))

    def older(self, folder: str, days: int) -> list[str]:
        """As in HostFiles."""
        limit = time.time() - days * DAY_S
        return [
            name
            for name, status in self._entries(folder)
            if status.changed_s is not None and status.changed_s < limit
        ]

    def whole_path(self, path: str) -> str:
        """The absolute path, as SFTP writes it."""
        reply = self._ask(_REALPATH, _text(path), _NAME)
        names = self._parsed(_Fields.names, reply)
        return names[0][0] if names else path

    # Requests and replies

    def _entries(self, folder: str) -> list[tuple[str, FileSeen]]:
        handle = self._parsed(_Fields.text, self._ask(_OPENDIR, _text(folder), _HANDLE))
        entries: list[tuple[str, FileSeen]] = []
        while True:
            kind, reply = self._reply(self._request(_READDIR, _text(handle)))
            if kind == _STATUS and _status(reply) == _EOF:
                break
            entries += self._parsed(_Fields.names, self._checked(kind, _NAME, reply))
            if len(entries) > ENTRIES_MOST:
                raise self._broken(f"lists more than {ENTRIES_MOST} files of a folder")
        self._order(_CLOSE, _text(handle))
        return entries

    @contextmanager
    def _open(self, path: str, flags: int, mode: int | None = None) -> Iterator[bytes]:
        """Yields a file's handle and always closes it: else Windows would keep the file locked."""
        attributes = struct.pack(">I", 0) if mode is None else struct.pack(">II", _HAS_MODE, mode)
        reply = self._ask(_OPEN, _text(path) + struct.pack(">I", flags) + attributes, _HANDLE)
        handle = self._parsed(_Fields.text, reply)
        try:
            yield handle
        except OSError:
            with suppress(OSError):
                self._order(_CLOSE, _text(handle))
            raise
        self._order(_CLOSE, _text(handle))

    def _ask_piece(
        self, handle: bytes, offset: int, size: int, underway: dict[int, tuple[int, int]]
    ) -> None:
        request = self._request(_READ, _text(handle) + struct.pack(">QI", offset, size))
        underway[request] = offset, size

    def _order(self, kind: int, fields: bytes) -> None:
        """Send a request whose reply is only a status; OSError for a refusal."""
        self._done(self._request(kind, fields))

    def _done(self, request: int) -> None:
        kind, reply = self._reply(request)
        if kind != _STATUS:
            raise self._broken(f"answers with a packet of the wrong type, {kind}")
        self._checked(kind, _STATUS, reply)

    def _ask(self, kind: int, fields: bytes, reply_kind: int) -> bytes:
        """Send a request; returns the reply of ``reply_kind``, raises OSError for a refusal."""
        answered, reply = self._reply(self._request(kind, fields))
        return self._checked(answered, reply_kind, reply)

    def _checked(self, kind: int, reply_kind: int, reply: bytes) -> bytes:
        if kind == _STATUS:
            code, words = self._parsed(_Fields.status, reply)
            if code != _OK:
                raise OSError(excerpt(words) or f"SFTP status {code}")
        if kind != reply_kind:
            raise self._broken(f"answers with a packet of the wrong type, {kind}")
        return reply

    def _request(self, kind: int, fields: bytes) -> int:
        self._number += 1
        self._awaited.add(self._number)
        self._send(kind, struct.pack(">I", self._number) + fields)
        return self._number

    def _reply(self, request: int) -> tuple[int, bytes]:
        """Type and fields of a reply; replies to other requests are kept for later."""
        while request not in self._arrived:
            kind, payload = self._packet()
            number = struct.unpack(">I", payload[:4])[0] if len(payload) >= 4 else 0
            if number not in self._awaited:
                raise self._broken("answers a request that was not sent")
            self._awaited.discard(number)
            self._arrived[number] = kind, payload[4:]
        return self._arrived.pop(request)

    def _send(self, kind: int, payload: bytes) -> None:
        try:
            self._channel.settimeout(REPLY_S)
            self._channel.sendall(struct.pack(">IB", len(payload) + 1, kind) + payload)
        except TimeoutError:
            raise self._broken(f"accepts no data for {REPLY_S:g} s") from None
        except (SSHException, EOFError, OSError) as error:
            raise self._broken(f"ends ({error})" if str(error) else "ends") from None

    def _packet(self) -> tuple[int, bytes]:
        give_up = time.monotonic() + REPLY_S
        head = self._exactly(4, give_up)
        (size,) = struct.unpack(">I", head)
        if not 1 <= size <= PACKET_MOST_BYTES:
            raise self._broken(
                f"sends data that are not SFTP, beginning with {head!r}; does an rc file print "
                "something?"
            )
        body = self._exactly(size, give_up)
        return body[0], body[1:]

    def _exactly(self, count: int, give_up: float) -> bytes:
        read = bytearray()
        while len(read) < count:
            try:
                self._channel.settimeout(max(0.001, give_up - time.monotonic()))
                part = self._channel.recv(count - len(read))
            except TimeoutError:
                raise self._broken(f"does not answer in {REPLY_S:g} s") from None
            except (SSHException, EOFError, OSError) as error:
                raise self._broken(f"ends ({error})") from None
            if not part:
                raise self._broken("ends")
            read += part
        return bytes(read)

    def _broken(self, fault: str) -> SftpBroken:
        self.close()
        return SftpBroken(f"{self._shown}: its SFTP server {fault}")

    def _parsed(self, read: Callable[[_Fields], T], packet: bytes) -> T:
        try:
            return read(_Fields(packet))
        except struct.error:
            raise self._broken("answers with a packet that ends too early") from None


class _Fields:
    """Reads the fields of a packet in their order; struct.error if they end too early."""

    def __init__(self, packet: bytes) -> None:
        self._packet = packet
        self._at = 0

    def number(self, layout: str = ">I") -> int:
        """A whole number; ``>Q`` has 64 bits."""
        (value,) = struct.unpack_from(layout, self._packet, self._at)
        self._at += struct.calcsize(layout)
        return int(value)

    def text(self) -> bytes:
        """Bytes that follow a field with their length."""
        size = self.number()
        if size > len(self._packet) - self._at:
            raise struct.error("the packet ends in the middle of a field")
        self._at += size
        return self._packet[self._at - size : self._at]

    def status(self) -> tuple[int, str]:
        """A status code and its message, which some servers leave out."""
        code = self.number()
        return code, self.text().decode("utf-8", "replace") if self._at < len(self._packet) else ""

    def names(self) -> list[tuple[str, FileSeen]]:
        """Names of the files in a folder, with their attributes."""
        files = []
        for _ in range(min(self.number(), PACKET_MOST_BYTES)):
            name = self.text().decode("utf-8", "replace")
            self.text()  # a line as `ls -l` prints it
            files.append((name, self.attributes()))
        return files

    def attributes(self) -> FileSeen:
        """Attributes of a file; a missing one is 0 or ``None``."""
        flags = self.number()
        size = self.number(">Q") if flags & _HAS_SIZE else 0
        uid = None
        if flags & _HAS_OWNER:
            uid, _ = self.number(), self.number()
        mode = self.number() if flags & _HAS_MODE else 0
        changed_s = None
        if flags & _HAS_TIMES:
            _, changed_s = self.number(), self.number()
        if flags & _HAS_MORE:
            for _ in range(min(self.number(), PACKET_MOST_BYTES)):
                self.text(), self.text()
        return FileSeen(mode, uid, size, changed_s)


def _text(words: str | bytes) -> bytes:
    raw = words.encode("utf-8") if isinstance(words, str) else words
    return struct.pack(">I", len(raw)) + raw


def _status(reply: bytes) -> int:
    return int(struct.unpack(">I", reply[:4])[0]) if len(reply) >= 4 else -1
