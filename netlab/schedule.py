"""Trials → Rounds: in which order, and which trials may run at the same time. Pure.

The trials of one number are a **block**: every cell once, but for those that have had enough
(repeats.py). Blocks follow each other, whatever the order within them, so that what drifts in the
lab touches every cell alike.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from netlab.cells import Cell

Order = Literal["as-written", "shuffled"]


@dataclass(frozen=True, slots=True)
class Trial:
    """One execution of a cell."""

    cell: Cell
    number: int
    """From 1; the number of its block."""


@dataclass(frozen=True, slots=True)
class Round:
    """Trials that run at the same time, on hosts that no two of them share."""

    trials: tuple[Trial, ...]


def rounds(
    trials: Iterable[Trial],
    *,
    order: Order,
    seed: int,
    hosts_of: Callable[[Cell], frozenset[str]],
    parallel: bool,
) -> tuple[Round, ...]:
    """Each trial exactly once, block by block; the same arguments give the same rounds.

    ``shuffled`` orders each block by a hash of seed, block and cell: what is left of a block
    after an interruption is measured in the same order as it would have been. With ``parallel``
    each round takes, in that order, the next trial and every later one of the block whose hosts
    are still free; ``hosts_of`` names the machines that a cell keeps busy.
    """
    made: list[Round] = []
    for block in _blocks(trials):
        ordered = block
        if order == "shuffled":
            ordered = sorted(block, key=lambda trial: _rank(seed, trial))
        if parallel:
            made += _packed(ordered, hosts_of)
        else:
            made += [Round((trial,)) for trial in ordered]
    return tuple(made)


def _blocks(trials: Iterable[Trial]) -> list[list[Trial]]:
    blocks: dict[int, list[Trial]] = {}
    for trial in trials:
        blocks.setdefault(trial.number, []).append(trial)
    return [blocks[number] for number in sorted(blocks)]


def _rank(seed: int, trial: Trial) -> bytes:
    return hashlib.sha256(f"{seed} {trial.number} {trial.cell.key}".encode()).digest()


def _packed(
    ordered: Sequence[Trial], hosts_of: Callable[[Cell], frozenset[str]]
) -> Iterable[Round]:
    """Greedy, in order. Trials of the same hosts wait in one queue: only its head can be next."""
    queues: dict[frozenset[str], deque[tuple[int, Trial]]] = {}
    for position, trial in enumerate(ordered):
        queues.setdefault(hosts_of(trial.cell), deque()).append((position, trial))
    while queues:
        busy: set[str] = set()
        taken: list[Trial] = []
        for hosts in sorted(queues, key=lambda hosts: queues[hosts][0][0]):
            if busy.isdisjoint(hosts):
                busy |= hosts
                taken.append(queues[hosts].popleft()[1])
        queues = {hosts: queue for hosts, queue in queues.items() if queue}
        yield Round(tuple(taken))
