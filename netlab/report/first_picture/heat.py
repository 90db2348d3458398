"""Heat maps: grids of figures → panels of coloured places; blanks are hatched. No I/O.

A place shows the result of a cell: one combination of test, pairing (server and client) and
settings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netlab.messages import _
from netlab.report.first_picture.scene import (
    LETTER,
    NARROW,
    TYPE,
    WIDE,
    FirstPicture,
    Mark,
    Scene,
    rect,
    words,
)

BOUNDS = (10, 25, 50, 75, 90, 95, 98)
"""Percentages of the wire ceiling (the highest payload rate of the link), or of the highest figure,
at which a colour begins. Steps are finer near 100 %, where most figures are."""
BLANK = "blank-spot"
INSIDE = "inside-spot"
_GAP, _TITLE, _MOST_HIGH = 14, 20, {WIDE: 400, NARROW: 250}
_PANELS_ABREAST = 2


@dataclass(frozen=True, slots=True)
class Spot:
    """One place (coloured square): its figure, or the reason why it has no figure."""

    percent: float | None
    """Per cent of the wire ceiling or of the highest value. It decides the colour; ``None`` if
    blank."""
    words: str
    """Text on the place, if there is room."""
    description: str
    """Text shown when the pointer is over the place."""
    cell: str = ""
    inside: bool = False
    """Whether the traffic stayed inside one machine; then the place is grey."""


@dataclass(frozen=True, slots=True)
class HeatPanel:
    """One grid, with the rows and columns of a table, such as the table of a pairing."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    spots: tuple[tuple[Spot | None, ...], ...]
    """``None`` where the run plans nothing; such a place stays empty."""


def look_of(spot: Spot) -> str:
    """The style class of a place: one of eight colours, hatched, or inside one machine."""
    if spot.inside:
        return INSIDE
    if spot.percent is None:
        return BLANK
    return f"heat-{sum(spot.percent >= bound for bound in BOUNDS)}"


def heat_picture(title: str, panels: Sequence[HeatPanel], *, of_what: str) -> FirstPicture:
    """The panels, two in a row, with a legend of the colours."""
    bounds = ("0", *map(str, BOUNDS))
    legend = [(f"heat-{index}", bound) for index, bound in enumerate(bounds)]
    every = [spot for panel in panels for row in panel.spots for spot in row if spot is not None]
    if any(look_of(spot) == BLANK for spot in every):
        legend.append((BLANK, _("no figure: point at it to see why")))
    if any(spot.inside for spot in every):
        legend.append((INSIDE, _("within one machine")))
    return FirstPicture(
        title,
        _("Heat map: {title}. The tables contain the same figures.", title=title),
        tuple(_scene(panels, wide) for wide in (WIDE, NARROW)),
        ((("", of_what), *legend) if of_what else tuple(legend)),
    )


def _scene(panels: Sequence[HeatPanel], wide: int) -> Scene:
    """The panels with row names at the left of each line.

    Column names are below a panel, unless a panel with the same columns is below this panel.
    """
    abreast = min(_PANELS_ABREAST, len(panels))
    deep = -(-len(panels) // abreast)
    longest = max(len(row) for panel in panels for row in panel.rows)
    margin = min(longest * LETTER + 8, wide * 0.27)
    panel_wide = (wide - margin - _GAP * (abreast - 1)) / abreast
    widest = max(len(panel.columns) for panel in panels)
    longest = max(len(column) for panel in panels for column in panel.columns)
    slant = longest * LETTER > panel_wide / widest
    below = (min(16, longest) * LETTER * 0.77 + 12) if slant else 18
    parted = [
        at // abreast
        for at, (upper, lower) in enumerate(zip(panels, panels[abreast:], strict=False))
        if upper.columns != lower.columns
    ]
    room = (_MOST_HIGH[wide] - below) / deep - _TITLE
    row_high = max(4.0, min(26.0, room / max(len(panel.rows) for panel in panels)))
    marks: list[Mark] = []
    top = 0.0
    for start in range(0, len(panels), abreast):
        line = panels[start : start + abreast]
        for at, panel in enumerate(line):
            x = margin + at * (panel_wide + _GAP)
            marks += _panel(panel, x, top, panel_wide, row_high, with_titles=wide == WIDE)
            if at == 0:
                marks += _rows(panel, margin, top + _TITLE, row_high)
            lower = panels[start + at + abreast :][:1]
            if not lower or lower[0].columns != panel.columns:
                bottom = top + _TITLE + row_high * len(panel.rows)
                marks += _columns(panel, x, bottom, panel_wide, slant=slant)
        top += _TITLE + row_high * max(len(panel.rows) for panel in line)
        top += below if start // abreast in parted else 0
    return Scene(wide, round(top + below), tuple(marks))


def _panel(
    panel: HeatPanel, x: float, top: float, wide: float, row_high: float, *, with_titles: bool
) -> Iterator[Mark]:
    step = wide / len(panel.columns)
    yield words(x, top + TYPE + 1, panel.title, "strong", room=wide)
    for down, row in enumerate(panel.spots):
        for across, spot in enumerate(row):
            if spot is None:
                continue
            look, y = look_of(spot), top + _TITLE + down * row_high
            title, cell = spot.description if with_titles else "", spot.cell
            yield rect(x + across * step, y, step - 1, row_high - 1, look, title=title, cell=cell)
            fits = len(spot.words) * LETTER <= step - 2
            if spot.words and fits and row_high >= TYPE + 2:
                ink = f"middle on-{look}"
                yield words(x + (across + 0.5) * step, y + row_high / 2 + 4, spot.words, ink)


def _rows(panel: HeatPanel, margin: float, top: float, row_high: float) -> Iterator[Mark]:
    step = max(1, round(TYPE / row_high + 0.49))
    for at in range(0, len(panel.rows), step):
        y = top + (at + 0.5) * row_high + 4
        yield words(margin - 6, y, panel.rows[at], "end", room=margin - 6)


def _columns(
    panel: HeatPanel, x: float, bottom: float, wide: float, *, slant: bool
) -> Iterator[Mark]:
    step = wide / len(panel.columns)
    for at, column in enumerate(panel.columns):
        middle = x + (at + 0.5) * step
        if slant:
            yield words(middle + 4, bottom + 10, column, "end", room=100, slant=True)
        else:
            yield words(middle, bottom + TYPE + 1, column, "middle")
