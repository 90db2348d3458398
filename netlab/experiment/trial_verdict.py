"""The verdict on one trial of a search for the highest rate: from what both ends counted. Pure.

A trial passes when no frame was lost **and** no queue grew: frames that come out more slowly than
they went in are a queue that fills, and a short trial would measure the queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from netlab.experiment.rate_search import TryVerdict

STARVED_SHARE = 0.001
"""What a sender may stay below the rate asked for, as a share of it, where half a step is less."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What the two ends of one direction counted, over a whole trial."""

    sent: int
    """Frames that send calls took."""
    received: int
    """Distinct frames that arrived."""
    sent_span_ns: int
    """From the first send call to the last one's return."""
    received_span_ns: int
    """From the first frame's arrival to the last one's; 0 of fewer than two."""
    own_drops: int = 0
    """Frames of it that our own hosts dropped, as far as their counters tell."""

    @property
    def lost(self) -> int:
        """Frames that went out and did not arrive."""
        return max(0, self.sent - self.received)

    def sent_per_s(self) -> float | None:
        """Frames a second that went out; ``None`` of fewer than two."""
        return _per_s(self.sent, self.sent_span_ns)

    def received_per_s(self) -> float | None:
        """Frames a second that came out; ``None`` of fewer than two."""
        return _per_s(self.received, self.received_span_ns)

    def queue_ns(self, line_per_s: float) -> int:
        """By how much longer frames took to come out than to go in.

        A sender as fast as its link hands frames to its own queue sooner than they can go out:
        none of them goes in faster than the link carries them.
        """
        least_ns = round(1e9 * max(0, self.sent - 1) / line_per_s)
        return self.received_span_ns - max(self.sent_span_ns, least_ns)


@dataclass(frozen=True, slots=True)
class Criteria:
    """What a trial is judged by."""

    offered_per_s: float
    """Frames a second that were to be sent, each way."""
    line_per_s: float
    """Frames a second that the line carries."""
    step_share: float
    """Step of the search, as a share of the line rate."""
    duration_s: float
    acceptable_loss: float = 0.0
    """Share of the frames that may be lost."""

    @property
    def most_queue_ns(self) -> int:
        """What a trial may take longer to come out than to go in: half a step of its length."""
        return round(1e9 * self.duration_s * self.step_share / 2)

    @property
    def least_sent_per_s(self) -> float:
        """A sender slower than this did not offer what it was to offer."""
        below = max(STARVED_SHARE * self.offered_per_s, self.step_share / 2 * self.line_per_s)
        return self.offered_per_s - below


def shared_drops(lost: Sequence[int], shared: int) -> tuple[int, ...]:
    """Of drops that hosts count for all directions together, what surely is each direction's own.

    ``lost``: frames of each that nothing else accounts for. Drops of the one never excuse the
    other's loss: what another may have lost by them is not this one's.
    """
    if shared >= sum(lost):
        # All losses are covered; the rest cost nothing, and stands with the first.
        return tuple(
            frames + (shared - sum(lost) if place == 0 else 0) for place, frames in enumerate(lost)
        )
    return tuple(max(0, shared - (sum(lost) - frames)) for frames in lost)


def judge(accounts: Sequence[Counts], criteria: Criteria) -> TryVerdict:
    """The verdict on a trial, of its one direction or both: the worst of theirs."""
    return worst(_of_one(counts, criteria) for counts in accounts)


def worst(verdicts: Iterable[TryVerdict]) -> TryVerdict:
    """The verdict on all directions, or pairs of hosts, that one trial had.

    What the device did wrong outweighs what the tester did: a rate at which it lost frames, or
    queued them, is too high for it even where another direction says nothing.
    """
    found = set(verdicts)
    order: tuple[TryVerdict, ...] = ("lost", "absorbed", "tester-loss", "generator-bound")
    return next((each for each in order if each in found), "passed")


def forwarded_share(accounts: Sequence[Counts], criteria: Criteria) -> float | None:
    """The slower direction's rate of arrivals, as a share of the line's; ``None``: not known."""
    slower = least(counts.received_per_s() for counts in accounts)
    return None if slower is None else slower / criteria.line_per_s


def least(values: Iterable[float | None]) -> float | None:
    """The least of all; ``None`` where one of them is not known."""
    known = list(values)
    found = [value for value in known if value is not None]
    return min(found) if len(found) == len(known) else None


def _of_one(counts: Counts, criteria: Criteria) -> TryVerdict:
    if counts.lost > criteria.acceptable_loss * counts.sent:
        return "tester-loss" if counts.own_drops >= counts.lost else "lost"
    sent_per_s = counts.sent_per_s()
    if sent_per_s is None or sent_per_s < criteria.least_sent_per_s:
        # Before the queue: one that grew may be the sender's own, in front of a slow link of its.
        return "generator-bound"
    if counts.queue_ns(criteria.line_per_s) > criteria.most_queue_ns:
        return "absorbed"
    return "passed"


def _per_s(frames: int, span_ns: int) -> float | None:
    return 1e9 * (frames - 1) / span_ns if frames > 1 and span_ns > 0 else None
