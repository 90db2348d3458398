"""What matters: the share of the differences between cells that each axis of a matrix explains.

A cell is a combination of one level (value) of each axis; its mean is that of its trials. Analysis
of variance divides the cell means into terms: a main effect of each axis, an interaction of each
pair, and the rest; of two axes, the rest is their pair. Cells have equal weight, whatever their
numbers of trials (unweighted means: Yates, J. Am. Stat. Assoc. 29, 1934). The scale is the unit of
the trials, or its natural logarithm, on which effects are ratios.

**Noise.** The variance of trials is pooled over the cells. Over the harmonic mean of the numbers of
trials it is that of a cell mean. This, times a term's degrees of freedom, is subtracted from its
sum of squares, as in omega squared (Hays, Statistics for Psychologists, 1963).

**Intervals.** The sum of squares of a term over the variance has a noncentral F distribution
(Steiger, Psychol. Methods 9, 2004, doi:10.1037/1082-989X.9.2.164). It is inverted as a generalised
confidence limit (Weerahandi, J. Am. Stat. Assoc. 88, 1993): averaged over the variances that the
residuals allow. Without an effect this is the F test, and with one degree of freedom Student's
interval; limits of the noncentrality itself would be too wide for strong effects. The limits of a
term and of all others make those of its share by MOVER (Donner and Zou, Stat. Methods Med. Res. 21,
2012, doi:10.1177/0962280210383082). `benchmarks/truth/effects.py` measures how often they hold.

**Empty cells.** A share is then the mean of what a term adds over all orders of the terms, axes
before pairs (LMG: Lindeman, Merenda and Gold, Introduction to Bivariate and Multivariate Analysis,
1980; Grömping, Am. Stat. 61, 2007). It may be above 0 without an effect, so its lower limit is 0
unless what the term adds to all others without its axes (type II) is above noise and rest.

**A sample** leaves too much empty for this. Only the pairs that it names are terms, and shares are
those that their estimated effects have in all cells. The rest is the error of all of them, and of
adjusted means (Searle, Speed and Milliken, Am. Stat. 34, 1980).

Assumes independent trials with approximately normal scatter that is alike in all cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, permutations, product
from typing import Any

import numpy as np

from netlab.stats import _beta, mean, pooled_deviation, t_quantile

TAIL = 0.025
"""Probability beyond each end of an interval."""
MOST_ORDERED, DRAWN_ORDERS = 6, 40
"""Of more terms than the first number, not all orders are used, but the second number."""
MOST_PARAMETERS = 1000
SMALL = 0.01
"""Without a known noise, axes whose interaction has a smaller share do not count as interacting."""
_INESTIMABLE = 1e-6
"""A mean whose coefficients are further than this from combinations of the cells' is not known."""
_NOTHING = 1e-12
"""A sum of squares up to this share of all squares is an error of rounding."""


@dataclass(frozen=True, slots=True)
class Term:
    """A main effect (one axis), an interaction (a pair), or the rest (all axes).

    ``share``: of the variation of the cell means, 0 to 1, with its 95 % interval (``None`` if no
    cell has two trials, and of the rest of a sample). ``degrees``: of freedom; with empty cells a
    mean over orders, which need not be whole. ``lost``: degrees of freedom that empty cells make
    impossible to estimate.
    """

    axes: tuple[str, ...]
    degrees: float
    lost: int
    share: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class AxisEffect:
    """The means of an axis's levels over the same combinations of the other axes.

    ``within``: axes that may interact with this one, each with its level. ``means``: level → mean
    (of logarithms the geometric mean) in the unit of the trials, and the ends of its 95 % interval
    if any cell has two trials. ``largest``: difference of two levels in this unit, or of logarithms
    as a share of the smaller mean; ``at_most``: upper end of its interval, or else itself.
    """

    axis: str
    within: Mapping[str, Any]
    means: Mapping[Any, tuple[float, ...]]
    largest: float
    at_most: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """The terms of one quantity of one kind of test (axes, pairs, rest), and the sizes of effects.

    ``empty``: number of combinations of levels without a cell. ``trials``: fewest and most of a
    cell. ``deviation``: standard deviation within cells, of the logarithms or in the unit of the
    trials, with its ``degrees`` of freedom; 0: the noise is not known.
    """

    axes: tuple[str, ...]
    terms: tuple[Term, ...]
    sizes: tuple[AxisEffect, ...]
    logarithmic: bool
    cells: int
    empty: int
    trials: tuple[int, int]
    deviation: float
    degrees: int

    def share_of(self, *axes: str) -> float:
        """The share of all terms that have only these axes, 0 to 1."""
        return math.fsum(term.share for term in self.terms if {*term.axes} <= {*axes})


