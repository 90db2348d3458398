"""Outliers: cells far from their neighbours, and trials far from the other trials of their cell.

The rules and their sources are in ``netlab.stats.summary``. Nothing is dropped: each finding has
the mean with and without the outlier, and the median.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from netlab.findings.finding import Finding, Kind, finding
from netlab.findings.series import Point, Series
from netlab.stats import Outlier, mean, median, outliers_among_siblings, outliers_on_axis


def outliers(series: Iterable[Series]) -> tuple[Finding, ...]:
    """One finding per outlying cell of a series, per step of adjacent cells, and per cell with
    outlying trials.
    """
    return tuple(result for one_series in series for result in _of(one_series))


def outliers_of(series: Series) -> tuple[tuple[Outlier, Point], ...]:
    """The outliers of a series along its axis, each with its point."""
    points = series.on_axis
    step = max((point.print_step for point in points), default=0.0)
    strays = outliers_on_axis([point.middle for point in points], step)
    return tuple((stray, points[stray.index]) for stray in strays)


def _of(series: Series) -> Iterator[Finding]:
    strays = outliers_of(series)
    # The mean leaves out all outliers: leaving out one of two would not correct the mean.
    outlier_points = [point for stray, point in strays if stray.kind == "outlier"]
    for stray, point in strays:
        if stray.kind == "outlier":
            yield finding(
                Kind.DEVIATION_CELL,
                series.group,
                (point.cell,),
                {
                    series.quantity: stray.value,
                    "expected": stray.expected,
                    "scales": abs(stray.value - stray.expected) / stray.scale,
                    "socket_buffer_bytes": point.buffer_bytes,
                    **_means(series, outlier_points),
                },
            )
    for steps in _runs([(stray, point) for stray, point in strays if stray.kind == "step"], series):
        yield _step(series, steps)
    for point in series.measured:
        yield from _trials(series, point)


def _step(series: Series, steps: Sequence[tuple[Outlier, Point]]) -> Finding:
    """The finding about adjacent cells that differ from their neighbours in the same direction."""
    first, last = steps[0], steps[-1]
    return finding(
        Kind.DEVIATION_STEP,
        series.group,
        tuple(point.cell for _, point in steps),
        {
            series.quantity: median([stray.value for stray, _ in steps]),
            "expected": median([stray.expected for stray, _ in steps]),
            "scales": min(abs(s.value - s.expected) / s.scale for s, _ in steps),
            "from_socket_buffer_bytes": first[1].buffer_bytes,
            "to_socket_buffer_bytes": last[1].buffer_bytes,
            **_means(series, [point for _, point in steps]),
        },
    )


def _runs(
    steps: Sequence[tuple[Outlier, Point]], series: Series
) -> list[list[tuple[Outlier, Point]]]:
    """Groups of step cells. The cells of a group are adjacent among the measured cells, and differ
    from their neighbours in the same direction.
    """
    place = {point.cell: index for index, point in enumerate(p for p in series.on_axis if p.values)}
    runs: list[list[tuple[Outlier, Point]]] = []
    for stray, point in steps:
        if runs:
            last_stray, last_point = runs[-1][-1]
            same_way = (last_stray.value > last_stray.expected) == (stray.value > stray.expected)
            if same_way and place[last_point.cell] + 1 == place[point.cell]:
                runs[-1].append((stray, point))
                continue
        runs.append([(stray, point)])
    return runs


def _trials(series: Series, point: Point) -> Iterator[Finding]:
    """The finding about outlying trials of a cell."""
    numbered = [
        (number, value) for number, value in enumerate(point.figures, 1) if value is not None
    ]
    values = [value for _, value in numbered]
    strays = outliers_among_siblings(values, point.print_step)
    if not strays:
        return
    stray_indices = {stray.index for stray in strays}
    yield finding(
        Kind.DEVIATION_TRIAL,
        series.group,
        (point.cell,),
        {
            "trials": len(values),
            "stray_trials": len(strays),
            "trial": numbered[strays[0].index][0],
            series.quantity: strays[0].value,
            "expected": strays[0].expected,
            "socket_buffer_bytes": point.buffer_bytes,
            "mean": mean(values),
            "mean_without": mean(
                [v for index, v in enumerate(values) if index not in stray_indices]
            ),
            "median": median(values),
        },
    )


def _means(series: Series, without: Sequence[Point]) -> dict[str, float | None]:
    """Mean and median of the whole series, over its cells that have a figure. ``mean_without`` is
    the mean without the points in ``without``.
    """
    left_out = {point.cell for point in without}
    means = [(point.cell, value) for point in series.points if (value := point.mean) is not None]
    remaining_means = [value for cell, value in means if cell not in left_out]
    return {
        "cells": len(means),
        "mean": mean([value for _, value in means]),
        "mean_without": mean(remaining_means) if remaining_means else None,
        "median": median([value for _, value in means]),
    }
