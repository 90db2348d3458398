"""The palette: its colours can be distinguished with normal sight and with colour blindness.

The colours are read from their sources: in the style sheet of the page, and in what draws pictures.
"""

from __future__ import annotations

import math
import re
from itertools import combinations, pairwise
from typing import TypeAlias

import pytest
from folders import ROOT

from netlab.report.draw.style import DASHES, HATCHES, HEAT, LOOKS, MARKERS, PAPER

Colour: TypeAlias = tuple[float, float, float]
"""Red, green and blue from 0 to 1, or CIELAB."""

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
STEP_APART = 8.0
"""CIE 1976 colour difference of neighbours on a scale; 2.3 can just be seen."""
LINES_APART = 15.0
"""CIEDE2000 of any two lines; 1 can just be seen, and from about 10 upwards at a glance."""
CONTRAST = 3.0
"""WCAG 2.2, 1.4.11: contrast of graphics with adjacent colours."""

STYLE = (ROOT / "netlab" / "report" / "page" / "page.css").read_text("utf-8")


def scheme(name: str, index: int) -> str:
    """A colour of the style sheet in its light (0) or dark (1) scheme, as ``#rrggbb``."""
    (pair,) = re.findall(rf"--{name}: light-dark\((#\w+), (#\w+)\)", STYLE)
    digits = pair[index][1:]
    return "#" + (digits if len(digits) == 6 else "".join(2 * digit for digit in digits))


LOOKS_OF_THE_PAGE = len(re.findall(r"--look-\d: light-dark", STYLE))
LIGHT, DARK = (
    tuple(scheme(f"look-{number}", index) for number in range(LOOKS_OF_THE_PAGE))
    for index in (0, 1)
)


def rgb(colour: str) -> Colour:
    red, green, blue = (int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5))
    return red, green, blue


def linear(colour: Colour) -> Colour:
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour)
    return red, green, blue


def lab(colour: Colour, sight: tuple[Colour, ...]) -> Colour:
    channels = [sum(m * c for m, c in zip(row, linear(colour), strict=True)) for row in sight]
    r, g, b = (min(1.0, max(0.0, channel)) for channel in channels)
    tristimulus = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
    )
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in tristimulus)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def ciede2000(lab1: Colour, lab2: Colour) -> float:
    """Sharma, Wu and Dalal 2005."""
    chroma = (math.hypot(*lab1[1:]) + math.hypot(*lab2[1:])) / 2
    grey = 0.5 * (1 - math.sqrt(chroma**7 / (chroma**7 + 25**7)))
    a1, a2 = lab1[1] * (1 + grey), lab2[1] * (1 + grey)
    c1, c2 = math.hypot(a1, lab1[2]), math.hypot(a2, lab2[2])
    h1 = math.degrees(math.atan2(lab1[2], a1)) % 360
    h2 = math.degrees(math.atan2(lab2[2], a2)) % 360
    turn = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0.0
    hue = h1 + h2 if not c1 * c2 else (h1 + turn / 2) % 360
    light, strong = (lab1[0] + lab2[0]) / 2, (c1 + c2) / 2
    weight = (
        1
        - 0.17 * math.cos(math.radians(hue - 30))
        + 0.24 * math.cos(math.radians(2 * hue))
        + 0.32 * math.cos(math.radians(3 * hue + 6))
        - 0.20 * math.cos(math.radians(4 * hue - 63))
    )
    by_light = (lab2[0] - lab1[0]) / (
        1 + 0.015 * (light - 50) ** 2 / math.sqrt(20 + (light - 50) ** 2)
    )
    by_chroma = (c2 - c1) / (1 + 0.045 * strong)
    by_hue = 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn / 2))
    by_hue /= 1 + 0.015 * strong * weight
    rotation = -2 * math.sqrt(strong**7 / (strong**7 + 25**7))
    rotation *= math.sin(math.radians(60 * math.exp(-(((hue - 275) / 25) ** 2))))
    return math.sqrt(by_light**2 + by_chroma**2 + by_hue**2 + rotation * by_chroma * by_hue)


def contrast(colour: Colour, ground: Colour) -> float:
    """WCAG 2.2's, from 1 to 21."""
    light = sorted(
        0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in (linear(colour), linear(ground))
    )
    return (light[1] + 0.05) / (light[0] + 0.05)


