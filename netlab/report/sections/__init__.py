"""The sections of the page about a run's results, in the page's order.

A cell is one combination of test, pairing (server and client) and settings; a trial is one
measurement of a cell, and a record is the data of one trial.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from netlab.errors import MatrixError
from netlab.experiment.records import Record
from netlab.messages import _
from netlab.report.sections import (
    all_pairs,
    comparisons,
    concurrent,
    drift,
    latency_under_load,
    loss_and_cpu,
    payloads,
    repeats,
    round_trips,
    stream_limits,
    throughput_search,
)
from netlab.report.tables.elements import Part

if TYPE_CHECKING:
    from netlab.findings.analysis import Analysis


def parts_of(run: Analysis, records: Sequence[Record]) -> tuple[Part, ...]:
    """The sections for which the run has content. An imported run of streams may have none."""
    link, imported = run.plan.link, run.plan.source is not None
    never_tight = [
        cell.key for cell in run.plan.cells if run.stored.progress(cell).precise is False
    ]
    sections = [
        all_pairs.part(records, link, imported=imported),
        concurrent.part(records),
        *stream_limits.parts(run),
        *round_trips.parts(records, link, imported=imported),
        latency_under_load.part(run, records),
        payloads.part(records, link),
        throughput_search.part(records),
        loss_and_cpu.part(records),
        _compared(run, records),
        repeats.part(records, link, imported=imported, never_tight=never_tight),
        drift.part(records),
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
