"""Prints the output of the commands, without control characters; a failed write is reported once.

On a terminal, lines are wrapped at its width and failures are in colour. Writing may fail at any
moment (a full disk, a reader that has exited, a terminal that was hung up): that never ends a run,
but becomes one line and an exit code at the end.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import select
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from netlab.errors import StoreError
from netlab.screen import screen_of
from netlab.terminal import printable_lines

if TYPE_CHECKING:
    from typing import TextIO

    from _typeshed import ReadableBuffer


class Loudness(IntEnum):
    """How much a command prints besides its result."""

    QUIET = 0
    NORMAL = 1
    VERBOSE = 2


class _ToStandardError(logging.Handler):
    """Prints log records about hosts (``--verbose``)."""

    def emit(self, record: logging.LogRecord) -> None:
        show(record.getMessage(), err=True)


_LOG = logging.getLogger("netlab")
_LOG.propagate = False
_HANDLER = _ToStandardError()
_chosen = [Loudness.NORMAL]
"""The loudness of this process, which runs one command in several threads."""


def is_quiet() -> bool:
    """Whether this command prints only its result (``--quiet``)."""
    return _chosen[0] is Loudness.QUIET


def is_verbose() -> bool:
    """Whether this command prints each request to a host (``--verbose``)."""
    return _chosen[0] is Loudness.VERBOSE


def set_loudness(level: Loudness) -> None:
    """Set how much this command prints from now on."""
    _chosen[0] = level
    _LOG.setLevel(logging.DEBUG if level is Loudness.VERBOSE else logging.WARNING)
    _LOG.removeHandler(_HANDLER)
    if level is Loudness.VERBOSE:
        _LOG.addHandler(_HANDLER)


def width() -> int | None:
    """Maximum width of tables on standard output in columns; ``None``: no limit."""
    return screen_of(sys.stdout).width


def show(text: str | Path, *, err: bool = False) -> None:
    """Print a text of one or more lines, on standard output or (``err``) on standard error."""
    output = screen_of(sys.stderr if err else sys.stdout).fitted(printable_lines(str(text)))
    # screen_of has decided about colours, so click must not strip them.
    click.echo(output, err=err, color=True)


def show_data(text: str) -> None:
    """Print a text for programs or for copying: its lines are not wrapped."""
    click.echo(printable_lines(text))


def notify(sentence: str) -> None:
    """Print a progress message on standard error, unless quiet. Safe in several threads."""
    if not is_quiet():
        show(sentence, err=True)


def chosen_line(heading: str, lines: Sequence[str]) -> int:
    """Let the user pick one of several lines; return its index, from 0. Default: the first."""
    show(heading, err=True)
    for number, line in enumerate(lines, 1):
        show(f"  {number}  {line}", err=True)
    choice: int = click.prompt("Use", type=click.IntRange(1, len(lines)), default=1, err=True)
    return choice - 1


def show_usage(error: click.ClickException) -> None:
    """Print click's error about a command line, which may contain any text."""
    if isinstance(error, click.NoSuchOption) and error.ctx and (hint := _meant(error)):
        error = click.UsageError(f"No such option '{error.option_name}'{hint}", error.ctx)
    buffer = io.StringIO()
    error.show(file=buffer)
    show(buffer.getvalue().rstrip("\n"), err=True)


def _meant(error: click.NoSuchOption) -> str:
    """What the command has for an option of another tool, or for a key of a matrix."""
    from netlab.config.document import meanings
    from netlab.config.settings import FIELD_OF
    from netlab.runner.two_hosts import OPTIONS

    parameters = error.ctx.command.params if error.ctx else []
    known = {name for parameter in parameters for name in parameter.opts}
    for key in meanings(error.option_name.lstrip("-").replace("-", "_")):
        if key == "protocol" and "--udp" in known:
            return ": TCP is the default, --udp is UDP; no SCTP, MPTCP or QUIC"
        if OPTIONS.get(key) in known:
            return f"; did you mean {OPTIONS[key]}?"
        if key in FIELD_OF and "--set" in known:
            return f"; did you mean --set {key}=…?"
    return ""


def write_output(path: Path | None, data: bytes) -> None:
    """Write the file of ``--output``: a file, a pipe or a device; ``-`` or ``None`` is standard
    output (without control characters on a terminal). StoreError if it cannot be written.
    """
    if path is not None and path != Path("-"):
        with output_file(path) as file:
            file.write(data)
        return
    if sys.stdout.isatty():
        data = printable_lines(data.decode("utf-8", "replace")).encode()
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


@contextmanager
def output_file(path: Path) -> Iterator[IO[bytes]]:
    """Open the file of ``--output`` to write it. StoreError if it cannot be written."""
    try:
        with path.open("wb") as file:
            yield file
    except FileNotFoundError:
        raise StoreError(f"--output {path}: the folder {path.parent} does not exist") from None
    except OSError as error:
        raise StoreError(f"--output {path}: {error.strerror}; name another file") from None


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
    are escaped. A Windows console, which would decode bytes by its own code page, keeps its own
    streams.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError as error:
            os.open(os.devnull, os.O_RDWR)
            if number == _OUTPUT.fileno():
                _OUTPUT.missing = error
    for name, raw in (("stdout", _OUTPUT), ("stderr", _Output(2))):
        stream: TextIO | None = getattr(sys, name)
        is_console = os.name == "nt" and stream is not None and stream.isatty()
        if stream not in (None, getattr(sys, f"__{name}__")) or is_console:
            continue
        encoding = "utf-8" if stream is None else stream.encoding
        by_lines = raw is not _OUTPUT or raw.isatty()
        writer = io.BufferedWriter(raw)
        guarded = io.TextIOWrapper(writer, encoding, "backslashreplace", line_buffering=by_lines)
        setattr(sys, name, guarded)


def has_output() -> bool:
    """Whether standard output was open at the start; if not, only requested data is written."""
    return _OUTPUT.missing is None


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
