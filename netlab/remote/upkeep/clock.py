"""The offset of a host's clock from the clock of the controller (this machine)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from netlab import clock
from netlab.errors import ProbeError

EXCHANGES = 16
"""Maximum number of exchanges, of which the fastest counts."""


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """The offset between an agent's monotonic clock and that of the controller (this machine)."""

    offset_ns: int
    """Add this to a time of the controller's clock to get the time of the agent's clock."""
    bound_ns: int
    """Largest possible error of the offset: half of the round trip."""


def fastest(
    exchange: Callable[[float], ClockOffset], *, first_s: float, all_s: float, enough_ns: int
) -> ClockOffset:
    """The offset with the smallest bound, from at most 16 exchanges.

    ``exchange`` has a time limit in seconds: ``first_s`` for the first exchange; the others end
    after ``all_s`` together. A bound of ``enough_ns`` or less ends the exchanges. Raises ProbeError
    if the first exchange has no answer.
    """
    give_up = clock.monotonic() + all_s
    best = exchange(first_s)
    for _ in range(EXCHANGES - 1):
        left_s = give_up - clock.monotonic()
        if left_s <= 0 or best.bound_ns <= enough_ns:
            break
        try:
            best = min(best, exchange(left_s), key=lambda offset: offset.bound_ns)
        except ProbeError as error:
            if error.word != "no-answer":
                raise
    return best
