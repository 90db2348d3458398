"""The parts of the page: each room that has something to say about a run, in the page's order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from netlab.report import repeated, roundtrips
from netlab.report.nouns import Part
from netlab.report.readings import Reading

if TYPE_CHECKING:
    from netlab.frame import Run


def parts_of(run: Run, readings: Sequence[Reading]) -> tuple[Part, ...]:
    """What further rooms have to say; empty for an import of streams, each printed once."""
    link, imported = run.plan.link, run.plan.source is not None
    never_tight = [cell.key for cell in run.plan.cells if run.stored.course(cell).tight is False]
    found = [
        *roundtrips.parts(readings, link, imported=imported),
        repeated.part(readings, link, imported=imported, never_tight=never_tight),
    ]
    return tuple(part for part in found if part is not None)
