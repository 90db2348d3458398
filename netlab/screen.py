"""What a stream writes to: how wide it is, and whether it shows colours; of no terminal neither.

``COLUMNS`` says the width of a terminal in its place, as it does for other programs. Colours are
for terminals alone, and for none where ``NO_COLOR`` is set (https://no-color.org) or ``TERM`` is
``dumb``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TextIO

from netlab.terminal import fitted, with_colours


@dataclass(frozen=True, slots=True)
class Screen:
    """Where a stream's text is seen."""

    width: int | None
    """In columns; ``None``: it is no terminal, and lines are as long as they are."""
    colours: bool

    def fitted(self, text: str) -> str:
        """A text as it is shown there."""
        narrow = fitted(text, self.width)
        return with_colours(narrow) if self.colours else narrow


def screen_of(stream: TextIO | None) -> Screen:
    """Of a stream as it is now: a window may have become narrower."""
    terminal = is_terminal(stream)
    colours = terminal and not os.environ.get("NO_COLOR") and draws(stream)
    return Screen((_columns_said() or _columns(stream)) if terminal else None, colours)


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person reads it; one that is closed is none."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def draws(stream: TextIO | None) -> bool:
    """Whether a bar can be drawn there: a terminal that takes a line back."""
    return is_terminal(stream) and os.environ.get("TERM", "") not in ("dumb", "unknown")


def _columns_said() -> int | None:
    said = os.environ.get("COLUMNS", "")
    return int(said) or None if said.isascii() and said.isdecimal() else None


def _columns(stream: TextIO | None) -> int | None:
    """As the terminal says; ``None`` where it does not."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or None if stream else None
    except (OSError, ValueError):
        return None
