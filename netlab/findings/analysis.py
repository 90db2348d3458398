"""A run together with what may be said of it: its findings, and what its streams did."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from netlab.findings.asymmetry import one_way
from netlab.findings.buffers import buffers
from netlab.findings.ceilings import above_any, falls, without_timestamps
from netlab.findings.coverage import fewer_cells, missing
from netlab.findings.durations import off_time
from netlab.findings.evidence import samples
from netlab.findings.finding import Finding, Kind
from netlab.findings.fragments import fragmented
from netlab.findings.limits import limits
from netlab.findings.link_checks import hosts, links
from netlab.findings.outliers import outliers
from netlab.findings.sample import StreamSample
from netlab.findings.series import series_of
from netlab.findings.single_trials import unrepeated
from netlab.findings.validity import doubts
from netlab.results.run import Run
from netlab.store.reader import read
from netlab.store.source_facts import stated_of

OF_HOSTS = frozenset(
    {
        *(Kind.SENDER_CPU, Kind.SENDER_CALL_RATE, Kind.SENDER_QUOTA, Kind.SENDER_STARVED),
        *(Kind.RECEIVER_CPU, Kind.RECEIVER_QUOTA, Kind.RECEIVER_STARVED, Kind.RECEIVER_WINDOW),
        *(Kind.STOLEN_CPU, Kind.SATURATED_CORE, Kind.PACKET_RATE),
    }
)
"""Kinds of limits that are not the link's: what a pairing so limited reaches says nothing of it."""

UNEXPLAINED = frozenset({Kind.WIRE_CEILING, Kind.NOT_DETERMINED})
"""Kinds of limits that do not say why a cell is below the ceiling."""


class Analysis(Run):
    """A run, and what its records let one say of it; computed when first asked for."""

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What may be said about the run, each with its evidence: warnings first."""
        return findings(self)

    @cached_property
    def samples(self) -> tuple[StreamSample, ...]:
        """What is known of each flow of each stream that is ok, in the plan's order."""
        return samples(self)


def load(path: Path) -> Analysis:
    """Read a run folder; UsageError where there is none, StoreError where it is beyond use."""
    return Analysis(read(path))


def findings(run: Analysis) -> tuple[Finding, ...]:
    """All that may be said about a run, warnings first, else in the order of the rooms below."""
    series, given = series_of(run), run.samples
    link, imported = run.plan.link, run.plan.source is not None
    limited = limits(given)
    explained = {c for each in limited if each.kind not in UNEXPLAINED for c in each.cells}
    of_hosts = {c for each in limited if each.kind in OF_HOSTS for c in each.cells}
    found = (
        *links(series, link, of_hosts),
        *hosts(_facts(run), link, _wired(run)),
        *doubts(given, run.facts),
        *off_time(series, stated_of(run.plan)),
        *outliers(series),
        *limited,
        *above_any(series, link, imported=imported),
        *one_way(series),
        *falls(series, explained),
        *without_timestamps(series, imported=imported),
        *buffers(series),
        *fragmented(series, link),
        *unrepeated(series),
        *missing(run),
        *fewer_cells(series),
    )
    return tuple(sorted(found, key=lambda each: each.severity != "warning"))


def _facts(run: Run) -> dict[str, list[Mapping[str, Any]]]:
    """Host → its facts as they were noted, in that order."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for note in run.facts:
        facts = note.get("facts")
        if isinstance(facts, Mapping):
            found.setdefault(str(note.get("host", "")), []).append(facts)
    return found


def _wired(run: Run) -> frozenset[str]:
    """The hosts that measured over a cable."""
    wired = [record for record in run.records if record.values.get("same_host") is False]
    return frozenset(host for record in wired for host in (record.server, record.client) if host)