def effects_of(
    axes: Mapping[str, Sequence[Any]],
    cells: Mapping[Any, Sequence[float]],
    *,
    logarithmic: bool,
    pairs: Sequence[tuple[str, str]] | None = None,
) -> Effects:
    """The effects of two axes or more, each of which has two levels or more.

    ``axes``: name → levels. ``cells``: a level of each axis → its trials; absent cells are empty.
    ``pairs``: of axes; the cells are a sample, and all other interactions belong to the rest.
    Raises ValueError for fewer axes, for a figure that has no logarithm, and for more than
    ``MOST_PARAMETERS`` levels, or pairs of levels.
    """
    if len(axes) < 2:
        raise ValueError("fewer than two settings vary among the cells with a figure")
    if logarithmic and min(map(min, cells.values())) <= 0:
        raise ValueError("a figure of 0, or below it, has no logarithm")
    trials = [[*map(math.log if logarithmic else float, own)] for own in cells.values()]
    means, shares = np.full((2, *map(len, axes.values())), np.nan)
    for key, own in zip(cells, trials, strict=True):
        place = tuple(levels.index(level) for levels, level in zip(axes.values(), key, strict=True))
        means[place], shares[place] = mean(own), 1 / len(own)
    deviation, degrees = pooled_deviation(trials)
    noise = deviation**2 * float(np.nanmean(shares)), degrees
    terms: Sequence[Term]
    sizes: Sequence[_LevelMeans]
    if pairs is None or len(cells) == means.size:
        half = deviation * t_quantile(1 - TAIL, degrees) if degrees else None
        terms = [*_terms(means, [*axes], noise)]
        sizes = [*_sizes(means, shares, axes, terms, half)]
    else:
        places = [tuple(sorted(map([*axes].index, pair))) for pair in pairs if len(axes) > 2]
        terms, sizes = _in_sample(means, noise, axes, [*dict.fromkeys(places)])
    return Effects(
        axes=tuple(axes),
        terms=tuple(terms),
        sizes=tuple(_axis_effect(size, logarithmic=logarithmic) for size in sizes),
        logarithmic=logarithmic,
        cells=len(cells),
        empty=means.size - len(cells),
        trials=(min(map(len, trials)), max(map(len, trials))),
        deviation=deviation,
        degrees=degrees,
    )


_Axes = tuple[int, ...]
_Squares = tuple[float, float]
"""A sum of squares, and its degrees of freedom."""
_Noise = tuple[float, int]
"""Variance of a cell mean, and its degrees of freedom."""
_LevelMeans = tuple[str, Mapping[str, Any], Sequence[Any], Any, Any]
"""As AxisEffect, with the levels, their means, and half their intervals, if they are known."""


def squares_of(means: Any) -> list[tuple[_Axes, _Squares, _Squares, int]]:
    """The terms of an array of cell means, which has a dimension for each axis, and NaN for an
    empty cell: dimensions, squares, squares of type II, parameters.
    """
    places = np.argwhere(~np.isnan(means))
    y = means[tuple(places.T)] - np.nanmean(means)
    axes = _columns(means.shape, places, [*combinations(range(means.ndim), 1)])
    two = [*combinations(range(means.ndim), 2)] if means.ndim > 2 else []
    pairs = _columns(means.shape, places, two)
    columns = {term: own - own.mean(axis=0) for term, own in (axes | pairs).items()}
    # On an orthonormal basis of all columns, there are as many rows as parameters.
    basis, _ = np.linalg.qr(np.hstack([*columns.values()]))

    @cache
    def explained(terms: frozenset[_Axes]) -> Any:
        if not terms:
            return np.zeros(2)
        block = basis.T @ np.hstack([columns[term] for term in terms])
        left, sizes, _ = np.linalg.svd(block, full_matrices=False)
        left = left[:, sizes > 1e-9 * sizes[0]]
        return np.array([((left.T @ (basis.T @ y)) ** 2).sum(), left.shape[1]])

    found = []
    for stage, before in ((axes, frozenset[_Axes]()), (pairs, frozenset(axes))):
        orders = [[*stage]] if len(y) == means.size else _orders([*stage])
        for term in stage:
            bases = [before.union(order[: order.index(term)]) for order in orders]
            bases.append(frozenset(other for other in columns if not {*term} <= {*other}))
            *steps, alone = [explained(base | {term}) - explained(base) for base in bases]
            found.append((term, np.mean(steps, axis=0), alone, columns[term].shape[1]))
    rest = np.array([y @ y, len(y) - 1]) - explained(frozenset(columns))
    if rest[1] > 0:
        whole = math.prod(n - 1 for n in means.shape) if means.ndim == 2 else round(rest[1])
        found.append((tuple(range(means.ndim)), rest, rest, whole))
    least = np.array([_NOTHING * (y @ y), 0])
    return [
        (term, *(tuple((own * (own > least)).tolist()) for own in both), parameters)
        for term, *both, parameters in found
    ]


