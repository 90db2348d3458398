"""What the cells of a series show together: the wire ceiling, outliers, buffers, fragments."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product
from math import inf

from netlab import ethernet, stats
from netlab.ethernet import Link
from netlab.findings.derived import StreamSample
from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.series import Point, Series
from netlab.findings.stream_limits import (
    FILLED,
    FILLED_BOTH_WAYS,
    fills_the_wire,
    findings_of,
    is_above,
)
from netlab.messages import Message, _
from netlab.stats import Outlier, mean, median

WAYS: Mapping[str, Message] = {
    "divides what was received by the sender's time": _(
        "the tool divides by the sender’s time, and so counts bytes that then still waited in its "
        "buffer"
    ),
    "its rate is the slope of a line": _(
        "the tool’s rate is the slope of a line through a few samples"
    ),
    "no warm-up: the figure covers the beginning": _(
        "the tool’s figure includes the beginning of the test"
    ),
}
"""Beginning of a tool's remark in a record → the way of counting that may raise the tool's figure.
No other remark concerns the counting of bytes or time."""

_UNKNOWN = _("the tool counts bytes and time in its own way")
_OF_LINK = ("network", "interface")


def above_ceiling(samples: Iterable[StreamSample]) -> Iterator[Finding]:
    """One finding per group, cause and tool, over the cells in which most trials are above the wire
    ceiling.

    Findings that name a tool come last; among these, the largest excess comes first.
    """
    # By the two hosts, and the settings that select one of several links between them.
    links: dict[tuple[object, ...], list[StreamSample]] = defaultdict(list)
    for sample in samples:
        hosts, settings = frozenset(end.host for end in sample.ends), dict(sample.conditions)
        links[hosts, *map(settings.get, _OF_LINK)].append(sample)
    causes: dict[tuple[Kind, str], list[StreamSample]] = defaultdict(list)
    for streams in links.values():
        kind_of_tools = _kind_of_tools(streams)
        for sample in streams:
            is_rate = not sample.engine or kind_of_tools is Kind.ABOVE_WIRE_RATE
            cause = (Kind.ABOVE_WIRE_RATE, "") if is_rate else (kind_of_tools, sample.engine)
            causes[cause].append(sample)
    of_tools: list[Finding] = []
    for (kind, tool), streams in causes.items():

        def kind_of(sample: StreamSample, kind: Kind = kind) -> Kind | None:
            return kind if is_above(sample) else None

        for above in findings_of(streams, kind_of):
            if tool:
                of_tools.append(replace(above, words={"tool": tool, "way": _way(above, streams)}))
            else:
                yield above

    def excess(above: Finding) -> float:
        figures = above.evidence
        return figures["throughput_bit_per_s"] / figures["highest_ceiling_bit_per_s"]

    yield from sorted(of_tools, key=excess, reverse=True)


def _kind_of_tools(streams: Iterable[StreamSample]) -> Kind:
    """The kind of finding if another tool's figures over one link are above the link's ceiling.

    The kind depends on the cells that netlab's probe measured over this link, and in each of them
    on what most trials show. A cell that does not fill the wire shows nothing, because the link may
    carry more.
    """
    cells: dict[tuple[str, str], list[StreamSample]] = defaultdict(list)
    for sample in streams:
        if not sample.engine:
            cells[sample.cell, sample.flow].append(sample)
    above = full = False
    for trials in cells.values():
        above_count = sum(map(is_above, trials))
        full_count = sum(fills_the_wire(trial) and not is_above(trial) for trial in trials)
        above |= 2 * above_count > len(trials)
        full |= 2 * full_count > len(trials)
    if above:
        return Kind.ABOVE_WIRE_RATE
    return Kind.ABOVE_WIRE_TOOL if full else Kind.ABOVE_WIRE_EITHER


def _way(finding: Finding, streams: Iterable[StreamSample]) -> Message:
    """How a tool counts, by its remarks in the records of a finding's trials."""
    trials = set(finding.trials)
    remarks = {
        remark
        for sample in streams
        if (sample.cell, sample.trial) in trials
        for remark in sample.engine_remarks.split("; ")
    }
    ways = (way for begin, way in WAYS.items() if any(r.startswith(begin) for r in remarks))
    return next(ways, _UNKNOWN)


