"""Where a probe runs: on this machine, or over SSH (ssh.py)."""

from __future__ import annotations

import subprocess
import threading
from collections import deque
from collections.abc import Sequence
from typing import Protocol

from netlab.errors import HostError
from netlab.experiment.hosts import Host

STDERR_KEPT_BYTES = 65536
"""Of what a program says on standard error the last part is kept."""

LAST_WORDS_S = 0.5
"""What a program said last may come after its end is known."""


class Process(Protocol):
    """A program under way, with its standard input and output as bytes."""

    def write(self, data: bytes) -> None:
        """Hand all of ``data`` to its standard input; OSError when it is gone."""

    def read(self) -> bytes:
        """What has come from its standard output, waiting for some; ``b""`` at its end."""

    def stderr_tail(self) -> str:
        """The last of what it said on standard error."""

    def close_input(self) -> None:
        """End its input."""

    def wait(self, timeout_s: float) -> int | None:
        """Its exit status, with its last words kept; ``None`` where it still runs by then."""

    def kill(self) -> None:
        """End it, where that can be done, and let go of it."""


class Transport(Protocol):
    """A way to one host."""

    def start(self, argv: Sequence[str]) -> Process:
        """Start a program. Over SSH the words must need no quoting."""

    def close(self) -> None:
        """Let go of the host."""


class Tail:
    """Keeps the end of a stream of bytes."""

    def __init__(self) -> None:
        self._parts: deque[bytes] = deque()
        self._bytes = 0
        self._lock = threading.Lock()

    def add(self, part: bytes) -> None:
        """Append, forgetting the oldest."""
        with self._lock:
            self._parts.append(part)
            self._bytes += len(part)
            while self._bytes - len(self._parts[0]) >= STDERR_KEPT_BYTES:
                self._bytes -= len(self._parts.popleft())

    def text(self) -> str:
        """What is kept, as text."""
        with self._lock:
            joined = b"".join(self._parts)[-STDERR_KEPT_BYTES:]
        return joined.decode("utf-8", "replace").strip()


def connect(host: Host) -> Transport:
    """The way to ``host``; HostError and its kin where there is none."""
    if host.local:
        return LocalTransport(host)
    from netlab.remote.ssh import SshTransport

    return SshTransport.connect(host)


class LocalTransport:
    """Programs on this machine, without a shell."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def start(self, argv: Sequence[str]) -> Process:
        """Start a program in a session of its own: a Ctrl-C in the terminal is not for it."""
        try:
            return LocalProcess(argv)
        except OSError as error:
            raise HostError(
                f"{self._host.name}: cannot start {argv[0]}: {error.strerror}"
            ) from None

    def close(self) -> None:
        """Nothing is held."""


class LocalProcess:
    """A child of this process."""

    def __init__(self, argv: Sequence[str]) -> None:
        pipe = subprocess.PIPE
        self._child = subprocess.Popen(
            argv, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, start_new_session=True
        )
        self._tail = Tail()
        self._reading = threading.Lock()
        self._drain = threading.Thread(target=self._drain_stderr, daemon=True)
        self._drain.start()

    def write(self, data: bytes) -> None:
        """Hand all of ``data`` to its standard input."""
        assert self._child.stdin is not None  # noqa: S101  (told to the type checker)
        view = memoryview(data)
        while view:
            view = view[self._child.stdin.write(view) :]

    def read(self) -> bytes:
        """What has come from its standard output; ``b""`` at its end."""
        assert self._child.stdout is not None  # noqa: S101
        with self._reading:
            return b"" if self._child.stdout.closed else self._child.stdout.read(65536)

    def stderr_tail(self) -> str:
        """The last of what it said on standard error."""
        return self._tail.text()

    def close_input(self) -> None:
        """End its input."""
        assert self._child.stdin is not None  # noqa: S101
        try:
            self._child.stdin.close()
        except OSError:
            return

    def wait(self, timeout_s: float) -> int | None:
        """Its exit status, or ``None`` where it still runs."""
        try:
            status = self._child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        self._drain.join(LAST_WORDS_S)
        return status

    def kill(self) -> None:
        """End it and close its pipes."""
        self.close_input()
        if self._child.poll() is None:
            self._child.kill()
        self._child.wait()
        # Its end ends both readers; a pipe is closed only once nobody reads it. Where a child of
        # its own still holds the pipes, they are left to it.
        self._drain.join(1.0)
        if self._child.stderr is not None and not self._drain.is_alive():
            self._child.stderr.close()
        if self._child.stdout is not None and self._reading.acquire(timeout=1.0):
            self._child.stdout.close()
            self._reading.release()

    def _drain_stderr(self) -> None:
        assert self._child.stderr is not None  # noqa: S101
        while part := self._child.stderr.read(4096):
            self._tail.add(part)
