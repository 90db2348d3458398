"""Shares of variation agree with statsmodels, and their intervals hold in drawn matrices."""

from __future__ import annotations

import math
import random
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from draws import chance, drawn, seeds
from folders import REPORTS
from scipy import integrate
from scipy import stats as scipy_stats

from benchmarks.truth.effects import LEAST_HELD, LEAST_NULL, Scenario, count_of
from netlab.findings.analysis import load
from netlab.stats import effects, pooled_deviation, t_quantile
from netlab.stats.effects import effects_of, squares_of


def drawn_shape(draw: random.Random, axes: int = 0) -> list[int]:
    return [draw.randint(2, 4) for _ in range(axes or draw.randint(2, 4))]


def named(shape: list[int]) -> dict[str, range]:
    return {"abcd"[at]: range(size) for at, size in enumerate(shape)}


def oracle(
    cells: dict[tuple[int, ...], list[float]], order: int, kind: int
) -> dict[tuple[int, ...], float]:
    """Term → its sum of squares by statsmodels, of a model with all terms up to this order."""
    formulae = pytest.importorskip("statsmodels.formula.api")
    anova = pytest.importorskip("statsmodels.stats.anova")
    axes = range(len(next(iter(cells))))
    rows = [(*place, value) for place, values in cells.items() for value in values]
    frame = pd.DataFrame(rows, columns=[*("abcd"[at] for at in axes), "y"])
    words = {"abcd"[at]: f"C({'abcd'[at]}, Sum)" for at in axes}
    terms = [[*own] for size in range(1, order + 1) for own in combinations([*words], size)]
    formula = " + ".join(":".join(words[name] for name in term) for term in terms)
    fit = formulae.ols(f"y ~ {formula}", frame).fit()
    table = anova.anova_lm(fit, typ=kind)["sum_sq"]
    return {
        tuple("abcd".index(name) for name in term): table[":".join(words[n] for n in term)]
        for term in terms
    }


def drawn_cells(
    shape: list[int], draw: random.Random, repeats: tuple[int, int], empty: float = 0.0
) -> dict[tuple[int, ...], list[float]]:
    """Trials with effects of every kind; a cell is empty with this probability."""
    cells = {}
    slopes = [draw.uniform(-3, 3) for _ in shape]
    for place in product(*map(range, shape)):
        middle = sum(slope * level for slope, level in zip(slopes, place, strict=True))
        middle += 2 * place[0] * place[-1] + draw.gauss(0, 1)
        if draw.random() >= empty:
            cells[place] = [draw.gauss(middle, 1) for _ in range(draw.randint(*repeats))]
    return cells


def means_of(shape: list[int], cells: dict[tuple[int, ...], list[float]]) -> Any:
    means = np.full(shape, np.nan)
    for place, values in cells.items():
        means[place] = np.mean(values)
    return means


@pytest.mark.parametrize("seed", seeds(6, 60))
@pytest.mark.parametrize("kind", [2, 3])
def test_squares_of_designs_with_equal_repeats_agree_with_statsmodels(seed: int, kind: int) -> None:
    draw = chance(seed)
    shape, repeats = drawn_shape(draw), draw.randint(2, 3)
    cells = drawn_cells(shape, draw, (repeats, repeats))
    expected = oracle(cells, min(2, len(shape)), kind)
    found = {term: own[0] * repeats for term, own, *_ in squares_of(means_of(shape, cells))}
    for term, squares in expected.items():
        assert found[term] == pytest.approx(squares, rel=1e-7)


@pytest.mark.parametrize("seed", seeds(6, 60))
def test_squares_of_two_levels_with_unequal_repeats_agree_with_type_iii(seed: int) -> None:
    # With two levels an effect is one contrast of the cells, so unweighted means are type III.
    draw = chance(seed)
    shape = [2] * draw.randint(2, 3)
    cells = drawn_cells(shape, draw, (1, 5))
    expected = oracle(cells, len(shape), 3)
    harmonic = len(cells) / sum(1 / len(values) for values in cells.values())
    for term, own, *_ in squares_of(means_of(shape, cells)):
        assert own[0] * harmonic == pytest.approx(expected[term], rel=1e-7)


