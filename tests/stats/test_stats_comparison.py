"""Comparisons of trials agree with published examples."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from draws import chance, drawn
from hypothesis import given
from hypothesis import strategies as st

from netlab.stats import (
    ComparisonResult,
    adjusted,
    compare,
    judged_together,
    pairs_by_block,
    t_quantile,
    t_two_sided,
)

SLEEP = (
    # "Student", Biometrika 6, 1908: hours of sleep gained by two drugs, ten patients.
    [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
    [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0],
)

several = st.lists(st.floats(1e3, 1e11), min_size=2, max_size=12)


def test_a_paired_comparison_reproduces_students_published_example() -> None:
    drug_2, drug_1 = ([math.exp(hours) for hours in group] for group in SLEEP)
    result = compare(drug_2, drug_1, paired=True)
    assert result.p == pytest.approx(0.002833, abs=5e-7)
    assert math.log(result.ratio or 0) == pytest.approx(-1.58)
    assert math.log(result.low or 0) == pytest.approx(-2.4598858, abs=1e-6)
    assert math.log(result.high or 0) == pytest.approx(-0.7001142, abs=1e-6)
    assert (result.n, result.verdict) == (10, "different")


def test_an_unpaired_comparison_reproduces_the_published_welch_test() -> None:
    drug_2, drug_1 = ([math.exp(hours) for hours in group] for group in SLEEP)
    result = compare(drug_2, drug_1, paired=False)
    assert result.p == pytest.approx(0.07939, abs=5e-6)
    assert math.log(result.low or 0) == pytest.approx(-3.3654832, abs=1e-6)
    assert math.log(result.high or 0) == pytest.approx(0.2054832, abs=1e-6)
    assert result.verdict == "not shown to be different"
    assert result.smallest_ratio is not None
    assert result.smallest_ratio > 6


def test_a_significant_difference_below_the_margin_gets_the_verdict_same() -> None:
    baseline = [100.00, 100.01, 99.99, 100.00, 100.01]
    contender = [value * 1.002 for value in baseline]
    result = compare(baseline, contender, paired=False)
    assert result.p is not None
    assert result.p < 1e-6
    assert result.verdict == "same within the margin"
    assert result.smallest_ratio == 1.005
    assert compare(baseline, contender, paired=False, margin=0.001).verdict == "different"


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("n", [0, 1])
def test_a_comparison_of_fewer_than_two_trials_per_side_has_the_verdict_cannot_tell(
    n: int, *, paired: bool
) -> None:
    result = compare([100.0] * n, [120.0] * n, paired=paired)
    assert (result.verdict, result.n) == ("cannot tell", n)
    assert (result.low, result.high, result.p, result.smallest_ratio) == (None, None, None, None)
    assert result.ratio == (pytest.approx(1.2) if n else None)


def test_a_comparison_refuses_zero_values_unequal_pairs_and_a_margin_of_zero() -> None:
    with pytest.raises(ValueError, match="above 0"):
        compare([0.0, 1.0], [1.0, 1.0], paired=True)
    with pytest.raises(ValueError, match="cannot pair "):
        compare([1.0, 1.0], [1.0], paired=True)
    with pytest.raises(ValueError, match="between 0 and 1"):
        compare([1.0, 1.0], [1.0, 1.0], paired=True, margin=0.0)


@given(several, several, st.booleans(), st.sampled_from([0.005, 0.05, 0.5]))
def test_exchanging_the_sides_of_a_comparison_inverts_the_ratio_and_changes_no_verdict(
    baseline: list[float], contender: list[float], paired: bool, margin: float
) -> None:
    n = min(len(baseline), len(contender)) if paired else None
    comparison = compare(baseline[:n], contender[:n], paired=paired, margin=margin)
    exchange = compare(contender[:n], baseline[:n], paired=paired, margin=margin)
    assert comparison.verdict == exchange.verdict
    assert comparison.p == pytest.approx(exchange.p)
    assert comparison.ratio is not None
    assert exchange.ratio is not None
    assert comparison.ratio == pytest.approx(1 / exchange.ratio)
    assert comparison.smallest_ratio == pytest.approx(exchange.smallest_ratio)


@given(several, several, st.sampled_from([0.005, 0.05, 0.5]))
def test_the_verdict_of_a_comparison_agrees_with_its_confidence_intervals(
    baseline: list[float], contender: list[float], margin: float
) -> None:
    result = compare(baseline, contender, paired=False, margin=margin)
    inner = compare(baseline, contender, paired=False, margin=margin, confidence=0.9)
    assert result.low is not None
    assert result.high is not None
    assert inner.low is not None
    assert inner.high is not None
    if result.verdict == "different":
        assert not result.low < 1 < result.high
    # Two one-sided tests at 5 % are one interval of 90 % within the margins.
    within = 1 / (1 + margin) < inner.low <= inner.high < 1 + margin
    if result.verdict != "different":
        assert (result.verdict == "same within the margin") == within


def test_a_difference_of_the_smallest_detectable_ratio_is_found_in_four_of_five_draws() -> None:
    draw, draws = chance(3), drawn(200, 1000)
    scatter, n, different = 0.01, 8, 0
    # What t asks of eight trials a side, by the true scatter.
    size = (t_quantile(0.975, 14) + t_quantile(0.8, 14)) * scatter * math.sqrt(2 / n)
    for _ in range(draws):
        baseline = [math.exp(draw.gauss(0, scatter)) for _ in range(n)]
        contender = [math.exp(draw.gauss(size, scatter)) for _ in range(n)]
        different += compare(baseline, contender, paired=False).verdict == "different"
    assert 0.75 <= different / draws <= 0.86


def test_trials_are_paired_by_the_blocks_that_both_sides_measured() -> None:
    assert pairs_by_block({1: 10.0, 2: 11.0, 4: 13.0}, {4: 23.0, 2: 21.0, 3: 22.0}) == (
        [11.0, 13.0],
        [21.0, 23.0],
    )


def rejected(p_values: list[float], rate: float = 0.05) -> tuple[bool, ...]:
    return tuple(p <= rate for p in adjusted(p_values))


def test_false_discovery_control_reproduces_the_example_of_benjamini_and_hochberg() -> None:
    # Benjamini and Hochberg 1995, section 4.1: fifteen tests, four rejected.
    p_values = [
        0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
        0.5719, 0.6528, 0.7590, 1.000,
    ]  # fmt: skip
    assert rejected(p_values) == (True,) * 4 + (False,) * 11
    assert rejected(p_values[::-1]) == (False,) * 11 + (True,) * 4
    assert rejected([]) == ()
    # A larger p that passes takes the smaller ones with it.
    assert rejected([0.04, 0.04]) == (True, True)


def test_a_weak_difference_loses_its_verdict_among_many_comparisons() -> None:
    difference = compare([100.0, 101.0, 99.0, 100.5], [103.0, 102.5, 101.5, 103.5], paired=False)
    assert difference.verdict == "different"
    assert difference.p is not None
    assert 0.002 < difference.p < 0.05
    same = compare([100.0, 101.0, 99.0], [100.0, 101.5, 99.0], paired=False)
    lone_result = compare([100.0], [120.0], paired=False)
    assert judged_together([difference])[0].verdict == "different"
    many = judged_together([difference, *[same] * 40, lone_result])
    assert many[0].verdict == "not shown to be different"
    assert {result.verdict for result in many[1:-1]} == {same.verdict}
    assert many[-1].verdict == "cannot tell"


def test_adjusted_p_values_match_figures_worked_by_hand() -> None:
    # By hand: 4 x 0.01 / 1, 4 x 0.02 / 2, 4 x 0.03 / 3, and the last as it is.
    assert adjusted([0.02, 0.9, 0.01, 0.03]) == pytest.approx((0.04, 0.9, 0.04, 0.04))
    assert adjusted([]) == ()
    with pytest.raises(ValueError, match="between 0 and 1"):
        adjusted([1.1])


@given(st.lists(st.floats(0, 1), max_size=20))
def test_adjusting_p_values_keeps_their_order_and_never_lowers_a_p_value(
    p_values: list[float],
) -> None:
    result = adjusted(p_values)
    assert all(p <= adjusted_p <= 1 for p, adjusted_p in zip(p_values, result, strict=True))
    adjusted_ps = [adjusted_p for _, adjusted_p in sorted(zip(p_values, result, strict=True))]
    assert adjusted_ps == sorted(adjusted_ps)


def test_among_many_comparisons_the_smallest_detectable_ratio_is_larger() -> None:
    draw, draws = chance(4), drawn(100, 1000)
    scatter, n, other_count = 0.01, 8, 20
    nothing = compare([100.0, 101.0, 99.0] * 3, [100.1, 100.9, 99.1] * 3, paired=True)
    size = (t_quantile(1 - 0.05 / (other_count + 1) / 2, n - 1) + t_quantile(0.8, n - 1)) * (
        scatter * math.sqrt(2 / n)
    )
    different = 0
    for _ in range(draws):
        baseline = [math.exp(draw.gauss(0, scatter)) for _ in range(n)]
        contender = [math.exp(draw.gauss(size, scatter)) for _ in range(n)]
        lone_result = compare(baseline, contender, paired=True)
        joint_result = judged_together([lone_result, *[nothing] * other_count])[0]
        assert joint_result.p_together is not None
        assert lone_result.p is not None
        assert joint_result.p_together >= lone_result.p
        different += joint_result.verdict == "different"
        assert joint_result.smallest_ratio is not None
        assert lone_result.smallest_ratio is not None
        assert joint_result.smallest_ratio >= lone_result.smallest_ratio
    assert 0.65 <= different / draws <= 0.88
    assert judged_together([compare(baseline, contender, paired=True)])[0].smallest_ratio == (
        pytest.approx(lone_result.smallest_ratio)
    )


def test_standard_error_and_degrees_of_freedom_match_the_published_t_tests() -> None:
    """t = -4.0621 on 9 degrees paired, -1.8608 on 17.776 by Welch: R's manual, ?sleep."""
    drug_2, drug_1 = ([math.exp(hours) for hours in group] for group in SLEEP)
    result = compare(drug_2, drug_1, paired=True)
    assert result.standard_error == pytest.approx(1.58 / 4.0621, rel=2e-5)
    assert result.degrees == 9
    result = compare(drug_2, drug_1, paired=False)
    assert result.standard_error == pytest.approx(1.58 / 1.8608, rel=3e-5)
    assert result.degrees == pytest.approx(17.776, abs=5e-4)


