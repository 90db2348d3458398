"""The interface of a connection to a host and its programs: local (local.py) or SSH (ssh.py)."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Protocol

STDERR_KEPT_BYTES = 65536
"""Number of bytes at the end of standard error that are kept."""

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
        """Whether the connection exists. If it exists, the end of the output shows that the program
        has ended.
        """

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
    """The end of a stream of bytes."""

    def __init__(self) -> None:
        self._parts: deque[bytes] = deque()
        self._bytes = 0
        self._lock = threading.Lock()

    def add(self, part: bytes) -> None:
        """Append bytes and drop the oldest ones."""
        with self._lock:
            self._parts.append(part)
            self._bytes += len(part)
            while self._bytes - len(self._parts[0]) >= STDERR_KEPT_BYTES:
                self._bytes -= len(self._parts.popleft())

    def text(self) -> str:
        """The kept bytes as text."""
        with self._lock:
            tail = b"".join(self._parts)[-STDERR_KEPT_BYTES:]
        return tail.decode("utf-8", "replace").strip()
