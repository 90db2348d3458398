"""The section and the first lines of kinds of test that have no section of their own."""

from __future__ import annotations

from collections.abc import Sequence

from netlab.kinds import KINDS, KindOfTest
from netlab.messages import _, joined, sentence_case
from netlab.report.tables.elements import AnswerLine, Part, table
from netlab.report.text.phrases import spanned
from netlab.results.labels import figure
from netlab.results.quantities import names_of
from netlab.trial.figures import FigureColumn, Trials, in_unit, mean_of_all, trials_shown
from netlab.trial.record import Record, by_cell


def parts(records: Sequence[Record]) -> list[Part]:
    """A section for each kind of test among the records: its figures, cell by cell.

    It has the number of trials, and the mean of each headline figure.
    """
    sections = []
    for test in dict.fromkeys(record.test for record in records):
        own = [record for record in records if record.test == test]
        kind, names = KINDS[test], names_of(own)
        columns: list[FigureColumn[Trials]] = [FigureColumn(_("trials"), trials_shown)]
        for quantity in kind.figure_columns().values():
            heading = in_unit(quantity.unit, quantity.name)
            of = mean_of_all(quantity.in_unit, lambda trial: trial.why_blank)
            columns.append(FigureColumn(heading, of, quantity.unit))
        rows = [
            (joined(" ", [trials[0].pairing, names[cell]]), cell, trials)
            for cell, trials in by_cell(own).items()
        ]
        sheet = table(sentence_case(kind.subject), _("cell"), columns, rows)
        sections.append(Part(name=_anchor(kind), title=sentence_case(kind.label), sheets=(sheet,)))
    return sections


def answers(records: Sequence[Record]) -> list[AnswerLine]:
    """A line for each headline figure: its least and its greatest value."""
    lines = []
    for test in dict.fromkeys(record.test for record in records):
        kind = KINDS[test]
        for quantity in kind.figure_columns().values():
            values = {
                record.cell: value
                for record in records
                if record.test == test and (value := quantity.in_unit(record)) is not None
            }
            if values:
                span = spanned(figure(min(values.values())), figure(max(values.values())))
                sentence = _(
                    "{quantity}: {figures} {unit}",
                    quantity=sentence_case(quantity.name),
                    figures=span,
                    unit=quantity.unit,
                )
                lines.append(AnswerLine(sentence, tuple(values), _anchor(kind)))
    return lines


def _anchor(kind: KindOfTest) -> str:
    return kind.name.replace("_", "-")