@pytest.mark.parametrize(
    ("lab1", "lab2", "distance"),
    [
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, 2.49, -0.001), (50.0, -2.49, 0.0011), 7.2195),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((22.7233, 20.0904, -46.6940), (23.0331, 14.9730, -42.5619), 2.0373),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_the_computed_colour_distance_matches_published_pairs(
    lab1: Colour, lab2: Colour, distance: float
) -> None:
    assert ciede2000(lab1, lab2) == pytest.approx(distance, abs=1e-4)
    assert ciede2000(lab2, lab1) == pytest.approx(distance, abs=1e-4)


def test_pictures_and_the_light_page_have_the_same_colours() -> None:
    assert LIGHT == LOOKS
    assert tuple(re.findall(r"\.heat-\d \{ fill: (#\w{6});", STYLE)) == HEAT


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_any_two_line_colours_can_be_distinguished_with_every_kind_of_sight(
    palette: tuple[str, ...], sight: str
) -> None:
    assert len(palette) == 6
    appearances = {colour: lab(rgb(colour), SIGHTS[sight]) for colour in palette}
    for colour1, colour2 in combinations(palette, 2):
        assert ciede2000(appearances[colour1], appearances[colour2]) >= LINES_APART, (
            colour1,
            colour2,
        )


def test_every_line_colour_contrasts_with_its_background() -> None:
    assert scheme("paper", 0) == PAPER
    for palette, index in ((LIGHT, 0), (DARK, 1)):
        ground = rgb(scheme("paper", index))
        for colour in palette:
            assert contrast(rgb(colour), ground) >= CONTRAST, colour


@pytest.mark.parametrize("sight", SIGHTS)
def test_line_colours_of_inverted_pictures_stay_distinguishable_on_dark_pages(sight: str) -> None:
    filters = set(re.findall(r"figure img \{ filter: (invert[^;]+);", STYLE))
    assert filters == {"invert(.9) hue-rotate(180deg)"}
    appearances = {colour: turned(rgb(colour)) for colour in LOOKS}
    ground = turned(rgb(PAPER))
    for colour1, colour2 in combinations(LOOKS, 2):
        apart = ciede2000(
            lab(appearances[colour1], SIGHTS[sight]), lab(appearances[colour2], SIGHTS[sight])
        )
        assert apart >= STEP_APART, (colour1, colour2)
    for colour, colour_seen in appearances.items():
        assert contrast(colour_seen, ground) >= CONTRAST, colour


def turned(colour: Colour) -> Colour:
    """``invert(.9) hue-rotate(180deg)`` of Filter Effects 1, on sRGB, clipped after each."""
    r, g, b = (0.9 - 0.8 * channel for channel in colour)
    weights = (0.213, 0.715, 0.072)
    # The matrix of hueRotate with cos = -1 and sin = 0.
    grey = 2 * sum(w * c for w, c in zip(weights, (r, g, b), strict=True))
    red, green, blue = (min(1.0, max(0.0, grey - channel)) for channel in (r, g, b))
    return red, green, blue


def test_lines_and_bars_differ_in_more_than_colour() -> None:
    for looks in ((DASHES, MARKERS), (HATCHES,)):
        assert all(len(set(look)) == len(look) for look in looks)
        kinds = {tuple(look[n % len(look)] for look in looks) for n in range(len(LOOKS))}
        assert len(kinds) == len(LOOKS)
    rules = re.findall(
        r"\.look-\d \{ --look: var\(--look-\d\);(?: (stroke-dasharray: [\d ]+);)?", STYLE
    )
    assert len(rules) == len(set(rules)) == len(LIGHT)


@pytest.mark.parametrize("sight", SIGHTS)
def test_neighbouring_heat_map_colours_are_distinguishable_and_darken_with_the_value(
    sight: str,
) -> None:
    appearances = [lab(rgb(colour), SIGHTS[sight]) for colour in HEAT]
    for lab1, lab2 in pairwise(appearances):
        apart = sum((a - b) ** 2 for a, b in zip(lab1, lab2, strict=True)) ** 0.5
        assert apart >= STEP_APART
        assert lab1[0] > lab2[0]
