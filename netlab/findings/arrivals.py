"""The bytes that arrive in the intervals of a window, and whether they come evenly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean, median, pvariance

from netlab.trial.record import FlowValues

LEAST_GROUPS = 12
"""Minimum number of times whose bytes are compared."""

SCATTER, EVEN = 6.0, 0.25
"""Random loss changes the number of messages that arrive by a variance of n p (1 - p). Times are
so long that this is at least the first value; arrivals are even if their variance is at most the
second value, as a share of it."""

LIKE, MOSTLY, CALLS = 0.025, 0.8, 50
"""TCP arrives evenly if in this share of the times (the second value) its rate is within the first
value of the usual one, and its mean is; each time has at least so many receive calls (the third
value)."""


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The bytes that arrived in successive times of equal length, without the last one."""

    each_bytes: tuple[float, ...]
    interval_ns: float
    call_bytes: float
    """Mean bytes of a receive call: data come in such portions."""

    def merged(self, number: int) -> tuple[float, ...]:
        """The bytes of so many times together; an incomplete rest is left out."""
        last = len(self.each_bytes) - number
        return tuple(sum(self.each_bytes[at : at + number]) for at in range(0, last + 1, number))

    def is_even(self, message_bytes: int, lost_share: float) -> bool:
        """Whether data arrived as evenly as behind a limit of their rate: not after random loss of
        messages of this length, nor with the pauses of a host.
        """
        mean = fmean(self.each_bytes)
        if mean and lost_share:
            scatter = mean / message_bytes * lost_share  # n p (1 - p), with n (1 - p) that arrived
            number = math.ceil(SCATTER / scatter)
            messages = [each / message_bytes for each in self.merged(number)]
            enough = len(messages) >= LEAST_GROUPS
            return enough and pvariance(messages) <= EVEN * number * scatter
        groups = self.merged(math.ceil(CALLS * self.call_bytes / mean)) if mean else ()
        if len(groups) < LEAST_GROUPS / 2:
            return False
        usual = median(groups)
        like = sum(abs(each - usual) <= LIKE * usual for each in groups)
        return like >= MOSTLY * len(groups) and abs(fmean(groups) - usual) <= LIKE * usual


def arrivals_of(flow: FlowValues) -> Arrivals | None:
    """The arrivals of a flow of a record; ``None`` if they are not recorded, or too few."""
    interval_ns = flow.number("receiver_interval_ns")
    each = tuple(map(float, flow.series("receiver_interval_bytes")[:-1]))
    total, calls = flow.number("receiver_received_bytes"), flow.number("receiver_marks")
    if not interval_ns or not total or not calls or len(each) < LEAST_GROUPS:
        return None
    return Arrivals(each, interval_ns, total / calls)
