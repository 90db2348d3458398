"""The sections of the page about a run's results, in the page's order.

A cell is one combination of test, pairing (server and client) and settings; a trial is one
measurement of a cell, and a reading is the data of one trial.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from netlab.errors import MatrixError
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
from netlab.results.readings import Reading

if TYPE_CHECKING:
    from netlab.findings.analysis import Analysis


def parts_of(run: Analysis, readings: Sequence[Reading]) -> tuple[Part, ...]:
    """The sections for which the run has content. An imported run of streams may have none."""
    link, imported = run.plan.link, run.plan.source is not None
    never_tight = [
        cell.key for cell in run.plan.cells if run.stored.progress(cell).precise is False
    ]
    sections = [
        all_pairs.part(readings, link, imported=imported),
        concurrent.part(readings),
        *stream_limits.parts(run),
        *round_trips.parts(readings, link, imported=imported),
        latency_under_load.part(run, readings),
        payloads.part(readings, link),
        throughput_search.part(readings),
        loss_and_cpu.part(readings),
        _compared(run, readings),
        repeats.part(readings, link, imported=imported, never_tight=never_tight),
        drift.part(readings),
    ]
    return tuple(part for part in sections if part is not None)


def _compared(run: Analysis, readings: Sequence[Reading]) -> Part | None:
    """The comparisons that the run's matrix requests, or why the matrix cannot be read."""
    if "compare" not in run.plan.matrix_text:
        return None
    from netlab.config.matrix_file import comparisons_in

    try:
        return comparisons.part(readings, comparisons_in(run.plan.matrix_text, "matrix.yaml"))
    except MatrixError as error:
        why = _(
            "Nothing is compared: the run’s matrix.yaml cannot be read. {error}", error=str(error)
        )
        return Part(name=comparisons.NAME, title=comparisons.TITLE, paragraphs=(why,))
