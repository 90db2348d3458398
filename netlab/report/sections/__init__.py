"""The sections of the page about a run's results, in the page's order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from netlab.errors import MatrixError
from netlab.messages import _
from netlab.report.sections import (
    comparisons,
    latency_under_load,
    pairs,
    payloads,
    repeats,
    round_trips,
    streams,
    throughput_search,
    trial_times,
)
from netlab.report.tables.elements import Part
from netlab.trial.record import Record

if TYPE_CHECKING:
    from netlab.findings.analysis import Analysis


def parts_of(run: Analysis, records: Sequence[Record]) -> tuple[Part, ...]:
    """The sections for which the run has content. An imported run of streams may have none."""
    link, imported = run.plan.link, run.plan.source is not None
    never_tight = [
        cell.key for cell in run.plan.cells if run.stored.progress(cell).precise is False
    ]
    sections = [
        pairs.part(records, link, imported=imported),
        trial_times.together(records),
        *streams.findings_and_limits(run),
        *round_trips.parts(records, link, imported=imported),
        latency_under_load.part(run, records),
        payloads.part(records, link),
        throughput_search.part(records),
        streams.loss_and_cpu(records),
        _compared(run, records),
        repeats.part(records, link, imported=imported, never_tight=never_tight),
        trial_times.drift(records),
    ]
    return tuple(part for part in sections if part is not None)


def _compared(run: Analysis, records: Sequence[Record]) -> Part | None:
    """The comparisons that the run's matrix requests, or why the matrix cannot be read."""
    if "compare" not in run.plan.matrix_text:
        return None
    from netlab.config.matrix_file import comparisons_in

    try:
        return comparisons.part(records, comparisons_in(run.plan.matrix_text, "matrix.yaml"))
    except MatrixError as error:
        why = _(
            "Nothing is compared: the run’s matrix.yaml cannot be read. {error}", error=str(error)
        )
        return Part(name=comparisons.NAME, title=comparisons.TITLE, paragraphs=(why,))
