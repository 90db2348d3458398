"""Pairs of cells that are compared, with the figures of their trials, and the verdict on each pair.

The two cells of a pair are the baseline and the contender, which is compared with the baseline. A
block is one trial of every cell, measured one after another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import geometric_mean
from typing import Literal

from netlab import stats
from netlab.experiment.cells import Comparison
from netlab.messages import _, joined
from netlab.results.quantities import STACK, names_of, quantities_of
from netlab.stats import MARGIN, ComparisonResult
from netlab.trial.column import Quantity
from netlab.trial.record import Record, Status, by_cell
from netlab.trial.settings import Level

CheckVerdict = Literal["met", "not met", "cannot be judged"]
WORST_FIRST: tuple[CheckVerdict, ...] = ("not met", "cannot be judged", "met")

NO_RATIO = _("A figure of 0, or below it, has no ratio.")


CONFIDENCE = 0.95
RATE = 0.05
"""Mean share of false discoveries among the comparisons that are called different."""
PAIRED = "Student’s t on the logarithms of pairs, each from one block"
UNPAIRED = "Welch’s t on logarithms"
CORRECTION = "Benjamini and Hochberg"
_ALWAYS = (
    "trials are independent of each other",
    "the logarithms of their figures are about normally distributed",
)
ASSUMPTIONS = {
    PAIRED: (
        *_ALWAYS,
        "trials with the same number are in one block, so drift affects both sides alike",
    ),
    UNPAIRED: (
        *_ALWAYS,
        "the runs were measured at different times, "
        "so the difference includes whatever else changed between them",
    ),
}
"""Test → its assumptions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedPair:
    """One quantity (such as throughput) of two cells that are compared."""

    label: str
    cells: tuple[str, str]
    """Keys of baseline and contender."""
    quantity: Quantity
    baseline: Mapping[int, float]
    """Trial → its figure (above 0) in the quantity's unit."""
    contender: Mapping[int, float]
    paired: bool
    """Whether trials with the same number were in one block, so that drift affects both alike."""
    why_not: tuple[str, ...] = ()
    """Why trials of either cell have no figure: one sentence per reason."""

    @property
    def figures(self) -> tuple[list[float], list[float]]:
        """The compared figures: those of complete pairs if paired, else all."""
        if self.paired:
            return stats.pairs_by_block(self.baseline, self.contender)
        return [*self.baseline.values()], [*self.contender.values()]

    @property
    def means(self) -> tuple[float | None, float | None]:
        """Geometric means of the compared figures, or of all if no pair is complete."""
        old, new = self.figures
        old, new = old or [*self.baseline.values()], new or [*self.contender.values()]
        return geometric_mean(old) if old else None, geometric_mean(new) if new else None


def align_cells(comparison: Comparison, records: Sequence[Record]) -> list[AlignedPair]:
    """The pairs of cells of one run that a comparison defines, in the order of the baselines."""
    cells = by_cell(records)
    firsts = [trials[0] for trials in cells.values()]
    pairs = [
        (firsts[index], firsts[counterpart])
        for index, counterpart in comparison.pairs_in([plain_cell(record) for record in firsts])
    ]
    labels = cell_labels([first for first, _ in pairs], comparison.baseline.keys())
    return [
        aligned
        for first, counterpart in pairs
        for aligned in _align_pair(
            labels[first.cell], cells[first.cell], cells[counterpart.cell], paired=True
        )
    ]


def align_runs(
    pairs: Sequence[tuple[str, str]], baseline: Sequence[Record], contender: Sequence[Record]
) -> list[AlignedPair]:
    """The aligned cells of two runs. ``pairs`` has the keys of the cells and sets the order."""
    old, new = by_cell(baseline), by_cell(contender)
    labels = cell_labels([old[key][0] for key, _ in pairs])
    return [
        aligned
        for key, counterpart in pairs
        for aligned in _align_pair(labels[key], old[key], new[counterpart], paired=False)
    ]


def plain_cell(record: Record) -> dict[str, Level]:
    """A cell as comparisons and expectations use it: its settings, ``pairing`` and ``test``."""
    settings = {
        name: value for name, value in record.settings.items() if not isinstance(value, list)
    }
    return {**settings, "pairing": record.pairing, "test": record.test}


def cell_labels(firsts: Sequence[Record], leaving_out: Collection[str] = ()) -> dict[str, str]:
    """Cell → its name among the cells of these records; with the pairing if there are several."""
    names = names_of(firsts, leaving_out)
    if len({first.pairing for first in firsts}) < 2 or "pairing" in leaving_out:
        return names
    return {first.cell: joined(" ", [first.pairing, names[first.cell]]) for first in firsts}


def _align_pair(
    label: str, old: Sequence[Record], new: Sequence[Record], *, paired: bool
) -> Iterator[AlignedPair]:
    for quantity in (*quantities_of(old[0]), STACK):
        sides = [
            {
                record.trial: value
                for record in trials
                if (value := quantity.in_unit(record)) is not None and value > 0
            }
            for trials in (old, new)
        ]
        if quantity is STACK and not all(sides):
            continue
        blanks: dict[str, None] = {}
        for record in (*old, *new):
            if record.status != Status.OK:
                blanks[record.why_blank] = None
            elif quantity is not STACK and not (quantity.of(record) or 0) > 0:
                blanks[record.why_blank if quantity.of(record) is None else NO_RATIO] = None
        yield AlignedPair(
            label=label,
            cells=(old[0].cell, new[0].cell),
            quantity=quantity,
            baseline=sides[0],
            contender=sides[1],
            paired=paired,
            why_not=tuple(blanks),
        )


# Verdicts


@dataclass(frozen=True, slots=True)
class Judged:
    """Two aligned cells, and the verdict about their difference."""

    aligned: AlignedPair
    verdict: ComparisonResult
    taken_back: bool
    """Whether the correction for all comparisons withdrew the verdict "different"."""


def judge(aligned: Sequence[AlignedPair], margin: float = MARGIN) -> tuple[Judged, ...]:
    """Judge every pair of cells alone, then correct all of them together."""
    alone = [
        stats.compare(*pair.figures, paired=pair.paired, margin=margin, confidence=CONFIDENCE)
        for pair in aligned
    ]
    # A withdrawn verdict is marked, because the interval next to it seems to contradict it.
    return tuple(
        Judged(pair, corrected, verdict.verdict != corrected.verdict)
        for pair, verdict, corrected in zip(
            aligned, alone, stats.judged_together(alone, RATE), strict=True
        )
    )


def judge_groups(
    groups: Sequence[Sequence[AlignedPair]], margin: float = MARGIN
) -> tuple[tuple[Judged, ...], ...]:
    """Judge several groups, and correct all of their pairs together; one result per group."""
    rows = iter(judge([pair for aligned in groups for pair in aligned], margin))
    return tuple(tuple(islice(rows, len(aligned))) for aligned in groups)


def smallest_shown(rows: Sequence[Judged]) -> tuple[float, float, float] | None:
    """Least, median and largest detectable differences, as shares of the baseline, if any."""
    ratios = [row.verdict.smallest_ratio for row in rows]
    shares = [ratio - 1 for ratio in ratios if ratio is not None]
    return (min(shares), stats.median(shares), max(shares)) if shares else None
