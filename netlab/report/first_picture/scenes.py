"""Pictures at the top of the page as lists of SVG elements (marks), in two widths.

The page's content security policy allows no inline styles. Colours come from the style sheet,
which has a light and a dark set.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, pairwise

from netlab.messages import Message, _, joined
from netlab.report.tables.elements import Chart, Curve, Panel, Strip
from netlab.results.labels import figure

WIDE, NARROW = 620, 358
"""Widths in pixels: of a drawing next to the answers, and of a drawing on a phone."""

_TYPE = 12
"""Height of letters in pixels."""
_LETTER = 7.3
"""Mean width of a letter in pixels."""

LOOKS = 6
"""Number of different looks of lines and bars, see page.css."""


_BOUNDS = (10, 25, 50, 75, 90, 95, 98)
"""Percentages of the wire ceiling (the highest payload rate of the link), or of the highest figure,
at which a colour begins. Steps are finer near 100 %, where most figures are."""
_BLANK = "blank-spot"
_INSIDE = "inside-spot"
_GAP, _TITLE, _MOST_HIGH = 14, 20, {WIDE: 400, NARROW: 250}
_PANELS_ABREAST = 2
_ROW_HIGH, _BELOW, _HEADING = 20, 38, 22
_CHART_HIGH = {WIDE: 320, NARROW: 230}
_LEFT, _CHART_RIGHT, _CHART_TOP, _CHART_BOTTOM = 46, 20, 12, 40
_PANEL_HIGH = {WIDE: 128, NARROW: 104}
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


def _mark(
    tag: str,
    look: str,
    places: dict[str, float],
    *further: tuple[str, str],
    title: str = "",
    cell: str = "",
) -> Mark:
    """An element of a style class (``look``, or none), at places in pixels."""
    attributes = [("class", look)] if look else []
    attributes += ((name, _short(value)) for name, value in places.items())
    return Mark(tag, (*attributes, *further), title=title, cell=cell)


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _rect(
    x: float, y: float, wide: float, high: float, look: str, *, title: str = "", cell: str = ""
) -> Mark:
    places = {"x": x, "y": y, "width": max(wide, 0), "height": max(high, 0)}
    return _mark("rect", look, places, title=title, cell=cell)


def _line(x1: float, y1: float, x2: float, y2: float, look: str) -> Mark:
    return _mark("line", look, {"x1": x1, "y1": y1, "x2": x2, "y2": y2})


def _dot(x: float, y: float, radius: float, look: str, *, title: str = "", cell: str = "") -> Mark:
    return _mark("circle", look, {"cx": x, "cy": y, "r": radius}, title=title, cell=cell)


def _words(
    x: float, y: float, text: str, look: str = "", *, room: float = 0, slant: bool = False
) -> Mark:
    """A text, level or rising to the right, in ``room`` pixels (0: no limit): if it is longer after
    translation, it is shortened in its middle, and shown in full when the pointer is over it.
    """
    turn = [("transform", f"rotate(-50 {_short(x)} {_short(y)})")] if slant else []
    most = max(3, int(room / _LETTER)) if room else 0
    return replace(_mark("text", look, {"x": x, "y": y}, *turn), words=text, most=most)


def titled(*parts: str) -> Message:
    """A head and its further parts as one text, such as ``LL, TCP 64: 88.35 Mbit/s``."""
    head, *rest = [part for part in parts if part]
    return joined(": ", [head, joined(", ", rest)]) if rest else joined("", [head])


def _steps(low: float, high: float, count: int) -> list[float]:
    """About ``count`` round numbers from ``low`` to ``high``."""
    raw = (high - low or 1) / max(1, count)
    power = 10.0 ** int(f"{raw:e}".partition("e")[2])
    step = next(n * power for n in (1, 2, 5, 10) if n * power >= raw * 0.999)
    first = -(-low // step)
    return [(first + n) * step for n in range(int((high - first * step) / step + 1e-9) + 1)]


# Heat maps


@dataclass(frozen=True, slots=True)
class Spot:
    """One place (coloured square): its figure, or the reason why it has no figure."""

    percent: float | None
    """Of the wire ceiling or of the highest value: it decides the colour; ``None`` if blank."""
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


def _look_of(spot: Spot) -> str:
    """The style class of a place: one of eight colours, hatched, or inside one machine."""
    if spot.inside:
        return _INSIDE
    if spot.percent is None:
        return _BLANK
    return f"heat-{sum(spot.percent >= bound for bound in _BOUNDS)}"


def heat_picture(title: str, panels: Sequence[HeatPanel], *, of_what: str) -> FirstPicture:
    """The panels, two in a row, with a legend of the colours."""
    bounds = ("0", *map(str, _BOUNDS))
    legend = [(f"heat-{index}", bound) for index, bound in enumerate(bounds)]
    every = [spot for panel in panels for row in panel.spots for spot in row if spot is not None]
    if any(_look_of(spot) == _BLANK for spot in every):
        legend.append((_BLANK, _("no figure: point at it to see why")))
    if any(spot.inside for spot in every):
        legend.append((_INSIDE, _("within one machine")))
    return FirstPicture(
        title,
        _("Heat map: {title}. The tables contain the same figures.", title=title),
        tuple(_heat_scene(panels, wide) for wide in (WIDE, NARROW)),
        ((("", of_what), *legend) if of_what else tuple(legend)),
    )


def _heat_scene(panels: Sequence[HeatPanel], wide: int) -> Scene:
    """The panels; the lowest of panels with the same columns has the columns' names."""
    abreast = min(_PANELS_ABREAST, len(panels))
    deep = -(-len(panels) // abreast)
    longest = max(len(row) for panel in panels for row in panel.rows)
    margin = min(longest * _LETTER + 8, wide * 0.27)
    panel_wide = (wide - margin - _GAP * (abreast - 1)) / abreast
    widest = max(len(panel.columns) for panel in panels)
    longest = max(len(column) for panel in panels for column in panel.columns)
    slant = longest * _LETTER > panel_wide / widest
    below = (min(16, longest) * _LETTER * 0.77 + 12) if slant else 18
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
                for row in range(0, len(panel.rows), max(1, round(_TYPE / row_high + 0.49))):
                    y = top + _TITLE + (row + 0.5) * row_high + 4
                    marks.append(_words(margin - 6, y, panel.rows[row], "end", room=margin - 6))
            lower = panels[start + at + abreast :][:1]
            if lower and lower[0].columns == panel.columns:
                continue
            bottom = top + _TITLE + row_high * len(panel.rows)
            for number, column in enumerate(panel.columns):
                middle = x + (number + 0.5) * (panel_wide / len(panel.columns))
                marks.append(
                    _words(middle + 4, bottom + 10, column, "end", room=100, slant=True)
                    if slant
                    else _words(middle, bottom + _TYPE + 1, column, "middle")
                )
        top += _TITLE + row_high * max(len(panel.rows) for panel in line)
        top += below if start // abreast in parted else 0
    return Scene(wide, round(top + below), tuple(marks))


def _heat_panel(
    panel: HeatPanel, x: float, top: float, wide: float, row_high: float, *, with_titles: bool
) -> Iterator[Mark]:
    step = wide / len(panel.columns)
    yield _words(x, top + _TYPE + 1, panel.title, "strong", room=wide)
    for down, row in enumerate(panel.spots):
        for across, spot in enumerate(row):
            if spot is None:
                continue
            look, y = _look_of(spot), top + _TITLE + down * row_high
            title, cell = spot.description if with_titles else "", spot.cell
            yield _rect(x + across * step, y, step - 1, row_high - 1, look, title=title, cell=cell)
            fits = len(spot.words) * _LETTER <= step - 2
            if spot.words and fits and row_high >= _TYPE + 2:
                ink = f"middle on-{look}"
                yield _words(x + (across + 0.5) * step, y + row_high / 2 + 4, spot.words, ink)


@dataclass(frozen=True, slots=True)
class _Scale:
    """Converts values from ``low`` to ``high`` to pixels from ``start`` to ``end``."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        low, high = self.low, self.high
        if self.logarithmic:
            value, low, high = (math.log(number) for number in (value, low, high))
        share = 0.5 if high == low else (value - low) / (high - low)
        return self.start + share * (self.end - self.start)

    def round_numbers(self, *multiples: int) -> list[float]:
        """The values between the ends that are so many times a power of ten."""
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        numbers = (multiple * 10.0**decade for decade in decades for multiple in multiples)
        return [number for number in numbers if self.low <= number <= self.high]


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
    shown: bool = True
    """Whether a comparison's difference is significant; if not, the point is hollow."""
    description: str = ""
    cell: str = ""


@dataclass(frozen=True, slots=True)
class Axis:
    """The x axis, which all rows share."""

    label: str
    logarithmic: bool = False
    level: float | None = None
    """A vertical line through all rows: the wire ceiling, or the ratio 1 (no difference)."""
    margin: tuple[float, float] | None = None
    """The range of ratios that count as equivalent; it is shaded."""


def interval_picture(
    title: str,
    description: str,
    rows: Sequence[IntervalRow],
    axis: Axis,
    legend: tuple[tuple[str, str], ...] = (),
) -> FirstPicture:
    """The rows from top to bottom; the axis includes all of their values."""
    scenes = tuple(_interval_scene(rows, axis, wide) for wide in (WIDE, NARROW))
    return FirstPicture(title, description, scenes, legend)


def _interval_scene(rows: Sequence[IntervalRow], axis: Axis, wide: int) -> Scene:
    longest = max(len(row.label) for row in rows if row.middle is not None)
    above = longest * _LETTER > wide * (0.3 if wide == NARROW else 0.5)
    high = _ROW_HIGH - 4 if above else _ROW_HIGH
    margin = 8 if above else min(longest * _LETTER + 12, wide * 0.52)
    values = [] if axis.level is None else [axis.level]
    for row in rows:
        own = (row.middle, row.low, row.high, *(row.inner or ()), *row.dots)
        values += [value for value in own if value is not None]
    least, most = min(values), max(values)
    edge = 0.04 * (most - least) or 1.0
    ends = (least / 1.08, most * 1.08) if axis.logarithmic else (least - edge, most + edge)
    scale = _Scale(*ends, margin, wide - 14, logarithmic=axis.logarithmic)
    marks: list[Mark] = []
    y = 2.0
    for row in rows:
        if row.middle is None:
            marks.append(_words(2, y + _TYPE + 2, row.label, "strong halo", room=wide))
            y += _HEADING
            continue
        at = (2, y + _TYPE) if above else (margin - 10, y + _ROW_HIGH / 2 + 4)
        look = "halo" if above else "end"
        marks.append(_words(*at, row.label, look, room=wide if above else margin - 10))
        y += _TYPE + 1 if above else 0
        middle, (title, cell) = y + high / 2, (row.description, row.cell)
        if row.low is not None and row.high is not None:
            marks.append(_line(scale(row.low), middle, scale(row.high), middle, "whisker"))
        if row.inner is not None:
            low, far = map(scale, row.inner)
            marks.append(_rect(low, middle - 5, far - low, 10, "box", title=title, cell=cell))
        marks += [_dot(scale(value), middle, 2.2, "trial-dot") for value in row.dots]
        look = "point" if row.shown else "point hollow"
        marks.append(_dot(scale(row.middle), middle, 4.2, look, title=title, cell=cell))
        y += high
    behind = list(_behind(scale, axis, y, wide))
    return Scene(wide, round(y + _BELOW), (*behind, *marks))


def _behind(scale: _Scale, axis: Axis, bottom: float, wide: int) -> Iterator[Mark]:
    if axis.margin is not None:
        low, high = (scale(min(max(end, scale.low), scale.high)) for end in axis.margin)
        yield _rect(low, 0, max(3, high - low), bottom, "margin")
    count = 4 if wide == NARROW else 6
    if axis.logarithmic:
        ticks = scale.round_numbers(1, 2, 5)
        ticks = ticks[:: max(1, -(-len(ticks) // (count + 1)))]
    else:
        ticks = _steps(scale.low, scale.high, count)
    for tick in ticks:
        yield _line(scale(tick), 0, scale(tick), bottom, "grid")
        yield _words(scale(tick), bottom + _TYPE + 2, joined("", [f"{tick:g}"]), "middle")
    if axis.level is not None:
        yield _line(scale(axis.level), 0, scale(axis.level), bottom, "level")
    yield _words(scale.end, bottom + 2 * _TYPE + 8, axis.label, "end")


# Charts


def chart_picture(chart: Chart) -> FirstPicture:
    """The chart in both widths, with its legend."""
    legend = [(f"line {_look(curve)}", curve.label) for curve in chart.lines]
    legend += [("level", curve.label) for curve in chart.ceilings[:1]]
    scenes = tuple(_chart_scene(chart, wide) for wide in (WIDE, NARROW))
    title = joined(", ", [chart.title, chart.unit])
    return FirstPicture(title, chart.alt, scenes, tuple(legend))


def _chart_scene(chart: Chart, wide: int) -> Scene:
    points = [point for curve in (*chart.lines, *chart.ceilings) for point in curve.points]
    xs = [x for x, _y in points] + [x for x, _label in chart.x_ticks]
    ys = [y for _x, y in points if y is not None]
    edge, right = 0.6 if chart.as_bars else 0.0, wide - _CHART_RIGHT
    log_x, log_y = chart.log_x and min(xs) > 0, chart.log_y and min(ys) > 0
    x_of = _Scale(min(xs) - edge, max(xs) + edge, _LEFT, right, logarithmic=log_x)
    high, bottom = _CHART_HIGH[wide], _CHART_HIGH[wide] - _CHART_BOTTOM
    least = 0.0 if chart.from_zero and not log_y else min(ys)
    y_of = _Scale(least, max(ys) * 1.04, bottom, _CHART_TOP, logarithmic=log_y)
    marks: list[Mark] = []
    for tick in y_of.round_numbers(1) if log_y else _steps(y_of.low, y_of.high, 5):
        marks.append(_line(_LEFT, y_of(tick), right, y_of(tick), "grid"))
        marks.append(_words(_LEFT - 6, y_of(tick) + 4, joined("", [f"{tick:,.6g}"]), "end"))
    last = -math.inf
    for x, label in chart.x_ticks:
        half = len(label) * _LETTER / 2
        if x_of(x) - half > last and x_of(x) + half <= wide + _CHART_RIGHT:
            last = x_of(x) + half + 6
            marks.append(_words(x_of(x), bottom + _TYPE + 4, label, "middle"))
    marks.append(_words(right, high - 4, chart.x_label, "end"))
    for number, curve in enumerate(chart.lines):
        draw = partial(_bars, number) if chart.as_bars else _curve
        marks += draw(chart, curve, x_of, y_of)
    for ceiling in chart.ceilings:
        marks += [
            _line(x_of(x1), y_of(y1), x_of(x2), y_of(y2), "level")
            for (x1, y1), (x2, y2) in pairwise(ceiling.points)
            if y1 is not None and y2 is not None
        ]
    return Scene(wide, high, tuple(marks))


def _curve(chart: Chart, curve: Curve, x_of: _Scale, y_of: _Scale) -> Iterator[Mark]:
    yield from _runs(curve, x_of, y_of)
    many = len(curve.points) > 40
    halves = curve.half_widths or (None,) * len(curve.points)
    for (x, y), half in zip(curve.points, halves, strict=False):
        if y is None:
            continue
        if half is not None:
            low, high = y_of(max(y_of.low, y - half)), y_of(y + half)
            yield _line(x_of(x), low, x_of(x), high, f"whisk {_look(curve)}")
        if not (many and curve.joined):
            title = _title(chart, curve, x, y)
            yield _dot(x_of(x), y_of(y), 3, f"dot {_look(curve)}", title=title)


def _bars(number: int, chart: Chart, curve: Curve, x_of: _Scale, y_of: _Scale) -> Iterator[Mark]:
    width = 0.8 / len(chart.lines)
    for x, y in curve.points:
        if y is not None:
            left, right = (x_of(x - 0.4 + width * n) for n in (number, number + 1))
            top, look = y_of(y), f"fill {_look(curve)}"
            title = _title(chart, curve, x, y)
            yield _rect(left, top, right - left - 1, y_of.start - top, look, title=title)


def _runs(curve: Curve, x_of: _Scale, y_of: _Scale) -> Iterator[Mark]:
    """The parts of a joined curve without a gap, each as one line."""
    for known, run in groupby(curve.points, lambda point: point[1] is not None):
        places = [(x_of(x), y_of(y)) for x, y in run if y is not None]
        if curve.joined and known and len(places) > 1:
            joints = " ".join(f"{_short(x)},{_short(y)}" for x, y in places)
            yield _mark("polyline", f"line {_look(curve)}", {}, ("points", joints))


def _look(curve: Curve) -> str:
    return f"look-{curve.place % LOOKS}"


def _title(chart: Chart, curve: Curve, x: float, y: float) -> str:
    at = next((label for tick, label in chart.x_ticks if tick == x), f"{x:g}")
    return titled(curve.label, at, joined(" ", [figure(y), chart.unit]))


# Strips


def strip_picture(strip: Strip) -> FirstPicture:
    """All panels in the two widths, with the legend below."""
    curves = [curve for panel in strip.panels for curve in panel.lines]
    legend = {c.label: (f"line {_look(c)}", c.label) for c in curves if c.label}
    xs = [x for curve in curves for x, _y in curve.points]
    xs += [x for band in strip.bands for x in (band.from_x, band.until_x)]
    scenes = []
    for wide in (WIDE, NARROW):
        x_of = _Scale(min(0.0, *xs), max(xs), _LEFT, wide - _STRIP_RIGHT)
        marks, top = list[Mark](), 0.0
        for panel in strip.panels:
            top += _PANEL_HEAD
            marks += _strip_panel(strip, panel, x_of, top, wide)
            top += _PANEL_HIGH[wide]
        for tick in _steps(x_of.low, x_of.high, _TICKS[wide]):
            marks.append(_words(x_of(tick), top + _TYPE + 4, joined("", [f"{tick:g}"]), "middle"))
        high = top + _STRIP_BOTTOM
        marks.append(_words(x_of.end, high - 4, strip.x_label, "end"))
        scenes.append(Scene(wide, round(high), tuple(marks)))
    return FirstPicture(strip.title, strip.alt, tuple(scenes), tuple(legend.values()))


def _strip_panel(strip: Strip, panel: Panel, x_of: _Scale, top: float, wide: int) -> Iterator[Mark]:
    high = _PANEL_HIGH[wide]
    ys = [y for curve in panel.lines for _x, y in curve.points if y is not None]
    y_of = _Scale(0.0, _ABOVE * max(ys, default=0.0) or 1.0, top + high, top)
    title = joined(", ", [panel.title, panel.unit])
    yield _words(2, top - 6, title, "strong", room=wide)
    for band in strip.bands:
        left, right = x_of(band.from_x), x_of(band.until_x)
        yield _rect(left, top, right - left, high, "margin", title=band.label)
    for tick in _steps(0, y_of.high, 3):
        yield _line(_LEFT, y_of(tick), x_of.end, y_of(tick), "grid")
        yield _words(_LEFT - 6, y_of(tick) + 4, joined("", [f"{tick:,.6g}"]), "end")
    if panel is strip.panels[0]:
        # A name of a band that would overlap the name before it is moved right.
        end = 0.0
        for band in strip.bands:
            half = len(band.label) * _LETTER / 2
            middle = max((x_of(band.from_x) + x_of(band.until_x)) / 2, end + half)
            end = middle + half + 4
            yield _words(min(middle, wide - half), top + _TYPE + 1, band.label, "middle")
    for curve in panel.lines:
        for x, y in () if curve.joined else curve.points:
            if y is not None:
                label = titled(curve.label, joined(" ", [figure(x), "s"]))
                yield _dot(x_of(x), y_of(y), 3, f"dot {_look(curve)}", title=label)
        yield from _runs(curve, x_of, y_of)
