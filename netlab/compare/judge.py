"""Verdicts: whether aligned cells differ significantly, corrected for all comparisons. No I/O.

The correction is needed because among many comparisons some differ by chance. Each aligned pair has
a baseline and a contender, which is compared with the baseline.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from netlab.compare.align import AlignedPair
from netlab.stats import MARGIN, ComparisonResult, compare, judged_together, median

CONFIDENCE = 0.95
RATE = 0.05
"""Mean share of false discoveries among the comparisons that are called different."""

PAIRED = "Student’s t on the logarithms of pairs, each from one block"
UNPAIRED = "Welch’s t on logarithms"

_ALWAYS = (
    "trials are independent of each other",
    "the logarithms of their figures are about normally distributed",
)
_BY_KIND = {
    PAIRED: "trials with the same number are in one block, so drift affects both sides alike",
    UNPAIRED: "the runs were measured at different times, "
    "so the difference includes whatever else changed between them",
}


@dataclass(frozen=True, slots=True)
class Judged:
    """Two aligned cells, and the verdict about their difference."""

    aligned: AlignedPair
    verdict: ComparisonResult
    taken_back: bool
    """Whether the correction for all comparisons withdrew the verdict "different"."""


@dataclass(frozen=True, slots=True)
class Method:
    """The statistical method of the verdicts."""

    test: str
    assumptions: tuple[str, ...]
    comparisons: int
    """Number of comparisons with a p-value, which were corrected together."""
    margin: float
    confidence: float = CONFIDENCE
    rate: float = RATE
    correction: str = "Benjamini and Hochberg"


def judge(aligned: Sequence[AlignedPair], margin: float = MARGIN) -> tuple[Judged, ...]:
    """Judge every pair of cells alone, then correct all of them together."""
    own_verdicts = [_by_itself(pair, margin) for pair in aligned]
    together = judged_together(own_verdicts, RATE)
    # A withdrawn verdict is marked, because the interval next to it seems to contradict it.
    return tuple(
        Judged(pair, verdict, own_verdict.verdict != verdict.verdict)
        for pair, own_verdict, verdict in zip(aligned, own_verdicts, together, strict=True)
    )


def judge_groups(
    groups: Sequence[Sequence[AlignedPair]], margin: float = MARGIN
) -> tuple[tuple[Judged, ...], ...]:
    """Judge several groups, and correct all of their pairs together; one result per group."""
    rows = iter(judge([pair for aligned in groups for pair in aligned], margin))
    return tuple(tuple(islice(rows, len(aligned))) for aligned in groups)


def method_of(rows: Sequence[Judged], margin: float, *, paired: bool) -> Method:
    """The method by which the pairs were judged."""
    test = PAIRED if paired else UNPAIRED
    comparisons = sum(row.verdict.p is not None for row in rows)
    return Method(test, (*_ALWAYS, _BY_KIND[test]), comparisons, margin)


def smallest_shown(rows: Sequence[Judged]) -> tuple[float, float, float] | None:
    """Minimum, median and maximum of the smallest detectable differences of the rows.

    They are shares of the baseline. ``None`` if no row has a detectable difference.
    """
    ratios = [row.verdict.smallest_ratio for row in rows]
    shares = [ratio - 1 for ratio in ratios if ratio is not None]
    return (min(shares), median(shares), max(shares)) if shares else None


def _by_itself(aligned: AlignedPair, margin: float) -> ComparisonResult:
    old, new = aligned.figures
    return compare(old, new, paired=aligned.paired, margin=margin, confidence=CONFIDENCE)
