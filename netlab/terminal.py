"""Harmless texts: no control characters on a terminal, lines wrapped, no formulas in a spreadsheet.

All that netlab prints for people passes these functions, and each text from a host that it stores:
an escape sequence could type in the user's place, a line end imitate a line of netlab, a direction
mark reverse text (Unicode TR 36, section 3.4).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

EXCERPT_CHARACTERS = 80
"""Maximum length of a quotation in netlab's sentences."""

_UNPRINTABLE = frozenset({"Cc", "Cf", "Zl", "Zp", "Cs"})


def printable(text: str, keep: str = "") -> str:
    """Replace control and format characters, except those in ``keep``, by spaces."""
    if text.isprintable():
        return text
    return "".join(
        " " if unicodedata.category(letter) in _UNPRINTABLE and letter not in keep else letter
        for letter in text
    )


def printable_lines(text: str) -> str:
    """``printable`` for a text of several lines: line ends and tabs stay."""
    return printable(text, keep="\n\t")


def excerpt(text: str, most: int = EXCERPT_CHARACTERS) -> str:
    """The beginning of a text from elsewhere, on one line of at most ``most`` characters."""
    return printable(text if len(text) <= most else text[: most - 1] + "…")


LEAST_COLUMNS = 20
"""In a narrower terminal lines are not wrapped: the result would be unreadable."""
BETWEEN = "  "
_HANG = "  "
_TROUBLE = re.compile(
    r"^netlab:|(?<=: )failed(?=:)"
    r"|\b(?:[1-9][0-9,]* (?:failed|not met)|not fit)\b|(?<=^  )not met\b"
    r"|^(warning|  !)",
)
_RED, _YELLOW, _PLAIN = "\x1b[31m", "\x1b[33m", "\x1b[0m"


def columns_of(text: str) -> int:
    """Columns of a terminal that a line takes: 2 for a wide letter, 0 for a combining mark."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(letter) else 1 + (unicodedata.east_asian_width(letter) in "WF")
        for letter in text
    )


def fitted(text: str, width: int | None) -> str:
    """Lines of at most ``width`` columns, cut between words; the rest of a line is indented. A
    longer word, such as a path, stays whole so that it can be copied. Unchanged if ``width`` is
    ``None`` or below ``LEAST_COLUMNS``.
    """
    if width is None or width < LEAST_COLUMNS:
        return text
    return "\n".join(part for line in text.split("\n") for part in _cut(line, width))


def table_lines(
    rows: Sequence[Sequence[str]], width: int | None = None, *, right: bool = False
) -> list[str]:
    """Lines of a table. Columns are aligned to the left; if ``right`` is true, all columns except
    the first are aligned to the right.

    If the table is wider than ``width``, it is split into blocks that each begin with the first
    column; the texts of a column are wrapped only if the column still does not fit. If ``width`` is
    ``None``, the table is one block.
    """
    widths = [max(columns_of(row[index]) for row in rows) for index in range(len(rows[0]))]
    if width is None or width < LEAST_COLUMNS or _sum(widths) <= width:
        return _block(rows, widths, range(len(widths)), right=right)
    wrapped = {index for index, wide in enumerate(widths) if index and wide > width - widths[0] - 2}
    if wrapped:
        widths[0] = min(widths[0], max(width // 3, LEAST_COLUMNS // 2))
        widths[1:] = [min(wide, width - widths[0] - len(BETWEEN)) for wide in widths[1:]]
    widths[0] = min(widths[0], width)
    blocks: list[list[int]] = [[0]]
    for index in range(1, len(widths)):
        if _sum([widths[column] for column in (*blocks[-1], index)]) > width and blocks[-1] != [0]:
            blocks.append([0])
        blocks[-1].append(index)
    lines: list[str] = []
    for block in blocks:
        lines += [""] if lines else []
        lines += _block(rows, widths, block, right=right)
    return lines


def with_colours(text: str) -> str:
    """The text with failures in red and warnings in yellow."""

    def coloured(match: re.Match[str]) -> str:
        return f"{_YELLOW if match[1] else _RED}{match[0]}{_PLAIN}"

    return "\n".join(_TROUBLE.sub(coloured, line) for line in text.split("\n"))


def _sum(widths: Sequence[int]) -> int:
    return sum(widths) + len(BETWEEN) * (len(widths) - 1)


def _block(
    rows: Sequence[Sequence[str]], widths: Sequence[int], columns: Iterable[int], *, right: bool
) -> list[str]:
    """Some columns of all rows; cells that are too wide take several lines."""
    order = [*columns]
    lines = []
    for row in rows:
        cells = [_cell(row[index], widths[index]) for index in order]
        for level in range(max(map(len, cells))):
            parts = []
            for index, cell in zip(order, cells, strict=True):
                part = cell[level] if level < len(cell) else ""
                blank = " " * (widths[index] - columns_of(part))
                to_right = right and index > 0 and len(cell) == 1
                parts.append(blank + part if to_right else part + blank)
            lines.append(BETWEEN.join(parts).rstrip())
    return lines


def _cell(text: str, width: int) -> list[str]:
    if columns_of(text) <= width:
        return [text]
    return [part for line in _cut(text, width, hang="") for part in _pieces(line, width)]


def _pieces(text: str, width: int) -> Iterator[str]:
    """A word in pieces of at most ``width`` columns, cut at any letter."""
    piece = ""
    for letter in text:
        if columns_of(piece + letter) > width:
            yield piece
            piece = ""
        piece += letter
    yield piece


def _cut(line: str, width: int, hang: str = _HANG) -> Iterator[str]:
    if columns_of(line) <= width:
        yield line
        return
    bare = line.lstrip(" ")
    now = indent = line[: len(line) - len(bare)][: width // 2]
    for word in bare.split(" "):
        has_word = bool(now.strip(" "))
        if has_word and columns_of(f"{now} {word}") > width:
            yield now.rstrip()
            now, has_word = indent + hang, False
        now += f" {word}" if has_word else word
    yield now.rstrip()


_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def harmless(text: str) -> str:
    """A text with an apostrophe before it if a spreadsheet read it as a formula (OWASP, CSV
    injection).
    """
    return "'" + text if text.startswith(_FORMULA_STARTS) else text
