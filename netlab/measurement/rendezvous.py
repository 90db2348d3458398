"""Pairs of hosts that search at one rate: each trial begins at one moment, and all judge it.

Every pair is measured by a thread of its own, and meets the others before and after each trial. Who
does not come to the first meeting is done without; when one leaves later the trial is void, for
what the others found would be of fewer pairs.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from netlab.errors import ProbeError

PAIR_GONE = "pair-gone"
"""Why a search came to nothing that another pair left: all of them repeat it."""

Contribution = TypeVar("Contribution")


@dataclass(frozen=True, slots=True)
class ExchangedResults(Generic[Contribution]):
    """What all pairs said of the same thing."""

    said: tuple[Contribution, ...]
    """One's own first."""
    over_ns: int
    """When the last one came, by the controller's clock: the same for all."""


class Rendezvous:
    """The pairs that search together."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = list(names)
        self._said: dict[str, Any] = {}
        self._met: dict[str, Any] = {}
        self._meetings = 0
        self._over_ns = 0
        self._gone: str | None = None
        self._changed = threading.Condition()

    def participant(self, name: str) -> Participant:
        """One of the pairs, by its name."""
        return Participant(self, name)

    @property
    def names(self) -> tuple[str, ...]:
        """The pairs that are still here, in their order."""
        return tuple(self._names)

    def meet(self, name: str, said: Contribution) -> ExchangedResults[Contribution]:
        """Wait for all others; ProbeError where one of them left."""
        with self._changed:
            exchanged = self._meetings
            self._said[name] = said
            self._look_round()
            self._changed.wait_for(lambda: self._meetings > exchanged or self._gone is not None)
            if self._meetings == exchanged:
                detail = f"{self._gone} left the search that all pairs make together"
                raise ProbeError(name, PAIR_GONE, detail=detail)
            others = (self._met[each] for each in self._met if each != name)
            return ExchangedResults((said, *others), self._over_ns)

    def leave(self, name: str) -> None:
        """Go, at the end or before. Safe to call again."""
        with self._changed:
            if name not in self._names:
                return
            self._names.remove(name)
            self._said.pop(name, None)
            if self._meetings:
                self._gone = self._gone or name
                self._changed.notify_all()
            else:
                self._look_round()

    def _look_round(self) -> None:
        """The meeting is over when everybody has said something; none is where one has left."""
        if self._gone is None and self._names and self._said.keys() == set(self._names):
            self._met, self._said = self._said, {}
            self._meetings += 1
            self._over_ns = time.monotonic_ns()
            self._changed.notify_all()


@dataclass(frozen=True, slots=True)
class Participant:
    """A pair's own place in its team."""

    rendezvous: Rendezvous
    name: str

    def meet(self, said: Contribution) -> ExchangedResults[Contribution]:
        """Say something, and hear what all others say of the same."""
        return self.rendezvous.meet(self.name, said)

    def turns(self) -> Iterator[bool]:
        """For each pair, one after another: whether it is this one's turn. The others wait."""
        for name in self.rendezvous.names:
            yield name == self.name
            self.meet(None)

    def leave(self) -> None:
        """Go, at the end or before."""
        self.rendezvous.leave(self.name)


def alone() -> Participant:
    """Of a search that no other pair takes part in."""
    return Rendezvous([""]).participant("")
