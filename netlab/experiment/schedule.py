"""Trials → Rounds: in which order, and which trials may run at the same time. Pure.

The trials of one number are a **block**: every cell once, but for those that have had enough
(stopping.py). Blocks follow each other, whatever the order within them, so that what drifts in the
lab touches every cell alike.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from netlab.experiment.cells import Cell
from netlab.experiment.kinds import TestSettings, ThroughputSearch
from netlab.experiment.pairings import is_by_name
from netlab.experiment.round_robin import Match, earliest_fit, rounds_of

Order = Literal["as-written", "shuffled"]


def is_together(setup: TestSettings) -> bool:
    """Whether pairs of hosts that are measured at the same time search as one."""
    return isinstance(setup, ThroughputSearch) and bool(setup.together)


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
    meeting_of: Callable[[str], Match] | None = None,
    common: bool = True,
) -> tuple[Round, ...]:
    """Each trial exactly once, block by block; the same arguments give the same rounds.

    ``shuffled`` orders each block by a hash of seed, block and cell: what is left of a block
    after an interruption is measured in the same order as it would have been. With ``parallel``
    each round takes, in that order, the next trial and every later one of the block whose hosts
    are still free; ``hosts_of`` names the machines that a cell keeps busy. Pairings by name, of
    which ``meeting_of`` tells what they need, are drawn as a tournament instead: each of its rounds
    is as many rounds here as there are different setups, so that what runs at the same time has
    one length. Where it needs nothing in ``common`` they are taken as those by letters are.
    """
    made: list[Round] = []

    def needs(trial: Trial) -> frozenset[str]:
        return hosts_of(trial.cell)

    for block in _blocks(trials):
        ordered = block
        if order == "shuffled":
            ordered = sorted(block, key=lambda trial: _rank(seed, trial))
        if parallel and meeting_of is not None:
            by_name = [trial for trial in block if is_by_name(trial.cell.pairing)]
            by_letter = [trial for trial in ordered if not is_by_name(trial.cell.pairing)]
            made += map(Round, earliest_fit(by_letter, needs))
            if not common:
                made += _apart(ordered, meeting_of)
                by_name = [trial for trial in by_name if is_together(trial.cell.setup)]
            drawn = _drawn(by_name, meeting_of)
            if order == "shuffled":
                drawn.sort(key=lambda each: min(_rank(seed, trial) for trial in each.trials))
            made += drawn
        elif parallel:
            made += map(Round, earliest_fit(ordered, needs))
        else:
            made += [Round((trial,)) for trial in ordered]
    return tuple(made)


def with_partners(trials: Sequence[Trial], cells: Iterable[Cell]) -> tuple[Trial, ...]:
    """``trials``, and those of ``cells`` without which some of them would not be what they are.

    Pairs that search together are measured together, or the rate found is of fewer of them.
    """
    due = {(trial.cell.setup, trial.number) for trial in trials if is_together(trial.cell.setup)}
    partners = (
        Trial(cell, number) for cell in cells for setup, number in due if cell.setup == setup
    )
    return tuple(dict.fromkeys([*trials, *partners]))


def _blocks(trials: Iterable[Trial]) -> list[list[Trial]]:
    blocks: dict[int, list[Trial]] = {}
    for trial in trials:
        blocks.setdefault(trial.number, []).append(trial)
    return [blocks[number] for number in sorted(blocks)]


def _rank(seed: int, trial: Trial) -> bytes:
    return hashlib.sha256(f"{seed} {trial.number} {trial.cell.key}".encode()).digest()


def _apart(block: Sequence[Trial], meeting_of: Callable[[str], Match]) -> Iterator[Round]:
    """The trials between hosts by name, but for those that search together: each in the earliest
    round in which its hosts are free.
    """
    alone = [
        trial
        for trial in block
        if is_by_name(trial.cell.pairing) and not is_together(trial.cell.setup)
    ]
    return map(Round, earliest_fit(alone, lambda each: meeting_of(each.cell.pairing).needs))


def _drawn(block: Sequence[Trial], meeting_of: Callable[[str], Match]) -> list[Round]:
    """The rounds of a tournament between the hosts of a block, setup after setup in each."""
    trials: dict[str, list[Trial]] = {}
    for trial in block:
        trials.setdefault(trial.cell.pairing, []).append(trial)
    made = []
    for matching in rounds_of([meeting_of(pairing) for pairing in trials]):
        together: dict[object, list[Trial]] = {}
        for meeting in matching:
            for trial in trials[meeting.pairing]:
                together.setdefault((trial.cell.test, trial.cell.setup), []).append(trial)
        made += [Round(tuple(each)) for each in together.values()]
    return made
