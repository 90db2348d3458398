"""Drift over the blocks of a run, and first trials that are slower than the others."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.over_time.blocks import BlockTable, lasted_s, tables
from netlab.findings.series import Series
from netlab.messages import Message, _
from netlab.stats import mean, median
from netlab.stats.trends import mann_kendall, seasonal_kendall, sign_p, theil_sen

if TYPE_CHECKING:
    from netlab.results.run import Run

LEAST_BLOCKS = 6
LEAST_BLOCKS_CONSISTENT, LEAST_CELLS_CONSISTENT = 3, 5
"""If there are fewer blocks than ``LEAST_BLOCKS``: minimum number of blocks and minimum number of
cells for the finding "consistent with drift"."""
BY_CHANCE = 0.01
LEAST_CHANGE = 0.01
"""Minimum change over the run, as a share."""
LEAST_TAU = 0.6
"""Minimum of Kendall's tau: the number of pairs of blocks that change in the direction of the
drift, minus the number of the other pairs, divided by the number of all pairs. A random walk, in
which each block depends on the block before, rarely reaches this value. A drift reaches this value
unless the drift is much smaller than a random walk that is added to it."""
LATER = 0.25
"""Minimum share of the change that occurs after the second block: if only the first block differs,
the cause is a warm-up and not a drift."""

FIRST_BLOCKS = 3
FIRST_CHANGE = 0.02
FIRST_ALONE = 3.0
"""The first block must deviate more than this many times as much as any later block."""

_WHAT: Mapping[str, Message] = {
    "throughput_bit_per_s": _("throughput"),
    "rtt_mean_ns": _("round trips"),
}


def drifts(run: Run, series: Iterable[Series], *, imported: bool) -> Iterator[Finding]:
    """At most one finding per quantity, about all cells together."""
    for table in () if imported else tables(run, series):
        if table.blocks >= LEAST_BLOCKS:
            yield from _drift(run, table)
        elif table.blocks >= LEAST_BLOCKS_CONSISTENT:
            yield from _consistent(run, table)


def first_trials(run: Run, series: Iterable[Series], *, imported: bool) -> Iterator[Finding]:
    """At most one finding per quantity: in most cells the first trial is slower than later ones."""
    for table in () if imported else tables(run, series):
        if table.blocks >= FIRST_BLOCKS:
            yield from _first(table)


def _drift(run: Run, table: BlockTable) -> Iterator[Finding]:
    middle = _medians(_residuals(table))
    trend = mann_kendall(middle)
    tau = trend.s / math.comb(table.blocks, 2)
    if trend.p_value < BY_CHANCE and abs(tau) >= LEAST_TAU and abs(_change(middle)) > LEAST_CHANGE:
        yield _finding(Kind.TREND_PROVED, run, table, middle, trend.p_value)


def _consistent(run: Run, table: BlockTable) -> Iterator[Finding]:
    """Drift with few blocks: from block to block, the medians over enough cells only rise, or only
    fall.
    """
    residuals = _residuals(table)
    middle = _medians(residuals)
    total_change, last = middle[-1] - middle[0], middle[-1] - middle[1]
    if (
        len(table.cells) >= LEAST_CELLS_CONSISTENT
        and all((later - earlier) * total_change > 0 for earlier, later in pairwise(middle))
        and last / total_change >= LATER
        and abs(_change(middle)) > LEAST_CHANGE
        and (p_value := seasonal_kendall(residuals).p_value) < BY_CHANCE
    ):
        yield _finding(Kind.TREND_POSSIBLE, run, table, middle, p_value)


def _finding(
    kind: Kind, run: Run, table: BlockTable, middle: list[float], p_value: float
) -> Finding:
    figures = {
        "change_share": math.expm1(_change(middle)),
        "blocks": table.blocks,
        "cells": len(table.cells),
        "p_value": p_value,
        "lasted_s": lasted_s(run, table.trials()),
    }
    words = {"what": _WHAT[table.quantity]}
    return finding(kind, Group(), table.cells, figures, words, table.trials())


def _first(table: BlockTable) -> Iterator[Finding]:
    """The finding about slower first trials: with less throughput or longer round trips."""
    sign = 1 if table.quantity.endswith("_ns") else -1
    residuals = [
        [sign * (math.log(figure) - median(list(map(math.log, of_cell[1:])))) for figure in of_cell]
        for of_cell in table.figures.values()
    ]
    # The sign test ignores ties (Dixon and Mood).
    firsts = [of_cell[0] for of_cell in residuals if of_cell[0]]
    slower = sum(residual > 0 for residual in firsts)
    first, *later = _medians(residuals)
    if (
        2 * slower > len(firsts)
        and sign_p(slower, len(firsts)) < BY_CHANCE
        and first > FIRST_CHANGE
        and first > FIRST_ALONE * max(map(abs, later))
    ):
        figures = {
            "change_share": math.expm1(sign * first),
            "slower_cells": slower,
            "cells": len(residuals),
            "blocks": table.blocks,
        }
        firsts_of = tuple((cell, 1) for cell in table.cells)
        words = {"what": _WHAT[table.quantity]}
        yield finding(Kind.FIRST_TRIAL_SLOWER, Group(), table.cells, figures, words, firsts_of)


def _residuals(table: BlockTable) -> list[list[float]]:
    """For each cell, the logarithms of its figures minus the mean of these logarithms."""
    residuals = []
    for figures in table.figures.values():
        logs = [math.log(value) for value in figures]
        middle = mean(logs)
        residuals.append([log - middle for log in logs])
    return residuals


def _medians(residuals: list[list[float]]) -> list[float]:
    """The median of each block over the cells."""
    return [median(list(block)) for block in zip(*residuals, strict=True)]


def _change(middle: list[float]) -> float:
    """Change from the first block to the last, as a logarithm, by the Theil-Sen slope."""
    return theil_sen(middle) * (len(middle) - 1)
