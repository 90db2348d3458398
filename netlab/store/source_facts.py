"""Stated: what a document says beside a table that is imported, each with its source. Pure.

It goes into the plan of the run as plain data, and is read from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netlab.store.plan import Plan

KEY = "stated"
"""Of the plan's content."""

STATED = "stated"
"""``when`` of a note of a host's facts that a document states."""

FactValue = str | int | float | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedDuration:
    """How long trials ran that were to run for ``asked_s``; seconds."""

    pairings: tuple[str, ...]
    """Of these pairings; of all where it is empty."""
    asked_s: float
    shortest_s: float
    longest_s: float
    source: str

    def is_of(self, pairing: str) -> bool:
        """Whether it is said of a pairing."""
        return not self.pairings or pairing in self.pairings


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedHost:
    """What is said of a host, or of the hosts that run a system."""

    name: str
    """Of a host, or a system's letter."""
    facts: Mapping[str, FactValue]
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """What the document says in words."""

    text: str
    pairings: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """All that a document states beside its table."""

    durations: tuple[StatedDuration, ...] = ()
    hosts: tuple[StatedHost, ...] = ()
    remarks: tuple[Remark, ...] = ()

    def data(self) -> dict[str, Any]:
        """As plain JSON data."""
        return asdict(self)

    def strangers(self, pairings: Sequence[str]) -> tuple[str, ...]:
        """The pairings that it speaks of and that are not among these."""
        said = [each.pairings for each in self.durations] + [e.pairings for e in self.remarks]
        named = [name for names in said for name in names]
        return tuple(name for name in dict.fromkeys(named) if name not in pairings)


def stated_of(plan: Plan) -> Stated:
    """The facts of a plan; none where it has none. ValueError where it was damaged."""
    data = plan.content.get(KEY)
    if data is None:
        return Stated()
    try:
        return Stated(
            durations=tuple(
                StatedDuration(**{**each, "pairings": tuple(each["pairings"])})
                for each in data.get("durations", ())
            ),
            hosts=tuple(StatedHost(**each) for each in data.get("hosts", ())),
            remarks=tuple(
                Remark(**{**each, "pairings": tuple(each["pairings"])})
                for each in data.get("remarks", ())
            ),
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"what a document states is damaged in the plan: {error}") from None
