"""Comparisons with their verdicts → one line each: differences, numbers of pairs. No I/O.

A cell is one combination of test, pairing (server and client) and settings. A comparison has two
sides, the baseline and the contender. Each of its pairs consists of a cell of the baseline and a
cell of the contender.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netlab.compare.align import Judged
from netlab.experiment.cells import Comparison
from netlab.messages import _, joined, sentence_case
from netlab.report.answers.answer import AnswerLine
from netlab.report.sections.comparisons import NAME, in_words, ratio_span
from netlab.report.text.phrases import listed
from netlab.results.quantities import Quantity


def answers(verdicts: Sequence[tuple[Comparison, Sequence[Judged]]]) -> tuple[AnswerLine, ...]:
    """One line for each comparison that has pairs of cells.

    If several comparisons have several pairs of cells each and show no difference, they share one
    line, in the place of the first of these comparisons.
    """
    answered = [(comparison, rows) for comparison, rows in verdicts if rows]
    alike = [(comparison, rows) for comparison, rows in answered if _shows_nothing(rows)]
    lines: list[AnswerLine] = []
    for number, (comparison, rows) in enumerate(answered, 1):
        if len(alike) > 1 and _shows_nothing(rows):
            if comparison is alike[0][0]:
                lines.append(_without_difference(alike))
        else:
            lines.append(_answer(comparison, rows, number))
    return tuple(lines)


def _shows_nothing(rows: Sequence[Judged]) -> bool:
    """Whether no pair of cells differs, and each quantity has several pairs."""
    numbers = _pairs_by_quantity(rows).values()
    return min(numbers) > 1 and all(row.verdict.verdict != "different" for row in rows)


def _pairs_by_quantity(rows: Sequence[Judged]) -> dict[Quantity, int]:
    """Quantity → its number of pairs of cells."""
    numbers: dict[Quantity, int] = {}
    for row in rows:
        numbers[row.aligned.quantity] = numbers.get(row.aligned.quantity, 0) + 1
    return numbers


def _without_difference(
    comparisons: Sequence[tuple[Comparison, Sequence[Judged]]],
) -> AnswerLine:
    """One line for comparisons in which no pair of cells differs."""
    texts = []
    for comparison, rows in comparisons:
        numbers = [
            _("{quantity}, {cells} pairs", quantity=quantity.name, cells=str(number))
            for quantity, number in _pairs_by_quantity(rows).items()
        ]
        texts.append(_("{name} ({numbers})", name=comparison.name, numbers=joined("; ", numbers)))
    cells = [
        cell for _name, rows in comparisons for row in rows for cell in row.aligned.cells[::-1]
    ]
    sentence = _(
        "no significant difference in any pair of cells: {comparisons}",
        comparisons=joined("; ", texts),
    )
    return AnswerLine(sentence_case(sentence), tuple(dict.fromkeys(cells)), NAME)


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
    """A text about the differences in one quantity.

    For one pair of cells, the text states the difference and its interval. For several pairs, it
    states the range of the significant differences, and how many pairs differ significantly.
    """
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
