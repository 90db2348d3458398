"""The search for the largest message that passes: bisection, with what refusals tell on the way.
Pure: how a size is tried is handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

Evidence = Literal["emsgsize", "icmp", "dropped", "timeout", "mss", "protocol"]
"""Why nothing larger passes: the sender's system refused it at once; a router on the path had told
the sender's system; the sender's own interface dropped it; it vanished without a word; TCP's
segments are no longer; the protocol ends."""


@dataclass(frozen=True, slots=True)
class SizeTry:
    """One size, tried."""

    message_bytes: int
    passed: bool
    evidence: Evidence | None = None
    """Why it did not pass."""
    most_bytes: int | None = None
    """The largest message that the sender's system would let out, where it said so."""


@dataclass(frozen=True, slots=True)
class Limit:
    """The largest message that passes."""

    message_bytes: int
    evidence: Evidence
    """Why one byte more does not pass."""
    tries: tuple[SizeTry, ...]
    """In their order."""


def find_limit(
    attempt: Callable[[int], SizeTry],
    *,
    least_bytes: int,
    most_bytes: int,
    guesses: Sequence[int] = (),
    beyond: Evidence = "protocol",
) -> Limit:
    """The largest size from ``least_bytes`` to ``most_bytes`` for which ``attempt`` passes.

    ``guesses`` are tried first, each with its successor; a refusal that names a size is a further
    guess. ``beyond``: why nothing larger than ``most_bytes`` is tried. Every size is tried once at
    most; what is larger than one that failed is taken not to pass. Raises ValueError where
    ``least_bytes`` does not pass.
    """
    tries = [attempt(least_bytes)]
    if not tries[0].passed:
        raise ValueError(f"not even {least_bytes} bytes pass")
    passes, fails, evidence = least_bytes, most_bytes + 1, beyond
    waiting = [size for guess in guesses for size in (guess, guess + 1)]
    while fails - passes > 1:
        size = next((each for each in waiting if passes < each < fails), (passes + fails) // 2)
        tried = attempt(size)
        tries.append(tried)
        if tried.passed:
            passes = size
            continue
        fails, evidence = size, tried.evidence or "timeout"
        if tried.most_bytes is not None:
            waiting = [tried.most_bytes, tried.most_bytes + 1, *waiting]
    return Limit(passes, evidence, tuple(tries))
