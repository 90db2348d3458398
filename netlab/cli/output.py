"""What commands print: the one way to the terminal, and texts without what a terminal obeys."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from netlab.errors import StoreError
from netlab.terminal import printable_lines


def show(text: str | Path, *, err: bool = False) -> None:
    """Print a text of one or more lines, on standard output or (``err``) on standard error."""
    click.echo(printable_lines(str(text)), err=err)


def tell(sentence: str) -> None:
    """Say what takes long, on standard error; may be called by several threads."""
    show(sentence, err=True)


def picked(heading: str, lines: Sequence[str], question: str) -> int:
    """Which of several lines a person at the terminal picks, from 0; the first without a word."""
    tell(heading)
    for number, line in enumerate(lines, 1):
        tell(f"  {number}  {line}")
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


def write_output(path: Path, data: bytes) -> None:
    """Write the file of ``--output``, be it a pipe, a device, or ``-`` for standard output;
    StoreError where that cannot be.
    """
    if path == Path("-"):
        write_bytes(data)
        return
    try:
        path.write_bytes(data)
    except FileNotFoundError:
        raise StoreError(f"--output {path}: there is no folder {path.parent}; create it") from None
    except OSError as error:
        raise StoreError(f"--output {path}: {error.strerror}; name another file") from None
