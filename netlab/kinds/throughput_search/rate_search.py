"""The search for the highest rate that a device forwards without loss (RFC 2544, 26.1).

The grid of rates is fixed (equal steps up to the line rate), so that two searches can agree. The
line rate is tried first; then the range around the limit is narrowed, and the result confirmed. A
try passes if no frame was lost **and** no queue grew: if frames come out more slowly than they went
in, a queue is filling, and a short trial would measure the queue.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

TryVerdict = Literal["passed", "lost", "absorbed", "tester-loss", "generator-bound"]
"""Verdict on one try:

- ``passed``: every frame arrived, as fast as it was sent;
- ``lost``: frames were lost;
- ``absorbed``: every frame arrived, but later and later, because a queue grew;
- ``tester-loss``: frames were lost, and the measuring hosts dropped at least as many;
- ``generator-bound``: fewer frames were sent than requested."""

VERDICTS: tuple[TryVerdict, ...] = ("passed", "lost", "absorbed", "tester-loss", "generator-bound")
"""A verdict's index is its number in records."""

SearchLimit = Literal["line rate", "device", "generator-bound", "receiver-bound"]
"""What limits the result, in this order: the line rate itself; the device; our sender (the
generator); our receiver."""

FAILURES = 2
"""A rate fails after this many failed tries (lost or absorbed). After at most ``FAILURES`` + 1
tries that passed or failed, the rate is decided."""
CONFIRMATIONS = 2
"""Number of passed tries of full length that confirm a rate as the result."""
INVALID = 3
"""After this many tries with frames lost in our receiver, a rate cannot be judged."""
STARVED = 3
"""After this many tries in which our sender did not reach the rate, the rate cannot be judged."""

_BEYOND = 2
"""Number of steps above the rate at which frames arrived that may be tried before halving."""


@dataclass(frozen=True, slots=True)
class RateGrid:
    """The rates of a search: whole numbers of steps. The last step may be shorter."""

    resolution: Fraction
    """Size of one step, as a share of the line rate: above 0, at most 1."""

    @property
    def size(self) -> int:
        """Number of the highest rate, the line rate; the lowest rate has number 1."""
        return math.ceil(1 / self.resolution)

    def share(self, number: int) -> Fraction:
        """A rate as a share of the line rate."""
        return min(Fraction(1), number * self.resolution)

    def below(self, share: float) -> int:
        """Number of the highest rate that does not exceed ``share`` of the line rate; 0 if there is
        none.
        """
        # The share was measured: a rate that exceeds it only by rounding is included.
        return max(0, min(self.size, math.floor(share / float(self.resolution) + 1e-6)))


@dataclass(frozen=True, slots=True)
class RateTry:
    """One trial of a rate."""

    number: int
    """Number of the rate in the grid."""
    full: bool
    """Whether it had the full length that a result requires."""
    verdict: TryVerdict
    forwarded_share: float | None = None
    """The rate at which frames arrived, as a share of the line rate; ``None``: unknown."""


