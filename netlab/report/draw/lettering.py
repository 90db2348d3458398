"""Lettering: the width of words in the pictures' font, and words broken into lines that fit."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.ft2font import FT2Font

FAMILY = "DejaVu Sans"
"""The font that matplotlib contains, so that pictures do not depend on the installed fonts."""

_POINTS_AN_INCH = 72
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")
_SUBPIXELS = 64
_MEASURED_PT = 100.0
"""Size at which letters are measured: so large that rounding does not matter."""
_SLACK = 1.03
"""Reserve in the width: small letters are moved to whole pixels when they are drawn."""
_BREAKS = re.compile(r"(?<=[\s\-_/,.:])")
"""A line may end after these characters."""


def flat(words: str) -> str:
    """The text on one line, without line ends and control characters, which hosts may send."""
    return _BLANKS.sub(" ", words)


def width_inches(words: str, size_pt: float) -> float:
    """The width of the widest line of a text, with a small reserve."""
    widest = max(_width_em(flat(line)) for line in words.split("\n"))
    return _SLACK * widest * size_pt / _POINTS_AN_INCH


def lines_of(words: str, size_pt: float, room_inches: float) -> str:
    """A text in as many lines as it needs; nothing is left out, even if the room is narrow."""
    lines = [""]
    for piece in filter(None, _BREAKS.split(flat(words))):
        if width_inches((lines[-1] + piece).rstrip(), size_pt) <= room_inches:
            lines[-1] += piece
            continue
        if lines[-1]:
            lines.append("")
        for letter in piece:
            if lines[-1] and width_inches(lines[-1] + letter, size_pt) > room_inches:
                lines.append("")
            lines[-1] += letter
    return "\n".join(line.strip() for line in lines)


@lru_cache(maxsize=8192)
def _width_em(words: str) -> float:
    font = _font()
    font.set_size(_MEASURED_PT, _POINTS_AN_INCH)
    font.set_text(words)
    return font.get_width_height()[0] / _SUBPIXELS / _MEASURED_PT


@cache
def _font() -> FT2Font:
    from matplotlib.font_manager import findfont
    from matplotlib.ft2font import FT2Font

    return FT2Font(findfont(FAMILY))
