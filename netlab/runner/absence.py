"""Absences of hosts and of paths: the reason, and the time of the next try. No I/O.

A pairing is two hosts between which a run measures.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

FIRST_PAUSE_S = 1.0
"""Time from the loss of a host to the first new try."""

REFUSED_PAUSE_S = 15.0
"""Time from a refused login to the next try: some hosts lock out a client that tries too often."""

MOST_PAUSE_S = 60.0
"""Maximum pause between two tries. Each pause is twice as long as the one before."""

PATIENCE_S = 600.0
"""Time, counted from the loss of a host, for which a run waits for the host if nothing else is left
to measure."""


@dataclass(frozen=True, slots=True)
class Absence:
    """One host that is away, or one pairing whose hosts no longer reach each other."""

    reason: str
    """A key of ``netlab.experiment.records.REASONS``."""
    sentence: str
    since_s: float
    """Start of the absence. All points in time in this file are seconds of the monotonic clock."""
    ask_at_s: float
    """When to try again; infinite if a person has to repair something first."""
    pause_s: float = FIRST_PAUSE_S

    @classmethod
    def begin(cls, reason: str, sentence: str, now_s: float, pause_s: float | None) -> Absence:
        """An absence that starts now. ``pause_s``: time to the first try; ``None`` if no try
        follows.
        """
        ask_at_s = math.inf if pause_s is None else now_s + pause_s
        return cls(reason, sentence, now_s, ask_at_s, pause_s or FIRST_PAUSE_S)

    def again(self, reason: str, sentence: str, now_s: float, *, final: bool = False) -> Absence:
        """The absence after a failed try, with a longer pause. If ``final``, no try follows."""
        pause_s = min(MOST_PAUSE_S, 2 * self.pause_s)
        ask_at_s = math.inf if final else now_s + pause_s
        return replace(self, reason=reason, sentence=sentence, ask_at_s=ask_at_s, pause_s=pause_s)

    def due(self, now_s: float) -> Absence:
        """The same absence, to be tried again now."""
        return replace(self, ask_at_s=now_s)

    def is_due(self, now_s: float) -> bool:
        """Whether the time of the next try has come."""
        return now_s >= self.ask_at_s

    def next_ask_s(self, now_s: float, patience_s: float) -> float | None:
        """Seconds until the next try, or until the run gives up if that is earlier.

        ``None`` if no try follows or if the run has given up. ``patience_s``: time from the start
        of the absence after which the run gives up.
        """
        give_up_s = self.since_s + patience_s
        if math.isinf(self.ask_at_s) or now_s >= give_up_s:
            return None
        return max(0.0, min(self.ask_at_s, give_up_s) - now_s)
