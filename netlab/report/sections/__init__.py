"""The sections of the page, in its order."""

from __future__ import annotations

from collections.abc import Sequence

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

_OWN = (
    *("round_trip", "connect", "latency_under_load", "payload_search", "throughput_search"),
    "stream",
)
"""Kinds of test that have sections of their own."""


def parts_of(run: Analysis, records: Sequence[Record]) -> tuple[Part, ...]:
    """The sections for which the run has content. An imported run of streams may have none."""
    link, imported = run.plan.link, run.plan.source is not None

    def of(*tests: str) -> list[Record]:
        return [record for record in records if record.test in tests]

    never_tight = [
        cell.key for cell in run.plan.cells if run.stored.progress(cell).precise is False
    ]
    every = (
        pairs.part(meshed(records), link, imported=imported),
        trial_times.together(records),
        effects.part(run.effects),
        *findings.findings_and_limits(run),
        *round_trips.parts(of("round_trip", "connect"), link, imported=imported),
        latency_under_load.part(run, of("latency_under_load")),
        payloads.part(of("payload_search"), link),
        throughput_search.part(of("throughput_search")),
        *_plain_parts(of(*(kind for kind in KINDS if kind not in _OWN))),
        streams.loss_and_cpu(of("stream")),
        comparisons.requested(run.plan.matrix_text, records),
        repeats.part(records, link, imported=imported, never_tight=never_tight),
        trial_times.drift(records),
    )
    return tuple(part for part in every if part is not None)


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