def _columns(shape: Sequence[int], places: Any, terms: Sequence[_Axes]) -> dict[_Axes, Any]:
    """Term → its columns, a row for each place. The codes of the levels of an axis add up to 0; the
    level -1 is their mean.
    """
    if sum(math.prod(shape[at] - 1 for at in term) for term in terms) > MOST_PARAMETERS:
        raise ValueError(f"the effects of the settings have more than {MOST_PARAMETERS} parameters")
    columns = {}
    for term in terms:
        own = np.ones((len(places), 1))
        for at in term:
            codes = np.vstack([np.eye(shape[at] - 1), np.full(shape[at] - 1, -1)])
            one = np.vstack([codes, np.zeros(shape[at] - 1)])[places[:, at]]
            own = np.einsum("ij,ik->ijk", own, one).reshape(len(places), -1)
        columns[term] = own
    return columns


def _orders(terms: Sequence[_Axes]) -> list[Sequence[_Axes]]:
    if len(terms) <= MOST_ORDERED:
        return [*permutations(terms)]
    chance = np.random.default_rng(1)
    return [[terms[at] for at in chance.permutation(len(terms))] for _ in range(DRAWN_ORDERS)]


def _terms(means: Any, names: Sequence[str], noise: _Noise) -> Iterator[Term]:
    found = squares_of(means)
    true = [max(0.0, squares - degrees * noise[0]) for _, (squares, degrees), _, _ in found]
    total = [math.fsum(own) for own in zip(*(own for _, own, _, _ in found), strict=True)]
    beside = noise
    if np.isnan(means).any() and len(found[-1][0]) == means.ndim:
        # Terms are not orthogonal: what the rest adds may seem to be an effect of an axis.
        squares, degrees = found[-1][1]
        beside = max(noise, (squares / degrees, round(degrees)))
    for (term, own, alone, parameters), corrected in zip(found, true, strict=True):
        # Without any difference above the noise, each share is 0, with wide limits.
        share, low, high = corrected / (math.fsum(true) or 1.0), None, None
        if noise[1] and own[1]:
            rest = total[0] - own[0], total[1] - own[1]
            low, high = share_limits(own, (max(0.0, rest[0]), rest[1]), noise)
            error = noise if len(term) == means.ndim else beside
            low = low if _below(0.0, alone, error) > 1 - TAIL else 0.0
            low, high = min(low, share), max(high, share)
        axes = tuple(names[at] for at in term)
        yield Term(axes, own[1], parameters - round(alone[1]), share, low, high)


def share_limits(own: _Squares, rest: _Squares, noise: _Noise) -> tuple[float, float]:
    """The 95 % limits, 0 to 1, of the share of a term, by MOVER; ``rest``: all other terms."""
    (a, a_low, a_high), (b, b_low, b_high) = _limits(own, noise), _limits(rest, noise)

    def end(sign: int, of_a: float, of_b: float) -> float:
        return _root(lambda p: (1 - p) * a - p * b + sign * math.hypot((1 - p) * of_a, p * of_b), 1)

    # If the rest may be nothing, the share may be the whole, which bisection does not reach.
    return end(-1, a - a_low, b_high - b), end(1, a_high - a, b - b_low) if b_low else 1.0


def _limits(own: _Squares, noise: _Noise) -> tuple[float, float, float]:
    """The sum of squares that a term would have without noise, with its 95 % limits.

    The upper limit is at least that of the sum that noise alone is expected to give: a sum that is
    low by chance does not show that a term is small.
    """
    squares, expected = own[0], own[1] * noise[0]
    if not expected:
        return squares, squares, squares

    def limit(seen: float, chance: float) -> float:
        # In square roots, all limits are about equally far away.
        end = math.sqrt(seen) + math.sqrt(noise[0]) * (9 + 3 * t_quantile(1 - TAIL, noise[1]))
        return _root(lambda root: _below(root**2, (seen, own[1]), noise) - chance, end) ** 2

    low, high = limit(squares, 1 - TAIL), limit(max(squares, expected), TAIL)
    return min(max(squares - expected, low), high), low, high


