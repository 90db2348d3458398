"""A run together with what may be said of it: its findings, and what its streams did."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import signature
from pathlib import Path
from typing import Any

from netlab.experiment.matrix import Link, LongPath
from netlab.findings.evidence import samples
from netlab.findings.finding import Finding, Kind
from netlab.findings.kinds.kind import FindingRule
from netlab.findings.mesh.throughput import slow_in_mesh
from netlab.findings.sample import StreamSample
from netlab.findings.series import Series, series_of
from netlab.findings.streams.by_trials import limits
from netlab.findings.streams.link_limits import OF_LINKS
from netlab.findings.streams.trial_counts import cells_mostly
from netlab.results.run import Run, read_checked
from netlab.store.source_facts import Stated, stated_of


@dataclass(frozen=True)
class Analysis(Run):
    """A run, and what its records let one say of it; computed when first asked for."""

    say: Callable[[Run], Callable[[Finding], str]] | None = None
    """Puts the findings of a run into sentences; ``None``: they have none."""

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What may be said about the run, each with its evidence: warnings first."""
        found = findings(self)
        if self.say is None:
            return found
        in_words = self.say(self)
        return tuple(replace(each, sentence=in_words(each)) for each in found)

    @cached_property
    def limits(self) -> tuple[Finding, ...]:
        """What limited the streams, also where a finding about several hosts says it of them."""
        return limits(self.samples)

    @cached_property
    def samples(self) -> tuple[StreamSample, ...]:
        """What is known of each flow of each stream that is ok, in the plan's order."""
        return samples(self)


def load(path: Path, say: Callable[[Run], Callable[[Finding], str]] | None = None) -> Analysis:
    """Read a run folder; UsageError where there is none, StoreError where it is beyond use."""
    return Analysis(read_checked(path), say)


def findings(run: Analysis) -> tuple[Finding, ...]:
    """All that may be said about a run, warnings first, else in the order of the table of kinds."""
    evidence = RunEvidence(run)
    found = [
        finding
        for rule in dict.fromkeys(kind.rule for kind in Kind if kind.rule is not None)
        for finding in evidence.shown_by(rule)
    ]
    return tuple(sorted(found, key=lambda each: each.severity != "warning"))


class RunEvidence:
    """What a rule may look at: each parameter of a rule is called as one of these."""

    def __init__(self, run: Analysis) -> None:
        self.run = run
        self.samples = run.samples
        self.link: Link | None = run.plan.link
        self.target: LongPath | None = run.plan.target
        self.imported = run.plan.source is not None
        self.notes = run.facts
        """Facts of hosts, as they were noted."""

    def shown_by(self, rule: FindingRule | str) -> tuple[Finding, ...]:
        """What a rule finds."""
        ask: FindingRule = (
            pkgutil.resolve_name(f"{__package__}.{rule}") if isinstance(rule, str) else rule
        )
        return tuple(ask(**{name: getattr(self, name) for name in signature(ask).parameters}))

    @cached_property
    def series(self) -> tuple[Series, ...]:
        """The cells that differ in their socket buffers only."""
        return series_of(self.run)

    @cached_property
    def limited(self) -> tuple[Finding, ...]:
        """What limited the streams."""
        return self.run.limits

    @cached_property
    def limits_told(self) -> tuple[Finding, ...]:
        """The same but for links of which a slow host, pair or mesh is said, and for TCP that found
        their rate by what it lost.
        """
        of_mesh = OF_LINKS | {Kind.CONGESTION}
        return tuple(
            each
            for each in self.limited
            if each.kind not in of_mesh or not self.of_mesh.issuperset(each.cells)
        )

    @cached_property
    def mesh(self) -> tuple[Finding, ...]:
        """Which hosts and pairs of a mesh are slow."""
        return slow_in_mesh(self.samples, self.limited, self.link)

    @cached_property
    def of_mesh(self) -> frozenset[str]:
        """The cells that are slow by what was found of the mesh: it is not to be said again."""
        return frozenset(cell for each in self.mesh for cell in each.cells)

    @cached_property
    def explained(self) -> frozenset[str]:
        """The cells of which a limit says why most of their trials are below the ceiling."""
        return cells_mostly((each for each in self.limited if each.kind.explains), self.samples)

    @cached_property
    def of_hosts(self) -> frozenset[str]:
        """The cells of which a host limits most trials, not the link."""
        return cells_mostly((each for each in self.limited if each.kind.of_host), self.samples)

    @cached_property
    def slower_links(self) -> frozenset[str]:
        """The pairings whose own streams show that their link is slower than stated."""
        of_links = (each for each in self.limited if each.kind in OF_LINKS)
        return frozenset(each.group.pairing for each in of_links)

    @cached_property
    def stated(self) -> Stated:
        """What an imported document says beside its table."""
        return stated_of(self.run.plan)

    @cached_property
    def facts(self) -> dict[str, list[Mapping[str, Any]]]:
        """Host → its facts as they were noted, in that order."""
        return _by_host(self.notes)

    @cached_property
    def routes(self) -> dict[str, list[Mapping[str, Any]]]:
        """Host → facts of its further interfaces, of those that some record names."""
        used = {
            str(each.values[name])
            for each in self.run.records
            for name in each.values
            if name.endswith("_interface")
        }
        noted = _by_host(self.run.routes)
        return {
            host: [each for each in its if each.get("route_interface") in used]
            for host, its in noted.items()
        }

    @cached_property
    def wired(self) -> frozenset[str]:
        """The hosts that measured over a cable."""
        wired = [each for each in self.run.records if each.values.get("same_host") is False]
        return frozenset(host for each in wired for host in (each.server, each.client) if host)


def _by_host(notes: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for note in notes:
        facts = note.get("facts")
        if isinstance(facts, Mapping):
            found.setdefault(str(note.get("host", "")), []).append(facts)
    return found
