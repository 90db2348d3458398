"""Standard output and standard error: a failed write becomes one line and an exit code at the end.

Writing may fail at any moment: a full disk, a reader that has exited, a terminal that was hung up.
Such a failure never ends a run, and it is always reported.
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
    """A descriptor that never raises: it keeps the first error and drops all later data."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.missing: OSError | None = None
        """The error if the descriptor was closed at the start; each write then fails with it."""
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
            except BlockingIOError:  # another process on the pipe may have set O_NONBLOCK
                select.select([], [self._descriptor], [])
            except OSError as error:
                self.refusal = error
        return memoryview(data).nbytes


_OUTPUT = _Output(1)


def guard_streams() -> None:
    """Replace both streams of the process, unless they have been replaced already.

    A closed descriptor is opened on the null device; otherwise the next file that is opened would
    get the descriptor's number and receive the output. Characters that the stream's encoding lacks
    are escaped. On a Windows console, Python's own streams are kept.
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
    """Whether a stream is a Windows console, which would decode bytes by its own code page."""
    return os.name == "nt" and stream is not None and stream.isatty()


def has_output() -> bool:
    """Whether standard output was open at the start; if not, only requested data is written."""
    return _OUTPUT.missing is None


def _stream(raw: _Output, original: TextIO | None, *, by_lines: bool) -> io.TextIOWrapper:
    encoding = "utf-8" if original is None else original.encoding
    writer = io.BufferedWriter(raw)
    return io.TextIOWrapper(writer, encoding, "backslashreplace", line_buffering=by_lines)


def settle_streams(code: int) -> int:
    """Flush both streams; return the exit code, which is not 0 if standard output failed."""
    for stream in (sys.stdout, sys.stderr):
        # The streams of this module never raise, but other code may have replaced them.
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    refusal = _OUTPUT.refusal
    if refusal is None:
        return code
    cause = (
        "the program that reads it has exited"
        if isinstance(refusal, BrokenPipeError)
        else f"cannot be written: {refusal.strerror}"
    )
    print(f"netlab: standard output: {cause}", file=sys.stderr)
    return code or 1
