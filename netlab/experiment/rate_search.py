"""The search for the highest rate that a device forwards without loss (RFC 2544, 26.1). Pure.

    grid of rates → which one to try next, from all tries so far → the highest, and both bounds

The rates are fixed, so that two searches can agree: equal steps of the line rate up to the line
rate itself, which is tried first. Then the edge is closed in upon, and what was found is confirmed.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

TryVerdict = Literal["passed", "lost", "absorbed", "tester-loss", "generator-bound"]
"""Of one try: every frame came in the time it was sent in; frames were lost; they all came, out of
a queue that grew; frames were lost, and our own hosts dropped as many; fewer were sent than asked.
"""

VERDICTS: tuple[TryVerdict, ...] = ("passed", "lost", "absorbed", "tester-loss", "generator-bound")
"""A verdict's place is its number in records."""

SearchLimit = Literal["line rate", "device", "generator-bound", "receiver-bound"]
"""What ended a search: nothing below the line rate; the device; our sender; our receiver."""

FAILURES = 2
"""A rate fails with so many failed tries, of one more than that."""
CONFIRMATIONS = 2
"""A rate is a result when so many tries of full length passed."""
INVALID = 3
"""A rate that our receiver loses frames at so often cannot be judged."""
STARVED = 3
"""A rate that our sender does not reach so often cannot be judged."""

_BEYOND = 2
"""Steps above the one that a hint names that are tried before halving."""


@dataclass(frozen=True, slots=True)
class RateGrid:
    """The rates of a search: whole numbers of steps, the last one shortened where need be."""

    resolution: Fraction
    """Of one step, as a share of the line rate: above 0, at most 1."""

    def __post_init__(self) -> None:
        if not 0 < self.resolution <= 1:
            raise ValueError(f"a step of {self.resolution} of the line rate makes no grid")

    @property
    def size(self) -> int:
        """Number of the highest rate, the line rate; the lowest has number 1."""
        return math.ceil(1 / self.resolution)

    def share(self, number: int) -> Fraction:
        """Share of the line rate of a rate; ValueError for a number outside of the grid."""
        if not 1 <= number <= self.size:
            raise ValueError(f"rate {number} of a grid of {self.size}")
        return min(Fraction(1), number * self.resolution)

    def below(self, share: float) -> int:
        """The highest rate that does not exceed a share of the line rate; 0 where none does."""
        # A share that was measured: a rate that it misses by a rounding is meant.
        return max(0, min(self.size, math.floor(share / float(self.resolution) + 1e-6)))


@dataclass(frozen=True, slots=True)
class RateTry:
    """One trial of a rate."""

    number: int
    """Of the rate, in the grid."""
    full: bool
    """Whether it was as long as a result asks for."""
    verdict: TryVerdict
    forwarded_share: float | None = None
    """The rate at which frames came out, as a share of the line rate, where that is known."""


@dataclass(frozen=True, slots=True)
class NextRate:
    """What to try next."""

    number: int
    full: bool


@dataclass(frozen=True, slots=True)
class Found:
    """The end of a search."""

    number: int | None
    """The highest rate that holds; ``None``: not even the lowest does."""
    upper: int | None
    """The lowest rate above it that does not, or that could not be judged; ``None``: there is none
    below the line rate."""
    limit: SearchLimit
    """Why it is no higher."""
    monotone: bool
    """False: a try at a higher rate passed, or one at a lower rate failed."""


