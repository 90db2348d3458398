"""Checks with another tool than netlab that a planted cause has the intended effect.

Each cause and strength is checked once, at the middle of the strength's range, and the result is
kept in a file. The number that a cause needs for a certain cost may be unknown. Then this module
searches for the number, with the same tool.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.truths.causes import Cause, Strength
from benchmarks.truths.plants import Plant
from benchmarks.truths.site import Site

FILE = "effects.json"
LOOKS = 7
"""Steps of a search: each halves the remaining range."""
TRIES = 3
"""Maximum number of checks of one strength. A check is repeated if its result is unexpected,
because other work of the machine may be the reason."""
NEAR = 0.2
"""A search ends if the cost is within this share of the requested one."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What another tool saw of a cause at a strength."""

    tool: str
    dial: float
    """The number with which the cause was planted."""
    clean: float
    planted: float
    """``clean`` and ``planted``: the tool's readings without and with the planted cause."""
    cost: float
    """The share of the clean reading that was lost. If the cause sets a value to a number: the
    reading."""
    holds: bool
    """Whether the cost is as intended for the strength."""


class Effects:
    """The results of the checks, in the folder ``effects`` of a series of runs: one file per cause
    and strength.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "effects"

    def of(self, site: Site, cause: Cause, strength: Strength) -> Seen | None:
        """The check of a cause and strength, which is made once and then read from its file.

        ``None`` if the cause is only a setting of the matrix, which no other tool reads.
        """
        if cause.effect is None:
            return None
        path = self._folder / f"{cause.name}-{strength}.json"
        if path.exists():
            return Seen(**json.loads(path.read_text()))
        for _ in range(TRIES):
            observation = _seen(site, cause, strength)
            if observation.holds:
                break
        path.parent.mkdir(parents=True, exist_ok=True)
        half = path.with_suffix(".new")
        half.write_text(json.dumps(asdict(observation), indent=1) + "\n")
        half.rename(path)
        return observation

    def all(self) -> dict[str, Seen]:
        """The checks made so far, by ``CAUSE-STRENGTH``."""
        paths = sorted(self._folder.glob("*.json"))
        return {path.stem: Seen(**json.loads(path.read_text())) for path in paths}


def measured(site: Site, plant: Plant, dial: float, measure: Callable[[Site], float]) -> float:
    """What a tool reads while something is planted."""
    with plant(site, dial):
        return measure(site)


def _seen(site: Site, cause: Cause, strength: Strength) -> Seen:
    assert cause.effect is not None
    effect, plant = cause.effect, cause.steady or cause.plant
    low, high = cause.dial[strength]
    target = (low + high) / 2
    clean = effect.measure(site)
    if cause.search is None:
        dial, reading = target, measured(site, plant, target, effect.measure)
    else:
        dial, reading = _searched(site, cause, plant, target, clean)
    return Seen(
        tool=effect.tool,
        dial=dial,
        clean=clean,
        planted=reading,
        cost=effect.cost(clean, reading),
        holds=effect.holds(strength, target, clean, reading),
    )


def _searched(
    site: Site, cause: Cause, plant: Plant, target: float, clean: float
) -> tuple[float, float]:
    """The number whose cost is nearest to ``target``, and the tool's reading with it.

    The search halves the range of the number's logarithm up to ``LOOKS`` times.
    """
    assert cause.search is not None and cause.effect is not None
    low, high = (math.log(bound) for bound in cause.search)
    attempts: list[tuple[float, float, float]] = []
    for _ in range(LOOKS):
        dial = math.exp((low + high) / 2)
        reading = measured(site, plant, dial, cause.effect.measure)
        cost = 1 - reading / clean
        attempts.append((abs(cost - target), dial, reading))
        if abs(cost - target) <= NEAR * target:
            break
        low, high = (math.log(dial), high) if cost > target else (low, math.log(dial))
    return min(attempts)[1:]
