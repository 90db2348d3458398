"""The answer of a run: a verdict for each kind of test, tables of few rows, what to doubt.

It is one object, made from the records by rule: a terminal, the page and a program show the same.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from netlab.experiment.hosts import is_by_name, labels_of
from netlab.findings.analysis import Analysis
from netlab.findings.finding import Kind
from netlab.findings.stream_limits import FILLED
from netlab.kinds import KINDS
from netlab.messages import Message, _, counted, joined, listed, sentence_case
from netlab.report.tables.elements import AnswerLine, Table, table
from netlab.report.text.phrases import (
    percentile_words,
    rate_unit,
    rise_words,
    spanned,
    throughput,
    with_interval,
)
from netlab.report.text.row_limits import AnswerCell, RowLimit, RowLimits
from netlab.report.text.summary import NAME, doubts
from netlab.results.ceilings import flow_ceiling
from netlab.results.effects import PAIRING_AXES, KindEffects, axis_words, ends_of, level_words
from netlab.results.labels import SYSTEMS, figure, setting_name, setting_value
from netlab.results.layout import LevelValue
from netlab.results.quantities import quantities_of
from netlab.results.rows import cpu_s_per_gbit
from netlab.stats import MIN_TRIALS, interval, mean
from netlab.trial.column import THROUGHPUTS
from netlab.trial.figures import WHOLE, FigureColumn, Shown, pooled, results_of
from netlab.trial.record import FLOWS, PREFIXES, Record, Status, by_cell, grouped

MOST_ROWS = 8
"""Maximum number of rows of all tables of an answer together."""
MOST_WARNINGS = 3
MOST_MATTERS = 2
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
_ANSWER_AXES = {**dict.fromkeys(PAIRING_AXES, _WAY), "direction": _FLOW}
"""Axis of effects → that of an answer, if they differ."""
_AS_SETTING = {_WAY: "pairing", _FLOW: "direction"}
_CABLE = _("over a cable")
_RATE = THROUGHPUTS[""].name


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
    def cpu_s_per_gbit(self) -> float | None:
        """CPU seconds of both ends together per 10^9 bits, the mean of the cells' means; ``None``
        if it is not known of any trial with a result.
        """
        costs = [
            [sum(dict(cpu_s_per_gbit(r)).values()) for r in results_of(place.trials)]
            for place in self.places
            if not place.flow
        ]
        return mean([*map(mean, costs)]) if costs and all(map(all, costs)) else None

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
    """Axes over whose levels rows are means, the most important one first."""
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
        if span == self.digits(value):
            return span
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
    def sheets(self) -> tuple[Table, ...]:
        """The table, without columns that would be empty in all rows; and narrower ones: without
        CPU time, also without the numbers of trials.
        """
        has_cpu = any(row.cpu_s_per_gbit for row in self.rows)
        wide = [self._sheet(with_cpu=True, with_n=True)] if has_cpu else []
        return (*wide, *(self._sheet(with_cpu=False, with_n=with_n) for with_n in (True, False)))

    def _sheet(self, *, with_cpu: bool, with_n: bool) -> Table:
        columns: list[FigureColumn[AnswerRow]] = [
            *(
                FigureColumn(_axis_name(axis), _level_of(n))
                for n, axis in enumerate(self.axes)
                if n
            ),
            FigureColumn(self.unit, self._shown, self.unit),
            FigureColumn(_("n"), lambda row: row.trials if with_n else None, decimals=WHOLE),
            FigureColumn(_("of wire"), _share_of, "%", 1),
            FigureColumn(_("limited by"), lambda row: row.limit.words),
        ]
        title: Message = self.title
        if not with_n:
            numbers = [row.trials for row in self.rows]
            span = spanned(str(min(numbers)), str(max(numbers)))
            title = _("{title}; {span} trials a row", title=title, span=span)
        if with_cpu:
            title = _("{title}; CPU of both ends", title=title)
            columns.insert(-1, FigureColumn(_("CPU s/Gbit"), lambda r: r.cpu_s_per_gbit, "s/Gbit"))
        shown = [column for column in columns if any(map(column.shows, self.rows))]
        rows = [
            (row.levels[0] if row.levels else _level_words(_WAY, row.places[0]), row.cell, row)
            for row in self.rows
        ]
        return table(title, _axis_name(self.axes[0] if self.axes else _WAY), shown, rows)

    @property
    def title(self) -> Message:
        """The quantity, over which axes it is a mean, and how many rows are left out."""
        parts = [sentence_case(self.quantity)]
        if self.means_of_cells:
            axes = listed(axis_words(_AS_SETTING.get(axis, axis)) for axis in self.averaged)
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

    def as_dict(self) -> dict[str, Any]:
        """Plain data; ``cells``: keys of the cells of which a row's ``mean`` is the mean."""
        return {
            **{"test": self.test, "quantity": str(self.quantity), "unit": str(self.unit)},
            "left_out_rows": self.left_out,
            "rows": [
                {
                    "levels": dict(zip(self.axes, map(str, row.levels), strict=True)),
                    **{"mean": row.mean / self.scale, "trials": row.trials},
                    "low": row.ends and row.ends[0] / self.scale,
                    "high": row.ends and row.ends[1] / self.scale,
                    **{"wire_share": row.share, "limited_by": str(row.limit.words)},
                    "cells": [place.cell for place in row.places],
                }
                for row in self.rows
            ],
        }

    @property
    def means_of_cells(self) -> bool:
        """Whether any row has several cells."""
        return any(len(row.places) > 1 for row in self.rows)

    def _shown(self, row: AnswerRow) -> Shown:
        return Shown(row.mean / self.scale, text=self.figure(row), cell=row.cell)


