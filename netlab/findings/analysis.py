"""A run with its findings, and with the limits (bottlenecks) of its streams."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import signature
from pathlib import Path
from typing import Any

from netlab.ethernet import Link
from netlab.experiment.matrix import LongPath
from netlab.experiment.variants import changed_facts
from netlab.findings.derived import StreamSample, samples
from netlab.findings.finding import Finding, Kind
from netlab.findings.kind import FindingRule, kinds_named
from netlab.findings.limits import limits
from netlab.findings.link_limits import OF_LINKS
from netlab.findings.mesh import slow_in_mesh
from netlab.findings.selectors import ClaimMaker
from netlab.findings.series import Series, series_of
from netlab.findings.stream_limits import cells_mostly
from netlab.findings.uneven import uneven
from netlab.results.run import Run, read_checked
from netlab.results.value_types import RUN_CHECK
from netlab.store.plan import StatedFacts, stated_facts_of
from netlab.store.reader import read_cells


@dataclass(frozen=True)
class Analysis(Run):
    """A run with its findings; they are computed at the first access."""

    say: Callable[[Run], Callable[[Finding], str]] | None = None
    """Takes a run and returns a function that writes a finding of this run as a sentence. ``None``:
    the findings have no sentences."""

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """All findings about the run, each with its evidence: warnings first."""
        computed = findings(self)
        if self.say is None:
            return computed
        in_words = self.say(self)
        return tuple(replace(finding, sentence=in_words(finding)) for finding in computed)

    @cached_property
    def limits(self) -> tuple[Finding, ...]:
        """The bottlenecks of streams, even if a finding about several hosts states them as well."""
        return limits(self.samples)

    @cached_property
    def samples(self) -> tuple[StreamSample, ...]:
        """The evidence about each flow in each stream trial with status ok, in the plan's order."""
        return samples(self)


def load(path: Path, say: Callable[[Run], Callable[[Finding], str]] | None = None) -> Analysis:
    """Read a run folder; UsageError if it is not one, StoreError if it is unusable."""
    return Analysis(read_checked(path), say)


def load_cells(path: Path, keys: Collection[str]) -> Analysis:
    """Read only the cells with these keys. Errors as ``load``; UsageError for an unknown key."""
    return Analysis(read_cells(path, keys, RUN_CHECK))


def findings(run: Analysis) -> tuple[Finding, ...]:
    """All findings about a run: warnings first, else in the order of the table of kinds."""
    evidence = RunEvidence(run)
    rules = dict.fromkeys(kind.rule for kind in Kind if kind.rule is not None)
    computed = [finding for rule in rules for finding in evidence.shown_by(rule)]
    claimed = ClaimMaker(run, run.samples).with_claims(computed)
    return tuple(sorted(claimed, key=lambda finding: finding.severity != "warning"))


