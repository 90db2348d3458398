"""Coverage: cells without a result, and columns whose mean covers fewer cells than others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from netlab.experiment.records import Status
from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.series import Series

if TYPE_CHECKING:
    from netlab.results.run import Run


def missing(run: Run) -> tuple[Finding, ...]:
    """Findings about failed trials and about cells without any result: one per pairing, protocol
    and reason.
    """
    with_result = {cell for (cell, _), r in run.latest.items() if r.status is Status.OK}
    cells: dict[tuple[Group, Kind, str], dict[str, None]] = {}
    sizes: dict[tuple[Group, Kind, str], set[int]] = {}
    trials: dict[tuple[Group, Kind, str], int] = {}
    cells_of_group: dict[Group, set[str]] = {}
    for cell, _, record in run.stored.trials():
        group = Group(cell.pairing, str(cell.settings.get("protocol", "")))
        cells_of_group.setdefault(group, set()).add(cell.key)
        if record is not None and record.status is Status.OK:
            continue
        failed = record is not None and record.status is Status.FAILED
        if not failed and cell.key in with_result:
            continue
        reason = "not-measured-yet" if record is None else record.reason or "no-reason-given"
        key = (group, Kind.NO_RESULT_TRIALS if failed else Kind.NO_RESULT_CELLS, reason)
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
                "of_cells": len(cells_of_group[group]),
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
    """One finding per column whose mean covers fewer cells than the mean of another column.

    Columns are compared if they have the same test, protocol, direction and buffer sizes. A column
    in which no cell has a figure has no mean. If all columns lack the same number of cells, there
    is no finding.
    """
    neighbours_of: dict[tuple[object, ...], list[Series]] = {}
    for one_series in series:
        levels = frozenset(point.buffer_bytes for point in one_series.points)
        place = (one_series.test, one_series.group.protocol, one_series.group.flow, levels)
        neighbours_of.setdefault(place, []).append(one_series)
    return tuple(result for neighbours in neighbours_of.values() for result in _fewer(neighbours))


def _fewer(series: Sequence[Series]) -> Iterable[Finding]:
    most = max(len(one_series.measured) for one_series in series)
    for one_series in series:
        cells = len(one_series.measured)
        if 0 < cells < most:
            yield finding(
                Kind.FEWER_CELLS,
                one_series.group,
                tuple(point.cell for point in one_series.points if not point.values),
                {"cells": cells, "most_cells": most, "of_cells": len(one_series.points)},
            )
