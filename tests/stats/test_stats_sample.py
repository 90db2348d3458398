"""The effects in a sample are those of all cells, if the sample's model is right."""

from __future__ import annotations

import math
import random
from itertools import product
from typing import Any

import numpy as np
import pytest
from draws import chance, drawn, seeds

from netlab.stats.effects import effects_of, squares_of

PAIR = ("b", "c")


def drawn_sample(
    draw: random.Random, deviation: float
) -> tuple[dict[str, range], Any, dict[tuple[int, ...], list[float]]]:
    """Axes, the means of all cells (three main effects and the interaction of a pair), and trials
    of half of the cells or more; each two levels of the pair are among them.
    """
    shape = [draw.randint(4, 5), draw.randint(2, 4), draw.randint(2, 4)]
    axes = {"abc"[at]: range(size) for at, size in enumerate(shape)}
    dice = np.random.default_rng(draw.getrandbits(32))
    truth = dice.normal(size=(shape[0], 1, 1)) + dice.normal(size=(1, *shape[1:]))
    places = [*product(*axes.values())]
    kept = [(0, *rest) for rest in product(*[*axes.values()][1:])]
    kept += [(level, 0, 0) for level in axes["a"]]
    some = {*draw.sample(places, len(places) // 2), *kept}
    cells = {at: dice.normal(truth[at], deviation, 2).tolist() for at in places if at in some}
    return axes, truth, cells


@pytest.mark.parametrize("seed", seeds(few=5, many=200))
def test_without_noise_shares_and_means_are_those_of_all_cells(seed: int) -> None:
    axes, truth, cells = drawn_sample(chance(seed), 0.0)
    found = effects_of(axes, cells, logarithmic=False, pairs=[PAIR])
    squares = {tuple("abc"[at] for at in term): own[0] for term, own, *_ in squares_of(truth)}
    total = math.fsum(squares.values())
    for term in found.terms:
        assert term.share == pytest.approx(squares.get(term.axes, 0.0) / total, abs=1e-9)
        assert term.lost == 0
    for size in found.sizes:
        fixed = [size.within.get(name, slice(None)) for name in axes]
        for level, means in size.means.items():
            fixed["abc".index(size.axis)] = level
            assert means[0] == pytest.approx(truth[tuple(fixed)].mean(), abs=1e-9)
    assert [size.axis for size in found.sizes if not size.within] == ["a", "b", "c"]


@pytest.mark.parametrize("seed", seeds(few=3, many=10))
def test_intervals_of_means_contain_the_truth_in_nearly_all_cases(seed: int) -> None:
    draw, held = chance(seed), []
    for _ in range(drawn(few=10, many=200)):
        axes, truth, cells = drawn_sample(draw, 0.3)
        for size in effects_of(axes, cells, logarithmic=False, pairs=[PAIR]).sizes:
            fixed = [size.within.get(name, slice(None)) for name in axes]
            for level, means in size.means.items():
                fixed["abc".index(size.axis)] = level
                held.append(means[1] <= truth[tuple(fixed)].mean() <= means[2])
    assert np.mean(held) > 0.9


def test_an_interaction_that_the_sample_does_not_name_is_the_error_of_the_rest() -> None:
    axes, _truth, cells = drawn_sample(chance(1), 0.0)
    named, unnamed = (
        effects_of(axes, cells, logarithmic=False, pairs=pairs) for pairs in ([PAIR], [])
    )
    assert [term.axes for term in unnamed.terms] == [("a",), ("b",), ("c",), ("a", "b", "c")]
    assert unnamed.terms[-1].share > 0.01 > named.terms[-1].share
    widths = [
        max(high - low for size in own.sizes[:1] for _, low, high in size.means.values())
        for own in (named, unnamed)
    ]
    assert widths[0] < widths[1]


def test_a_pair_without_all_its_combinations_is_lost_and_the_axes_are_not() -> None:
    axes, _truth, cells = drawn_sample(chance(2), 0.1)
    kept = {place: own for place, own in cells.items() if place[1:] != (1, 1)}
    found = effects_of(axes, kept, logarithmic=False, pairs=[PAIR])
    terms = {term.axes: term for term in found.terms}
    assert terms[PAIR].degrees == 0 < terms[PAIR].lost
    assert all(terms[name,].lost == 0 for name in "abc")
    assert all(not size.within for size in found.sizes)


def test_axes_that_the_cells_do_not_tell_apart_are_an_error() -> None:
    cells = {(at, at, other): [1.0 + at + other] for at, other in product(range(3), range(2))}
    axes = {"a": range(3), "b": range(3), "c": range(2)}
    with pytest.raises(ValueError, match="do not tell the settings apart"):
        effects_of(axes, cells, logarithmic=False, pairs=[])