def _level_of(number: int) -> Callable[[AnswerRow], str]:
    return lambda row: row.levels[number]


def _share_of(row: AnswerRow) -> Shown:
    if row.share is None:
        return Shown()
    return Shown(100 * row.share, text=joined("", [f"{100 * row.share:.1f}", " %"]), unit="%")


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """The answer of a run, the most important first."""

    verdicts: tuple[AnswerLine, ...]
    """One sentence for each kind of test and quantity, of at most ``MOST_WORDS`` words."""
    tables: tuple[AnswerTable, ...]
    matters: tuple[AnswerLine, ...]
    """Which settings explain the differences, of at most ``MOST_MATTERS`` quantities."""
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

    def as_dict(self) -> dict[str, Any]:
        """Plain data in English; figures in the unit of their table, shares from 0 to 1."""
        lines = {"verdicts": self.verdicts, "matters": self.matters, "warnings": self.warnings}
        return {
            **{
                name: [{"sentence": str(line.sentence), "cells": [*line.cells]} for line in own]
                for name, own in lines.items()
            },
            "advices": [*map(str, self.advices)],
            "tables": [shown.as_dict() for shown in self.tables],
        }


def answer_of(run: Analysis) -> RunAnswer:
    """The answer of a run; without any result it has warnings only."""
    families = grouped(_places(run), lambda place: (place.trials[0].test, _family(place)))
    limits, room = RowLimits(run), max(1, MOST_ROWS // max(1, len(families)))
    tables, verdicts = [], []
    for (test, family), places in families.items():
        shares = _importance(run.effects, test, family)
        shown = _table(test, family, places, limits, room, shares)
        tables.append(shown)
        verdicts.append(_verdict(shown, places, limits))
    verdicts += [*_lost_under_load(run), *_without_result(run, families)]
    warnings = [AnswerLine(sentence, cells, NAME) for sentence, cells in doubts(run)]
    known = [kind for kind in run.effects if kind.effects is not None][:MOST_MATTERS]
    matters = tuple(AnswerLine(kind.sentence, section="effects") for kind in known)
    return RunAnswer(tuple(verdicts), tuple(tables), matters, tuple(warnings[:MOST_WARNINGS]))


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
    receiver, sender = ends_of(record, PREFIXES[flow])
    if not is_by_name(record.pairing):
        receiver, sender = SYSTEMS.get(receiver, receiver), SYSTEMS.get(sender, sender)
    return _("{sender} to {receiver}", sender=sender, receiver=receiver)


def _family(place: AnswerCell) -> str:
    """The quantity, whichever the direction of the data."""
    return _RATE if place.quantity in THROUGHPUTS.values() else place.quantity.name


# ---- rows


def _table(
    test: str,
    family: str,
    places: Sequence[AnswerCell],
    limits: RowLimits,
    room: int,
    shares: Mapping[str, float],
) -> AnswerTable:
    axes = _axes(places, room, shares)
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
    averaged.sort(key=lambda axis: -shares.get(axis, 0.0))
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


def _axes(places: Sequence[AnswerCell], room: int, shares: Mapping[str, float]) -> tuple[str, ...]:
    """The axes of a table: those that explain most, as long as there is room for their levels."""
    varying, few = _varying(places), len(places) <= room
    if any(place.flow for place in places):
        # Two directions at once are told apart, if what matters more leaves room for that.
        shares = {**shares, **{a: max(LEAST_SHARE, shares.get(a, 0.0)) for a in (_WAY, _FLOW)}}
    chosen = [axis for axis in varying if axis in _APART]

    def rows_with(axes: Sequence[str]) -> int:
        return len({tuple(str(place.levels.get(axis)) for axis in axes) for place in places})

    for axis in sorted(varying, key=lambda axis: -shares.get(axis, 0.0)):
        rows = rows_with([*chosen, axis])
        matters = few or not shares or shares.get(axis, 0.0) >= LEAST_SHARE
        if rows_with(chosen) < rows <= room and matters:
            chosen.append(axis)
    return tuple(axis for axis in varying if axis in chosen)


def _importance(kinds: Sequence[KindEffects], test: str, family: str) -> dict[str, float]:
    """Axis of an answer → the share of the variation that it explains, alone and in pairs, over the
    protocol and in the direction in which it explains most; empty if no effects are known.
    """
    most: dict[str, float] = {}
    rates = {str(quantity.name) for quantity in THROUGHPUTS.values()}
    names = rates if family == _RATE else {family}
    for kind in kinds:
        if kind.test != test or kind.quantity not in names or kind.effects is None:
            continue
        own: dict[str, float] = {}
        for term in kind.effects.terms:
            if len(term.axes) <= 2:  # a larger term is the rest: all axes, and noise
                for axis in {_ANSWER_AXES.get(axis, axis) for axis in term.axes}:
                    own[axis] = own.get(axis, 0.0) + term.share
        most |= {axis: max(share, most.get(axis, 0.0)) for axis, share in own.items()}
    return most


# ---- verdicts


def _verdict(shown: AnswerTable, places: Sequence[AnswerCell], limits: RowLimits) -> AnswerLine:
    """One sentence; the first version that has at most ``MOST_WORDS`` words."""
    # Data that stays within one host says nothing about the path, if other data does.
    places = [p for p in places if p.levels[_INSIDE] == _CABLE] or places
    low, high = min(places, key=_order), max(places, key=_order)
    if len(places) == 1:
        texts = [*_of_one(shown, low, limits.of([low]))]
    elif any(place.share is None for place in places):
        texts = [*_range(shown, low, high)]
    else:
        texts = [*_of_shares(shown, places, low, limits.of([low]))]
    short = [text for text in texts if len(text.split()) <= MOST_WORDS]
    cells = dict.fromkeys(place.cell for place in (low, high, *places))
    return AnswerLine((short or texts[-1:])[0], tuple(cells), _section_of(shown.test))


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


def _without_result(run: Analysis, families: Collection[tuple[str, str]]) -> Iterator[AnswerLine]:
    """A line on each kind of test that was tried, but has no figure at all."""
    answered = {test for test, _family in families}
    tried = [r for r in run.trials if r.status is not Status.PENDING and r.test not in answered]
    for test, records in grouped(tried, lambda record: record.test).items():
        label = KINDS[test].label if test in KINDS else test
        sentence = _("{test}: no cell has a result", test=sentence_case(label or test))
        if reasons := Counter(record.reason for record in records if record.reason):
            ((reason, _number),) = reasons.most_common(1)
            sentence = _("{sentence} ({reason})", sentence=sentence, reason=reason)
        cells = dict.fromkeys(record.cell for record in records)
        yield AnswerLine(sentence, tuple(cells), _section_of(test))


def _section_of(test: str) -> str:
    """Anchor of the section; streams have none, so the page takes that of their cell."""
    return _SECTIONS.get(test, test.replace("_", "-"))


def _order(place: AnswerCell) -> float:
    return place.mean if place.share is None else place.share


def _of_one(shown: AnswerTable, low: AnswerCell, limit: RowLimit) -> Iterator[Message]:
    value = joined(" ", [shown.figure(shown.rows[0]), shown.unit])
    if low.share is not None:
        value = _(
            "{value}, {share} % of the wire ceiling", value=value, share=f"{100 * low.share:.1f}"
        )
    protocol = str(low.levels.get("protocol", ""))
    ends: dict[str, Any] = {"way": low.levels[_WAY], "value": value, "protocol": protocol}
    if shown.quantity == _RATE:
        text = _("{way} over {protocol}: {value}", **ends)
        yield _("{text}; limit: {limit}", text=text, limit=limit.words) if limit.words else text
        return
    if shown.test == "latency_under_load":
        yield rise_words(results_of(low.trials))
    histogram = pooled(low.trials)
    within = percentile_words(histogram)[-1:] if histogram else ()
    limits = [_("limit: {limit}", limit=limit.words)] if limit.known else []
    value = joined(", ", [value, *within, *limits])
    yield _("{quantity}: {value}", quantity=sentence_case(shown.quantity), value=value)


def _of_shares(
    shown: AnswerTable, places: Sequence[AnswerCell], low: AnswerCell, limit: RowLimit
) -> Iterator[Message]:
    """How many cells fill the wire, and which one is furthest from that."""
    shares = [place.share or 0.0 for place in places]
    least, most = min(shares), max(shares)
    span = spanned(f"{100 * least:.1f}", f"{100 * most:.1f}")
    enough = _FULL if shown.test == "throughput_search" else FILLED
    cells = {place.cell for place in places}
    full = len(cells - {place.cell for place in places if (place.share or 0.0) < enough})
    if least > 1 / _FULL:
        yield _("Every cell is above the wire ceiling: {span} % of it", span=span)
        return
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
    for axes in _axes_of(shown):
        text = _(
            "{head}; the lowest ({what}) reaches {low} %",
            head=head,
            what=conditions(axes, low),
            **ends,
        )
        if limit.known and limit.words != Kind.WIRE_CEILING.limit:
            yield _("{text}: {limit}", text=text, limit=limit.words)
        yield text
    yield _("{head}; the lowest reaches {low} % of its ceiling", head=head, **ends)


def _range(shown: AnswerTable, low: AnswerCell, high: AnswerCell) -> Iterator[Message]:
    """The lowest and the highest cell, with their conditions or without."""
    if shown.quantity == _RATE:
        figures = [throughput(1e6 * place.mean) for place in (low, high)]
    else:
        figures = [joined(" ", [shown.digits(p.mean), shown.unit]) for p in (low, high)]
    ends = {"quantity": sentence_case(shown.quantity), "low": figures[0], "high": figures[1]}
    apart = _interval_of(low)[1] < _interval_of(high)[0]
    every = _axes_of(shown)[0]
    differing = {axis for axis in every if len(_varied(axis, (low, high))) > 1}
    for axes in (every, *_axes_of(shown, differing)) if apart else ():
        what = {"at_low": conditions(axes, low), "at_high": conditions(axes, high)}
        yield _("{quantity}: {low} ({at_low}) to {high} ({at_high})", **ends, **what)
    yield _("{quantity}: {low} to {high}, by cell", **ends)


def _interval_of(place: AnswerCell) -> tuple[float, float]:
    """The 95 % interval of the mean; the mean itself from fewer than three trials."""
    if len(place.values) < MIN_TRIALS:
        return place.mean, place.mean
    bounds = interval(place.values)
    return bounds.low, bounds.high


def _axes_of(shown: AnswerTable, some: Collection[str] | None = None) -> list[tuple[str, ...]]:
    """Axes that tell cells apart (of ``some``, if given), besides the path, as a verdict is about
    one of the paths: all of them, then fewer and fewer without those that matter least.
    """
    sets = []
    for number in range(len(shown.averaged), -1, -1):
        every = (*shown.axes, *shown.averaged[:number])
        sets.append(tuple(a for a in every if a != _INSIDE and (some is None or a in some)))
    return [axes for axes in dict.fromkeys(sets) if axes] or [()]


def conditions(axes: Iterable[str], place: AnswerCell) -> str:
    """The cell's levels of some axes, such as ``Linux to Windows, UDP, 64 bytes``."""

    def words(axis: str) -> str:
        if axis in _WORDED:
            return _level_words(axis, place)
        value = place.levels.get(axis)
        if isinstance(value, str) or axis in ("engine", "message_bytes"):
            return level_words(axis, value)
        return joined(" ", [axis_words(axis), setting_value(axis, value)])

    return joined(", ", map(words, axes))
