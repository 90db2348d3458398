"""Draws the runs of the benchmark and their random numbers from a seed. No I/O.

A run's numbers depend only on the seed and on the name of the run. So a run has the same numbers if
fewer runs, or the runs of one cause alone, are measured.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.truths.causes import STRENGTHS, Cause, Experiment, Strength

MIXED_STRENGTHS: tuple[Strength, ...] = ("plain", "gross")


@dataclass(frozen=True, slots=True)
class Part:
    """A cause as it is planted in one run."""

    cause: str
    strength: Strength
    dial: float


@dataclass(frozen=True, slots=True)
class Wanted:
    """One run."""

    name: str
    like: str
    """The cause whose experiment (lab, tests, durations) this run uses."""
    parts: tuple[Part, ...]
    """The planted causes. A clean run has none, a mixture has two."""
    tests: str
    """One of the lists of tests of the experiment, drawn at random."""
    seed: int
    """The seed of the order of the run's trials."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def wanted_from_json(plain: Mapping[str, Any]) -> Wanted:
    """The inverse of ``Wanted.as_json``."""
    return Wanted(**{**plain, "parts": tuple(Part(**part) for part in plain["parts"])})


def drawn(
    causes: Mapping[str, Cause],
    seed: str,
    *,
    runs: int = 10,
    clean: int = 100,
    mixtures: int = 60,
    strengths: Collection[str] = STRENGTHS,
) -> tuple[Wanted, ...]:
    """All runs, in an order that the seed draws."""
    planned_runs = [*_planted(causes, seed, runs, strengths)]
    planned_runs += [_clean(causes, seed, number) for number in range(clean)]
    pairs = mixable(causes)
    if pairs:
        planned_runs += [_mixture(causes, pairs, seed, number) for number in range(mixtures)]
    _chance(seed, "order").shuffle(planned_runs)
    return tuple(planned_runs)


def experiment_of(causes: Mapping[str, Cause], planned_run: Wanted) -> Experiment:
    """The experiment of a run, with the false statements of its planted causes."""
    experiment = causes[planned_run.like].experiment
    for part in planned_run.parts:
        experiment = causes[part.cause].stated(experiment, part.dial)
    return experiment


def mixable(causes: Mapping[str, Cause]) -> list[tuple[str, str]]:
    """Every pair of causes that may be planted at once."""
    names = [name for name, cause in causes.items() if cause.mixes]
    return [
        (name, partner)
        for number, name in enumerate(names)
        for partner in names[number + 1 :]
        if causes[name].mixes == causes[partner].mixes
    ]


def _planted(
    causes: Mapping[str, Cause], seed: str, runs: int, strengths: Collection[str]
) -> Iterator[Wanted]:
    for cause in causes.values():
        for strength in cause.strengths:
            for number in range(runs if strength in strengths else 0):
                name = f"{cause.name}-{strength}-{number:02}"
                chance = _chance(seed, name)
                yield Wanted(
                    name=name,
                    like=cause.name,
                    parts=(_part(cause, strength, chance),),
                    tests=chance.choice(cause.experiment.tests),
                    seed=chance.randrange(1, 1 << 16),
                )


def _clean(causes: Mapping[str, Cause], seed: str, number: int) -> Wanted:
    """A run with the experiment of one of the causes, and nothing planted."""
    name = f"clean-{number:03}"
    chance = _chance(seed, name)
    # A test with the number of the cause in it cannot run without the cause.
    able = [cause for cause in causes.values() if "RATE" not in cause.experiment.tests[0]]
    like = chance.choice(able)
    tests = chance.choice(like.experiment.tests)
    return Wanted(name, like.name, (), tests, chance.randrange(1, 1 << 16))


def _mixture(
    causes: Mapping[str, Cause], pairs: Sequence[tuple[str, str]], seed: str, number: int
) -> Wanted:
    name = f"mixture-{number:03}"
    chance = _chance(seed, name)
    pair = [causes[cause_name] for cause_name in chance.choice(pairs)]
    parts = tuple(_part(cause, chance.choice(MIXED_STRENGTHS), chance) for cause in pair)
    return Wanted(
        name, pair[0].name, parts, pair[0].experiment.tests[0], chance.randrange(1, 1 << 16)
    )


def _part(cause: Cause, strength: Strength, chance: random.Random) -> Part:
    return Part(cause.name, strength, round(chance.uniform(*cause.dial[strength]), 6))


def _chance(seed: str, name: str) -> random.Random:
    return random.Random(f"{seed}/{name}")  # noqa: S311 - what can be repeated
