"""Changes over the time of a run (trend, first trials) and of a trial (dips with a period)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.sample import StreamSample
from netlab.findings.series import Series
from netlab.findings.stops import group_of
from netlab.findings.trial_words import in_trials
from netlab.messages import Message, _
from netlab.stats import mean, median
from netlab.stats.trends import (
    PeriodicDips,
    mann_kendall,
    periodic_dips,
    seasonal_kendall,
    sign_p,
    theil_sen,
)
from netlab.trial.record import FLOWS, Record, Status, utc_of

if TYPE_CHECKING:
    from netlab.results.run import Run

CellFlow = tuple[str, str]
"""Key of a cell, and the prefix of the values of one of its flows (directions of data)."""


@dataclass(frozen=True, slots=True)
class BlockTable:
    """The figures of the cells that have a figure in each of the first blocks."""

    quantity: str
    """Name of the value that is the figure."""
    figures: Mapping[CellFlow, tuple[float, ...]]
    """One figure above 0 per block, starting with the first block."""

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return len(next(iter(self.figures.values()), ()))

    @property
    def cells(self) -> tuple[str, ...]:
        """Keys of the cells, each once."""
        return tuple(dict.fromkeys(cell for cell, _ in self.figures))

    def trials(self) -> tuple[tuple[str, int], ...]:
        """All trials, as (cell, number)."""
        return tuple((cell, 1 + block) for cell in self.cells for block in range(self.blocks))


def tables(run: Run, series: Iterable[Series]) -> tuple[BlockTable, ...]:
    """One table per quantity, without paced streams.

    If cells are repeated until their mean is precise, they have different numbers of trials. Then
    the number of blocks is chosen so that the table has the most figures.
    """
    by_quantity: dict[str, dict[CellFlow, dict[int, float]]] = {}
    inside = within_blocks(run)
    for one_series in series:
        for point in one_series.points:
            if point.paced and one_series.test == "stream":
                continue
            figures = {
                trial: figure
                for trial, figure in enumerate(point.figures, 1)
                if figure is not None and figure > 0 and (point.cell, trial) in inside
            }
            by_quantity.setdefault(one_series.quantity, {})[point.cell, point.prefix] = figures
    return tuple(_complete(quantity, cells) for quantity, cells in by_quantity.items())


def within_blocks(run: Run) -> frozenset[tuple[str, int]]:
    """The trials with a result that began before the next block began.

    Trials that were repeated later are left out, and so are trials without a recorded start.
    """
    begins: dict[int, str] = {}
    for record in run.records:
        if record.started_at:
            first = begins.get(record.trial, record.started_at)
            begins[record.trial] = min(first, record.started_at)
    return frozenset(
        key
        for key, record in run.latest.items()
        if record.status is Status.OK
        and record.started_at
        and begins[record.trial] <= record.started_at
        and record.started_at < begins.get(record.trial + 1, "~")
    )


def lasted_s(run: Run, trials: Iterable[tuple[str, int]]) -> float | None:
    """Time from the start of the first of these trials to the start of the last, in seconds."""
    begins = [utc_of(run.latest[trial].started_at) for trial in trials if trial in run.latest]
    start_times = [begin for begin in begins if begin is not None]
    return (max(start_times) - min(start_times)).total_seconds() if start_times else None


def _complete(quantity: str, cells: Mapping[CellFlow, Mapping[int, float]]) -> BlockTable:
    """The cells that have figures in all of the first blocks; the number of blocks maximises blocks
    x cells.
    """
    block_counts = {
        cell: next(n for n in range(len(figures) + 1) if n + 1 not in figures)
        for cell, figures in cells.items()
    }
    counts = sorted(set(block_counts.values()) - {0})
    if not counts:
        return BlockTable(quantity, {})
    blocks = max(counts, key=lambda n: n * sum(count >= n for count in block_counts.values()))
    return BlockTable(
        quantity,
        {
            cell: tuple(cells[cell][block] for block in range(1, blocks + 1))
            for cell, count in block_counts.items()
            if count >= blocks
        },
    )


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


DEEP = 0.05
"""Minimum depth of a dip, as a share of the usual rate."""
GRAINS = 3.0
"""Minimum depth of a dip, in multiples of the bytes of the largest receive call: data arrive in
portions of this size."""


@dataclass(frozen=True, slots=True)
class _Dipping:
    """A trial whose rate dips in one flow."""

    record: Record
    dips: PeriodicDips
    interval_ns: float
    sent_again: int | None
    """Segments retransmitted in the whole measured time; ``None``: not known, or UDP."""


def dips(run: Run, samples: Iterable[StreamSample], *, imported: bool) -> Iterator[Finding]:
    """One finding per cell (combination of settings) and flow (direction of data), if more than
    half of the trials have dips.
    """
    if imported:
        return
    sent_again = {
        (sample.cell, sample.trial, sample.flow): sample.tcp.retransmissions for sample in samples
    }
    dipping: dict[tuple[str, str], list[_Dipping]] = defaultdict(list)
    judged_trials: dict[tuple[str, str], int] = defaultdict(int)
    for record in run.latest.values():
        if record.status is not Status.OK or record.test != "stream":
            continue
        for prefix, flow in FLOWS.items():
            series = record.values.get(f"{prefix}receiver_interval_bytes")
            interval_ns = record.number(f"{prefix}receiver_interval_ns")
            if not isinstance(series, list) or not interval_ns:
                continue
            judged_trials[record.cell, prefix] += 1
            trial_dips = _dips_of_trial(record, prefix, series)
            if trial_dips is not None:
                retransmitted = sent_again.get((record.cell, record.trial, flow))
                dipping[record.cell, prefix].append(
                    _Dipping(record, trial_dips, interval_ns, retransmitted)
                )
    for cell_and_flow, trials in dipping.items():
        if 2 * len(trials) > judged_trials[cell_and_flow]:
            yield _dips_finding(cell_and_flow[1], trials, judged_trials[cell_and_flow])


def _dips_of_trial(
    record: Record, prefix: str, series: list[int] | list[float]
) -> PeriodicDips | None:
    """The periodic dips of one flow; ``None`` if they are not deep enough. The flow's last
    interval, which has another length, is left out.
    """
    values = [float(value) for value in series[:-1]]
    period = periodic_dips(values)
    largest = record.number(f"{prefix}receiver_largest_receive_bytes")
    if period is None or largest is None:
        return None
    grain = GRAINS * largest / median(values)
    return period if period.depth_share > max(DEEP, grain) else None


def _dips_finding(prefix: str, trials: list[_Dipping], number_of_trials: int) -> Finding:
    """The finding about one cell and flow. Its figures are those of the trial with the median
    depth.
    """
    middle = sorted(trials, key=lambda trial: trial.dips.depth_share)[len(trials) // 2]
    retransmissions = [trial.sent_again for trial in trials if trial.sent_again is not None]
    figures = {
        "period_ns": middle.dips.period * middle.interval_ns,
        "depth_share": middle.dips.depth_share,
        "interval_ns": middle.interval_ns,
        "trials": len(trials),
        "of_trials": number_of_trials,
        "retransmissions": median(retransmissions) if retransmissions else None,
    }
    all_retransmitted = (
        bool(retransmissions) and len(retransmissions) == len(trials) and all(retransmissions)
    )
    return finding(
        Kind.DIPS_CONGESTION if all_retransmitted else Kind.DIPS_UNEXPLAINED,
        group_of(middle.record, prefix),
        (middle.record.cell,),
        figures,
        in_trials(len(trials), number_of_trials),
        tuple((trial.record.cell, trial.record.trial) for trial in trials),
    )
