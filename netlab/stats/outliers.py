"""Which measured values do not go with their neighbours: along an axis, and among siblings. Pure.

The scale that a distance is told by is never less than 1 % of the median, nor than three steps of
the last printed digit: a series that hardly scatters does not make outliers of its crumbs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from netlab.stats.summary import median, median_absolute_deviation

NEIGHBOURS = 6
LEAST_NEIGHBOURS = 4
AXIS_LIMIT = 6.0
"""Scales that a value on an axis may lie off the median of its neighbours."""
STEP_LIMIT = 5.0
"""The same for two adjacent values that are off the same way: each bears the other out."""

SIBLINGS_LIMIT = 3.5
"""Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993: their modified z score."""
LEAST_SIBLINGS = 5

TO_DEVIATION = 1.4826
"""Of a median absolute deviation, for values that scatter normally."""


@dataclass(frozen=True, slots=True)
class Stray:
    """A value that does not go with its neighbours."""

    index: int
    """Among the values given."""
    value: float
    expected: float
    """The median of its neighbours."""
    scale: float
    """What the distance is told by, in the values' unit."""
    kind: Literal["outlier", "step"]
    """``step``: its neighbour on the axis is off the same way, so that neither is a slip."""


def strays_on_axis(values: Sequence[float | None], print_step: float = 0.0) -> tuple[Stray, ...]:
    """The values off the run of a series; ``values`` in the axis's order, ``None`` where nothing
    was measured.

    Each is compared with the median m of the 6 nearest other measured ones (one-sided at the
    ends; fewer than 4 tell nothing). It is off where |x - m| > 6 s, with s the largest of
    1.4826 MAD, 1 % of m and 3 print steps: Hampel's identifier (J. Am. Stat. Assoc. 69, 1974)
    with a floor. Two adjacent values off the same way by more than 5 s each are a step of the
    series and no outliers. ``print_step`` is one in the last printed digit of an imported figure,
    else 0. Assumes a series that is smooth over seven values. Both limits were set knowing the lab
    report's tables; on series of normal scatter they flag about 1 value in 100.
    """
    measured = [(index, value) for index, value in enumerate(values) if value is not None]
    if len(measured) <= LEAST_NEIGHBOURS:
        return ()
    found: dict[int, Stray] = {}
    for place, (index, value) in enumerate(measured):
        near = _nearest([each for _, each in measured], place)
        expected, scale = _middle_and_scale(near, print_step)
        if abs(value - expected) > STEP_LIMIT * scale:
            found[place] = Stray(index, value, expected, scale, "outlier")
    return tuple(
        replace(each, kind="step") if stepping else each
        for place, each in found.items()
        if (stepping := _is_step(found, place))
        or abs(each.value - each.expected) > AXIS_LIMIT * each.scale
    )


def strays_among_siblings(values: Sequence[float], print_step: float = 0.0) -> tuple[Stray, ...]:
    """The trials of one cell that do not go with the others: a modified z score above 3.5, with
    the same floor. Fewer than 5 trials tell nothing.
    """
    if len(values) < LEAST_SIBLINGS:
        return ()
    expected, scale = _middle_and_scale(values, print_step)
    return tuple(
        Stray(index, value, expected, scale, "outlier")
        for index, value in enumerate(values)
        if abs(value - expected) > SIBLINGS_LIMIT * scale
    )


def _nearest(values: Sequence[float], place: int) -> list[float]:
    others = sorted((abs(at - place), at) for at in range(len(values)) if at != place)
    return [values[at] for _, at in others[:NEIGHBOURS]]


def _middle_and_scale(values: Sequence[float], print_step: float) -> tuple[float, float]:
    middle = median(values)
    deviation = TO_DEVIATION * median_absolute_deviation(values)
    return middle, max(deviation, 0.01 * abs(middle), 3 * print_step)


def _is_step(found: dict[int, Stray], place: int) -> bool:
    """Whether a neighbour is off the same way."""
    above = found[place].value > found[place].expected
    beside = (found.get(place - 1), found.get(place + 1))
    return any(each and (each.value > each.expected) == above for each in beside)
