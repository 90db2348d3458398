"""Draws the runs from a seed: stratified, so that each word is planted often enough. No I/O."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from benchmarks.space.matrices import Stand, healthy_stand, mixed_stand, stand_of
from benchmarks.space.rows import ROWS, Row
from benchmarks.space.words import DEFAULTS, SHARES, Words

LEAST_A_WORD = 20
"""Runs of each word, among 400."""
TRIED = 60
"""Causes of which the one with the rarest words is taken."""
LARGER, SMALLER = 0.4, 0.1
"""How much the two causes of a mixture take."""
Kind = Literal["cause", "healthy", "mixture"]

ADDING = ("path drops", "path corruption")
"""What a lost packet costs adds to the cost of any of ``LIMITING``."""
LIMITING = (
    *("path rate", "cable rate", "sender cpu", "receiver cpu", "sender pause", "receiver pause"),
    "sender-queue rate",
)


@dataclass(frozen=True, slots=True)
class Planned:
    """One run: what is planted, and the matrix in which it is looked for."""

    name: str
    kind: Kind
    parts: tuple[Words, ...]
    """The planted causes: none in a healthy run; two in a mixture, the larger first."""
    stand: Stand
    seed: int
    """Of the order of the trials, and of the chances in the forwarder."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def planned_from_json(plain: Mapping[str, Any]) -> Planned:
    """The inverse of ``Planned.as_json``."""
    stand = Stand(**{**plain["stand"], "tests": tuple(plain["stand"]["tests"])})
    parts = tuple(Words(**part) for part in plain["parts"])
    return Planned(plain["name"], plain["kind"], parts, stand, plain["seed"])


def drawn(
    seed: str,
    *,
    shares: Mapping[float, int] = SHARES,
    healthy: int = 100,
    mixtures: int = 100,
) -> tuple[Planned, ...]:
    """All runs, in an order that the seed draws."""
    runs = [*_causes(seed, shares)]
    runs += [_healthy(seed, number) for number in range(healthy)]
    runs += [_mixture(seed, number) for number in range(mixtures)]
    chance_of(seed, "order").shuffle(runs)
    return tuple(runs)


def chosen(runs: tuple[Planned, ...], only: Mapping[str, str], limit: int) -> tuple[Planned, ...]:
    """The runs all of whose causes have these words, such as ``where`` → ``path``; at most
    ``limit`` of them, if it is not 0.
    """
    those = [
        run
        for run in runs
        if not only
        or (
            run.parts
            and all(
                str(getattr(part, kind)) == word
                for part in run.parts
                for kind, word in only.items()
            )
        )
    ]
    return tuple(those[: limit or None])


def every_cause() -> list[tuple[Row, str, str]]:
    """Every row with each of its packets and times."""
    return [
        (row, which, when)
        for row in ROWS.values()
        for which in row.which
        for when in row.when
        if _fits(row, which, when)
    ]


def _fits(row: Row, which: str, when: str) -> bool:
    """Whether a short run can show both (``NOT_TOGETHER``)."""
    if row.what == "delay" and when == "always" and which in ("all", "acknowledgements"):
        return False
    return when != "begin" or which not in ("port", "fragments")


def _causes(seed: str, shares: Mapping[float, int]) -> Iterator[Planned]:
    chance, counts = chance_of(seed, "words"), Counter[str]()
    slots = [share for share, number in shares.items() for _ in range(number)]
    chance.shuffle(slots)
    every = every_cause()
    for number, share in enumerate(slots):
        tried = [
            Words(row.where, row.what, which, when, share)
            for row, which, when in chance.choices(every, k=TRIED)
        ]
        words = max(tried, key=lambda words: _needed(words, counts))
        counts.update(f"{kind} {word}" for kind, word in words.each())
        name = f"cause-{number:03}"
        own = chance_of(seed, name)
        stand = stand_of(ROWS[f"{words.where} {words.what}"], words, own)
        yield Planned(name, "cause", (words,), stand, own.randrange(1, 1 << 16))


def _needed(words: Words, counts: Counter[str]) -> float:
    """How much the run is needed: more for each word that is rare so far."""
    return sum(
        max(0, LEAST_A_WORD + 5 - counts[f"{kind} {word}"]) ** 2
        for kind, word in words.each()
        if word not in DEFAULTS
    )


def _healthy(seed: str, number: int) -> Planned:
    name = f"healthy-{number:03}"
    own = chance_of(seed, name)
    row, which, when = own.choice(every_cause())
    words = Words(row.where, row.what, which, when, own.choice([*SHARES]))
    return Planned(name, "healthy", (), healthy_stand(row, words, own), own.randrange(1, 1 << 16))


def _mixture(seed: str, number: int) -> Planned:
    name = f"mixture-{number:03}"
    own = chance_of(seed, name)
    pair = [own.choice(ADDING), own.choice(LIMITING)]
    own.shuffle(pair)
    if pair[1].startswith("receiver"):  # what was lost before leaves it time
        pair.reverse()
    parts = tuple(
        Words(ROWS[cause].where, ROWS[cause].what, share=share)
        for cause, share in zip(pair, (LARGER, SMALLER), strict=True)
    )
    return Planned(name, "mixture", parts, mixed_stand(own), own.randrange(1, 1 << 16))


def chance_of(seed: str, name: str) -> random.Random:
    """The chances of one run, or of one step, which depend on nothing else."""
    return random.Random(f"{seed}/{name}")  # noqa: S311 - what can be repeated
