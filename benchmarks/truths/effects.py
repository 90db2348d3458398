"""That a plant does what it is said to do, seen by another tool than netlab; kept in a file.

Each cause and strength once, at the middle of its range. Where the number that costs what is asked
for is not known beforehand it is searched for, with the same tool.
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
"""Attempts at a step with an unexpected result: other work of the machine may be the reason."""
NEAR = 0.2
"""A search ends if the cost is within this share of the requested one."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What another tool saw of a cause at a strength."""

    tool: str
    dial: float
    """What the plant was given."""
    clean: float
    planted: float
    """Readings without and with it."""
    cost: float
    """The share lost; or the reading, of what is set to a number."""
    holds: bool
    """Whether that is what the strength asks for."""


class Effects:
    """The file of a series of runs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "effects"

    def of(self, site: Site, cause: Cause, strength: Strength) -> Seen | None:
        """Measured once; ``None``: only netlab reads the plant."""
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
        """Those measured so far, by cause and strength."""
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
    """The setting with the requested cost, by interpolation between the logarithms of two."""
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
