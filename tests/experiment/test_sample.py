"""A sample of a matrix's cells: large enough, the same everywhere, and part of each larger one."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import combinations
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.errors import UsageError
from netlab.experiment.cells import Cell, Grid, Rule, expansion
from netlab.experiment.sample import Sample, SampleMethod, drawn, sample_in
from netlab.kinds import DEFAULTS_OF

METHODS = get_args(SampleMethod)
LEVELS: dict[str, list[Any]] = {
    "message_bytes": [64, 256, 1024, 4096],
    "socket_buffer_bytes": [None, 16384, 65536],
    "streams": [1, 2, 3],
    "dscp": [None, 0, 46],
    "protocol": ["TCP", "UDP"],
}


def cells_of(axes: dict[str, list[Any]], pairings: list[str], *excluded: Rule) -> tuple[Cell, ...]:
    defaults = {name: (level,) for name, level in DEFAULTS_OF["stream"].items()}
    given_axes = {name: tuple(levels) for name, levels in axes.items()}
    grid = Grid("stream", {**defaults, "protocol": ("TCP",), **given_axes}, exclude=excluded)
    return expansion(pairings, [grid]).cells


@st.composite
def matrices(draw: st.DrawFn) -> tuple[tuple[Cell, ...], Sample]:
    """The cells of a matrix with two or more axes, perhaps without some, and a sample of one."""
    names = draw(st.lists(st.sampled_from([*LEVELS]), min_size=2, unique=True))
    names += [] if "message_bytes" in names else ["message_bytes"]
    some = st.lists
    axes = {
        name: draw(some(st.sampled_from(LEVELS[name]), min_size=2, unique=True)) for name in names
    }
    rules = []
    if draw(st.booleans()):
        one, other = draw(st.permutations(names))[:2]
        when = {name: frozenset(axes[name][:1]) for name in (one, other)}
        rules.append(Rule(when=when, then={}))
    by_name = draw(st.booleans())
    mesh = [f"{server}+{client}" for server in "abc" for client in "abc"]
    pairings = mesh if by_name else draw(st.sampled_from([["LL"], ["LL", "WL", "WW"]]))
    cells = cells_of(axes, pairings, *rules)
    varying = [name for name in names if name != "protocol"]
    pairs = [tuple(own) for own in combinations(varying, 2)][: draw(st.integers(0, 2))]
    sample = Sample(
        cells=len(cells),
        of=len(cells),
        method=draw(st.sampled_from(METHODS)),
        seed=draw(st.integers(0, 2**63 - 1)),
        pairs=tuple(pairs),  # type: ignore[arg-type]  # of two
    )
    return cells, sample


def least(cells: tuple[Cell, ...], sample: Sample) -> int:
    """The number of cells that the error for one cell asks for."""
    try:
        drawn(cells, replace(sample, cells=1))
    except ValueError as error:
        return int(str(error).rpartition(" ")[2])
    return 1


def model(cells: tuple[Cell, ...], sample: Sample) -> dict[tuple[str, str], Any]:
    """(test, protocol) → a column for each level of an axis and combination of a named pair."""
    columns: dict[tuple[str, str], Any] = {}
    for test in {(cell.test, cell.setup.protocol) for cell in cells}:
        own = [c for c in cells if (c.test, c.setup.protocol) == test]
        ends = [dict(zip(("server", "client"), c.pairing.split("+"), strict=False)) for c in own]
        rows = [{**end, **cell.settings} for end, cell in zip(ends, own, strict=True)]
        names = {name for row in rows for name in row}
        terms = [(name,) for name in sorted(names)] + [*sample.pairs]
        values = [tuple((term, *(row.get(n) for n in term)) for term in terms) for row in rows]
        every = sorted({value for row in values for value in row}, key=str)
        columns[test] = np.array([[value in row for value in every] for row in values], dtype=float)
    return columns


@given(matrices(), st.data())
def test_a_sample_has_its_size_each_level_and_what_is_needed_for_all_effects(
    made: tuple[tuple[Cell, ...], Sample], data: st.DataObject
) -> None:
    cells, sample = made
    fewest = least(cells, sample)
    number = data.draw(st.integers(fewest, len(cells)))
    chosen = drawn(cells, replace(sample, cells=number))
    assert len({cell.key for cell in chosen}) == len(chosen) == number
    assert [cell for cell in cells if cell in {*chosen}] == [*chosen]
    for name in LEVELS:
        assert {c.settings.get(name) for c in chosen} == {c.settings.get(name) for c in cells}
    whole, part = model(cells, sample), model(chosen, sample)
    for test, columns in whole.items():
        rank = np.linalg.matrix_rank
        own = [place for place, c in enumerate(cells) if (c.test, c.setup.protocol) == test]
        taken = [at for at, place in enumerate(own) if cells[place] in {*chosen}]
        assert rank(columns[taken]) == rank(columns)
        assert len(part[test]) == len(taken)
    assert fewest == sum(int(np.linalg.matrix_rank(columns)) for columns in whole.values())


@given(matrices(), st.data())
def test_a_larger_sample_has_each_cell_of_a_smaller_one(
    made: tuple[tuple[Cell, ...], Sample], data: st.DataObject
) -> None:
    cells, sample = made
    fewest = least(cells, sample)
    small, large = sorted(data.draw(st.integers(fewest, len(cells))) for _ in range(2))
    chosen = [{c.key for c in drawn(cells, replace(sample, cells=n))} for n in (small, large)]
    assert chosen[0] <= chosen[1]


@given(matrices(), st.data())
def test_the_order_in_which_cells_are_written_does_not_change_the_sample(
    made: tuple[tuple[Cell, ...], Sample], data: st.DataObject
) -> None:
    cells, sample = made
    number = data.draw(st.integers(least(cells, sample), len(cells)))
    others = tuple(data.draw(st.permutations(cells)))
    chosen = [drawn(own, replace(sample, cells=number)) for own in (cells, others)]
    assert {*chosen[0]} == {*chosen[1]}


@pytest.mark.parametrize("method", METHODS)
def test_another_seed_chooses_other_cells(method: SampleMethod) -> None:
    cells = cells_of(LEVELS, ["LL"])
    chosen = {
        drawn(cells, Sample(cells=40, of=len(cells), method=method, seed=seed)) for seed in range(5)
    }
    assert len(chosen) == 5


@pytest.mark.parametrize(("method", "most"), [("fractional", 2), ("latin-hypercube", 8)])
def test_each_level_is_about_equally_often_in_a_balanced_sample(
    method: SampleMethod, most: int
) -> None:
    axes = {name: levels for name, levels in LEVELS.items() if name != "protocol"}
    cells = cells_of(axes, ["LL"])
    chosen = drawn(cells, Sample(cells=40, of=len(cells), method=method))
    for name, levels in axes.items():
        counts = [sum(cell.settings.get(name) == level for cell in chosen) for level in levels]
        assert max(counts) - min(counts) <= most, name


def test_an_axis_of_a_pair_must_vary() -> None:
    cells = cells_of(LEVELS, ["LL"])
    sample = Sample(cells=100, of=len(cells), pairs=(("streams", "nodelay"),))
    with pytest.raises(ValueError, match="nodelay does not vary in this matrix"):
        drawn(cells, sample)


def test_latin_hypercubes_without_scipy_are_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    cells = cells_of(LEVELS, ["LL"])
    with pytest.raises(UsageError, match=r"needs scipy; .* 'netlab-matrix\[sample\]'$"):
        drawn(cells, Sample(cells=60, of=len(cells), method="latin-hypercube", seed=10**9))


@pytest.mark.parametrize(
    "data",
    [
        [],
        {},
        {"cells": 2, "of": 4, "method": "random", "seed": 1, "pairs": [["a"]]},
        {"cells": "x", "of": 4, "method": "random", "seed": 1, "pairs": []},
        {"cells": 2, "of": 4, "method": "random", "seed": 1, "pairs": [], "more": 1},
    ],
)
def test_a_malformed_sample_of_a_plan_is_refused(data: Any) -> None:
    with pytest.raises(ValueError, match="its sample is malformed"):
        sample_in({"sample": data})
