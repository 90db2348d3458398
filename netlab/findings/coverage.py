"""Coverage: which cells have no result and why, and which means rest on fewer than others. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from netlab.experiment.records import Status
from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.series import Series

if TYPE_CHECKING:
    from netlab.results.run import Run


def missing(run: Run) -> tuple[Finding, ...]:
    """One finding a pairing, protocol and reason: cells without any result, trials that failed."""
    with_result = {cell for (cell, _), r in run.latest.items() if r.status is Status.OK}
    cells: dict[tuple[Group, Kind, str], dict[str, None]] = {}
    sizes: dict[tuple[Group, Kind, str], set[int]] = {}
    trials: dict[tuple[Group, Kind, str], int] = {}
    planned: dict[Group, set[str]] = {}
    for cell, _, record in run.stored.trials():
        group = Group(cell.pairing, str(cell.settings.get("protocol", "")))
        planned.setdefault(group, set()).add(cell.key)
        if record is not None and record.status is Status.OK:
            continue
        failed = record is not None and record.status is Status.FAILED
        if not failed and cell.key in with_result:
            continue
        reason = "not-measured-yet" if record is None else record.reason or "no-reason-given"
        key = (group, Kind.FAILED_TRIALS if failed else Kind.MISSING_CELLS, reason)
        cells.setdefault(key, {})[cell.key] = None
        size = cell.settings.get("message_bytes")
        sizes.setdefault(key, set()).update({size} if isinstance(size, int) else ())
        trials[key] = trials.get(key, 0) + 1
    return tuple(
        finding(
            kind,
            group,
            tuple(keys),
            {
                "cells": len(keys),
                "of_cells": len(planned[group]),
                "trials": trials[group, kind, reason],
            },
            {
                "reason": reason,
                "message_bytes": ", ".join(map(str, sorted(sizes[group, kind, reason]))),
            },
        )
        for (group, kind, reason), keys in cells.items()
    )


def fewer_cells(series: Iterable[Series]) -> tuple[Finding, ...]:
    """Means that rest on fewer cells than those beside them: same test, protocol,
    way and sizes of buffers.

    One without any cell is no mean; where all are short of the same number none stands out.
    """
    beside: dict[tuple[object, ...], list[Series]] = {}
    for each in series:
        levels = frozenset(point.buffer_bytes for point in each.points)
        place = (each.test, each.group.protocol, each.group.flow, levels)
        beside.setdefault(place, []).append(each)
    return tuple(found for those in beside.values() for found in _fewer(those))


def _fewer(series: Sequence[Series]) -> Iterable[Finding]:
    most = max(len(each.measured) for each in series)
    for each in series:
        has = len(each.measured)
        if 0 < has < most:
            yield finding(
                Kind.FEWER_CELLS,
                each.group,
                tuple(point.cell for point in each.points if not point.values),
                {"cells": has, "most_cells": most, "of_cells": len(each.points)},
            )