def test_welch_degrees_of_freedom_of_unequal_samples_match_figures_worked_by_hand() -> None:
    """Logarithms 0, 2 and 0, 3, 6: variances 2 and 9, shares 1 and 3, 16 / (1 / 1 + 9 / 2)."""
    two, three = [1.0, math.exp(2)], [1.0, math.exp(3), math.exp(6)]
    comparison, exchange = compare(two, three, paired=False), compare(three, two, paired=False)
    for result in (comparison, exchange):
        assert result.standard_error == pytest.approx(2)
        assert result.degrees == pytest.approx(16 / 5.5)
        assert result.p == pytest.approx(t_two_sided(1, 16 / 5.5))
        assert result.n == 2
    assert comparison.ratio == pytest.approx(math.exp(2))
    t = t_quantile(0.975, 16 / 5.5)
    assert comparison.low == pytest.approx(math.exp(2 - 2 * t))
    assert comparison.high == pytest.approx(math.exp(2 + 2 * t))


def test_degrees_of_freedom_come_from_the_only_side_that_scatters() -> None:
    scattered, still = [99.0, 100.0, 101.0, 100.0], [100.0] * 9
    assert compare(scattered, still, paired=False).degrees == pytest.approx(3)
    assert compare(still, scattered, paired=False).degrees == pytest.approx(3)


