"""The answer of a run: a verdict for each kind of test, tables of few rows, what to doubt.

It is one object, made from the records by rule: a terminal, the page and a program show the same.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from netlab.experiment.hosts import is_by_name, labels_of
from netlab.findings.finding import Kind
from netlab.findings.stream_limits import FILLED, FILLED_BOTH_WAYS
from netlab.kinds.throughput_search.tables import limit_words
from netlab.messages import Message, _, counted, joined, sentence_case
from netlab.report.tables.elements import AnswerLine, Table, table
from netlab.report.text.phrases import (
    listed,
    percentile_words,
    rate_unit,
    rise_words,
    spanned,
    throughput,
    with_interval,
)
from netlab.report.text.summary import NAME, doubts
from netlab.results.ceilings import flow_ceiling
from netlab.results.labels import SYSTEMS, figure, setting, setting_name, setting_value
from netlab.results.layout import LevelValue
from netlab.results.quantities import quantities_of
from netlab.stats import MIN_TRIALS, interval, mean
from netlab.trial.column import THROUGHPUTS, Quantity
from netlab.trial.figures import WHOLE, FigureColumn, Shown, pooled, results_of
from netlab.trial.record import FLOWS, PREFIXES, Record, by_cell, grouped, server_sends

if TYPE_CHECKING:
    from netlab.findings.analysis import Analysis

MOST_ROWS = 8
"""Maximum number of rows of all tables of an answer together."""
MOST_WARNINGS = 3
MOST_WORDS = 20
"""Maximum number of words of a verdict: it names fewer conditions if it would have more."""
LEAST_SHARE = 0.01
"""Least share of the variation that an axis explains if it distinguishes rows of a table that has
no room for all cells."""

_FULL = 0.995
"""A rate without loss of at least this share of the line rate counts as the line rate: by default a
search tries rates in steps of 0.5 % of it."""
_ALIKE = 0.005
"""Shares of the ceiling that differ by less than this have one sentence."""

_WAY, _FLOW, _INSIDE = "way", "flow", "inside"
_WORDED = (_WAY, _FLOW, _INSIDE)
"""Axes that are no settings: their levels are texts for a reader."""
_APART = ("protocol", "engine", _INSIDE)
"""Axes over which there is no mean: their levels are different things."""
_SECTIONS = {"payload_search": "payload", "throughput_search": "rate-without-loss"}
"""Kind of test → anchor of its section on the page; else its name with hyphens."""
_CABLE = _("over a cable")
_RATE = THROUGHPUTS[""].name


@dataclass(frozen=True)
class AnswerCell:
    """The trials of one cell for one quantity and direction of the data."""

    trials: Sequence[Record]
    quantity: Quantity
    flow: str
    """A name of ``FLOWS``."""
    values: Sequence[float]
    """The figures of the trials with a result, in the quantity's unit."""
    ceiling: float | None
    """The wire ceiling in the quantity's unit; ``None`` if there is none, or it is not known."""
    levels: Mapping[str, LevelValue]
    """Axis → the cell's value on it."""

    @property
    def cell(self) -> str:
        """Key of the cell."""
        return self.trials[0].cell

    @cached_property
    def mean(self) -> float:
        """The mean of the trials."""
        return mean(self.values)

    @property
    def share(self) -> float | None:
        """The mean as a share of the wire ceiling."""
        return None if self.ceiling is None else self.mean / self.ceiling


@dataclass(frozen=True, slots=True)
class RowLimit:
    """What limits most trials of a row."""

    words: str = ""
    """The limit; "unknown" or "several"; empty: the quantity has none."""
    advice: str = ""
    """What to change; of an unknown limit, why it is unknown, and what would make it known."""
    known: bool = False


