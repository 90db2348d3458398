"""Where a probe runs: on this machine, or over SSH (ssh.py)."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Protocol

STDERR_KEPT_BYTES = 65536
"""Of what a program says on standard error the last part is kept."""

LAST_WORDS_S = 0.5
"""What a program said last may come after its end is known."""


class Process(Protocol):
    """A program under way, with its standard input and output as bytes."""

    def write(self, data: bytes) -> None:
        """Hand all of ``data`` to its standard input; OSError when it is gone, or takes nothing."""

    def read(self) -> bytes:
        """What has come from its standard output, waiting for some; ``b""`` at its end."""

    def stderr_tail(self) -> str:
        """The last of what it said on standard error."""

    def close_input(self) -> None:
        """End its input."""

    def wait(self, timeout_s: float) -> int | None:
        """Its exit status, with its last words kept; ``None`` where it still runs by then."""

    def is_connected(self) -> bool:
        """Whether the way to it is there: then its end is its own."""

    def kill(self) -> None:
        """End it, where that can be done, and let go of it."""


class Transport(Protocol):
    """A way to one host. ``close`` may come from any thread, and ends what waits on the host."""

    def start(self, argv: Sequence[str]) -> Process:
        """Start a program. Over SSH the words must need no quoting."""

    @property
    def closed(self) -> bool:
        """Whether somebody let go of the host."""

    def close(self) -> None:
        """Let go of the host, without waiting for it. Safe to call again."""


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
