"""The palette: how lines, bars and places of maps look in every picture. Plain values.

``page/page.css`` has the same colours for light grounds as ``--look-0`` to ``--look-5`` and
``.heat-0`` to ``.heat-7``, and those for dark ones. tests/report/first/test_colours.py reads both
and computes how far each is from the others for readers without one of the three kinds of cones,
and from the ground.
"""

from __future__ import annotations

from typing import TypeAlias

Dash: TypeAlias = str | tuple[float, tuple[float, ...]]
"""As matplotlib wants it: a name, or (offset, lengths in widths of the line)."""

LOOKS = ("#4f65d8", "#df6500", "#00a47c", "#a42d74", "#07321f", "#5c4a08")
"""The hues of Okabe and Ito 2008 (Color Universal Design), darkened until each stands out from
white at 3 to 1, then moved apart by the smallest distance that any reader sees."""

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
"""From least to most: cividis, turned over (Nuñez, Anderton and Renslow 2018)."""

DASHES: tuple[Dash, ...] = (
    "-",
    (0, (5, 2)),
    (0, (1.4, 1.6)),
    (0, (7, 2, 1.4, 2)),
    (0, (3, 1.2)),
)
MARKERS = ("o", "s", "^", "D", "v", "X", "P")
"""Numbers of colours, dashes and markers without a common factor: 210 lines that differ in all."""

HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "----", "++++")
"""Of bars; with six colours 42 that differ."""

CEILING_DASHES: tuple[Dash, ...] = ("-", (0, (3, 1.5)), (0, (1, 1.5)))

INK = "#1c2126"
QUIET = "#6b737b"
GRID = "#dde1e5"
PAPER = "#ffffff"
INSIDE = "#e3e3e0"
"""Of figures on a map that its scale does not cover."""
