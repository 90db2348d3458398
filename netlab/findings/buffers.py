"""What cells that differ in one setting show together: ceilings, outliers, buffers, variants."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, compress, product
from math import inf

from netlab import ethernet, stats
from netlab.ethernet import Link
from netlab.experiment.cells import Comparison
from netlab.findings import stream_limits
from netlab.findings.derived import StreamSample
from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.round_trips import TripCell, trip_cells
from netlab.findings.series import Point, Series
from netlab.findings.stream_limits import fills_the_wire, findings_of, is_above
from netlab.kinds import DEFAULTS_OF
from netlab.messages import Message, _
from netlab.results.labels import setting
from netlab.stats import ComparisonResult, Outlier, compare, judged_together, mean, median
from netlab.trial.record import Value, grouped
from netlab.trial.settings import Level

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


def above_ceiling(samples: Iterable[StreamSample]) -> Iterator[Finding]:
    """One finding per group, cause and tool, over the cells in which most trials are above the wire
    ceiling.

    Findings that name a tool come last; among these, the largest excess comes first.
    """
    # By the two hosts, and the settings that select one of several links between them.
    links: dict[tuple[object, ...], list[StreamSample]] = defaultdict(list)
    for sample in samples:
        hosts, settings = frozenset(end.host for end in sample.ends), dict(sample.conditions)
        links[hosts, *map(settings.get, ("network", "interface"))].append(sample)
    causes: dict[tuple[Kind, str], list[StreamSample]] = defaultdict(list)
    for streams in links.values():
        kind_of_tools = _kind_of_tools(streams)
        for sample in streams:
            is_rate = not sample.engine or kind_of_tools is Kind.ABOVE_WIRE_RATE
            cause = (Kind.ABOVE_WIRE_RATE, "") if is_rate else (kind_of_tools, sample.engine)
            causes[cause].append(sample)
    of_tools: list[Finding] = []
    for (kind, tool), streams in causes.items():
        for above in findings_of(streams, {it: kind for it in streams if is_above(it)}.get):
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
    cells = grouped((s for s in streams if not s.engine), lambda s: (s.cell, s.flow))
    above = full = False
    for trials in cells.values():
        full_count = sum(fills_the_wire(trial) and not is_above(trial) for trial in trials)
        above |= 2 * sum(map(is_above, trials)) > len(trials)
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
    return next(ways, _("the tool counts bytes and time in its own way"))


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


def above_any(series: Iterable[Series], link: Link | None, *, imported: bool) -> Iterator[Finding]:
    """Findings about figures above the link's ceiling for every message length. Only series whose
    message length is not known are judged.
    """
    tolerance = ethernet.above_tolerance(imported=imported)
    for one_series in series:
        group = one_series.group
        if link is None or one_series.test != "stream" or group.message_bytes is not None:
            continue
        version = ethernet.ip_version_of(one_series.points[0].settings)
        highest = ethernet.ceiling_bit_per_s(
            link,
            "TCP" if group.protocol == "TCP" else "UDP",
            ethernet.best_udp_message(link.mtu_bytes, ip_version=version),
            link.mtu_bytes,
            ip_version=version,
            timestamps=False,
        )
        wired = [point for point in one_series.measured if not point.same_host]
        above = [point for point in wired if _middle(point) > highest * (1 + tolerance)]
        if above:
            most = max(map(_middle, above))
            figures = {"throughput_bit_per_s": most, "highest_ceiling_bit_per_s": highest}
            yield finding(Kind.ABOVE_WIRE_RATE, group, _cells(above), figures)


def _fall(series: Series, explained: Collection[str]) -> Finding | None:
    full_share = stream_limits.FILLED_BOTH_WAYS if series.group.flow else stream_limits.FILLED
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


def outliers(series: Iterable[Series]) -> Iterator[Finding]:
    """One finding per outlying cell of a series, per step of adjacent cells, and per cell with
    outlying trials.
    """
    for one_series in series:
        yield from _of(one_series)


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


def buffers(series: Sequence[Series]) -> tuple[Finding, ...]:
    """Findings about buffers that the system capped or doubled, about cells with equal effective
    buffers, and about buffer sizes without an effect.
    """
    return (
        *_reported(series, "capped", Kind.SOCKET_BUFFER_CAPPED),
        *_same_points(series),
        *filter(None, map(_no_effect, series)),
        *_reported(series, "doubled", Kind.SOCKET_BUFFER_DOUBLED),
    )


def _reported(series: Sequence[Series], suffix: str, kind: Kind) -> Iterator[Finding]:
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
    for pairing, points in cells.items():
        requested = [point.buffer_bytes or 0 for point in points.values()]
        sizes = [size for point in points.values() for size in _effective(point).values()]
        figures = {
            "least_asked_bytes": min(requested),
            "most_asked_bytes": max(requested),
            "most_effective_bytes": max(sizes, default=None),
        }
        words = {"ends": ", ".join(ends_of[pairing])}
        yield finding(kind, Group(pairing), tuple(points), figures, words)


def _effective(point: Point) -> Mapping[str, int]:
    """Buffer → its effective size; buffers of unknown size are left out."""
    sizes_of: dict[str, int] = {}
    for buffer in (f"{end}_{side}" for end, side in product(ENDS, SIDES)):
        sizes = {size for size in point.of_flow(f"{buffer}_buffer_bytes") if isinstance(size, int)}
        if len(sizes) == 1:
            sizes_of[buffer] = sizes.pop()
    return sizes_of


def _same_points(series: Sequence[Series]) -> Iterator[Finding]:
    """Cells of a series with the same effective buffers, although the requested sizes differ."""
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
                yield finding(Kind.SOCKET_BUFFER_SAME, one_series.group, _cells(points), figures)


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
    values = [*map(_middle, points)]
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
    values = [*map(_middle, points)]
    return bool(values) and max(values) <= (1 + NO_EFFECT) * min(values)


def fragmented(series: Iterable[Series], link: Link | None) -> Iterator[Finding]:
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
            yield finding(Kind.FRAGMENTED, group, tuple(keys), figures)


AXES = (
    *("protocol", "ip_version", "server_receive", "client_receive", "nodelay", "udp_checksum"),
    *("congestion", "close"),
)
"""Settings for which a ratio is informative: not the length or the number of messages."""
MOST_LEVELS = 4
LEVEL = 0.01
"""Significance level. Nobody requested these comparisons, so at most one in a hundred should show a
difference by chance."""
FEWEST = 3
"""Minimum number of trials per side: with two, hardly any difference is significant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compared:
    """One level of a setting (the contender) compared with another (the baseline), in cells that
    are otherwise equal."""

    pairing: str
    axis: str
    baseline: Level
    contender: Level
    cells: tuple[str, ...]
    together: ComparisonResult
    """The comparison of all pairs of cells together."""
    single: tuple[ComparisonResult, ...]
    """The comparison of each pair."""


