"""A drawing in a data URL has all its shapes and cannot end the attribute that contains it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from urllib.parse import unquote

from netlab.report.draw.plot import drawing_address

HOSTILE = b"""<?xml version="1.0" encoding="utf-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="100pt" viewBox="0 0 100 50">
 <metadata>made by somebody</metadata>
 <g id="a'b &amp; c">
  <!-- "></figure><script>alert(1)</script> 100 % -->
  <path id="glyph" d="M 628.123456 4666
L 1259 -2694.5
Q 1 2 3 4
z
" transform="scale(0.015625)"/>
  <use href="#glyph" x="60.907069" y="203.925"/>
 </g>
</svg>
"""


def opened(address: str) -> ET.Element:
    head, _, data = address.partition(",")
    assert head == "data:image/svg+xml"
    return ET.fromstring(unquote(data))  # noqa: S314 - of this file


def test_an_inlined_svg_drawing_keeps_its_shapes_to_a_hundredth_of_a_point() -> None:
    svg = opened(drawing_address(HOSTILE))
    (path,) = svg.iter("{http://www.w3.org/2000/svg}path")
    (use,) = svg.iter("{http://www.w3.org/2000/svg}use")
    assert path.get("d") == "M628.12 4666L1259 -2694.5Q1 2 3 4z"
    assert path.get("transform") == "scale(0.015625)"
    assert (use.get("x"), use.get("y")) == ("60.91", "203.93")
    assert svg[0].get("id") == "a'b & c"


def test_an_inlined_drawing_contains_no_quote_ampersand_hash_script_or_metadata() -> None:
    address = drawing_address(HOSTILE)
    assert not re.search(r'["&#\n]', address)
    assert "script" not in address
    assert "somebody" not in address
