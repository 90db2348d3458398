"""The comparisons that a matrix requests: ratios, their intervals, and verdicts in words.

Trials with the same number are compared with each other: they are from the same block, so drift
affects both sides alike. The verdicts on all comparisons of a run are corrected together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from netlab.compare.align import Judged, align_cells, judge_groups
from netlab.errors import MatrixError
from netlab.experiment.cells import Comparison
from netlab.messages import _, counted, joined, listed, sentence_case
from netlab.report.tables.elements import AnswerLine, Part, Table, table
from netlab.report.text.phrases import spanned
from netlab.results.labels import figure, setting
from netlab.stats import ComparisonResult as Verdict
from netlab.trial.column import Quantity
from netlab.trial.figures import FigureColumn, Shown
from netlab.trial.record import Record, grouped
from netlab.units import format_share

NAME = "comparisons"
TITLE = _("Comparisons")

_MOST_IN_SENTENCE = 6
"""Maximum number of pairs of cells in a sentence; if there are more, only the table has them."""
_TWICE = 1.95
"""A ratio from this value upwards is written as a multiple, a smaller ratio in per cent."""
_MORE = {
    "longer": _("{percent} % longer"),
    "shorter": _("{percent} % shorter"),
    "more": _("{percent} % more"),
    "less": _("{percent} % less"),
    "fewer": _("{percent} % fewer"),
    "larger": _("{percent} % larger"),
    "smaller": _("{percent} % smaller"),
}
_TIMES = {
    "longer": _("{times} times as long"),
    "more": _("{times} times as much"),
    "larger": _("{times} times as large"),
}
_TWO_TIMES = {
    "longer": _("twice as long"),
    "more": _("twice as much"),
    "larger": _("twice as large"),
}
"""``_MORE``, ``_TIMES``, ``_TWO_TIMES``: word for more or less of a quantity → the phrase."""

JudgedComparisons = tuple[tuple[Comparison, tuple[Judged, ...]], ...]
"""Comparisons, each with the verdict on each pair of its cells."""


def requested(matrix_text: str, records: Sequence[Record]) -> Part | None:
    """The comparisons that a matrix requests, or why the matrix cannot be read."""
    try:
        return part(judged_of(matrix_text, records))
    except MatrixError as error:
        why = _(
            "Nothing is compared: the run’s matrix.yaml cannot be read. {error}", error=str(error)
        )
        return Part(name=NAME, title=TITLE, paragraphs=(why,))


def judged_of(matrix_text: str, records: Sequence[Record]) -> JudgedComparisons:
    """The comparisons that a matrix requests; MatrixError if the matrix cannot be read."""
    if "compare" not in matrix_text:
        return ()
    from netlab.config.matrix_file import comparisons_in

    return judged(records, comparisons_in(matrix_text, "matrix.yaml"))


def judged(records: Sequence[Record], comparisons: Sequence[Comparison]) -> JudgedComparisons:
    """The verdicts of all comparisons, corrected together."""
    aligned = [align_cells(comparison, records) for comparison in comparisons]
    return tuple(zip(comparisons, judge_groups(aligned), strict=True))


def part(comparisons: JudgedComparisons) -> Part | None:
    """A table and sentences for each comparison; ``None`` if ``comparisons`` is empty."""
    if not comparisons:
        return None
    sheets, sentences = [], list[str]()
    for comparison, rows in comparisons:
        if not rows:
            none = _(
                "{comparison}: no two cells of this run differ in these settings alone.",
                comparison=comparison.name,
            )
            sentences.append(none)
            continue
        baseline, contender = (
            joined(", ", [setting(name, level) for name, level in side.items()])
            for side in (comparison.baseline, comparison.contender)
        )
        sides = _(
            "baseline {baseline}, contender {contender}", baseline=baseline, contender=contender
        )
        sheets.append(sheet(comparison.name, sides, rows))
        sentences += _sentences(comparison, rows)
    return Part(name=NAME, title=TITLE, paragraphs=(*sentences, _METHOD), sheets=tuple(sheets))


def sheet(title: str, sides: str, rows: Sequence[Judged]) -> Table:
    """A line for each pair of cells and quantity. Trials are paired in all ``rows`` or in none."""
    quantities = list(dict.fromkeys(row.aligned.quantity.name for row in rows))
    several = len(quantities) > 1
    subject = [*([] if several else quantities), _("geometric mean")]
    paired = all(row.aligned.paired for row in rows)
    labels = [
        joined(", ", [row.aligned.label, *([row.aligned.quantity.name] if several else [])])
        for row in rows
    ]
    return table(
        joined(": ", [title, joined(", ", [*subject, sides])]),
        _("cell"),
        columns_of(_("baseline"), _("contender"), paired=paired),
        [(label, "", row) for label, row in zip(labels, rows, strict=True)],
    )


def columns_of(one: str, other: str, *, paired: bool) -> list[FigureColumn[Judged]]:
    """The columns of two compared sides: geometric means, ratio, interval, trials, verdict.
    ``one`` and ``other``: headings of baseline and contender."""
    return [
        FigureColumn(one, lambda row: _mean_of_side(row, 0)),
        FigureColumn(other, lambda row: _mean_of_side(row, 1)),
        FigureColumn(_("ratio"), lambda row: row.verdict.ratio, decimals=3),
        FigureColumn(_("95 % interval"), lambda row: interval_words(row.verdict)),
        FigureColumn(_("pairs") if paired else _("trials"), _count),
        FigureColumn(_("in words"), words_of),
    ]


def _mean_of_side(row: Judged, side: int) -> Shown:
    mean, unit = row.aligned.means[side], row.aligned.quantity.unit
    text = None if mean is None else joined(" ", [figure(mean), unit])
    return Shown(mean, row.aligned.why_not, text, unit)


def _count(row: Judged) -> Shown:
    """Number of the pairs of trials, or of the trials of both sides."""
    one, other = (len(side) for side in row.aligned.figures)
    several = _("{one} and {other}", one=one, other=other)
    return Shown(float(row.verdict.n), text=str(row.verdict.n) if row.aligned.paired else several)


def interval_words(verdict: Verdict) -> str:
    """A text such as ``0.981 to 1.02``; empty if there is no interval."""
    if verdict.low is None or verdict.high is None:
        return ""
    return _("{low} to {high}", low=figure(verdict.low, 3), high=figure(verdict.high, 3))


def _sentences(comparison: Comparison, rows: Sequence[Judged]) -> list[str]:
    """One sentence for each quantity with at most ``_MOST_IN_SENTENCE`` pairs of cells."""
    sentences: list[str] = []
    for quantity, pairs in grouped(rows, lambda row: row.aligned.quantity).items():
        if len(pairs) <= _MOST_IN_SENTENCE:
            words = [
                _(
                    "{difference} for {cell}",
                    difference=words_of(row),
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


def words_of(row: Judged) -> str:
    """A verdict in words, such as ``20 % longer (+18 to +22 %)`` or ``inconclusive (…)``."""
    verdict, paired = row.verdict, row.aligned.paired
    if verdict.ratio is None:
        return _NO_PAIR if paired else _NO_TRIAL
    if verdict.verdict == "cannot tell" or verdict.low is None or verdict.high is None:
        return _ONE_PAIR if paired else _ONE_TRIAL
    between = _between(verdict.ratio, verdict.low, verdict.high)
    if verdict.verdict == "different":
        difference = ratio_words(verdict.ratio, row.aligned.quantity)
        return _("{difference} ({interval})", difference=difference, interval=between)
    if verdict.verdict == "same within the margin":
        margin = format_share(verdict.margin)
        return _("equivalent within ±{margin} ({interval})", margin=margin, interval=between)
    least = verdict.smallest_ratio
    if row.taken_back or least is None:
        many = _("inconclusive among so many comparisons ({interval})", interval=between)
        return many if row.taken_back else _("inconclusive ({interval})", interval=between)
    multiple = _("{times} times", times=f"{least:.1f}")
    return _(
        "inconclusive ({interval}; four of five such runs would show {least} or more)",
        interval=between,
        least=f"{_percent(least - 1)} %" if least < _TWICE else multiple,
    )


def ratio_words(ratio: float, quantity: Quantity) -> str:
    """A ratio in words, such as ``20 % longer``, ``twice as long`` or ``4.6 times as long``."""
    if ratio < _TWICE:
        return ratio_span(ratio, ratio, quantity)
    if ratio < 4 - _TWICE:
        return _TWO_TIMES[quantity.more]
    return _(_TIMES[quantity.more].id, times=f"{ratio:.1f}")


def ratio_span(least: float, most: float, quantity: Quantity) -> str:
    """A range of ratios, such as ``59 to 60 % shorter`` or ``80 % longer to twice as long``."""
    if most < 1:
        percent = spanned(_percent(1 - most), _percent(1 - least))
        return _(_MORE[quantity.less].id, percent=percent)
    if least >= 1 and most < _TWICE:
        percent = spanned(_percent(least - 1), _percent(most - 1))
        return _(_MORE[quantity.more].id, percent=percent)
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
    """Per cent with as many decimals as tell a tenth of a per cent from zero: two, one from 1 %,
    none from 10 % upwards.
    """
    percent = 100 * share
    decimals = 0 if percent >= 10 else 1 if percent >= 1 else 2
    return f"{percent:.{decimals}f}"


_NO_PAIR = _("cannot tell: there is no pair of trials with a figure")
_NO_TRIAL = _("cannot tell: there is no trial with a figure on both sides")
_ONE_PAIR = _("cannot tell: one pair of trials has no interval (n = 1)")
_ONE_TRIAL = _("cannot tell: a side with one trial has no interval (n = 1)")
_WHY_NOT = (
    _("{number} without a pair of trials with figures"),
    _("{number} with one pair of trials each"),
)
"""Number of the pairs of trials → why two cells were not compared."""
_METHOD = _(
    "Trials with the same number are compared with each other, on logarithms, by Student’s t. The "
    "ratio is contender / baseline, of geometric means. “Different” holds for all comparisons of "
    "this run together (Benjamini and Hochberg, 5 %) and requires a difference of at least 0.5 %."
)


def answers(verdicts: JudgedComparisons) -> tuple[AnswerLine, ...]:
    """One line for each comparison that has pairs of cells.

    If several comparisons have several pairs of cells each and show no difference, they share one
    line, in the place of the first of these comparisons.
    """
    answered = [(comparison, rows) for comparison, rows in verdicts if rows]
    alike = [(comparison, rows) for comparison, rows in answered if _shows_nothing(rows)]
    lines: list[AnswerLine] = []
    for number, (comparison, rows) in enumerate(answered, 1):
        if len(alike) < 2 or not _shows_nothing(rows):
            lines.append(_answer(comparison, rows, number))
        elif comparison is alike[0][0]:
            lines.append(_without_difference(alike))
    return tuple(lines)


def _shows_nothing(rows: Sequence[Judged]) -> bool:
    """Whether no pair of cells differs, and each quantity has several pairs and a compared one."""
    verdicts = grouped(rows, lambda row: row.aligned.quantity)
    several = all(len(pairs) > 1 and any(map(_is_compared, pairs)) for pairs in verdicts.values())
    return several and not any(row.verdict.verdict == "different" for row in rows)


def _is_compared(row: Judged) -> bool:
    return row.verdict.verdict != "cannot tell"


def _left_out(rows: Sequence[Judged]) -> str:
    """The number of the pairs of cells that were not compared, and why; empty without any."""
    numbers = Counter(row.verdict.n for row in rows if not _is_compared(row))
    reasons = [_(_WHY_NOT[n].id, number=str(number)) for n, number in sorted(numbers.items())]
    return _("not compared: {reasons}", reasons=joined(", ", reasons)) if reasons else ""


def _without_difference(
    comparisons: Sequence[tuple[Comparison, Sequence[Judged]]],
) -> AnswerLine:
    texts = []
    for comparison, rows in comparisons:
        numbers = []
        for quantity, pairs in grouped(rows, lambda row: row.aligned.quantity).items():
            number = counted(
                "{quantity}, {number} pair",
                "{quantity}, {number} pairs",
                sum(map(_is_compared, pairs)),
                quantity=quantity.name,
            )
            numbers.append(joined(", ", filter(None, [number, _left_out(pairs)])))
        texts.append(_("{name} ({numbers})", name=comparison.name, numbers=joined("; ", numbers)))
    sentence = _(
        "no significant difference in any pair of cells: {comparisons}",
        comparisons=joined("; ", texts),
    )
    every = [row for _comparison, rows in comparisons for row in rows]
    return AnswerLine(sentence_case(sentence), _cells_of(every), NAME)


def _cells_of(rows: Sequence[Judged]) -> tuple[str, ...]:
    """The cells of each row, the contender's cell first."""
    return tuple(dict.fromkeys(cell for row in rows for cell in row.aligned.cells[::-1]))


