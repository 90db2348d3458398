"""Comparison of two sets of trials: different, equivalent within a margin, or inconclusive.

Throughputs and times are compared as ratios, by their logarithms, so that one percent up and one
percent down have equal weight. Trials of one run are paired by their block (trials with the same
number), so that a drift of the lab cancels out. Trials of two runs are not paired. Two runs are
made at different times: no test of their trials can distinguish a change of the environment from
the effect under study. A trial is one execution of a test. No function here does I/O.

Rank tests are not offered: with 3 or 5 trials, even their smallest possible p value is too large to
reject a hypothesis if a hundred hypotheses are judged together.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from netlab.stats.summary import mean, t_above, t_quantile, t_two_sided, variance

Verdict = Literal["different", "same within the margin", "not shown to be different", "cannot tell"]

MARGIN = 0.005
"""A ratio that differs from 1 by less than this share never counts as different, however certain
the difference is."""

POWER = 0.8
"""A true ratio of ``smallest_ratio`` would be detected in this share of all comparisons with the
same scatter and number of trials."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonResult:
    """A set of trials (the contender) compared with a reference (its baseline). An unknown value is
    ``None``."""

    ratio: float | None
    """Geometric mean of the contender / geometric mean of the baseline."""
    low: float | None = None
    """Lower end of the confidence interval of the ratio; ``high`` is its upper end."""
    high: float | None = None
    n: int
    """Number of pairs; if not paired, number of trials of the smaller side."""
    p: float | None = None
    """Two-sided p value for the hypothesis that the ratio is 1, for this comparison alone."""
    verdict: Verdict
    smallest_ratio: float | None = None
    """The smallest true ratio above 1 that would be detected in 80 % of all cases with this scatter
    and number of trials; at least 1 + margin. Below 1, its inverse would be detected as often."""
    margin: float
    confidence: float
    standard_error: float | None = None
    """Standard error of the logarithm of the ratio."""
    degrees: float | None = None
    """Degrees of freedom of ``standard_error``."""
    p_together: float | None = None
    """``p`` adjusted for all comparisons that are judged together; ``None`` if this comparison was
    judged alone."""


def compare(
    baseline: Sequence[float],
    contender: Sequence[float],
    *,
    paired: bool,
    margin: float = MARGIN,
    confidence: float = 0.95,
) -> ComparisonResult:
    """Compare two sets of positive values by Student's t on their logarithms.

    If ``paired``, the test is on the differences of the logarithms; values of one block have the
    same index. Otherwise it is the test for two independent samples of unequal variance (Welch,
    Biometrika 34, 1947, with Satterthwaite's degrees of freedom, Biometrics Bulletin 2, 1946).

    The verdict is "different" if p is under 1 - confidence and the ratio differs from 1 by
    ``margin`` or more. It is "same within the margin" if two one-sided tests at 1 - confidence show
    that the ratio is within the margin (Schuirmann, J. Pharmacokinet. Biopharm. 15, 1987).
    It is "cannot tell" with fewer than two trials on a side, otherwise "not shown to be different".
    The margin reaches from 1 / (1 + margin) to 1 + margin, so that exchanging the sides changes no
    verdict. ``smallest_ratio`` is Bloom's multiple of the standard error (Eval. Review 19, 1995).

    Assumes independent trials (independent blocks if paired) with approximately normal logarithms.
    If the trials have no scatter, the interval is a point. Raises ValueError for values that are
    not finite and above 0, unequal paired sides, and a margin or confidence outside of 0 to 1.
    """
    if not 0 < margin < 1 or not 0 < confidence < 1:
        raise ValueError(f"margin {margin}, confidence {confidence}: each must be between 0 and 1")
    old, new = _logarithms(baseline), _logarithms(contender)
    if paired and len(old) != len(new):
        raise ValueError(f"cannot pair {len(old)} baseline values with {len(new)} contender values")
    n = min(len(old), len(new))
    ratio = _exponential(mean(new) - mean(old)) if n else None
    if n < 2:
        return ComparisonResult(
            ratio=ratio, n=n, verdict="cannot tell", margin=margin, confidence=confidence
        )
    if paired:
        differences = list(map(operator.sub, new, old))
        difference, error = mean(differences), math.sqrt(variance(differences) / n)
        degrees: float = n - 1
    else:
        difference, error, degrees = _welch(old, new)
    p = t_two_sided(difference / error, degrees) if error else float(difference == 0)
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
    """The values of the baseline and of the contender, each in the order of the blocks. Only blocks
    (trial numbers) that both sides have are included.
    """
    blocks = sorted(baseline.keys() & contender.keys())
    return [baseline[block] for block in blocks], [contender[block] for block in blocks]


