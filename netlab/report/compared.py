"""Readings → the comparisons that a matrix asks for: ratios with their intervals, in words. Pure.

Trials of one run belong together by their number: a block holds every cell once, so what drifts
meets both sides alike. Verdicts hold for all comparisons of a run side by side.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from netlab.comparisons import Comparison
from netlab.report.nouns import Line, Notes, Part, Place, Sheet
from netlab.report.quantities import STACK, Quantity, names_of, quantities_of
from netlab.report.readings import Reading
from netlab.report.words import figure, setting
from netlab.setups import Level
from netlab.stats import Comparison as Judged
from netlab.stats import compare, judged_together, mean, pairs_by_block

NAME = "comparisons"
TITLE = "Comparisons"

_COLUMNS = ("baseline", "contender", "ratio", "95 % interval", "pairs", "in words")
_SAID = 6
"""More pairs than these make no sentence: the table has them."""
_TWICE = 1.95
"""From here on a ratio is said in times, below in per cent."""
_AS = {"longer": "long", "more": "much"}


@dataclass(frozen=True, slots=True)
class _Laid:
    """One quantity of two cells side by side."""

    asked: Comparison
    label: str
    quantity: Quantity
    baseline: Mapping[int, float]
    """Trial → the figure in the quantity's unit."""
    contender: Mapping[int, float]
    why_not: tuple[str, ...]
    """Why trials of either cell have no figure."""
    taken_back: bool = False
    """Different by itself, and not among all comparisons of the run."""


def part(readings: Sequence[Reading], comparisons: Sequence[Comparison]) -> Part | None:
    """A table a comparison, and its sentence; ``None`` where nothing is to be compared."""
    if not comparisons:
        return None
    laid = [each for asked in comparisons for each in _lay(asked, readings)]
    alone = [_judge(each) for each in laid]
    judged = judged_together(alone)
    # What is taken back is said, or the interval beside it would seem to contradict.
    laid = [
        replace(each, taken_back=before.verdict != after.verdict)
        for each, before, after in zip(laid, alone, judged, strict=True)
    ]
    sheets, said = [], []
    for asked in comparisons:
        those = [
            (each, verdict)
            for each, verdict in zip(laid, judged, strict=True)
            if each.asked is asked
        ]
        if not those:
            said.append(f"{asked.name}: no two cells of this run differ in that alone.")
            continue
        sheets.append(_sheet(asked, those))
        said += _sentences(asked, those)
    return Part(
        name=NAME,
        title=TITLE,
        paragraphs=(*said, _METHOD),
        sheets=tuple(sheets),
    )


def _lay(asked: Comparison, readings: Sequence[Reading]) -> list[_Laid]:
    cells: dict[str, list[Reading]] = {}
    for reading in readings:
        cells.setdefault(reading.cell, []).append(reading)
    firsts = [trials[0] for trials in cells.values()]
    pairs = asked.pairs_in([_cell(reading) for reading in firsts])
    named = names_of([firsts[index] for index, _ in pairs], leaving_out=asked.baseline)
    pairings = {firsts[index].pairing for index, _ in pairs}
    several = len(pairings) > 1 and "pairing" not in asked.baseline
    found = []
    for index, other in pairs:
        old, new = cells[firsts[index].cell], cells[firsts[other].cell]
        label = named[firsts[index].cell]
        if several:
            label = f"{firsts[index].pairing} {label}"
        for quantity in (*quantities_of(old[0]), STACK):
            sides = [_figures(quantity, side) for side in (old, new)]
            if quantity is STACK and not all(sides):
                continue
            blanks = dict.fromkeys(r.why_blank for r in (*old, *new) if r.status != "ok")
            found.append(_Laid(asked, label, quantity, sides[0], sides[1], tuple(blanks)))
    return found


def _cell(reading: Reading) -> dict[str, Level]:
    settings = {
        name: value for name, value in reading.settings.items() if not isinstance(value, list)
    }
    return {**settings, "pairing": reading.pairing, "test": reading.test}


def _figures(quantity: Quantity, trials: Sequence[Reading]) -> dict[int, float]:
    found = ((reading.trial, quantity.in_unit(reading)) for reading in trials)
    return {trial: value for trial, value in found if value is not None and value > 0}


def _judge(laid: _Laid) -> Judged:
    old, new = pairs_by_block(laid.baseline, laid.contender)
    return compare(old, new, paired=True)