def _root(falling: Callable[[float], float], end: float) -> float:
    """Where a function that falls between 0 and ``end`` is 0; 0 if it begins below."""
    if falling(0.0) <= 0:
        return 0.0
    low, high = 0.0, end
    for _ in range(32):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return (low + high) / 2


def _below(true: float, own: _Squares, noise: _Noise) -> float:
    """The probability that a term's sum of squares is at most its own if it is ``true`` without
    noise, averaged over the variances that the residuals allow: the F distribution if ``true`` is
    0, else noncentral chi-squared distributions by their cube roots (Abdel-Aty, Biometrika 41,
    1954).
    """
    (squares, degrees), (variance, of_variance) = own, noise
    if not squares or not degrees or not variance:
        return float(true < squares)
    if not true:
        within = of_variance * variance
        total = squares + within
        return _beta(degrees / 2, of_variance / 2, squares / total, within / total)
    # Chi-squared by the trapezoidal rule over the logarithm of the estimated to the true variance.
    chance = weights = 0.0
    for step in range(-20, 11):
        log = step / 2 * math.sqrt(2 / of_variance)
        weight, ratio = math.exp(of_variance / 2 * (log - math.expm1(log))), math.exp(log)
        middle = degrees + true / variance * ratio
        b = 2 / 9 * (2 * middle - degrees) / middle**2
        z = ((squares / variance * ratio / middle) ** (1 / 3) - 1 + b) / math.sqrt(b)
        chance += weight * math.erfc(-z / math.sqrt(2)) / 2
        weights += weight
    return chance / weights


def _is_above(term: Term) -> bool:
    """Whether a term is above the noise; if the noise is not known, whether it is not small."""
    return term.share >= SMALL if term.low is None else term.low > 0


def _sizes(
    means: Any,
    shares: Any,
    axes: Mapping[str, Sequence[Any]],
    terms: Sequence[Term],
    half: float | None,
) -> Iterator[_LevelMeans]:
    """The effects of each axis, within each combination of the axes that interact with it: above
    the noise, or so that it cannot be excluded. ``half``: half the interval of a trial.
    """
    joint = [t.axes for t in terms if t.axes[1:] and (t.lost or _is_above(t))]
    names = [*axes]
    for name in names:
        partners = {other for term in joint if name in term for other in term}
        order = sorted(names, key=lambda other: (other != name, other not in partners))
        inner = {other: axes[other] for other in order[1:] if other in partners}
        shape = len(axes[name]), math.prod(map(len, inner.values())), -1
        table = [v.transpose([*map(names.index, order)]).reshape(shape) for v in (means, shares)]
        for at, place in enumerate(product(*inner.values())):
            # Like is compared with like: in the same combinations, none of which is empty.
            here = ~np.isnan(table[0][:, at]).all(axis=1)
            whole = ~np.isnan(table[0][here, at]).any(axis=0)
            if here.sum() < 2 or not whole.any():
                continue
            own, own_shares = (values[here, at][:, whole] for values in table)
            middles = own.mean(axis=1)
            halves = (half or 0.0) * np.sqrt(own_shares.sum(axis=1)) / own.shape[1]
            levels = [level for level, shown in zip(axes[name], here, strict=True) if shown]
            within = dict(zip(inner, place, strict=True))
            yield name, within, levels, middles, None if half is None else halves


class _Model:
    """Main effects and pairs, fitted to the cell means of a sample by least squares. What they
    leave is their error: noise, and all that is not measured.
    """

    def __init__(self, means: Any, terms: Sequence[_Axes], noise: _Noise) -> None:
        self.shape, self.terms, places = means.shape, [(), *terms], np.argwhere(~np.isnan(means))
        self.rows = np.hstack([*_columns(self.shape, places, self.terms).values()])
        self.inverse, self.y = np.linalg.pinv(self.rows), means[tuple(places.T)]
        leverage = np.einsum("ij,ji->i", self.rows, self.inverse)
        left, degrees = self.y - self.rows @ self.inverse @ self.y, len(places) - leverage.sum()
        free = np.maximum(1 - leverage, _INESTIMABLE)
        self.of_cells = np.where(free > _INESTIMABLE, left / free, 0) ** 2
        self.error = noise
        if round(degrees):
            self.error = max(noise, (float(left @ left / degrees), round(degrees)))

    def weights(self, levels: Mapping[int, Any], term: _Axes | None = None) -> Any:
        """The weights of the cells in the mean of each combination of these levels of some axes,
        over all others; or in the effect of ``term`` there. NaN if the cells do not tell it.
        """
        places = np.array([*product(*(levels.get(at, [-1]) for at in range(len(self.shape))))])
        columns = _columns(self.shape, places, self.terms)
        asked = np.hstack([own * (term in (None, of)) for of, own in columns.items()])
        found = asked @ self.inverse
        found[abs(found @ self.rows - asked).max(axis=1) > _INESTIMABLE] = math.nan
        return found

    def halves(self, weights: Any) -> Any:
        """Half the intervals of means. As errors may differ between cells, a variance is the larger
        of the usual one and HC3 (MacKinnon and White, J. Econometrics 29, 1985), with the degrees
        of freedom of as many cells as have weight (Satterthwaite, Biom. Bull. 2, 1946).
        """
        squares = weights**2
        variances = np.maximum(self.error[0] * squares.sum(axis=1), squares @ self.of_cells)
        many = squares.sum(axis=1) ** 2 / (squares**2).sum(axis=1) - 1
        degrees = np.clip(many, 1, self.error[1]).tolist()
        return np.sqrt(variances) * [t_quantile(1 - TAIL, own) for own in degrees]


