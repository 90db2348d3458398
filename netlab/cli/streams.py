"""Standard output and standard error: a refusal of theirs is one line and an exit code at the end.

What is written to them may end at any moment: a full disk, a reader that has gone, a terminal that
was hung up. None of it ends a run, and none of it is passed over in silence.
"""

from __future__ import annotations

import contextlib
import io
import os
import select
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

    from _typeshed import ReadableBuffer


class _Output(io.RawIOBase):
    """A descriptor that takes what it can; the first refusal is kept, what follows is dropped."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.missing: OSError | None = None
        """Of a descriptor that was closed from the start; no matter until something is written."""
        self.refusal: OSError | None = None

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return os.isatty(self._descriptor)

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        self.refusal = self.refusal or self.missing
        while self.refusal is None:
            try:
                return os.write(self._descriptor, data)
            except BlockingIOError:  # whoever shares the pipe may have made it so
                select.select([], [self._descriptor], [])
            except OSError as error:
                self.refusal = error
        return memoryview(data).nbytes


_OUTPUT = _Output(1)


def guard_streams() -> None:
    """Take over both streams of the process, unless somebody else has.

    A closed one is opened, on nothing: else the next file would take its number, and be written
    into. Text that the stream's encoding lacks is escaped. A console of Windows stays Python's.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError as error:
            os.open(os.devnull, os.O_RDWR)
            if number == _OUTPUT.fileno():
                _OUTPUT.missing = error
    if (sys.stdout is None or sys.stdout is sys.__stdout__) and not _is_console(sys.stdout):
        sys.stdout = _stream(_OUTPUT, sys.stdout, by_lines=_OUTPUT.isatty())
    if (sys.stderr is None or sys.stderr is sys.__stderr__) and not _is_console(sys.stderr):
        sys.stderr = _stream(_Output(2), sys.stderr, by_lines=True)


def _is_console(stream: TextIO | None) -> bool:
    """Whether it is one of Windows, which takes text: bytes it would read in its own code page."""
    return os.name == "nt" and stream is not None and stream.isatty()


def has_output() -> bool:
    """Whether standard output was open from the start: what nobody asked for is not said to it."""
    return _OUTPUT.missing is None


def _stream(raw: _Output, before: TextIO | None, *, by_lines: bool) -> io.TextIOWrapper:
    encoding = "utf-8" if before is None else before.encoding
    writer = io.BufferedWriter(raw)
    return io.TextIOWrapper(writer, encoding, "backslashreplace", line_buffering=by_lines)


def settle_streams(code: int) -> int:
    """Write what is left; the exit code, which is not 0 where standard output refused some."""
    for stream in (sys.stdout, sys.stderr):
        # Of a stream that was taken over none: of somebody else's any.
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    refusal = _OUTPUT.refusal
    if refusal is None:
        return code
    what = (
        "whoever read it has gone"
        if isinstance(refusal, BrokenPipeError)
        else f"cannot be written: {refusal.strerror}"
    )
    print(f"netlab: standard output: {what}", file=sys.stderr)
    return code or 1
