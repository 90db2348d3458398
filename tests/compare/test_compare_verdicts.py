"""What the verdicts of netlab compare are worth: of truths that are known, by simulation."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.compare.align import AlignedPair
from netlab.compare.judge import Judged, judge, smallest_shown
from netlab.results.quantities import Quantity

MBIT = Quantity("throughput", "Mbit/s", 1e6, "more", "less", lambda _: None)


def drawn(
    chance: random.Random, cells: int, n: int, scatter: float, slower: set[int]
) -> list[AlignedPair]:
    """Cells of two runs that scatter alike; some of the second are slower by 3 %."""
    return [
        AlignedPair(
            label=str(at),
            cells=(str(at), str(at)),
            quantity=MBIT,
            baseline={k: 94 * chance.lognormvariate(0, scatter) for k in range(n)},
            contender={
                k: 94 * (0.97 if at in slower else 1) * chance.lognormvariate(0, scatter)
                for k in range(n)
            },
            paired=False,
        )
        for at in range(cells)
    ]


def test_two_runs_of_one_truth_are_hardly_ever_called_different() -> None:
    chance = random.Random(11)  # noqa: S311  (nothing secret)
    for scatter in (0.0005, 0.002, 0.03):
        judged = [row for _ in range(3) for row in judge(drawn(chance, 48, 5, scatter, set()))]
        found = Counter(row.verdict.verdict for row in judged)
        assert found["different"] <= 0.05 * len(judged)
        shown = smallest_shown(judged)
        assert shown is not None
        # With five trials, 1 % shows where they scatter by 0.2 %.
        assert (shown[1] <= 0.012) == (scatter <= 0.002)


def test_a_cable_slowed_by_3_percent_is_found_in_all_its_cells_and_hardly_in_others() -> None:
    chance = random.Random(12)  # noqa: S311
    slower = set(range(0, 48, 3))
    wrong = 0
    for _ in range(3):
        judged = judge(drawn(chance, 48, 5, 0.002, slower))
        different = {at for at, row in enumerate(judged) if row.verdict.verdict == "different"}
        assert slower <= different
        wrong += len(different - slower)
    assert wrong <= 0.05 * 3 * (48 - len(slower))


@given(
    st.lists(st.floats(10, 1000), min_size=2, max_size=4),
    st.lists(st.floats(10, 1000), min_size=2, max_size=4),
    st.floats(1e-3, 1e3),
)
def test_scaling_both_sides_changes_nothing_and_exchanging_them_inverts_the_ratio(
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

    there = verdict_of(old, new).verdict
    scaled = verdict_of([scale * each for each in old], [scale * each for each in new]).verdict
    back = verdict_of(new, old).verdict
    assert scaled.ratio == pytest.approx(there.ratio)
    assert there.ratio is not None
    assert back.ratio == pytest.approx(1 / there.ratio)
    assert there.verdict == back.verdict
