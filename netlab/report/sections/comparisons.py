"""Readings → the comparisons that a matrix asks for: ratios with their intervals, in words. Pure.

Trials of one run belong together by their number: a block holds every cell once, so what drifts
meets both sides alike. Verdicts hold for all comparisons of a run side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netlab.compare.align import align_cells
from netlab.compare.judge import Judged, judge_groups
from netlab.experiment.comparisons import Comparison
from netlab.experiment.settings import Level
from netlab.report.tables.elements import Notes, Part, Sheet, SheetCell, SheetLine
from netlab.results.labels import figure, setting
from netlab.results.quantities import Quantity
from netlab.results.readings import Reading
from netlab.stats import ComparisonResult as Verdict

NAME = "comparisons"
TITLE = "Comparisons"

_COLUMNS = ("baseline", "contender", "ratio", "95 % interval", "{n}", "in words")
_SAID = 6
"""More pairs than these make no sentence: the table has them."""
_TWICE = 1.95
"""From here on a ratio is said in times, below in per cent."""
_AS = {"longer": "long", "more": "much"}


def part(readings: Sequence[Reading], comparisons: Sequence[Comparison]) -> Part | None:
    """A table a comparison, and its sentence; ``None`` where nothing is to be compared."""
    if not comparisons:
        return None
    aligned = [align_cells(asked, readings) for asked in comparisons]
    sheets, said = [], []
    for asked, rows in zip(comparisons, judge_groups(aligned), strict=True):
        if not rows:
            said.append(f"{asked.name}: no two cells of this run differ in that alone.")
            continue
        sides = f"baseline {side_words(asked.baseline)}, contender {side_words(asked.contender)}"
        sheets.append(sheet(asked.name, sides, rows))
        said += _sentences(asked, rows)
    return Part(
        name=NAME,
        title=TITLE,
        paragraphs=(*said, _METHOD),
        sheets=tuple(sheets),
    )


def side_words(side: Mapping[str, Level]) -> str:
    """``server’s receive call spinning``."""
    return ", ".join(setting(name, level) for name, level in side.items())


def sheet(title: str, sides: str, rows: Sequence[Judged]) -> Sheet:
    """A line a pair of cells and quantity; ``rows`` are paired, or none of them is."""
    notes = Notes()
    quantities = dict.fromkeys(each.aligned.quantity.name for each in rows)
    what = next(iter(quantities)) if len(quantities) == 1 else "mean"
    paired = all(each.aligned.paired for each in rows)
    return Sheet(
        title=f"{title}: {what}, {sides}",
        corner="cell",
        columns=tuple(column.format(n="pairs" if paired else "trials") for column in _COLUMNS),
        lines=tuple(_line(each, notes, several=len(quantities) > 1) for each in rows),
        footnotes=notes.footnotes,
    )


def _line(row: Judged, notes: Notes, *, several: bool) -> SheetLine:
    aligned, verdict = row.aligned, row.verdict
    letters, unit = notes(aligned.why_not), aligned.quantity.unit
    old, new = (
        SheetCell(notes=letters)
        if mean is None
        else SheetCell(f"{figure(mean)} {unit}", mean, unit, letters)
        for mean in aligned.means
    )
    n = (
        str(verdict.n)
        if aligned.paired
        else " and ".join(str(len(side)) for side in aligned.figures)
    )
    return SheetLine(
        f"{aligned.label}, {aligned.quantity.name}" if several else aligned.label,
        (
            old,
            new,
            SheetCell()
            if verdict.ratio is None
            else SheetCell(figure(verdict.ratio, 3), verdict.ratio),
            SheetCell(interval_words(verdict)),
            SheetCell(n, float(verdict.n)),
            SheetCell(
                in_words(
                    verdict, aligned.quantity, taken_back=row.taken_back, paired=aligned.paired
                )
            ),
        ),
    )


def interval_words(judged: Verdict) -> str:
    """``0.981 to 1.02``; empty where there is none."""
    if judged.low is None or judged.high is None:
        return ""
    return f"{figure(judged.low, 3)} to {figure(judged.high, 3)}"


def _sentences(asked: Comparison, rows: Sequence[Judged]) -> list[str]:
    """One sentence a quantity, where there are few enough cells for one."""
    said = []
    for quantity in dict.fromkeys(each.aligned.quantity for each in rows):
        those = [each for each in rows if each.aligned.quantity is quantity]
        if len(those) <= _SAID:
            words = "; ".join(
                f"{in_words(each.verdict, quantity, taken_back=each.taken_back)} for "
                f"{each.aligned.label}"
                for each in those
            )
            said.append(f"{asked.name}, {quantity.name}: {words}.")
    return said


def in_words(
    judged: Verdict, quantity: Quantity, *, taken_back: bool = False, paired: bool = True
) -> str:
    """``20 % longer (+18 to +22 %)``; what was not shown is said as that.

    ``taken_back``: different by itself, and not among all comparisons that are judged together.
    """
    if judged.ratio is None:
        what = "pair of trials with a figure" if paired else "trial with a figure on both sides"
        return f"cannot tell: there is no {what}"
    if judged.verdict == "cannot tell" or judged.low is None or judged.high is None:
        what = "one pair of trials" if paired else "a side with one trial"
        return f"cannot tell: {what} has no interval (n = 1)"
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
