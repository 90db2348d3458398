"""Are two sets of trials different, the same within a margin, or can that not be told? Pure.

Throughputs and times are compared as ratios: on their logarithms, where a percent up and a percent
down weigh alike. Trials of one run are paired by their block, so that what drifts in a lab falls
out of the difference; trials of two runs are not, and two runs are two occasions besides: what
changed between them, no test over their trials can tell from what is being compared.

Rank tests are not offered: over some hundred comparisons they cannot reject at 3 or 5 trials.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from netlab.stats.student_t import t_above, t_quantile, t_two_sided
from netlab.stats.summary import mean, variance

Verdict = Literal["different", "same within the margin", "not shown to be different", "cannot tell"]

MARGIN = 0.005
"""Differences under 0.5 % are not called different, however sure they are."""

POWER = 0.8
"""``smallest_ratio`` is what would have been found in four of five such comparisons."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonResult:
    """A contender against its baseline. What cannot be told is ``None``."""

    ratio: float | None
    """Contender / baseline, of the geometric means; above 1 where the contender's is more."""
    low: float | None
    """The interval of the ratio, at ``confidence``."""
    high: float | None
    n: int
    """Pairs, or the trials of the smaller side."""
    p: float | None
    """Two-sided, of the ratio being 1; for this comparison by itself."""
    verdict: Verdict
    smallest_ratio: float | None
    """The smallest ratio above 1 (or its inverse below) that so many trials of this scatter would
    have shown to be different in 80 % of all cases; at least 1 + margin.
    """
    margin: float
    confidence: float
    standard_error: float | None = None
    """Of the logarithm of the ratio."""
    degrees: float | None = None
    """Of freedom, of that error."""
    p_together: float | None = None
    """``p`` adjusted for all comparisons that were judged together; ``None`` by itself."""


def compare(
    baseline: Sequence[float],
    contender: Sequence[float],
    *,
    paired: bool,
    margin: float = MARGIN,
    confidence: float = 0.95,
) -> ComparisonResult:
    """Student's t on the logarithms of positive values: of the differences where ``paired`` (the
    values of one block at one index), else for two independent samples of unlike scatter (Welch,
    Biometrika 34, 1947, with Satterthwaite's degrees of freedom, Biometrics Bulletin 2, 1946).

    "different": p under 1 - confidence, and the ratio off 1 by ``margin`` or more. "same within the
    margin": two one-sided tests at 1 - confidence each (Schuirmann, J. Pharmacokinet. Biopharm.
    15, 1987). "cannot tell": fewer than two trials on a side. Else "not shown to be different".
    The margin is one of ratios: 1 / (1 + margin) to 1 + margin, so that exchanging the two sides
    changes no verdict. ``smallest_ratio`` by Bloom's multiple of the standard error (Evaluation
    Review 19, 1995).

    Assumes independent trials (of blocks, where paired) whose logarithms scatter about normally.
    No scatter at all (printed tables) makes the interval a point. ValueError for values that are
    not above 0, pairs of unequal number, or a margin or confidence outside of 0 to 1.
    """
    if not 0 < margin < 1 or not 0 < confidence < 1:
        raise ValueError(f"margin {margin}, confidence {confidence}: each lies between 0 and 1")
    old, new = _logarithms(baseline), _logarithms(contender)
    if paired and len(old) != len(new):
        raise ValueError(f"{len(old)} and {len(new)} values are no pairs")
    n = min(len(old), len(new))
    ratio = _exponential(mean(new) - mean(old)) if n else None
    if n < 2:
        return ComparisonResult(
            ratio=ratio,
            low=None,
            high=None,
            n=n,
            p=None,
            verdict="cannot tell",
            smallest_ratio=None,
            margin=margin,
            confidence=confidence,
        )
    difference, error, degrees = (_paired if paired else _welch)(old, new)
    p = _p_of_zero(difference, error, degrees)
    t = t_quantile((1 + confidence) / 2, degrees)
    return ComparisonResult(
        ratio=ratio,
        low=_exponential(difference - t * error),
        high=_exponential(difference + t * error),
        n=n,
        p=p,
        verdict=_verdict(difference, error, degrees, p, math.log1p(margin), 1 - confidence),
        smallest_ratio=_smallest(error, degrees, 1 - confidence, margin),
        margin=margin,
        confidence=confidence,
        standard_error=error,
        degrees=degrees,
    )


def pairs_by_block(
    baseline: Mapping[int, float], contender: Mapping[int, float]
) -> tuple[list[float], list[float]]:
    """The values of the blocks (trial numbers) that both have, in the blocks' order."""
    blocks = sorted(baseline.keys() & contender.keys())
    return [baseline[block] for block in blocks], [contender[block] for block in blocks]


