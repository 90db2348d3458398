"""Buffers: what a socket buffer that was asked for came to, and whether it mattered. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.outliers import strays_of
from netlab.findings.series import Point, Series
from netlab.stats import median

NO_EFFECT = 0.01
"""The largest figure of a series is above the smallest by this share at most: what the rule for
outliers takes for scatter."""

LEAST_LEVELS = 4
"""Sizes that must have a figure for a statement about the axis."""

ENDS = ("sender", "receiver", "client", "server")
SIDES = ("send", "receive")


def buffers(series: Iterable[Series]) -> tuple[Finding, ...]:
    """Buffers that were capped or doubled, cells that are the same point, axes without effect."""
    kept = tuple(series)
    return (
        *_told(kept, "capped", Kind.BUFFER_CAPPED),
        *_same_points(kept),
        *(found for each in kept if (found := _no_effect(each)) is not None),
        *_told(kept, "doubled", Kind.BUFFER_DOUBLED),
    )


def _told(series: Sequence[Series], what: str, kind: Kind) -> list[Finding]:
    """What the systems said that they did to the buffers asked for: one finding a pairing."""
    cells: dict[str, dict[str, Point]] = {}
    ends_told: dict[str, dict[str, None]] = {}
    for each in series:
        for point in each.on_axis:
            ends = [
                end
                for end in ENDS
                if any(1 in point.of_flow(f"{end}_{side}_buffer_{what}") for side in SIDES)
            ]
            if ends:
                cells.setdefault(each.group.pairing, {})[point.cell] = point
                ends_told.setdefault(each.group.pairing, {}).update(dict.fromkeys(ends))
    found = []
    for pairing, points in cells.items():
        asked = [point.buffer_bytes or 0 for point in points.values()]
        found.append(
            finding(
                kind,
                Group(pairing),
                tuple(points),
                {"least_asked_bytes": min(asked), "most_asked_bytes": max(asked)}
                | _most_effective(points.values()),
                {"ends": ", ".join(ends_told[pairing])},
            )
        )
    return found


def _most_effective(points: Iterable[Point]) -> dict[str, float | None]:
    read = [size for point in points for size in _effective(point).values()]
    return {"most_effective_bytes": max(read, default=None)}


def _effective(point: Point) -> Mapping[str, int]:
    """Buffer → its size as it was read back; without those that nobody told."""
    found: dict[str, int] = {}
    for end in ENDS:
        for side in SIDES:
            sizes = {
                size
                for size in point.of_flow(f"{end}_{side}_buffer_bytes")
                if isinstance(size, int)
            }
            if len(sizes) == 1:
                found[f"{end}_{side}"] = sizes.pop()
    return found


def _same_points(series: Sequence[Series]) -> list[Finding]:
    """Cells of a series whose buffers were all of one size in effect, whatever was asked for."""
    found = []
    for each in series:
        by_size: dict[tuple[tuple[str, int], ...], list[Point]] = {}
        for point in each.on_axis:
            effective = _effective(point)
            # Both buffers of both ends must be known: what is not may differ.
            if len(effective) == len(SIDES) * 2:
                by_size.setdefault(tuple(sorted(effective.items())), []).append(point)
        found += [
            finding(
                Kind.SAME_BUFFER,
                each.group,
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
    return found


def _no_effect(series: Series) -> Finding | None:
    """That figures hardly differ from the smallest buffer to the largest, but for outliers."""
    every = [point for point in series.on_axis if point.values]
    off: set[str] = set()
    if not _are_alike(every):
        off = {point.cell for stray, point in strays_of(series) if stray.kind == "outlier"}
    points = [point for point in every if point.cell not in off]
    sizes = {point.buffer_bytes for point in points}
    if len(sizes) < LEAST_LEVELS or not _are_alike(points):
        return None
    values = _middles(points)
    return finding(
        Kind.BUFFER_NO_EFFECT,
        series.group,
        tuple(point.cell for point in points),
        {
            "levels": len(sizes),
            "least": min(values),
            "most": max(values),
            "median": median(values),
            "from_socket_buffer_bytes": min(size for size in sizes if size is not None),
            "to_socket_buffer_bytes": max(size for size in sizes if size is not None),
            "outliers": len(off),
        },
        {"quantity": series.quantity},
    )


def _are_alike(points: Sequence[Point]) -> bool:
    values = _middles(points)
    return bool(values) and max(values) <= (1 + NO_EFFECT) * min(values)


def _middles(points: Iterable[Point]) -> list[float]:
    return [value for point in points if (value := point.middle) is not None]
