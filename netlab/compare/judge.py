"""Judging: cells side by side → what can be said of their difference, all of them together. Pure.

A verdict holds among all comparisons that are made at once: of many, some are by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from netlab.compare.align import AlignedPair
from netlab.stats import MARGIN, ComparisonResult, compare, judged_together, median

CONFIDENCE = 0.95
RATE = 0.05
"""Share of false discoveries among what is called different, on average."""

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
    """Two cells side by side, and what can be said of them."""

    aligned: AlignedPair
    verdict: ComparisonResult
    taken_back: bool
    """Different by itself, and not among all that are judged together."""


@dataclass(frozen=True, slots=True)
class Method:
    """How it was judged, for who wants to know what a verdict is worth."""

    test: str
    assumptions: tuple[str, ...]
    comparisons: int
    """How many have a p and were judged together."""
    margin: float
    confidence: float = CONFIDENCE
    rate: float = RATE
    correction: str = "Benjamini and Hochberg"


def judge(aligned: Sequence[AlignedPair], margin: float = MARGIN) -> tuple[Judged, ...]:
    """Every pair of cells by itself, then all of them together."""
    alone = [_by_itself(pair, margin) for pair in aligned]
    together = judged_together(alone, RATE)
    # What is taken back is said, or the interval beside it would seem to contradict.
    return tuple(
        Judged(pair, after, before.verdict != after.verdict)
        for pair, before, after in zip(aligned, alone, together, strict=True)
    )


def judge_groups(
    groups: Sequence[Sequence[AlignedPair]], margin: float = MARGIN
) -> tuple[tuple[Judged, ...], ...]:
    """The same of several groups: each by itself in the answer, judged all together."""
    judged = iter(judge([pair for aligned in groups for pair in aligned], margin))
    return tuple(tuple(islice(judged, len(aligned))) for aligned in groups)


def method_of(judged: Sequence[Judged], margin: float, *, paired: bool) -> Method:
    """How these were judged."""
    test = PAIRED if paired else UNPAIRED
    comparisons = sum(one.verdict.p is not None for one in judged)
    return Method(test, (*_ALWAYS, _BY_KIND[test]), comparisons, margin)


def smallest_shown(judged: Sequence[Judged]) -> tuple[float, float, float] | None:
    """Least, median and most of the smallest differences that would have shown, as shares of the
    baseline; ``None`` where nothing can be told of any.
    """
    ratios = [one.verdict.smallest_ratio for one in judged]
    shares = [ratio - 1 for ratio in ratios if ratio is not None]
    return (min(shares), median(shares), max(shares)) if shares else None


def _by_itself(aligned: AlignedPair, margin: float) -> ComparisonResult:
    old, new = aligned.figures
    return compare(old, new, paired=aligned.paired, margin=margin, confidence=CONFIDENCE)
