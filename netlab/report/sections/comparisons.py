"""The comparisons that a matrix requests: ratios, their intervals, and verdicts in words.

Trials with the same number are compared with each other: they are from the same block, so drift
affects both sides alike. The verdicts on all comparisons of a run are corrected together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from netlab.compare.align import Judged, align_cells, judge_groups
from netlab.errors import MatrixError
from netlab.experiment.cells import Comparison
from netlab.messages import Message, _, joined
from netlab.report.tables.elements import Notes, Part, Table, TableCell, TableLine
from netlab.report.text.phrases import spanned
from netlab.results.labels import figure, setting
from netlab.stats import ComparisonResult as Verdict
from netlab.trial.quantity import Quantity
from netlab.trial.record import Record
from netlab.trial.settings import Level
from netlab.units import format_share

NAME = "comparisons"
TITLE = _("Comparisons")

_MOST_IN_SENTENCE = 6
"""Maximum number of pairs of cells in a sentence; if there are more, only the table has them."""
_TWICE = 1.95
"""A ratio from this value upwards is written as a multiple, a smaller ratio in per cent."""
_MORE: Mapping[str, Callable[[str], Message]] = {
    "longer": lambda percent: _("{percent} % longer", percent=percent),
    "shorter": lambda percent: _("{percent} % shorter", percent=percent),
    "more": lambda percent: _("{percent} % more", percent=percent),
    "less": lambda percent: _("{percent} % less", percent=percent),
    "fewer": lambda percent: _("{percent} % fewer", percent=percent),
    "larger": lambda percent: _("{percent} % larger", percent=percent),
    "smaller": lambda percent: _("{percent} % smaller", percent=percent),
}
_TIMES: Mapping[str, Callable[[str], Message]] = {
    "longer": lambda times: _("{times} times as long", times=times),
    "more": lambda times: _("{times} times as much", times=times),
    "larger": lambda times: _("{times} times as large", times=times),
}
_TWO_TIMES = {
    "longer": _("twice as long"),
    "more": _("twice as much"),
    "larger": _("twice as large"),
}
"""``_MORE``, ``_TIMES``, ``_TWO_TIMES``: word for more or less of a quantity → the phrase."""


def part(records: Sequence[Record], comparisons: Sequence[Comparison]) -> Part | None:
    """A table and sentences for each comparison; ``None`` if ``comparisons`` is empty."""
    if not comparisons:
        return None
    aligned = [align_cells(comparison, records) for comparison in comparisons]
    sheets, sentences = [], list[str]()
    for comparison, rows in zip(comparisons, judge_groups(aligned), strict=True):
        if not rows:
            none = _(
                "{comparison}: no two cells of this run differ in these settings alone.",
                comparison=comparison.name,
            )
            sentences.append(none)
            continue
        sides = _(
            "baseline {baseline}, contender {contender}",
            baseline=side_words(comparison.baseline),
            contender=side_words(comparison.contender),
        )
        sheets.append(sheet(comparison.name, sides, rows))
        sentences += _sentences(comparison, rows)
    return Part(
        name=NAME,
        title=TITLE,
        paragraphs=(*sentences, _METHOD),
        sheets=tuple(sheets),
    )


def judged_of(
    matrix_text: str, records: Sequence[Record]
) -> tuple[tuple[Comparison, tuple[Judged, ...]], ...]:
    """Each comparison that a matrix requests, with the verdict on each pair of its cells.

    Empty if the matrix cannot be read.
    """
    if "compare" not in matrix_text:
        return ()
    from netlab.config.matrix_file import comparisons_in

    try:
        comparisons = comparisons_in(matrix_text, "matrix.yaml")
    except MatrixError:
        return ()
    aligned = [align_cells(comparison, records) for comparison in comparisons]
    return tuple(zip(comparisons, judge_groups(aligned), strict=True))


def side_words(side: Mapping[str, Level]) -> str:
    """One side's settings in words, such as ``server’s receive call spinning``."""
    return joined(", ", [setting(name, level) for name, level in side.items()])


def sheet(title: str, sides: str, rows: Sequence[Judged]) -> Table:
    """A line for each pair of cells and quantity. Trials are paired in all ``rows`` or in none."""
    notes = Notes()
    quantities = dict.fromkeys(row.aligned.quantity.name for row in rows)
    subject = next(iter(quantities)) if len(quantities) == 1 else _("mean")
    paired = all(row.aligned.paired for row in rows)
    return Table(
        title=joined(": ", [title, joined(", ", [subject, sides])]),
        corner=_("cell"),
        columns=(
            *(_("baseline"), _("contender"), _("ratio"), _("95 % interval")),
            _("pairs") if paired else _("trials"),
            _("in words"),
        ),
        lines=tuple(_line(row, notes, several=len(quantities) > 1) for row in rows),
        footnotes=notes.footnotes,
    )


def _line(row: Judged, notes: Notes, *, several: bool) -> TableLine:
    aligned, verdict = row.aligned, row.verdict
    letters, unit = notes(aligned.why_not), aligned.quantity.unit
    old, new = (
        TableCell(notes=letters)
        if mean is None
        else TableCell(joined(" ", [figure(mean), unit]), mean, unit, letters)
        for mean in aligned.means
    )
    baseline_count, contender_count = (len(side) for side in aligned.figures)
    n = (
        str(verdict.n)
        if aligned.paired
        else _("{one} and {other}", one=baseline_count, other=contender_count)
    )
    return TableLine(
        joined(", ", [aligned.label, aligned.quantity.name]) if several else aligned.label,
        (
            old,
            new,
            TableCell()
            if verdict.ratio is None
            else TableCell(figure(verdict.ratio, 3), verdict.ratio),
            TableCell(interval_words(verdict)),
            TableCell(n, float(verdict.n)),
            TableCell(
                in_words(
                    verdict, aligned.quantity, taken_back=row.taken_back, paired=aligned.paired
                )
            ),
        ),
    )


