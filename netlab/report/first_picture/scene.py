"""A drawing as a list of SVG elements (marks) with their positions and style classes. No I/O.

The page's content security policy allows no inline styles. Colours come from the style sheet,
which has a light and a dark set.

A cell is one combination of test, pairing (server and client) and settings.
"""

from __future__ import annotations

from dataclasses import dataclass

from netlab.messages import Message, joined

WIDE, NARROW = 620, 358
"""Widths in pixels: of a drawing next to the answers, and of a drawing on a phone."""

TYPE = 12
"""Height of letters in pixels."""
LETTER = 7.3
"""Mean width of a letter in pixels."""

LOOKS = 6
"""Number of different looks of lines and bars, see page.css."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One element of SVG."""

    tag: str
    attributes: tuple[tuple[str, str], ...]
    words: str = ""
    """The text, if the element is a text."""
    most: int = 0
    """Maximum number of letters; 0 means no limit."""
    title: str = ""
    """Text shown when the pointer is over the element."""
    cell: str = ""
    """Key of the cell that a click on the element opens."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One drawing in one width."""

    wide: int
    high: int
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class FirstPicture:
    """One drawing in the widths ``WIDE`` and ``NARROW``, with a description for screen readers."""

    title: str
    description: str
    scenes: tuple[Scene, ...]
    legend: tuple[tuple[str, str], ...] = ()
    """(style class, label) of each entry."""


def rect(
    x: float, y: float, wide: float, high: float, look: str, *, title: str = "", cell: str = ""
) -> Mark:
    """A rectangle."""
    places = {"x": x, "y": y, "width": max(wide, 0), "height": max(high, 0)}
    return Mark("rect", _attributes(places, look), title=title, cell=cell)


def line(x1: float, y1: float, x2: float, y2: float, look: str) -> Mark:
    """A straight line."""
    return Mark("line", _attributes({"x1": x1, "y1": y1, "x2": x2, "y2": y2}, look))


def dot(x: float, y: float, radius: float, look: str, *, title: str = "", cell: str = "") -> Mark:
    """A filled circle."""
    return Mark(
        "circle", _attributes({"cx": x, "cy": y, "r": radius}, look), title=title, cell=cell
    )


def path(points: list[tuple[float, float]], look: str) -> Mark:
    """Straight lines from point to point."""
    joints = " ".join(f"{_short(x)},{_short(y)}" for x, y in points)
    return Mark("polyline", (("class", look), ("points", joints)))


def words(
    x: float, y: float, text: str, look: str = "", *, room: float = 0, slant: bool = False
) -> Mark:
    """A text. ``look`` is its style class, such as ``middle`` or ``end``.

    If ``slant``, the text rises to the right. ``room``: width in pixels (0 means no limit). A text
    that is longer after translation is shortened in its middle, and shown in full when the pointer
    is over it.
    """
    attributes = _attributes({"x": x, "y": y}, look)
    turn = (("transform", f"rotate(-50 {_short(x)} {_short(y)})"),) if slant else ()
    most = max(3, int(room / LETTER)) if room else 0
    return Mark("text", (*attributes, *turn), words=text, most=most)


def titled(*parts: str) -> Message:
    """A head and its further parts as one text, such as ``LL, TCP 64: 88.35 Mbit/s``."""
    head, *rest = [part for part in parts if part]
    return joined(": ", [head, joined(", ", rest)]) if rest else joined("", [head])


def steps(low: float, high: float, count: int) -> list[float]:
    """About ``count`` round numbers from ``low`` to ``high``."""
    raw = (high - low or 1) / max(1, count)
    power = 10.0 ** int(f"{raw:e}".partition("e")[2])
    step = next(n * power for n in (1, 2, 5, 10) if n * power >= raw * 0.999)
    first = -(-low // step)
    return [(first + n) * step for n in range(int((high - first * step) / step + 1e-9) + 1)]


def _attributes(places: dict[str, float], look: str) -> tuple[tuple[str, str], ...]:
    attributes = tuple((name, _short(value)) for name, value in places.items())
    return (("class", look), *attributes) if look else attributes


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
