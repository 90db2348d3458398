"""Change points are found at steps and not in drift, outliers and noise."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from draws import drawn, seeds
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.truth.drawn_histories import DRIFTS, NOISES, Drawn, draw, drawn_steps, score
from netlab.errors import UsageError
from netlab.stats.breaks import course_of

needs_ruptures = pytest.mark.needs("ruptures")


def with_step(seed: int, change: float = -0.02, at: int = 200, **more: object) -> Drawn:
    chance = np.random.default_rng(seed)
    return draw(chance, steps=[(at, change)], **more)  # type: ignore[arg-type]


@needs_ruptures
@pytest.mark.parametrize("drift", DRIFTS)
def test_a_step_of_2_percent_is_the_only_change_point_and_is_found_within_5_runs(
    drift: str,
) -> None:
    (point,) = course_of(with_step(2, drift=drift).figures).change_points
    assert abs(point.index - 200) <= 5
    assert point.change_share == pytest.approx(-0.02, abs=0.004)
    assert point.p_value <= 0.002


@needs_ruptures
@pytest.mark.parametrize("noise", NOISES)
def test_drawn_histories_without_a_step_have_hardly_any_change_point(noise: str) -> None:
    chance = np.random.default_rng(seeds(1, 1)[0])
    histories = [
        draw(chance, runs=drawn(60, 120), noise=noise, drift=drift)
        for drift in DRIFTS
        for _ in range(drawn(1, 4))
    ]
    # About one history of a hundred has a false change point.
    assert score(histories).histories_with_false <= drawn(1, 2)


@needs_ruptures
def test_several_steps_in_a_history_with_gaps_are_all_found() -> None:
    chance = np.random.default_rng(11)
    steps = drawn_steps(chance, 365, 3, least=0.02)
    total = score([draw(chance, gaps=0.1, steps=steps)])
    assert (total.found, total.missed, total.false) == (3, 0, 0)


@needs_ruptures
def test_a_change_point_has_at_least_five_runs_on_each_side() -> None:
    chance = np.random.default_rng(3)
    for later in (1, 4):
        figures = draw(chance, runs=60, steps=[(60 - later, -0.1)]).figures
        assert course_of(figures).change_points == ()
        assert course_of(figures[::-1]).change_points == ()
    figures = draw(chance, runs=60, steps=[(55, -0.1)]).figures
    assert [point.index for point in course_of(figures).change_points] == [55]


@needs_ruptures
def test_a_few_bad_runs_are_no_change_point() -> None:
    figures = [*draw(np.random.default_rng(5), runs=80).figures]
    for at, share in ((20, 0.5), (40, 0.8), (41, 0.82), (42, 0.79), (60, 1.3)):
        figures[at] = share * (figures[at] or 0)
    assert course_of(figures).change_points == ()


@needs_ruptures
def test_the_next_figure_of_a_history_lies_in_the_range_expected_after_the_last_step() -> None:
    inside = 0
    n = drawn(10, 40)
    for seed in range(n):
        figures = draw(np.random.default_rng(seed), runs=61, steps=[(30, 0.1)]).figures
        expected, following = course_of(figures[:-1]).expected(), figures[-1]
        assert expected is not None and following is not None
        assert expected.runs == 30
        assert expected.level == pytest.approx(94 * 1.1, rel=0.01)
        inside += expected.low <= following <= expected.high
    assert inside >= 0.95 * n


@needs_ruptures
def test_judging_more_figures_together_widens_the_expected_range() -> None:
    course = course_of(draw(np.random.default_rng(1), runs=40).figures)
    alone, together = course.expected(), course.expected(50)
    assert alone is not None and together is not None
    assert together.low < alone.low < alone.level < alone.high < together.high


@needs_ruptures
def test_outliers_of_a_history_widen_the_expected_range() -> None:
    course = course_of(draw(np.random.default_rng(9), runs=300, noise="outliers").figures)
    expected = course.expected()
    assert expected is not None
    # A normal history's range is 2.6 deviations of 0.4 %; 1 % of these figures are 4 % off or more.
    assert expected.low < 94 * 0.96


@needs_ruptures
def test_a_step_in_a_history_of_700_runs_is_found_within_5_runs() -> None:
    (point,) = course_of(with_step(6, runs=700, at=400).figures).change_points
    assert abs(point.index - 400) <= 5


@needs_ruptures
def test_the_same_history_has_the_same_change_points_each_time() -> None:
    figures = with_step(4, at=30, runs=60, noise="Student, 3 degrees").figures
    assert course_of(figures).change_points == course_of(figures).change_points


@needs_ruptures
def test_the_levels_before_and_after_a_step_without_scatter_are_exact() -> None:
    (point,) = course_of([94.0] * 20 + [90.0] * 20).change_points
    assert point.index == 20
    assert [point.before, point.after] == pytest.approx([94.0, 90.0])
    assert course_of([94.0] * 40).change_points == ()


@needs_ruptures
def test_gaps_in_a_history_count_as_runs_and_have_no_level() -> None:
    figures: list[float | None] = [*([94.0, 94.1, None] * 10), *([90.0, None, 90.1] * 10)]
    course = course_of(figures)
    assert [point.index for point in course.change_points] == [30]
    assert course.count == 40
    gaps = [at for at, level in enumerate(course.levels) if level is None]
    assert gaps == [at for at, figure in enumerate(figures) if figure is None]


def test_a_short_history_is_one_segment_and_needs_no_extra_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "ruptures.base", None)
    course = course_of([94.0, None, 94.1, 80.0])
    assert (course.change_points, course.starts, course.expected()) == ((), (0,), None)
    assert course_of([None, None]).starts == ()
    with pytest.raises(UsageError, match=r"pip install 'netlab-matrix\[history\]'"):
        course_of([94.0] * 10)


@pytest.mark.parametrize("figure", [0.0, -1.0, float("nan"), float("inf")])
def test_a_history_refuses_figures_that_are_not_finite_and_positive(figure: float) -> None:
    with pytest.raises(ValueError, match="finite and above 0"):
        course_of([94.0, figure])


@needs_ruptures
@given(
    st.lists(st.one_of(st.none(), st.floats(1e-6, 1e12, allow_subnormal=False)), max_size=45),
    st.lists(st.sampled_from([1.0, 2.0]), min_size=5, max_size=5),
)
def test_change_points_of_any_history_have_enough_runs_and_a_noticeable_change(
    figures: list[float | None], repeated: list[float]
) -> None:
    for history in (figures, [*figures, *repeated * 3]):
        course = course_of(history)
        assert [level is None for level in course.levels] == [y is None for y in history]
        for point in course.change_points:
            counts = [
                sum(y is not None for y in side)
                for side in (history[: point.index], history[point.index :])
            ]
            assert min(counts) >= 5
            assert history[point.index] is not None
            assert abs(point.change_share) >= 0.004
        expected = course.expected()
        assert expected is None or 0 <= expected.low <= expected.level <= expected.high