@pytest.mark.parametrize("seed", seeds(6, 60))
def test_what_a_term_adds_to_all_others_agrees_with_type_ii_with_empty_cells(seed: int) -> None:
    draw = chance(seed)
    shape, found = [3, 3, draw.randint(3, 4)], None
    # statsmodels refuses a pair that empty cells make impossible to estimate, and to have no rest.
    while found is None or any(own[2][1] != own[3] for own in found[:6]) or len(found) < 7:
        means = means_of(shape, drawn_cells(shape, draw, (1, 1), empty=0.15))
        found = squares_of(means)
    cells = {place: [means[place]] for place in map(tuple, np.argwhere(~np.isnan(means)).tolist())}
    expected = oracle(cells, 2, 2)
    for term, _own, alone, _parameters in found:
        if len(term) < 3:
            assert alone[0] == pytest.approx(expected[term], rel=1e-6)


@pytest.mark.parametrize("name", ["lab-report", "lab-report-lab"])
def test_the_squares_of_the_printed_and_of_the_measured_lab_report_agree_with_statsmodels(
    name: str,
) -> None:
    """The logarithms of TCP's 208 cells: two systems, message size, socket buffer. Over UDP no
    stream between two Windows hosts was printed, which statsmodels refuses.
    """
    trials = load(REPORTS / name).trials
    axes: list[list[Any]] = [[], [], [], []]
    means = np.full((2, 2, 4, 13), np.nan)
    for trial in trials:
        if trial.protocol == "TCP":
            levels = [*trial.pairing, trial.message_bytes, trial.settings["socket_buffer_bytes"]]
            for known, level in zip(axes, levels, strict=True):
                if level not in known:
                    known.append(level)
            place = tuple(known.index(level) for known, level in zip(axes, levels, strict=True))
            means[place] = math.log(trial.number("throughput_bit_per_s") or math.nan)
    cells = {place: [means[place]] for place in map(tuple, np.argwhere(~np.isnan(means)).tolist())}
    expected, whole = oracle(cells, 2, 2), len(cells) == means.size
    found = squares_of(means)
    (total,) = {sum((value - np.nanmean(means)) ** 2 for (value,) in cells.values())}
    checked = 0
    for term, own, alone, parameters in found:
        if len(term) < 4 and alone[1] == parameters:
            checked += 1
            assert alone[0] == pytest.approx(expected[term], rel=1e-6, abs=1e-9 * total)
            assert not whole or own[0] == pytest.approx(expected[term], rel=1e-6, abs=1e-9 * total)
    assert checked >= (10 if whole else 4)
    assert math.fsum(own[0] for _term, own, *_ in found) == pytest.approx(total)


@pytest.mark.parametrize("seed", seeds(6, 60))
def test_shares_with_empty_cells_are_means_over_all_orders_of_entry(seed: int) -> None:
    draw = chance(seed)
    shape = drawn_shape(draw, axes=3)
    means = means_of(shape, drawn_cells(shape, draw, (1, 1), empty=0.2))
    places = np.argwhere(~np.isnan(means))
    y = means[tuple(places.T)]

    def explained(axes: tuple[int, ...]) -> float:
        """By dummy variables of each axis, unlike the orthonormal basis of the code."""
        columns = [np.ones(len(y)), *(places[:, at] == n for at in axes for n in range(shape[at]))]
        design = np.column_stack(columns).astype(float)
        fitted = design @ np.linalg.pinv(design) @ y
        return float(((fitted - y.mean()) ** 2).sum())

    found = squares_of(means)
    for at in range(3):
        orders = [order[: order.index(at)] for order in permutations(range(3))]
        added = [explained((*before, at)) - explained(before) for before in orders]
        assert found[at][1][0] == pytest.approx(float(np.mean(added)), rel=1e-6, abs=1e-9)
    total = float(((y - y.mean()) ** 2).sum())
    assert sum(own[0] for _term, own, *_ in found) == pytest.approx(total)


