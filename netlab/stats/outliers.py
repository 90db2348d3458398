"""Outliers: along an axis, and among the trials of one cell.

An axis is a setting with several values, such as the message size; a cell is a combination of
settings. A deviation is a multiple of a scale. The scale is at least 1 % of the median, and at
least three units of the last printed digit of imported figures. So tiny deviations in a series
with little scatter are not outliers. No I/O.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from netlab.stats.summary import median, median_absolute_deviation

NEIGHBOURS = 6
LEAST_NEIGHBOURS = 4
AXIS_LIMIT = 6.0
"""Maximum distance, in scales, of a value on an axis from the median of its neighbours."""
STEP_LIMIT = 5.0
"""The same maximum for two adjacent values that deviate in the same direction."""

SIBLINGS_LIMIT = 3.5
"""Maximum modified z score (Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993)."""
LEAST_SIBLINGS = 5

TO_DEVIATION = 1.4826
"""Factor from a median absolute deviation to a standard deviation, for normal values."""


@dataclass(frozen=True, slots=True)
class Outlier:
    """A value that is an outlier, or part of a step."""

    index: int
    """Index in the values."""
    value: float
    expected: float
    """The median of its neighbours on the axis, or of all trials of its cell."""
    scale: float
    """Scale of the deviation, in the values' unit."""
    kind: Literal["outlier", "step"]
    """``step``: its neighbour on the axis deviates in the same direction, so neither of the two
    values is an error."""


def outliers_on_axis(
    values: Sequence[float | None], print_step: float = 0.0
) -> tuple[Outlier, ...]:
    """The outliers and steps of a series.

    ``values`` are in the axis's order; ``None``: not measured. ``print_step`` is one unit in the
    last printed digit of imported figures, otherwise 0. Each value x is compared with the median m
    of the 6 nearest other measured values (one-sided at the ends; fewer than 4 are not enough). The
    value is an outlier if |x - m| > 6 s. The scale s is the largest of 1.4826 times the median
    absolute deviation of these values, 1 % of m, and 3 ``print_step``: Hampel's identifier (J. Am.
    Stat. Assoc. 69, 1974) with a minimum scale. Two adjacent values that deviate in the same
    direction by more than 5 s each are a step of the series, not outliers. Assumes a series that is
    smooth over seven values. Both limits were chosen with knowledge of the tables of one report
    from 2004; in series with normal scatter, about 1 value in 100 exceeds them.
    """
    indexed_values = [(index, value) for index, value in enumerate(values) if value is not None]
    if len(indexed_values) <= LEAST_NEIGHBOURS:
        return ()
    strays: dict[int, Outlier] = {}
    for place, (index, value) in enumerate(indexed_values):
        near = _nearest([figure for _, figure in indexed_values], place)
        middle, scale = _middle_and_scale(near, print_step)
        if abs(value - middle) > STEP_LIMIT * scale:
            strays[place] = Outlier(index, value, middle, scale, "outlier")
    return tuple(
        replace(stray, kind="step") if stepping else stray
        for place, stray in strays.items()
        if (stepping := _is_step(strays, place))
        or abs(stray.value - stray.expected) > AXIS_LIMIT * stray.scale
    )


def outliers_among_siblings(
    values: Sequence[float], print_step: float = 0.0
) -> tuple[Outlier, ...]:
    """The outliers among the trials of one cell, whose modified z score is above 3.5; the scale has
    the same minimum as in ``outliers_on_axis``.

    Empty for fewer than 5 trials.
    """
    if len(values) < LEAST_SIBLINGS:
        return ()
    middle, scale = _middle_and_scale(values, print_step)
    return tuple(
        Outlier(index, value, middle, scale, "outlier")
        for index, value in enumerate(values)
        if abs(value - middle) > SIBLINGS_LIMIT * scale
    )


def _nearest(values: Sequence[float], place: int) -> list[float]:
    distances = sorted((abs(at - place), at) for at in range(len(values)) if at != place)
    return [values[at] for _, at in distances[:NEIGHBOURS]]


def _middle_and_scale(values: Sequence[float], print_step: float) -> tuple[float, float]:
    middle = median(values)
    deviation = TO_DEVIATION * median_absolute_deviation(values)
    return middle, max(deviation, 0.01 * abs(middle), 3 * print_step)


def _is_step(strays: dict[int, Outlier], place: int) -> bool:
    """Whether a neighbour deviates in the same direction."""
    above = strays[place].value > strays[place].expected
    neighbours = (strays.get(place - 1), strays.get(place + 1))
    return any(stray and (stray.value > stray.expected) == above for stray in neighbours)