def test_the_interval_of_a_comparison_has_the_requested_confidence() -> None:
    """Differences of the logarithms -1, 0, 1 and 4: mean 1, variance 14 / 3, error 1.0801."""
    baseline = [1.0] * 4
    contender = [math.exp(logarithm) for logarithm in (-1, 0, 1, 4)]
    for confidence, t in ((0.8, 1.637744), (0.9, 2.353363), (0.99, 5.840909)):
        result = compare(baseline, contender, paired=True, confidence=confidence, margin=0.01)
        assert math.log(result.low or 0) == pytest.approx(1 - t * math.sqrt(14 / 12), rel=1e-6)
        assert math.log(result.high or 0) == pytest.approx(1 + t * math.sqrt(14 / 12), rel=1e-6)
        assert (result.confidence, result.margin) == (confidence, 0.01)


def test_the_smallest_detectable_ratio_is_blooms_multiple_of_the_standard_error() -> None:
    """t(0.975, 3) + t(0.8, 3) = 3.182446 + 0.978472 of a standard error of 1.0801."""
    result = compare([1.0] * 4, [math.exp(logarithm) for logarithm in (-1, 0, 1, 4)], paired=True)
    assert math.log(result.smallest_ratio or 0) == pytest.approx(
        (3.182446 + 0.978472) * math.sqrt(14 / 12), rel=1e-6
    )
    # Never below the margin, of which a difference has to be.
    assert compare([1.0] * 4, [1.0] * 4, paired=True, margin=0.02).smallest_ratio == 1.02


