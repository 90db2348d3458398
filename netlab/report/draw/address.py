"""A drawn SVG → the data URL that contains it (RFC 2397), as short as possible. No I/O.

A quarter of matplotlib's output is line ends, comments, and decimals that no screen shows; these
are removed. The rest is percent-encoded, because Base64 would make it a third longer.
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
"""Characters that need no escape in a data URL between double quotes."""


def drawing_address(svg: bytes) -> str:
    """The SVG as ``data:image/svg+xml,…``, without double quotes and ampersands.

    Coordinates are rounded to a hundredth of a point.
    """
    text = _BETWEEN_TAGS.sub("><", _ASIDE.sub("", svg.decode("utf-8"))).strip()
    text = _SPACES.sub(" ", _NUMBERS.sub(_rounded, text))
    text = _PATH.sub(lambda path: _BEFORE_A_LETTER.sub(r"\1", path[0]), text)
    return "data:image/svg+xml," + quote(text.replace("'", "&#39;").replace('"', "'"), _PLAIN)


def _rounded(match: re.Match[str]) -> str:
    """A coordinate with two decimals. The scale factor of letters, ``scale(…)``, is unchanged.

    Letters are drawn some thousand units high, so a rounded scale would change their size.
    """
    number = match[0]
    return number if number.startswith("scale") else f"{float(number):.2f}".rstrip("0").rstrip(".")
