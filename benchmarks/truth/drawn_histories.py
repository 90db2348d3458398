"""Draws histories with known changes, and counts which of them are found. No I/O.

A history is one figure for each run. It has noise of several shapes, a slow drift, sudden steps,
single outliers, and gaps (runs without a figure).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from netlab.stats.breaks import course_of

NOISES = ("normal", "Student, 3 degrees", "Laplace", "correlated 0.2", "correlated 0.4", "outliers")
"""Shapes of the noise. ``correlated``: each run depends on the run before, with this coefficient.
``outliers``: normal, and 3 % of the runs are slower by 15 deviations on average."""
DRIFTS = ("none", "line", "bend", "up and down", "wave")
NEAR_RUNS = 5
"""A step is found if a change point is at most this many runs away from it."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A history, and the indices of its steps."""

    figures: tuple[float | None, ...]
    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """Numbers of steps that were found and missed, of false change points, and of histories with
    any false change point.
    """

    found: int = 0
    missed: int = 0
    false: int = 0
    histories_with_false: int = 0
    histories: int = 0

    def __add__(self, other: Score) -> Score:
        return Score(
            self.found + other.found,
            self.missed + other.missed,
            self.false + other.false,
            self.histories_with_false + other.histories_with_false,
            self.histories + other.histories,
        )


def noise_of(chance: np.random.Generator, shape: str, runs: int) -> Any:
    """Noise with a standard deviation of 1 (of 1 without the outliers)."""
    if shape.startswith("correlated"):
        share = float(shape.split()[1])
        own = chance.standard_normal(runs) * math.sqrt(1 - share**2)
        values = [chance.standard_normal()]
        for value in own[1:]:
            values.append(share * values[-1] + value)
        return np.array(values)
    if shape == "Laplace":
        return chance.laplace(size=runs) / math.sqrt(2)
    if shape.startswith("Student"):
        return chance.standard_t(3, size=runs) / math.sqrt(3)
    normal = chance.standard_normal(runs)
    if shape == "outliers":
        return normal - (chance.random(runs) < 0.03) * chance.exponential(15, size=runs)
    return normal


def drift_of(chance: np.random.Generator, shape: str, runs: int) -> Any:
    """A slow change of the logarithm: 1 to 10 % in all, up or down."""
    at = np.arange(runs) / runs
    size = chance.choice([-1, 1]) * chance.uniform(0.01, 0.1)
    bend = chance.uniform(0.2, 0.8)
    match shape:
        case "line":
            return size * at
        case "bend":
            return size * np.maximum(at - bend, 0) / (1 - bend)
        case "up and down":
            return size * np.minimum(at / bend, (1 - at) / (1 - bend))
        case "wave":
            turns = chance.uniform(0.5, 1.5)
            return size / 4 * np.sin(2 * math.pi * (turns * at + chance.random()))
    return np.zeros(runs)


def draw(
    chance: np.random.Generator,
    *,
    runs: int = 365,
    noise: str = "normal",
    deviation: float = 0.004,
    drift: str = "none",
    steps: Sequence[tuple[int, float]] = (),
    gaps: float = 0.0,
) -> Drawn:
    """A history. ``steps``: (index of the first run after the step, change as a share);
    ``deviation`` of the noise and ``gaps`` as shares.
    """
    logs = deviation * noise_of(chance, noise, runs) + drift_of(chance, drift, runs)
    for at, change in steps:
        logs[at:] += math.log1p(change)
    figures = (94.0 * np.exp(logs)).tolist()
    absent = (chance.random(runs) < gaps).tolist()
    return Drawn(
        tuple(None if gap else y for y, gap in zip(figures, absent, strict=True)),
        tuple(at for at, _ in steps),
    )


def drawn_steps(
    chance: np.random.Generator, runs: int, number: int, least: float = 0.01, most: float = 0.05
) -> list[tuple[int, float]]:
    """Steps of ``least`` to ``most``, up or down, about evenly spaced."""
    apart = runs / (number + 1)
    return [
        (
            round(apart * (k + 1) + chance.uniform(-0.2, 0.2) * apart),
            float(chance.choice([-1, 1]) * chance.uniform(least, most)),
        )
        for k in range(number)
    ]


def score(histories: Iterable[Drawn]) -> Score:
    """Count the steps that are found in histories, and the change points that are no steps."""
    total = Score()
    for drawn in histories:
        missed, false = [*drawn.steps], 0
        for point in course_of(drawn.figures).change_points:
            near = [at for at in missed if abs(at - point.index) <= NEAR_RUNS]
            if near:
                missed.remove(near[0])
            else:
                false += 1
        found = len(drawn.steps) - len(missed)
        total += Score(found, len(missed), false, int(false > 0), 1)
    return total
