"""A strip of the report → panels one below the other over one x axis, as SVG. No I/O."""

from __future__ import annotations

from collections.abc import Iterator

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
from netlab.report.tables.elements import Curve, Panel, Strip
from netlab.results.labels import figure

_HIGH = {WIDE: 128, NARROW: 104}
"""Height of each panel."""
_LEFT, _RIGHT, _HEAD, _BOTTOM = 46, 12, 22, 38
_ABOVE = 1.24
"""Top of a panel's y axis relative to the highest value, with room for the names of bands."""
_TICKS = {WIDE: 8, NARROW: 5}


class _Axis:
    """Converts a time to its x position, the same for all panels."""

    def __init__(self, strip: Strip, wide: int) -> None:
        xs = [x for panel in strip.panels for curve in panel.lines for x, _y in curve.points]
        xs += [x for band in strip.bands for x in (band.from_x, band.until_x)]
        self.wide, self.low, self.high = wide, min(0.0, *xs), max(xs)

    def __call__(self, value: float) -> float:
        share = (value - self.low) / ((self.high - self.low) or 1.0)
        return _LEFT + share * (self.wide - _LEFT - _RIGHT)


def strip_picture(strip: Strip) -> FirstPicture:
    """All panels in the two widths, with the legend below."""
    legend = {
        curve.label: (f"line look-{curve.place % LOOKS}", curve.label)
        for panel in strip.panels
        for curve in panel.lines
        if curve.label
    }
    scenes = tuple(_scene(strip, wide) for wide in (WIDE, NARROW))
    return FirstPicture(strip.title, strip.alt, scenes, tuple(legend.values()))


def _scene(strip: Strip, wide: int) -> Scene:
    axis, marks, top = _Axis(strip, wide), list[Mark](), 0.0
    for panel in strip.panels:
        top += _HEAD
        marks += _panel(strip, panel, axis, top)
        top += _HIGH[wide]
    for tick in steps(axis.low, axis.high, _TICKS[wide]):
        marks.append(words(axis(tick), top + TYPE + 4, joined("", [f"{tick:g}"]), "middle"))
    high = top + _BOTTOM
    marks.append(words(wide - _RIGHT, high - 4, strip.x_label, "end"))
    return Scene(wide, round(high), tuple(marks))


def _panel(strip: Strip, panel: Panel, axis: _Axis, top: float) -> Iterator[Mark]:
    high = _HIGH[axis.wide]
    ys = [y for curve in panel.lines for _x, y in curve.points if y is not None]
    most = max(ys, default=0.0)
    scale_end = _ABOVE * most or 1.0

    def level(value: float) -> float:
        return top + high * (1 - value / scale_end)

    title = joined(", ", [panel.title, panel.unit])
    yield words(2, top - 6, title, "strong", room=axis.wide)
    for band in strip.bands:
        left, right = axis(band.from_x), axis(band.until_x)
        yield rect(left, top, right - left, high, "margin", title=band.label)
    for tick in steps(0, scale_end, 3):
        yield line(_LEFT, level(tick), axis.wide - _RIGHT, level(tick), "grid")
        yield words(_LEFT - 6, level(tick) + 4, joined("", [f"{tick:,.6g}"]), "end")
    if panel is strip.panels[0]:
        yield from _names(strip, axis, top)
    for curve in panel.lines:
        for x, y in () if curve.joined else curve.points:
            if y is not None:
                label = titled(curve.label, joined(" ", [figure(x), "s"]))
                yield dot(axis(x), level(y), 3, f"dot look-{curve.place % LOOKS}", title=label)
        for run in _runs(curve):
            yield path([(axis(x), level(y)) for x, y in run], f"line look-{curve.place % LOOKS}")


def _names(strip: Strip, axis: _Axis, top: float) -> Iterator[Mark]:
    """The names of the bands; a name that would overlap the name before it is moved right."""
    end = 0.0
    for band in strip.bands:
        half = len(band.label) * LETTER / 2
        middle = max((axis(band.from_x) + axis(band.until_x)) / 2, end + half)
        end = middle + half + 4
        yield words(min(middle, axis.wide - half), top + TYPE + 1, band.label, "middle")


def _runs(curve: Curve) -> Iterator[list[tuple[float, float]]]:
    """The parts of a curve without a gap, each to be drawn as one line."""
    run: list[tuple[float, float]] = []
    for x, y in (*curve.points, (0.0, None)) if curve.joined else ():
        if y is not None:
            run.append((x, y))
            continue
        if len(run) > 1:
            yield run
        run = []
