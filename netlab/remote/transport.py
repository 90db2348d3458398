"""What a connection to a host can do, with its programs and files; this machine as such a host."""

from __future__ import annotations

import contextlib
import subprocess
import threading
import weakref
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from netlab.errors import HostError, HostGone
from netlab.experiment.hosts import Host

STDERR_KEPT_BYTES = 65536

LAST_WORDS_S = 0.5
"""Time for the last output of a program to arrive after its end is known."""


class Process(Protocol):
    """A running program, with its standard input and output as bytes."""

    def write(self, data: bytes) -> None:
        """Write all of ``data`` to its standard input; OSError if it has ended or takes nothing."""

    def read(self) -> bytes:
        """Wait for the next bytes of its standard output and return them; ``b""`` at its end."""

    def stderr_tail(self) -> str:
        """The end of its standard error."""

    def close_input(self) -> None:
        """Close its standard input."""

    def wait(self, timeout_s: float) -> int | None:
        """Wait for its end; its exit status, or ``None`` if it still runs after the timeout."""

    def is_connected(self) -> bool:
        """Whether the connection exists; then the end of the output shows the program's end."""

    def kill(self) -> None:
        """End it if possible, and release its resources."""


class Transport(Protocol):
    """A connection to one host. Any thread may call ``close``; it ends every wait on the host."""

    def start(self, argv: Sequence[str]) -> Process:
        """Start a program. Over SSH, no word of ``argv`` may need quoting."""

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""

    def close(self) -> None:
        """Close the connection without waiting for the host. Safe to call again."""


class Tail:
    """The end of a stream of bytes, which a thread of its own reads to the end."""

    def __init__(self, read: Callable[[int], bytes], errors: tuple[type[Exception], ...]) -> None:
        """``read``: returns at most so many bytes, none at the end. ``errors`` are an end, too."""
        self._kept = b""

        def drain() -> None:
            with contextlib.suppress(*errors):
                while part := read(4096):
                    self._kept = (self._kept + part)[-STDERR_KEPT_BYTES:]

        self.reader = threading.Thread(target=drain, daemon=True)
        self.reader.start()

    def text(self) -> str:
        """The kept bytes as text."""
        return self._kept.decode("utf-8", "replace").strip()


KILLED_S = 5.0


Open = TypeVar("Open")


class HeldOpen(Generic[Open]):
    """What is open, each registered before it is used. Any thread may close all of it."""

    def __init__(self, end: Callable[[Open], None], refusal: str) -> None:
        """``end`` closes one of them; ``refusal``: why there is none after ``close``."""
        self._end = end
        self._refusal = refusal
        self._lock = threading.Lock()
        self._held: MutableMapping[Open, None] = weakref.WeakKeyDictionary()
        self.closed = False
        """Whether ``close`` was called."""

    def add(self, opened: Open) -> None:
        """Register it before its first use; after ``close``, it is closed, and HostGone raised."""
        with self._lock:
            if not self.closed:
                self._held[opened] = None
                return
        self._end(opened)
        self.check()

    def check(self) -> None:
        """Raise HostGone after ``close``."""
        if self.closed:
            raise HostGone(self._refusal)

    def close(self) -> None:
        """Close all of it in its order, and so end every wait for it; safe to call again."""
        with self._lock:
            self.closed = True
            held = list(self._held)
        for opened in held:
            self._end(opened)