LEAST_FULL, LEAST_FALLEN = 4, 3
"""Two minimums for a fall: the number of cells at the ceiling, which show what the series can
reach, and the number of cells with larger buffers and lower figures. If only two adjacent cells are
lower, they are a step."""


def falls(series: Iterable[Series], explained: Collection[str]) -> tuple[Finding, ...]:
    """Findings about series that reach the wire ceiling, but are below it with the largest buffers.

    ``explained``: cells whose limit the records show. If such a cell is among the lower cells, the
    series has no finding.
    """
    return tuple(filter(None, (_fall(one_series, explained) for one_series in series)))


def without_timestamps(series: Iterable[Series], *, imported: bool) -> tuple[Finding, ...]:
    """Findings about TCP without recorded options, if the figures suggest that timestamps were off.

    Most cells of such a series are above the ceiling with timestamps, and none is above the ceiling
    without timestamps. A series that a tool other than netlab's probe measured is left out: the
    tool's way of counting may be the cause.
    """
    tolerance = ethernet.above_tolerance(imported=imported)
    return tuple(filter(None, (_without(one_series, tolerance) for one_series in series)))


def above_any(
    series: Iterable[Series], link: Link | None, *, imported: bool
) -> tuple[Finding, ...]:
    """Findings about figures above the link's ceiling for every message length. Only series whose
    message length is not known are judged.
    """
    if link is None:
        return ()
    tolerance = ethernet.above_tolerance(imported=imported)
    findings = []
    for one_series in series:
        group = one_series.group
        if one_series.test != "stream" or group.message_bytes is not None:
            continue
        version = ethernet.ip_version_of(one_series.points[0].settings)
        highest = ethernet.ceiling_bit_per_s(
            link.rate_bit_per_s,
            "TCP" if group.protocol == "TCP" else "UDP",
            ethernet.best_udp_message(link.mtu_bytes, ip_version=version),
            link.mtu_bytes,
            ip_version=version,
            timestamps=False,
            vlan=link.vlan,
        )
        wired = [point for point in one_series.measured if not point.same_host]
        above = [point for point in wired if _middle(point) > highest * (1 + tolerance)]
        if above:
            most = max(map(_middle, above))
            figures = {"throughput_bit_per_s": most, "highest_ceiling_bit_per_s": highest}
            findings.append(finding(Kind.ABOVE_WIRE_RATE, group, _cells(above), figures))
    return tuple(findings)


def _fall(series: Series, explained: Collection[str]) -> Finding | None:
    full_share = FILLED_BOTH_WAYS if series.group.flow else FILLED
    wired = [p for p in series.on_axis if p.values and p.lowest_ceiling and not p.same_host]
    full = [p for p in wired if _middle(p) / (p.lowest_ceiling or inf) >= full_share]
    if len(full) < LEAST_FULL:
        return None
    # The cells after the last cell at the ceiling.
    fallen = wired[wired.index(full[-1]) + 1 :]
    values = [*map(_middle, full)]
    expected, deviation = median(values), stats.median_absolute_deviation(values)
    print_step = max(point.print_step for point in wired)
    scale = max(stats.TO_DEVIATION * deviation, 0.01 * expected, 3 * print_step)
    if len(fallen) < LEAST_FALLEN or any(point.cell in explained for point in fallen):
        return None
    if expected - max(map(_middle, fallen)) <= stats.STEP_LIMIT * scale:
        return None
    figures = {
        "from_socket_buffer_bytes": fallen[0].buffer_bytes,
        "expected": expected,
        "least": min(map(_middle, fallen)),
        "last": _middle(fallen[-1]),
        "ceiling_bit_per_s": fallen[-1].lowest_ceiling,
        "cells": len(wired),
        "full_cells": len(full),
    }
    return finding(Kind.UNEXPLAINED_FALL, series.group, _cells(fallen), figures)


def _without(series: Series, tolerance: float) -> Finding | None:
    points = [point for point in series.measured if not point.same_host]
    if series.group.protocol != "TCP" or any(p.settings.get("engine") for p in points):
        return None
    if any(point.of_flow("tcp_timestamps") or point.of_flow("mss_bytes") for point in points):
        return None
    above = []
    for point in points:
        lowest, highest = point.lowest_ceiling, point.highest_ceiling
        if lowest is None or highest is None or _middle(point) > highest * (1 + tolerance):
            return None
        if _middle(point) > lowest * (1 + tolerance):
            above.append(point)
    if 2 * len(above) <= len(points):
        return None
    figures = {
        "throughput_bit_per_s": median([*map(_middle, above)]),
        "ceiling_without_bit_per_s": above[0].highest_ceiling,
        "ceiling_with_bit_per_s": above[0].lowest_ceiling,
        "cells": len(points),
    }
    return finding(Kind.NO_TIMESTAMPS, series.group, _cells(above), figures)


