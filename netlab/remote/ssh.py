"""SSH: one connection per host, one channel per program, and SFTP version 3 for the probe's file.

netlab has its own SFTP client (draft-ietf-secsh-filexfer-02) because a host may send anything, or
nothing: each reply has a time limit and a length limit, and data that are no SFTP raise one type of
error, SftpBroken.
"""

from __future__ import annotations

import re
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import paramiko
from paramiko.ssh_exception import ChannelException, SSHException

from netlab.build.binaries import OnEvent
from netlab.errors import HostError, HostGone
from netlab.experiment.hosts import Host
from netlab.remote.keys import Chain, in_thread, in_words
from netlab.remote.login import log_in
from netlab.remote.transport import LAST_WORDS_S, FileSeen, HostFiles, Tail
from netlab.terminal import excerpt

BROKEN = (SSHException, EOFError, OSError)
"""Errors of paramiko on a lost connection. Closing a channel sends a message, so it may fail."""
LOGIN_MOST_S = 600.0
"""Time limit of a whole login, including the wait for its turn. Each wait also has a shorter limit
of its own, except a wait that cannot be interrupted, such as for the ssh-agent of Windows."""
CHANNEL_S = 10.0
"""Time for a host to open a channel, and to begin a command or a subsystem on it."""
WRITE_S = 10.0
STATUS_S = 5.0
"""Time for a command's exit status to arrive after the end of its output."""
FREED_S = 5.0
"""Time for which a host may still count a channel that has ended (MaxSessions of
sshd_config(5))."""
FULL = (2, 4)
"""Codes of a refused channel: SSH_OPEN_CONNECT_FAILED, which OpenSSH sends beyond MaxSessions, and
SSH_OPEN_RESOURCE_SHORTAGE."""

WRITE_BYTES = 1 << 15
ROOM_POLL_S = 0.005
UNLINKED_S = 0.2
"""Maximum time between the end of a connection's channels and the end of the connection."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The output and the exit status of a command."""

    stdout: bytes
    stderr: str
    status: int | None
    """Exit status; ``None`` if the host does not report it."""

    @property
    def text(self) -> str:
        """Standard output as text; invalid bytes are replaced."""
        return self.stdout.decode("utf-8", "replace")


