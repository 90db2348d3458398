"""Statistics of trials, against tables and against what defines them."""

from __future__ import annotations

import csv
import math
import random
import statistics
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.stats import (
    adjusted,
    benjamini_hochberg,
    compare,
    half_width_share,
    interval,
    judged_together,
    mean,
    mean_absolute_deviation,
    median,
    median_absolute_deviation,
    median_interval,
    pairs_by_block,
    rounded,
    standard_deviation,
    stein_interval,
    stein_trials,
    strays_among_siblings,
    strays_on_axis,
    t_above,
    t_quantile,
    t_two_sided,
    tight,
    variance,
)

LAB_REPORT = Path(__file__).parents[1] / "reports" / "lab-report" / "lab-report.csv"
SLEEP = (
    # "Student", Biometrika 6, 1908: hours of sleep gained by two drugs, ten patients.
    [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
    [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0],
)
rates = st.lists(st.floats(1e3, 1e11), min_size=3, max_size=30)


@pytest.mark.parametrize(
    ("degrees", "at_0_95", "at_0_975", "at_0_995"),
    [
        # NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2.
        (1, 6.314, 12.706, 63.657),
        (2, 2.920, 4.303, 9.925),
        (3, 2.353, 3.182, 5.841),
        (4, 2.132, 2.776, 4.604),
        (5, 2.015, 2.571, 4.032),
        (9, 1.833, 2.262, 3.250),
        (10, 1.812, 2.228, 3.169),
        (29, 1.699, 2.045, 2.756),
        (30, 1.697, 2.042, 2.750),
        (100, 1.660, 1.984, 2.626),
    ],
)
def test_the_t_quantiles_are_those_of_the_printed_table(
    degrees: int, at_0_95: float, at_0_975: float, at_0_995: float
) -> None:
    assert t_quantile(0.95, degrees) == pytest.approx(at_0_95, abs=5e-4)
    assert t_quantile(0.975, degrees) == pytest.approx(at_0_975, abs=5e-4)
    assert t_quantile(0.995, degrees) == pytest.approx(at_0_995, abs=5e-4)


def test_the_t_quantile_is_symmetric_zero_in_the_middle_and_becomes_the_normal_one() -> None:
    assert t_quantile(0.5, 7) == pytest.approx(0, abs=1e-12)
    assert t_quantile(0.1, 7) == pytest.approx(-t_quantile(0.9, 7))
    assert t_quantile(0.975, 10_000) == pytest.approx(
        statistics.NormalDist().inv_cdf(0.975), abs=5e-4
    )


@pytest.mark.parametrize(("probability", "degrees"), [(0, 3), (1, 3), (-0.1, 3), (0.9, 0)])
def test_a_quantile_that_does_not_exist_is_refused(probability: float, degrees: int) -> None:
    with pytest.raises(ValueError, match="no t "):
        t_quantile(probability, degrees)


def test_the_interval_of_a_mean_is_the_one_computed_by_hand() -> None:
    found = interval([94.0, 94.2, 94.1])
    assert found.mean == pytest.approx(94.1)
    assert found.half_width == pytest.approx(4.302653 * 0.1 / math.sqrt(3), rel=1e-6)
    assert (found.n, found.confidence) == (3, 0.95)
    assert interval([5.0, 5.0, 5.0]).half_width == 0


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0]])
def test_fewer_than_three_trials_have_no_interval(values: list[float]) -> None:
    with pytest.raises(ValueError, match="an interval needs 3"):
        interval(values)


def test_nothing_has_neither_mean_nor_median() -> None:
    with pytest.raises(ValueError, match="no values"):
        mean([])
    with pytest.raises(ValueError, match="no values"):
        median([])


def test_the_median_of_an_even_number_lies_between_the_two_in_the_middle() -> None:
    assert median([3.0, 1.0, 2.0]) == 2.0
    assert median([4.0, 1.0, 2.0, 3.0]) == 2.5


