"""Prints the output of the commands, without control characters.

On a terminal, lines are wrapped at its width and failures are in colour. Elsewhere lines are not
wrapped, and there are no colours.
"""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import IO

import click

from netlab.errors import StoreError
from netlab.screen import screen_of
from netlab.terminal import printable_lines


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


def loudness() -> Loudness:
    """How much this command prints."""
    return _chosen[0]


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
    if loudness() is not Loudness.QUIET:
        show(sentence, err=True)


def show_question(sentence: str) -> None:
    """Print a text that belongs to a question to the user, on standard error, even if quiet."""
    show(sentence, err=True)


def chosen_line(heading: str, lines: Sequence[str], question: str) -> int:
    """Let the user pick one of several lines; return its index, from 0. Default: the first."""
    show_question(heading)
    for number, line in enumerate(lines, 1):
        show_question(f"  {number}  {line}")
    numbers = click.IntRange(1, len(lines))
    choice: int = click.prompt(question, type=numbers, default=1, err=True)
    return choice - 1


def show_usage(error: click.ClickException) -> None:
    """Print click's error about a command line, which may contain any text."""
    buffer = io.StringIO()
    error.show(file=buffer)
    show(buffer.getvalue().rstrip("\n"), err=True)


def write_bytes(data: bytes) -> None:
    """Write data for programs to standard output; only on a terminal, remove control characters."""
    if sys.stdout.isatty():
        data = printable_lines(data.decode("utf-8", "replace")).encode()
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def write_output(path: Path | None, data: bytes) -> None:
    """Write the file of ``--output``: a file, a pipe or a device; ``-`` or ``None`` is standard
    output. StoreError if it cannot be written.
    """
    if path is None or path == Path("-"):
        write_bytes(data)
        return
    with output_file(path) as file:
        file.write(data)


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