@dataclass(frozen=True)
class AnswerRow:
    """The cells that agree in the levels of the table's axes."""

    levels: tuple[str, ...]
    places: Sequence[AnswerCell]
    limit: RowLimit

    @cached_property
    def mean(self) -> float:
        """The mean of the cells' means, each cell with equal weight."""
        return mean([place.mean for place in self.places])

    @property
    def cell(self) -> str:
        """Key of its only cell; empty if it has several."""
        return self.places[0].cell if len(self.places) == 1 else ""

    @property
    def trials(self) -> int:
        """Number of trials with a result."""
        return sum(len(place.values) for place in self.places)

    @cached_property
    def ends(self) -> tuple[float, float] | None:
        """Of one cell the 95 % interval of its mean (Student's t), of several the lowest and the
        highest mean; ``None`` if one cell has fewer than three trials.
        """
        if len(self.places) > 1:
            means = [place.mean for place in self.places]
            return min(means), max(means)
        if len(self.places[0].values) < MIN_TRIALS:
            return None
        return _interval_of(self.places[0])

    @cached_property
    def share(self) -> float | None:
        """The mean of the cells' shares of the wire ceiling; ``None`` if any cell has none."""
        shares = [place.share for place in self.places]
        known = [share for share in shares if share is not None]
        return mean(known) if len(known) == len(shares) else None


@dataclass(frozen=True)
class AnswerTable:
    """The rows about one kind of test and quantity."""

    test: str
    quantity: str
    unit: str
    scale: float
    """Size of ``unit`` in the quantity's unit."""
    axes: tuple[str, ...]
    averaged: tuple[str, ...]
    """Axes over whose levels rows are means."""
    rows: Sequence[AnswerRow]
    left_out: int
    """Number of rows with higher figures that are not among ``rows``."""

    def figure(self, row: AnswerRow) -> str:
        """The mean, with its interval or with the lowest and the highest cell; without unit."""
        value, ends = row.mean / self.scale, row.ends
        if ends is None:
            return self.digits(value, 4)
        low, high = (end / self.scale for end in ends)
        if len(row.places) == 1:
            return with_interval(value, (high - low) / 2)
        span = spanned(self.digits(low), self.digits(high))
        return joined("", [self.digits(value), " (", span, ")"])

    def digits(self, value: float, number: int = 3) -> str:
        """A figure with so many significant digits; all digits before the decimal marker."""
        if not value or self._is_whole:
            return figure(value, 0)
        return figure(value, max(0, number - 1 - math.floor(math.log10(abs(value)))))

    @cached_property
    def _is_whole(self) -> bool:
        """Whether all figures are whole numbers, such as payloads in bytes."""
        cells = (place for row in self.rows for place in row.places)
        return self.quantity != _RATE and all(place.mean.is_integer() for place in cells)

    @cached_property
    def sheet(self) -> Table:
        """The table for every writer; without columns that would be empty in all rows."""
        columns: list[FigureColumn[AnswerRow]] = [
            *(
                FigureColumn(_axis_name(axis), _level_of(n))
                for n, axis in enumerate(self.axes)
                if n
            ),
            FigureColumn(self.unit, self._shown, self.unit),
            FigureColumn(_("n"), lambda row: row.trials, decimals=WHOLE),
            FigureColumn(_("% of wire"), _share_of, "%", 1),
            FigureColumn(_("limited by"), lambda row: row.limit.words),
        ]
        shown = [column for column in columns if any(map(column.shows, self.rows))]
        rows = [
            (row.levels[0] if row.levels else _level_words(_WAY, row.places[0]), row.cell, row)
            for row in self.rows
        ]
        return table(self.title, _axis_name(self.axes[0] if self.axes else _WAY), shown, rows)

    @property
    def title(self) -> Message:
        """The quantity, over which axes it is a mean, and how many rows are left out."""
        parts = [sentence_case(self.quantity)]
        if self.means_of_cells:
            axes = listed(map(_axis_name, self.averaged))
            parts.append(_("means over {axes} (lowest to highest cell)", axes=axes))
        if self.left_out:
            parts.append(
                counted(
                    "without {number} row that is higher",
                    "without {number} rows that are higher",
                    self.left_out,
                )
            )
        return joined("; ", parts)

    @property
    def means_of_cells(self) -> bool:
        """Whether any row has several cells."""
        return any(len(row.places) > 1 for row in self.rows)

    def _shown(self, row: AnswerRow) -> Shown:
        return Shown(row.mean / self.scale, text=self.figure(row), cell=row.cell)


