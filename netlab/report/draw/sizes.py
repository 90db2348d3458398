"""Formats of pictures: for each of two widths, the margins, type sizes and line widths. No I/O."""

from __future__ import annotations

from dataclasses import dataclass

_CM_AN_INCH = 2.54
_POINTS_AN_INCH = 72
_ABREAST_FROM_INCHES = 5.0
"""In a picture narrower than this, up to ``_STACKED`` panels are one below the other."""
_STACKED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """The sizes in pictures of one width: lengths in inches, type sizes in points.

    The sizes are those of a picture that is shown unscaled.
    """

    width_inches: float
    left_inches: float
    right_inches: float
    bottom_inches: float
    """Height below the axes: ticks, their labels and the axis's name."""
    axes_high_inches: float
    panel_high_inches: float
    """Height of the axes of each panel, if there are several."""
    share_high_inches: float
    """Height of axes with shares of the wire ceiling (the highest payload rate of the link)."""
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

    @property
    def title_line_inches(self) -> float:
        """Height of one line of a title."""
        return 1.25 * self.title_pt / _POINTS_AN_INCH

    def top_inches(self, title: str) -> float:
        """Height of a title above the axes."""
        return 0.2 + (title.count("\n") + 1) * self.title_line_inches

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
