"""The place between two segments of a history: a step, a bend, or chance. No I/O.

``netlab.stats.change_points`` describes the tests and their sources.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

LEAST_RUNS = 5
"""Minimum number of figures on each side of a change point."""
LEAST_CHANGE = 0.005
"""Minimum change, as a share."""
PERMUTATIONS = 999
NEAR = 30
"""Number of figures on each side in which a jump must appear; a slow curve has no jump there."""
NEAR_SHARE = 0.6
"""Minimum ratio of the jump among the near figures to the jump of the whole segments."""
BETTER = 16.0
"""Minimum advantage of a jump over a bend: difference of their sums of squares, in variances."""
TINY = 1e-9
"""Minimum standard deviation: figures without any scatter are printed with nine digits at most."""

Array = Any
"""A numpy array of numbers."""


@dataclass(frozen=True, slots=True)
class Break:
    """The place between two segments."""

    p_value: float
    better: float
    """Sum of squares of the best bend, minus that of the jump, in units of the squared values."""
    jump: float
    near_jump: float

    def is_step(self, variance: float) -> bool:
        """Whether it is a step, and not a bend of a drift."""
        return (
            self.better >= BETTER * variance
            and self.near_jump / self.jump >= NEAR_SHARE
            and abs(math.expm1(self.jump)) >= LEAST_CHANGE
        )


def break_of(x: Array, y: Array, at: int, chance: np.random.Generator) -> Break:
    """Test the break of two segments, the second of which begins with index ``at``."""
    base = _line_basis(x)
    steps, slopes = _broken_basis(x, base)
    residuals = y - (y @ base.T) @ base

    def reductions(of: Array) -> Array:
        return (of @ steps.T) ** 2 + (of @ slopes.T) ** 2

    mixed = chance.permuted(np.tile(residuals, (PERMUTATIONS, 1)), axis=1)
    mixed -= (mixed @ base.T) @ base
    by_chance = reductions(mixed).max(axis=1) / np.maximum((mixed**2).sum(axis=1), TINY**2)
    reduction = reductions(residuals)[at - LEAST_RUNS]
    share = reduction / max(float(residuals @ residuals), TINY**2)
    before, after = sides_of(x, y, at)
    near = slice(max(0, at - NEAR), at + NEAR)
    near_before, near_after = sides_of(x[near], y[near], at - near.start)
    return Break(
        p_value=float(1 + (by_chance >= share).sum()) / (PERMUTATIONS + 1),
        better=float(reduction - ((_bend_basis(x, base) @ residuals) ** 2).max()),
        jump=(after - before) or TINY,
        near_jump=near_after - near_before,
    )


def sides_of(x: Array, y: Array, at: int) -> tuple[float, float]:
    """The values of the lines through both sides, in the middle between the sides."""
    middle = (x[at - 1] + x[at]) / 2
    sides = ((x[:at] - middle, y[:at]), (x[at:] - middle, y[at:]))
    before, after = (float(np.polyfit(own_x, own_y, 1)[1]) for own_x, own_y in sides)
    return before, after


# Directions in the space of all figures; the square of a projection is a reduction of the sum of
# squares.


def _unit(rows: Array) -> Array:
    """Rows of length 1; a row without direction becomes 0."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > TINY, lengths, np.inf)


def _line_basis(x: Array) -> Array:
    """Orthonormal rows that span all lines."""
    return _unit(np.stack([np.ones(len(x)), x - x.mean()]))


def _broken_basis(x: Array, base: Array) -> tuple[Array, Array]:
    """For each place of a break, two orthonormal rows: a jump, and another slope after it."""
    places = np.arange(LEAST_RUNS, len(x) - LEAST_RUNS + 1)
    later = (np.arange(len(x))[None, :] >= places[:, None]).astype(float)
    steps = _unit(later - (later @ base.T) @ base)
    slopes = later * (x - x.mean())
    slopes -= (slopes @ base.T) @ base
    slopes -= (slopes * steps).sum(axis=1, keepdims=True) * steps
    return steps, _unit(slopes)


def _bend_basis(x: Array, base: Array) -> Array:
    """For each figure but the first and the last, a row: a bend at this figure."""
    bends = np.maximum(x[None, :] - x[1:-1, None], 0)
    return _unit(bends - (bends @ base.T) @ base)
