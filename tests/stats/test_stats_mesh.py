"""Slow hosts and pairs of a mesh follow from the definition, in meshes judged by hand."""

from __future__ import annotations

import math

import pytest

from netlab.stats.mesh import MeshVerdict, MeshWay, _margin, _short, judge_mesh


@pytest.mark.parametrize(
    ("changes", "senders", "receivers"),
    [
        # The margin is 2 %, and half of it for the second direction of a slow host: 0.990.
        ({"ca": 0.9, "cb": 0.9, "ac": 0.985, "bc": 0.985}, "c", "c"),
        ({"ca": 0.9, "cb": 0.9, "ac": 0.992, "bc": 0.992}, "c", ""),
        ({"ca": 0.992, "cb": 0.992, "ac": 0.9, "bc": 0.9}, "", "c"),
        ({"ad": 0.9, "bd": 0.9}, "", "d"),
        ({"da": 0.9, "db": 0.9}, "d", ""),
        ({"ca": 0.985, "cb": 0.985, "ac": 0.985, "bc": 0.985}, "", ""),
        ({"ca": math.exp(-0.02)}, "", ""),  # just the margin below what both ends reach
    ],
)
def test_a_host_is_slow_in_each_direction_in_which_it_is_below_the_best_pair_by_the_margin(
    changes: dict[str, float], senders: str, receivers: str
) -> None:
    shares = dict.fromkeys(("ab", "ac", "ba", "bc", "ca", "cb"), 1.0) | changes
    trials: dict[MeshWay, list[float]] = {
        (way[0], way[1]): [share, 0.0, share] for way, share in shares.items()
    }
    trials["a", "a"] = [9.0]  # left out, like values that are not above 0
    verdict = judge_mesh(trials)
    assert verdict is not None
    assert verdict.slow_senders == {*senders}
    assert verdict.slow_receivers == {*receivers}
    assert (verdict.strays, verdict.undecided) == ({}, {})
    assert verdict.margin == 0.02


def test_pairs_with_a_host_of_one_pair_are_undecided_if_slower_than_the_others() -> None:
    # No host has two peers that are fast with another host. The margin of trials without repeats
    # is 5 %. The median of the other pairs to s is 104: a is below it by more, c by no more.
    verdict = judge_mesh(
        {
            ("s", "d"): [100.0],
            ("s", "e"): [110.0],
            ("s", "f"): [40.0],
            ("a", "s"): [50.0],
            ("b", "s"): [110.0],
            ("c", "s"): [104 * math.exp(-0.05)],
            ("g", "s"): [104.0],
        }
    )
    assert verdict is not None
    assert verdict.named == ()
    assert verdict.strays == {}
    assert verdict.undecided == {("a", "s"): 104, ("s", "f"): 105}
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
        named=(),
        margin=math.log(2),
        slow_senders=frozenset(),
        slow_receivers=frozenset(),
        strays={},
        undecided={},
    )
    limit = 8 * math.exp(-math.log(2))
    assert [verdict.is_below(value, 8) for value in (3.9, limit, 4.1)] == [True, False, False]
