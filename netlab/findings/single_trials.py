"""Unrepeated: comparisons that cannot be decided because each cell has one trial."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import combinations

from netlab.experiment.pairings import is_by_name
from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.series import Series
from netlab.stats import compare, mean

MAX_PAIRINGS = 6
"""Maximum number of pairings for which every two pairings are compared: a longer list is of no
use."""

ColumnGroup = Group
"""The group of the cells in one column, with an empty ``pairing``, so that the same column of two
pairings has the same group."""


def unrepeated(series: Iterable[Series]) -> tuple[Finding, ...]:
    """One finding for every two pairings and each protocol, if each stream cell has one trial.

    The pairing that comes later in the plan is compared with the earlier pairing. The evidence is
    the difference of the column means over the cells that both pairings have.
    ``netlab.stats.compare`` gives "cannot tell" for each of these cells.
    """
    figures: dict[str, dict[str, dict[ColumnGroup, dict[int | None, tuple[str, float]]]]] = {}
    for one_series in series:
        if one_series.test != "stream" or is_by_name(one_series.group.pairing):
            continue
        column: ColumnGroup = replace(one_series.group, pairing="")
        of_pairing = figures.setdefault(one_series.group.pairing, {})
        for point in one_series.measured:
            if len(point.records) != 1 or point.same_host:
                return ()
            if point.values[0] <= 0:
                continue  # nothing arrived: there is no ratio to it
            level = (point.cell, point.values[0])
            columns = of_pairing.setdefault(one_series.group.protocol, {})
            columns.setdefault(column, {})[point.buffer_bytes] = level
    if len(figures) > MAX_PAIRINGS:
        return ()
    return tuple(
        result
        for earlier, later in combinations(figures, 2)
        for protocol in figures[later]
        if (result := _of(earlier, later, protocol, figures)) is not None
    )


def _of(
    earlier: str,
    later: str,
    protocol: str,
    figures: Mapping[
        str, Mapping[str, Mapping[ColumnGroup, Mapping[int | None, tuple[str, float]]]]
    ],
) -> Finding | None:
    old, new = figures[earlier].get(protocol, {}), figures[later][protocol]
    differences: list[float] = []
    ratios: list[float] = []
    cells: list[str] = []
    for column in new:
        levels = [level for level in new[column] if level in old.get(column, {})]
        pairs = [(old[column][level], new[column][level]) for level in levels]
        comparisons = [compare([x], [y], paired=True) for (_, x), (_, y) in pairs]
        if not comparisons or any(
            comparison.verdict != "cannot tell" for comparison in comparisons
        ):
            continue
        old_mean, new_mean = (mean([pair[side][1] for pair in pairs]) for side in (0, 1))
        differences.append(new_mean - old_mean)
        ratios.append(new_mean / old_mean)
        cells += [pair[1][0] for pair in pairs]
    if not differences:
        return None
    return finding(
        Kind.CANNOT_TELL,
        Group(later, protocol),
        tuple(cells),
        {
            "n": 1,
            "columns": len(differences),
            "least_difference_bit_per_s": min(differences),
            "most_difference_bit_per_s": max(differences),
            "least_ratio": min(ratios),
            "most_ratio": max(ratios),
        },
        {"against": earlier},
    )
