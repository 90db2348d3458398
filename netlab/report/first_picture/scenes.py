"""Pictures at the top of the page as lists of SVG elements (marks), in two widths.

The page's content security policy allows no inline styles. Colours come from the style sheet,
which has a light and a dark set.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from netlab.messages import Message, _, joined
from netlab.report.tables.elements import Chart, Curve, Panel, Strip
from netlab.results.labels import figure

WIDE, NARROW = 620, 358
"""Widths in pixels: of a drawing next to the answers, and of a drawing on a phone."""

TYPE = 12
"""Height of letters in pixels."""
LETTER = 7.3
"""Mean width of a letter in pixels."""

LOOKS = 6
"""Number of different looks of lines and bars, see page.css."""


BOUNDS = (10, 25, 50, 75, 90, 95, 98)
"""Percentages of the wire ceiling (the highest payload rate of the link), or of the highest figure,
at which a colour begins. Steps are finer near 100 %, where most figures are."""
BLANK = "blank-spot"
INSIDE = "inside-spot"
_GAP, _TITLE, _MOST_HIGH = 14, 20, {WIDE: 400, NARROW: 250}
_PANELS_ABREAST = 2
_ROW_HIGH, _BELOW, _HEADING = 20, 38, 22
_CHART_HIGH = {WIDE: 320, NARROW: 230}
_LEFT, _CHART_RIGHT, _CHART_TOP, _CHART_BOTTOM = 46, 20, 12, 40
_PANEL_HIGH = {WIDE: 128, NARROW: 104}
"""Height of each panel."""
_STRIP_RIGHT, _PANEL_HEAD, _STRIP_BOTTOM = 12, 22, 38
_ABOVE = 1.24
"""Top of a panel's y ruler relative to the highest value, with room for the names of bands."""
_TICKS = {WIDE: 8, NARROW: 5}


@dataclass(frozen=True, slots=True)
class Mark:
    """One element of SVG."""

    tag: str
    attributes: tuple[tuple[str, str], ...]
    words: str = ""
    """The text, if the element is a text."""
    most: int = 0
    """Maximum number of letters; 0 means no limit."""
    title: str = ""
    """Text shown when the pointer is over the element."""
    cell: str = ""
    """Key of the cell that a click on the element opens."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One drawing in one width."""

    wide: int
    high: int
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class FirstPicture:
    """One drawing in the widths ``WIDE`` and ``NARROW``, with a description for screen readers."""

    title: str
    description: str
    scenes: tuple[Scene, ...]
    legend: tuple[tuple[str, str], ...] = ()
    """(style class, label) of each entry."""


def rect(
    x: float, y: float, wide: float, high: float, look: str, *, title: str = "", cell: str = ""
) -> Mark:
    """A rectangle."""
    places = {"x": x, "y": y, "width": max(wide, 0), "height": max(high, 0)}
    return Mark("rect", _attributes(places, look), title=title, cell=cell)


def line(x1: float, y1: float, x2: float, y2: float, look: str) -> Mark:
    """A straight line."""
    return Mark("line", _attributes({"x1": x1, "y1": y1, "x2": x2, "y2": y2}, look))


def dot(x: float, y: float, radius: float, look: str, *, title: str = "", cell: str = "") -> Mark:
    """A filled circle."""
    return Mark(
        "circle", _attributes({"cx": x, "cy": y, "r": radius}, look), title=title, cell=cell
    )


def path(points: list[tuple[float, float]], look: str) -> Mark:
    """Straight lines from point to point."""
    joints = " ".join(f"{_short(x)},{_short(y)}" for x, y in points)
    return Mark("polyline", (("class", look), ("points", joints)))


def words(
    x: float, y: float, text: str, look: str = "", *, room: float = 0, slant: bool = False
) -> Mark:
    """A text. ``look`` is its style class, such as ``middle`` or ``end``.

    If ``slant``, the text rises to the right. ``room``: width in pixels (0 means no limit). A text
    that is longer after translation is shortened in its middle, and shown in full when the pointer
    is over it.
    """
    attributes = _attributes({"x": x, "y": y}, look)
    turn = (("transform", f"rotate(-50 {_short(x)} {_short(y)})"),) if slant else ()
    most = max(3, int(room / LETTER)) if room else 0
    return Mark("text", (*attributes, *turn), words=text, most=most)


