"""Change points of a history: sudden changes of a level, as opposed to drift and outliers.

A history is one positive figure for each run, such as the median throughput of a cell, in the order
of the runs. A run without a figure is a gap. All computations are on logarithms, so that a change
is a ratio. The steps are:

1. Outliers: a figure further than ``CLIPPED`` deviations from the running median of nine figures is
   set to this limit (a Hampel filter: Davies and Gather, J. Am. Stat. Assoc. 88, 1993). The running
   median ignores deviations of up to four figures and keeps a step sharp.
2. Correlation: if successive figures depend on each other, they are whitened, as by Chakar,
   Lebarbier, Lévy-Leduc and Robin (Bernoulli 23, 2017, doi:10.3150/15-BEJ782). The coefficient is
   from medians of differences, which change points do not affect, and from the segments.
3. Segments: PELT (Killick, Fearnhead and Eckley, J. Am. Stat. Assoc. 107, 2012,
   doi:10.1080/01621459.2012.737745) finds the segments with the smallest sum of squared distances
   from one straight line per segment, plus a penalty of ``PENALTY`` · log(n) variances for each
   segment, which is the Bayesian information criterion for a line's two parameters and its start.
   Lines, instead of levels, follow a drift.
4. Significance: a permutation test of the figures on both sides (as in Daly and others, ICPE 2020,
   doi:10.1145/3358960.3375791), of the residuals of one line through both (Freedman and Lane,
   J. Bus. Econ. Stat. 1, 1983). The statistic is the maximum over all places of the reduction by
   breaking the line in two, so that the choice of the place is part of the test.
5. Steps: an end of a segment is a change point only if a jump explains the figures better than a
   bend (two lines that meet), and if the jump also appears within ``NEAR`` figures on both sides.
   All other ends of segments are bends of the drift.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from netlab.errors import UsageError
from netlab.stats import TO_DEVIATION, t_quantile

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
    # Orthonormal rows that span all lines; and for each figure but the first and the last, a row
    # with a bend at this figure.
    base = _unit(np.stack([np.ones(len(x)), x - x.mean()]))
    bends = np.maximum(x[None, :] - x[1:-1, None], 0)
    bends = _unit(bends - (bends @ base.T) @ base)
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
        better=float(reduction - ((bends @ residuals) ** 2).max()),
        jump=(after - before) or TINY,
        near_jump=near_after - near_before,
    )


def sides_of(x: Array, y: Array, at: int) -> tuple[float, float]:
    """The values of the lines through both sides, in the middle between the sides."""
    middle = (x[at - 1] + x[at]) / 2
    sides = ((x[:at] - middle, y[:at]), (x[at:] - middle, y[at:]))
    before, after = (float(np.polyfit(own_x, own_y, 1)[1]) for own_x, own_y in sides)
    return before, after


def _unit(rows: Array) -> Array:
    """Rows of length 1, directions in the space of all figures; a row without direction becomes 0.
    The square of a projection on a row is a reduction of the sum of squares.
    """
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > TINY, lengths, np.inf)


def _broken_basis(x: Array, base: Array) -> tuple[Array, Array]:
    """For each place of a break, two orthonormal rows: a jump, and another slope after it."""
    places = np.arange(LEAST_RUNS, len(x) - LEAST_RUNS + 1)
    later = (np.arange(len(x))[None, :] >= places[:, None]).astype(float)
    steps = _unit(later - (later @ base.T) @ base)
    slopes = later * (x - x.mean())
    slopes -= (slopes @ base.T) @ base
    slopes -= (slopes * steps).sum(axis=1, keepdims=True) * steps
    return steps, _unit(slopes)


SIGNIFICANCE = 0.002
"""Maximum p value of a change point."""
MOST_SIDE = 250
"""Maximum number of figures on each side that are tested; the test of more takes much memory."""
PENALTY = 3.0
CLIPPED = 3.0
MOST_CORRELATION = 0.6
"""Maximum of the coefficient of correlation that is removed. A greater one is drift."""

OUTSIDE = 0.01
"""Probability that a figure of an unchanged history is called outside of it, for all figures that
are judged together."""

_SAME_CORRELATION = 0.05
_HALF_WINDOW = 4
_SEED = 20120101
"""The same history always has the same change points."""


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A sudden change of the level."""

    index: int
    """Index of the first figure after the change."""
    before: float
    """Level immediately before the change, and (``after``) immediately after it."""
    after: float
    p_value: float

    @property
    def change_share(self) -> float:
        """The change as a share of the level before it."""
        return self.after / self.before - 1