def test_one_bad_value_pulls_the_mean_and_not_the_median() -> None:
    printed = [92.35, 92.36, 92.37, 92.38, 92.37, 92.38, 92.38, 92.40, 92.38, 92.38, 92.21, 1.89]
    assert rounded(mean(printed), 2) == rounded(84.82, 2)
    assert rounded(median(printed), 3) == rounded(92.375, 3)


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (91.465, 2, "91.47"),
        (0.125, 2, "0.13"),
        (2.675, 2, "2.68"),
        (-0.125, 2, "-0.13"),
        (94.1, 2, "94.10"),
        (1e22, 0, "10000000000000000000000"),
        (0.004999, 2, "0.00"),
    ],
)
def test_halves_are_rounded_away_from_zero_as_printed_tables_do(
    value: float, decimals: int, text: str
) -> None:
    assert str(rounded(value, decimals)) == text


@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=20))
def test_a_mean_of_printed_decimals_is_exact_to_the_last_digit(hundredths: list[int]) -> None:
    in_bit_per_s = [value * 10_000.0 for value in hundredths]
    whole, rest = divmod(2 * sum(hundredths) + len(hundredths), 2 * len(hundredths))
    del rest
    assert rounded(mean(in_bit_per_s) / 1e6, 2) == rounded(whole / 100, 2)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_a_mean_is_the_float_next_to_the_exact_one(values: list[float]) -> None:
    assert mean(values) == float(sum(map(Fraction, values)) / len(values))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_has_no_mean(value: float) -> None:
    for values in ([value], [1.0, value]):
        with pytest.raises((ValueError, OverflowError)):
            mean(values)


@given(rates)
def test_an_interval_holds_its_mean_and_grows_with_the_confidence(values: list[float]) -> None:
    narrow, wide = interval(values, 0.9), interval(values, 0.99)
    assert narrow.low <= narrow.mean <= narrow.high
    assert wide.half_width >= narrow.half_width
    assert min(values) <= mean(values) <= max(values)
    assert min(values) <= median(values) <= max(values)


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 5, 8, 29, 100, 999, 1000])
@pytest.mark.parametrize("t", [1e-6, 0.1, 1.0, 2.0, 5.0, 40.0])
def test_the_distribution_agrees_with_the_closed_form_for_whole_degrees(
    degrees: int, t: float
) -> None:
    theta = math.atan(t / math.sqrt(degrees))
    within = share_within(theta, degrees)
    assert 1 - t_two_sided(t, degrees) == pytest.approx(within, rel=1e-9, abs=1e-12)
    assert t_above(t, degrees) + t_above(-t, degrees) == pytest.approx(1)
    if within < 1 - 1e-6:
        assert t_quantile((1 + within) / 2, degrees) == pytest.approx(t, rel=1e-6)


def share_within(theta: float, degrees: int) -> float:
    """P(|T| <= t) for t = √degrees tan θ (Abramowitz and Stegun 26.7.3 and 26.7.4)."""
    cosine = math.cos(theta)
    odd = degrees % 2
    term = total = cosine if odd else 1.0
    for step in range(2 + odd, degrees, 2):
        term *= cosine * cosine * (step - 1) / step
        total += term
    if not odd:
        return math.sin(theta) * total
    return 2 / math.pi * (theta + (math.sin(theta) * total if degrees > 1 else 0.0))


@given(st.floats(1, 200), st.floats(0.5001, 0.9999))
def test_the_quantile_turns_the_distribution_around_for_broken_degrees_as_well(
    degrees: float, probability: float
) -> None:
    quantile = t_quantile(probability, degrees)
    assert t_above(quantile, degrees) == pytest.approx(1 - probability, rel=1e-9)
    wider = t_quantile(probability, degrees + 1)
    assert 0 < wider <= quantile


def test_each_deviation_is_its_own() -> None:
    values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]
    assert variance(values) == pytest.approx(32 / 7)
    assert standard_deviation(values) == pytest.approx(math.sqrt(32 / 7))
    assert mean_absolute_deviation(values) == 1.5
    assert median_absolute_deviation(values) == 0.5


