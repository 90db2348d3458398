"""The sections of the page: a table says what each topic has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from netlab.findings.analysis import Analysis
from netlab.kinds import KINDS
from netlab.messages import _, joined, sentence_case
from netlab.report.sections import (
    comparisons,
    effects,
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
from netlab.report.tables.elements import Part, table
from netlab.results.layout import meshed
from netlab.results.quantities import names_of
from netlab.trial.figures import FigureColumn, Trials, in_unit, mean_of_all, trials_shown
from netlab.trial.record import Record, by_cell, grouped

PartsOf = Callable[[Analysis, Sequence[Record]], Iterable[Part | None]]


@dataclass(frozen=True, slots=True)
class Topic:
    """What the report has about some kinds of test, or about all of them."""

    parts: PartsOf
    tests: tuple[str, ...] = ()
    """The kinds of test; empty for all."""


def _imported(run: Analysis) -> bool:
    return run.plan.source is not None


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


TOPICS = (
    Topic(
        lambda run, records: [pairs.part(meshed(records), run.plan.link, imported=_imported(run))]
    ),
    Topic(lambda _run, records: [trial_times.together(records)]),
    Topic(lambda run, _records: [effects.part(run.effects)]),
    Topic(lambda run, _records: findings.findings_and_limits(run)),
    Topic(
        lambda run, records: round_trips.parts(records, run.plan.link, imported=_imported(run)),
        tests=("round_trip", "connect"),
    ),
    Topic(
        lambda run, records: [latency_under_load.part(run, records)], tests=("latency_under_load",)
    ),
    Topic(lambda run, records: [payloads.part(records, run.plan.link)], tests=("payload_search",)),
    Topic(lambda _run, records: [throughput_search.part(records)], tests=("throughput_search",)),
    Topic(lambda _run, records: _plain_parts(_others(records))),
    Topic(lambda _run, records: [streams.loss_and_cpu(records)], tests=("stream",)),
    Topic(lambda run, records: [comparisons.requested(run.plan.matrix_text, records)]),
    Topic(_repeats),
    Topic(lambda _run, records: [trial_times.drift(records)]),
)


def parts_of(run: Analysis, records: Sequence[Record]) -> tuple[Part, ...]:
    """The sections for which the run has content. An imported run of streams may have none."""
    sections = []
    for topic in TOPICS:
        own = [r for r in records if r.test in topic.tests] if topic.tests else records
        sections += [part for part in topic.parts(run, own) if part is not None]
    return tuple(sections)
