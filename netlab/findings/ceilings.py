"""Figures above the wire ceiling, falls below it, and TCP without timestamps."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from netlab.ethernet import (
    Link,
    above_tolerance,
    best_udp_message,
    ceiling_bit_per_s,
    ip_version_of,
)
from netlab.findings.finding import Finding, Kind, finding
from netlab.findings.sample import StreamSample
from netlab.findings.series import Point, Series
from netlab.findings.streams.limits import FILLED, FILLED_BOTH_WAYS, fills_the_wire, is_above
from netlab.findings.streams.majority import findings_of
from netlab.messages import Message, _
from netlab.stats import median, median_absolute_deviation
from netlab.stats.summary import STEP_LIMIT, TO_DEVIATION

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

_Link = tuple[frozenset[str], tuple[object, ...]]
"""The two hosts, and the settings that select one of several links between them."""


def above_ceiling(samples: Iterable[StreamSample]) -> Iterator[Finding]:
    """One finding per group, cause and tool, over the cells in which most trials are above the wire
    ceiling.

    Findings that name a tool come last; among these, the largest excess comes first.
    """
    links: dict[_Link, list[StreamSample]] = {}
    for sample in samples:
        links.setdefault(_link_of(sample), []).append(sample)
    causes: dict[tuple[Kind, str], list[StreamSample]] = {}
    for streams in links.values():
        kind_of_tools = _kind_of_tools(streams)
        for sample in streams:
            is_rate = not sample.engine or kind_of_tools is Kind.ABOVE_WIRE_RATE
            cause = (Kind.ABOVE_WIRE_RATE, "") if is_rate else (kind_of_tools, sample.engine)
            causes.setdefault(cause, []).append(sample)
    of_tools: list[Finding] = []
    for (kind, tool), streams in causes.items():
        for above in findings_of(streams, partial(_if_above, kind)):
            if tool:
                of_tools.append(replace(above, words={"tool": tool, "way": _way(above, streams)}))
            else:
                yield above
    yield from sorted(of_tools, key=_excess, reverse=True)


def _excess(above: Finding) -> float:
    figures = above.evidence
    return figures["throughput_bit_per_s"] / figures["highest_ceiling_bit_per_s"]


def _if_above(kind: Kind, sample: StreamSample) -> Kind | None:
    return kind if is_above(sample) else None


def _kind_of_tools(streams: Iterable[StreamSample]) -> Kind:
    """The kind of finding if another tool's figures over one link are above the link's ceiling.

    The kind depends on the cells that netlab's probe measured over this link, and in each of them
    on what most trials show. A cell that does not fill the wire shows nothing, because the link may
    carry more.
    """
    cells: dict[tuple[str, str], list[StreamSample]] = {}
    for sample in streams:
        if not sample.engine:
            cells.setdefault((sample.cell, sample.flow), []).append(sample)
    above = full = False
    for trials in cells.values():
        above_count = sum(map(is_above, trials))
        full_count = sum(fills_the_wire(trial) and not is_above(trial) for trial in trials)
        above |= 2 * above_count > len(trials)
        full |= 2 * full_count > len(trials)
    if above:
        return Kind.ABOVE_WIRE_RATE
    return Kind.ABOVE_WIRE_TOOL if full else Kind.ABOVE_WIRE_EITHER


def _link_of(sample: StreamSample) -> _Link:
    settings = dict(sample.conditions)
    hosts = frozenset(end.host for end in sample.ends)
    return hosts, tuple(settings.get(name) for name in _OF_LINK)


def _way(finding: Finding, streams: Iterable[StreamSample]) -> Message:
    """How a tool counts, by its remarks in the records of a finding's trials."""
    trials = set(finding.trials)
    remarks = {
        remark
        for sample in streams
        if (sample.cell, sample.trial) in trials
        for remark in sample.engine_remarks.split("; ")
    }
    for begin, way in WAYS.items():
        if any(remark.startswith(begin) for remark in remarks):
            return way
    return _UNKNOWN


LEAST_FULL, LEAST_FALLEN = 4, 3
"""Two minimums for a fall: the number of cells at the ceiling, which show what the series can
reach, and the number of cells with larger buffers and lower figures. If only two adjacent cells are
lower, they are a step, which buffers.py reports."""


def falls(series: Iterable[Series], explained: Collection[str]) -> tuple[Finding, ...]:
    """Findings about series that reach the wire ceiling, but are below it with the largest buffers.

    ``explained``: cells whose limit the records show. If such a cell is among the lower cells, the
    series has no finding.
    """
    return tuple(
        result for one_series in series if (result := _fall(one_series, explained)) is not None
    )