def test_one_value_scatters_by_no_known_amount() -> None:
    with pytest.raises(ValueError, match="a variance needs 2"):
        variance([1.0])
    with pytest.raises(ValueError, match="a variance needs 2"):
        standard_deviation([1.0])
    with pytest.raises(ValueError, match="no values"):
        mean_absolute_deviation([])
    with pytest.raises(ValueError, match="no values"):
        median_absolute_deviation([])


@given(rates)
def test_the_deviations_are_those_of_the_standard_library(values: list[float]) -> None:
    assert variance(values) == pytest.approx(statistics.variance(values), rel=1e-9)
    assert mean_absolute_deviation(values) <= standard_deviation(values) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("n", "rank", "coverage"),
    # Conover, Practical Nonparametric Statistics, table A3, at p = 1/2.
    [(6, 1, 0.96875), (10, 2, 0.9785), (15, 4, 0.9648), (20, 6, 0.9586)],
)
def test_the_interval_of_a_median_lies_between_the_ranks_of_the_table(
    n: int, rank: int, coverage: float
) -> None:
    found = median_interval([float(value) for value in range(n, 0, -1)])
    assert (found.low, found.high) == (rank, n + 1 - rank)
    assert found.coverage == pytest.approx(coverage, abs=5e-5)
    assert found.median == (n + 1) / 2


def test_too_few_trials_have_no_interval_of_their_median() -> None:
    with pytest.raises(ValueError, match="needs 6"):
        median_interval([1.0] * 5)
    with pytest.raises(ValueError, match="their range covers the median"):
        median_interval([1.0] * 6, confidence=0.99)


def test_tight_needs_two_looks_running() -> None:
    assert tight([100.0, 100.1, 100.0, 100.1], within=0.025)
    # Four are tight, and without the last they were not.
    assert half_width_share([90.0, 100.0, 110.0]) > 0.2
    assert not tight([90.0, 100.0, 110.0, 100.0], within=0.2)
    assert half_width_share([90.0, 100.0, 110.0, 100.0]) <= 0.2
    assert not tight([100.0, 100.0, 100.0], within=0.025)
    assert tight([0.0] * 4, within=0.025)
    assert not tight([-1.0, 1.0, -1.0, 1.0], within=0.025)


def test_stopping_when_tight_costs_a_little_coverage_and_saves_most_of_the_trials() -> None:
    chance = random.Random(7)  # noqa: S311  (nothing secret)
    covered = taken = 0
    for _ in range(1000):
        values = [chance.gauss(100, 3) for _ in range(30)]
        n = next((n for n in range(5, 31) if tight(values[:n], 0.025)), 30)
        found = interval(values[:n])
        covered += found.low <= 100 <= found.high
        taken += n
    assert 0.90 <= covered / 1000 <= 0.95
    assert 8 <= taken / 1000 <= 10


@given(rates, st.floats(1e-6, 1))
def test_what_is_tight_is_as_narrow_as_was_asked(values: list[float], within: float) -> None:
    if tight(values, within):
        assert interval(values).half_width <= within * mean(values) * (1 + 1e-9)
        assert tight(values, within * 2)


def test_stein_asks_for_as_many_trials_as_the_pilot_scatters() -> None:
    pilot = [98.0, 99.0, 100.0, 101.0, 102.0]  # s² = 2.5
    # t(0.975, 4) = 2.776: 2.776² x 2.5 / 0.5² = 77.1.
    assert stein_trials(pilot, 0.5) == 78
    assert stein_trials(pilot, 50.0) == 5
    assert stein_trials([7.0] * 5, 0.1) == 5
    found = stein_interval([*pilot, *[100.0] * 73], 5)
    assert found.n == 78
    assert found.half_width <= 0.5
    with pytest.raises(ValueError, match="it needs 5"):
        stein_trials(pilot[:4], 0.5)
    with pytest.raises(ValueError, match="cannot be"):
        stein_trials(pilot, 0.0)


def test_steins_interval_covers_as_often_as_it_says_whatever_n_came_out() -> None:
    chance = random.Random(5)  # noqa: S311  (nothing secret)
    covered = 0
    for _ in range(1000):
        values = [chance.gauss(100, 2) for _ in range(5)]
        n = stein_trials(values, 1.0)
        values += [chance.gauss(100, 2) for _ in range(n - 5)]
        found = stein_interval(values, 5)
        assert found.half_width <= 1.0 + 1e-9
        covered += found.low <= 100 <= found.high
    assert 0.93 <= covered / 1000 <= 0.97


