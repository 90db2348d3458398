"""Formats: how wide a picture is, and with it its margins, its type and its lines. Pure."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

_CM_AN_INCH = 2.54
_POINTS_AN_INCH = 72
_CHARACTER_EM = 0.62
"""Mean width of a character of DejaVu Sans, with a little to spare."""
_HANDLE_CHARACTERS = 8
"""What a legend's handle takes of the room for text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One width of pictures, shown in their own size. Lengths in inches, type in points."""

    width_inches: float
    left_inches: float
    right_inches: float
    bottom_inches: float
    """Below the axes, where the legend takes one line."""
    axes_high_inches: float
    title_pt: float
    text_pt: float
    legend_pt: float
    small_pt: float
    """Of ticks, where there are many."""
    line_pt: float
    marker_pt: float
    map_left_inches: float
    map_right_inches: float
    map_bottom_inches: float
    map_names: int
    """Characters of a host's name at the edge of a map."""
    map_figures: int
    """Of more hosts a side the figures do not fit into their places."""

    @property
    def axes_wide_inches(self) -> float:
        """Between the margins."""
        return self.width_inches - self.left_inches - self.right_inches

    @property
    def legend_line_inches(self) -> float:
        """Each further line of a legend."""
        return 1.6 * self.legend_pt / _POINTS_AN_INCH

    @property
    def title_line_inches(self) -> float:
        """Each further line of a title."""
        return 1.25 * self.title_pt / _POINTS_AN_INCH

    def axes(
        self, bottom: float, axes_high: float, high: float
    ) -> tuple[float, float, float, float]:
        """Left, bottom, width, height of axes as shares of a picture that is ``high`` inches."""
        wide = self.width_inches
        return (
            self.left_inches / wide,
            bottom / high,
            self.axes_wide_inches / wide,
            axes_high / high,
        )

    def title(self, text: str) -> str:
        """A title in lines that fit beside the left margin."""
        room = self.characters(self.width_inches - self.left_inches, self.title_pt)
        return textwrap.fill(text, room, break_long_words=True)

    def top_inches(self, title: str) -> float:
        """What a title takes above the axes."""
        return 0.2 + (title.count("\n") + 1) * self.title_line_inches

    def legend_shape(self, labels: list[str]) -> tuple[int, int]:
        """(columns, rows) of a legend that is no wider than its picture."""
        room = self.characters(self.width_inches, self.legend_pt)
        wide = max(map(len, labels), default=0) + _HANDLE_CHARACTERS
        columns = max(1, min(len(labels), room // wide))
        # Labels of unequal length share a line where all of them fit.
        if sum(map(len, labels)) + _HANDLE_CHARACTERS * len(labels) <= room:
            columns = len(labels)
        return columns, -(-len(labels) // columns) if labels else 0

    def characters(self, inches: float, size_pt: float) -> int:
        """How many characters of a size fit."""
        return int(inches / self.inches_of(1, size_pt))

    def inches_of(self, characters: float, size_pt: float) -> float:
        """How wide so many characters of a size are."""
        return characters * _CHARACTER_EM * size_pt / _POINTS_AN_INCH


PAGE_WIDE = Format(
    width_inches=17 / _CM_AN_INCH,
    left_inches=0.68,
    right_inches=0.15,
    bottom_inches=0.92,
    axes_high_inches=2.45,
    title_pt=10.5,
    text_pt=9.0,
    legend_pt=8.5,
    small_pt=7.5,
    line_pt=1.4,
    marker_pt=4.6,
    map_left_inches=1.75,
    map_right_inches=0.95,
    map_bottom_inches=1.55,
    map_names=24,
    map_figures=10,
)
"""As wide as the text of an A4 page: 17 cm."""

COLUMN_WIDE = Format(
    width_inches=8.5 / _CM_AN_INCH,
    left_inches=0.55,
    right_inches=0.1,
    bottom_inches=0.78,
    axes_high_inches=1.7,
    title_pt=8.5,
    text_pt=8.0,
    legend_pt=7.5,
    small_pt=7.0,
    line_pt=1.1,
    marker_pt=3.6,
    map_left_inches=1.1,
    map_right_inches=0.62,
    map_bottom_inches=1.1,
    map_names=14,
    map_figures=6,
)
"""As wide as one of the two columns of such a page: 8.5 cm."""