@dataclass(frozen=True, slots=True)
class NextRate:
    """The rate to try next."""

    number: int
    full: bool


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of a search."""

    number: int | None
    """Number of the highest rate that passed; ``None`` if not even the lowest rate passed."""
    upper: int | None
    """Number of the lowest rate above ``number`` that failed or could not be judged; ``None`` if
    all rates up to the line rate passed."""
    limit: SearchLimit
    monotone: bool
    """False if a try at a higher rate passed, or if a try at a lower rate failed."""


@dataclass(frozen=True, slots=True)
class Search:
    """A search under way; ``after`` returns the next state."""

    grid: RateGrid
    short: bool = False
    """Whether tries before the confirmation are shorter than the tries of the confirmation."""
    tries: tuple[RateTry, ...] = ()
    at: int = 0
    """Number of the rate under trial; 0 when the search has ended."""
    holds: int = 0
    """Number of the highest rate that passed so far; 0 if none passed."""
    upper: int = 0
    """Number of the lowest rate that did not pass; if all passed, the number after the last rate of
    the grid."""
    limit: SearchLimit = "line rate"
    confirming: bool = False
    result: SearchResult | None = None

    @classmethod
    def over(cls, grid: RateGrid, *, short: bool = False) -> Search:
        """A new search, which tries the line rate first."""
        return cls(grid, short, at=grid.size, upper=grid.size + 1)

    def next(self) -> NextRate | SearchResult:
        """The next rate to try, or the result."""
        if self.result is not None:
            return self.result
        return NextRate(self.at, self.confirming or not self.short)

    def after(self, rate_try: RateTry) -> Search:
        """The state after the try that ``next`` requested."""
        now = dataclasses.replace(self, tries=(*self.tries, rate_try))
        decided = now._decided(rate_try.number, full=rate_try.full)
        if decided is None:
            return now
        return now._confirmed(decided) if now.confirming else now._narrowed(decided)

    def _decided(self, number: int, *, full: bool) -> SearchLimit | Literal["holds"] | None:
        """The decision on a rate from its tries; ``None``: one more try is needed."""
        verdicts = Counter(
            rate_try.verdict
            for rate_try in self.tries
            if (rate_try.number, rate_try.full) == (number, full)
        )
        passed, failed = verdicts["passed"], verdicts["lost"] + verdicts["absorbed"]
        if failed == FAILURES:
            return "device"
        if verdicts["tester-loss"] == INVALID:
            return "receiver-bound"
        if verdicts["generator-bound"] == STARVED:
            return "generator-bound"
        enough = passed == CONFIRMATIONS if self.confirming else passed > failed
        return "holds" if enough else None

    def _narrowed(self, decided: SearchLimit | Literal["holds"]) -> Search:
        """The state with a smaller range from ``holds`` to ``upper``; if it is empty, ``holds`` is
        confirmed.
        """
        if decided == "holds":
            now = dataclasses.replace(self, holds=self.at)
        else:
            now = dataclasses.replace(self, upper=self.at, limit=decided)
        if now.upper - now.holds > 1:
            return dataclasses.replace(now, at=now._between())
        if now.holds == 0:
            return now._end(None)
        # Earlier tries of full length count and may already confirm this rate.
        return dataclasses.replace(now, at=now.holds, confirming=True)._again()

    def _again(self) -> Search:
        """The state after the tries of full length that the rate at trial has had before."""
        decided = self._decided(self.at, full=True)
        return self if decided is None else self._confirmed(decided)

    def _between(self) -> int:
        """A rate in the range: near the rate at which frames arrived, or half-way."""
        for rate_try in reversed(self.tries):
            if rate_try.forwarded_share is None or rate_try.verdict == "passed":
                continue
            hint = self.grid.below(rate_try.forwarded_share)
            for number in range(hint, hint + _BEYOND + 1):
                if self.holds < number < self.upper:
                    return number
        return (self.holds + self.upper) // 2

    def _confirmed(self, decided: SearchLimit | Literal["holds"]) -> Search:
        """The state after a decision at full length; if the rate does not hold, the next lower is
        tried.
        """
        if decided == "holds":
            return self._end(self.at)
        lower = self.at - 1
        forwarded = self.tries[-1].forwarded_share
        if decided == "generator-bound" and forwarded is not None:
            # Our sender cannot reach this rate. Go down at once to a rate that the sender reached.
            lower = min(lower, self.grid.below(forwarded))
        now = dataclasses.replace(self, upper=self.at, limit=decided, at=lower)
        return now._again() if now.at else now._end(None)

    def _end(self, number: int | None) -> Search:
        found = number or 0
        # A short try above the result may pass without a contradiction: its length explains it.
        higher = any(t.number > found and t.full and t.verdict == "passed" for t in self.tries)
        lower = any(t.number < found and t.verdict in ("lost", "absorbed") for t in self.tries)
        upper = self.upper if self.upper <= self.grid.size else None
        result = SearchResult(number, upper, self.limit, monotone=not (higher or lower))
        return dataclasses.replace(self, at=0, holds=found, result=result)


STARVED_SHARE = 0.001
"""How far a sender may stay below the requested rate: by this share of that rate, or by half a step
if half a step is more."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of the two ends of one direction over a whole trial."""

    sent: int
    """Frames that send calls accepted."""
    received: int
    """Distinct frames that arrived."""
    sent_span_ns: int
    """Time from the first send call to the return of the last send call."""
    received_span_ns: int
    """Time from the arrival of the first frame to the arrival of the last; 0 for fewer than two
    frames."""
    own_drops: int = 0
    """Frames of this direction that the measuring hosts dropped, by their counters."""

    @property
    def lost(self) -> int:
        """Frames that were sent and did not arrive."""
        return max(0, self.sent - self.received)

    def sent_per_s(self) -> float | None:
        """Frames sent per second; ``None`` for fewer than two frames."""
        return _per_s(self.sent, self.sent_span_ns)

    def received_per_s(self) -> float | None:
        """Frames received per second; ``None`` for fewer than two frames."""
        return _per_s(self.received, self.received_span_ns)

    def queue_ns(self, line_per_s: float) -> int:
        """How much longer the frames took to come out of the device than to go in: that is at least
        the time that the link needs for them, for a sender may pass them to its own queue faster.
        """
        least_ns = round(1e9 * max(0, self.sent - 1) / line_per_s)
        return self.received_span_ns - max(self.sent_span_ns, least_ns)