def titled(*parts: str) -> Message:
    """A head and its further parts as one text, such as ``LL, TCP 64: 88.35 Mbit/s``."""
    head, *rest = [part for part in parts if part]
    return joined(": ", [head, joined(", ", rest)]) if rest else joined("", [head])


def steps(low: float, high: float, count: int) -> list[float]:
    """About ``count`` round numbers from ``low`` to ``high``."""
    raw = (high - low or 1) / max(1, count)
    power = 10.0 ** int(f"{raw:e}".partition("e")[2])
    step = next(n * power for n in (1, 2, 5, 10) if n * power >= raw * 0.999)
    first = -(-low // step)
    return [(first + n) * step for n in range(int((high - first * step) / step + 1e-9) + 1)]


def _attributes(places: dict[str, float], look: str) -> tuple[tuple[str, str], ...]:
    attributes = tuple((name, _short(value)) for name, value in places.items())
    return (("class", look), *attributes) if look else attributes


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


# Heat maps


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
        tuple(_heat_scene(panels, wide) for wide in (WIDE, NARROW)),
        ((("", of_what), *legend) if of_what else tuple(legend)),
    )


def _heat_scene(panels: Sequence[HeatPanel], wide: int) -> Scene:
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
            marks += _heat_panel(panel, x, top, panel_wide, row_high, with_titles=wide == WIDE)
            if at == 0:
                marks += _row_names(panel, margin, top + _TITLE, row_high)
            lower = panels[start + at + abreast :][:1]
            if not lower or lower[0].columns != panel.columns:
                bottom = top + _TITLE + row_high * len(panel.rows)
                marks += _column_names(panel, x, bottom, panel_wide, slant=slant)
        top += _TITLE + row_high * max(len(panel.rows) for panel in line)
        top += below if start // abreast in parted else 0
    return Scene(wide, round(top + below), tuple(marks))


