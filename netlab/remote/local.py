"""Programs on this machine, as the hosts over SSH have them."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Sequence

from netlab.errors import HostError
from netlab.experiment.hosts import Host
from netlab.remote.transport import LAST_WORDS_S, Process, Tail


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
        assert self._child.stdin is not None  # noqa: S101
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

    def is_connected(self) -> bool:
        """Nothing is between it and us."""
        return True

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