def variants(series: Iterable[Series], *, imported: bool) -> Iterator[Finding]:
    """One note for each setting in which cells differ, and each of its levels. The baseline, with
    which the other levels are compared, has no note.
    """
    kinds = grouped(trip_cells(series), lambda cell: (cell.test, cell.group.pairing))
    comparisons = [
        comparison
        for cells in kinds.values()
        for axis in AXES
        for comparison in _along(axis, cells, paired=not imported)
    ]
    results = judged_together([comparison.together for comparison in comparisons], LEVEL)
    all_single = list(chain.from_iterable(comparison.single for comparison in comparisons))
    singles = iter(judged_together(all_single, LEVEL))
    for comparison, result in zip(comparisons, results, strict=True):
        yield _finding(comparison, result, [next(singles) for _pair in comparison.single])


def _along(axis: str, cells: Sequence[TripCell], *, paired: bool) -> Iterator[_Compared]:
    """Compare each level with the setting's default, or with the first level if the default was not
    measured.
    """
    all_settings = [_settings_of(cell) for cell in cells]
    levels = list(
        dict.fromkeys(settings[axis] for settings in all_settings if settings.get(axis) is not None)
    )
    if not 2 <= len(levels) <= MOST_LEVELS:
        return
    usual = DEFAULTS_OF[cells[0].test].get(axis)
    baseline = usual if usual in levels else levels[0]
    for contender in levels:
        comparison = Comparison(axis, {axis: baseline}, {axis: contender})
        pairs = [] if contender == baseline else comparison.pairs_in(all_settings)
        all_sides = [(_figures(cells[old]), _figures(cells[new])) for old, new in pairs]
        full = [min(map(len, sides)) >= FEWEST for sides in all_sides]
        aligned = _aligned(list(compress(all_sides, full)), paired=paired)
        if not aligned or len(aligned[0][0]) < FEWEST:
            continue
        # The geometric mean of each block over the cells.
        old_means, new_means = (
            [math.exp(mean([*map(math.log, block)])) for block in zip(*figures, strict=True)]
            for figures in zip(*aligned, strict=True)
        )
        positions = chain.from_iterable(compress(pairs, full))
        yield _Compared(
            pairing=cells[0].group.pairing,
            axis=axis,
            baseline=baseline,
            contender=contender,
            cells=tuple(dict.fromkeys(cells[position].cell for position in positions)),
            together=compare(old_means, new_means, paired=paired, confidence=1 - LEVEL),
            single=tuple(compare(*side, paired=paired, confidence=1 - LEVEL) for side in aligned),
        )


