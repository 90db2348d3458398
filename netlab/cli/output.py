"""What commands print: the one way to the terminal, and texts without what a terminal obeys."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import click

from netlab.terminal import printable_lines


def show(text: str | Path, *, err: bool = False) -> None:
    """Print a text of one or more lines, on standard output or (``err``) on standard error."""
    click.echo(printable_lines(str(text)), err=err)


def tell(sentence: str) -> None:
    """Say what takes long, on standard error; may be called by several threads."""
    show(sentence, err=True)


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