class SshTransport:
    """One SSH connection to one host, with the jump hosts that it passes through.

    Any thread may call ``close``, also while ``log_in`` waits. Every wait on the host then ends at
    once with HostGone, and no thread keeps the program alive.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._shown = host.name
        self._chain = Chain(host.name)
        self._login: Future[None] = Future()
        """Its error is that of the login, or HostGone if ``close`` came first."""
        self._freed_at = float("-inf")

    def log_in(self, on_event: OnEvent = None) -> None:
        """Connect; HostKeyError, HostRefused or HostError with a sentence if it fails."""
        target = self._host.ssh
        if target is None:
            raise HostError(f"{self._shown} has no `ssh:`")

        # A daemon thread logs in: the lookup of a name, or reading a key from a network drive that
        # does not answer, cannot be interrupted.
        work = partial(log_in, self._shown, target, self._host, self._chain, on_event)
        in_thread(work, self._login)
        wait([self._login], LOGIN_MOST_S)
        late = HostError(f"{self._shown}: its login did not end in {LOGIN_MOST_S:g} s")
        error = self._login.exception() if self._login.done() else late
        if error is not None:
            self.close()
            raise error

    def start(self, argv: Sequence[str]) -> SshProcess:
        """Run a command; its words must mean the same to every shell, without any quoting."""
        command = " ".join(argv)
        channel = self._channel(lambda opened: opened.exec_command(command), "runs no commands")
        return SshProcess(channel, self._freed)

    def answer(
        self, argv: Sequence[str], *, data: bytes = b"", most_bytes: int, timeout_s: float
    ) -> Answer:
        """Run a command with ``data`` as its standard input; returns its output and status.

        TimeoutError, with the output so far, if it takes longer than ``timeout_s`` in all; HostGone
        if the connection ends.
        """
        process = self.start(argv)
        give_up = time.monotonic() + timeout_s
        try:
            try:
                process.write(data, timeout_s)
            except OSError as error:
                # A command may end before it has read all its input, for example on a full disk.
                if isinstance(error, TimeoutError):
                    raise
            process.close_input()
            stdout = process.read_all(most_bytes, max(0.0, give_up - time.monotonic()))
            status = process.wait(max(0.0, min(STATUS_S, give_up - time.monotonic())))
            self._check()
            return Answer(stdout, process.stderr_tail(), status)
        except TimeoutError:
            raise
        except OSError as error:
            raise self._gone(error) from None
        finally:
            process.kill()

    @contextmanager
    def sftp(self) -> Iterator[_Sftp]:
        """An SFTP client; SftpBroken if the host offers no SFTP, or if it fails meanwhile."""
        refusal = "has no SFTP subsystem"
        try:
            channel = self._channel(lambda opened: opened.invoke_subsystem("sftp"), refusal)
        except HostGone:
            raise
        except HostError as error:
            raise SftpBroken(str(error)) from None
        try:
            yield _Sftp(channel, self._shown)
        finally:
            _close(channel)
            self._freed()

    @contextmanager
    def deadline(self, seconds: float, sentence: str) -> Iterator[None]:
        """A time limit for the context: then the connection ends, and HostError is raised."""
        with _time_limit(seconds, self.close) as expired:
            try:
                yield
            except (HostError, *BROKEN):
                if expired.is_set():
                    raise HostError(f"{self._shown}: {sentence}") from None
                raise

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._chain.closed

    def close(self) -> None:
        """End the connection and those to its jump hosts, without waiting for any host."""
        with suppress(InvalidStateError):
            self._login.set_exception(HostGone(f"{self._shown}: the connection was closed"))
        self._chain.close()

    # Channels

    def _channel(self, begin: Callable[[paramiko.Channel], None], refusal: str) -> paramiko.Channel:
        """Open a channel and call ``begin`` with it; HostGone, or HostError if the host refuses."""
        channel = self._session()
        with _time_limit(CHANNEL_S, lambda: _close(channel)) as expired:
            try:
                begin(channel)
            except Exception as error:  # any error of paramiko's thread arrives here
                _close(channel)
                self._check()
                if expired.is_set():
                    sentence = f"{self._shown}: it does not start a program within {CHANNEL_S:g} s"
                    raise HostGone(sentence) from None
                if self._chain.connections[-1].is_active():
                    raise HostError(f"{self._shown}: it {refusal} ({in_words(error)})") from None
                raise self._gone(error) from None
        return channel

    def _session(self) -> paramiko.Channel:
        """A new channel. If the host still counts a channel that was just closed, try again."""
        pause_s = 0.02
        while True:
            self._check()
            try:
                return self._chain.connections[-1].open_session(timeout=CHANNEL_S)
            except ChannelException as error:
                if error.code not in FULL or time.monotonic() > self._freed_at + FREED_S:
                    raise HostError(
                        f"{self._shown}: it opens no further channel ({error.text}); how many does "
                        "MaxSessions of its sshd allow?"
                    ) from None
            except Exception as error:  # as in `_channel`
                is_there = self._chain.connections[-1].is_active()
                if is_there and isinstance(error, SSHException):
                    sentence = f"{self._shown}: it opens no channel in {CHANNEL_S:g} s"
                    raise HostGone(sentence) from None
                raise self._gone(error) from None
            self._chain.pause(pause_s)
            pause_s = min(0.5, 2 * pause_s)

    def _freed(self) -> None:
        self._freed_at = time.monotonic()

    def _check(self) -> None:
        """Raise HostGone if there is no connection."""
        self._chain.check()
        if not self._chain.connections:
            raise HostGone(f"{self._shown}: not logged in")
        if not self._chain.connections[-1].is_active():
            raise HostGone(f"{self._shown}: the SSH connection is gone")

    def _gone(self, error: BaseException) -> HostGone:
        if self._chain.closed:
            return HostGone(f"{self._shown}: the connection was closed")
        return HostGone(f"{self._shown}: the SSH connection is gone ({in_words(error)})")


class SshProcess:
    """A command on its own channel."""

    def __init__(self, channel: paramiko.Channel, on_end: Callable[[], None]) -> None:
        """``on_end`` is called after the channel was closed."""
        self._channel = channel
        self._on_end = on_end
        self._tail = Tail(channel.recv_stderr, BROKEN)

    def write(self, data: bytes, within_s: float | None = None) -> None:
        """Write all of ``data`` to its standard input.

        TimeoutError if it accepts no input within ``within_s``, by default ``WRITE_S``. The
        channel's own timeout is not used, because it also applies to the reader.
        """
        seconds = WRITE_S if within_s is None else within_s
        give_up = time.monotonic() + seconds
        offset = 0
        with _as_os_error():
            while offset < len(data):
                if self._channel.send_ready():
                    offset += self._channel.send(data[offset : offset + WRITE_BYTES])
                elif time.monotonic() > give_up:
                    raise TimeoutError(f"it takes no input for {seconds:g} s")
                else:
                    time.sleep(ROOM_POLL_S)

    def read(self) -> bytes:
        """The next bytes of its standard output; ``b""`` at its end."""
        with _as_os_error():
            return self._channel.recv(65536)

    def read_all(self, most_bytes: int, timeout_s: float) -> bytes:
        """All output up to a limit; TimeoutError, with the last output, if it takes too long."""
        give_up = time.monotonic() + timeout_s
        answer = b""
        while len(answer) < most_bytes:
            self._channel.settimeout(max(0.001, give_up - time.monotonic()))
            try:
                part = self.read()
            except TimeoutError:
                raise TimeoutError(answer[-200:].decode("utf-8", "replace")) from None
            if not part:
                break
            answer += part
        return answer

    def read_until(self, mark: str, most_bytes: int, timeout_s: float) -> bytes:
        """The output up to a line that ends with ``mark``; TimeoutError, or OSError at the end."""
        give_up = time.monotonic() + timeout_s
        pattern = re.compile(re.escape(mark.encode("ascii")) + rb"\r?\n")
        output = b""
        try:
            while (end := pattern.search(output)) is None:
                self._channel.settimeout(max(0.001, give_up - time.monotonic()))
                part = self.read()
                output += part
                if not part or len(output) > most_bytes:
                    raise OSError(f"unexpected output: {output[-200:]!r}")
        finally:
            self._channel.settimeout(None)
        return output[: end.start()]

    def stderr_tail(self) -> str:
        """The end of its standard error."""
        return self._tail.text()

    def close_input(self) -> None:
        """Close its standard input."""
        with suppress(*BROKEN):
            self._channel.shutdown_write()

    def wait(self, timeout_s: float) -> int | None:
        """Its exit status, or ``None`` if it still runs or the connection is lost."""
        if not self._channel.status_event.wait(timeout_s):
            return None
        self._tail.reader.join(LAST_WORDS_S)
        status = self._channel.recv_exit_status()
        return None if status < 0 else status

    def is_connected(self) -> bool:
        """Whether its connection exists; paramiko notices its end with a short delay."""
        give_up = time.monotonic() + UNLINKED_S
        transport = self._channel.get_transport()
        while transport is not None and transport.is_active():
            if time.monotonic() > give_up:
                return True
            time.sleep(0.01)
        return False

    def kill(self) -> None:
        """Close the channel, which also ends the program's input."""
        _close(self._channel)
        self._on_end()
        self._tail.reader.join(1.0)


