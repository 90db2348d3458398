"""The verdict on one trial of a search for the highest rate, from the counts of both ends. No I/O.

A trial passes if no frame was lost **and** no queue grew. If frames come out more slowly than they
went in, a queue is filling, and a short trial would measure the queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from netlab.experiment.rate_search import TryVerdict

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
        """How much longer the frames took to come out of the device than to go in.

        A sender may pass frames to its own queue faster than the link carries them. So the time to
        go in is at least the time that the link needs for the frames.
        """
        least_ns = round(1e9 * max(0, self.sent - 1) / line_per_s)
        return self.received_span_ns - max(self.sent_span_ns, least_ns)


@dataclass(frozen=True, slots=True)
class Criteria:
    """The criteria for the verdict on a trial."""

    offered_per_s: float
    """Requested frames per second, each way."""
    line_per_s: float
    """Frames per second that the line carries."""
    step_share: float
    """Step of the search, as a share of the line rate."""
    duration_s: float
    acceptable_loss: float = 0.0
    """Share of the frames that may be lost."""

    @property
    def most_queue_ns(self) -> int:
        """Maximum time by which frames may take longer to come out than to go in: the trial's
        length times half of ``step_share``.
        """
        return round(1e9 * self.duration_s * self.step_share / 2)

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
        return tuple(
            frames + (shared - sum(losses) if place == 0 else 0)
            for place, frames in enumerate(losses)
        )
    return tuple(max(0, shared - (sum(losses) - frames)) for frames in losses)


def judge(accounts: Sequence[Counts], criteria: Criteria) -> TryVerdict:
    """The verdict on a trial: the worst of its one or two directions."""
    return worst(_of_one(counts, criteria) for counts in accounts)


def worst(verdicts: Iterable[TryVerdict]) -> TryVerdict:
    """The verdict on all directions, or all pairs of hosts, of one trial.

    A fault of the device outweighs a fault of the measuring hosts: a rate at which the device lost
    or queued frames is too high for the device, even if another direction could not be judged.
    """
    distinct = set(verdicts)
    order: tuple[TryVerdict, ...] = ("lost", "absorbed", "tester-loss", "generator-bound")
    return next((verdict for verdict in order if verdict in distinct), "passed")


def forwarded_share(accounts: Sequence[Counts], criteria: Criteria) -> float | None:
    """The rate at which frames arrived in the slower direction, as a share of the line rate;
    ``None``: unknown.
    """
    slower = least(counts.received_per_s() for counts in accounts)
    return None if slower is None else slower / criteria.line_per_s


def least(values: Iterable[float | None]) -> float | None:
    """The smallest value; ``None`` if one of them is unknown."""
    every = list(values)
    known_values = [value for value in every if value is not None]
    return min(known_values) if len(known_values) == len(every) else None


def _of_one(counts: Counts, criteria: Criteria) -> TryVerdict:
    if counts.lost > criteria.acceptable_loss * counts.sent:
        return "tester-loss" if counts.own_drops >= counts.lost else "lost"
    sent_per_s = counts.sent_per_s()
    if sent_per_s is None or sent_per_s < criteria.least_sent_per_s:
        # Checked before the queue: if the link is slow, the queue may be the sender's own.
        return "generator-bound"
    if counts.queue_ns(criteria.line_per_s) > criteria.most_queue_ns:
        return "absorbed"
    return "passed"


def _per_s(frames: int, span_ns: int) -> float | None:
    return 1e9 * (frames - 1) / span_ns if frames > 1 and span_ns > 0 else None