def _sheet(asked: Comparison, laid: Sequence[tuple[_Laid, Judged]]) -> Sheet:
    notes = Notes()
    quantities = dict.fromkeys(each.quantity.name for each, _ in laid)
    lines = []
    for each, judged in laid:
        words = [each.label, each.quantity.name if len(quantities) > 1 else ""]
        letters = notes(each.why_not)
        unit = each.quantity.unit
        lines.append(
            Line(
                ", ".join(word for word in words if word),
                (
                    _side(each.baseline, each.contender, unit, letters),
                    _side(each.contender, each.baseline, unit, letters),
                    Place()
                    if judged.ratio is None
                    else Place(figure(judged.ratio, 3), judged.ratio),
                    Place(interval_words(judged)),
                    Place(str(judged.n), float(judged.n)),
                    Place(in_words(judged, each.quantity, taken_back=each.taken_back)),
                ),
            )
        )
    sides = (
        f"{', '.join(setting(name, level) for name, level in side.items())}"
        for side in (asked.baseline, asked.contender)
    )
    baseline, contender = sides
    what = next(iter(quantities)) if len(quantities) == 1 else "mean"
    return Sheet(
        title=f"{asked.name}: {what}, baseline {baseline}, contender {contender}",
        corner="cell",
        columns=_COLUMNS,
        lines=tuple(lines),
        footnotes=notes.footnotes,
    )


def _side(
    figures: Mapping[int, float], other: Mapping[int, float], unit: str, letters: tuple[str, ...]
) -> Place:
    """The geometric mean over the trials that make a pair, else over those that there are."""
    values = pairs_by_block(figures, other)[0] or list(figures.values())
    if not values:
        return Place(notes=letters)
    value = math.exp(mean([math.log(each) for each in values]))
    return Place(f"{figure(value)} {unit}", value, unit, letters)


def interval_words(judged: Judged) -> str:
    """``0.981 to 1.02``; empty where there is none."""
    if judged.low is None or judged.high is None:
        return ""
    return f"{figure(judged.low, 3)} to {figure(judged.high, 3)}"


def _sentences(asked: Comparison, laid: Sequence[tuple[_Laid, Judged]]) -> list[str]:
    """One sentence a quantity, where there are few enough cells for one."""
    said = []
    for quantity in dict.fromkeys(each.quantity for each, _ in laid):
        those = [(each, judged) for each, judged in laid if each.quantity is quantity]
        if len(those) <= _SAID:
            words = "; ".join(
                f"{in_words(judged, quantity, taken_back=each.taken_back)} for {each.label}"
                for each, judged in those
            )
            said.append(f"{asked.name}, {quantity.name}: {words}.")
    return said


def in_words(judged: Judged, quantity: Quantity, *, taken_back: bool = False) -> str:
    """``20 % longer (+18 to +22 %)``; what was not shown is said as that.

    ``taken_back``: different by itself, and not among all comparisons that are judged together.
    """
    if judged.ratio is None:
        return "cannot tell: there is no pair of trials with a figure"
    if judged.verdict == "cannot tell" or judged.low is None or judged.high is None:
        return "cannot tell: one pair of trials has no interval"
    between = _between(judged.ratio, judged.low, judged.high)
    if judged.verdict == "different":
        return f"{_ratio_words(judged.ratio, quantity)} ({between})"
    if judged.verdict == "same within the margin":
        return f"the same to within {100 * judged.margin:g} % ({between})"
    if taken_back:
        return f"not shown to be different among so many comparisons ({between})"
    least = ""
    if judged.smallest_ratio is not None:
        least = (
            f"; {_least(judged.smallest_ratio)} and more would have shown in four of five such runs"
        )
    return f"not shown to be different ({between}{least})"


def _least(ratio: float) -> str:
    return f"{ratio:.1f} times" if ratio >= _TWICE else f"{_percent(ratio - 1)} %"


def _ratio_words(ratio: float, quantity: Quantity) -> str:
    if ratio < 1:
        return f"{_percent(1 - ratio)} % {quantity.less}"
    if ratio < _TWICE:
        return f"{_percent(ratio - 1)} % {quantity.more}"
    if ratio < 4 - _TWICE:
        return f"twice as {_AS[quantity.more]}"
    return f"{ratio:.1f} times as {_AS[quantity.more]}"


def _between(ratio: float, low: float, high: float) -> str:
    if ratio >= _TWICE:
        return f"{low:.2f} to {high:.2f} times"
    # As many decimals as it takes to tell the ends of the interval apart.
    width = 100 * (high - low)
    decimals = 0 if width >= 2 else 1 if width >= 0.2 else 2
    ends = (f"{100 * (end - 1):+.{decimals}f}".replace("-", "−") for end in (low, high))
    return f"{' to '.join(ends)} %"


def _percent(share: float) -> str:
    """Two figures, so that an interval of a tenth of a per cent does not become one of none."""
    percent = 100 * share
    decimals = 0 if percent >= 10 else 1 if percent >= 1 else 2
    return f"{percent:.{decimals}f}"


_METHOD = (
    "Compared are the trials of one number with each other, on logarithms, by Student’s t; the "
    "ratio is contender by baseline, of geometric means. “Different” holds for all comparisons of "
    "this run together (Benjamini and Hochberg, 5 %) and needs 0.5 % of difference besides."
)