@dataclass(frozen=True, slots=True)
class Expected:
    """The figures that the last segment of a history lets expect in the next run."""

    level: float
    low: float
    high: float
    runs: int
    """Number of figures in the last segment."""


@dataclass(frozen=True)
class Course:
    """A history, divided into segments."""

    figures: tuple[float | None, ...]
    change_points: tuple[ChangePoint, ...]
    levels: tuple[float | None, ...]
    """The level of the segment at each figure; ``None`` at a gap."""
    starts: tuple[int, ...]
    """Index of the first figure of each segment; a segment begins with a change point or a bend."""

    @property
    def count(self) -> int:
        """Number of figures."""
        return sum(figure is not None for figure in self.figures)

    @cached_property
    def _residuals(self) -> Array:
        pairs = zip(self.figures, self.levels, strict=True)
        return np.array([math.log(y / level) for y, level in pairs if y and level])

    def expected(self, judged: int = 1) -> Expected | None:
        """The range of the next run's figure; ``None`` with fewer than 5 figures in the last
        segment.

        ``judged``: number of figures of one run that are judged together (Bonferroni). The range is
        the prediction interval of Student's t. From 99 figures upwards, it also has at least the
        distance from the level that 99 % of the history's figures are within, so that outliers of
        the history widen it (Vovk, Gammerman and Shafer, Algorithmic Learning in a Random World,
        2005).
        """
        start = self.starts[-1] if self.starts else 0
        known = [(at, y) for at, y in enumerate(self.figures) if y is not None and at >= start]
        if len(known) < LEAST_RUNS:
            return None
        x = np.array([at for at, _ in known[-2 * NEAR :]], dtype=float)
        y = _clipped(np.log([y for _, y in known[-2 * NEAR :]]))
        level, leverage = float(y.mean()), 1 / len(x)
        if len(x) >= 2 * LEAST_RUNS:
            slope = np.polyfit(x - x.mean(), y, 1)[0]
            ahead = len(self.figures) - x.mean()
            level += float(slope * ahead)
            leverage += float(ahead**2 / ((x - x.mean()) ** 2).sum())
        distances = np.sort(np.abs(self._residuals))
        degrees = max(self.count - 2 * len(self.starts or (0,)), 1)
        deviation = TO_DEVIATION * float(np.median(distances))
        half = deviation * math.sqrt(1 + leverage) * t_quantile(1 - OUTSIDE / 2 / judged, degrees)
        rank = math.ceil((1 - OUTSIDE) * (len(distances) + 1))
        if rank <= len(distances):
            half = max(half, float(distances[rank - 1]))
        low, middle, high = (math.exp(level + way * half) for way in (-1, 0, 1))
        return Expected(middle, low, high, len(known))


def course_of(figures: Sequence[float | None]) -> Course:
    """Divide a history into segments. A figure is positive, or ``None`` for a gap.

    With fewer than 10 figures there is one segment. UsageError without ruptures, ValueError for a
    figure that is not finite and above 0.
    """
    if any(y is not None and not (y > 0 and math.isfinite(y)) for y in figures):
        raise ValueError("a figure of a history must be finite and above 0")
    known = [(at, y) for at, y in enumerate(figures) if y is not None]
    places = [at for at, _ in known]
    if not known:
        return Course(tuple(figures), (), (None,) * len(figures), ())
    x = np.array(places, dtype=float)
    y = _clipped(np.log([y for _, y in known]))
    ends, steps = _divided(x, y) if len(places) >= 2 * LEAST_RUNS else ([], {})
    bounds = [0, *ends, len(places)]
    levels = dict(zip(places, np.exp(_levels(x, y, bounds)).tolist(), strict=True))
    points = []
    for start, at, end in zip(bounds[:-2], ends, bounds[2:], strict=True):
        if at in steps:
            before, after = np.exp(sides_of(x[start:end], y[start:end], at - start)).tolist()
            points.append(ChangePoint(places[at], before, after, steps[at]))
    return Course(
        figures=tuple(figures),
        change_points=tuple(points),
        levels=tuple(levels.get(at) for at in range(len(figures))),
        starts=tuple(places[at] for at in (0, *ends)),
    )


def _clipped(y: Array) -> Array:
    """The values, with outliers moved to the limit of the Hampel filter."""
    half = _HALF_WINDOW
    middle = np.array([np.median(y[max(0, at - half) : at + half + 1]) for at in range(len(y))])
    # The median of nine figures follows them, so that the residuals are smaller than the noise.
    limit = CLIPPED * max(1.1 * TO_DEVIATION * float(np.median(np.abs(y - middle))), TINY)
    return middle + np.clip(y - middle, -limit, limit)


