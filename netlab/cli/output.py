"""What commands print: the one way to the terminal, and texts without what a terminal obeys.

On a terminal lines are as long as it is wide, and what failed is in colour; anywhere else a text is
printed as it is.
"""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path

import click

from netlab.errors import StoreError
from netlab.screen import screen_of
from netlab.terminal import printable_lines


class Loudness(IntEnum):
    """How much a command says beside its result."""

    QUIET = 0
    NORMAL = 1
    VERBOSE = 2


class _ToStandardError(logging.Handler):
    """What rooms log about their hosts, for whoever asked for it."""

    def emit(self, record: logging.LogRecord) -> None:
        show(record.getMessage(), err=True)


_LOG = logging.getLogger("netlab")
_LOG.propagate = False
_HANDLER = _ToStandardError()
_chosen = [Loudness.NORMAL]
"""Of this process: one command runs in it, in several threads."""


def loudness() -> Loudness:
    """How much this command is to say."""
    return _chosen[0]


def set_loudness(wanted: Loudness) -> None:
    """From here on."""
    _chosen[0] = wanted
    _LOG.setLevel(logging.DEBUG if wanted is Loudness.VERBOSE else logging.WARNING)
    _LOG.removeHandler(_HANDLER)
    if wanted is Loudness.VERBOSE:
        _LOG.addHandler(_HANDLER)


def width() -> int | None:
    """Columns that tables on standard output may take; ``None``: as many as they need."""
    return screen_of(sys.stdout).width


def show(text: str | Path, *, err: bool = False) -> None:
    """Print a text of one or more lines, on standard output or (``err``) on standard error."""
    shown = screen_of(sys.stderr if err else sys.stdout).fitted(printable_lines(str(text)))
    # Colours, where there are any, are wanted there: nothing is left to strip.
    click.echo(shown, err=err, color=True)


def show_data(text: str) -> None:
    """Print what a program reads, or a person copies: with its own lines, however wide."""
    click.echo(printable_lines(text))


def tell(sentence: str) -> None:
    """Say what takes long, on standard error; may be called by several threads. Not if quiet."""
    if loudness() is not Loudness.QUIET:
        show(sentence, err=True)


def ask_aloud(sentence: str) -> None:
    """Say what a person is asked about, on standard error, however quiet the command is."""
    show(sentence, err=True)


def picked(heading: str, lines: Sequence[str], question: str) -> int:
    """Which of several lines a person at the terminal picks, from 0; the first without a word."""
    ask_aloud(heading)
    for number, line in enumerate(lines, 1):
        ask_aloud(f"  {number}  {line}")
    of = click.IntRange(1, len(lines))
    choice: int = click.prompt(question, type=of, default=1, err=True)
    return choice - 1


def show_usage(error: click.ClickException) -> None:
    """What click has to say about a command line, which may hold any text."""
    said = io.StringIO()
    error.show(file=said)
    show(said.getvalue().rstrip("\n"), err=True)


def write_bytes(data: bytes) -> None:
    """Write to standard output what programs read, byte by byte; a terminal gets it cleaned."""
    if sys.stdout.isatty():
        data = printable_lines(data.decode("utf-8", "replace")).encode()
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def write_output(path: Path | None, data: bytes) -> None:
    """Write the file of ``--output``, be it a pipe, a device, or ``-`` for standard output, as
    without one; StoreError where that cannot be.
    """
    if path is None or path == Path("-"):
        write_bytes(data)
        return
    try:
        path.write_bytes(data)
    except FileNotFoundError:
        raise StoreError(f"--output {path}: there is no folder {path.parent}; create it") from None
    except OSError as error:
        raise StoreError(f"--output {path}: {error.strerror}; name another file") from None
