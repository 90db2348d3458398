"""Estimates how long a plan takes, and counts the trials whose time cannot be predicted.

The least time of a search assumes that the first try gives the result. Its most time assumes one
fixed limit, that every step halves the range, and that each size or rate beyond the limit is tried
until it counts as failed. A path that loses a few frames at every rate takes longer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from netlab.ethernet import Link
from netlab.experiment.schedule import Round
from netlab.kinds import Setup
from netlab.kinds.groups import Talk

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
    """Time of the longest trial."""
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
                unbounded += trials if bounds is None else 0
                if bounds is not None:
                    times_s.append(bounds.least_s if at_least else bounds.most_s)
                continue
            asked_s = setup.window_s()
            known_s = setup.least_s(link) if asked_s is None else asked_s
            times_s.append((known_s or 0.0) + _programs_s(setup))
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
    """The number of rounds with the same settings. Many rounds have the same settings, and so the
    same time.
    """
    return Counter(tuple([trial.cell.setup for trial in round_.trials]) for round_ in rounds)


def _programs_s(setup: Setup) -> float:
    """Time in which the programs of another tool start and end; 0 for netlab's own probe."""
    is_tool = isinstance(setup, Talk) and setup.engine is not None
    return PROGRAMS_S if is_tool else 0.0