class LocalProcess:
    """A child of this process."""

    def __init__(self, argv: Sequence[str]) -> None:
        pipe = subprocess.PIPE
        self._child = subprocess.Popen(
            argv, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, start_new_session=True
        )
        stdin, stdout, stderr = self._child.stdin, self._child.stdout, self._child.stderr
        assert stdin is not None and stdout is not None and stderr is not None  # noqa: S101
        self._stdin, self._stdout, self._stderr = stdin, stdout, stderr
        self._tail = Tail(stderr.read, ())
        self._reading = threading.Lock()

    def write(self, data: bytes) -> None:
        """Write all of ``data`` to its standard input."""
        view = memoryview(data)
        while view:
            view = view[self._stdin.write(view) :]

    def read(self) -> bytes:
        """The next bytes of its standard output; ``b""`` at its end."""
        with self._reading:
            return b"" if self._stdout.closed else self._stdout.read(65536)

    def stderr_tail(self) -> str:
        """The end of its standard error."""
        return self._tail.text()

    def close_input(self) -> None:
        """Close its standard input."""
        with contextlib.suppress(OSError):
            self._stdin.close()

    def wait(self, timeout_s: float) -> int | None:
        """Its exit status, or ``None`` if it still runs."""
        try:
            status = self._child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        self._tail.reader.join(LAST_WORDS_S)
        return status

    def is_connected(self) -> bool:
        """Always true: a local program needs no connection."""
        return True

    def end(self) -> None:
        """Kill it without waiting for its end."""
        if self._child.poll() is None:
            self._child.kill()

    def kill(self) -> None:
        """End it and close its pipes."""
        self.close_input()
        self.end()
        # A process that waits in the kernel for a dead disk ends only later.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(KILLED_S)
        # The end of the process also ends both readers. A pipe is closed only after its reader has
        # ended; if a child of the process still holds the pipes, they stay open.
        self._tail.reader.join(1.0)
        if not self._tail.reader.is_alive():
            self._stderr.close()
        if self._reading.acquire(timeout=1.0):
            self._stdout.close()
            self._reading.release()


class LocalTransport(HeldOpen[LocalProcess]):
    """Programs on this machine, without a shell."""

    def __init__(self, host: Host) -> None:
        super().__init__(LocalProcess.end, f"{host.name}: the connection was closed")
        self._host = host

    def start(self, argv: Sequence[str]) -> Process:
        """Start a program in its own session, so that Ctrl-C in the terminal does not reach it."""
        self.check()
        try:
            process = LocalProcess(argv)
        except OSError as error:
            sentence = f"{self._host.name}: cannot start {argv[0]}: {error.strerror}"
            raise HostError(sentence) from None
        self.add(process)
        return process


class Connections(HeldOpen[Transport]):
    """The connections of one netlab process to its hosts.

    Pass the same object to every ``Agent.open(…, connections=…)``. ``close()`` then ends every wait
    on a host, in any thread and at any stage: the lookup of a name, a login, an ssh-agent, a file
    transfer, a greeting, a request to an agent. Each call that waits raises ``HostGone`` within a
    fraction of a second.
    """

    def __init__(self) -> None:
        super().__init__(lambda transport: transport.close(), "the run is ending")


@dataclass(frozen=True, slots=True)
class FileSeen:
    """Attributes of a file on a host, without following a link."""

    mode: int
    """Type and permissions, as in stat(2); 0 if the host does not report them."""
    uid: int | None
    """Its owner; ``None`` if the host does not report it."""
    size_bytes: int
    changed_s: int | None = None
    """Time of the last change in seconds since 1970; ``None`` if it is not reported."""


class HostFiles(Protocol):
    """Files of a host. OSError if the host refuses an operation, HostError if the access fails."""

    def seen(self, path: str) -> FileSeen:
        """A file's type, owner and size; OSError if it does not exist."""

    def make_folder(self, path: str) -> None:
        """Create one folder, mode 0700; OSError if the path exists."""

    def remove_folder(self, path: str) -> None:
        """Remove an empty folder."""

    def read(self, path: str, size_bytes: int) -> bytes:
        """Content of a file of ``size_bytes``; a login's output may precede and follow it."""

    def write(self, path: str, data: bytes) -> None:
        """Write a new file."""

    def allow_start(self, path: str) -> None:
        """Set mode 0700."""

    def rename(self, path: str, new: str) -> None:
        """Rename, replacing an existing file; in one step if the host can."""

    def remove(self, path: str) -> None:
        """Remove one file."""

    def touch(self, path: str) -> None:
        """Set the time of the last change to now, which marks the file as in use."""

    def older(self, folder: str, days: int) -> list[str]:
        """Names of the files that were not changed for this number of days."""
