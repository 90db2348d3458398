"""A terminal for a program under test, with the unchanged output of the program."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Terminal:
    """A pseudo terminal; ``end`` is the program's."""

    def __init__(self, columns: int | None = None) -> None:
        """``columns``: how wide it says that it is; without them it does not know."""
        self._reading, self.end = pty.openpty()
        if columns is not None:
            fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        self._written = bytearray()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def so_far(self) -> bytes:
        """What was written by now."""
        return bytes(self._written)

    def written(self) -> bytes:
        """All of it, once every program has closed it."""
        self.close()
        self._reader.join(60)
        return bytes(self._written)

    def type(self, text: str) -> None:
        """What a person types into it."""
        os.write(self._reading, text.encode())

    def close(self) -> None:
        """Our own handle of the program's end. Safe to call again."""
        if self.end >= 0:
            os.close(self.end)
            self.end = -1

    def _read(self) -> None:
        # Linux says EIO where no program has it open any more.
        with suppress(OSError):
            while part := os.read(self._reading, 65536):
                self._written += part
        os.close(self._reading)


@contextmanager
def terminal(columns: int | None = None) -> Iterator[Terminal]:
    new_terminal = Terminal(columns)
    try:
        yield new_terminal
    finally:
        new_terminal.close()