def _level_of(number: int) -> Callable[[AnswerRow], str]:
    return lambda row: row.levels[number]


def _share_of(row: AnswerRow) -> float | None:
    return None if row.share is None else 100 * row.share


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """The answer of a run, the most important first."""

    verdicts: tuple[AnswerLine, ...]
    """One sentence for each kind of test and quantity, of at most ``MOST_WORDS`` words."""
    tables: tuple[AnswerTable, ...]
    warnings: tuple[AnswerLine, ...]
    """That a figure is not what it seems, or that cells have none."""

    @property
    def advices(self) -> tuple[Message, ...]:
        """What to change for each limit of a row."""
        limits = dict.fromkeys(row.limit for shown in self.tables for row in shown.rows)
        return tuple(
            _("{limit}: {advice}.", limit=sentence_case(limit.words), advice=limit.advice)
            for limit in limits
            if limit.advice
        )


def answer_of(run: Analysis) -> RunAnswer:
    """The answer of a run; without any result it has warnings only."""
    families = grouped(_places(run), lambda place: (place.trials[0].test, _family(place)))
    limits, room = _Limits(run), max(1, MOST_ROWS // max(1, len(families)))
    tables, verdicts = [], []
    for (test, family), places in families.items():
        shown = _table(test, family, places, limits, room)
        tables.append(shown)
        verdicts.append(_verdict(shown, places, limits))
    verdicts += _lost_under_load(run)
    warnings = [AnswerLine(sentence, cells, NAME) for sentence, cells in doubts(run)]
    return RunAnswer(tuple(verdicts), tuple(tables), tuple(warnings[:MOST_WARNINGS]))


# ---- figures of cells


def _places(run: Analysis) -> Iterator[AnswerCell]:
    ceilings = {
        (sample.cell, sample.flow): sample.ceiling_bit_per_s
        for sample in run.samples
        if not sample.same_host
    }
    prefixes = {quantity: prefix for prefix, quantity in THROUGHPUTS.items()}
    link = run.plan.link
    for cell, trials in by_cell(run.trials).items():
        if not (results := results_of(trials)):
            continue
        first, test = results[0], trials[0].test
        for quantity in quantities_of(first):
            flow = FLOWS[prefixes.get(quantity, "")]
            values = [v for record in results if (v := quantity.in_unit(record)) is not None]
            if values:
                most = ceilings.get((cell, flow)) if quantity in prefixes else None
                if test != "stream" and quantity in prefixes and link and not first.same_host:
                    own = first.flow(prefixes[quantity])
                    most = flow_ceiling(first.settings, own, link, link.mtu_bytes, highest=False)
                if line_share := first.number("line_share"):
                    most = (quantity.of(first) or 0) / line_share
                ceiling = None if most is None else most / quantity.scale
                yield AnswerCell(trials, quantity, flow, values, ceiling, _levels(first, flow))


def _levels(record: Record, flow: str) -> dict[str, LevelValue]:
    settings = {n: v for n, v in record.settings.items() if n not in ("pairing", "direction")}
    direction = flow or setting_value("direction", record.settings.get("direction"))
    server, client = labels_of(record.pairing)
    inside = record.same_host or (server == client and is_by_name(record.pairing))
    path = _("within one host") if inside else _CABLE
    return {_WAY: way_of(record, flow), _INSIDE: path, _FLOW: direction, **settings}


def way_of(record: Record, flow: str = "") -> Message:
    """Sender and receiver of data or requests: ``linux-b to linux-a``; by letters ``Windows to
    Linux``.
    """
    server, client = labels_of(record.pairing)
    if not is_by_name(record.pairing):
        server, client = SYSTEMS.get(server, server), SYSTEMS.get(client, client)
    by_server = server_sends(record.settings, PREFIXES[flow])
    ends = (server, client) if by_server else (client, server)
    return _("{sender} to {receiver}", sender=ends[0], receiver=ends[1])


def _family(place: AnswerCell) -> str:
    """The quantity, whichever the direction of the data."""
    return _RATE if place.quantity in THROUGHPUTS.values() else place.quantity.name


# ---- rows


def _table(
    test: str, family: str, places: Sequence[AnswerCell], limits: _Limits, room: int
) -> AnswerTable:
    axes = _axes(places, room)
    groups = grouped(places, lambda place: tuple(_level_words(axis, place) for axis in axes))
    rows = [AnswerRow(levels, own, limits.of(own)) for levels, own in groups.items()]
    left_out = max(0, len(rows) - room)
    if left_out:
        rows = sorted(rows, key=lambda row: row.mean)[:room]
    unit, scale = places[0].quantity.unit, 1.0
    if family == _RATE:
        unit, size_bit_per_s = rate_unit(1e6 * max(row.mean for row in rows))
        scale = size_bit_per_s / 1e6
    averaged = [axis for axis in _varying(places) if axis not in axes]
    averaged = [axis for axis in averaged if any(len(_varied(axis, r.places)) > 1 for r in rows)]
    return AnswerTable(test, family, unit, scale, axes, tuple(averaged), rows, left_out)


def _level_words(axis: str, place: AnswerCell) -> str:
    value = place.levels.get(axis)
    return cast(str, value) if axis in _WORDED else setting_value(axis, value)


def _axis_name(axis: str) -> str:
    own = {_WAY: _("sender to receiver"), _INSIDE: _("path"), _FLOW: _("direction")}
    own["message_bytes"] = _("message, bytes")
    return own[axis] if axis in own else setting_name(axis)


def _varied(axis: str, places: Iterable[AnswerCell]) -> set[str]:
    return {str(place.levels.get(axis)) for place in places}


def _varying(places: Sequence[AnswerCell]) -> list[str]:
    axes = dict.fromkeys(axis for place in places for axis in place.levels)
    return [axis for axis in axes if len(_varied(axis, places)) > 1]


def _axes(places: Sequence[AnswerCell], room: int) -> tuple[str, ...]:
    """The axes of a table: those that explain most, as long as there is room for their levels."""
    varying, few = _varying(places), len(places) <= room
    shares = {axis: _explained(places, axis) for axis in varying if axis not in _APART}
    chosen = [axis for axis in varying if axis in _APART]

    def rows_with(axes: Sequence[str]) -> int:
        return len({tuple(str(place.levels.get(axis)) for axis in axes) for place in places})

    for axis in sorted(shares, key=lambda axis: -shares[axis]):
        rows = rows_with([*chosen, axis])
        if rows_with(chosen) < rows <= room and (few or shares[axis] >= LEAST_SHARE):
            chosen.append(axis)
    return tuple(axis for axis in varying if axis in chosen)


def _explained(places: Sequence[AnswerCell], axis: str) -> float:
    """The share of the variation of the cells' means that lies between the levels of one axis (eta
    squared), of their logarithms if all are positive.
    """
    means = [place.mean for place in places]
    values = [math.log(value) for value in means] if min(means) > 0 else means
    middle = mean(values)
    total = math.fsum((value - middle) ** 2 for value in values)
    pairs = zip(places, values, strict=True)
    by_level = grouped(pairs, lambda pair: str(pair[0].levels.get(axis)))
    levels = [[value for _place, value in own] for own in by_level.values()]
    between = math.fsum(len(own) * (mean(own) - middle) ** 2 for own in levels)
    return between / total if total else 0.0


# ---- limits


class _Limits:
    """What limits the trials of some cells, by the findings about streams."""

    def __init__(self, run: Analysis) -> None:
        self._run = run
        self._kinds: dict[tuple[str, str], Counter[Kind]] = {}
        for finding in run.limits:
            for cell, number in Counter(cell for cell, _trial in finding.trials).items():
                counter = self._kinds.setdefault((cell, finding.group.flow), Counter())
                counter[finding.kind] += number

    def of(self, places: Sequence[AnswerCell]) -> RowLimit:
        """The limit that most of the trials have; without one, why it is unknown."""
        if places[0].trials[0].test == "throughput_search":
            words = dict.fromkeys(limit_words(r) for p in places for r in results_of(p.trials))
            return RowLimit(joined("; ", filter(None, words)), known=any(words))
        if places[0].trials[0].test != "stream":
            return RowLimit()
        kinds: Counter[Kind] = Counter()
        for place in places:
            kinds.update(self._kinds.get((place.cell, place.flow), {}))
        kind, number = kinds.most_common(1)[0] if kinds else (None, 0)
        most = 2 * number > sum(len(place.values) for place in places)
        # The wire does not explain a mean that some cells pull below it.
        low = mean([place.share or 0.0 for place in places]) < FILLED_BOTH_WAYS
        if most and kind is Kind.WIRE_CEILING and len(places) > 1 and low:
            return RowLimit(_("several"))
        if kind is None or kind is Kind.NOT_DETERMINED or kind.limit is None or not most:
            if len(kinds) > 1:
                return RowLimit(_("several"))
            return RowLimit(_("unknown"), self._why(places))
        return RowLimit(kind.limit, kind.advice, known=True)

    def _why(self, places: Sequence[AnswerCell]) -> Message:
        first = places[0].trials[0]
        if self._run.plan.source is not None:
            return _("the document does not say it")
        if engine := first.settings.get("engine"):
            return _("{engine} records no causes: measure with netlab’s probe", engine=str(engine))
        if all(record.same_host for place in places for record in place.trials):
            return _("the data stayed within one host: measure over a cable")
        if any(place.ceiling is None for place in places):
            return _("the link’s rate is not stated: give it with --link, or in the matrix")
        return _("the records show no cause")


# ---- verdicts


@dataclass(frozen=True, slots=True)
class _Told:
    """What a verdict tells of: some cells of a table, and the limit of the lowest."""

    shown: AnswerTable
    places: Sequence[AnswerCell]
    low: AnswerCell
    high: AnswerCell
    limit: RowLimit


def _verdict(shown: AnswerTable, places: Sequence[AnswerCell], limits: _Limits) -> AnswerLine:
    """One sentence; the first version that has at most ``MOST_WORDS`` words."""
    # Data that stays within one host says nothing about the path, if other data does.
    places = [p for p in places if p.levels[_INSIDE] == _CABLE] or places
    low, high = min(places, key=_order), max(places, key=_order)
    make = _of_one if len(places) == 1 else _of_shares
    if len(places) > 1 and any(place.share is None for place in places):
        make = _range
    texts = [*make(_Told(shown, places, low, high, limits.of([low])))]
    short = [text for text in texts if len(text.split()) <= MOST_WORDS]
    section = _SECTIONS.get(shown.test, shown.test.replace("_", "-"))  # streams: of their cell
    cells = dict.fromkeys(place.cell for place in (low, high, *places))
    return AnswerLine((short or texts[-1:])[0], tuple(cells), section)


def _lost_under_load(run: Analysis) -> Iterator[AnswerLine]:
    """A line on loads under which so many requests were lost that there is no round trip."""
    results = results_of([trial for trial in run.trials if trial.test == "latency_under_load"])
    lossy = by_cell(trial for trial in results if trial.number("increase_ns") is None)
    for cell, trials in [*lossy.items()][:1]:
        sentence = rise_words(trials)
        if len(lossy) > 1:
            sentence = _(
                "Under load at least half of the requests are lost, in {number} cells",
                number=len(lossy),
            )
        yield AnswerLine(sentence, (cell, *lossy), "latency-under-load")


def _order(place: AnswerCell) -> float:
    return place.mean if place.share is None else place.share


def _of_one(told: _Told) -> Iterator[Message]:
    shown, low, limit = told.shown, told.low, told.limit
    value = joined(" ", [shown.figure(shown.rows[0]), shown.unit])
    if low.share is not None:
        value = _(
            "{value}, {share} % of the wire ceiling", value=value, share=f"{100 * low.share:.1f}"
        )
    protocol = str(low.levels.get("protocol", ""))
    ends: dict[str, Any] = {"way": low.levels[_WAY], "value": value, "protocol": protocol}
    if shown.quantity == _RATE:
        yield _("{way} over {protocol}: {value}; limit: {limit}", limit=limit.words, **ends)
        return
    if shown.test == "latency_under_load":
        yield rise_words(results_of(low.trials))
    histogram = pooled(low.trials)
    within = percentile_words(histogram)[-1:] if histogram else ()
    limits = [_("limit: {limit}", limit=limit.words)] if limit.known else []
    value = joined(", ", [value, *within, *limits])
    yield _("{quantity}: {value}", quantity=sentence_case(shown.quantity), value=value)


def _of_shares(told: _Told) -> Iterator[Message]:
    """How many cells fill the wire, and which one is furthest from that."""
    shown, places, low, limit = told.shown, told.places, told.low, told.limit
    shares = [place.share or 0.0 for place in places]
    least, most = min(shares), max(shares)
    span = spanned(f"{100 * least:.1f}", f"{100 * most:.1f}")
    enough = _FULL if shown.test == "throughput_search" else FILLED
    cells = {place.cell for place in places}
    full = len(cells - {place.cell for place in places if (place.share or 0.0) < enough})
    if full == len(cells):
        yield _("Every cell fills the wire: {span} % of its ceiling", span=span)
        return
    if most - least < _ALIKE:
        text = _("Every cell reaches {span} % of the wire ceiling", span=span)
        if limit.known:
            yield _("{text}: {limit}", text=text, limit=limit.words)
        yield text
        return
    ends: dict[str, Any] = {"low": f"{100 * least:.3g}"}
    head = _("{full} of {all} cells fill the wire", full=full, all=len(cells))
    if not full:
        head = _("None of {all} cells fills the wire", all=len(cells))
    for axes in (_all_axes(shown), shown.axes):
        text = _(
            "{head}; the lowest ({what}) reaches {low} %",
            head=head,
            what=_conditions(axes, low),
            **ends,
        )
        if limit.known and limit.words != Kind.WIRE_CEILING.limit:
            yield _("{text}: {limit}", text=text, limit=limit.words)
        yield text
    yield _("{head}; the lowest reaches {low} % of its ceiling", head=head, **ends)


def _range(told: _Told) -> Iterator[Message]:
    """The lowest and the highest cell, with their conditions or without."""
    shown, low, high = told.shown, told.low, told.high
    if shown.quantity == _RATE:
        figures = [throughput(1e6 * place.mean) for place in (low, high)]
    else:
        figures = [joined(" ", [shown.digits(p.mean), shown.unit]) for p in (low, high)]
    ends = {"quantity": sentence_case(shown.quantity), "low": figures[0], "high": figures[1]}
    apart = _interval_of(low)[1] < _interval_of(high)[0]
    every = _all_axes(shown)
    differing = [axis for axis in every if len(_varied(axis, (low, high))) > 1]
    for axes in (every, differing, shown.axes) if apart else ():
        if axes:
            what = {"at_low": _conditions(axes, low), "at_high": _conditions(axes, high)}
            yield _("{quantity}: {low} ({at_low}) to {high} ({at_high})", **ends, **what)
    yield _("{quantity}: {low} to {high}, by cell", **ends)


def _interval_of(place: AnswerCell) -> tuple[float, float]:
    """The 95 % interval of the mean; the mean itself from fewer than three trials."""
    if len(place.values) < MIN_TRIALS:
        return place.mean, place.mean
    bounds = interval(place.values)
    return bounds.low, bounds.high


def _all_axes(shown: AnswerTable) -> list[str]:
    """The axes that tell cells apart, besides the path: a verdict is about one of the paths."""
    return [axis for axis in (*shown.axes, *shown.averaged) if axis != _INSIDE]


def _conditions(axes: Iterable[str], place: AnswerCell) -> str:
    """The cell's levels of some axes, such as ``Linux to Windows, UDP, 64 bytes``."""

    def words(axis: str) -> str:
        if axis in _WORDED:
            return _level_words(axis, place)
        if axis == "message_bytes":
            return _("{size} bytes", size=_level_words(axis, place))
        return setting(axis, place.levels.get(axis), brief=True)

    return joined(", ", map(words, axes))
