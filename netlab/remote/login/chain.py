"""The chain of SSH connections that leads to one host, beginning with the first socket."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Protocol

import paramiko

from netlab.errors import HostGone
from netlab.terminal import excerpt

WORDS_CHARACTERS = 200
"""Length to which the text of an error is cut in a sentence."""


class Closable(Protocol):
    """A socket, a channel, an SSH connection."""

    def close(self) -> object:
        """Close it."""


class Chain:
    """Connections through jump hosts to a host, and everything that is open while they are made.

    Each item is registered before its use, so that ``close``, from any thread, ends every wait.
    """

    def __init__(self, host_label: str) -> None:
        self._shown = host_label
        self._lock = threading.Lock()
        self._held: list[Closable] = []
        self._closed = threading.Event()
        self.connections: list[paramiko.Transport] = []
        """Logged-in connections in their order; the last one is to the host itself."""

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._closed.is_set()

    def hold(self, item: Closable) -> None:
        """Register an item before its use; HostGone if the chain is closed."""
        with self._lock:
            if not self.closed:
                self._held.append(item)
                return
        end(item)
        self.check()

    def drop(self, item: Closable) -> None:
        """Close an item that is no longer needed."""
        with self._lock:
            self._held = [member for member in self._held if member is not item]
        end(item)

    def pause(self, seconds: float) -> None:
        """Sleep; HostGone if the chain is closed meanwhile."""
        self._closed.wait(seconds)
        self.check()

    def check(self) -> None:
        """Raise HostGone if the chain is closed."""
        if self.closed:
            raise HostGone(f"{self._shown}: the connection was closed")

    def close(self) -> None:
        """Close everything without waiting for any host. Safe to call again."""
        with self._lock:
            self._closed.set()
            items, self._held = self._held, []
        # Close the first socket first, so that closing the rest does not wait until data are sent.
        for item in items:
            end(item)


def end(item: Closable) -> None:
    """Close an item and wake the threads that wait on it."""
    if isinstance(item, socket.socket):
        # Closing alone does not wake a thread that reads.
        with suppress(OSError):
            item.shutdown(socket.SHUT_RDWR)
    with suppress(paramiko.SSHException, EOFError, OSError):
        item.close()


def in_words(error: BaseException) -> str:
    """An error as one line: the system's text, else the exception's text, else its type."""
    words = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return excerpt(words, WORDS_CHARACTERS)