def test_the_paired_comparison_is_students_own() -> None:
    drug_2, drug_1 = ([math.exp(hours) for hours in group] for group in SLEEP)
    found = compare(drug_2, drug_1, paired=True)
    assert found.p == pytest.approx(0.002833, abs=5e-7)
    assert math.log(found.ratio or 0) == pytest.approx(-1.58)
    assert math.log(found.low or 0) == pytest.approx(-2.4598858, abs=1e-6)
    assert math.log(found.high or 0) == pytest.approx(-0.7001142, abs=1e-6)
    assert (found.n, found.verdict) == (10, "different")


def test_the_comparison_of_two_samples_is_welchs() -> None:
    drug_2, drug_1 = ([math.exp(hours) for hours in group] for group in SLEEP)
    found = compare(drug_2, drug_1, paired=False)
    assert found.p == pytest.approx(0.07939, abs=5e-6)
    assert math.log(found.low or 0) == pytest.approx(-3.3654832, abs=1e-6)
    assert math.log(found.high or 0) == pytest.approx(0.2054832, abs=1e-6)
    assert found.verdict == "not shown to be different"
    assert found.smallest_ratio is not None
    assert found.smallest_ratio > 6


def test_a_sure_difference_below_the_margin_is_the_same() -> None:
    baseline = [100.00, 100.01, 99.99, 100.00, 100.01]
    contender = [value * 1.002 for value in baseline]
    found = compare(baseline, contender, paired=False)
    assert found.p is not None
    assert found.p < 1e-6
    assert found.verdict == "same within the margin"
    assert found.smallest_ratio == 1.005
    assert compare(baseline, contender, paired=False, margin=0.001).verdict == "different"


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("n", [0, 1])
def test_one_trial_a_side_cannot_tell(n: int, *, paired: bool) -> None:
    found = compare([100.0] * n, [120.0] * n, paired=paired)
    assert (found.verdict, found.n) == ("cannot tell", n)
    assert (found.low, found.high, found.p, found.smallest_ratio) == (None, None, None, None)
    assert found.ratio == (pytest.approx(1.2) if n else None)


def test_what_has_no_ratio_is_refused() -> None:
    with pytest.raises(ValueError, match="above 0"):
        compare([0.0, 1.0], [1.0, 1.0], paired=True)
    with pytest.raises(ValueError, match="no pairs"):
        compare([1.0, 1.0], [1.0], paired=True)
    with pytest.raises(ValueError, match="between 0 and 1"):
        compare([1.0, 1.0], [1.0, 1.0], paired=True, margin=0.0)


several = st.lists(st.floats(1e3, 1e11), min_size=2, max_size=12)


@given(several, several, st.booleans(), st.sampled_from([0.005, 0.05, 0.5]))
def test_exchanging_the_sides_inverts_the_ratio_and_changes_no_verdict(
    one: list[float], other: list[float], paired: bool, margin: float
) -> None:
    n = min(len(one), len(other)) if paired else None
    there = compare(one[:n], other[:n], paired=paired, margin=margin)
    back = compare(other[:n], one[:n], paired=paired, margin=margin)
    assert there.verdict == back.verdict
    assert there.p == pytest.approx(back.p)
    assert there.ratio is not None
    assert back.ratio is not None
    assert there.ratio == pytest.approx(1 / back.ratio)
    assert there.smallest_ratio == pytest.approx(back.smallest_ratio)


@given(several, several, st.sampled_from([0.005, 0.05, 0.5]))
def test_the_verdict_agrees_with_the_intervals(
    one: list[float], other: list[float], margin: float
) -> None:
    found = compare(one, other, paired=False, margin=margin)
    inner = compare(one, other, paired=False, margin=margin, confidence=0.9)
    assert found.low is not None
    assert found.high is not None
    assert inner.low is not None
    assert inner.high is not None
    if found.verdict == "different":
        assert not found.low < 1 < found.high
    # Two one-sided tests at 5 % are one interval of 90 % within the margins.
    within = 1 / (1 + margin) < inner.low <= inner.high < 1 + margin
    if found.verdict != "different":
        assert (found.verdict == "same within the margin") == within


