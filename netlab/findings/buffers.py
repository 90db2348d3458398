"""Series along the socket buffer: outliers and steps, and what the buffer does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from netlab.findings.finding import Finding, Group, Kind, finding
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


NO_EFFECT = 0.01
"""The buffers have no effect if the largest figure of a series exceeds the smallest by at most this
share. Such differences are scatter, as in the rule for outliers."""

LEAST_LEVELS = 4
"""Minimum number of sizes with a figure for a statement about the axis."""

ENDS = ("sender", "receiver", "client", "server")
SIDES = ("send", "receive")


def buffers(series: Iterable[Series]) -> tuple[Finding, ...]:
    """Findings about buffers that the system capped or doubled, about cells with equal effective
    buffers, and about buffer sizes without an effect.
    """
    all_series = tuple(series)
    return (
        *_reported(all_series, "capped", Kind.SOCKET_BUFFER_CAPPED),
        *_same_points(all_series),
        *(result for one_series in all_series if (result := _no_effect(one_series)) is not None),
        *_reported(all_series, "doubled", Kind.SOCKET_BUFFER_DOUBLED),
    )


def _reported(series: Sequence[Series], suffix: str, kind: Kind) -> list[Finding]:
    """One finding per pairing about requested buffers that a host reports as changed: ``suffix`` is
    ``capped`` or ``doubled``.
    """
    cells: dict[str, dict[str, Point]] = {}
    ends_of: dict[str, dict[str, None]] = {}
    for one_series in series:
        for point in one_series.on_axis:
            ends = [
                end
                for end in ENDS
                if any(1 in point.of_flow(f"{end}_{side}_buffer_{suffix}") for side in SIDES)
            ]
            if ends:
                cells.setdefault(one_series.group.pairing, {})[point.cell] = point
                ends_of.setdefault(one_series.group.pairing, {}).update(dict.fromkeys(ends))
    findings = []
    for pairing, points in cells.items():
        requested = [point.buffer_bytes or 0 for point in points.values()]
        findings.append(
            finding(
                kind,
                Group(pairing),
                tuple(points),
                {"least_asked_bytes": min(requested), "most_asked_bytes": max(requested)}
                | _most_effective(points.values()),
                {"ends": ", ".join(ends_of[pairing])},
            )
        )
    return findings


def _most_effective(points: Iterable[Point]) -> dict[str, float | None]:
    sizes = [size for point in points for size in _effective(point).values()]
    return {"most_effective_bytes": max(sizes, default=None)}


def _effective(point: Point) -> Mapping[str, int]:
    """Buffer → its effective size; buffers of unknown size are left out."""
    sizes_of: dict[str, int] = {}
    for end in ENDS:
        for side in SIDES:
            sizes = {
                size
                for size in point.of_flow(f"{end}_{side}_buffer_bytes")
                if isinstance(size, int)
            }
            if len(sizes) == 1:
                sizes_of[f"{end}_{side}"] = sizes.pop()
    return sizes_of


def _same_points(series: Sequence[Series]) -> list[Finding]:
    """Cells of a series with the same effective buffers, although the requested sizes differ."""
    findings = []
    for one_series in series:
        by_size: dict[tuple[tuple[str, int], ...], list[Point]] = {}
        for point in one_series.on_axis:
            effective = _effective(point)
            # Both buffers of both ends must be known: an unknown buffer may differ.
            if len(effective) == len(SIDES) * 2:
                by_size.setdefault(tuple(sorted(effective.items())), []).append(point)
        findings += [
            finding(
                Kind.SOCKET_BUFFER_SAME,
                one_series.group,
                tuple(point.cell for point in points),
                {
                    "least_asked_bytes": min(p.buffer_bytes or 0 for p in points),
                    "most_asked_bytes": max(p.buffer_bytes or 0 for p in points),
                    "effective_bytes": max(size for _, size in sizes),
                },
            )
            for sizes, points in by_size.items()
            if len({point.buffer_bytes for point in points}) > 1
        ]
    return findings


def _no_effect(series: Series) -> Finding | None:
    """The finding that figures hardly differ between buffer sizes. Outliers are left out."""
    points_with_values = [point for point in series.on_axis if point.values]
    outliers: set[str] = set()
    if not _are_alike(points_with_values):
        outliers = {point.cell for stray, point in outliers_of(series) if stray.kind == "outlier"}
    points = [point for point in points_with_values if point.cell not in outliers]
    sizes = {point.buffer_bytes for point in points}
    if len(sizes) < LEAST_LEVELS or not _are_alike(points):
        return None
    values = _middles(points)
    return finding(
        Kind.SOCKET_BUFFER_NO_EFFECT,
        series.group,
        tuple(point.cell for point in points),
        {
            "levels": len(sizes),
            "least": min(values),
            "most": max(values),
            "median": median(values),
            "from_socket_buffer_bytes": min(size for size in sizes if size is not None),
            "to_socket_buffer_bytes": max(size for size in sizes if size is not None),
            "outliers": len(outliers),
        },
        {"quantity": series.quantity},
    )


def _are_alike(points: Sequence[Point]) -> bool:
    values = _middles(points)
    return bool(values) and max(values) <= (1 + NO_EFFECT) * min(values)


def _middles(points: Iterable[Point]) -> list[float]:
    return [value for point in points if (value := point.middle) is not None]