def _close(channel: paramiko.Channel) -> None:
    with suppress(*BROKEN):
        channel.close()


@contextmanager
def _time_limit(seconds: float, close: Callable[[], None]) -> Iterator[threading.Event]:
    """Calls ``close`` if the context lasts longer than ``seconds``; then the event is set."""
    expired = threading.Event()

    def expire() -> None:
        expired.set()
        close()

    timer = threading.Timer(seconds, expire)
    timer.daemon = True  # it does not keep the program alive
    timer.start()
    try:
        yield expired
    finally:
        timer.cancel()


@contextmanager
def _as_os_error() -> Iterator[None]:
    try:
        yield
    except (SSHException, EOFError) as error:
        raise OSError(in_words(error)) from None


REPLY_S = 10.0
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


class _Sftp(HostFiles):
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

    def seen(self, path: str) -> FileSeen:
        return self._parsed(_Fields.attributes, self._ask(_LSTAT, _text(path), _ATTRS))

    def make_folder(self, path: str) -> None:
        self._ask(_MKDIR, _text(path) + struct.pack(">II", _HAS_MODE, 0o700))

    def remove_folder(self, path: str) -> None:
        self._ask(_RMDIR, _text(path))

    def read(self, path: str, size_bytes: int) -> bytes:
        """A file that has become shorter is returned as it is."""
        starts = range(0, size_bytes, PIECE_BYTES)
        wanted = deque((at, min(PIECE_BYTES, size_bytes - at)) for at in starts)
        underway: dict[int, tuple[int, int]] = {}
        pieces: dict[int, bytes] = {}
        with self._open(path, _FOR_READING) as handle:
            while wanted or underway:
                while wanted and len(underway) < UNDERWAY_MOST:
                    piece = wanted.popleft()
                    fields = _text(handle) + struct.pack(">QI", *piece)
                    underway[self._request(_READ, fields)] = piece
                request = next(iter(underway))
                offset, length = underway.pop(request)
                kind, reply = self._reply(request)
                if kind == _STATUS and _status(reply) == _EOF:
                    continue
                data = self._parsed(_Fields.text, self._checked(kind, reply, _DATA))
                pieces[offset] = data
                if 0 < len(data) < length:
                    wanted.appendleft((offset + len(data), length - len(data)))
        return b"".join(data for _, data in sorted(pieces.items()))

    def write(self, path: str, data: bytes) -> None:
        """Never through a link or into an existing file."""
        with self._open(path, _NEW_FILE, 0o600) as handle:
            underway: list[int] = []
            for offset in range(0, len(data), PIECE_BYTES):
                piece = data[offset : offset + PIECE_BYTES]
                position = struct.pack(">Q", offset)
                underway.append(self._request(_WRITE, _text(handle) + position + _text(piece)))
                if len(underway) >= UNDERWAY_MOST:
                    self._checked(*self._reply(underway.pop(0)))
            for request in underway:
                self._checked(*self._reply(request))

    def allow_start(self, path: str) -> None:
        self._ask(_SETSTAT, _text(path) + struct.pack(">II", _HAS_MODE, 0o700))

    def rename(self, path: str, new: str) -> None:
        """Rename and replace in one step; if the server cannot, remove ``new`` and then rename."""
        paths = _text(path) + _text(new)
        try:
            self._ask(_EXTENDED, _text("posix-rename@openssh.com") + paths)
        except OSError:
            # If this removal fails although it is needed, the plain rename fails as well.
            with suppress(OSError):
                self.remove(new)
            self._ask(_RENAME, paths)

    def remove(self, path: str) -> None:
        self._ask(_REMOVE, _text(path))

    def touch(self, path: str) -> None:
        now = int(time.time())
        self._ask(_SETSTAT, _text(path) + struct.pack(">III", _HAS_TIMES, now, now))

    def older(self, folder: str, days: int) -> list[str]:
        limit = time.time() - days * DAY_S
        handle = self._parsed(_Fields.text, self._ask(_OPENDIR, _text(folder), _HANDLE))
        entries: list[tuple[str, FileSeen]] = []
        while True:
            kind, reply = self._reply(self._request(_READDIR, _text(handle)))
            if kind == _STATUS and _status(reply) == _EOF:
                break
            entries += self._parsed(_Fields.names, self._checked(kind, reply, _NAME))
            if len(entries) > ENTRIES_MOST:
                raise self._broken(f"lists more than {ENTRIES_MOST} files of a folder")
        self._ask(_CLOSE, _text(handle))
        return [
            name for name, file in entries if file.changed_s is not None and file.changed_s < limit
        ]

    def whole_path(self, path: str) -> str:
        """The absolute path, as SFTP writes it."""
        names = self._parsed(_Fields.names, self._ask(_REALPATH, _text(path), _NAME))
        return names[0][0] if names else path

    # Requests and replies

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
                self._ask(_CLOSE, _text(handle))
            raise
        self._ask(_CLOSE, _text(handle))

    def _ask(self, kind: int, fields: bytes, reply_kind: int = _STATUS) -> bytes:
        """Send a request; returns the reply of ``reply_kind``, raises OSError for a refusal."""
        return self._checked(*self._reply(self._request(kind, fields)), reply_kind)

    def _checked(self, kind: int, reply: bytes, reply_kind: int = _STATUS) -> bytes:
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
        except BROKEN as error:
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
            except BROKEN as error:
                raise self._broken(f"ends ({error})") from None
            if not part:
                raise self._broken("ends")
            read += part
        return bytes(read)

    def _broken(self, fault: str) -> SftpBroken:
        _close(self._channel)
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
