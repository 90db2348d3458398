"""Rows of intervals on one axis: a comparison's forest plot, or distributions. No I/O.

A cell is one combination of test, pairing (server and client) and settings; a trial is one
measurement of a cell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from netlab.messages import joined
from netlab.report.first_picture.scene import (
    LETTER,
    NARROW,
    TYPE,
    WIDE,
    FirstPicture,
    Mark,
    Scene,
    dot,
    line,
    rect,
    steps,
    words,
)

_ROW_HIGH, _BELOW, _HEAD = 20, 38, 22


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """One row: a point with its interval; a heading has a label only."""

    label: str
    middle: float | None = None
    low: float | None = None
    high: float | None = None
    inner: tuple[float, float] | None = None
    """The quartiles of a distribution, drawn as a box."""
    dots: tuple[float, ...] = ()
    """The values of the single trials."""
    shown: bool = True
    """Whether the difference of a comparison is significant. If not, the point is hollow. Rows of
    other pictures have filled points."""
    description: str = ""
    cell: str = ""


@dataclass(frozen=True, slots=True)
class Axis:
    """The x axis, which all rows share."""

    label: str
    logarithmic: bool = False
    level: float | None = None
    """Value at which a vertical line crosses all rows: the wire ceiling (highest payload rate of
    the link), or the ratio 1 (no difference)."""
    margin: tuple[float, float] | None = None
    """The range of ratios that count as equivalent; it is shaded."""
    spell: Callable[[float], str] = "{:g}".format


def interval_picture(
    title: str,
    description: str,
    rows: Sequence[IntervalRow],
    axis: Axis,
    legend: tuple[tuple[str, str], ...] = (),
) -> FirstPicture:
    """The rows from top to bottom."""
    scenes = tuple(_scene(rows, axis, wide) for wide in (WIDE, NARROW))
    return FirstPicture(title, description, scenes, legend)


@dataclass(frozen=True, slots=True)
class _Ruler:
    """Converts a value to its x position."""

    axis: Axis
    low: float
    high: float
    left: float
    right: float

    def __call__(self, value: float) -> float:
        low, high, at = (self._level(number) for number in (self.low, self.high, value))
        share = min(1.0, max(0.0, (at - low) / (high - low)))
        return self.left + share * (self.right - self.left)

    def _level(self, value: float) -> float:
        return math.log(value) if self.axis.logarithmic else value

    def ticks(self, count: int) -> list[float]:
        if not self.axis.logarithmic:
            return steps(self.low, self.high, count)
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        round_ones = [m * 10.0**d for d in decades for m in (1, 2, 5)]
        inside = [number for number in round_ones if self.low <= number <= self.high]
        return inside[:: max(1, -(-len(inside) // (count + 1)))]


def _scene(rows: Sequence[IntervalRow], axis: Axis, wide: int) -> Scene:
    longest = max(len(row.label) for row in rows if row.middle is not None)
    above = longest * LETTER > wide * (0.3 if wide == NARROW else 0.5)
    high = _ROW_HIGH - 4 if above else _ROW_HIGH
    margin = 8 if above else min(longest * LETTER + 12, wide * 0.52)
    ruler = _ruler(rows, axis, margin, wide - 14)
    marks: list[Mark] = []
    y = 2.0
    for row in rows:
        if row.middle is None:
            marks.append(words(2, y + TYPE + 2, row.label, "strong halo", room=wide))
            y += _HEAD
            continue
        at = (2, y + TYPE) if above else (margin - 10, y + _ROW_HIGH / 2 + 4)
        look = "halo" if above else "end"
        marks.append(words(*at, row.label, look, room=wide if above else margin - 10))
        y += TYPE + 1 if above else 0
        marks += _row(row, ruler, y + high / 2)
        y += high
    behind = list(_behind(ruler, axis, y, wide))
    return Scene(wide, round(y + _BELOW), (*behind, *marks))


def _ruler(rows: Sequence[IntervalRow], axis: Axis, left: float, right: float) -> _Ruler:
    values = [
        value
        for row in rows
        for value in (row.middle, row.low, row.high, *(row.inner or ()), *row.dots)
        if value is not None
    ]
    values += [] if axis.level is None else [axis.level]
    low, high = min(values), max(values)
    if axis.logarithmic:
        return _Ruler(axis, low / 1.08, high * 1.08, left, right)
    edge = 0.04 * (high - low) or 1.0
    return _Ruler(axis, low - edge, high + edge, left, right)


def _behind(ruler: _Ruler, axis: Axis, bottom: float, wide: int) -> Iterator[Mark]:
    if axis.margin is not None:
        low, high = (ruler(end) for end in axis.margin)
        yield rect(low, 0, max(3, high - low), bottom, "margin")
    for tick in ruler.ticks(4 if wide == NARROW else 6):
        yield line(ruler(tick), 0, ruler(tick), bottom, "grid")
        yield words(ruler(tick), bottom + TYPE + 2, joined("", [axis.spell(tick)]), "middle")
    if axis.level is not None:
        yield line(ruler(axis.level), 0, ruler(axis.level), bottom, "level")
    yield words(ruler.right, bottom + 2 * TYPE + 8, axis.label, "end")


def _row(row: IntervalRow, ruler: _Ruler, y: float) -> Iterator[Mark]:
    if row.low is not None and row.high is not None:
        yield line(ruler(row.low), y, ruler(row.high), y, "whisker")
    if row.inner is not None:
        low, high = (ruler(quartile) for quartile in row.inner)
        yield rect(low, y - 5, high - low, 10, "box", title=row.description, cell=row.cell)
    for value in row.dots:
        yield dot(ruler(value), y, 2.2, "trial-dot")
    if row.middle is not None:
        look = "point" if row.shown else "point hollow"
        yield dot(ruler(row.middle), y, 4.2, look, title=row.description, cell=row.cell)
