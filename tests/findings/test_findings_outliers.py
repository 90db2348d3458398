"""Findings report outlying cells, steps and outlying trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, median
from typing import Any

import pytest
from made_findings import KIB, cells_of, measured, of, run_of, stream

from netlab.findings.buffers import outliers
from netlab.findings.finding import Finding, Group, Kind
from netlab.findings.series import series_of

# ---- outliers, steps, stray trials ---------------------------------------------------------------


def on_axis(figures: Sequence[float | None], **more: Any) -> tuple[Finding, ...]:
    run = measured(dict(zip(SIZES, ([f] for f in figures), strict=False)), **more)
    return tuple(outliers(series_of(run)))


SIZES = [(16 + 4 * at) * KIB for at in range(16)]


def test_an_outlier_finding_states_the_mean_with_and_without_all_outliers() -> None:
    figures = [92.0, 50.0, 92.0, 92.0, 92.0, 92.0, 92.0, 92.0, 70.0, 92.0, None]
    first, second = on_axis(figures)
    assert (first.kind, first.group) == (Kind.DEVIATION_CELL, Group("LL", "TCP", 1500))
    assert (first.cells, second.cells) == (cells_of(SIZES[1:2]), cells_of(SIZES[8:9]))
    values = [1e6 * figure for figure in figures if figure is not None]
    common = {
        "cells": 10,
        "mean": pytest.approx(fmean(values)),
        "mean_without": pytest.approx(92e6),
        "median": pytest.approx(92e6),
        "expected": pytest.approx(92e6),
    }
    # Neighbours are all alike: the scale is 1 % of them.
    assert first.evidence == {
        **common,
        "throughput_bit_per_s": pytest.approx(50e6),
        "scales": pytest.approx(42 / 0.92),
        "socket_buffer_bytes": SIZES[1],
    }
    assert second.evidence == {
        **common,
        "throughput_bit_per_s": pytest.approx(70e6),
        "scales": pytest.approx(22 / 0.92),
        "socket_buffer_bytes": SIZES[8],
    }


@pytest.mark.parametrize(
    ("figure", "kinds"), [(94.5, []), (94.4, []), (93.9, [Kind.DEVIATION_CELL])]
)
def test_a_cell_is_an_outlier_only_beyond_six_times_the_scatter_of_its_series(
    figure: float, kinds: list[Kind]
) -> None:
    # Six scales of 1 % of 100 are 6: from 94 to 106.
    findings = on_axis([100.0, 100.0, 100.0, figure, 100.0, 100.0, 100.0])
    assert [finding.kind for finding in findings] == kinds
    above = on_axis([100.0, 100.0, 100.0, 200.0 - figure, 100.0, 100.0, 100.0])
    assert [finding.kind for finding in above] == kinds


def test_the_scatter_of_printed_cells_counts_as_at_least_three_steps_of_their_last_digit() -> None:
    figures = [1.0, 1.0, 1.0, 1.7, 1.0, 1.0, 1.0]
    assert len(on_axis(figures)) == 1
    # Six scales of three steps of 0.05 Mbit/s are 0.9 Mbit/s.
    assert on_axis(figures, values={"printed_step_bit_per_s": 50_000.0}) == ()
    assert len(on_axis(figures, values={"printed_step_bit_per_s": 30_000.0})) == 1


def test_a_series_without_a_stated_socket_buffer_has_no_outlier() -> None:
    run = measured({SIZES[0]: [92.0]})
    tuned = replace(run.plan.cells[0], settings=stream())
    records = [replace(record, settings=tuned.settings) for record in run.records]
    assert [*outliers(series_of(run_of(replace(run.plan, cells=(tuned,)), records)))] == []


def test_adjacent_cells_that_deviate_alike_are_one_step_finding() -> None:
    (step,) = on_axis([92.0] * 10 + [80.0, 81.0, 82.0])
    assert (step.kind, step.group) == (Kind.DEVIATION_STEP, Group("LL", "TCP", 1500))
    assert step.cells == cells_of(SIZES[10:13])
    # Each of the three has two others that fell among its six nearest, and four of 92.
    column = [92.0] * 10 + [80.0, 81.0, 82.0]
    assert step.evidence["throughput_bit_per_s"] == pytest.approx(81e6)
    assert step.evidence["expected"] == pytest.approx(92e6)
    assert step.evidence["scales"] == pytest.approx(10 / 0.92)
    assert step.evidence["from_socket_buffer_bytes"] == SIZES[10]
    assert step.evidence["to_socket_buffer_bytes"] == SIZES[12]
    assert step.evidence["cells"] == 13
    assert step.evidence["mean"] == pytest.approx(1e6 * fmean(column))
    assert step.evidence["mean_without"] == pytest.approx(92e6)
    assert step.evidence["median"] == pytest.approx(92e6)


def test_separate_steps_of_a_series_have_separate_findings() -> None:
    apart = on_axis([80.0, 80.0] + [92.0] * 8 + [80.0, 80.0])
    assert [finding.cells for finding in apart] == [cells_of(SIZES[:2]), cells_of(SIZES[10:12])]


def test_a_missing_cell_between_two_cells_does_not_split_a_step() -> None:
    (step,) = on_axis([92.0] * 9 + [80.0, None, 80.0])
    assert (step.kind, step.cells) == (Kind.DEVIATION_STEP, cells_of((SIZES[9], SIZES[11])))


def test_a_cell_with_automatic_buffers_is_not_judged_as_an_outlier() -> None:
    run = measured({size: [92.0] for size in SIZES[:8]})
    tuned = replace(run.plan.cells[0], key="tuned", settings=stream())
    record = replace(
        run.records[0],
        cell="tuned",
        settings=tuned.settings,
        values={**run.records[0].values, "throughput_bit_per_s": 10e6},
    )
    tuned_run = run_of(replace(run.plan, cells=(*run.plan.cells, tuned)), (*run.records, record))
    assert [*outliers(series_of(tuned_run))] == []
    (only,) = series_of(tuned_run)
    assert [point.buffer_bytes for point in only.points] == [*SIZES[:8], None]
    assert [point.buffer_bytes for point in only.on_axis] == SIZES[:8]


def trials(figures: Sequence[float | None], **more: Any) -> list[Finding]:
    return of(outliers(series_of(measured({SIZES[0]: figures}, **more))), Kind.DEVIATION_TRIAL)


def test_outlying_trials_are_counted_and_the_first_outlying_trial_is_named() -> None:
    figures = [94.0, None, 94.0, 70.0, 94.0, 94.0, 94.0, 60.0]
    (finding,) = trials(figures)
    assert (finding.group, finding.cells) == (Group("LL", "TCP", 1500), cells_of(SIZES[:1]))
    values = [1e6 * figure for figure in figures if figure is not None]
    assert finding.evidence == {
        "trials": 7,
        "stray_trials": 2,
        "trial": 4,
        "throughput_bit_per_s": pytest.approx(70e6),
        "expected": pytest.approx(94e6),
        "socket_buffer_bytes": SIZES[0],
        "mean": pytest.approx(fmean(values)),
        "mean_without": pytest.approx(94e6),
        "median": pytest.approx(median(values)),
    }


@pytest.mark.parametrize(
    ("figures", "strays"),
    [
        ((100.0, 100.0, 96.4, 100.0, 100.0), 1),
        ((100.0, 100.0, 96.6, 100.0, 100.0), 0),
        ((100.0, 100.0, 50.0, 100.0), 0),
        ((100.0, 100.0, 50.0, 100.0, None), 0),
    ],
)
def test_a_trial_is_an_outlier_only_among_five_trials_and_beyond_3_5_times_their_scatter(
    figures: Sequence[float | None], strays: int
) -> None:
    assert len(trials(figures)) == strays


def test_the_scatter_of_printed_trials_counts_as_at_least_three_steps_of_their_last_digit() -> None:
    figures = [1.0, 1.0, 1.5, 1.0, 1.0]
    assert len(trials(figures)) == 1
    # Three and a half scales of three steps of 0.05 Mbit/s are 0.525 Mbit/s.
    assert trials(figures, values={"printed_step_bit_per_s": 50_000.0}) == []
    assert len(trials(figures, values={"printed_step_bit_per_s": 40_000.0})) == 1