def _spread(values: Array) -> float:
    """Standard deviation by the median absolute deviation."""
    return float(TO_DEVIATION * np.median(np.abs(values - np.median(values))))


def _variance(y: Array) -> float:
    """Variance of the noise by second differences, which slopes and steps hardly affect."""
    return max(_spread(y[2:] - 2 * y[1:-1] + y[:-2]) ** 2 / 6, TINY**2)


def _divided(x: Array, y: Array) -> tuple[list[int], dict[int, float]]:
    """Indices at which segments begin, without 0; and those that are steps → their p value."""
    white, ends = _first_segments(x, y)
    variance = _variance(white)
    chance = np.random.default_rng(_SEED)
    known: dict[tuple[int, int, int], Break] = {}
    while True:
        breaks = []
        bounds = [0, *ends, len(x)]
        for before, at, after in zip(bounds[:-2], ends, bounds[2:], strict=True):
            start, end = max(before, at - MOST_SIDE), min(after, at + MOST_SIDE)
            if (start, at, end) not in known:
                found = break_of(x[start:end], white[start:end], at - start, chance)
                known[start, at, end] = found
            breaks.append(known[start, at, end])
        worst = max(range(len(ends)), key=lambda i: breaks[i].p_value, default=None)
        if worst is None or breaks[worst].p_value <= SIGNIFICANCE:
            break
        del ends[worst]
    pairs = zip(ends, breaks, strict=True)
    return ends, {at: found.p_value for at, found in pairs if found.is_step(variance)}


def _first_segments(x: Array, y: Array) -> tuple[Array, list[int]]:
    """The whitened values, and the indices at which PELT begins a segment, without 0.

    The correlation by differences is not affected by change points, but has a large error. So it is
    only the beginning: if the distances from the segments are more correlated, theirs counts.
    """
    one, two = _spread(y[1:] - y[:-1]), _spread(y[2:] - y[:-2])
    share = (two / one) ** 2 - 1 if one > 0 else 0.0
    # Three of its errors less.
    correlation = max(min(share, MOST_CORRELATION) - 3 / math.sqrt(len(y)), 0.0)
    for _attempt in range(3):
        # Whitening removes the correlation of neighbours; levels and slopes stay as they are.
        white = np.concatenate([y[:1], (y[1:] - correlation * y[:-1]) / (1 - correlation)])
        ends = _pelt(x, white, PENALTY * math.log(len(x)) * _variance(white))
        residuals = y - _levels(x, y, [0, *ends, len(x)])
        squares = max(float(residuals @ residuals), TINY**2)
        further = min(float(residuals[1:] @ residuals[:-1]) / squares, MOST_CORRELATION)
        if further <= correlation + _SAME_CORRELATION:
            break
        correlation = further
    return white, ends


def _pelt(x: Array, y: Array, penalty: float) -> list[int]:
    """Indices at which PELT begins a segment, without 0."""
    try:
        from ruptures.base import BaseCost
        from ruptures.detection import Pelt
    except ModuleNotFoundError:
        raise UsageError(
            "change points need ruptures; install it with: pip install 'netlab-matrix[history]'"
        ) from None

    class LineCost(BaseCost):  # type: ignore[misc]  # ruptures has no types
        """Sum of squared distances from the best line, from running sums: ruptures' own cost of
        this kind solves a system of equations for each pair of places."""

        model = "line"
        min_size = LEAST_RUNS

        def fit(self, signal: Array) -> LineCost:
            self.signal = signal
            at, value = signal.T
            moments = (at, value, at * at, at * value, value * value)
            self.sums = [[0.0, *np.cumsum(moment).tolist()] for moment in moments]
            return self

        def error(self, start: int, end: int) -> float:
            n = end - start
            at, value, at2, both, value2 = (sums[end] - sums[start] for sums in self.sums)
            covariance = both - at * value / n
            squares = value2 - value**2 / n - covariance**2 / (at2 - at**2 / n)
            return max(float(squares), 0.0)

    # Sums of centred values keep more digits.
    signal = np.stack([x - x.mean(), y - y.mean()], axis=1)
    pelt = Pelt(custom_cost=LineCost(), min_size=LEAST_RUNS, jump=1).fit(signal)
    return [int(end) for end in pelt.predict(penalty)[:-1]]


def _levels(x: Array, y: Array, bounds: Sequence[int]) -> Array:
    """The lines of the segments; with fewer than 10 figures in all, their mean."""
    if len(x) < 2 * LEAST_RUNS:
        return np.full(len(x), y.mean())
    parts = [slice(start, end) for start, end in pairwise(bounds)]
    lines = [np.polyval(np.polyfit(x[part], y[part], 1), x[part]) for part in parts]
    return np.concatenate(lines)