def without_timestamps(series: Iterable[Series], *, imported: bool) -> tuple[Finding, ...]:
    """Findings about TCP without recorded options, if the figures suggest that timestamps were off.

    Most cells of such a series are above the ceiling with timestamps, and none is above the ceiling
    without timestamps. A series that a tool other than netlab's probe measured is left out: the
    tool's way of counting may be the cause.
    """
    tolerance = above_tolerance(imported=imported)
    return tuple(
        result for one_series in series if (result := _without(one_series, tolerance)) is not None
    )


def above_any(
    series: Iterable[Series], link: Link | None, *, imported: bool
) -> tuple[Finding, ...]:
    """Findings about figures above the link's ceiling for every message length. Only series whose
    message length is not known are judged.
    """
    if link is None:
        return ()
    tolerance = above_tolerance(imported=imported)
    findings = []
    for one_series in series:
        group = one_series.group
        if one_series.test != "stream" or group.message_bytes is not None:
            continue
        version = ip_version_of(one_series.points[0].settings)
        highest = ceiling_bit_per_s(
            link.rate_bit_per_s,
            "TCP" if group.protocol == "TCP" else "UDP",
            best_udp_message(link.mtu_bytes, ip_version=version),
            link.mtu_bytes,
            ip_version=version,
            timestamps=False,
            vlan=link.vlan,
        )
        wired = [point for point in one_series.measured if not point.same_host]
        above = [point for point in wired if _middle(point) > highest * (1 + tolerance)]
        if above:
            figures = {
                "throughput_bit_per_s": max(_middle(point) for point in above),
                "highest_ceiling_bit_per_s": highest,
            }
            cells = tuple(point.cell for point in above)
            findings.append(finding(Kind.ABOVE_WIRE_RATE, group, cells, figures))
    return tuple(findings)


def _fall(series: Series, explained: Collection[str]) -> Finding | None:
    full_share = FILLED_BOTH_WAYS if series.group.flow else FILLED
    wired = [p for p in series.on_axis if p.values and p.lowest_ceiling and not p.same_host]
    full = [point for point in wired if _share(point) >= full_share]
    if len(full) < LEAST_FULL:
        return None
    # The cells after the last cell at the ceiling.
    fallen = wired[wired.index(full[-1]) + 1 :]
    figures = [_middle(point) for point in full]
    median_figure = median(figures)
    scale = max(
        TO_DEVIATION * median_absolute_deviation(figures),
        0.01 * median_figure,
        3 * max(point.print_step for point in wired),
    )
    if (
        len(fallen) < LEAST_FALLEN
        or any(median_figure - _middle(point) <= STEP_LIMIT * scale for point in fallen)
        or any(point.cell in explained for point in fallen)
    ):
        return None
    return finding(
        Kind.UNEXPLAINED_FALL,
        series.group,
        tuple(point.cell for point in fallen),
        {
            "from_socket_buffer_bytes": fallen[0].buffer_bytes,
            "expected": median_figure,
            "least": min(_middle(point) for point in fallen),
            "last": _middle(fallen[-1]),
            "ceiling_bit_per_s": fallen[-1].lowest_ceiling,
            "cells": len(wired),
            "full_cells": len(full),
        },
    )


def _without(series: Series, tolerance: float) -> Finding | None:
    points = [point for point in series.measured if not point.same_host]
    if series.group.protocol != "TCP" or any(p.settings.get("engine") for p in points):
        return None
    if any(point.of_flow("tcp_timestamps") or point.of_flow("mss_bytes") for point in points):
        return None
    above = []
    for point in points:
        lowest, highest = point.lowest_ceiling, point.highest_ceiling
        if lowest is None or highest is None:
            return None
        if _middle(point) > highest * (1 + tolerance):
            return None
        if _middle(point) > lowest * (1 + tolerance):
            above.append(point)
    if 2 * len(above) <= len(points):
        return None
    return finding(
        Kind.NO_TIMESTAMPS,
        series.group,
        tuple(point.cell for point in above),
        {
            "throughput_bit_per_s": median([_middle(point) for point in above]),
            "ceiling_without_bit_per_s": above[0].highest_ceiling,
            "ceiling_with_bit_per_s": above[0].lowest_ceiling,
            "cells": len(points),
        },
    )


def _share(point: Point) -> float:
    return _middle(point) / (point.lowest_ceiling or float("inf"))


def _middle(point: Point) -> float:
    """The median of a point that has values."""
    return point.middle or 0.0
