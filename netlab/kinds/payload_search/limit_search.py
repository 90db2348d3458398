"""The search for the largest message that arrives: a bisection that also uses reported limits.

The caller provides the function that tries a size. A size passes if a message of this size arrives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

Evidence = Literal["emsgsize", "icmp", "dropped", "timeout", "mss", "protocol"]
"""Why no larger message passes. ``emsgsize``: the sender's system refuses it; ``icmp``: a router
reported the limit; ``dropped``: the sender's interface dropped the message; ``timeout``: the
message was lost without a report; ``mss``: the limit is the longest TCP segment; ``protocol``: the
limit is that of the protocol."""


@dataclass(frozen=True, slots=True)
class SizeTry:
    """The try of one size."""

    message_bytes: int
    passed: bool
    evidence: Evidence | None = None
    """Why the message did not pass."""
    most_bytes: int | None = None
    """The largest message that the sender's system allows, if the system reported this size."""


@dataclass(frozen=True, slots=True)
class Limit:
    """The largest message that passes."""

    message_bytes: int
    evidence: Evidence
    """Why a message that is one byte longer does not pass."""
    tries: tuple[SizeTry, ...]


def find_limit(
    attempt: Callable[[int], SizeTry],
    *,
    least_bytes: int,
    most_bytes: int,
    guesses: Sequence[int] = (),
    beyond: Evidence = "protocol",
) -> Limit:
    """The largest size from ``least_bytes`` to ``most_bytes`` for which ``attempt`` succeeds.

    ``guesses`` are tried first, each with the size one byte larger. If a try reports a limit, this
    limit is the next guess. ``beyond``: why no size above ``most_bytes`` is tried. Each size is
    tried at most once; a size above a size that failed is assumed to fail. Raises ValueError if
    ``least_bytes`` does not pass.
    """
    tries = [attempt(least_bytes)]
    if not tries[0].passed:
        raise ValueError(f"not even {least_bytes} bytes pass")
    passes, fails, evidence = least_bytes, most_bytes + 1, beyond
    candidates = [size for guess in guesses for size in (guess, guess + 1)]
    while fails - passes > 1:
        size = next(
            (guess for guess in candidates if passes < guess < fails), (passes + fails) // 2
        )
        size_try = attempt(size)
        tries.append(size_try)
        if size_try.passed:
            passes = size
            continue
        fails, evidence = size, size_try.evidence or "timeout"
        if size_try.most_bytes is not None:
            candidates = [size_try.most_bytes, size_try.most_bytes + 1, *candidates]
    return Limit(passes, evidence, tuple(tries))
