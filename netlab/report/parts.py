"""The parts of the page: each room that has something to say about a run, in the page's order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from netlab.errors import MatrixError
from netlab.report import (
    between,
    compared,
    explained,
    loss_and_cpu,
    overtime,
    payloads,
    repeated,
    roundtrips,
    throughputs,
    together,
)
from netlab.report.nouns import Part
from netlab.report.readings import Reading

if TYPE_CHECKING:
    from netlab.frame import Run


def parts_of(run: Run, readings: Sequence[Reading]) -> tuple[Part, ...]:
    """What further rooms have to say; empty for an import of streams, each printed once."""
    link, imported = run.plan.link, run.plan.source is not None
    never_tight = [cell.key for cell in run.plan.cells if run.stored.course(cell).tight is False]
    found = [
        between.part(readings, link, imported=imported),
        together.part(readings),
        *explained.parts(run),
        *roundtrips.parts(readings, link, imported=imported),
        payloads.part(readings, link),
        throughputs.part(readings),
        loss_and_cpu.part(readings),
        _compared(run, readings),
        repeated.part(readings, link, imported=imported, never_tight=never_tight),
        overtime.part(readings),
    ]
    return tuple(part for part in found if part is not None)


def _compared(run: Run, readings: Sequence[Reading]) -> Part | None:
    """What the run's matrix compares; where it cannot be read, its faults."""
    if "compare" not in run.plan.matrix_text:
        return None
    from netlab.matrix import comparisons_in

    try:
        return compared.part(readings, comparisons_in(run.plan.matrix_text, "matrix.yaml"))
    except MatrixError as error:
        said = f"Nothing is compared: the run’s matrix.yaml cannot be read. {error}"
        return Part(name=compared.NAME, title=compared.TITLE, paragraphs=(said,))
