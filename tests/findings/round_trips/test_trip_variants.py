"""Comparisons of round trips by one setting, computed by hand."""

from __future__ import annotations

from math import log
from typing import Any

import pytest
from made_readings import planned, result

from netlab.findings.buffers import _aligned, _along, _Compared, _finding
from netlab.findings.finding import Group, Kind, finding
from netlab.findings.round_trips import TripCell, TripTrial
from netlab.stats import ComparisonResult


def cell(means_ns: dict[int, float], **settings: Any) -> TripCell:
    """A cell with trials of these numbers and means."""
    plan = planned("round_trip", **settings)
    records = [result(plan, number, {"rtt_mean_ns": ns}) for number, ns in means_ns.items()]
    return TripCell(Group("LL"), plan.key, "round_trip", tuple(map(TripTrial, records)))


SPINNING: dict[str, Any] = {"server_receive": "spinning"}
BLOCKING: dict[str, Any] = {"server_receive": "blocking"}
SHORT = [
    cell({1: 10, 2: 200, 3: 800, 4: 400}, **SPINNING),
    cell({2: 100, 3: 200, 4: 50, 5: 9}, **BLOCKING),
]
"""Trials 2 to 4 are of both cells; their ratios are 2, 4 and 8."""
LONG = [
    cell({number: 1000 * number for number in range(2, 5)}, message_bytes=200, **mode)
    for mode in (SPINNING, BLOCKING)
]
FEW = [cell({2: 1, 3: 2}, message_bytes=300, **mode) for mode in (SPINNING, BLOCKING)]


def test_pairs_of_cells_are_compared_with_the_default_by_the_blocks_that_all_of_them_have() -> None:
    """The logarithms of 2, 4 and 8 scatter by ln 2. With the equal cells, it is half of that."""
    (compared,) = _along("server_receive", [*SHORT, *LONG, *FEW], paired=True)
    assert (compared.pairing, compared.axis) == ("LL", "server_receive")
    assert (compared.baseline, compared.contender) == ("blocking", "spinning")
    pairs = ((SHORT[1], SHORT[0]), (LONG[1], LONG[0]))
    assert compared.cells == tuple(each.cell for pair in pairs for each in pair)
    results = [compared.together, *compared.single]
    assert {(each.n, each.degrees, each.confidence) for each in results} == {(3, 2, 0.99)}
    assert [each.ratio for each in results] == pytest.approx([2, 4, 1])
    errors = [log(2) / 2 / 3**0.5, log(2) / 3**0.5, 0]
    assert [each.standard_error for each in results] == pytest.approx(errors)


def test_imported_cells_are_compared_by_their_first_figures_without_pairs() -> None:
    """Each side has three trials: 10, 200, 800 and 100, 200, 50."""
    old, new = {2: 100.0, 3: 200.0, 4: 50.0}, {1: 10.0, 2: 200.0, 3: 800.0, 4: 400.0}
    cut = [([100.0, 200.0, 50.0], [10.0, 200.0, 800.0])]
    assert _aligned([(old, new)], paired=False) == cut
    assert _aligned([(old, new)], paired=True) == [([100.0, 200.0, 50.0], [200.0, 800.0, 400.0])]
    assert _aligned([], paired=False) == _aligned([], paired=True) == []


@pytest.mark.parametrize("number", [2, 4, 5])
def test_up_to_four_levels_of_a_setting_are_compared_with_the_first_if_it_has_no_default(
    number: int,
) -> None:
    words = ["cubic", "bbr", "reno", "vegas", "dctcp"][:number]
    means = {1: 1.0, 2: 2.0, 3: 4.0}
    cells = [cell(means, protocol="TCP", congestion=word) for word in words]
    compared = [
        (each.baseline, each.contender) for each in _along("congestion", cells, paired=True)
    ]
    assert compared == ([("cubic", word) for word in words[1:]] if number < 5 else [])


def judged(ratio: float, *, different: bool) -> ComparisonResult:
    return ComparisonResult(
        ratio=ratio,
        low=ratio / 2,
        high=ratio * 2,
        n=7,
        p=0.5,
        verdict="different" if different else "not shown to be different",
        smallest_ratio=1.25,
        margin=0.005,
        confidence=0.99,
    )


COUNTS = {"n": 7, "compared": 2}
MEAN = {"ratio": 1.5, "low_ratio": 0.75, "high_ratio": 3}


@pytest.mark.parametrize(
    ("together", "single", "figures"),
    [
        ((1.5, True), [(1.5, True), (3.0, True)], {"differing": 2, **MEAN}),
        ((1.5, True), [(0.9, False), (3.0, False)], {"differing": 0, **MEAN}),
        (
            (1.5, True),
            [(0.5, True), (4.0, True)],
            {"differing": 2, "least_ratio": 0.5, "most_ratio": 4},
        ),
        (
            (0.9, True),
            [(0.5, True), (0.99, True)],
            {"differing": 2, "ratio": 0.9, "low_ratio": 0.45, "high_ratio": 1.8},
        ),
        (
            (1.5, True),
            [(0.99, True), (3.0, True)],
            {"differing": 2, "least_ratio": 0.99, "most_ratio": 3.0},
        ),
        ((1.1, False), [(0.5, True), (2.0, False)], {"differing": 1, "only_ratio": 0.5}),
        ((1.1, False), [(0.5, False), (2.0, False)], {"differing": 0, "detectable_share": 0.25}),
    ],
)
def test_a_mean_ratio_is_reported_unless_a_single_pair_contradicts_it(
    together: tuple[float, bool], single: list[tuple[float, bool]], figures: dict[str, float]
) -> None:
    all_results = [judged(ratio, different=different) for ratio, different in (together, *single)]
    compared = _Compared(
        pairing="LL",
        axis="server_receive",
        baseline="blocking",
        contender="spinning",
        cells=("a", "b"),
        together=all_results[0],
        single=tuple(all_results[1:]),
    )
    kind = (
        Kind.COMPARISON_INCONCLUSIVE if "detectable_share" in figures else Kind.COMPARISON_DIFFERS
    )
    group = Group("LL", conditions=(("server_receive", "spinning"),))
    words = {
        "baseline": "server’s receive call blocking",
        "pairs_of_cells": "2 pairs of cells",
    }
    assert _finding(compared, all_results[0], all_results[1:]) == finding(
        kind, group, ("a", "b"), {**COUNTS, **figures}, words
    )
    alone = _finding(compared, all_results[0], all_results[1:2])
    assert alone.words == {"baseline": words["baseline"]}
