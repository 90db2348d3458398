"""What is away, why, and when it is asked again: hosts, and ways between two of them. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

FIRST_PAUSE_S = 1.0
"""From the loss of a host to the first time that it is asked again."""

REFUSED_PAUSE_S = 15.0
"""The same where it refused the login: hosts lock out who tries too often."""

MOST_PAUSE_S = 60.0
"""Each pause is twice the one before, up to this."""

PATIENCE_S = 600.0
"""So long a run that has nothing else to measure waits for what is away, from its loss on."""


@dataclass(frozen=True, slots=True)
class Absence:
    """One host that is away, or one pairing whose hosts do not reach each other any more."""

    reason: str
    """Of the closed list of reasons."""
    sentence: str
    since_s: float
    """By the monotonic clock, as all times here."""
    ask_at_s: float
    """When it is asked again; infinite where a person has to mend it first."""
    pause_s: float = FIRST_PAUSE_S

    @classmethod
    def begin(cls, reason: str, sentence: str, now_s: float, pause_s: float | None) -> Absence:
        """It is away from now on; ``pause_s`` until it is asked again, ``None``: never."""
        ask_at_s = math.inf if pause_s is None else now_s + pause_s
        return cls(reason, sentence, now_s, ask_at_s, pause_s or FIRST_PAUSE_S)

    def again(self, reason: str, sentence: str, now_s: float, *, final: bool = False) -> Absence:
        """It was asked in vain: the next pause is longer."""
        pause_s = min(MOST_PAUSE_S, 2 * self.pause_s)
        ask_at_s = math.inf if final else now_s + pause_s
        return replace(self, reason=reason, sentence=sentence, ask_at_s=ask_at_s, pause_s=pause_s)

    def due(self, now_s: float) -> Absence:
        """It is worth asking now."""
        return replace(self, ask_at_s=now_s)

    def is_due(self, now_s: float) -> bool:
        """Whether it is to be asked again."""
        return now_s >= self.ask_at_s

    def next_ask_s(self, now_s: float, patience_s: float) -> float | None:
        """Seconds until it is worth asking; ``None`` where it is not waited for any longer."""
        give_up_s = self.since_s + patience_s
        if math.isinf(self.ask_at_s) or now_s >= give_up_s:
            return None
        return max(0.0, min(self.ask_at_s, give_up_s) - now_s)
