"""Finds whether a stream writes to a terminal, and the width and colours of this terminal.

The variable ``COLUMNS`` overrides the width of a terminal, as for other programs. There are no
colours if ``NO_COLOR`` is set (https://no-color.org) or ``TERM`` is ``dumb``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TextIO

from netlab.terminal import fitted, with_colours


@dataclass(frozen=True, slots=True)
class Screen:
    """The place where a stream's text is shown."""

    width: int | None
    """In columns. ``None`` if the stream is not a terminal or its width is unknown: then lines are
    not wrapped."""
    colours: bool

    def fitted(self, text: str) -> str:
        """A text wrapped and coloured for this screen."""
        narrow = fitted(text, self.width)
        return with_colours(narrow) if self.colours else narrow


def screen_of(stream: TextIO | None) -> Screen:
    """The screen of a stream, found again in each call: a window may have become narrower."""
    terminal = is_terminal(stream)
    colours = terminal and not os.environ.get("NO_COLOR") and draws(stream)
    text = os.environ.get("COLUMNS", "")
    columns = int(text) if text.isascii() and text.isdecimal() else 0
    return Screen((columns or _columns(stream)) if terminal else None, colours)


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream writes to a terminal; False for a closed stream."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def draws(stream: TextIO | None) -> bool:
    """Whether a progress bar can be drawn: the stream is a terminal that can rewrite a line."""
    return is_terminal(stream) and os.environ.get("TERM", "") not in ("dumb", "unknown")


def _columns(stream: TextIO | None) -> int | None:
    try:
        return os.get_terminal_size(stream.fileno()).columns or None if stream else None
    except (OSError, ValueError):
        return None