def adjusted(p_values: Sequence[float]) -> tuple[float, ...]:
    """Each p as it is among all of them: the lowest rate of false discoveries at which
    ``benjamini_hochberg`` rejects it (m p / k of its rank k, or what a larger p has that is less;
    Yekutieli and Benjamini, J. Stat. Plan. Inference 82, 1999). ValueError for a p outside of 0 to
    1.
    """
    if any(not 0 <= p <= 1 for p in p_values):
        raise ValueError("a p value lies between 0 and 1")
    found = [1.0] * len(p_values)
    least = 1.0
    ranked = sorted(range(len(p_values)), key=p_values.__getitem__)
    for rank, at in reversed([*enumerate(ranked, start=1)]):
        least = min(least, p_values[at] * (len(p_values) / rank))
        found[at] = least
    return tuple(found)


def benjamini_hochberg(p_values: Sequence[float], rate: float = 0.05) -> tuple[bool, ...]:
    """Which of many hypotheses to reject so that of the rejected ones at most that share is
    rejected wrongly on average (Benjamini and Hochberg, J. R. Stat. Soc. B 57, 1995): all up to
    the largest p of rank k that is at most k / m times ``rate``.

    Assumes tests that are independent or positively dependent. ValueError for a p outside of 0
    to 1.
    """
    return tuple(each <= rate for each in adjusted(p_values))


def judged_together(
    comparisons: Sequence[ComparisonResult], rate: float = 0.05
) -> tuple[ComparisonResult, ...]:
    """The same comparisons as they hold for all of them side by side: "different" stays where
    ``benjamini_hochberg`` rejects as well, else it is "not shown to be different".

    ``smallest_ratio`` becomes what would have shown among so many: at the level that one more
    rejection needs, ``rate`` (rejected + 1) / m.
    """
    told = [at for at, each in enumerate(comparisons) if each.p is not None]
    together = dict(zip(told, adjusted([comparisons[at].p or 0.0 for at in told]), strict=True))
    rejected = sum(p <= rate for p in together.values())
    level = rate * min(rejected + 1, len(told)) / max(len(told), 1)
    return tuple(
        _among(each, together[at], rate, level) if at in together else each
        for at, each in enumerate(comparisons)
    )


def _among(
    alone: ComparisonResult, p_together: float, rate: float, level: float
) -> ComparisonResult:
    """One comparison as it stands among others."""
    taken_back = alone.verdict == "different" and p_together > rate
    smallest = alone.smallest_ratio
    if alone.standard_error is not None and alone.degrees is not None:
        # No comparison tells more among others than by itself.
        least = min(level, 1 - alone.confidence)
        smallest = _smallest(alone.standard_error, alone.degrees, least, alone.margin)
    return replace(
        alone,
        verdict="not shown to be different" if taken_back else alone.verdict,
        p_together=p_together,
        smallest_ratio=smallest,
    )


def _smallest(error: float, degrees: float, level: float, margin: float) -> float:
    """The smallest ratio that a test at that two-sided level shows in ``POWER`` of all cases."""
    least = (t_quantile(1 - level / 2, degrees) + t_quantile(POWER, degrees)) * error
    return max(_exponential(least), 1 + margin)


def _verdict(
    difference: float, error: float, degrees: float, p: float, margin: float, level: float
) -> Verdict:
    if p < level and abs(difference) >= margin:
        return "different"
    # Both one-sided tests have to reject; the nearer bound decides.
    room = margin - abs(difference)
    # No scatter: what lies off by the margin is different already.
    outside = t_above(room / error, degrees) if error else 0.0
    return "same within the margin" if outside < level else "not shown to be different"


def _p_of_zero(difference: float, error: float, degrees: float) -> float:
    if error:
        return t_two_sided(difference / error, degrees)
    return float(difference == 0)


def _paired(old: Sequence[float], new: Sequence[float]) -> tuple[float, float, float]:
    """Mean difference, its standard error, degrees of freedom."""
    differences = list(map(operator.sub, new, old))
    n = len(differences)
    return mean(differences), math.sqrt(variance(differences) / n), n - 1


def _welch(old: Sequence[float], new: Sequence[float]) -> tuple[float, float, float]:
    """The same for two samples of their own."""
    difference = mean(new) - mean(old)
    old_share, new_share = variance(old) / len(old), variance(new) / len(new)
    total = old_share + new_share
    fewest = min(len(old), len(new)) - 1
    if not total:
        return difference, 0.0, fewest
    parts = (old_share / total) ** 2 / (len(old) - 1) + (new_share / total) ** 2 / (len(new) - 1)
    # Rounding must not take it below what it is where one side alone scatters.
    return difference, math.sqrt(total), max(1 / parts, fewest)


def _logarithms(values: Sequence[float]) -> list[float]:
    if any(not value > 0 or math.isinf(value) for value in values):
        raise ValueError("only values above 0 have a ratio")
    return [math.log(value) for value in values]


def _exponential(logarithm: float) -> float:
    """Without the OverflowError: beyond what a float can hold there is no bound."""
    try:
        return math.exp(logarithm)
    except OverflowError:
        return math.inf