def _middle(point: Point) -> float:
    """The median of a point that has values."""
    return point.middle or 0.0


def _cells(points: Iterable[Point]) -> tuple[str, ...]:
    return tuple(point.cell for point in points)


def outliers(series: Iterable[Series]) -> tuple[Finding, ...]:
    """One finding per outlying cell of a series, per step of adjacent cells, and per cell with
    outlying trials.
    """
    return tuple(result for one_series in series for result in _of(one_series))


def outliers_of(series: Series) -> tuple[tuple[Outlier, Point], ...]:
    """The outliers of a series along its axis, each with its point."""
    points = series.on_axis
    step = max((point.print_step for point in points), default=0.0)
    strays = stats.outliers_on_axis([point.middle for point in points], step)
    return tuple((stray, points[stray.index]) for stray in strays)


def _of(series: Series) -> Iterator[Finding]:
    strays = outliers_of(series)
    # The mean leaves out all outliers: leaving out one of two would not correct the mean.
    outlier_points = [point for stray, point in strays if stray.kind == "outlier"]
    for stray, point in strays:
        if stray.kind == "outlier":
            figures = {
                series.quantity: stray.value,
                "expected": stray.expected,
                "scales": abs(stray.value - stray.expected) / stray.scale,
                "socket_buffer_bytes": point.buffer_bytes,
                **_means(series, outlier_points),
            }
            yield finding(Kind.DEVIATION_CELL, series.group, (point.cell,), figures)
    for steps in _runs([(stray, point) for stray, point in strays if stray.kind == "step"], series):
        points = [point for _, point in steps]
        figures = {
            series.quantity: median([stray.value for stray, _ in steps]),
            "expected": median([stray.expected for stray, _ in steps]),
            "scales": min(abs(s.value - s.expected) / s.scale for s, _ in steps),
            "from_socket_buffer_bytes": points[0].buffer_bytes,
            "to_socket_buffer_bytes": points[-1].buffer_bytes,
            **_means(series, points),
        }
        yield finding(Kind.DEVIATION_STEP, series.group, _cells(points), figures)
    for point in series.measured:
        yield from _trials(series, point)


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
    numbered = [(number, v) for number, v in enumerate(point.figures, 1) if v is not None]
    values = [value for _, value in numbered]
    if strays := stats.outliers_among_siblings(values, point.print_step):
        stray_indices = {stray.index for stray in strays}
        others = [value for index, value in enumerate(values) if index not in stray_indices]
        figures = {
            "trials": len(values),
            "stray_trials": len(strays),
            "trial": numbered[strays[0].index][0],
            series.quantity: strays[0].value,
            "expected": strays[0].expected,
            "socket_buffer_bytes": point.buffer_bytes,
            "mean": mean(values),
            "mean_without": mean(others),
            "median": median(values),
        }
        yield finding(Kind.DEVIATION_TRIAL, series.group, (point.cell,), figures)


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
        *filter(None, map(_no_effect, all_series)),
        *_reported(all_series, "doubled", Kind.SOCKET_BUFFER_DOUBLED),
    )


def _reported(series: Sequence[Series], suffix: str, kind: Kind) -> list[Finding]:
    """One finding per pairing about requested buffers that a host reports as changed: ``suffix`` is
    ``capped`` or ``doubled``.
    """
    cells: dict[str, dict[str, Point]] = defaultdict(dict)
    ends_of: dict[str, dict[str, None]] = defaultdict(dict)
    for one_series in series:
        pairing = one_series.group.pairing
        for point, end, side in product(one_series.on_axis, ENDS, SIDES):
            if 1 in point.of_flow(f"{end}_{side}_buffer_{suffix}"):
                cells[pairing][point.cell] = point
                ends_of[pairing][end] = None
    findings = []
    for pairing, points in cells.items():
        requested = [point.buffer_bytes or 0 for point in points.values()]
        sizes = [size for point in points.values() for size in _effective(point).values()]
        figures = {
            "least_asked_bytes": min(requested),
            "most_asked_bytes": max(requested),
            "most_effective_bytes": max(sizes, default=None),
        }
        words = {"ends": ", ".join(ends_of[pairing])}
        findings.append(finding(kind, Group(pairing), tuple(points), figures, words))
    return findings


