"""How many cases a test draws: few with fixed seeds in CI, many with new seeds at night.

``NETLAB_NIGHT=SEED`` makes a session of the night: `make nightly` draws the seed and prints it, and
the same seed draws the same cases again.
"""

from __future__ import annotations

import os
import random

NIGHT = os.environ.get("NETLAB_NIGHT")
"""Seed of the night, or ``None`` in every other session."""


def drawn(few: int, many: int) -> int:
    """The number of cases to draw: ``few``, or ``many`` at night."""
    return few if NIGHT is None else many


def seeds(few: int, many: int) -> list[int]:
    """Seeds of single cases: 0, 1, … ``few - 1``, or ``many`` that the night's seed draws."""
    if NIGHT is None:
        return [*range(few)]
    return random.Random(NIGHT).sample(range(1 << 32), many)  # noqa: S311  (no secret)


def chance(seed: int | str) -> random.Random:
    """A generator whose draws are the same in each session but those of the night."""
    return random.Random(f"{seed} {NIGHT or ''}")  # noqa: S311  (no secret)