def _in_sample(
    means: Any, noise: _Noise, axes: Mapping[str, Sequence[Any]], named: Sequence[_Axes]
) -> tuple[list[Term], list[_LevelMeans]]:
    """The terms of a sample, as they are in all cells; and the effects of each axis, over all
    others, and within the levels of one if the two are a named pair with an effect. ValueError.
    """
    names, levels = [*axes], {at: range(size) for at, size in enumerate(means.shape)}
    every = [*((at,) for at in levels), *named]
    model = _Model(means, every, noise)
    of_term = {term: {at: levels[at] for at in term} for term in every}
    sizes_of = {term: math.prod(means.shape[at] - 1 for at in term) for term in every}
    lost = {term for term in named if np.isnan(model.weights(of_term[term], term)).any()}
    if lost:  # without them, each axis can be estimated
        model = _Model(means, [term for term in every if term not in lost], noise)
    number, (error, degrees), found = len(model.y), model.error, []
    for term in (term for term in every if term not in lost):
        weights, size = model.weights(of_term[term], term), sizes_of[term]
        if np.isnan(weights).any():
            raise ValueError("the cells with a figure do not tell the settings apart")
        squares = number * float(np.mean((weights @ model.y) ** 2))
        chance = number * error * float((weights**2).sum(axis=1).mean()) / size, degrees
        found.append((term, (squares, size), chance, max(0.0, squares - size * chance[0])))
    rest = (number - 1) * (error - noise[0])
    total = math.fsum([rest, *(true for *_, true in found)]) or 1.0
    terms, sizes = [], list[_LevelMeans]()
    for term, own, chance, true in found:
        low = high = None
        if degrees:  # as if the variation of all else were known
            low, high = (end / (end + total - true or 1.0) for end in _limits(own, chance)[1:])
            low = min(low, true / total) if _below(0.0, own, chance) > 1 - TAIL else 0.0
        terms.append(Term(tuple(names[at] for at in term), own[1], 0, true / total, low, high))
    terms += [Term(tuple(names[at] for at in term), 0, sizes_of[term], 0.0) for term in lost]
    if degrees:
        terms.append(Term(tuple(names), degrees, 0, rest / total))
    joint = [{*term} for (term, *_), own in zip(found, terms, strict=False) if term[1:] and own.low]
    for at, name in enumerate(names):
        within = [{o: [n]} for pair in joint if at in pair for o in pair - {at} for n in levels[o]]
        for fixed in [{}, *within]:
            weights = model.weights({**fixed, at: levels[at]})
            halves = model.halves(weights) if degrees else None
            place = {names[other]: axes[names[other]][n] for other, (n,) in fixed.items()}
            sizes.append((name, place, axes[name], weights @ model.y, halves))
    return terms, sizes


def _axis_effect(size: _LevelMeans, *, logarithmic: bool) -> AxisEffect:
    name, within, levels, middles, halves = size
    value, distance = (math.exp, math.expm1) if logarithmic else (float, float)
    known = np.zeros(len(middles)) if halves is None else halves
    # The upper end of the largest true difference is at most the largest of all upper ends.
    ends = abs(middles[:, None] - middles) + np.hypot(known[:, None], known)
    np.fill_diagonal(ends, 0)
    rows = zip(middles, middles - known, middles + known, strict=True)
    shown = (tuple(map(value, row[: 1 if halves is None else 3])) for row in rows)
    figures = dict(zip(levels, shown, strict=True)), distance(np.ptp(middles))
    return AxisEffect(name, within, *figures, distance(ends.max()))