def _aligned(
    sides: Sequence[tuple[Mapping[int, float], Mapping[int, float]]], *, paired: bool
) -> list[tuple[list[float], list[float]]]:
    """For each pair of cells, the figures of the blocks in which all cells have a figure. If not
    ``paired``, the cells are imported and have no blocks: their lists of figures are cut to the
    same length.
    """
    all_sides = [side for pair in sides for side in pair]
    if not paired:
        fewest = min(map(len, all_sides), default=0)
        return [([*a.values()][:fewest], [*b.values()][:fewest]) for a, b in sides]
    common = sorted(set.intersection(*map(set, all_sides))) if all_sides else []
    return [([a[trial] for trial in common], [b[trial] for trial in common]) for a, b in sides]


def _settings_of(cell: TripCell) -> dict[str, Level]:
    settings: Mapping[str, Value] = cell.trials[0].record.settings
    plain = {name: value for name, value in settings.items() if not isinstance(value, list)}
    return {**plain, "test": cell.test, "pairing": cell.group.pairing}


def _figures(cell: TripCell) -> dict[int, float]:
    return {trial.record.trial: mean for trial in cell.calm if (mean := trial.mean_ns) is not None}


def _finding(
    compared: _Compared, together: ComparisonResult, single: Sequence[ComparisonResult]
) -> Finding:
    ratios = [pair.ratio for pair in single if pair.verdict == "different" and pair.ratio]
    mean_ratio = together.ratio if together.verdict == "different" else None
    # The mean is meaningless if it hides a difference of single pairs, or has another direction.
    agree = mean_ratio is not None and all((ratio > 1) == (mean_ratio > 1) for ratio in ratios)
    apart = bool(ratios) and not agree
    figures: dict[str, float | None] = {
        "n": together.n,
        "compared": len(single),
        "differing": len(ratios),
    }
    if apart and len(ratios) == 1:
        figures["only_ratio"] = ratios[0]
    elif apart:
        figures |= {"least_ratio": min(ratios), "most_ratio": max(ratios)}
    if mean_ratio is not None and not apart:
        figures |= {"ratio": mean_ratio, "low_ratio": together.low, "high_ratio": together.high}
    is_difference = mean_ratio is not None or apart
    if not is_difference and together.smallest_ratio is not None:
        figures["detectable_share"] = together.smallest_ratio - 1
    axis, baseline, contender = compared.axis, compared.baseline, compared.contender
    if axis == "protocol":
        words, group = {"baseline": str(baseline)}, Group(compared.pairing, str(contender))
    else:
        words = {"baseline": setting(axis, baseline)}
        group = Group(compared.pairing, conditions=((axis, contender),))
    if len(single) > 1:
        words["pairs_of_cells"] = _("{number} pairs of cells", number=len(single))
    kind = Kind.COMPARISON_DIFFERS if is_difference else Kind.COMPARISON_INCONCLUSIVE
    return finding(kind, group, compared.cells, figures, words)
