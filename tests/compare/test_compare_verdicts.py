"""The verdicts of netlab compare have small error rates in simulations with known differences."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.compare.align import AlignedPair, Judged, judge, smallest_shown
from netlab.trial.column import Quantity

MBIT = Quantity("throughput", "Mbit/s", 1e6, "more", "less", lambda _: None)


def random_pairs(
    chance: random.Random, cells: int, n: int, scatter: float, slower: set[int]
) -> list[AlignedPair]:
    """Cells of two runs with the same scatter; some of the second run are 3 % slower."""
    return [
        AlignedPair(
            label=str(index),
            cells=(str(index), str(index)),
            quantity=MBIT,
            baseline={k: 94 * chance.lognormvariate(0, scatter) for k in range(n)},
            contender={
                k: 94 * (0.97 if index in slower else 1) * chance.lognormvariate(0, scatter)
                for k in range(n)
            },
            paired=False,
        )
        for index in range(cells)
    ]


def test_at_most_5_percent_of_the_cells_of_equal_runs_are_called_different() -> None:
    chance = random.Random(11)  # noqa: S311  (nothing secret)
    for scatter in (0.0005, 0.002, 0.03):
        judgements = [
            row for _ in range(3) for row in judge(random_pairs(chance, 48, 5, scatter, set()))
        ]
        verdicts = Counter(row.verdict.verdict for row in judgements)
        assert verdicts["different"] <= 0.05 * len(judgements)
        difference = smallest_shown(judgements)
        assert difference is not None
        # With five trials and a scatter of 0.2 %, a difference of 1 % is significant.
        assert (difference[1] <= 0.012) == (scatter <= 0.002)


def test_a_slowdown_of_3_percent_is_found_in_all_its_cells_and_rarely_in_others() -> None:
    chance = random.Random(12)  # noqa: S311
    slower = set(range(0, 48, 3))
    wrong = 0
    for _ in range(3):
        judgements = judge(random_pairs(chance, 48, 5, 0.002, slower))
        different = {
            index for index, row in enumerate(judgements) if row.verdict.verdict == "different"
        }
        assert slower <= different
        wrong += len(different - slower)
    assert wrong <= 0.05 * 3 * (48 - len(slower))


@given(
    st.lists(st.floats(10, 1000), min_size=2, max_size=4),
    st.lists(st.floats(10, 1000), min_size=2, max_size=4),
    st.floats(1e-3, 1e3),
)
def test_scaling_all_figures_keeps_the_ratio_and_exchanging_the_runs_inverts_the_ratio(
    old: list[float], new: list[float], scale: float
) -> None:
    def verdict_of(old: Sequence[float], new: Sequence[float]) -> Judged:
        aligned = AlignedPair(
            label="x",
            cells=("a", "b"),
            quantity=MBIT,
            baseline=dict(enumerate(old)),
            contender=dict(enumerate(new)),
            paired=False,
        )
        return judge([aligned])[0]

    verdict = verdict_of(old, new).verdict
    scaled = verdict_of([scale * value for value in old], [scale * value for value in new]).verdict
    inverse = verdict_of(new, old).verdict
    assert scaled.ratio == pytest.approx(verdict.ratio)
    assert verdict.ratio is not None
    assert inverse.ratio == pytest.approx(1 / verdict.ratio)
    assert verdict.verdict == inverse.verdict