def test_a_difference_of_the_smallest_ratio_is_found_in_four_of_five() -> None:
    chance = random.Random(3)  # noqa: S311  (nothing secret)
    scatter, n, found = 0.01, 8, 0
    # What t asks of eight trials a side, by the true scatter.
    size = (t_quantile(0.975, 14) + t_quantile(0.8, 14)) * scatter * math.sqrt(2 / n)
    for _ in range(1000):
        baseline = [math.exp(chance.gauss(0, scatter)) for _ in range(n)]
        contender = [math.exp(chance.gauss(size, scatter)) for _ in range(n)]
        found += compare(baseline, contender, paired=False).verdict == "different"
    assert 0.75 <= found / 1000 <= 0.86


def test_pairs_are_the_blocks_that_both_have() -> None:
    assert pairs_by_block({1: 10.0, 2: 11.0, 4: 13.0}, {4: 23.0, 2: 21.0, 3: 22.0}) == (
        [11.0, 13.0],
        [21.0, 23.0],
    )


def test_false_discoveries_are_controlled_as_in_the_first_paper() -> None:
    # Benjamini and Hochberg 1995, section 4.1: fifteen tests, four rejected.
    p_values = [
        0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
        0.5719, 0.6528, 0.7590, 1.000,
    ]  # fmt: skip
    assert benjamini_hochberg(p_values) == (True,) * 4 + (False,) * 11
    assert benjamini_hochberg(p_values[::-1]) == (False,) * 11 + (True,) * 4
    assert benjamini_hochberg([]) == ()
    # A larger p that passes takes the smaller ones with it.
    assert benjamini_hochberg([0.04, 0.04]) == (True, True)


def test_of_many_comparisons_only_what_holds_side_by_side_stays_different() -> None:
    one = compare([100.0, 101.0, 99.0, 100.5], [103.0, 102.5, 101.5, 103.5], paired=False)
    assert one.verdict == "different"
    assert one.p is not None
    assert 0.002 < one.p < 0.05
    same = compare([100.0, 101.0, 99.0], [100.0, 101.5, 99.0], paired=False)
    alone = compare([100.0], [120.0], paired=False)
    assert judged_together([one])[0].verdict == "different"
    many = judged_together([one, *[same] * 40, alone])
    assert many[0].verdict == "not shown to be different"
    assert {each.verdict for each in many[1:-1]} == {same.verdict}
    assert many[-1].verdict == "cannot tell"


def test_an_adjusted_p_is_the_rate_at_which_it_is_rejected() -> None:
    # By hand: 4 x 0.01 / 1, 4 x 0.02 / 2, 4 x 0.03 / 3, and the last as it is.
    assert adjusted([0.02, 0.9, 0.01, 0.03]) == pytest.approx((0.04, 0.9, 0.04, 0.04))
    assert adjusted([]) == ()
    with pytest.raises(ValueError, match="between 0 and 1"):
        adjusted([1.1])


@given(st.lists(st.floats(0, 1), max_size=20), st.floats(0.001, 0.5))
def test_adjusting_keeps_the_order_and_never_makes_a_p_smaller(
    p_values: list[float], rate: float
) -> None:
    found = adjusted(p_values)
    assert all(before <= after <= 1 for before, after in zip(p_values, found, strict=True))
    ordered = [after for _, after in sorted(zip(p_values, found, strict=True))]
    assert ordered == sorted(ordered)
    assert sum(benjamini_hochberg(p_values, rate)) == sum(each <= rate for each in found)