def _heat_panel(
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


def _row_names(panel: HeatPanel, margin: float, top: float, row_high: float) -> Iterator[Mark]:
    step = max(1, round(TYPE / row_high + 0.49))
    for at in range(0, len(panel.rows), step):
        y = top + (at + 0.5) * row_high + 4
        yield words(margin - 6, y, panel.rows[at], "end", room=margin - 6)


def _column_names(
    panel: HeatPanel, x: float, bottom: float, wide: float, *, slant: bool
) -> Iterator[Mark]:
    step = wide / len(panel.columns)
    for at, column in enumerate(panel.columns):
        middle = x + (at + 0.5) * step
        if slant:
            yield words(middle + 4, bottom + 10, column, "end", room=100, slant=True)
        else:
            yield words(middle, bottom + TYPE + 1, column, "middle")


# Rows of intervals


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
    scenes = tuple(_interval_scene(rows, axis, wide) for wide in (WIDE, NARROW))
    return FirstPicture(title, description, scenes, legend)


class _Ruler:
    """Converts a value to its x position; the axis includes all values of the rows."""

    def __init__(self, rows: Sequence[IntervalRow], axis: Axis, left: float, right: float) -> None:
        values = [
            value
            for row in rows
            for value in (row.middle, row.low, row.high, *(row.inner or ()), *row.dots)
            if value is not None
        ]
        values += [] if axis.level is None else [axis.level]
        low, high = min(values), max(values)
        if axis.logarithmic:
            low, high = low / 1.08, high * 1.08
        else:
            edge = 0.04 * (high - low) or 1.0
            low, high = low - edge, high + edge
        self.axis, self.low, self.high, self.left, self.right = axis, low, high, left, right

    def __call__(self, value: float) -> float:
        share = _share(value, self.low, self.high, logarithmic=self.axis.logarithmic)
        return self.left + min(1.0, max(0.0, share)) * (self.right - self.left)

    def ticks(self, count: int) -> list[float]:
        if not self.axis.logarithmic:
            return steps(self.low, self.high, count)
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        round_ones = [m * 10.0**d for d in decades for m in (1, 2, 5)]
        inside = [number for number in round_ones if self.low <= number <= self.high]
        return inside[:: max(1, -(-len(inside) // (count + 1)))]


def _interval_scene(rows: Sequence[IntervalRow], axis: Axis, wide: int) -> Scene:
    longest = max(len(row.label) for row in rows if row.middle is not None)
    above = longest * LETTER > wide * (0.3 if wide == NARROW else 0.5)
    high = _ROW_HIGH - 4 if above else _ROW_HIGH
    margin = 8 if above else min(longest * LETTER + 12, wide * 0.52)
    ruler = _Ruler(rows, axis, margin, wide - 14)
    marks: list[Mark] = []
    y = 2.0
    for row in rows:
        if row.middle is None:
            marks.append(words(2, y + TYPE + 2, row.label, "strong halo", room=wide))
            y += _HEADING
            continue
        at = (2, y + TYPE) if above else (margin - 10, y + _ROW_HIGH / 2 + 4)
        look = "halo" if above else "end"
        marks.append(words(*at, row.label, look, room=wide if above else margin - 10))
        y += TYPE + 1 if above else 0
        marks += _interval(row, ruler, y + high / 2)
        y += high
    behind = list(_behind(ruler, axis, y, wide))
    return Scene(wide, round(y + _BELOW), (*behind, *marks))


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


def _interval(row: IntervalRow, ruler: _Ruler, y: float) -> Iterator[Mark]:
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


# Charts


class _Plane:
    """Converts the coordinates of a point of the chart to pixels."""

    def __init__(self, chart: Chart, wide: int) -> None:
        curves = (*chart.lines, *chart.ceilings)
        points = [point for curve in curves for point in curve.points]
        xs = [x for x, _y in points] + [x for x, _label in chart.x_ticks]
        ys = [y for _x, y in points if y is not None]
        self.chart, self.wide, self.high = chart, wide, _CHART_HIGH[wide]
        self.log_x = chart.log_x and min(xs) > 0
        self.log_y = chart.log_y and min(ys) > 0
        edge = 0.6 if chart.as_bars else 0.0
        self.xs = (min(xs) - edge, max(xs) + edge)
        self.ys = (0.0 if chart.from_zero and not self.log_y else min(ys), max(ys) * 1.04)

    def x(self, value: float) -> float:
        share = _share(value, *self.xs, logarithmic=self.log_x)
        return _LEFT + share * (self.wide - _LEFT - _CHART_RIGHT)

    def y(self, value: float) -> float:
        share = _share(value, *self.ys, logarithmic=self.log_y)
        return self.high - _CHART_BOTTOM - share * (self.high - _CHART_BOTTOM - _CHART_TOP)

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
    scenes = tuple(_chart_scene(_Plane(chart, wide)) for wide in (WIDE, NARROW))
    title = joined(", ", [chart.title, chart.unit])
    return FirstPicture(title, chart.alt, scenes, tuple(legend))


def _chart_scene(plane: _Plane) -> Scene:
    chart = plane.chart
    marks = list(_chart_axes(plane))
    for curve in chart.lines:
        marks += _bars(plane, curve) if chart.as_bars else _curve(plane, curve)
    for ceiling in chart.ceilings:
        marks += [
            line(plane.x(x1), plane.y(y1), plane.x(x2), plane.y(y2), "level")
            for (x1, y1), (x2, y2) in pairwise(ceiling.points)
            if y1 is not None and y2 is not None
        ]
    return Scene(plane.wide, plane.high, tuple(marks))


def _chart_axes(plane: _Plane) -> Iterator[Mark]:
    chart, bottom = plane.chart, plane.high - _CHART_BOTTOM
    for tick in plane.ticks():
        yield line(_LEFT, plane.y(tick), plane.wide - _CHART_RIGHT, plane.y(tick), "grid")
        yield words(_LEFT - 6, plane.y(tick) + 4, joined("", [f"{tick:,.6g}"]), "end")
    last = -math.inf
    for x, label in chart.x_ticks:
        half = len(label) * LETTER / 2
        if plane.x(x) - half > last and plane.x(x) + half <= plane.wide + _CHART_RIGHT:
            last = plane.x(x) + half + 6
            yield words(plane.x(x), bottom + TYPE + 4, label, "middle")
    yield words(plane.wide - _CHART_RIGHT, plane.high - 4, chart.x_label, "end")


def _curve(plane: _Plane, curve: Curve) -> Iterator[Mark]:
    look = f"look-{curve.place % LOOKS}"
    for run in _runs(curve):
        yield path([(plane.x(x), plane.y(y)) for x, y in run], f"line {look}")
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


def _title(curve: Curve, x: float, y: float, plane: _Plane) -> str:
    at = next((label for tick, label in plane.chart.x_ticks if tick == x), f"{x:g}")
    return titled(curve.label, at, joined(" ", [figure(y), plane.chart.unit]))


def _bars(plane: _Plane, curve: Curve) -> Iterator[Mark]:
    width = 0.8 / len(plane.chart.lines)
    number = plane.chart.lines.index(curve)
    for x, y in curve.points:
        if y is None:
            continue
        left, right = plane.x(x - 0.4 + width * number), plane.x(x - 0.4 + width * (number + 1))
        top, look = plane.y(y), f"fill look-{curve.place % LOOKS}"
        title = _title(curve, x, y, plane)
        yield rect(left, top, right - left - 1, plane.high - _CHART_BOTTOM - top, look, title=title)


# Strips


class _TimeRuler:
    """Converts a time to its x position, the same for all panels."""

    def __init__(self, strip: Strip, wide: int) -> None:
        xs = [x for panel in strip.panels for curve in panel.lines for x, _y in curve.points]
        xs += [x for band in strip.bands for x in (band.from_x, band.until_x)]
        self.wide, self.low, self.high = wide, min(0.0, *xs), max(xs)

    def __call__(self, value: float) -> float:
        share = (value - self.low) / ((self.high - self.low) or 1.0)
        return _LEFT + share * (self.wide - _LEFT - _STRIP_RIGHT)


def strip_picture(strip: Strip) -> FirstPicture:
    """All panels in the two widths, with the legend below."""
    legend = {
        curve.label: (f"line look-{curve.place % LOOKS}", curve.label)
        for panel in strip.panels
        for curve in panel.lines
        if curve.label
    }
    scenes = tuple(_strip_scene(strip, wide) for wide in (WIDE, NARROW))
    return FirstPicture(strip.title, strip.alt, scenes, tuple(legend.values()))


def _strip_scene(strip: Strip, wide: int) -> Scene:
    ruler, marks, top = _TimeRuler(strip, wide), list[Mark](), 0.0
    for panel in strip.panels:
        top += _PANEL_HEAD
        marks += _strip_panel(strip, panel, ruler, top)
        top += _PANEL_HIGH[wide]
    for tick in steps(ruler.low, ruler.high, _TICKS[wide]):
        marks.append(words(ruler(tick), top + TYPE + 4, joined("", [f"{tick:g}"]), "middle"))
    high = top + _STRIP_BOTTOM
    marks.append(words(wide - _STRIP_RIGHT, high - 4, strip.x_label, "end"))
    return Scene(wide, round(high), tuple(marks))


def _strip_panel(strip: Strip, panel: Panel, ruler: _TimeRuler, top: float) -> Iterator[Mark]:
    high = _PANEL_HIGH[ruler.wide]
    ys = [y for curve in panel.lines for _x, y in curve.points if y is not None]
    scale_end = _ABOVE * max(ys, default=0.0) or 1.0

    def level(value: float) -> float:
        return top + high * (1 - value / scale_end)

    title = joined(", ", [panel.title, panel.unit])
    yield words(2, top - 6, title, "strong", room=ruler.wide)
    for band in strip.bands:
        left, right = ruler(band.from_x), ruler(band.until_x)
        yield rect(left, top, right - left, high, "margin", title=band.label)
    for tick in steps(0, scale_end, 3):
        yield line(_LEFT, level(tick), ruler.wide - _STRIP_RIGHT, level(tick), "grid")
        yield words(_LEFT - 6, level(tick) + 4, joined("", [f"{tick:,.6g}"]), "end")
    if panel is strip.panels[0]:
        # A name of a band that would overlap the name before it is moved right.
        end = 0.0
        for band in strip.bands:
            half = len(band.label) * LETTER / 2
            middle = max((ruler(band.from_x) + ruler(band.until_x)) / 2, end + half)
            end = middle + half + 4
            yield words(min(middle, ruler.wide - half), top + TYPE + 1, band.label, "middle")
    for curve in panel.lines:
        look = f"look-{curve.place % LOOKS}"
        for x, y in () if curve.joined else curve.points:
            if y is not None:
                label = titled(curve.label, joined(" ", [figure(x), "s"]))
                yield dot(ruler(x), level(y), 3, f"dot {look}", title=label)
        for run in _runs(curve):
            yield path([(ruler(x), level(y)) for x, y in run], f"line {look}")