@pytest.mark.parametrize("seed", seeds(5, 50))
def test_the_f_test_and_noncentral_chi_squared_agree_with_scipy(seed: int) -> None:
    draw = chance(seed)
    degrees, of_variance = draw.randint(1, 30), draw.randint(2, 60)
    variance, squares = draw.uniform(0.1, 5), draw.uniform(0.1, 200)
    noise, own = (variance, of_variance), (squares, float(degrees))
    f = squares / degrees / variance
    expected = scipy_stats.f.cdf(f, degrees, of_variance)
    assert effects._below(0.0, own, noise) == pytest.approx(expected, rel=1e-9)
    true = draw.uniform(0.05, 2) * squares

    def weighted(ratio: float) -> float:
        """The true variance is the estimated one over ``ratio``, chi-squared over its degrees."""
        weight = scipy_stats.chi2.pdf(ratio * of_variance, of_variance) * of_variance
        scale = variance / ratio
        return float(weight * scipy_stats.ncx2.cdf(squares / scale, degrees, true / scale))

    ends = scipy_stats.chi2.ppf([1e-9, 1 - 1e-9], of_variance) / of_variance
    averaged, _error = integrate.quad(weighted, *ends, limit=200)
    # The cube root is an approximation: of 1,500 drawn cases, one in a hundred is 0.01 off, and the
    # worst 0.02, with one or two degrees of freedom.
    assert effects._below(true, own, noise) == pytest.approx(averaged, abs=0.025)


@pytest.mark.parametrize("degrees", [2, 5, 12, 40])
def test_the_limits_of_a_strong_contrast_are_those_of_students_interval(degrees: int) -> None:
    contrast, variance = 30.0, 1.7
    half = t_quantile(0.975, degrees) * math.sqrt(variance)
    _middle, low, high = effects._limits((contrast**2, 1.0), (variance, degrees))
    assert math.sqrt(low) == pytest.approx(contrast - half, rel=0.01)
    assert math.sqrt(high) == pytest.approx(contrast + half, rel=0.01)


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario((2, 3), interacts=False, noise=1.0, repeats=(3, 3)),
        Scenario((2, 2, 5), interacts=True, noise=1.0, repeats=(2, 5)),
        Scenario((4, 4), interacts=True, noise=0.1, repeats=(5, 5)),
        Scenario((4, 4), interacts=True, noise=0.1, repeats=(3, 3), empty=0.1),
    ],
    ids=lambda scenario: scenario.words,
)
def test_intervals_contain_the_true_share_and_0_for_an_axis_without_effect(
    scenario: Scenario,
) -> None:
    count = count_of(scenario, drawn(200, 1000), seed=2)
    assert count.held / count.intervals >= LEAST_HELD
    assert count.null_held / count.null >= LEAST_NULL


def test_the_noise_is_subtracted_with_the_harmonic_mean_of_the_trials() -> None:
    cells = {
        (0, 0): [1.0, 3.0],
        (0, 1): [2.0],
        (1, 0): [6.0, 8.0, 10.0, 8.0],
        (1, 1): [8.0],
    }
    found = effects_of({"a": (0, 1), "b": (0, 1)}, cells, logarithmic=False)
    deviation, degrees = pooled_deviation([*cells.values()])
    assert (found.deviation, found.degrees) == (deviation, degrees) == (math.sqrt(2.5), 4)
    # The cell means are 2, 2, 8, 8: a has the sum of squares 36; 1/n is 1/2, 1, 1/4, 1.
    variance = 2.5 * (0.5 + 1 + 0.25 + 1) / 4
    assert [term.share for term in found.terms] == pytest.approx([1.0, 0.0, 0.0])
    limits = effects.share_limits((36.0, 1.0), (0.0, 2.0), (variance, 4))
    assert (found.terms[0].low, found.terms[0].high) == pytest.approx(limits)
    assert found.trials == (1, 4)