@dataclass(frozen=True, slots=True)
class Search:
    """A search under way; ``told`` returns the next state."""

    grid: RateGrid
    short: bool = False
    """Whether tries before the confirmation are shorter than those that count."""
    tries: tuple[RateTry, ...] = ()
    at: int = 0
    """The rate under trial; 0 once none is left."""
    holds: int = 0
    """The highest rate that passed so far; 0: none did yet."""
    upper: int = 0
    """The lowest rate that did not; one above the grid: all did."""
    limit: SearchLimit = "line rate"
    """Why ``upper`` did not."""
    confirming: bool = False
    found: Found | None = None

    @classmethod
    def over(cls, grid: RateGrid, *, short: bool = False) -> Search:
        """A search at its beginning: the line rate is tried first."""
        return cls(grid, short, at=grid.size, upper=grid.size + 1)

    def next(self) -> NextRate | Found:
        """What is to be tried now, or what was found."""
        if self.found is not None:
            return self.found
        return NextRate(self.at, self.confirming or not self.short)

    def told(self, tried: RateTry) -> Search:
        """The state after one more try, of what ``next`` asked for; ValueError for another."""
        asked = self.next()
        if not isinstance(asked, NextRate) or (asked.number, asked.full) != (
            tried.number,
            tried.full,
        ):
            raise ValueError(f"{tried} was not asked for: {asked}")
        now = dataclasses.replace(self, tries=(*self.tries, tried))
        decided = now._decided(asked)
        if decided is None:
            return now
        return now._confirmed(decided) if now.confirming else now._narrowed(decided)

    def _decided(self, asked: NextRate) -> SearchLimit | Literal["holds"] | None:
        """What the tries of a rate say about it; ``None``: one more is needed."""
        verdicts = [
            each.verdict
            for each in self.tries
            if (each.number, each.full) == (asked.number, asked.full)
        ]
        passed = verdicts.count("passed")
        failed = verdicts.count("lost") + verdicts.count("absorbed")
        if failed == FAILURES:
            return "device"
        if verdicts.count("tester-loss") == INVALID:
            return "receiver-bound"
        if verdicts.count("generator-bound") == STARVED:
            return "generator-bound"
        enough = passed == CONFIRMATIONS if self.confirming else passed > failed
        return "holds" if enough else None

    def _narrowed(self, decided: SearchLimit | Literal["holds"]) -> Search:
        """The edge lies between ``holds`` and ``upper``: the next rate in between."""
        if decided == "holds":
            now = dataclasses.replace(self, holds=self.at)
        else:
            now = dataclasses.replace(self, upper=self.at, limit=decided)
        if now.upper - now.holds > 1:
            return dataclasses.replace(now, at=now._between())
        if now.holds == 0:
            return now._end(None)
        now = dataclasses.replace(now, at=now.holds, confirming=True)
        # Tries of the full length so far count: they may have confirmed it already.
        again = now._decided(NextRate(now.at, full=True))
        return now if again is None else now._confirmed(again)

    def _between(self) -> int:
        """A rate above ``holds`` and below ``upper``: where frames came out, else half-way."""
        for tried in reversed(self.tries):
            if tried.forwarded_share is None or tried.verdict == "passed":
                continue
            hint = self.grid.below(tried.forwarded_share)
            for number in range(hint, hint + _BEYOND + 1):
                if self.holds < number < self.upper:
                    return number
        return (self.holds + self.upper) // 2

    def _confirmed(self, decided: SearchLimit | Literal["holds"]) -> Search:
        """A rate that does not hold at full length: one step down."""
        if decided == "holds":
            return self._end(self.at)
        lower = self.at - 1
        if decided == "generator-bound":
            # What our sender is not fast enough for is no failure, and no reason for small steps.
            reached = self.tries[-1].forwarded_share
            lower = lower if reached is None else min(lower, self.grid.below(reached))
        now = dataclasses.replace(self, upper=self.at, limit=decided, at=lower)
        if now.at == 0:
            return now._end(None)
        again = now._decided(NextRate(now.at, full=True))
        return now if again is None else now._confirmed(again)

    def _end(self, number: int | None) -> Search:
        upper = self.upper if self.upper <= self.grid.size else None
        found = Found(number, upper, self.limit, self._monotone(number or 0))
        return dataclasses.replace(self, at=0, holds=number or 0, found=found)

    def _monotone(self, number: int) -> bool:
        """A short try that passed above the result says nothing: its length explains it."""
        higher = any(
            each.number > number and each.full and each.verdict == "passed" for each in self.tries
        )
        lower = any(
            each.number < number and each.verdict in ("lost", "absorbed") for each in self.tries
        )
        return not (higher or lower)