def _effective(point: Point) -> Mapping[str, int]:
    """Buffer → its effective size; buffers of unknown size are left out."""
    sizes_of: dict[str, int] = {}
    for buffer in (f"{end}_{side}" for end, side in product(ENDS, SIDES)):
        recorded = point.of_flow(f"{buffer}_buffer_bytes")
        sizes = {size for size in recorded if isinstance(size, int)}
        if len(sizes) == 1:
            sizes_of[buffer] = sizes.pop()
    return sizes_of


def _same_points(series: Sequence[Series]) -> list[Finding]:
    """Cells of a series with the same effective buffers, although the requested sizes differ."""
    findings = []
    for one_series in series:
        by_size: dict[tuple[tuple[str, int], ...], list[Point]] = defaultdict(list)
        for point in one_series.on_axis:
            effective = _effective(point)
            # Both buffers of both ends must be known: an unknown buffer may differ.
            if len(effective) == len(SIDES) * 2:
                by_size[tuple(sorted(effective.items()))].append(point)
        for sizes, points in by_size.items():
            requested = [point.buffer_bytes or 0 for point in points]
            if len({point.buffer_bytes for point in points}) > 1:
                figures = {
                    "least_asked_bytes": min(requested),
                    "most_asked_bytes": max(requested),
                    "effective_bytes": max(size for _, size in sizes),
                }
                group, kind = one_series.group, Kind.SOCKET_BUFFER_SAME
                findings.append(finding(kind, group, _cells(points), figures))
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
    figures = {
        "levels": len(sizes),
        "least": min(values),
        "most": max(values),
        "median": median(values),
        "from_socket_buffer_bytes": min(size for size in sizes if size is not None),
        "to_socket_buffer_bytes": max(size for size in sizes if size is not None),
        "outliers": len(outliers),
    }
    kind, words = Kind.SOCKET_BUFFER_NO_EFFECT, {"quantity": series.quantity}
    return finding(kind, series.group, _cells(points), figures, words)


def _are_alike(points: Sequence[Point]) -> bool:
    values = _middles(points)
    return bool(values) and max(values) <= (1 + NO_EFFECT) * min(values)


def _middles(points: Iterable[Point]) -> list[float]:
    return [value for point in points if (value := point.middle) is not None]


def fragmented(series: Iterable[Series], link: Link | None) -> tuple[Finding, ...]:
    """One finding per message size, IP version and MTU, for all senders together: fragmentation
    depends on the link.

    A cell (one combination of settings) counts only if it has a result, and if its messages went
    over a cable with a known MTU.
    """
    cells: dict[tuple[int, ethernet.IpVersion, int], dict[str, None]] = defaultdict(dict)
    for one_series in series:
        size = one_series.group.message_bytes
        if one_series.group.protocol != "UDP" or size is None:
            continue
        for point in one_series.measured:
            # The path MTU that the sender's system knows; otherwise that of the stated link.
            mtus = [mtu for mtu in point.of_flow("sender_path_mtu_bytes") if isinstance(mtu, int)]
            mtu = min(mtus, default=None if link is None else link.mtu_bytes)
            if mtu is not None and not point.same_host:
                cells[size, ethernet.ip_version_of(point.settings), mtu][point.cell] = None
    findings = []
    for (size, version, mtu), keys in cells.items():
        pieces: tuple[int, ...] = ()
        with suppress(ValueError):
            pieces = ethernet.fragments(size, mtu_bytes=mtu, ip_version=version)
        if len(pieces) > 1:
            headers = ethernet.IP_BYTES[version] + ethernet.UDP_BYTES
            figures = {
                "fragments": len(pieces),
                "largest_whole_message_bytes": mtu - headers,
                "best_message_bytes": ethernet.best_udp_message(mtu, ip_version=version),
                "mtu_bytes": mtu,
                "ip_version": version,
            }
            group = Group(protocol="UDP", message_bytes=size)
            findings.append(finding(Kind.FRAGMENTED, group, tuple(keys), figures))
    return tuple(findings)
