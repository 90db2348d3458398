"""Puts the drawings into their places in the page. No I/O."""

from __future__ import annotations

import re
from collections.abc import Sequence

from netlab.report.draw.plot import Picture

_PLACE = re.compile(r'<img data-drawing="(\d+)"')
"""A place for a drawing. No text can contain this, because each ``<`` in a text is escaped."""


def with_drawings(html: str, pictures: Sequence[Picture]) -> str:
    """The page with its drawings; the number of a place is the index of its picture."""

    def image(place: re.Match[str]) -> str:
        picture = pictures[int(place[1])]
        size = f'width="{picture.width_px}" height="{picture.height_px}"'
        return f'<img src="{picture.address}" {size}'

    return _PLACE.sub(image, html)
