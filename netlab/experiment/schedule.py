"""Sorts trials into rounds, and estimates how long these take.

The trials with the same number are a **block**: every cell once, except cells whose trials have
ended. Blocks are measured one after the other, so that a slow change in the lab affects all cells
alike.

The least time of a search assumes that the first try gives the result. Its most time assumes one
fixed limit, that every step halves the range, and that each size or rate beyond the limit is tried
until it counts as failed. A path that loses a few frames at every rate takes longer.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from netlab.ethernet import Link
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Match, earliest_fit, is_by_name, rounds_of
from netlab.kinds import Setup
from netlab.kinds.groups import Talk
from netlab.trial.record import grouped

if TYPE_CHECKING:
    from netlab.experiment.matrix import Matrix


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
    matrix: Matrix,
    hosts_of: Callable[[Cell], Collection[Hashable]],
    match_of: Callable[[str], Match] | None = None,
) -> tuple[Round, ...]:
    """Each trial exactly once, block by block; the same arguments give the same rounds. Of the
    matrix, only ``order``, ``seed``, ``parallel``, ``common_window`` and ``switching`` matter.

    ``shuffled`` orders each block by a hash of seed, block and cell. So the rest of a block is
    measured in the same order after an interruption.

    With ``switching`` seldom, a block measures one variant (a state of the hosts' own settings)
    after the other; each block begins with the variant with which the block before it ended.

    With ``parallel``, a round takes the next trial in that order, and every later trial of the
    block whose hosts are still free. ``hosts_of`` returns the machines that a cell keeps busy.

    Pairings by name form a tournament instead (hosts.py). ``match_of`` returns what a pairing
    needs. A round of the tournament becomes one round here for each different setup, so that trials
    at the same time have one duration. If ``common_window`` is false, pairings by name are
    scheduled like pairings by letters.
    """
    result: list[Round] = []
    shuffled, seed = matrix.order == "shuffled", matrix.seed
    for block in _blocks(trials, matrix.switching):
        sequence = sorted(block, key=lambda trial: _rank(seed, trial)) if shuffled else block
        if matrix.parallel and match_of is not None:
            by_name = [trial for trial in block if is_by_name(trial.cell.pairing)]
            by_letter = [trial for trial in sequence if not is_by_name(trial.cell.pairing)]
            result += map(Round, earliest_fit(by_letter, lambda trial: hosts_of(trial.cell)))
            if not matrix.common_window:
                apart = [
                    trial
                    for trial in sequence
                    if is_by_name(trial.cell.pairing) and not trial.cell.setup.is_together
                ]
                fitted = earliest_fit(apart, lambda trial: match_of(trial.cell.pairing).needs)
                result += map(Round, fitted)
                by_name = [trial for trial in by_name if trial.cell.setup.is_together]
            tournament = _tournament(by_name, match_of)
            if shuffled:
                tournament.sort(key=lambda round_: min(_rank(seed, t) for t in round_.trials))
            result += tournament
        elif matrix.parallel:
            result += map(Round, earliest_fit(sequence, lambda trial: hosts_of(trial.cell)))
        else:
            result += [Round((trial,)) for trial in sequence]
    return tuple(result)


def with_partners(trials: Sequence[Trial], cells: Iterable[Cell]) -> tuple[Trial, ...]:
    """``trials``, and the trials of ``cells`` that must run together with some of them: pairs that
    search together, because fewer pairs reach another rate.
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
    blocks = grouped(trials, lambda trial: trial.number)
    for number in sorted(blocks):
        if switching == "interleaved":
            yield blocks[number]
            continue
        parts = grouped(blocks[number], lambda trial: trial.cell.setup.variant)
        levels = sorted(parts, key=lambda level: (level is not None, level or ""))
        yield from (parts[level] for level in (levels if number % 2 else reversed(levels)))


def _rank(seed: int, trial: Trial) -> bytes:
    return hashlib.sha256(f"{seed} {trial.number} {trial.cell.key}".encode()).digest()


def _tournament(block: Sequence[Trial], match_of: Callable[[str], Match]) -> list[Round]:
    """The rounds of a tournament between the hosts of a block, one for each setup in its rounds."""
    trials = grouped(block, lambda trial: trial.cell.pairing)
    result = []
    for matching in rounds_of([match_of(pairing) for pairing in trials]):
        own = (trial for meeting in matching for trial in trials[meeting.pairing])
        together = grouped(own, lambda trial: trial.cell.setup)
        result += [Round(tuple(group)) for group in together.values()]
    return result


PROGRAMS_S = 0.6
"""Time that another tool's server and client take to start and end, in addition to the warm-up and
the measured time."""

Setups = tuple[Setup, ...]
"""The settings of the trials of a round."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated time of some rounds."""

    time_s: float
    """The time that can be calculated, including overhead and pauses."""
    longest_s: float
    """Of one trial."""
    at_link_rate: int
    """Number of trials that end after a count of messages and whose time was calculated from the
    link's rate. These trials may take longer."""
    counted: int
    """Number of trials that end after a count of messages, on an unknown link. ``time_s`` does not
    include their length."""
    searching: int
    """Number of trials that are searches. ``time_s`` includes their least or their most time,
    depending on the argument ``at_least`` of ``estimate``."""
    unbounded: int = 0
    """Number of searches whose time depends on an unknown line rate. ``time_s`` does not include
    the time of these searches."""


def estimate(
    rounds: Mapping[Setups, int],
    link: Link | None,
    *,
    overhead_s: float,
    pause_s: float,
    at_least: bool = False,
) -> Estimate:
    """The time of successive rounds, each with ``overhead_s``, and ``pause_s`` between two rounds.

    ``rounds`` maps the settings of the trials of a round to the number of rounds with them.
    Searches count with their most time, or with their least time if ``at_least`` is true.
    """
    time_s = longest_s = 0.0
    at_link_rate = counts = searching = unbounded = number = 0
    for setups, same in rounds.items():
        times_s = [0.0]
        for setup, of_round in Counter(setups).items():
            trials = same * of_round
            if setup.is_search:
                rate = None if link is None else link.rate_bit_per_s
                bounds = setup.bounds(rate, len(setups) if setup.is_together else 1)
                searching += trials
                if bounds is None:
                    unbounded += trials
                else:
                    times_s.append(bounds.least_s if at_least else bounds.most_s)
                continue
            asked_s = setup.window_s()
            known_s = setup.least_s(link) if asked_s is None else asked_s
            is_tool = isinstance(setup, Talk) and setup.engine is not None
            times_s.append((known_s or 0.0) + (PROGRAMS_S if is_tool else 0.0))
            if known_s is None:
                counts += trials
            elif asked_s is None:
                at_link_rate += trials
        time_s += same * (max(times_s) + overhead_s)
        longest_s = max(longest_s, *times_s)
        number += same
    time_s += pause_s * max(0, number - 1)
    return Estimate(time_s, longest_s, at_link_rate, counts, searching, unbounded)


def same_setups(rounds: Iterable[Round]) -> Counter[Setups]:
    """The number of rounds with the same settings, which take the same time."""
    return Counter(tuple([trial.cell.setup for trial in round_.trials]) for round_ in rounds)
