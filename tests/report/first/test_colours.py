"""The map's colours: told apart by who sees all colours, and by who does not see one of three."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from folders import ROOT

SIGHTS = {
    "all colours": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "no red": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "no green": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "no blue": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
"""Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB."""
LEAST_APART = 8.0
"""CIE 1976 colour difference; 2.3 can just be seen."""


def linear(colour: str) -> list[float]:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]


def lab(colour: str, sight: tuple[tuple[float, ...], ...]) -> tuple[float, float, float]:
    seen = [sum(m * c for m, c in zip(row, linear(colour), strict=True)) for row in sight]
    r, g, b = (min(1.0, max(0.0, each)) for each in seen)
    whole = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
    )
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in whole)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("sight", SIGHTS)
def test_neighbours_on_the_map_s_scale_are_told_apart_and_darker_is_more(sight: str) -> None:
    style = (ROOT / "netlab" / "report" / "page" / "page.css").read_text("utf-8")
    colours = re.findall(r"\.heat-\d \{ fill: (#\w{6});", style)
    assert len(colours) == 8
    seen = [lab(colour, SIGHTS[sight]) for colour in colours]
    for one, other in pairwise(seen):
        apart = sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5
        assert apart >= LEAST_APART
        assert one[0] > other[0]
