"""Stated facts: facts that a document states in addition to its table, which was imported.

The facts are stored in the plan of the run as plain data, and read from there. A pairing is the two
hosts of a test, and a trial is one repetition of a test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netlab.store.plan import Plan

KEY = "stated"
"""Key in the plan's content."""

STATED = "stated"
"""Value of ``when`` in a note of the journal with stated facts of a host."""

FactValue = str | int | float | bool
_FLAT = (str, int, float, bool)
_LONGEST_S = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedDuration:
    """The stated durations of trials, in seconds, for one requested duration ``asked_s``."""

    pairings: tuple[str, ...]
    """The pairings that the durations apply to; empty: all pairings."""
    asked_s: float
    shortest_s: float
    longest_s: float
    source: str

    def is_of(self, pairing: str) -> bool:
        """Whether the durations apply to a pairing."""
        return not self.pairings or pairing in self.pairings


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedHost:
    """Stated facts of a host, or of all hosts with one operating system."""

    name: str
    """Name of a host, or the letter of a system."""
    facts: Mapping[str, FactValue]
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A remark of the document in words."""

    text: str
    pairings: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedFacts:
    """All facts that a document states in addition to its table."""

    durations: tuple[StatedDuration, ...] = ()
    hosts: tuple[StatedHost, ...] = ()
    remarks: tuple[Remark, ...] = ()

    def data(self) -> dict[str, Any]:
        """The facts as plain JSON data."""
        return asdict(self)

    def strangers(self, pairings: Sequence[str]) -> tuple[str, ...]:
        """The pairings that the facts name and that are not among ``pairings``."""
        facts: tuple[StatedDuration | Remark, ...] = (*self.durations, *self.remarks)
        names = [name for fact in facts for name in fact.pairings]
        return tuple(name for name in dict.fromkeys(names) if name not in pairings)


def stated_facts_of(plan: Plan) -> StatedFacts:
    """The stated facts of a plan, empty if it has none; ValueError if they are malformed."""
    data = plan.content.get(KEY)
    if data is None:
        return StatedFacts()
    try:
        return StatedFacts(
            durations=tuple(map(_duration, data.get("durations", ()))),
            hosts=tuple(map(_host, data.get("hosts", ()))),
            remarks=tuple(
                Remark(
                    text=_text(remark["text"]),
                    pairings=_texts(remark["pairings"]),
                    source=_text(remark["source"]),
                )
                for remark in data.get("remarks", ())
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
    if not isinstance(facts, Mapping) or not all(type(fact) in _FLAT for fact in facts.values()):
        raise TypeError(
            "`facts` is not a mapping in which each value is a text, a number, true or false"
        )
    return StatedHost(name=_text(data["name"]), facts=facts, source=_text(data["source"]))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.60} is not a text")
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise TypeError(f"{value!r:.60} is not a list")
    return tuple(map(_text, value))
