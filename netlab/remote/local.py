"""Programs on this machine, with the same interface as on hosts over SSH."""

from __future__ import annotations

import contextlib
import subprocess
import threading
import weakref
from collections.abc import Sequence

from netlab.errors import HostError, HostGone
from netlab.experiment.hosts import Host
from netlab.remote.transport import LAST_WORDS_S, Process, Tail

KILLED_S = 5.0
"""Time for a killed process to end."""


class LocalTransport:
    """Programs on this machine, without a shell."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._lock = threading.Lock()
        self._started: weakref.WeakSet[LocalProcess] = weakref.WeakSet()
        self._closed = False

    def start(self, argv: Sequence[str]) -> Process:
        """Start a program in its own session, so that Ctrl-C in the terminal does not reach it."""
        with self._lock:
            if self._closed:
                raise HostGone(f"{self._host.name}: the connection was closed")
            try:
                process = LocalProcess(argv)
            except OSError as error:
                raise HostError(
                    f"{self._host.name}: cannot start {argv[0]}: {error.strerror}"
                ) from None
            self._started.add(process)
        return process

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._closed

    def close(self) -> None:
        """End all programs and thus every wait for them; afterwards no program can be started."""
        with self._lock:
            self._closed = True
            processes = list(self._started)
        for process in processes:
            process.end()


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
        """Write all of ``data`` to its standard input."""
        assert self._child.stdin is not None  # noqa: S101
        view = memoryview(data)
        while view:
            view = view[self._child.stdin.write(view) :]

    def read(self) -> bytes:
        """The next bytes of its standard output; ``b""`` at its end."""
        assert self._child.stdout is not None  # noqa: S101
        with self._reading:
            return b"" if self._child.stdout.closed else self._child.stdout.read(65536)

    def stderr_tail(self) -> str:
        """The end of its standard error."""
        return self._tail.text()

    def close_input(self) -> None:
        """Close its standard input."""
        assert self._child.stdin is not None  # noqa: S101
        try:
            self._child.stdin.close()
        except OSError:
            return

    def wait(self, timeout_s: float) -> int | None:
        """Its exit status, or ``None`` if it still runs."""
        try:
            status = self._child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        self._drain.join(LAST_WORDS_S)
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
