"""Texts for a terminal: without what a terminal obeys, and no wider than it is. Pure.

Everything that netlab prints for people goes through here, and so does what it keeps of a host's
own words: an escape sequence moves the cursor, sets a title, answers in the user's place; a line
end forges a line of ours; a mark of direction turns one around (Unicode TR 36, section 3.4).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

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


LEAST_COLUMNS = 20
"""A terminal that is narrower gets lines as they are: nothing could be read there otherwise."""
BETWEEN = "  "
"""What stands between two columns."""
_HANG = "  "
_TROUBLE = re.compile(
    r"^netlab:|(?<=: )failed(?=:)"
    r"|\b(?:[1-9][0-9,]* (?:failed|not met)|not fit)\b|(?<=^  )not met\b"
    r"|^(warning|  !)",
)
_RED, _YELLOW, _PLAIN = "\x1b[31m", "\x1b[33m", "\x1b[0m"


def columns_of(text: str) -> int:
    """How many columns of a terminal a line takes: wide letters two, marks upon a letter none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(each) else 1 + (unicodedata.east_asian_width(each) in "WF")
        for each in text
    )


def fitted(text: str, width: int | None) -> str:
    """A text whose lines take ``width`` columns at most, cut between words; the rest of a line is
    indented below it. A word that is longer by itself, such as a path, stays whole: it can then be
    copied. ``None``: as it is.
    """
    if width is None or width < LEAST_COLUMNS:
        return text
    return "\n".join(part for line in text.split("\n") for part in _cut(line, width))


def table_lines(
    rows: Sequence[Sequence[str]], width: int | None = None, *, right: bool = False
) -> list[str]:
    """Rows of a table, columns aligned: the first to the left, the others too or to the ``right``.

    Where ``width`` columns do not hold it, it becomes several blocks with the first column before
    each; only what does not fit even so is wrapped within its cells. ``None``: one block.
    """
    widths = [max(columns_of(row[index]) for row in rows) for index in range(len(rows[0]))]
    if width is None or width < LEAST_COLUMNS or _sum(widths) <= width:
        return _block(rows, widths, range(len(widths)), right=right)
    wrapped = {index for index, wide in enumerate(widths) if index and wide > width - widths[0] - 2}
    if wrapped:
        widths[0] = min(widths[0], max(width // 3, LEAST_COLUMNS // 2))
        widths[1:] = [min(each, width - widths[0] - len(BETWEEN)) for each in widths[1:]]
    widths[0] = min(widths[0], width)
    blocks: list[list[int]] = [[0]]
    for index in range(1, len(widths)):
        if _sum([widths[each] for each in (*blocks[-1], index)]) > width and blocks[-1] != [0]:
            blocks.append([0])
        blocks[-1].append(index)
    lines: list[str] = []
    for block in blocks:
        lines += [""] if lines else []
        lines += _block(rows, widths, block, right=right)
    return lines


def with_colours(text: str) -> str:
    """The same with what failed in red, and what is warned of in yellow."""
    return "\n".join(_TROUBLE.sub(_coloured, line) for line in text.split("\n"))


def _coloured(found: re.Match[str]) -> str:
    return f"{_YELLOW if found[1] else _RED}{found[0]}{_PLAIN}"


def _sum(widths: Sequence[int]) -> int:
    return sum(widths) + len(BETWEEN) * (len(widths) - 1)


def _block(
    rows: Sequence[Sequence[str]], widths: Sequence[int], chosen: Iterable[int], *, right: bool
) -> list[str]:
    """Some columns of all rows; cells that are too long take several lines."""
    order = [*chosen]
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
    """A word that is too long, cut anywhere."""
    piece = ""
    for each in text:
        if columns_of(piece + each) > width:
            yield piece
            piece = ""
        piece += each
    yield piece


def _cut(line: str, width: int, hang: str = _HANG) -> Iterator[str]:
    if columns_of(line) <= width:
        yield line
        return
    bare = line.lstrip(" ")
    indent = line[: len(line) - len(bare)]
    indent = indent[: width // 2]
    now = indent
    for word in bare.split(" "):
        begun = bool(now.strip(" "))
        if begun and columns_of(f"{now} {word}") > width:
            yield now.rstrip()
            now, begun = indent + hang, False
        now += f" {word}" if begun else word
    yield now.rstrip()