class RunEvidence:
    """The evidence for the rules: a parameter of a rule gets the attribute of the same name."""

    def __init__(self, run: Analysis) -> None:
        self.run = run
        self.samples = run.samples
        self.link: Link | None = run.plan.link
        self.target: LongPath | None = run.plan.target
        self.imported = run.plan.source is not None
        self.changed: frozenset[str] = changed_facts(run.plan.content)
        """Names of the facts of hosts that netlab itself changes during the run (``variants`` in
        the matrix). No value of such a fact holds for the whole run."""

    def _steady(self, note: Mapping[str, Any]) -> Mapping[str, Any]:
        facts = note.get("facts")
        if not self.changed or not isinstance(facts, Mapping):
            return note
        steady = {name: value for name, value in facts.items() if name not in self.changed}
        return {**note, "facts": steady}

    def shown_by(self, rule: FindingRule | str) -> tuple[Finding, ...]:
        """The findings of a rule: a function, or ``module:function`` of this package."""
        function = pkgutil.resolve_name(f"{__package__}.{rule}") if isinstance(rule, str) else rule
        names = signature(function).parameters
        return tuple(function(**{name: getattr(self, name) for name in names}))

    @cached_property
    def series(self) -> tuple[Series, ...]:
        """The series of the run: cells that differ only in their socket buffers."""
        return series_of(self.run)

    @cached_property
    def limited(self) -> tuple[Finding, ...]:
        """The findings about the limits of the streams."""
        return self.run.limits

    @cached_property
    def reported_limits(self) -> tuple[Finding, ...]:
        """The limits of the streams. A limit of a link, or congestion, is left out if findings
        about slow hosts, pairs or meshes cover all its cells.
        """
        of_mesh = OF_LINKS | {Kind.CONGESTION}
        return tuple(
            finding
            for finding in self.limited
            if finding.kind not in of_mesh or not self.of_mesh.issuperset(finding.cells)
        )

    @cached_property
    def mesh(self) -> tuple[Finding, ...]:
        """The findings about slow hosts, slow pairs and slow meshes."""
        return slow_in_mesh(self.samples, self.limited, self.link)

    @cached_property
    def of_mesh(self) -> frozenset[str]:
        """The cells that a finding about the mesh already calls slow."""
        return frozenset(cell for finding in self.mesh for cell in finding.cells)

    @cached_property
    def held(self) -> frozenset[str]:
        """The cells in which a known limit, or pauses of the path, explain that most trials send
        less than requested.
        """
        losses = {*kinds_named("loss-limit")}
        of_senders = (f for f in self.limited if f.kind.is_costly and f.kind not in losses)
        return cells_mostly((*of_senders, *self.of_links, *self.unsteady), self.samples)

    @cached_property
    def unsteady(self) -> tuple[Finding, ...]:
        """The findings about pauses of the path, and about two rates."""
        return tuple(uneven(self.samples))

    @cached_property
    def of_links(self) -> tuple[Finding, ...]:
        """The limits that are links."""
        return tuple(finding for finding in self.limited if finding.kind in OF_LINKS)

    @cached_property
    def explained(self) -> frozenset[str]:
        """The cells in which a limit explains why most trials are below the wire ceiling."""
        return cells_mostly((f for f in self.limited if f.kind.explains), self.samples)

    @cached_property
    def of_hosts(self) -> frozenset[str]:
        """The cells in which a host, not the link, limits most trials."""
        return cells_mostly((f for f in self.limited if f.kind.of_host), self.samples)

    @cached_property
    def slower_links(self) -> frozenset[str]:
        """The pairings whose own streams show that their link is slower than stated."""
        return frozenset(finding.group.pairing for finding in self.of_links)

    @cached_property
    def statements(self) -> StatedFacts:
        """What the source document of an imported run states beside its table of results."""
        return stated_facts_of(self.run.plan)

    @cached_property
    def facts(self) -> dict[str, list[Mapping[str, Any]]]:
        """Host → its facts as recorded, in that order, without those named in ``changed``."""
        return by_host(self._steady(note) for note in self.run.facts)

    @cached_property
    def routes(self) -> dict[str, list[Mapping[str, Any]]]:
        """Host → facts of the interfaces of its additional test addresses that a record names."""
        interfaces = {
            str(record.values[name])
            for record in self.run.records
            for name in record.values
            if name.endswith("_interface")
        }
        return {
            host: [route for route in routes if route.get("route_interface") in interfaces]
            for host, routes in by_host(self._steady(note) for note in self.run.routes).items()
        }

    @cached_property
    def wired(self) -> frozenset[str]:
        """The hosts that measured over a cable."""
        wired = [record for record in self.run.records if record.values.get("same_host") is False]
        return frozenset(
            host for record in wired for host in (record.server, record.client) if host
        )


def by_host(notes: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Host → its facts, of notes as in ``results.run.Run.facts``."""
    facts_of: dict[str, list[Mapping[str, Any]]] = {}
    for note in notes:
        facts = note.get("facts")
        if isinstance(facts, Mapping):
            facts_of.setdefault(str(note.get("host", "")), []).append(facts)
    return facts_of
