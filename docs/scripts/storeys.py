"""Draws who imports whom, from the code: the packages of netlab and the folders of the probe.

``make docs`` writes docs/pictures/storeys.svg. The rows are those of the contract in pyproject.toml
and of the probe's test; the arrows are the imports and includes as they are. An arrow that a longer
way implies is left out.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import permutations
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROBE = ("main.c", "agent", "loops", "test", "protocol", "platform", "pure")
WIDE, HIGH, GAP, ROW = 92, 26, 14, 62
MARGIN, HEAD = 16, 34
NEAR = 0.55
"""Columns: an arrow that passes nearer to the middle of a box goes behind it."""

Arrows = frozenset[tuple[str, str]]
Rows = Sequence[Sequence[str]]


def storeys() -> Rows:
    """The rows of netlab's packages, from the top, as the contract has them."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    contracts = tomllib.loads(text)["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    return [row.split(" | ") for row in layers]


def imports() -> Arrows:
    """(package, package that it imports), of the type checker and within functions as well."""
    return frozenset(_imports())


def _imports() -> Iterator[tuple[str, str]]:
    folder = ROOT / "netlab"
    for path in folder.rglob("*.py"):
        importer = path.relative_to(folder).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("netlab"):
                for alias in node.names:
                    imported = f"{node.module}.{alias.name}".split(".")[1]
                    if imported != importer and not importer.startswith("__"):
                        yield importer, imported


def includes() -> Arrows:
    """(folder of the probe, folder whose header it includes)."""
    folder = ROOT / "probes" / "src"
    inclusions = set()
    for path in folder.rglob("*.[ch]"):
        includer = path.relative_to(folder).parts[0]
        for included in re.findall(r'^#include "(\w+)/', path.read_text("utf-8"), re.MULTILINE):
            if included != includer:
                inclusions.add((includer, included))
    return frozenset(inclusions)


def reduced(arrows: Arrows) -> Arrows:
    """Without the arrows that a longer way implies."""
    below: dict[str, set[str]] = {}
    for start, end in arrows:
        below.setdefault(start, set()).add(end)

    def reaches(start: str, end: str, trail: frozenset[str] = frozenset()) -> bool:
        further = below.get(start, set()) - trail
        return end in further or any(reaches(name, end, trail | {start}) for name in further)

    return frozenset(
        (start, end)
        for start, end in arrows
        if not any(name != end and reaches(name, end) for name in below[start])
    )


def against(rows: Rows, arrows: Arrows) -> list[tuple[str, str]]:
    """The arrows that do not go down."""
    level = {name: index for index, row in enumerate(rows) for name in row}
    return sorted((a, b) for a, b in arrows if level[a] >= level[b])


@dataclass(frozen=True, slots=True)
class Box:
    """Where a package is drawn: its left upper corner."""

    x: float
    y: float


def boxes(rows: Rows, x: float, columns: int, arrows: Arrows) -> dict[str, Box]:
    """A place for each name: those of its row, in the columns where fewest arrows meet a box."""
    placed = {name: column for row in rows for column, name in enumerate(row)}
    better = True
    while better:
        better = False
        for row in rows:
            crossings = _crossings(rows, placed, arrows)
            tries = [
                placed | dict(zip(row, permutation, strict=True))
                for permutation in permutations(range(columns), len(row))
            ]
            best = min(tries, key=lambda placement: _crossings(rows, placement, arrows))
            if _crossings(rows, best, arrows) < crossings:
                placed, better = best, True
    return {
        name: Box(x + placed[name] * (WIDE + GAP), HEAD + index * ROW)
        for index, row in enumerate(rows)
        for name in row
    }


def _crossings(rows: Rows, placed: Mapping[str, int], arrows: Arrows) -> float:
    """How often an arrow goes behind a box, and how far all of them go sideways."""
    level = {name: index for index, row in enumerate(rows) for name in row}
    total = 0.0
    for start, end in sorted(arrows):
        high = level[end] - level[start]
        slope = (placed[end] - placed[start]) / high if high else 0
        total += abs(slope) / 10
        for between in range(level[start] + 1, level[end]):
            x = placed[start] + slope * (between - level[start])
            total += sum(abs(placed[name] - x) < NEAR for name in rows[between])
    return total


def drawn(places: Mapping[str, Box], arrows: Arrows) -> Iterator[str]:
    """Lines first, boxes over them."""
    for start, end in sorted(arrows):
        a, b = places[start], places[end]
        yield (
            f'<line x1="{a.x + WIDE / 2:g}" y1="{a.y + HIGH:g}" x2="{b.x + WIDE / 2:g}" '
            f'y2="{b.y - 5:g}"/>'
        )
    for name, box in places.items():
        yield f'<rect x="{box.x:g}" y="{box.y:g}" width="{WIDE}" height="{HIGH}" rx="4"/>'
        yield f'<text x="{box.x + WIDE / 2:g}" y="{box.y + 17:g}">{escape(name)}</text>'


def picture() -> str:
    """The drawing as SVG, the same bytes for the same code."""
    rows, probe = storeys(), [(name,) for name in PROBE]
    columns = max(map(len, rows))
    wide = columns * (WIDE + GAP) - GAP
    arrows, headers = reduced(imports()), reduced(includes())
    right = MARGIN + wide + 2 * GAP
    high = HEAD + len(rows) * ROW
    width = right + WIDE + MARGIN
    shapes = [
        f'<text x="{MARGIN + wide / 2:g}" y="18">netlab/</text>',
        f'<text x="{right + WIDE / 2:g}" y="18">probes/src/</text>',
        *drawn(boxes(rows, MARGIN, columns, arrows), arrows),
        *drawn(boxes(probe, right, 1, headers), headers),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {high:g}" '
        f'width="{width:g}" height="{high:g}" role="img" aria-label="Who imports whom">\n'
        "<style>rect{fill:#eef3f7;stroke:#0b3c5d}line{stroke:#6b737b;marker-end:url(#tip)}"
        "text{font:13px sans-serif;text-anchor:middle;fill:#1c2126}"
        "svg{background:#fff}</style>\n"
        '<marker id="tip" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0L8 4L0 8z" fill="#6b737b"/></marker>\n'
        + "\n".join(shapes)
        + "\n</svg>\n"
    )


def main() -> None:
    """Write the drawing."""
    (ROOT / "docs" / "pictures" / "storeys.svg").write_text(picture(), encoding="utf-8")


if __name__ == "__main__":
    main()
