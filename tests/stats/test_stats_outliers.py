"""Outliers and steps are found in the lab report and in synthetic series."""

from __future__ import annotations

import csv

import pytest
from draws import chance, drawn
from folders import REPORTS
from hypothesis import given
from hypothesis import strategies as st

from netlab.stats import outliers_among_siblings, outliers_on_axis

LAB_REPORT = REPORTS / "lab-report" / "lab-report.csv"


def test_exactly_the_known_outliers_and_step_of_the_lab_report_are_found() -> None:
    series: dict[tuple[str, str, int], dict[int, float | None]] = {}
    with LAB_REPORT.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key = row["pairing"], row["protocol"], int(row["message_bytes"])
            value = float(row["mbit_per_s"]) if row["mbit_per_s"] else None
            series.setdefault(key, {})[int(row["socket_buffer_bytes"]) // 1024] = value
    kinds_of = {}
    for key, values in series.items():
        axis = sorted(values)
        for stray in outliers_on_axis([values[at] for at in axis], print_step=0.01):
            kinds_of[(*key, axis[stray.index])] = (stray.value, stray.kind)
    assert kinds_of == {
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
def test_one_outlier_in_a_smooth_series_is_found_at_every_position(
    at: int, level: float, share: float, noise: list[float]
) -> None:
    values = [level * (1 + share) for share in noise]
    assert outliers_on_axis(values) == ()
    values[at] *= share
    assert [(stray.index, stray.kind) for stray in outliers_on_axis(values)] == [(at, "outlier")]
    values[0 if at else 1] = values[at]
    assert {stray.kind for stray in outliers_on_axis(values)} <= {"outlier", "step"}


def test_a_series_with_normal_scatter_has_hardly_any_outliers() -> None:
    draw, n = chance(1), drawn(100, 2000)
    series = [[draw.gauss(90, 3) for _ in range(13)] for _ in range(n)]
    assert sum(len(outliers_on_axis(values)) for values in series) < 0.015 * n * 13


def test_a_slope_has_no_outlier_and_missing_values_are_skipped() -> None:
    slope: list[float | None] = [50.0 + step for step in range(13)]
    assert outliers_on_axis(slope) == ()
    flat: list[float | None] = [90.0, None, 90.1, 90.0, None, 20.0, 90.2, 90.1, 90.0]
    assert [(stray.index, stray.kind) for stray in outliers_on_axis(flat)] == [(5, "outlier")]
    assert outliers_on_axis([90.0, 20.0, 90.0, 90.0]) == ()


def test_an_outlying_trial_is_found_among_at_least_five_trials() -> None:
    siblings = [94.1, 94.2, 94.0, 70.0, 94.1]
    (stray,) = outliers_among_siblings(siblings)
    assert (stray.index, stray.value, stray.expected) == (3, 70.0, 94.1)
    assert outliers_among_siblings(siblings[:4]) == ()
    assert outliers_among_siblings([94.1, 94.2, 94.0, 92.0, 94.1]) == ()
    assert outliers_among_siblings(siblings, print_step=10.0) == ()


def kinds(values: list[float | None], **print_step: float) -> dict[int, str]:
    """Index → outlier or step."""
    return {stray.index: stray.kind for stray in outliers_on_axis(values, **print_step)}


@pytest.mark.parametrize(("off", "stray_kinds"), [(6.0, {}), (6.001, {3: "outlier"})])
@pytest.mark.parametrize("sign", [1, -1])
def test_an_outlier_deviates_by_more_than_6_percent_from_a_series_without_scatter(
    off: float, stray_kinds: dict[int, str], sign: int
) -> None:
    """The others do not scatter at all: s is 1 % of their median, 100."""
    values: list[float | None] = [100.0] * 7
    values[3] = 100 + sign * off
    assert kinds(values) == stray_kinds
    # A series below zero is as large as one above.
    assert kinds([-value for value in values if value is not None]) == stray_kinds


@pytest.mark.parametrize(("off", "stray_kinds"), [(17.791, {}), (17.792, {3: "outlier"})])
def test_the_outlier_scale_of_a_scattering_series_is_its_median_absolute_deviation(
    off: float, stray_kinds: dict[int, str]
) -> None:
    """Around 100 the six lie 3, 2, 1, 1, 2, 3 off: MAD 2, s = 2.9652, 6 s = 17.7912."""
    values: list[float | None] = [97.0, 98.0, 99.0, 100 + off, 101.0, 102.0, 103.0]
    assert kinds(values) == stray_kinds
    for stray in outliers_on_axis(values):
        assert (stray.value, stray.expected) == (100 + off, 100.0)
        assert stray.scale == pytest.approx(2.9652)


@pytest.mark.parametrize(("off", "stray_kinds"), [(30.0, {}), (30.1, {3: "outlier"})])
def test_the_outlier_scale_of_a_printed_series_is_at_least_three_printed_steps(
    off: float, stray_kinds: dict[int, str]
) -> None:
    """Steps of 5/3 in the last digit: s = 5 and more, 6 s = 30."""
    values: list[float | None] = [100.0] * 7
    values[3] = 100 + off
    assert kinds(values, print_step=5 / 3) == stray_kinds


def test_a_series_needs_five_measured_values_for_an_outlier() -> None:
    assert kinds([100.0, 100.0, 50.0, 100.0, 100.0]) == {2: "outlier"}
    assert kinds([100.0, 100.0, 50.0, None, 100.0, None, 100.0]) == {2: "outlier"}
    assert kinds([100.0, 50.0, 100.0, 100.0]) == {}


@pytest.mark.parametrize(
    ("second", "stray_kinds"),
    [
        # More than 5 s off the same way each: neither is a slip.
        (105.1, {4: "step", 5: "step"}),
        # 5 s and no more bears nothing out.
        (105.0, {4: "outlier"}),
        # The other way.
        (94.0, {4: "outlier"}),
        (93.9, {4: "outlier", 5: "outlier"}),
    ],
)
def test_two_adjacent_values_that_deviate_alike_by_five_scales_are_a_step(
    second: float, stray_kinds: dict[int, str]
) -> None:
    values: list[float | None] = [100.0] * 11
    values[4], values[5] = 106.1, second
    assert kinds(values) == stray_kinds
    # What was not measured does not stand between them, and the order does not matter.
    assert kinds([*values[:5], None, *values[5:]]) == {
        at + (at > 4): k for at, k in stray_kinds.items()
    }
    assert kinds(values[::-1]) == {10 - at: kind for at, kind in stray_kinds.items()}


def test_a_single_value_between_five_and_six_scales_is_no_outlier() -> None:
    values: list[float | None] = [100.0] * 11
    values[4], values[7] = 105.9, 105.9
    assert kinds(values) == {}
    values[5] = 105.9
    assert kinds(values) == {4: "step", 5: "step"}


@pytest.mark.parametrize(
    ("place", "near"),
    [
        (0, {1, 2, 3, 4, 5, 6}),
        (1, {0, 2, 3, 4, 5, 6}),
        (4, {1, 2, 3, 5, 6, 7}),
        (8, {2, 3, 4, 5, 6, 7}),
    ],
)
def test_a_value_is_compared_with_its_six_nearest_neighbours_only(
    place: int, near: set[int]
) -> None:
    """Those stand at 1000, all others at 1: only by the six is a value of 1000 no stray."""
    values = [1000.0 if at in near or at == place else 1.0 for at in range(9)]
    assert place not in kinds([*values])
    values[place] = 1.0
    (stray,) = (stray for stray in outliers_on_axis(values) if stray.index == place)
    assert (stray.value, stray.expected, stray.scale) == (1.0, 1000.0, 10.0)


@pytest.mark.parametrize(("off", "indices"), [(3.5, []), (3.501, [2])])
@pytest.mark.parametrize("sign", [1, -1])
def test_an_outlying_trial_deviates_by_more_than_three_and_a_half_scales(
    off: float, indices: list[int], sign: int
) -> None:
    """Four at 100: their deviation is 0, and the scale 1 % of the median."""
    values = [100.0, 100.0, 100 + sign * off, 100.0, 100.0]
    strays = outliers_among_siblings(values)
    assert [stray.index for stray in strays] == indices
    for stray in strays:
        assert (stray.expected, stray.scale, stray.kind) == (100.0, 1.0, "outlier")
        assert stray.value == 100 + sign * off


def test_the_scale_of_scattering_trials_is_their_median_absolute_deviation() -> None:
    """96, 98, 100, 102 and 100 + x: deviations 4, 2, 0, 2 and x, MAD 2, 3.5 s = 10.3782."""
    assert outliers_among_siblings([96.0, 98.0, 100.0, 102.0, 110.378]) == ()
    (stray,) = outliers_among_siblings([96.0, 98.0, 100.0, 102.0, 110.379])
    assert stray.index == 4
    assert stray.scale == pytest.approx(2.9652)
