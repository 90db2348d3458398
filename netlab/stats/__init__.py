"""Statistics of trials, with their sources: scatter, intervals, outliers, and comparisons.

Every deviation has the unit of its values; the variance has the square of this unit. The names are
exact, because published tables often confuse these measures: a column "Var" may hold a mean
absolute deviation. The unit of analysis is the trial: values within one trial, such as one for each
second, are autocorrelated, so they are never used as independent values.

Student's t: P(|T| > t) with ν degrees of freedom is the regularised incomplete beta function
I_x(ν/2, 1/2) at x = ν / (ν + t²) (Abramowitz and Stegun 26.5.27; DLMF 8.17), from the continued
fraction DLMF 8.17.22 by the modified method of Lentz (Numerical Recipes, 3rd edition, 6.4). The
relative error against the closed forms for whole degrees (Abramowitz and Stegun 26.7.3, 26.7.4) is
under 1e-10 up to 1,000 degrees. The tests compare the fraction with the closed forms, and both with
a printed table.

Outliers are along an axis, a setting with several values, or among the trials of one cell. A
deviation is a multiple of a scale. The scale is at least 1 % of the median, and at least three
units of the last printed digit of imported figures. So tiny deviations in a series with little
scatter are not outliers.

Comparisons of two sets of trials (different, equivalent within a margin, or inconclusive) are of
ratios, by their logarithms, so that one percent up and one percent down have equal weight. Trials
of one run are paired by their block (trials with the same number), so that a drift of the lab
cancels out. Trials of two runs are not paired: no test of their trials can distinguish a change of
the environment from the effect under study. Rank tests are not offered: with 3 or 5 trials, even
their smallest possible p value is too large to reject a hypothesis if a hundred hypotheses are
judged together.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import chain, repeat
from statistics import NormalDist
from typing import Literal


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean, from the exact sum, rounded once; ValueError without values."""
    try:
        near = math.fsum(values) / len(values)
        remainder = math.fsum(chain(values, repeat(-near, len(values)))) / len(values)
        # If adding a little more than the remainder does not change the float, no other float is
        # closer to the exact mean.
        if near + 1.01 * remainder == near:
            return near
    except (OverflowError, ValueError, ZeroDivisionError):
        pass
    return float(_exact_mean(values, "mean"))


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the two in the middle; ValueError without values."""
    if not values:
        raise ValueError("no values: nothing has a median")
    sorted_values = sorted(values)
    half = len(sorted_values) // 2
    return sorted_values[half] if len(values) % 2 else mean(sorted_values[half - 1 : half + 1])


def variance(values: Sequence[float]) -> float:
    """The sample variance: the sum of squared deviations divided by n - 1 (NIST/SEMATECH e-Handbook
    of Statistical Methods, 1.3.5.6); ValueError for fewer than two values.
    """
    if len(values) < 2:
        raise ValueError(f"{len(values)} values: a variance needs at least 2")
    middle = math.fsum(values) / len(values)
    deviations = [value - middle for value in values]
    # The second sum corrects the rounding of the mean (Chan, Golub and LeVeque, The American
    # Statistician 37, 1983: the corrected two-pass algorithm).
    squares = math.fsum(deviation * deviation for deviation in deviations)
    return max(0.0, squares - math.fsum(deviations) ** 2 / len(values)) / (len(values) - 1)


def standard_deviation(values: Sequence[float]) -> float:
    """The sample standard deviation: the square root of ``variance``, with the same errors."""
    return math.sqrt(variance(values))


def pooled_deviation(groups: Sequence[Sequence[float]]) -> tuple[float, int]:
    """The standard deviation within groups, pooled over the groups of at least two values, and its
    degrees of freedom; 0 and 0 without such groups (NIST/SEMATECH e-Handbook, 6.3.2).
    """
    repeated = [group for group in groups if len(group) > 1]
    degrees = sum(len(group) - 1 for group in repeated)
    squares = math.fsum((len(group) - 1) * variance(group) for group in repeated)
    return (math.sqrt(squares / degrees), degrees) if degrees else (0.0, 0)


def mean_absolute_deviation(values: Sequence[float]) -> float:
    """The mean distance from the mean (divisor n; NIST/SEMATECH e-Handbook, 1.3.5.6: "average
    absolute deviation"); ValueError without values.
    """
    middle = _exact_mean(values, "mean absolute deviation")
    return float(sum(abs(Fraction(value) - middle) for value in values) / len(values))


def median_absolute_deviation(values: Sequence[float]) -> float:
    """The median distance from the median (Hampel, J. Am. Stat. Assoc. 69, 1974), unscaled.

    Multiplied by 1.4826, it estimates the standard deviation of normal values. Raises ValueError
    without values.
    """
    middle = median(values)
    return median([abs(value - middle) for value in values])


def rounded(value: float, decimals: int) -> Decimal:
    """``value`` with this many decimals, halves away from zero, as in printed tables.

    The value is rounded from the shortest decimal that reads back as the same float. So 0.125 and
    91.465 are halves, although the float nearest to 91.465 is below it.
    """
    return Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)


def _exact_mean(values: Sequence[float], name: str) -> Fraction:
    if not values:
        raise ValueError(f"no values: nothing has a {name}")
    return Fraction(sum(map(Fraction, values))) / len(values)


_MOST_TERMS = 10_000
_MOST_STEPS = 200
_ULP = 2.3e-16
_SMALLEST = 1e-300


def t_two_sided(t: float, degrees: float) -> float:
    """The probability that Student's t with ``degrees`` of freedom is outside of ±t.

    ``degrees`` need not be whole (Welch); if it is below 1, ValueError. The result is 1 at t = 0,
    and 0 for an infinite t.
    """
    _check_degrees(degrees)
    square = t * t
    if math.isinf(square):
        return 0.0
    return _beta(degrees / 2, 0.5, degrees / (degrees + square), square / (degrees + square))


def t_above(t: float, degrees: float) -> float:
    """The probability that Student's t is greater than ``t``; ``degrees`` as in ``t_two_sided``."""
    tail = t_two_sided(t, degrees) / 2
    return tail if t >= 0 else 1 - tail


@lru_cache(maxsize=4096)
def t_quantile(probability: float, degrees: float) -> float:
    """The quantile of Student's t: with this probability, t is below it.

    ``probability`` is between 0 and 1, ``degrees`` is at least 1; otherwise ValueError. Newton's
    method looks for the angle whose tangent is t / √ν, to the precision of a float. The method
    starts at the normal quantile, and works on the logarithm of the probability outside of ±t. A
    step that would leave the bracket is replaced by a step to the middle of the bracket.
    """
    if not 0 < probability < 1:
        raise ValueError(f"no t quantile at {probability}: a probability must be between 0 and 1")
    _check_degrees(degrees)
    if probability < 0.5:
        return -t_quantile(1 - probability, degrees)
    target = 2 * (1 - probability)
    # The density over the angle is this factor, with Γ((ν + 1) / 2) / Γ(ν / 2), times the cosine to
    # the power ν - 1.
    gamma_ratio = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2))
    top = 2 / math.sqrt(math.pi) * gamma_ratio
    low, high = 0.0, math.pi / 2
    angle = math.atan(NormalDist().inv_cdf(probability) / math.sqrt(degrees))
    for _ in range(_MOST_STEPS):
        sine, cosine = math.sin(angle), math.cos(angle)
        outside = _beta(degrees / 2, 0.5, cosine * cosine, sine * sine)
        low, high = (angle, high) if outside > target else (low, angle)
        slope = top * cosine ** (degrees - 1)
        step = math.log(outside / target) * outside / slope if outside and slope else math.inf
        nearer = angle + step
        if not low <= nearer <= high:
            nearer = (low + high) / 2
        if abs(nearer - angle) <= _ULP * angle:
            break
        angle = nearer
    return math.sqrt(degrees) * math.tan(angle)


