"""Variants of a matrix: groups of named states, and the axis whose values are their combinations.

A state is a list of changes of the hosts' settings. The axis is the setting ``variant`` of a test.
A value of the axis is a text such as ``ecn=on offload=off``: one state of each group named in the
text, sorted by group. The settings of groups that the text does not name are not changed. No I/O.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from netlab.experiment.pairings import EndName
from netlab.experiment.variants.change import Change


@dataclass(frozen=True, slots=True)
class State:
    """One state of a group: what is changed at each end of a pairing."""

    server: tuple[Change, ...] = ()
    client: tuple[Change, ...] = ()
    settle_s: float = 0.0
    """Time to wait after the changes, for example until the link of a changed interface is up."""

    def changes(self, end: EndName) -> tuple[Change, ...]:
        """The changes at one end."""
        return self.server if end == "server" else self.client


Variants = Mapping[str, Mapping[str, State]]
"""Group → name of a state → the state."""


def level_of(states: Mapping[str, str]) -> str:
    """The value of the axis that names ``states``, a mapping of groups to names of states."""
    return " ".join(f"{group}={states[group]}" for group in sorted(states))


def states_of(level: str) -> dict[str, str]:
    """Group → state, for a value of the axis; ValueError if ``level`` is not such a value."""
    states: dict[str, str] = {}
    for word in level.split():
        group, equals, state = word.partition("=")
        if not (group and equals and state):
            raise ValueError(f"`{word}` names no state: write GROUP=STATE, such as offload=off")
        if group in states:
            raise ValueError(f"`{level}` names two states of {group}")
        states[group] = state
    return states


def every_level(states: Mapping[str, Collection[str]]) -> Iterator[str]:
    """All combinations of one state of each group; the last group varies fastest."""
    for names in itertools.product(*states.values()):
        yield level_of(dict(zip(states, names, strict=True)))


def chosen(variants: Variants, level: str | None) -> tuple[State, ...]:
    """The states that a value of the axis names, in the order of the matrix."""
    if level is None:
        return ()
    names = states_of(level)
    return tuple(states[names[group]] for group, states in variants.items() if group in names)


def changes_mtu(states: Iterable[State]) -> bool:
    """Whether one of the states sets an MTU."""
    return any(
        change.known == "mtu" for state in states for change in (*state.server, *state.client)
    )


def largest_mtu(variants: Variants) -> int:
    """The largest MTU in bytes that a state sets; 0 if no state sets an MTU."""
    changes = (
        change
        for states in variants.values()
        for state in states.values()
        for change in (*state.server, *state.client)
        if change.known == "mtu"
    )
    values = (value for change in changes for _, value in change.wanted)
    return max((int(value) for value in values if value.isascii() and value.isdigit()), default=0)


def content_of(variants: Variants) -> dict[str, Any]:
    """The variants as plain JSON, with all commands: if a command differs, the JSON differs."""
    content = {
        group: {name: asdict(state) for name, state in sorted(states.items())}
        for group, states in sorted(variants.items())
    }
    plain: dict[str, Any] = json.loads(json.dumps(content))
    return plain
