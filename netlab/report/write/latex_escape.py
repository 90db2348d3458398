"""Text → LaTeX source that shows the text and executes nothing, in every TeX engine. No I/O."""

from __future__ import annotations

import re
import unicodedata

from netlab.terminal import printable

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "`": "{`}",
    # After the end of a row, LaTeX would read these characters as options of the row's end.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "’": "'",
    "‘": "`",
    "“": "``",
    "”": "''",
    "„": ",,",
    "–": "--",
    "—": "---",
    "…": r"\dots{}",
    "\u00a0": "~",
    "\u202f": r"\,",
    "µ": r"$\mu$",
    "μ": r"$\mu$",
    "φ": r"$\varphi$",
    "°": r"$^\circ$",
    "²": "$^2$",
    "³": "$^3$",
    "⁶": "$^6$",
    "⁹": "$^9$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "÷": r"$\div$",
    "·": r"$\cdot$",
    "−": "$-$",
    "→": r"$\rightarrow$",
    "←": r"$\leftarrow$",
    "↔": r"$\leftrightarrow$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≠": r"$\neq$",
    "≈": r"$\approx$",
    "∞": r"$\infty$",
    "√": r"$\surd$",
}

_LETTERS = frozenset("ÄÖÜäöüßÀÁÂÃÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕØÙÚÛÝàáâãåæçèéêëìíîïñòóôõøùúûýÿ")
"""Letters that every engine has, even with LaTeX's oldest fonts."""

_ACCENTS = {
    "\u0300": "`",
    "\u0301": "'",
    "\u0302": "^",
    "\u0303": "~",
    "\u0304": "=",
    "\u0306": "u",
    "\u0307": ".",
    "\u0308": '"',
    "\u030a": "r",
    "\u030b": "H",
    "\u030c": "v",
    "\u0327": "c",
}


_NOT_PLAIN = re.compile(r"[^A-Za-z0-9 ().:;/+=,-]|[-,](?=[-,])")


def latex_text(text: str) -> str:
    """LaTeX source that shows a text on one line; no part of the text is a command or a comment.

    A character that not every engine can set is replaced by its code: ``[U+4E2D]``.
    """
    if not _NOT_PLAIN.search(text):
        return text
    # Some pairs, such as two hyphens or a question mark before a quote, would become one sign.
    apart = re.sub(r"([-?!,'])(?=[-'`,])", "\\1\0", printable(text))
    return "".join(map(_character, apart))


def _character(character: str) -> str:
    if character == "\0":
        return "{}"
    if character in _SPECIAL:
        return _SPECIAL[character]
    if character.isascii() or character in _LETTERS:
        return character
    return _with_accent(character) or f"{_coded(character)}\\allowbreak{{}}"


def _coded(character: str) -> str:
    return f"{{[}}U+{ord(character):04X}{{]}}"


def shown_characters(text: str) -> int:
    """Number of visible characters of a text as ``latex_text`` writes it."""
    if text.isascii():
        return len(text)
    return sum(
        1
        if character.isascii()
        or character in _SPECIAL
        or character in _LETTERS
        or _with_accent(character)
        else 8
        for character in printable(text)
    )


def _with_accent(character: str) -> str | None:
    """A letter with its accent as a command, such as ``\\v{c}`` for ``č``.

    ``None`` if the character is not an ASCII letter with one known accent.
    """
    parts = unicodedata.normalize("NFD", character)
    if len(parts) == 2 and parts[0].isascii() and parts[1] in _ACCENTS:
        return f"\\{_ACCENTS[parts[1]]}{{{parts[0]}}}"
    return None