def _answer(comparison: Comparison, rows: Sequence[Judged], table: int) -> AnswerLine:
    """For one pair of cells, the difference in each quantity and its interval; for several, the
    range of the significant differences, how many there are among how many pairs that could be
    compared, and why the others could not. Quantities with the same text share it.
    """
    by_difference: dict[str, list[str]] = {}
    for quantity, pairs in grouped(rows, lambda row: row.aligned.quantity).items():
        compared = sum(map(_is_compared, pairs))
        different = [row for row in pairs if row.verdict.verdict == "different"]
        ratios = sorted(ratio for row in different if (ratio := row.verdict.ratio) is not None)
        if len(pairs) == 1:
            text = words_of(pairs[0])
        elif not compared:
            text = _("compared in no pair of cells")
        elif not ratios:
            text = counted(
                "without a significant difference in {number} pair of cells",
                "without a significant difference in any of {number} pairs of cells",
                compared,
            )
        else:
            differences = words_of(different[0])
            if len(different) > 1:
                differences = ratio_span(ratios[0], ratios[-1], quantity)
            text = counted(
                "{differences} in {some} of {number} pair of cells",
                "{differences} in {some} of {number} pairs of cells",
                compared,
                differences=differences,
                some=str(len(different)),
            )
        if len(pairs) > 1:
            text = joined(", ", filter(None, [text, _left_out(pairs)]))
        by_difference.setdefault(text, []).append(quantity.name)
    clauses = [
        _("{quantity} {difference}", quantity=listed(names), difference=difference)
        for difference, names in by_difference.items()
    ]
    sentence = joined(": ", [comparison.name, joined("; ", clauses)])
    relevant = [row for row in rows if row.verdict.verdict == "different"]
    return AnswerLine(sentence, _cells_of([*relevant, *rows]), NAME, table=table)