def test_among_many_it_takes_a_larger_difference_to_show_and_that_is_what_is_said() -> None:
    chance = random.Random(4)  # noqa: S311  (nothing secret)
    scatter, n, others = 0.01, 8, 20
    nothing = compare([100.0, 101.0, 99.0] * 3, [100.1, 100.9, 99.1] * 3, paired=True)
    size = (t_quantile(1 - 0.05 / (others + 1) / 2, n - 1) + t_quantile(0.8, n - 1)) * (
        scatter * math.sqrt(2 / n)
    )
    found = 0
    for _ in range(400):
        baseline = [math.exp(chance.gauss(0, scatter)) for _ in range(n)]
        contender = [math.exp(chance.gauss(size, scatter)) for _ in range(n)]
        alone = compare(baseline, contender, paired=True)
        among = judged_together([alone, *[nothing] * others])[0]
        assert among.p_together is not None
        assert alone.p is not None
        assert among.p_together >= alone.p
        found += among.verdict == "different"
        assert among.smallest_ratio is not None
        assert alone.smallest_ratio is not None
        assert among.smallest_ratio >= alone.smallest_ratio
    assert 0.74 <= found / 400 <= 0.88
    assert judged_together([compare(baseline, contender, paired=True)])[0].smallest_ratio == (
        pytest.approx(alone.smallest_ratio)
    )


def test_the_lab_reports_outliers_and_its_step_are_found_and_nothing_else() -> None:
    series: dict[tuple[str, str, int], dict[int, float | None]] = {}
    with LAB_REPORT.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key = row["pairing"], row["protocol"], int(row["message_bytes"])
            value = float(row["mbit_per_s"]) if row["mbit_per_s"] else None
            series.setdefault(key, {})[int(row["socket_buffer_bytes"]) // 1024] = value
    found = {}
    for key, values in series.items():
        axis = sorted(values)
        for stray in strays_on_axis([values[at] for at in axis], print_step=0.01):
            found[(*key, axis[stray.index])] = (stray.value, stray.kind)
    assert found == {
        ("WL", "UDP", 1500, 60): (1.89, "outlier"),
        ("WL", "UDP", 64512, 24): (56.31, "outlier"),
        ("LL", "UDP", 1500, 60): (87.14, "step"),
        ("LL", "UDP", 1500, 64): (87.14, "step"),
    }


@given(
    st.integers(0, 12),
    st.floats(1e6, 1e10),
    st.floats(0.3, 0.9),
    st.lists(st.floats(-0.005, 0.005), min_size=13, max_size=13),
)
def test_one_slip_in_a_smooth_series_is_found_wherever_it_stands(
    at: int, level: float, share: float, noise: list[float]
) -> None:
    values = [level * (1 + each) for each in noise]
    assert strays_on_axis(values) == ()
    values[at] *= share
    assert [(each.index, each.kind) for each in strays_on_axis(values)] == [(at, "outlier")]
    values[0 if at else 1] = values[at]
    assert {each.kind for each in strays_on_axis(values)} <= {"outlier", "step"}


def test_a_series_of_normal_scatter_has_hardly_a_stray() -> None:
    chance = random.Random(1)  # noqa: S311  (nothing secret)
    series = [[chance.gauss(90, 3) for _ in range(13)] for _ in range(400)]
    assert sum(len(strays_on_axis(values)) for values in series) < 0.015 * 400 * 13


def test_a_slope_is_no_stray_and_blanks_are_stepped_over() -> None:
    slope: list[float | None] = [50.0 + step for step in range(13)]
    assert strays_on_axis(slope) == ()
    flat: list[float | None] = [90.0, None, 90.1, 90.0, None, 20.0, 90.2, 90.1, 90.0]
    assert [(each.index, each.kind) for each in strays_on_axis(flat)] == [(5, "outlier")]
    assert strays_on_axis([90.0, 20.0, 90.0, 90.0]) == ()


def test_a_trial_that_leaves_its_siblings_is_found_from_five_on() -> None:
    siblings = [94.1, 94.2, 94.0, 70.0, 94.1]
    (stray,) = strays_among_siblings(siblings)
    assert (stray.index, stray.value, stray.expected) == (3, 70.0, 94.1)
    assert strays_among_siblings(siblings[:4]) == ()
    assert strays_among_siblings([94.1, 94.2, 94.0, 92.0, 94.1]) == ()
    assert strays_among_siblings(siblings, print_step=10.0) == ()
