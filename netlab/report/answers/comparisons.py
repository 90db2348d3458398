"""Judged comparisons → a line each: what differs, by how much, in how many cells. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netlab.compare.judge import Judged
from netlab.experiment.comparisons import Comparison
from netlab.messages import _, joined
from netlab.report.answers.answer import AnswerLine
from netlab.report.sections.comparisons import NAME, in_words, ratio_span
from netlab.report.text.phrases import listed
from netlab.results.quantities import Quantity


def answers(judged: Sequence[tuple[Comparison, Sequence[Judged]]]) -> tuple[AnswerLine, ...]:
    """One a comparison that has anything to compare."""
    told = ((asked, rows) for asked, rows in judged if rows)
    return tuple(_answer(asked, rows, number) for number, (asked, rows) in enumerate(told, 1))


def _answer(asked: Comparison, rows: Sequence[Judged], table: int) -> AnswerLine:
    by_difference: dict[str, list[str]] = {}
    for quantity in dict.fromkeys(each.aligned.quantity for each in rows):
        for difference in _differences(quantity, rows):
            by_difference.setdefault(difference, []).append(quantity.name)
    said = [
        _("{quantity} {difference}", quantity=listed(names), difference=difference)
        for difference, names in by_difference.items()
    ]
    different = [each for each in rows if each.verdict.verdict == "different"]
    cells = [cell for each in (*different, *rows) for cell in each.aligned.cells[::-1]]
    sentence = joined(": ", [asked.name, joined("; ", said)])
    return AnswerLine(sentence, tuple(dict.fromkeys(cells)), NAME, table=table)


def _differences(quantity: Quantity, rows: Sequence[Judged]) -> Iterator[str]:
    """Of one pair of cells with its interval; of several how many differ, and by how much."""
    those = [each for each in rows if each.aligned.quantity is quantity]
    if len(those) == 1:
        yield in_words(those[0].verdict, quantity, taken_back=those[0].taken_back)
        return
    found = [each.verdict for each in those if each.verdict.verdict == "different"]
    ratios = sorted(each.ratio for each in found if each.ratio is not None)
    if not ratios:
        yield _("not shown to differ in any of {cells} pairs of cells", cells=str(len(those)))
        return
    yield _(
        "{differences} in {some} of {all} pairs of cells",
        differences=ratio_span(ratios[0], ratios[-1], quantity)
        if len(found) > 1
        else in_words(found[0], quantity),
        some=str(len(found)),
        all=str(len(those)),
    )
