"""The palette: colours, dashes, markers and hatches of all pictures.

``page/page.css`` has the same colours for light backgrounds as ``--look-0`` to ``--look-5`` and
``.heat-0`` to ``.heat-7``, and other colours for dark backgrounds.
tests/report/first/test_colours.py reads both files. The test computes the distance between every
two colours, also as colour-blind readers see them, and the contrast with the background.
"""

from __future__ import annotations

from typing import TypeAlias

Dash: TypeAlias = str | tuple[float, tuple[float, ...]]
"""A dash pattern of matplotlib: a name, or (offset, lengths in widths of the line)."""

LOOKS = ("#4f65d8", "#df6500", "#00a47c", "#a42d74", "#07321f", "#5c4a08")
"""The hues of Okabe and Ito 2008 (Color Universal Design). They are darkened until each has a
contrast of 3 to 1 with white. Then they are changed until readers with any kind of colour vision
can distinguish them."""

HEAT = (
    "#fee838",
    "#dac65b",
    "#b4a76f",
    "#8b8778",
    "#6b6d72",
    "#4a536c",
    "#203a6f",
    "#00224e",
)
"""Colours from the smallest value to the largest: cividis in reverse (Nuñez, Anderton and Renslow
2018)."""

DASHES: tuple[Dash, ...] = (
    "-",
    (0, (5, 2)),
    (0, (1.4, 1.6)),
    (0, (7, 2, 1.4, 2)),
    (0, (3, 1.2)),
)
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
"""Colour of the places of a heat map that stand for pairs inside one machine, and of the bands
(shaded ranges) of a strip."""