@dataclass(frozen=True, slots=True)
class Criteria:
    """The criteria for the verdict on a trial."""

    offered_per_s: float
    """Requested frames per second, each way."""
    line_per_s: float
    step_share: float
    """Step of the search, as a share of the line rate."""
    duration_s: float
    acceptable_loss: float = 0.0

    @property
    def least_sent_per_s(self) -> float:
        """A sender slower than this did not reach the requested rate."""
        below = max(STARVED_SHARE * self.offered_per_s, self.step_share / 2 * self.line_per_s)
        return self.offered_per_s - below


def shared_drops(losses: Sequence[int], shared: int) -> tuple[int, ...]:
    """How many drops certainly belong to each direction, if hosts count the drops of all directions
    together.

    ``losses``: unexplained lost frames of each direction. A drop that may belong to another
    direction does not explain the loss of this direction.
    """
    if shared >= sum(losses):
        # All losses are explained. The remaining drops have no effect: count them for the first
        # direction.
        return (losses[0] + shared - sum(losses), *losses[1:])
    return tuple(max(0, shared - (sum(losses) - frames)) for frames in losses)


def judge(accounts: Sequence[Counts], criteria: Criteria) -> TryVerdict:
    """The verdict on a trial: the worst of its one or two directions."""
    # Frames may take longer to come out than to go in by the trial's length times half a step.
    most_queue_ns = round(1e9 * criteria.duration_s * criteria.step_share / 2)

    def of_one(counts: Counts) -> TryVerdict:
        if counts.lost > criteria.acceptable_loss * counts.sent:
            return "tester-loss" if counts.own_drops >= counts.lost else "lost"
        sent_per_s = counts.sent_per_s()
        if sent_per_s is None or sent_per_s < criteria.least_sent_per_s:
            # Checked before the queue: if the link is slow, the queue may be the sender's own.
            return "generator-bound"
        return "absorbed" if counts.queue_ns(criteria.line_per_s) > most_queue_ns else "passed"

    return worst(map(of_one, accounts))


def worst(verdicts: Iterable[TryVerdict]) -> TryVerdict:
    """The verdict on all directions, or all pairs of hosts, of one trial.

    A fault of the device outweighs a fault of the measuring hosts: a rate at which the device lost
    or queued frames is too high for the device, even if another direction could not be judged.
    """
    order = ("lost", "absorbed", "tester-loss", "generator-bound", "passed")
    return min(verdicts, key=order.index, default="passed")


def forwarded_share(accounts: Sequence[Counts], criteria: Criteria) -> float | None:
    """The rate at which frames arrived in the slower direction, as a share of the line rate;
    ``None``: unknown.
    """
    slower = least(counts.received_per_s() for counts in accounts)
    return None if slower is None else slower / criteria.line_per_s


def least(values: Iterable[float | None]) -> float | None:
    """The smallest value; ``None`` if one of them is unknown."""
    every = list(values)
    return None if None in every else min(value for value in every if value is not None)


def _per_s(frames: int, span_ns: int) -> float | None:
    return 1e9 * (frames - 1) / span_ns if frames > 1 and span_ns > 0 else None
