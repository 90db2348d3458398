"""The parts of the page: each room that has something to say about a run, in the page's order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from netlab.report import explained, roundtrips
from netlab.report.nouns import Part
from netlab.report.readings import Reading

if TYPE_CHECKING:
    from netlab.frame import Run


def parts_of(run: Run, readings: Sequence[Reading]) -> tuple[Part, ...]:
    """What further rooms have to say; empty for a run of streams, each measured once."""
    link = run.plan.link
    return (*roundtrips.parts(readings, link), *explained.parts(run))