def interval_words(verdict: Verdict) -> str:
    """A text such as ``0.981 to 1.02``; empty if there is no interval."""
    if verdict.low is None or verdict.high is None:
        return ""
    return _("{low} to {high}", low=figure(verdict.low, 3), high=figure(verdict.high, 3))


def _sentences(comparison: Comparison, rows: Sequence[Judged]) -> list[str]:
    """One sentence for each quantity with at most ``_MOST_IN_SENTENCE`` pairs of cells."""
    sentences: list[str] = []
    for quantity in dict.fromkeys(row.aligned.quantity for row in rows):
        pairs = [row for row in rows if row.aligned.quantity is quantity]
        if len(pairs) <= _MOST_IN_SENTENCE:
            words = [
                _(
                    "{difference} for {cell}",
                    difference=in_words(row.verdict, quantity, taken_back=row.taken_back),
                    cell=row.aligned.label,
                )
                for row in pairs
            ]
            sentence = _(
                "{comparison}, {quantity}: {differences}.",
                comparison=comparison.name,
                quantity=quantity.name,
                differences=joined("; ", words),
            )
            sentences.append(sentence)
    return sentences


def in_words(
    verdict: Verdict, quantity: Quantity, *, taken_back: bool = False, paired: bool = True
) -> str:
    """A verdict in words, such as ``20 % longer (+18 to +22 %)`` or ``inconclusive (…)``.

    ``taken_back``: whether the correction for all comparisons withdrew the verdict "different".
    """
    if verdict.ratio is None:
        return _NO_PAIR if paired else _NO_TRIAL
    if verdict.verdict == "cannot tell" or verdict.low is None or verdict.high is None:
        return _ONE_PAIR if paired else _ONE_TRIAL
    between = _between(verdict.ratio, verdict.low, verdict.high)
    if verdict.verdict == "different":
        difference = ratio_words(verdict.ratio, quantity)
        return _("{difference} ({interval})", difference=difference, interval=between)
    if verdict.verdict == "same within the margin":
        margin = format_share(verdict.margin)
        return _("equivalent within ±{margin} ({interval})", margin=margin, interval=between)
    return _inconclusive(between, verdict.smallest_ratio, taken_back=taken_back)


def _inconclusive(interval: str, smallest_ratio: float | None, *, taken_back: bool) -> str:
    if taken_back:
        return _("inconclusive among so many comparisons ({interval})", interval=interval)
    if smallest_ratio is None:
        return _("inconclusive ({interval})", interval=interval)
    return _(
        "inconclusive ({interval}; four of five such runs would show {least} or more)",
        interval=interval,
        least=_least(smallest_ratio),
    )


def _least(ratio: float) -> str:
    if ratio >= _TWICE:
        return _("{times} times", times=f"{ratio:.1f}")
    return f"{_percent(ratio - 1)} %"


def ratio_words(ratio: float, quantity: Quantity) -> str:
    """A ratio in words, such as ``20 % longer``, ``twice as long`` or ``4.6 times as long``."""
    if ratio < _TWICE:
        return ratio_span(ratio, ratio, quantity)
    if ratio < 4 - _TWICE:
        return _TWO_TIMES[quantity.more]
    return _TIMES[quantity.more](f"{ratio:.1f}")


def ratio_span(least: float, most: float, quantity: Quantity) -> str:
    """A range of ratios, such as ``59 to 60 % shorter`` or ``80 % longer to twice as long``."""
    if most < 1:
        return _MORE[quantity.less](spanned(_percent(1 - most), _percent(1 - least)))
    if least >= 1 and most < _TWICE:
        return _MORE[quantity.more](spanned(_percent(least - 1), _percent(most - 1)))
    return spanned(ratio_words(least, quantity), ratio_words(most, quantity))


def _between(ratio: float, low: float, high: float) -> str:
    if ratio >= _TWICE:
        return _("{low} to {high} times", low=f"{low:.2f}", high=f"{high:.2f}")
    # A narrow interval has more decimals, so that its ends differ.
    width = 100 * (high - low)
    decimals = 0 if width >= 2 else 1 if width >= 0.2 else 2
    least, most = (f"{100 * (end - 1):+.{decimals}f}".replace("-", "−") for end in (low, high))
    return _("{low} to {high} %", low=least, high=most)


def _percent(share: float) -> str:
    """Per cent with at most two decimals, so that a tenth of a per cent does not become zero.

    From 1 % upwards there is one decimal, from 10 % upwards there are none.
    """
    percent = 100 * share
    decimals = 0 if percent >= 10 else 1 if percent >= 1 else 2
    return f"{percent:.{decimals}f}"


_NO_PAIR = _("cannot tell: there is no pair of trials with a figure")
_NO_TRIAL = _("cannot tell: there is no trial with a figure on both sides")
_ONE_PAIR = _("cannot tell: one pair of trials has no interval (n = 1)")
_ONE_TRIAL = _("cannot tell: a side with one trial has no interval (n = 1)")
_METHOD = _(
    "Trials with the same number are compared with each other, on logarithms, by Student’s t. The "
    "ratio is contender / baseline, of geometric means. “Different” holds for all comparisons of "
    "this run together (Benjamini and Hochberg, 5 %) and requires a difference of at least 0.5 %."
)
