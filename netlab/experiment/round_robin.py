"""Distributes measurements between pairs of machines over few rounds, as in a tournament. No I/O.

A measurement between two machines is called a meeting. The meetings of a round take place at the
same time: no machine, and no shared link or switch, is in two of them. If all machines meet each
other once, the plan is a round robin, with the rounds of the circle method (Kirkman, Cambridge and
Dublin Math. J. 2, 1847): for n machines, n even, the meeting of i and j is in round i + j modulo
n - 1. The meetings are taken in the order of the circle. Each meeting gets the earliest round in
which its machines and shared links are free. If every pair meets once in each direction, the result
is the circle's own rounds. If some machines have several hosts, there may be a plan with fewer
rounds. Without shared links, the plan has at most twice as many rounds as its busiest machine has
meetings.

Meetings within one machine use no cable, and load the machine more than other meetings do. So they
have rounds of their own, after all other rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Match:
    """The needs of a measurement between two hosts."""

    pairing: str
    server_machine: str
    client_machine: str
    shares: frozenset[str] = frozenset()
    """Links and switches that no other meeting may use at the same time."""

    @property
    def inside(self) -> bool:
        """Whether both hosts are on one machine, so that no cable is used."""
        return self.server_machine == self.client_machine

    @property
    def needs(self) -> tuple[str | tuple[str, str], ...]:
        """Everything that the meeting occupies: the machines by name, and links and switches as
        ``("share", name)``, each once. A meeting within a machine uses no link.
        """
        if self.inside:
            return (self.server_machine,)
        machines = (self.server_machine, self.client_machine)
        if not self.shares:
            return machines
        return (*machines, *(("share", name) for name in self.shares))


def rounds_of(matches: Sequence[Match]) -> tuple[tuple[Match, ...], ...]:
    """Each meeting in exactly one round; the same meetings give the same rounds.

    The two directions of a pair follow each other, so that a slow change of the network affects
    both directions alike. Several meetings of one pairing count separately. 200 hosts, each with
    every other in both directions, take 398 rounds of 100 meetings.
    """
    outside: list[Match] = []
    inside: list[Match] = []
    for match in matches:
        (inside if match.inside else outside).append(match)
    needs = attrgetter("needs")
    return (*earliest_fit(_in_circle(outside), needs), *earliest_fit(inside, needs))


def _in_circle(matches: Sequence[Match]) -> list[Match]:
    """The meetings, sorted by round of the circle, then by direction, then in the given order.

    If two machines meet several times in one direction, their second meetings come after all first
    meetings, and so on.
    """
    seats: dict[str, int] = {}
    pairs: list[tuple[int, int]] = []
    for match in matches:
        server_seat = seats.setdefault(match.server_machine, len(seats))
        pairs.append((server_seat, seats.setdefault(match.client_machine, len(seats))))
    # A seat is a machine's number in the circle. If the number of machines is odd, one seat is
    # empty: the machine that would meet the empty seat pauses.
    last = len(seats) - 1 + len(seats) % 2
    times: dict[tuple[int, int], int] = {}
    ranks: list[int] = []
    for pair in pairs:
        server_seat, client_seat = pair
        forward = server_seat < client_seat
        lower, upper = (server_seat, client_seat) if forward else (client_seat, server_seat)
        circle = (2 * lower if upper == last else lower + upper) % max(1, last)
        again = times.get(pair, 0)
        times[pair] = again + 1
        # The server has the lower seat in half of a round's meetings: no host is always the server.
        backward = forward == ((lower + upper) % 2 == 0)
        ranks.append(2 * (again * len(seats) + circle) + backward)
    return [matches[index] for index in sorted(range(len(ranks)), key=ranks.__getitem__)]


def earliest_fit(
    items: Iterable[Item], needs_of: Callable[[Item], Collection[Hashable]]
) -> list[tuple[Item, ...]]:
    """Rounds of items: each item, in order, in the earliest round in which its needs are free."""
    busy: dict[Hashable, int] = {}
    """Need → the rounds in which it is busy: bit n of the number is for round n."""
    rounds: list[list[Item]] = []
    for item in items:
        needs, busy_rounds = needs_of(item), 0
        for need in needs:
            busy_rounds |= busy.get(need, 0)
        free = ~busy_rounds & (busy_rounds + 1)
        for need in needs:
            busy[need] = busy.get(need, 0) | free
        number = free.bit_length() - 1
        if number == len(rounds):
            rounds.append([])
        rounds[number].append(item)
    return [tuple(round_) for round_ in rounds]
