"""Runs of round trips and connections made up for tests, with what is known to be true of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from made_readings import of_round_trips, plan_of, planned, result

from netlab.ethernet import Link
from netlab.findings.analysis import Analysis, load
from netlab.findings.finding import Finding
from netlab.report.text.findings import RunIndex, sentence
from netlab.store.plan import PlannedCell
from netlab.store.run_folder import RunFolder
from netlab.trial.record import Value

LINK = Link(1e8, 1500)
Trials = Sequence[Mapping[str, Value]]
"""What each trial of a cell recorded."""


def trips_run(
    folder: Path,
    *cells: tuple[PlannedCell, Trials],
    link: Link | None = LINK,
    facts: Mapping[str, Mapping[str, Any]] | None = None,
    **plan: Any,
) -> Analysis:
    """A run folder with these trials, and facts of hosts noted at its beginning."""
    repeats = max(len(trials) for _cell, trials in cells)
    run_plan = plan_of([cell for cell, _trials in cells], repeats, link=link, **plan)
    with RunFolder.open_for_writing(folder, run_plan) as into:
        for host, host_facts in (facts or {}).items():
            into.note("facts", host=host, when="before", facts=dict(host_facts))
        for cell, trials in cells:
            for number, values in enumerate(trials, 1):
                into.append(result(cell, number, values), durable=False)
    return load(folder)


def trip_cell(**settings: Any) -> PlannedCell:
    return planned("round_trip", **settings)


def timed(values_ns: Sequence[int], **more: Value) -> dict[str, Value]:
    """A trial of these times whose window is what they took, one after the other."""
    return of_round_trips(values_ns, **more)


def found(run: Analysis, kind: str) -> list[Finding]:
    return [finding for finding in run.findings if finding.kind == kind]


def said(run: Analysis, kind: str) -> str:
    """The sentence of the one finding of a kind."""
    (only,) = found(run, kind)
    return str(sentence(only, RunIndex(run)))