@pytest.mark.parametrize("paired", [True, False])
def test_without_scatter_the_interval_is_a_point_and_the_margin_decides_the_verdict(
    *, paired: bool
) -> None:
    still = [1.0, 1.0, 1.0]
    same = compare(still, still, paired=paired)
    assert (same.p, same.verdict) == (1.0, "same within the margin")
    assert (same.ratio, same.low, same.high) == (1.0, 1.0, 1.0)
    assert (same.standard_error, same.degrees) == (0.0, 2)
    crumb = compare(still, [1.004] * 3, paired=paired)
    assert (crumb.p, crumb.verdict) == (0.0, "same within the margin")
    for off in (1.006, 0.9):
        result = compare(still, [off] * 3, paired=paired)
        assert (result.p, result.verdict) == (0.0, "different")
        assert result.low == result.high == result.ratio == pytest.approx(off)
    # By the margin or more is different: a quarter is a float, and its logarithm one of both.
    quarter = [1.25] * 3
    assert compare(still, quarter, paired=paired, margin=0.25).verdict == "different"
    assert compare(quarter, still, paired=paired, margin=0.25).verdict == "different"
    assert compare(still, quarter, paired=paired, margin=0.26).verdict == "same within the margin"


def test_without_scatter_the_degrees_of_freedom_come_from_the_smaller_side() -> None:
    assert compare([5.0] * 4, [5.0] * 7, paired=False).degrees == 3


def test_a_comparison_with_the_verdict_cannot_tell_states_its_margin_and_confidence() -> None:
    result = compare([100.0], [90.0, 90.0], paired=False, margin=0.1, confidence=0.9)
    assert (result.n, result.margin, result.confidence) == (1, 0.1, 0.9)
    assert result.ratio == pytest.approx(0.9)
    assert (result.standard_error, result.degrees, result.p_together) == (None, None, None)


@pytest.mark.parametrize("share", [-0.1, 0.0, 1.0, 1.5, math.nan])
def test_a_margin_or_confidence_outside_0_to_1_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="each must be between 0 and 1"):
        compare([1.0, 2.0], [1.0, 2.0], paired=True, margin=share)
    with pytest.raises(ValueError, match="each must be between 0 and 1"):
        compare([1.0, 2.0], [1.0, 2.0], paired=True, confidence=share)


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_a_comparison_refuses_a_value_without_a_logarithm_on_either_side(value: float) -> None:
    for sides in (([value, 1.0], [1.0, 1.0]), ([1.0, 1.0], [1.0, value])):
        with pytest.raises(ValueError, match="only values above 0 have a ratio"):
            compare(*sides, paired=False)


def test_a_ratio_too_large_for_a_float_is_infinite_and_no_error() -> None:
    result = compare([1e-300, 1e-299], [1e300, 1e299], paired=False)
    assert result.high == math.inf
    assert result.verdict == "different"
    # e^709.5 can be held, e^710 not.
    assert compare([1e-154], [1e154 * math.exp(0.3)], paired=True).ratio == pytest.approx(
        1e308 * math.exp(0.3), rel=1e-9
    )


