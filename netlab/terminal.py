"""Texts for a terminal: what a host, a file or a person wrote, without what a terminal obeys. Pure.

Everything that netlab prints for people goes through here, and so does what it keeps of a host's
own words: an escape sequence moves the cursor, sets a title, answers in the user's place; a line
end forges a line of ours; a mark of direction turns one around (Unicode TR 36, section 3.4).
"""

from __future__ import annotations

import unicodedata

EXCERPT_CHARACTERS = 80
"""Of what somebody else wrote a sentence of ours quotes so much."""

_UNPRINTABLE = frozenset({"Cc", "Cf", "Zl", "Zp", "Cs"})


def printable(text: str, keep: str = "") -> str:
    """Without line ends, terminal escapes and other control or format characters, save ``keep``."""
    if text.isprintable():
        return text
    return "".join(
        " " if unicodedata.category(each) in _UNPRINTABLE and each not in keep else each
        for each in text
    )


def printable_lines(text: str) -> str:
    """A text of several lines, with its line ends and tabs."""
    return printable(text, keep="\n\t")


def excerpt(text: str, most: int = EXCERPT_CHARACTERS) -> str:
    """The beginning of what somebody else wrote, on one line."""
    return printable(text if len(text) <= most else text[: most - 1] + "…")
