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
_FLAT = (str, int, float, bool)
_LONGEST_S = 1e9


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
    """The facts of a plan; none where it has none. ValueError where they are no such facts."""
    data = plan.content.get(KEY)
    if data is None:
        return Stated()
    try:
        return Stated(
            durations=tuple(map(_duration, data.get("durations", ()))),
            hosts=tuple(map(_host, data.get("hosts", ()))),
            remarks=tuple(
                Remark(
                    text=_text(each["text"]),
                    pairings=_texts(each["pairings"]),
                    source=_text(each["source"]),
                )
                for each in data.get("remarks", ())
            ),
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(
            f"the facts stated by the document are damaged in the plan: {error}"
        ) from None


def _duration(data: Mapping[str, Any]) -> StatedDuration:
    seconds = {name: data[name] for name in ("asked_s", "shortest_s", "longest_s")}
    for name, value in seconds.items():
        if type(value) not in (int, float) or not 0 < value < _LONGEST_S:
            raise TypeError(f"{name} is not a time")
    pairings, source = _texts(data["pairings"]), _text(data["source"])
    return StatedDuration(pairings=pairings, source=source, **seconds)


def _host(data: Mapping[str, Any]) -> StatedHost:
    facts = data["facts"]
    if not isinstance(facts, Mapping) or not all(type(each) in _FLAT for each in facts.values()):
        raise TypeError("facts are not a mapping of words to plain values")
    return StatedHost(name=_text(data["name"]), facts=facts, source=_text(data["source"]))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.60} is not a text")
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise TypeError(f"{value!r:.60} is not a list")
    return tuple(map(_text, value))
