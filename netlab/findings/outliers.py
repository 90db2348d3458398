"""Outliers: cells that do not go with their neighbours, trials that do not with their siblings.

The rules and their sources stand in ``netlab.stats.outliers``; nothing is dropped: each finding
has the mean with and without what it is about, and the median. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from netlab.findings.finding import Finding, Kind, finding
from netlab.findings.series import Point, Series
from netlab.stats import Stray, mean, median, strays_among_siblings, strays_on_axis


def outliers(series: Iterable[Series]) -> tuple[Finding, ...]:
    """One finding a cell off its series, one a step of adjacent cells, one a cell with trials that
    are off.
    """
    return tuple(found for each in series for found in _of(each))


def strays_of(series: Series) -> tuple[tuple[Stray, Point], ...]:
    """What does not go with the run of a series along its axis, and whose it is."""
    points = series.on_axis
    step = max((point.print_step for point in points), default=0.0)
    strays = strays_on_axis([point.middle for point in points], step)
    return tuple((stray, points[stray.index]) for stray in strays)


def _of(series: Series) -> Iterator[Finding]:
    strays = strays_of(series)
    # A mean without all outliers: without one of two it would still be wrong.
    alone = [point for stray, point in strays if stray.kind == "outlier"]
    for stray, point in strays:
        if stray.kind == "outlier":
            yield finding(
                Kind.OUTLIER,
                series.group,
                (point.cell,),
                {
                    series.quantity: stray.value,
                    "expected": stray.expected,
                    "scales": abs(stray.value - stray.expected) / stray.scale,
                    "socket_buffer_bytes": point.buffer_bytes,
                    **_means(series, alone),
                },
            )
    for steps in _runs([each for each in strays if each[0].kind == "step"], series):
        yield _step(series, steps)
    for point in series.measured:
        yield from _trials(series, point)


def _step(series: Series, steps: Sequence[tuple[Stray, Point]]) -> Finding:
    """Adjacent cells that are off the same way."""
    first, last = steps[0], steps[-1]
    return finding(
        Kind.STEP,
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


def _runs(steps: Sequence[tuple[Stray, Point]], series: Series) -> list[list[tuple[Stray, Point]]]:
    """Those that follow each other among the measured cells, off the same way, together."""
    place = {point.cell: at for at, point in enumerate(p for p in series.on_axis if p.values)}
    found: list[list[tuple[Stray, Point]]] = []
    for stray, point in steps:
        if found:
            before, its = found[-1][-1]
            same_way = (before.value > before.expected) == (stray.value > stray.expected)
            if same_way and place[its.cell] + 1 == place[point.cell]:
                found[-1].append((stray, point))
                continue
        found.append([(stray, point)])
    return found


def _trials(series: Series, point: Point) -> Iterator[Finding]:
    """The trials of a cell that do not go with the others."""
    known = [(number, value) for number, value in enumerate(point.figures, 1) if value is not None]
    values = [value for _, value in known]
    strays = strays_among_siblings(values, point.print_step)
    if not strays:
        return
    off = {stray.index for stray in strays}
    yield finding(
        Kind.STRAY_TRIAL,
        series.group,
        (point.cell,),
        {
            "trials": len(values),
            "stray_trials": len(strays),
            "trial": known[strays[0].index][0],
            series.quantity: strays[0].value,
            "expected": strays[0].expected,
            "socket_buffer_bytes": point.buffer_bytes,
            "mean": mean(values),
            "mean_without": mean([v for at, v in enumerate(values) if at not in off]),
            "median": median(values),
        },
    )


def _means(series: Series, without: Sequence[Point]) -> dict[str, float | None]:
    """Of the whole column of a table, as it has them: over its cells that have a figure."""
    out = {point.cell for point in without}
    every = [(point.cell, value) for point in series.points if (value := point.mean) is not None]
    rest = [value for cell, value in every if cell not in out]
    return {
        "cells": len(every),
        "mean": mean([value for _, value in every]),
        "mean_without": mean(rest) if rest else None,
        "median": median([value for _, value in every]),
    }
