"""The sizes, colours, dashes and letters of pictures."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from matplotlib.ft2font import FT2Font

FAMILY = "DejaVu Sans"
"""The font that matplotlib contains, so that pictures do not depend on the installed fonts."""

POINTS_AN_INCH = 72
LINE_EM = 1.25
"""Height of a line of text, as a multiple of its type size."""
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")
_SUBPIXELS = 64
_MEASURED_PT = 100.0  # so large that rounding does not matter
_SLACK = 1.03  # small letters are moved to whole pixels when they are drawn
_BREAKS = re.compile(r"(?<=[\s\-_/,.:])")
"""A line may end after these characters."""


Dash: TypeAlias = str | tuple[float, tuple[float, ...]]
"""A dash pattern of matplotlib: a name, or (offset, lengths in widths of the line)."""
LOOKS = ("#4f65d8", "#df6500", "#00a47c", "#a42d74", "#07321f", "#5c4a08")
"""The hues of Okabe and Ito 2008 (Color Universal Design). They are darkened until each has a
contrast of 3 to 1 with white. Then they are changed until readers with any kind of colour vision
can distinguish them."""
DASHES: tuple[Dash, ...] = ("-", (0, (5, 2)), (0, (1.4, 1.6)), (0, (7, 2, 1.4, 2)), (0, (3, 1.2)))
MARKERS = ("o", "s", "^", "D", "v", "X", "P")
"""The numbers of colours, dashes and markers have no common factor, so 210 lines look different."""
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "----", "++++")
"""Hatches of bars; with six colours, 42 bars look different."""
CEILING_DASHES: tuple[Dash, ...] = ("-", (0, (3, 1.5)), (0, (1, 1.5)))
INK = "#1c2126"
QUIET = "#6b737b"
GRID = "#dde1e5"
PAPER = "#ffffff"
INSIDE = "#e3e3e0"
"""Colour of a heat map's places inside one machine, and of the bands of a strip."""
_CM_AN_INCH = 2.54
_ABREAST_FROM_INCHES = 5.0
"""In a picture narrower than this, up to ``_STACKED`` panels are one below the other."""
_STACKED = 3


def flat(words: str) -> str:
    """The text on one line, without line ends and control characters, which hosts may send."""
    return _BLANKS.sub(" ", words)


def width_inches(words: str, size_pt: float) -> float:
    """The width of the widest line of a text, with a small reserve."""
    widest = max(_width_em(flat(line)) for line in words.split("\n"))
    return _SLACK * widest * size_pt / POINTS_AN_INCH


def line_inches(size_pt: float) -> float:
    """The height of a line of text."""
    return LINE_EM * size_pt / POINTS_AN_INCH


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
    font.set_size(_MEASURED_PT, POINTS_AN_INCH)
    font.set_text(words)
    return font.get_width_height()[0] / _SUBPIXELS / _MEASURED_PT


@cache
def _font() -> FT2Font:
    from matplotlib.font_manager import findfont
    from matplotlib.ft2font import FT2Font

    return FT2Font(findfont(FAMILY))


HEAT = ("#fee838", "#dac65b", "#b4a76f", "#8b8778", "#6b6d72", "#4a536c", "#203a6f", "#00224e")
"""From the smallest value to the largest: cividis in reverse (Nuñez and others, 2018)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """The sizes in unscaled pictures of one width: lengths in inches, type sizes in points."""

    width_inches: float
    left_inches: float
    right_inches: float
    bottom_inches: float
    """Height below the axes: ticks, their labels and the axis's name."""
    axes_high_inches: float
    panel_high_inches: float
    """Height of the axes of each panel, if there are several."""
    share_high_inches: float
    """Height of axes with shares of the wire ceiling."""
    title_pt: float
    text_pt: float
    legend_pt: float
    small_pt: float
    """Type size of the labels of ticks, if there are many ticks."""
    line_pt: float
    marker_pt: float
    map_right_inches: float
    """Width beside a heat map, for the scale of its colours."""
    map_name_inches: float
    """Maximum width of a host's name at the edge of a map; longer names are broken into lines."""
    map_figures: int
    """Maximum number of hosts on each axis of a map for which the map has figures."""

    @property
    def axes_wide_inches(self) -> float:
        """Width between the margins."""
        return self.width_inches - self.left_inches - self.right_inches

    def top_inches(self, title: str) -> float:
        """Height of a title above the axes."""
        return 0.2 + (title.count("\n") + 1) * line_inches(self.title_pt)

    def panels_abreast(self, panels: int) -> int:
        """Number of panels in a row."""
        if self.width_inches < _ABREAST_FROM_INCHES:
            return 1 if panels <= _STACKED else 2
        if panels <= _STACKED:
            return panels
        # Four panels are a square; more panels fill their rows as evenly as possible.
        return 2 if panels == 4 else min((3, 4), key=lambda abreast: -panels % abreast)


PAGE_WIDE = Format(
    width_inches=17 / _CM_AN_INCH,
    left_inches=0.68,
    right_inches=0.15,
    bottom_inches=0.52,
    axes_high_inches=2.45,
    panel_high_inches=1.45,
    share_high_inches=1.35,
    title_pt=10.5,
    text_pt=9.0,
    legend_pt=8.5,
    small_pt=7.5,
    line_pt=1.4,
    marker_pt=4.6,
    map_right_inches=0.95,
    map_name_inches=1.75,
    map_figures=10,
)
"""The width of the text of an A4 page: 17 cm."""

COLUMN_WIDE = Format(
    width_inches=8.5 / _CM_AN_INCH,
    left_inches=0.55,
    right_inches=0.1,
    bottom_inches=0.46,
    axes_high_inches=1.7,
    panel_high_inches=1.05,
    share_high_inches=1.1,
    title_pt=8.5,
    text_pt=8.0,
    legend_pt=7.5,
    small_pt=7.0,
    line_pt=1.1,
    marker_pt=3.6,
    map_right_inches=0.62,
    map_name_inches=0.95,
    map_figures=6,
)
"""The width of one column of an A4 page with two columns: 8.5 cm."""
