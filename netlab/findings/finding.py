"""Findings: typed statements about a run, each with its evidence.

catalogue.py lists their kinds. They are computed from records only; without evidence there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from netlab.findings.catalogue import Kind
from netlab.findings.claims import Claim
from netlab.findings.kind import Severity
from netlab.messages import Message, counted
from netlab.trial.record import Value

__all__ = ["Conditions", "Finding", "Group", "Kind", "conditions_of", "finding"]

Conditions = tuple[tuple[str, str | int | float | bool | None], ...]
"""Settings with their values; a list is text, so that conditions can be a key."""

Facts = Mapping[str, Sequence[Mapping[str, Any]]]
"""Host → its facts in the order in which they were recorded."""


def conditions_of(settings: Mapping[str, Value], names: Iterable[str]) -> Conditions:
    """The values of these settings; ``None`` for one that is not set."""
    values = ((name, settings.get(name)) for name in names)
    return tuple((name, str(v) if isinstance(v, list) else v) for name, v in values)


@dataclass(frozen=True, slots=True)
class Group:
    """What a finding is about: cells that differ only in settings that are not fields of this
    class, such as the socket buffer.

    If a finding does not depend on a field, the field is empty: a finding about a host has no
    pairing.
    """

    pairing: str = ""
    protocol: str = ""
    message_bytes: int | None = None
    flow: str = ""
    conditions: Conditions = ()
    """Further settings that distinguish the group from other groups of the run, with their
    values."""
    host: str = ""

    def __str__(self) -> str:
        size = "" if self.message_bytes is None else str(self.message_bytes)
        words = (self.host, self.pairing, self.protocol, size, self.flow)
        return " ".join(word for word in words if word)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One statement about a group of cells, a host or a run, with its evidence."""

    kind: Kind
    group: Group
    cells: tuple[str, ...]
    """Keys of the cells that the finding is about."""
    evidence: Mapping[str, float]
    """Name of a figure, with its unit at the end → the figure, for most names the median over the
    trials of these cells. Unknown figures are absent."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Evidence that is not a number: names, facts before and after, a source."""
    trials: tuple[tuple[str, int], ...] = ()
    """(cell, trial) of each trial that shows the finding; empty if it is not about single
    trials."""
    claim: Claim | None = field(default=None, compare=False)
    """The cause that the finding claims; only for a run. ``None``: it claims none."""
    sentence: str = field(default="", compare=False)
    """The finding as an English sentence; only for a run that ``netlab.load`` has read."""

    @property
    def severity(self) -> Severity:
        """The severity of the finding's kind."""
        return self.kind.severity

    @property
    def value(self) -> str:
        """The value of the finding's kind; empty if the kind has none."""
        return self.kind.value

    @property
    def advice(self) -> Message:
        """What to do: the advice of the finding's kind."""
        return self.kind.advice


def finding(
    kind: Kind,
    group: Group,
    cells: tuple[str, ...] = (),
    evidence: Mapping[str, float | None] | None = None,
    words: Mapping[str, str] | None = None,
    trials: tuple[tuple[str, int], ...] = (),
) -> Finding:
    """A finding; evidence that is ``None`` is left out. Without ``cells``: those of its trials."""
    cells = cells or tuple(dict.fromkeys(cell for cell, _trial in trials))
    figures = {name: value for name, value in (evidence or {}).items() if value is not None}
    return Finding(
        kind=kind, group=group, cells=cells, evidence=figures, words=words or {}, trials=trials
    )


def in_trials(count: int, number: int) -> dict[str, str]:
    """The word ``in_trials``, such as "in 2 of 5 trials"; empty if there is only one trial."""
    if number < 2:
        return {}
    return {
        "in_trials": counted(
            "in {those} of {number} trial", "in {those} of {number} trials", number, those=count
        )
    }


def of_trials(
    kind: Kind,
    group: Group,
    trials: Sequence[tuple[str, int]],
    number: int,
    figures: Mapping[str, float | None],
    words: Mapping[str, str] | None = None,
) -> Finding:
    """A finding that ``trials`` show, with how many they are of ``number`` in figures and words."""
    figures = {**figures, "trials": len(trials), "of_trials": number}
    words = {**(words or {}), **in_trials(len(trials), number)}
    return finding(kind, group, (), figures, words, tuple(trials))


def leading_kinds(findings: Iterable[Finding]) -> tuple[Kind, ...]:
    """The kinds of findings that a report may state first, the smallest ``Kind.rank`` first.

    The kinds of warnings about limits of streams, and the others that state a cost, stand together,
    at the smallest rank of any of them. Among themselves they are ordered by cost, the highest
    first. The cost of a finding is the median share of the wire ceiling that the limit cost (or the
    largest share of the time that an end's pauses took), times the number of trials that show it.
    The cost of a kind is the sum over its findings.
    """
    costs: dict[Kind, float] = {}
    costly = set[Kind]()
    for finding in findings:
        if finding.kind.leads:
            cost = finding.evidence.get("costs_share", 0.0) * max(1, len(finding.trials))
            costs[finding.kind] = costs.get(finding.kind, 0.0) + cost
            if finding.kind.is_costly or cost:
                costly.add(finding.kind)
    first = min((kind.rank for kind in costly), default=0)
    places = {
        kind: (first, -cost) if kind in costly else (kind.rank, 0.0) for kind, cost in costs.items()
    }
    return tuple(sorted(places, key=lambda kind: places[kind]))