def adjusted(p_values: Sequence[float]) -> tuple[float, ...]:
    """The p values adjusted for their number.

    An adjusted p is the lowest false discovery rate (the average share of rejected hypotheses that
    are rejected wrongly) at which the hypothesis is rejected, for tests that are independent or
    positively dependent (Benjamini and Hochberg, J. R. Stat. Soc. B 57, 1995). For the p of rank k
    among m values it is m p / k, or the adjusted value of the next larger p if that is smaller
    (Yekutieli and Benjamini, J. Stat. Plan. Inference 82, 1999).
    Raises ValueError for a p outside of 0 to 1.
    """
    if any(not 0 <= p <= 1 for p in p_values):
        raise ValueError("a p value must be between 0 and 1")
    results, least = [1.0] * len(p_values), 1.0
    ranked = sorted(range(len(p_values)), key=p_values.__getitem__)
    for rank, at in reversed([*enumerate(ranked, start=1)]):
        least = min(least, p_values[at] * (len(p_values) / rank))
        results[at] = least
    return tuple(results)


def judged_together(
    comparisons: Sequence[ComparisonResult], rate: float = 0.05
) -> tuple[ComparisonResult, ...]:
    """The comparisons with their verdicts corrected for the number of comparisons.

    A verdict "different" remains if the adjusted p is at most ``rate``; otherwise it is replaced by
    "not shown to be different". ``smallest_ratio`` is computed again for a stricter significance
    level: if r of the m comparisons with a p value are rejected, it is ``rate`` (r + 1) / m, which
    one more rejection would need.
    """
    tested = [at for at, result in enumerate(comparisons) if result.p is not None]
    p_values = [comparisons[at].p or 0.0 for at in tested]
    together = dict(zip(tested, adjusted(p_values), strict=True))
    rejected = sum(p <= rate for p in together.values())
    level = rate * min(rejected + 1, len(tested)) / max(len(tested), 1)
    results = list(comparisons)
    for at, p_together in together.items():
        result = replace(results[at], p_together=p_together)
        if result.verdict == "different" and p_together > rate:
            result = replace(result, verdict="not shown to be different")
        error, degrees = result.standard_error, result.degrees
        if error is not None and degrees is not None:
            # A corrected comparison cannot detect a smaller ratio than the comparison alone.
            least = min(level, 1 - result.confidence)
            smallest = _smallest(error, degrees, least, result.margin)
            result = replace(result, smallest_ratio=smallest)
        results[at] = result
    return tuple(results)


def _smallest(error: float, degrees: float, level: float, margin: float) -> float:
    """The smallest ratio that a test at this two-sided level detects with probability ``POWER``."""
    least = (t_quantile(1 - level / 2, degrees) + t_quantile(POWER, degrees)) * error
    return max(_exponential(least), 1 + margin)


def _verdict(
    difference: float, error: float, degrees: float, p: float, margin: float, level: float
) -> Verdict:
    if p < level and abs(difference) >= margin:
        return "different"
    # Both one-sided tests must reject, so the test at the nearer bound decides.
    room = margin - abs(difference)
    # Without scatter, the difference is within the margin here: otherwise it was "different" above.
    outside = t_above(room / error, degrees) if error else 0.0
    return "same within the margin" if outside < level else "not shown to be different"


def _welch(old: Sequence[float], new: Sequence[float]) -> tuple[float, float, float]:
    """Difference of the means, its standard error, degrees of freedom, for independent samples."""
    difference = mean(new) - mean(old)
    old_share, new_share = variance(old) / len(old), variance(new) / len(new)
    total = old_share + new_share
    fewest = min(len(old), len(new)) - 1
    if not total:
        return difference, 0.0, fewest
    parts = (old_share / total) ** 2 / (len(old) - 1) + (new_share / total) ** 2 / (len(new) - 1)
    # Despite rounding, the degrees of freedom must not be fewer than those of the smaller side.
    return difference, math.sqrt(total), max(1 / parts, fewest)


def _logarithms(values: Sequence[float]) -> list[float]:
    if any(not value > 0 or math.isinf(value) for value in values):
        raise ValueError("only values above 0 have a ratio")
    return [math.log(value) for value in values]


def _exponential(logarithm: float) -> float:
    """The exponential; infinity instead of OverflowError."""
    try:
        return math.exp(logarithm)
    except OverflowError:
        return math.inf
