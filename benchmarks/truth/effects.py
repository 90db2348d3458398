"""Counts how often the intervals of `netlab effects` hold: `make benchmark-effects`.

Trials with known effects are drawn for several designs, with and without interactions, with small
and large noise, and with 3, 5, or 2 to 5 trials a cell. An interval must contain the true share in
at least 93 % of all cases, and the interval of an axis without effect must contain 0 in at least
95 % of all cases. Designs with empty cells are counted as well, but not judged.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from benchmarks.stage import Verdict, finish, table
from netlab.stats.effects import effects_of, squares_of

DESIGNS = ((2, 3), (4, 4), (2, 2, 5), (3, 4, 6))
REPEATS = ((3, 3), (5, 5), (2, 5))
NOISES = (0.1, 1.0)
LEAST_HELD, LEAST_NULL = 0.93, 0.95


@dataclass(frozen=True, slots=True)
class Scenario:
    """A design, and how its trials are drawn. The last axis has no main effect."""

    shape: tuple[int, ...]
    interacts: bool
    noise: float
    """Standard deviation of trials; that of the effects of an axis is 1."""
    repeats: tuple[int, int]
    """Fewest and most trials of a cell."""
    empty: float = 0.0
    """Probability that a cell is empty."""

    @property
    def words(self) -> str:
        """Such as ``2x3 interacting, noise 1, 3 trials``."""
        design = "x".join(map(str, self.shape)) + (" interacting" if self.interacts else "")
        trials = " to ".join(map(str, dict.fromkeys(self.repeats)))
        empty = f", {self.empty:.0%} empty" if self.empty else ""
        return f"{design}, noise {self.noise:g}, {trials} trials{empty}"


@dataclass(frozen=True, slots=True)
class Count:
    """Intervals, and those of axes without effect; ``held``: those that contain the truth."""

    intervals: int
    held: int
    null: int
    null_held: int
    width: float
    """Median width of the intervals."""


def drawn_truth(scenario: Scenario, chance: np.random.Generator) -> Any:
    """True cell means: a main effect of each axis but the last, and perhaps an interaction of the
    first two axes.
    """
    shape = scenario.shape
    truth = np.zeros(shape)
    effects = [(axis,) for axis in range(len(shape) - 1)] + [(0, 1)] * scenario.interacts
    for axes in effects:
        own = chance.normal(size=[n if at in axes else 1 for at, n in enumerate(shape)])
        for axis in axes:
            own -= own.mean(axis=axis, keepdims=True)
        truth += own
    truth[chance.random(shape) < scenario.empty] = np.nan
    return truth


def drawn_trials(
    scenario: Scenario, truth: Any, chance: np.random.Generator
) -> dict[tuple[int, ...], list[float]]:
    """Place of a cell → its trials."""
    fewest, most = scenario.repeats
    return {
        place: [*chance.normal(truth[place], scenario.noise, chance.integers(fewest, most + 1))]
        for place in map(tuple, np.argwhere(~np.isnan(truth)).tolist())
    }


def count_of(scenario: Scenario, number: int, seed: int) -> Count:
    """Count the intervals of ``number`` drawn matrices."""
    chance = np.random.default_rng([seed, *scenario.words.encode()])
    held, null_held, widths = [], [], []
    axes = {str(at): range(size) for at, size in enumerate(scenario.shape)}
    for _ in range(number):
        truth = drawn_truth(scenario, chance)
        true = {term: squares for term, (squares, _degrees), *_ in squares_of(truth)}
        cells = drawn_trials(scenario, truth, chance)
        for term in effects_of(axes, cells, logarithmic=False).terms:
            assert term.low is not None and term.high is not None
            share = true[tuple(map(int, term.axes))] / sum(true.values())
            held.append(term.low - 1e-9 <= share <= term.high + 1e-9)
            widths.append(term.high - term.low)
            if term.axes == (str(len(scenario.shape) - 1),):
                null_held.append(term.low == 0)
    return Count(len(held), sum(held), len(null_held), sum(null_held), float(np.median(widths)))


def scenarios() -> Iterator[Scenario]:
    """Every scenario that is judged, and some with empty cells."""
    for shape, interacts, noise, repeats in product(DESIGNS, (False, True), NOISES, REPEATS):
        yield Scenario(shape, interacts, noise, repeats)
    for shape, noise in product(DESIGNS[1:], NOISES):
        yield Scenario(shape, True, noise, (3, 3), empty=0.1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each scenario, and the verdicts. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=1000, help="matrices of each scenario")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    counts = {own: count_of(own, asked.number, asked.seed) for own in scenarios()}
    rows = [
        [
            scenario.words,
            f"{count.held / count.intervals:.1%}",
            f"{count.null_held / count.null:.1%}",
            f"{count.width:.3f}",
        ]
        for scenario, count in counts.items()
    ]
    print(table(["scenario", "truth held", "0 held", "median width"], rows) + "\n")
    judged = {own: count for own, count in counts.items() if not own.empty}
    held = {own: count.held / count.intervals for own, count in judged.items()}
    null = {own: count.null_held / count.null for own, count in judged.items()}
    verdicts = [
        Verdict(
            min(shares.values()) >= least,
            f"{what} in at least {least:.0%} of all cases, in each scenario",
            f"{min(shares.values()):.1%} to {max(shares.values()):.1%}",
        )
        for what, shares, least in (
            ("an interval contains the true share", held, LEAST_HELD),
            ("the interval of an axis without effect contains 0", null, LEAST_NULL),
        )
    ]
    return finish(verdicts, json.dumps({own.words: share for own, share in held.items()}))


if __name__ == "__main__":
    sys.exit(main())
