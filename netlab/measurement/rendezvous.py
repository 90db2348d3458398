"""Lets several pairs of hosts run one search together: all pairs begin each trial at the same time.

A trial here is one load of frames at one rate. Its verdict (whether it passed) depends on the
results of all pairs. Each pair is measured by its own thread. Before and after each trial, the
threads wait for each other and exchange results (a meeting). A pair that leaves before the first
meeting is left out. If a pair leaves later, the search of all pairs fails: the result of the
remaining pairs would be the rate of fewer pairs.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from netlab import clock
from netlab.errors import ProbeError

PAIR_GONE = "pair-gone"
"""Reason of a search that failed because another pair left; all pairs repeat the search."""

Contribution = TypeVar("Contribution")


@dataclass(frozen=True, slots=True)
class ExchangedResults(Generic[Contribution]):
    """The contributions of all pairs to one meeting."""

    said: tuple[Contribution, ...]
    """The contributions; the first is that of the pair that receives this object."""
    over_ns: int
    """When the last pair arrived, by this process's monotonic clock; the same value for all
    pairs."""


class Rendezvous:
    """Where the threads of the pairs that search together wait for each other."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = list(names)
        self._waiting: dict[str, Any] = {}
        self._met: dict[str, Any] = {}
        self._meetings = 0
        self._over_ns = 0
        self._gone: str | None = None
        self._changed = threading.Condition()

    def participant(self, name: str) -> Participant:
        """The participant of a pair, by its name."""
        return Participant(self, name)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the pairs that have not left, in the order of the constructor."""
        return tuple(self._names)

    def meet(self, name: str, contribution: Contribution) -> ExchangedResults[Contribution]:
        """Contribute to a meeting and wait for all others; ProbeError if a pair has left."""
        with self._changed:
            meetings = self._meetings
            self._waiting[name] = contribution
            self._end_if_complete()
            self._changed.wait_for(lambda: self._meetings > meetings or self._gone is not None)
            if self._meetings == meetings:
                detail = f"{self._gone} left the common search of all pairs"
                raise ProbeError(name, PAIR_GONE, detail=detail)
            contributions = (self._met[pair] for pair in self._met if pair != name)
            return ExchangedResults((contribution, *contributions), self._over_ns)

    def leave(self, name: str) -> None:
        """Leave the search, at its end or earlier. Safe to call again."""
        with self._changed:
            if name not in self._names:
                return
            self._names.remove(name)
            self._waiting.pop(name, None)
            if self._meetings:
                self._gone = self._gone or name
                self._changed.notify_all()
            else:
                self._end_if_complete()

    def _end_if_complete(self) -> None:
        """End the meeting if all pairs have contributed and none has left."""
        if self._gone is None and self._names and self._waiting.keys() == set(self._names):
            self._met, self._waiting = self._waiting, {}
            self._meetings += 1
            self._over_ns = clock.monotonic_ns()
            self._changed.notify_all()


@dataclass(frozen=True, slots=True)
class Participant:
    """One pair at the rendezvous."""

    rendezvous: Rendezvous
    name: str

    def meet(self, contribution: Contribution) -> ExchangedResults[Contribution]:
        """Contribute to a meeting; returns the contributions of all pairs."""
        return self.rendezvous.meet(self.name, contribution)

    def turns(self) -> Iterator[bool]:
        """Let the pairs act one after the other: yields once per pair, true if it is this pair's
        turn. All pairs wait until a turn has ended.
        """
        for name in self.rendezvous.names:
            yield name == self.name
            self.meet(None)

    def leave(self) -> None:
        """Leave the search, at its end or earlier."""
        self.rendezvous.leave(self.name)


def alone() -> Participant:
    """The participant of a search with a single pair."""
    return Rendezvous([""]).participant("")
