"""Tournament: every pair of machines meets, in as few rounds as there can be. Pure.

A round is a matching: no machine is in two of its meetings, and no link or switch that several
machines share. Machines that all meet each other once are a round robin; its rounds are those of
the circle method (Kirkman, Cambridge and Dublin Math. J. 2, 1847): of n machines, n even, the
meeting of i and j belongs to round i + j modulo n - 1. A meeting takes the earliest round in which
all that it needs is free, in the circle's order: where every pair meets once each way, that gives
the circle's own rounds. Where some machines have several hosts it is not always the shortest plan,
but never twice as long as its busiest machine makes necessary.

Meetings within one machine use no cable, and load the machine as no other does: they have rounds
of their own, after all others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Match:
    """What two hosts need in order to be measured with each other."""

    pairing: str
    server_machine: str
    client_machine: str
    shares: frozenset[str] = frozenset()
    """Links and switches that nobody else may use meanwhile."""

    @property
    def inside(self) -> bool:
        """Whether both are one machine: no cable is touched."""
        return self.server_machine == self.client_machine

    @property
    def needs(self) -> frozenset[tuple[str, str]]:
        """All that it keeps busy. What goes on within a machine uses no link."""
        machines = {("machine", self.server_machine), ("machine", self.client_machine)}
        return frozenset(machines | {("share", n) for n in self.shares if not self.inside})


def rounds_of(matches: Sequence[Match]) -> tuple[tuple[Match, ...], ...]:
    """Each meeting in exactly one round; the same meetings give the same rounds.

    The two directions of a pair follow each other, so that what drifts touches both alike. Several
    meetings of one pairing are as many meetings. 200 hosts, each with every other both ways, take
    398 rounds of 100 meetings.
    """
    outside = [match for match in matches if not match.inside]
    inside = [match for match in matches if match.inside]
    needs = attrgetter("needs")
    return (*earliest_fit(_in_circle(outside), needs), *earliest_fit(inside, needs))


def _in_circle(matches: Sequence[Match]) -> list[Match]:
    """By round of the circle, then by direction; within both in the order given."""
    names = dict.fromkeys(
        machine for each in matches for machine in (each.server_machine, each.client_machine)
    )
    seats = {name: seat for seat, name in enumerate(names)}
    # With an odd number one seat is empty: who meets it rests.
    last = len(seats) - 1 + len(seats) % 2
    times: dict[tuple[str, str], int] = {}
    keyed: list[tuple[tuple[int, int, bool], Match]] = []
    for match in matches:
        ends = (match.server_machine, match.client_machine)
        one, other = sorted(seats[name] for name in ends)
        circle = (2 * one if other == last else one + other) % max(1, last)
        again = times.get(ends, 0)
        times[ends] = again + 1
        # In half of a round's meetings the server has the lower seat: no host serves all the time.
        backward = (seats[ends[0]] == one) == ((one + other) % 2 == 0)
        keyed.append(((again, circle, backward), match))
    keyed.sort(key=lambda pair: pair[0])
    return [match for _, match in keyed]


def earliest_fit(
    items: Iterable[Item], needs_of: Callable[[Item], Collection[Hashable]]
) -> list[tuple[Item, ...]]:
    """Each item, in its turn, in the earliest round in which all that it needs is free."""
    busy: dict[Hashable, int] = {}
    """For each need the rounds that it is busy in, as the bits of a number."""
    rounds: list[list[Item]] = []
    for item in items:
        needs, taken = needs_of(item), 0
        for need in needs:
            taken |= busy.get(need, 0)
        free = ~taken & (taken + 1)
        for need in needs:
            busy[need] = busy.get(need, 0) | free
        number = free.bit_length() - 1
        if number == len(rounds):
            rounds.append([])
        rounds[number].append(item)
    return [tuple(each) for each in rounds]