@pytest.mark.parametrize("p", [-0.01, 1.01, math.nan])
def test_adjusting_refuses_p_values_outside_0_to_1(p: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        adjusted([0.5, p])


def test_p_values_0_and_1_are_accepted_and_the_default_rejection_rate_is_5_percent() -> None:
    assert adjusted([0.0, 1.0]) == (0.0, 1.0)
    assert rejected([0.05]) == (True,)
    assert rejected([math.nextafter(0.05, 1)]) == (False,)
    assert rejected([0.2, 0.9], rate=0.4) == (True, False)


def still(ratio: float) -> ComparisonResult:
    """Two trials a side without scatter."""
    return compare([1.0, 1.0], [ratio, ratio], paired=True)


def test_a_difference_without_scatter_stays_different_among_many_comparisons() -> None:
    together = judged_together([still(2.0), *[still(1.0)] * 50])
    assert (together[0].verdict, together[0].p_together) == ("different", 0.0)
    assert {result.p_together for result in together[1:]} == {1.0}


def test_comparisons_with_the_verdict_cannot_tell_do_not_weaken_other_comparisons() -> None:
    """Side by side with a hundred that tell nothing one is what it is by itself."""
    difference = compare(
        [1.0] * 4, [math.exp(logarithm) for logarithm in (1, 2, 3, 4)], paired=True
    )
    assert difference.verdict == "different"
    cannot = compare([1.0], [2.0], paired=True)
    together = judged_together([cannot] * 100 + [difference])
    assert together[:100] == (cannot,) * 100
    assert together[-1] == replace(difference, p_together=difference.p)
    assert judged_together([]) == ()
    assert judged_together([cannot]) == (cannot,)


def test_among_comparisons_the_detectable_ratio_assumes_one_more_rejected_comparison() -> None:
    """Of four, one is rejected: 0.05 x 2 / 4; of two, both are: 0.05 and no more."""
    difference = compare(
        [1.0] * 5, [math.exp(logarithm) for logarithm in (9, 10, 11, 10, 10)], paired=True
    )
    nothing = compare(
        [1.0] * 5, [math.exp(logarithm) for logarithm in (-1, 0, 1, 0, 0)], paired=True
    )
    error = math.sqrt(0.5 / 5)
    # Two-sided at 0.025 on 4 degrees: 3.495406; t(0.8, 4) = 0.940965; at 0.05 2.776445.
    among_four = judged_together([nothing, difference, nothing, nothing])
    for result in among_four:
        assert math.log(result.smallest_ratio or 0) == pytest.approx(
            (3.495406 + 0.940965) * error, rel=1e-6
        )
    for result in judged_together([difference, difference]):
        assert math.log(result.smallest_ratio or 0) == pytest.approx(
            (2.776445 + 0.940965) * error, rel=1e-6
        )
    # At a rate of 0.2 of two, none of them rejected: 0.2 x 1 / 2 would be more than 0.05.
    for result in judged_together([nothing, nothing], rate=0.2):
        assert result.smallest_ratio == pytest.approx(nothing.smallest_ratio)


def test_a_p_value_exactly_at_the_false_discovery_rate_still_gives_the_verdict_different() -> None:
    """t = 2.5 / 0.6455 on 3 degrees: p = 0.0305 by itself, among two with a p of 1 twice that."""
    difference = compare(
        [1.0] * 4, [math.exp(logarithm) for logarithm in (1, 2, 3, 4)], paired=True
    )
    assert difference.p is not None
    assert difference.p == pytest.approx(0.0305, abs=5e-5)
    result = judged_together([difference, still(1.0)], rate=difference.p * 2)[0]
    assert (result.verdict, result.p_together) == ("different", difference.p * 2)
    # One of two is rejected, so that the other would have to be at the rate itself; no comparison
    # tells more than at 5 %, as by itself.
    assert result.smallest_ratio == pytest.approx(difference.smallest_ratio)
    assert judged_together([difference, still(1.0)])[0].verdict == "not shown to be different"
