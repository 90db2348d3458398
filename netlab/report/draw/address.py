"""A drawn SVG → the address that holds it (RFC 2397), as short as it can be. Pure.

A quarter of what matplotlib writes is decimals that no screen shows, line ends and comments; base64
would add a third to the rest.
"""

from __future__ import annotations

import re
from urllib.parse import quote

_ASIDE = re.compile(r"<!--.*?-->|<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>", re.DOTALL)
_BETWEEN_TAGS = re.compile(r">\s+<")
_SPACES = re.compile(r"\s+")
_BEFORE_A_LETTER = re.compile(r" ?([MLQCZz]) ?(?=[-\d\"])| (?=\")")
_PATH = re.compile(r' d="[^"]*"')
_NUMBERS = re.compile(r"scale\([^)]*\)|-?\d+\.\d{3,}")
_PLAIN = " !'()*+,-./:;<=>@[]^_`{|}~?"
"""What stands in an address as it is, where that stands in double quotes."""


def drawing_address(svg: bytes) -> str:
    """``data:image/svg+xml,…``; it has no double quote and no ampersand.

    Coordinates are rounded to a hundredth of a point.
    """
    text = _BETWEEN_TAGS.sub("><", _ASIDE.sub("", svg.decode("utf-8"))).strip()
    text = _SPACES.sub(" ", _NUMBERS.sub(_rounded, text))
    text = _PATH.sub(lambda path: _BEFORE_A_LETTER.sub(r"\1", path[0]), text)
    return "data:image/svg+xml," + quote(text.replace("'", "&#39;").replace('"', "'"), _PLAIN)


def _rounded(match: re.Match[str]) -> str:
    """A scale is of letters, which are drawn some thousand units high."""
    number = match[0]
    return number if number.startswith("scale") else f"{float(number):.2f}".rstrip("0").rstrip(".")
