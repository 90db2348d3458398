"""The sections of the page, and the lines at its top: a table says what each topic has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netlab.experiment.hosts import is_by_name
from netlab.kinds import KINDS
from netlab.messages import _, joined, sentence_case
from netlab.report.sections import (
    comparisons,
    findings,
    latency_under_load,
    pairs,
    payloads,
    repeats,
    round_trips,
    streams,
    throughput_search,
    trial_times,
)
from netlab.report.sections.comparisons import JudgedComparisons
from netlab.report.tables.elements import AnswerLine, Part, table
from netlab.report.text import summary
from netlab.report.text.phrases import spanned
from netlab.results.labels import figure
from netlab.results.quantities import names_of
from netlab.trial.figures import FigureColumn, Trials, in_unit, mean_of_all, trials_shown
from netlab.trial.record import Record, by_cell, grouped

if TYPE_CHECKING:
    from netlab.findings.analysis import Analysis
    from netlab.results.layout import Layout

MOST_WARNINGS = 3
MOST_BESIDE = 4
"""Maximum number of comparisons and warnings together. If there are more, warnings are left out,
but the most important warning is always shown."""

PartsOf = Callable[["Analysis", Sequence[Record]], Iterable[Part | None]]
AnswersOf = Callable[["Analysis", Sequence[Record], "Layout"], Iterable[AnswerLine]]


@dataclass(frozen=True, slots=True)
class Topic:
    """What the report has about some kinds of test, or about all of them."""

    parts: PartsOf
    answers: AnswersOf = lambda _run, _records, _layout: ()
    tests: tuple[str, ...] = ()
    """The kinds of test; empty for all."""

    def records_of(self, records: Sequence[Record]) -> Sequence[Record]:
        """The records of these kinds of test."""
        return [r for r in records if r.test in self.tests] if self.tests else records


def _imported(run: Analysis) -> bool:
    return run.plan.source is not None


def _by_system(records: Sequence[Record]) -> list[Record]:
    """The records of pairings of systems. The lines of named hosts are those of their pairs."""
    return [record for record in records if not is_by_name(record.pairing)]


def _others(records: Sequence[Record]) -> list[Record]:
    """The records of kinds of test that have no topic of their own."""
    own = {test for topic in TOPICS for test in topic.tests}
    return [record for record in records if record.test in KINDS and record.test not in own]


def _repeats(run: Analysis, records: Sequence[Record]) -> list[Part | None]:
    never_tight = [
        cell.key for cell in run.plan.cells if run.stored.progress(cell).precise is False
    ]
    link, imported = run.plan.link, _imported(run)
    return [repeats.part(records, link, imported=imported, never_tight=never_tight)]


def _plain_parts(records: Sequence[Record]) -> list[Part]:
    """A section for each kind of test: trials and means of headline figures, cell by cell."""
    sections = []
    for test, own in grouped(records, lambda record: record.test).items():
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
        sections.append(
            Part(name=test.replace("_", "-"), title=sentence_case(kind.label), sheets=(sheet,))
        )
    return sections


def _plain_answers(records: Sequence[Record]) -> list[AnswerLine]:
    """A line for each headline figure: its least and its greatest value."""
    lines = []
    for test, own in grouped(records, lambda record: record.test).items():
        for quantity in KINDS[test].figure_columns().values():
            values = {
                record.cell: value
                for record in own
                if (value := quantity.in_unit(record)) is not None
            }
            if values:
                span = spanned(figure(min(values.values())), figure(max(values.values())))
                sentence = _(
                    "{quantity}: {figures} {unit}",
                    quantity=sentence_case(quantity.name),
                    figures=span,
                    unit=quantity.unit,
                )
                lines.append(AnswerLine(sentence, tuple(values), test.replace("_", "-")))
    return lines


STREAMS = Topic(
    lambda _run, records: [streams.loss_and_cpu(records)],
    lambda run, _records, layout: streams.answers(layout, run.plan.link),
    tests=("stream",),
)
TOPICS = (
    Topic(
        lambda run, records: [pairs.part(records, run.plan.link, imported=_imported(run))],
        lambda _run, records, _layout: pairs.answers(records),
    ),
    Topic(lambda _run, records: [trial_times.together(records)]),
    Topic(lambda run, _records: findings.findings_and_limits(run)),
    Topic(
        lambda run, records: round_trips.parts(records, run.plan.link, imported=_imported(run)),
        lambda _run, records, _layout: round_trips.answers(_by_system(records)),
        tests=("round_trip", "connect"),
    ),
    Topic(
        lambda run, records: [latency_under_load.part(run, records)],
        lambda _run, records, _layout: latency_under_load.answers(records),
        tests=("latency_under_load",),
    ),
    Topic(
        lambda run, records: [payloads.part(records, run.plan.link)],
        lambda run, records, _layout: payloads.answers(_by_system(records), run.findings),
        tests=("payload_search",),
    ),
    Topic(
        lambda _run, records: [throughput_search.part(records)],
        lambda _run, records, _layout: throughput_search.answers(_by_system(records)),
        tests=("throughput_search",),
    ),
    Topic(
        lambda _run, records: _plain_parts(_others(records)),
        lambda _run, records, _layout: _plain_answers(_by_system(_others(records))),
    ),
    STREAMS,
    Topic(lambda run, records: [comparisons.requested(run.plan.matrix_text, records)]),
    Topic(_repeats),
    Topic(lambda _run, records: [trial_times.drift(records)]),
)


def parts_of(run: Analysis, records: Sequence[Record]) -> tuple[Part, ...]:
    """The sections for which the run has content. An imported run of streams may have none."""
    every = (part for topic in TOPICS for part in topic.parts(run, topic.records_of(records)))
    return tuple(part for part in every if part is not None)


@dataclass(frozen=True, slots=True)
class FirstLines:
    """The lines at the top of the page."""

    answers: tuple[AnswerLine, ...]
    comparisons: tuple[AnswerLine, ...]
    warnings: tuple[AnswerLine, ...]
    judged: JudgedComparisons


def first_lines(run: Analysis, records: Sequence[Record], layout: Layout) -> FirstLines:
    """The results: those of streams, then those of the other topics; no lines for an empty run.

    ``layout`` arranges the records of streams, except the streams between named hosts, in tables.
    """
    topics = sorted(TOPICS, key=lambda topic: topic is not STREAMS)
    answers = [
        line for topic in topics for line in topic.answers(run, topic.records_of(records), layout)
    ]
    verdicts = comparisons.judged_of(run.plan.matrix_text, records)
    of_comparisons = sum(bool(rows) for _comparison, rows in verdicts)
    most_warnings = min(MOST_WARNINGS, max(1, MOST_BESIDE - of_comparisons))
    warnings = summary.leading_warnings(run)[:most_warnings]
    return FirstLines(
        tuple(answers),
        comparisons.answers(verdicts),
        tuple(AnswerLine(sentence, cells, summary.NAME) for sentence, cells in warnings),
        verdicts,
    )
