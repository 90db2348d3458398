"""Judged comparisons → one line each: the differences and the number of cells. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netlab.compare.judge import Judged
from netlab.experiment.comparisons import Comparison
from netlab.messages import _, joined
from netlab.report.answers.answer import AnswerLine
from netlab.report.sections.comparisons import NAME, in_words, ratio_span
from netlab.report.text.phrases import listed
from netlab.results.quantities import Quantity


def answers(verdicts: Sequence[tuple[Comparison, Sequence[Judged]]]) -> tuple[AnswerLine, ...]:
    """One line for each comparison that has pairs of cells."""
    answered = ((comparison, rows) for comparison, rows in verdicts if rows)
    return tuple(
        _answer(comparison, rows, number) for number, (comparison, rows) in enumerate(answered, 1)
    )


def _answer(comparison: Comparison, rows: Sequence[Judged], table: int) -> AnswerLine:
    by_difference: dict[str, list[str]] = {}
    for quantity in dict.fromkeys(row.aligned.quantity for row in rows):
        for difference in _differences(quantity, rows):
            by_difference.setdefault(difference, []).append(quantity.name)
    clauses = [
        _("{quantity} {difference}", quantity=listed(names), difference=difference)
        for difference, names in by_difference.items()
    ]
    different = [row for row in rows if row.verdict.verdict == "different"]
    cells = [cell for row in (*different, *rows) for cell in row.aligned.cells[::-1]]
    sentence = joined(": ", [comparison.name, joined("; ", clauses)])
    return AnswerLine(sentence, tuple(dict.fromkeys(cells)), NAME, table=table)


def _differences(quantity: Quantity, rows: Sequence[Judged]) -> Iterator[str]:
    """The difference of one pair of cells with its interval, or the differences of several."""
    pairs = [row for row in rows if row.aligned.quantity is quantity]
    if len(pairs) == 1:
        yield in_words(pairs[0].verdict, quantity, taken_back=pairs[0].taken_back)
        return
    different = [row.verdict for row in pairs if row.verdict.verdict == "different"]
    ratios = sorted(verdict.ratio for verdict in different if verdict.ratio is not None)
    if not ratios:
        yield _(
            "without a significant difference in any of {cells} pairs of cells",
            cells=str(len(pairs)),
        )
        return
    yield _(
        "{differences} in {some} of {all} pairs of cells",
        differences=ratio_span(ratios[0], ratios[-1], quantity)
        if len(different) > 1
        else in_words(different[0], quantity),
        some=str(len(different)),
        all=str(len(pairs)),
    )
