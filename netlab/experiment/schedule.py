"""Sorts trials into rounds: their order, and which of them run at the same time.

The trials with the same number are a **block**: every cell once, except cells whose trials have
ended. Blocks are measured one after the other, so that a slow change in the lab affects all cells
alike.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Match, earliest_fit, is_by_name, rounds_of

Order = Literal["as-written", "shuffled"]


@dataclass(frozen=True, slots=True)
class Trial:
    """One execution of a cell."""

    cell: Cell
    number: int
    """From 1; also the number of its block."""


@dataclass(frozen=True, slots=True)
class Round:
    """Trials that run at the same time; no two of them share a host."""

    trials: tuple[Trial, ...]


def rounds(
    trials: Iterable[Trial],
    *,
    order: Order,
    seed: int,
    hosts_of: Callable[[Cell], frozenset[str]],
    parallel: bool,
    match_of: Callable[[str], Match] | None = None,
    common: bool = True,
    switching: Literal["seldom", "interleaved"] = "interleaved",
) -> tuple[Round, ...]:
    """Each trial exactly once, block by block; the same arguments give the same rounds.

    ``shuffled`` orders each block by a hash of seed, block and cell. So the rest of a block is
    measured in the same order after an interruption.

    With ``switching`` seldom, a block measures one variant (a state of the hosts' own settings)
    after the other; each block begins with the variant with which the block before it ended.

    With ``parallel``, a round takes the next trial in that order, and every later trial of the
    block whose hosts are still free. ``hosts_of`` returns the machines that a cell keeps busy.

    Pairings by name form a tournament instead (round_robin.py). ``match_of`` returns what a pairing
    needs. A round of the tournament becomes one round here for each different setup, so that trials
    at the same time have one duration. If ``common`` is false (trials that run at the same time
    need not be measured over the same time), pairings by name are scheduled like pairings by
    letters.
    """
    result: list[Round] = []

    def needs(trial: Trial) -> frozenset[str]:
        return hosts_of(trial.cell)

    for block in _blocks(trials, switching):
        sequence = block
        if order == "shuffled":
            sequence = sorted(block, key=lambda trial: _rank(seed, trial))
        if parallel and match_of is not None:
            by_name = [trial for trial in block if is_by_name(trial.cell.pairing)]
            by_letter = [trial for trial in sequence if not is_by_name(trial.cell.pairing)]
            result += map(Round, earliest_fit(by_letter, needs))
            if not common:
                result += _separately(sequence, match_of)
                by_name = [trial for trial in by_name if trial.cell.setup.is_together]
            tournament = _tournament(by_name, match_of)
            if order == "shuffled":
                tournament.sort(key=lambda round_: min(_rank(seed, t) for t in round_.trials))
            result += tournament
        elif parallel:
            result += map(Round, earliest_fit(sequence, needs))
        else:
            result += [Round((trial,)) for trial in sequence]
    return tuple(result)


def with_partners(trials: Sequence[Trial], cells: Iterable[Cell]) -> tuple[Trial, ...]:
    """``trials``, and the trials of ``cells`` that must run together with some of them.

    Pairs that search together must be measured together; otherwise the result is the rate of fewer
    pairs.
    """
    due = {(trial.cell.setup, trial.number) for trial in trials if trial.cell.setup.is_together}
    partners = (
        Trial(cell, number) for cell in cells for setup, number in due if cell.setup == setup
    )
    return tuple(dict.fromkeys([*trials, *partners]))


def _blocks(
    trials: Iterable[Trial], switching: Literal["seldom", "interleaved"]
) -> Iterator[list[Trial]]:
    """The trials of each block; with ``switching`` seldom, of each variant within a block."""
    blocks: dict[int, list[Trial]] = {}
    for trial in trials:
        blocks.setdefault(trial.number, []).append(trial)
    for number in sorted(blocks):
        if switching == "interleaved":
            yield blocks[number]
            continue
        parts: dict[str | None, list[Trial]] = {}
        for trial in blocks[number]:
            parts.setdefault(trial.cell.setup.variant, []).append(trial)
        levels = sorted(parts, key=lambda level: (level is not None, level or ""))
        yield from (parts[level] for level in (levels if number % 2 else reversed(levels)))


def _rank(seed: int, trial: Trial) -> bytes:
    return hashlib.sha256(f"{seed} {trial.number} {trial.cell.key}".encode()).digest()


def _separately(block: Sequence[Trial], match_of: Callable[[str], Match]) -> Iterator[Round]:
    """The trials between hosts by name, except those that search together: each in the earliest
    round in which its hosts are free.
    """
    trials = [
        trial
        for trial in block
        if is_by_name(trial.cell.pairing) and not trial.cell.setup.is_together
    ]
    return map(Round, earliest_fit(trials, lambda trial: match_of(trial.cell.pairing).needs))


def _tournament(block: Sequence[Trial], match_of: Callable[[str], Match]) -> list[Round]:
    """The rounds of a tournament between the hosts of a block.

    A round of the tournament becomes one round for each different setup in it.
    """
    trials: dict[str, list[Trial]] = {}
    for trial in block:
        trials.setdefault(trial.cell.pairing, []).append(trial)
    result = []
    for matching in rounds_of([match_of(pairing) for pairing in trials]):
        together: dict[object, list[Trial]] = {}
        for meeting in matching:
            for trial in trials[meeting.pairing]:
                together.setdefault(trial.cell.setup, []).append(trial)
        result += [Round(tuple(group)) for group in together.values()]
    return result
