"""Variants: how much times differ between cells that differ in one setting only.

A level is one value of a setting.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from netlab.experiment.cells import Comparison
from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.round_trips.trips import TripCell, trip_cells
from netlab.findings.series import Series
from netlab.kinds import DEFAULTS_OF
from netlab.messages import _
from netlab.results.labels import setting
from netlab.stats import ComparisonResult, compare, judged_together, mean, pairs_by_block
from netlab.trial.record import Value
from netlab.trial.settings import Level

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
    kinds: dict[tuple[str, str], list[TripCell]] = defaultdict(list)
    for cell in trip_cells(series):
        kinds[cell.test, cell.group.pairing].append(cell)
    comparisons = [
        comparison
        for cells in kinds.values()
        for axis in AXES
        for comparison in _along(axis, cells, paired=not imported)
    ]
    results = judged_together([comparison.together for comparison in comparisons], LEVEL)
    singles = iter(
        judged_together(
            [single for comparison in comparisons for single in comparison.single], LEVEL
        )
    )
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
        sides = [(_figures(cells[old]), _figures(cells[new])) for old, new in pairs]
        full = [position for position, side in enumerate(sides) if min(map(len, side)) >= FEWEST]
        aligned = _aligned([sides[position] for position in full], paired=paired)
        if not aligned or len(aligned[0][0]) < FEWEST:
            continue
        side_means = [_means([side[number] for side in aligned]) for number in (0, 1)]
        yield _Compared(
            pairing=cells[0].group.pairing,
            axis=axis,
            baseline=baseline,
            contender=contender,
            cells=tuple(
                dict.fromkeys(cells[position].cell for pair in full for position in pairs[pair])
            ),
            together=compare(side_means[0], side_means[1], paired=paired, confidence=1 - LEVEL),
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
    common = set.intersection(*(set(side) for side in all_sides)) if all_sides else set()
    common_sides = [
        tuple({trial: figure for trial, figure in side.items() if trial in common} for side in pair)
        for pair in sides
    ]
    return [pairs_by_block(a, b) for a, b in common_sides]


def _means(sides: Sequence[Sequence[float]]) -> list[float]:
    """The geometric mean of each block over the cells."""
    return [
        math.exp(mean([math.log(figure) for figure in block])) for block in zip(*sides, strict=True)
    ]


def _settings_of(cell: TripCell) -> dict[str, Level]:
    settings: Mapping[str, Value] = cell.trials[0].record.settings
    plain = {name: value for name, value in settings.items() if not isinstance(value, list)}
    return {**plain, "test": cell.test, "pairing": cell.group.pairing}


def _figures(cell: TripCell) -> dict[int, float]:
    """Trial → its mean time, for undisturbed trials."""
    return {trial.record.trial: mean for trial in cell.calm if (mean := trial.mean_ns) is not None}


def _finding(
    compared: _Compared, together: ComparisonResult, single: Sequence[ComparisonResult]
) -> Finding:
    ratios = [pair.ratio for pair in single if pair.verdict == "different" and pair.ratio]
    mean_ratio = together.ratio if together.verdict == "different" else None
    # The mean is meaningless if it hides or contradicts a difference of single pairs.
    apart = bool(ratios) and not _agree(mean_ratio, ratios)
    figures: dict[str, float | None] = {
        "n": together.n,
        "compared": len(single),
        "differing": len(ratios),
        **_of_pairs(ratios if apart else []),
    }
    if mean_ratio is not None and not apart:
        figures |= {"ratio": mean_ratio, "low_ratio": together.low, "high_ratio": together.high}
    is_difference = mean_ratio is not None or apart
    if not is_difference and together.smallest_ratio is not None:
        figures["detectable_share"] = together.smallest_ratio - 1
    words = {"baseline": _named(compared.axis, compared.baseline)}
    if len(single) > 1:
        words["pairs_of_cells"] = _("{number} pairs of cells", number=len(single))
    kind = Kind.COMPARISON_DIFFERS if is_difference else Kind.COMPARISON_INCONCLUSIVE
    return finding(kind, _group(compared), compared.cells, figures, words)


def _agree(mean_ratio: float | None, ratios: Sequence[float]) -> bool:
    """Whether the mean shows a difference, and no single pair shows a difference in the other
    direction.
    """
    return mean_ratio is not None and all((ratio > 1) == (mean_ratio > 1) for ratio in ratios)


def _of_pairs(ratios: Sequence[float]) -> dict[str, float | None]:
    if len(ratios) < 2:
        return {"only_ratio": ratios[0] if ratios else None}
    return {"least_ratio": min(ratios), "most_ratio": max(ratios)}


def _group(compared: _Compared) -> Group:
    if compared.axis == "protocol":
        return Group(compared.pairing, str(compared.contender))
    return Group(compared.pairing, conditions=((compared.axis, compared.contender),))


def _named(axis: str, level: Level) -> str:
    return str(level) if axis == "protocol" else setting(axis, level)