@pytest.mark.parametrize(("more", "interacting"), [(0.0, 0), (0.5, 0), (6.0, 1)])
def test_without_repeats_there_are_no_intervals_and_small_interactions_do_not_count(
    more: float, interacting: int
) -> None:
    cells = {(a, b): [10.0 * (a + 1) + b + more * (a * b == 2)] for a in (0, 1) for b in range(3)}
    found = effects_of({"a": (0, 1), "b": (0, 1, 2)}, cells, logarithmic=False)
    assert [(term.low, term.high) for term in found.terms] == [(None, None)] * 3
    assert found.degrees == 0
    assert (found.terms[-1].share >= 0.01) == bool(interacting)
    assert {len(size.within) for size in found.sizes} == {interacting}
    assert all(len(mean) == 1 for size in found.sizes for mean in size.means.values())


def test_an_axis_that_only_matters_below_a_limit_is_shown_within_the_levels_of_the_limit() -> None:
    draw = chance(7)
    # The slower one of a card and a link decides.
    cards, links = (20.0, 90.0), (10.0, 100.0)
    cells = {
        (card, link): [min(card, link) * math.exp(draw.gauss(0, 0.005)) for _ in range(5)]
        for card in cards
        for link in links
    }
    found = effects_of({"card": cards, "link": links}, cells, logarithmic=True)
    sizes = {size.within["link"]: size for size in found.sizes if size.axis == "card"}
    assert sizes[10.0].largest == pytest.approx(0, abs=0.02)
    assert sizes[100.0].largest == pytest.approx(3.5, rel=0.03)
    for size in sizes.values():
        assert size.largest < size.at_most < size.largest + 0.1
    low, high = sizes[100.0].means[90.0][1:]
    assert 89 < low < high < 91


def test_levels_are_compared_in_the_same_combinations_only() -> None:
    # Without the cell of b = 1, the mean of the level a = 1 would be that of b = 0 alone.
    cells = {(0, 0): [10.0, 10.1], (0, 1): [90.0, 90.1], (1, 0): [10.0, 10.1]}
    found = effects_of({"a": (0, 1), "b": (0, 1)}, cells, logarithmic=False)
    largest = {size.axis: size.largest for size in found.sizes}
    assert largest == pytest.approx({"a": 0.0, "b": 80.0})
    assert found.empty == 1


def test_an_interaction_that_empty_cells_hide_has_lost_its_degrees_of_freedom() -> None:
    cells = {
        (a, b, c): [1.0 + a + 2 * b + c + 0.1 * n for n in range(3)]
        for a, b, c in product(range(2), range(2), range(3))
        if (a, b) != (1, 1)
    }
    axes = {"a": (0, 1), "b": (0, 1), "c": (0, 1, 2)}
    found = effects_of(axes, cells, logarithmic=False)
    lost = {term.axes: (term.lost, term.degrees) for term in found.terms if term.lost}
    assert lost == {("a", "b"): (1, 0)}


def test_more_than_six_pairs_with_empty_cells_are_divided_by_drawn_orders() -> None:
    draw = chance(3)
    shape = [2, 2, 2, 2, 2]
    cells = drawn_cells(shape, draw, (1, 1), empty=0.1)
    found = squares_of(means_of(shape, cells))
    values = [values[0] for values in cells.values()]
    total = sum((value - np.mean(values)) ** 2 for value in values)
    assert sum(own[0] for _term, own, *_ in found) == pytest.approx(total)
    assert found == squares_of(means_of(shape, cells))


@pytest.mark.parametrize(
    ("axes", "cells", "words"),
    [
        ({"a": (0, 1)}, {(0,): [1.0], (1,): [2.0]}, "fewer than two"),
        ({"a": (0, 1), "b": (0, 1)}, {(0, 0): [1.0], (1, 1): [0.0]}, "no logarithm"),
        ({"a": range(900), "b": range(900)}, {(n, n): [1.0] for n in range(900)}, "parameters"),
    ],
)
def test_a_design_that_cannot_be_divided_is_refused(axes: Any, cells: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        effects_of(axes, cells, logarithmic=True)
