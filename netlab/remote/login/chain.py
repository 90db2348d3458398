"""The SSH connections that lead to one host, from their first socket on."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Protocol

import paramiko

from netlab.errors import HostGone
from netlab.terminal import excerpt

WORDS_CHARACTERS = 200
"""Of an error's words a sentence quotes so much."""


class Closable(Protocol):
    """A socket, a channel, an SSH connection."""

    def close(self) -> object:
        """Let go of it."""


class Chain:
    """Connections through jump hosts to a host, and whatever is open while they are made.

    Everything is held before it is used: ``close``, from any thread, ends what waits on it.
    """

    def __init__(self, shown: str) -> None:
        self._shown = shown
        self._lock = threading.Lock()
        self._held: list[Closable] = []
        self._closed = threading.Event()
        self.connections: list[paramiko.Transport] = []
        """Those that are logged in, in their order: the host's own comes last."""

    @property
    def closed(self) -> bool:
        """Whether somebody closed it."""
        return self._closed.is_set()

    def hold(self, item: Closable) -> None:
        """Register what is about to be used; HostGone where the chain is closed."""
        with self._lock:
            if not self.closed:
                self._held.append(item)
                return
        end(item)
        self.check()

    def drop(self, item: Closable) -> None:
        """End what is not needed any more."""
        with self._lock:
            self._held = [each for each in self._held if each is not item]
        end(item)

    def pause(self, seconds: float) -> None:
        """Sleep; HostGone where the chain is closed meanwhile."""
        self._closed.wait(seconds)
        self.check()

    def check(self) -> None:
        """HostGone where the chain is closed."""
        if self.closed:
            raise HostGone(f"{self._shown}: let go")

    def close(self) -> None:
        """End everything, without waiting for any host. Safe to call again."""
        with self._lock:
            self._closed.set()
            held, self._held = self._held, []
        # The first socket first: without it nothing behind it waits until something is sent.
        for item in held:
            end(item)


def end(item: Closable) -> None:
    """Close it, and wake whoever waits on it."""
    if isinstance(item, socket.socket):
        # Closing alone does not wake a thread that reads.
        with suppress(OSError):
            item.shutdown(socket.SHUT_RDWR)
    with suppress(paramiko.SSHException, EOFError, OSError):
        item.close()


def in_words(error: BaseException) -> str:
    """The system's words, or those of the exception, or its name: one line, whoever wrote it."""
    words = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return excerpt(words, WORDS_CHARACTERS)
