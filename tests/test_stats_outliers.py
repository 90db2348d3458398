"""Strays on an axis and among siblings, on the lab report and on series made up."""

from __future__ import annotations

import csv
import random
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from netlab.stats import strays_among_siblings, strays_on_axis

LAB_REPORT = Path(__file__).parents[1] / "reports" / "lab-report" / "lab-report.csv"


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
