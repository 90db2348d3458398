"""A chart of the report → lines with intervals, or bars, as SVG elements. No I/O."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

from netlab.messages import joined
from netlab.report.first_picture.scene import (
    LETTER,
    LOOKS,
    NARROW,
    TYPE,
    WIDE,
    FirstPicture,
    Mark,
    Scene,
    dot,
    line,
    path,
    rect,
    steps,
    titled,
    words,
)
from netlab.report.tables.elements import Chart, Curve
from netlab.results.labels import figure

_HIGH = {WIDE: 320, NARROW: 230}
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 20, 12, 40


class _Plane:
    """Converts the coordinates of a point of the chart to pixels."""

    def __init__(self, chart: Chart, wide: int) -> None:
        curves = (*chart.lines, *chart.ceilings)
        points = [point for curve in curves for point in curve.points]
        xs = [x for x, _y in points] + [x for x, _label in chart.x_ticks]
        ys = [y for _x, y in points if y is not None]
        self.chart, self.wide, self.high = chart, wide, _HIGH[wide]
        self.log_x = chart.log_x and min(xs) > 0
        self.log_y = chart.log_y and min(ys) > 0
        edge = 0.6 if chart.as_bars else 0.0
        self.xs = (min(xs) - edge, max(xs) + edge)
        self.ys = (0.0 if chart.from_zero and not self.log_y else min(ys), max(ys) * 1.04)

    def x(self, value: float) -> float:
        share = _share(value, *self.xs, logarithmic=self.log_x)
        return _LEFT + share * (self.wide - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        share = _share(value, *self.ys, logarithmic=self.log_y)
        return self.high - _BOTTOM - share * (self.high - _BOTTOM - _TOP)

    def ticks(self) -> list[float]:
        low, high = self.ys
        if not self.log_y:
            return steps(low, high, 5)
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        return [power for d in decades if low <= (power := 10.0**d) <= high]


def _share(value: float, low: float, high: float, *, logarithmic: bool) -> float:
    if logarithmic:
        value, low, high = (math.log(number) for number in (value, low, high))
    return 0.5 if high == low else (value - low) / (high - low)


def chart_picture(chart: Chart) -> FirstPicture:
    """The chart in both widths, with its legend."""
    legend = [(f"line look-{curve.place % LOOKS}", curve.label) for curve in chart.lines]
    legend += [("level", curve.label) for curve in chart.ceilings[:1]]
    scenes = tuple(_scene(_Plane(chart, wide)) for wide in (WIDE, NARROW))
    title = joined(", ", [chart.title, chart.unit])
    return FirstPicture(title, chart.alt, scenes, tuple(legend))


def _scene(plane: _Plane) -> Scene:
    chart = plane.chart
    marks = list(_axes(plane))
    for curve in chart.lines:
        marks += _bars(plane, curve) if chart.as_bars else _line(plane, curve)
    for ceiling in chart.ceilings:
        marks += [
            line(plane.x(x1), plane.y(y1), plane.x(x2), plane.y(y2), "level")
            for (x1, y1), (x2, y2) in pairwise(ceiling.points)
            if y1 is not None and y2 is not None
        ]
    return Scene(plane.wide, plane.high, tuple(marks))


def _axes(plane: _Plane) -> Iterator[Mark]:
    chart, bottom = plane.chart, plane.high - _BOTTOM
    for tick in plane.ticks():
        yield line(_LEFT, plane.y(tick), plane.wide - _RIGHT, plane.y(tick), "grid")
        yield words(_LEFT - 6, plane.y(tick) + 4, joined("", [f"{tick:,.6g}"]), "end")
    last = -math.inf
    for x, label in chart.x_ticks:
        half = len(label) * LETTER / 2
        if plane.x(x) - half > last and plane.x(x) + half <= plane.wide + _RIGHT:
            last = plane.x(x) + half + 6
            yield words(plane.x(x), bottom + TYPE + 4, label, "middle")
    yield words(plane.wide - _RIGHT, plane.high - 4, chart.x_label, "end")


def _line(plane: _Plane, curve: Curve) -> Iterator[Mark]:
    look = f"look-{curve.place % LOOKS}"
    if curve.joined:
        run: list[tuple[float, float]] = []
        for x, y in (*curve.points, (0.0, None)):
            if y is not None:
                run.append((plane.x(x), plane.y(y)))
                continue
            if len(run) > 1:
                yield path(run, f"line {look}")
            run = []
    many = len(curve.points) > 40
    halves = curve.half_widths or (None,) * len(curve.points)
    for (x, y), half in zip(curve.points, halves, strict=False):
        if y is None:
            continue
        if half is not None:
            low, high = plane.y(max(plane.ys[0], y - half)), plane.y(y + half)
            yield line(plane.x(x), low, plane.x(x), high, f"whisk {look}")
        if not (many and curve.joined):
            yield dot(plane.x(x), plane.y(y), 3, f"dot {look}", title=_title(curve, x, y, plane))


def _title(curve: Curve, x: float, y: float, plane: _Plane) -> str:
    at = next((label for tick, label in plane.chart.x_ticks if tick == x), f"{x:g}")
    return titled(curve.label, at, joined(" ", [figure(y), plane.chart.unit]))


def _bars(plane: _Plane, curve: Curve) -> Iterator[Mark]:
    number = len(plane.chart.lines)
    width = 0.8 / number
    for x, y in curve.points:
        if y is None:
            continue
        left = plane.x(x - 0.4 + width * plane.chart.lines.index(curve))
        right = plane.x(x - 0.4 + width * (plane.chart.lines.index(curve) + 1))
        top, look = plane.y(y), f"fill look-{curve.place % LOOKS}"
        title = _title(curve, x, y, plane)
        yield rect(left, top, right - left - 1, plane.high - _BOTTOM - top, look, title=title)