def _check_degrees(degrees: float) -> None:
    if not degrees >= 1:
        raise ValueError(f"no t distribution with {degrees} degrees of freedom")


def _beta(a: float, b: float, x: float, complement: float) -> float:
    """The regularised incomplete beta function I_x(a, b) for an x above 0. ``complement`` is 1 - x;
    it is passed as well, because the subtraction would lose digits.
    """
    if complement <= 0:
        return 1.0
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(logarithm + a * math.log(x) + b * math.log(complement))
    # The fraction converges fast if x is below about the mean of the distribution. Above it, the
    # fraction of the complement is used.
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, complement) / b


def _fraction(a: float, b: float, x: float) -> float:
    """1 / (1 + d1 / (1 + d2 / (1 + …))) of DLMF 8.17.22, evaluated from the front."""
    numerator, denominator = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    value = denominator
    for m in range(1, _MOST_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            denominator = 1 / _away_from_zero(1 + term * denominator)
            numerator = _away_from_zero(1 + term / numerator)
            value *= numerator * denominator
        if abs(numerator * denominator - 1) < 1e-16:
            break
    return value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _SMALLEST else _SMALLEST


MIN_TRIALS = 3
"""Minimum number of trials for an interval. With two trials, an interval at 95 % would reach 12.7
standard errors to each side of the mean."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its confidence interval; all values in the unit of the trials."""

    mean: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Distance from the mean to each end."""
        return (self.high - self.low) / 2


def interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """Student's interval of the mean of at least 3 independent trials.

    mean ± t(n - 1) s / √n with the sample deviation s ("Student", Biometrika 6, 1908). Assumes
    independent trials with approximately normal scatter. Raises ValueError for fewer trials, or a
    confidence outside of 0 to 1.
    """
    half, middle = _half_width(values, confidence), mean(values)
    return Interval(middle, middle - half, middle + half)


def half_width_share(values: Sequence[float], confidence: float = 0.95) -> float:
    """Half the width of ``interval``, as a share of the mean's absolute value.

    Infinite if the mean is 0 and the values differ. Raises the same errors as ``interval``.
    """
    half = _half_width(values, confidence)
    middle = math.fsum(values) / len(values)
    if half == 0:
        return 0.0
    return half / abs(middle) if middle else math.inf


def precise(values: Sequence[float], within: float, confidence: float = 0.95) -> bool:
    """Whether the mean is precise at two successive checks: with all values, and without the last
    one.

    A mean is precise if its interval is within ± ``within`` (a share of the mean). ``values`` are
    in the order of their trials; fewer than 4 are never precise.

    If measuring stops as soon as the mean is precise, it stops too early where the scatter looks
    small by chance. So the interval contains the true mean less often than ``confidence`` says.
    In a simulation with ± 2.5 % at 95 % requested (5 to 30 normal trials per cell, 20,000 cells
    each), it contained the mean in 93 to 95 % of all cells, but only in 84 % of the cells that
    scatter by 8 % and become precise by chance. (A cell is a set of trials of one test.)
    """
    if len(values) <= MIN_TRIALS:
        return False
    return all(half_width_share(part, confidence) <= within for part in (values, values[:-1]))


def _half_width(values: Sequence[float], confidence: float) -> float:
    n = len(values)
    if n < MIN_TRIALS:
        raise ValueError(f"{n} trials: an interval needs at least {MIN_TRIALS}")
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence of {confidence}: a confidence must be between 0 and 1")
    return t_quantile((1 + confidence) / 2, n - 1) * math.sqrt(variance(values) / n)


NEIGHBOURS = 6
LEAST_NEIGHBOURS = 4
AXIS_LIMIT = 6.0
"""Maximum distance, in scales, of a value on an axis from the median of its neighbours."""
STEP_LIMIT = 5.0
"""The same maximum for two adjacent values that deviate in the same direction."""

SIBLINGS_LIMIT = 3.5
"""Maximum modified z score (Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993)."""
LEAST_SIBLINGS = 5

TO_DEVIATION = 1.4826
"""Factor from a median absolute deviation to a standard deviation, for normal values."""


@dataclass(frozen=True, slots=True)
class Outlier:
    """A value that is an outlier, or part of a step."""

    index: int
    """Index in the values."""
    value: float
    expected: float
    """The median of its neighbours on the axis, or of all trials of its cell."""
    scale: float
    """Scale of the deviation, in the values' unit."""
    kind: Literal["outlier", "step"]
    """``step``: its neighbour on the axis deviates in the same direction, so neither of the two
    values is an error."""


def outliers_on_axis(
    values: Sequence[float | None], print_step: float = 0.0
) -> tuple[Outlier, ...]:
    """The outliers and steps of a series.

    ``values`` are in the axis's order; ``None``: not measured. ``print_step`` is one unit in the
    last printed digit of imported figures, otherwise 0. Each value x is compared with the median m
    of the 6 nearest other measured values (one-sided at the ends; fewer than 4 are not enough). The
    value is an outlier if |x - m| > 6 s. The scale s is the largest of 1.4826 times the median
    absolute deviation of these values, 1 % of m, and 3 ``print_step``: Hampel's identifier (J. Am.
    Stat. Assoc. 69, 1974) with a minimum scale. Two adjacent values that deviate in the same
    direction by more than 5 s each are a step of the series, not outliers. Assumes a series that is
    smooth over seven values. Both limits were chosen with knowledge of the tables of one report
    from 2004; in series with normal scatter, about 1 value in 100 exceeds them.
    """
    known = [(index, value) for index, value in enumerate(values) if value is not None]
    if len(known) <= LEAST_NEIGHBOURS:
        return ()
    strays: dict[int, Outlier] = {}
    for place, (index, value) in enumerate(known):
        others = sorted((abs(at - place), at, y) for at, (_, y) in enumerate(known) if at != place)
        near = [figure for _distance, _at, figure in others[:NEIGHBOURS]]
        middle, scale = _middle_and_scale(near, print_step)
        if abs(value - middle) > STEP_LIMIT * scale:
            strays[place] = Outlier(index, value, middle, scale, "outlier")
    # A stray is part of a step if a neighbour deviates in the same direction.
    above = {place: stray.value > stray.expected for place, stray in strays.items()}
    return tuple(
        replace(stray, kind="step") if is_step else stray
        for place, stray in strays.items()
        if (is_step := above[place] in (above.get(place - 1), above.get(place + 1)))
        or abs(stray.value - stray.expected) > AXIS_LIMIT * stray.scale
    )


def outliers_among_siblings(
    values: Sequence[float], print_step: float = 0.0
) -> tuple[Outlier, ...]:
    """The outliers among the trials of one cell, whose modified z score is above 3.5; the scale has
    the same minimum as in ``outliers_on_axis``.

    Empty for fewer than 5 trials.
    """
    if len(values) < LEAST_SIBLINGS:
        return ()
    middle, scale = _middle_and_scale(values, print_step)
    return tuple(
        Outlier(index, value, middle, scale, "outlier")
        for index, value in enumerate(values)
        if abs(value - middle) > SIBLINGS_LIMIT * scale
    )


def _middle_and_scale(values: Sequence[float], print_step: float) -> tuple[float, float]:
    middle = median(values)
    deviation = TO_DEVIATION * median_absolute_deviation(values)
    return middle, max(deviation, 0.01 * abs(middle), 3 * print_step)


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
