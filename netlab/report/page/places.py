"""The page's places for drawings, and the drawings in them. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from netlab.report.draw.plot import Picture

_PLACE = re.compile(r'<img data-drawing="(\d+)"')
"""No text of a page can hold it: each ``<`` in one is escaped."""


def with_drawings(html: str, pictures: Sequence[Picture]) -> str:
    """The page with its drawings, each in the place that has its number."""

    def shown(place: re.Match[str]) -> str:
        picture = pictures[int(place[1])]
        size = f'width="{picture.width_px}" height="{picture.height_px}"'
        return f'<img src="{picture.address}" {size}'

    return _PLACE.sub(shown, html)
