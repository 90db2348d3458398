"""Slow hosts and pairs of a mesh follow from the definition, in meshes judged by hand."""

from __future__ import annotations

import math

import pytest

from netlab.stats.mesh import MeshVerdict, _margin, _short, judge_mesh


def test_pairs_with_a_host_of_one_pair_are_undecided_if_slower_than_the_others() -> None:
    # No host has two peers that are fast with another host. The margin of trials without repeats
    # is 5 %: a lies below 105, the median of its receiver's other pairs; c does not.
    verdict = judge_mesh(
        {
            ("s", "d"): [100.0],
            ("s", "e"): [110.0],
            ("s", "f"): [40.0],
            ("a", "s"): [50.0],
            ("b", "s"): [110.0],
            ("c", "s"): [100.0],
        }
    )
    assert verdict is not None
    assert verdict.named == ()
    assert verdict.strays == {}
    assert verdict.undecided == {("a", "s"): 105, ("s", "f"): 105}
    assert verdict.margin == 0.05


def test_without_repeats_the_margin_covers_the_scatter_of_three_of_five_pairs() -> None:
    # 1.4826 times the deficit above three of five pairs, times Student's t. In closed form, t is
    # cot(pi a) with 1 degree of freedom, and (1 - 2 a) / sqrt(2 a (1 - a)) with 2.
    a = 0.00135 / 5
    deficits = [0.2, 0.4, 0.0, 0.1, 0.3]
    assert _margin([[7.0]] * 5, deficits) == pytest.approx(1.4826 * 0.3 / math.tan(math.pi * a))
    a = 0.00135 / 7
    t = (1 - 2 * a) / math.sqrt(2 * a * (1 - a))
    deficits = [0.6, 0.2, 0.5, 0.4, 0.0, 0.1, 0.3]
    assert _margin([[7.0]] * 7, deficits) == pytest.approx(1.4826 * 0.4 * t)


def test_a_value_at_the_limit_is_neither_slow_nor_below() -> None:
    for most, short in ((99.0, ["a"]), (100.0, [])):
        pairs = {("a", "d"): most, ("a", "c"): 50.0, ("b", "c"): 100.0, ("b", "d"): 100.0}
        assert [*_short(pairs, 0, 100.0)] == short
    verdict = MeshVerdict(
        sends={},
        receives={},
        margin=0,
        slow_senders=frozenset(),
        slow_receivers=frozenset(),
        strays={},
        undecided={},
    )
    assert [verdict.is_below(value, 5) for value in (4.9, 5, 5.1)] == [True, False, False]
