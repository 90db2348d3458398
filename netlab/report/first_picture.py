"""The pictures at the top of the page: the rows of the answer, and the comparisons of the matrix.

They are lists of SVG elements (marks), in two widths. The page's content security policy allows no
inline styles: colours come from the style sheet, which has a light and a dark set.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from netlab.compare.align import Judged
from netlab.experiment.cells import Comparison
from netlab.messages import Message, _, joined, sentence_case
from netlab.report.answer import RunAnswer, conditions
from netlab.report.sections.comparisons import interval_words, words_of
from netlab.report.sections.effects import largest_sizes, means_words, term_words, where
from netlab.results.effects import KindEffects, axis_words, level_words
from netlab.stats import MARGIN
from netlab.stats.effects import Effects

MOST_ROWS = 14
_LOG_FROM = 8
"""Figures that differ by more than this factor are on a logarithmic axis."""
WIDE, NARROW = 620, 358
"""Widths in pixels: of a drawing next to the answers, and of a drawing on a phone."""

_TYPE = 12
"""Height of letters in pixels."""
_LETTER = 7.3
"""Mean width of a letter in pixels."""

_ROW_HIGH, _BELOW, _HEADING = 20, 38, 22


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
    legend: tuple[str, ...] = ()
    """What the marks mean."""


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


def _line(x1: float, y1: float, x2: float, y2: float, look: str) -> Mark:
    return _mark("line", look, {"x1": x1, "y1": y1, "x2": x2, "y2": y2})


def _words(x: float, y: float, text: str, look: str = "", *, room: float = 0) -> Mark:
    """A text in ``room`` pixels (0: no limit). If it is longer after translation, it is shortened
    in its middle, and shown in full when the pointer is over it.
    """
    most = max(3, int(room / _LETTER)) if room else 0
    return replace(_mark("text", look, {"x": x, "y": y}), words=text, most=most)


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
    legend: tuple[str, ...] = (),
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
        own = (row.middle, row.low, row.high)
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
        middle = y + high / 2
        if row.low is not None and row.high is not None:
            marks.append(_line(scale(row.low), middle, scale(row.high), middle, "whisker"))
        look = "point" if row.shown else "point hollow"
        dot = {"cx": scale(row.middle), "cy": middle, "r": 4.2}
        marks.append(_mark("circle", look, dot, title=row.description, cell=row.cell))
        y += high
    behind = list(_behind(scale, axis, y, wide))
    return Scene(wide, round(y + _BELOW), (*behind, *marks))


def _behind(scale: _Scale, axis: Axis, bottom: float, wide: int) -> Iterator[Mark]:
    if axis.margin is not None:
        low, high = (scale(min(max(end, scale.low), scale.high)) for end in axis.margin)
        band = {"x": low, "y": 0, "width": max(3, high - low), "height": max(bottom, 0)}
        yield _mark("rect", "margin", band)
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


def pictures(
    answer: RunAnswer, verdicts: Sequence[tuple[Comparison, Sequence[Judged]]]
) -> tuple[FirstPicture, ...]:
    """The picture of the first table with several rows, and the picture of the comparisons."""
    return (*_rows(answer), *_forest(verdicts))


def _rows(answer: RunAnswer) -> Iterator[FirstPicture]:
    """A row for each row of a table: its mean with its interval, or the range of its cells; as a
    share of the wire ceiling if all rows have one.
    """
    shown = next((one for one in answer.tables if len(one.rows) > 1), None)
    if shown is None:
        return
    of_wire = all(row.share is not None for row in shown.rows)
    rows = []
    for row in shown.rows:
        size = 100 * (row.share or 0.0) / row.mean if of_wire else 1 / shown.scale
        low, high = (end * size for end in row.ends or (row.mean, row.mean))
        if of_wire and len(row.places) > 1:  # each cell has a ceiling of its own
            shares = [100 * (place.share or 0.0) for place in row.places]
            low, high = min(shares), max(shares)
        label = conditions(shown.axes, row.places[0])
        words = titled(label, joined(" ", [shown.figure(row), shown.unit]))
        rows.append(
            IntervalRow(label, row.mean * size, low, high, description=words, cell=row.cell)
        )
    ends = [value for row in rows for value in (row.low, row.high) if value]
    logarithmic = bool(ends) and 0 < min(ends) < max(ends) / _LOG_FROM
    if of_wire:
        axis = Axis(_("% of the wire ceiling"), logarithmic=logarithmic, level=100.0)
    else:
        axis = Axis(shown.unit, logarithmic=logarithmic)
    title = _("{what}: means and ranges", what=sentence_case(shown.quantity))
    if not shown.means_of_cells:
        title = _("{title}; with 95 % intervals", title=shown.title)
    yield interval_picture(title, shown.title, rows, axis)


def effects_pictures(kinds: Sequence[KindEffects]) -> tuple[FirstPicture, ...]:
    """The shares of the settings and of their pairs; then, for each quantity, the means of the
    settings’ levels where they differ most.
    """
    known = [(kind, kind.effects) for kind in kinds if kind.effects is not None]
    if not known:
        return ()
    rows, means = [], []
    for kind, effects in known:
        rows.append(IntervalRow(kind.heading))
        for term in (term for term in effects.terms if term.degrees):
            ends = [None if end is None else 100 * end for end in (term.low, term.high)]
            rows.append(IntervalRow(term_words(term, kind), 100 * term.share, ends[0], ends[1]))
        if not (levels := [*_level_rows(effects)]):
            continue
        words = {"what": kind.heading, "means": means_words(effects)}
        title = _("{what}: {means} of the settings’ values", **words)
        axis = Axis(kind.unit, logarithmic=effects.logarithmic)
        means.append(interval_picture(title, title, levels, axis))
    title = _("What explains the differences, with 95 % intervals if cells have repeats")
    shares = interval_picture(title, title, rows, Axis(_("% of the variation")))
    return (shares, *means)


def _level_rows(effects: Effects) -> Iterator[IntervalRow]:
    for size in largest_sizes(effects):
        yield IntervalRow(joined(", ", filter(None, [axis_words(size.axis), where(size)])))
        for level, (middle, *ends) in size.means.items():
            yield IntervalRow(level_words(size.axis, level), middle, *(ends or (None, None)))


def _forest(verdicts: Sequence[tuple[Comparison, Sequence[Judged]]]) -> Iterator[FirstPicture]:
    """A row with ratio and interval for each pair of cells and quantity."""
    rows: list[IntervalRow] = []
    count = total = 0
    for comparison, pairs in verdicts:
        interval_pairs = [pair for pair in pairs if pair.verdict.low and pair.verdict.high]
        for quantity in dict.fromkeys(pair.aligned.quantity for pair in interval_pairs):
            group = [pair for pair in interval_pairs if pair.aligned.quantity is quantity]
            total += len(group)
            if rows and len(rows) + len(group) >= MOST_ROWS + 6:
                continue
            count += len(group)
            rows.append(IntervalRow(titled(comparison.name, quantity.name)))
            for pair in group:
                verdict, own = pair.verdict, pair.aligned
                row = IntervalRow(
                    *(own.label, verdict.ratio, verdict.low, verdict.high),
                    shown=verdict.verdict == "different",
                    description=titled(own.label, words_of(pair), interval_words(verdict)),
                    cell=own.cells[1],
                )
                rows.append(row)
    if not rows:
        return
    margin = 1 / (1 + MARGIN), 1 + MARGIN
    label = _("ratio, contender to baseline; shaded: equivalent")
    axis = Axis(label, logarithmic=True, level=1.0, margin=margin)
    title = _("Comparisons: ratio, 95 % interval")
    if count < total:
        counts = {"shown": str(count), "all": str(total)}
        title = _("{title} ({shown} of {all})", title=title, **counts)
    meaning = _("Filled: different, corrected for all comparisons. Hollow: no difference shown.")
    if not any(row.shown for row in rows if row.middle is not None):
        meaning = _("Hollow: no difference shown.")
    description = joined(". ", [title, meaning])
    yield interval_picture(title, description, rows, axis, (meaning,))
