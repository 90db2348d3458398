"""Variants: cells that differ in one setting alone, and by how much their times do. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from netlab.experiment.comparisons import Comparison
from netlab.experiment.kinds import DEFAULTS_OF
from netlab.experiment.records import Value
from netlab.experiment.settings import Level
from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.round_trips.trips import TripCell, trip_cells
from netlab.findings.series import Series
from netlab.messages import Message, _
from netlab.results.labels import setting
from netlab.stats import ComparisonResult, compare, judged_together, pairs_by_block

AXES = (
    *("protocol", "ip_version", "server_receive", "client_receive", "nodelay", "udp_checksum"),
    *("congestion", "close"),
)
"""Settings of which a ratio says something: not how long messages are, nor how many."""
MOST_LEVELS = 4
LEVEL = 0.01
"""Of the tests. Nobody asked for these comparisons: one in a hundred may be wrong."""
FEWEST = 3
"""Trials a side: of two hardly any difference shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compared:
    """One level of a setting against another, in cells that are alike otherwise."""

    test: str
    pairing: str
    axis: str
    baseline: Level
    contender: Level
    cells: tuple[TripCell, TripCell]
    result: ComparisonResult


def variants(series: Iterable[Series], *, imported: bool) -> Iterator[Finding]:
    """A note a setting that the cells differ in, and level of it."""
    kinds: dict[tuple[str, str], list[TripCell]] = defaultdict(list)
    for cell in trip_cells(series):
        kinds[cell.test, cell.group.pairing].append(cell)
    found = [
        each
        for (test, pairing), cells in kinds.items()
        for axis in AXES
        for each in _along(test, pairing, axis, cells, paired=not imported)
    ]
    together = judged_together([each.result for each in found], LEVEL)
    groups: dict[tuple[object, ...], list[tuple[_Compared, ComparisonResult]]] = defaultdict(list)
    for each, result in zip(found, together, strict=True):
        name = (each.test, each.pairing, each.axis, each.baseline, each.contender)
        groups[name].append((each, result))
    for those in groups.values():
        yield _finding(those)


def _along(
    test: str, pairing: str, axis: str, cells: Sequence[TripCell], *, paired: bool
) -> Iterator[_Compared]:
    """Each other level against the setting's default, or against the first."""
    known = [_settings_of(cell) for cell in cells]
    levels = list(dict.fromkeys(each[axis] for each in known if each.get(axis) is not None))
    if not 2 <= len(levels) <= MOST_LEVELS:
        return
    usual = DEFAULTS_OF[test].get(axis)
    baseline = usual if usual in levels else levels[0]
    for contender in levels:
        if contender == baseline:
            continue
        asked = Comparison(axis, {axis: baseline}, {axis: contender})
        for old, new in asked.pairs_in(known):
            sides = [_figures(cells[at]) for at in (old, new)]
            one, other = pairs_by_block(*sides) if paired else [[*s.values()] for s in sides]
            if min(len(one), len(other)) < FEWEST:
                continue
            yield _Compared(
                test=test,
                pairing=pairing,
                axis=axis,
                baseline=baseline,
                contender=contender,
                cells=(cells[old], cells[new]),
                result=compare(one, other, paired=paired, confidence=1 - LEVEL),
            )


def _settings_of(cell: TripCell) -> dict[str, Level]:
    settings: Mapping[str, Value] = cell.trials[0].settings
    plain = {name: v for name, v in settings.items() if not isinstance(v, list)}
    return {**plain, "test": cell.test, "pairing": cell.group.pairing}


def _figures(cell: TripCell) -> dict[int, float]:
    """Trial → its mean time; of those that nothing disturbed."""
    return {each.record.trial: mean for each in cell.calm if (mean := each.mean_ns) is not None}


def _finding(those: Sequence[tuple[_Compared, ComparisonResult]]) -> Finding:
    first = those[0][0]
    shown = [result for _each, result in those if result.verdict == "different"]
    ratios = [result.ratio for result in shown if result.ratio is not None]
    alone = shown[0] if len(those) == len(shown) == 1 else None
    smallest = [r.smallest_ratio for _each, r in those if r.smallest_ratio is not None]
    figures: dict[str, float | None] = {
        "n": min(result.n for _each, result in those),
        "compared": len(those),
        "differing": len(shown),
        "ratio": None if alone is None else alone.ratio,
        "low_ratio": None if alone is None else alone.low,
        "high_ratio": None if alone is None else alone.high,
        "only_ratio": ratios[0] if len(ratios) == 1 else None,
        "least_ratio": min(ratios, default=None),
        "most_ratio": max(ratios, default=None),
        "detectable_share": None if shown else max(smallest) - 1,
    }
    words = {
        "contender": _named(first.axis, first.contender),
        "baseline": _named(first.axis, first.baseline),
    }
    cells = tuple(dict.fromkeys(cell.cell for each, _result in those for cell in each.cells))
    return finding(Kind.VARIANTS, Group(first.pairing), cells, figures, words)


def _named(axis: str, level: Level) -> str | Message:
    return _("{protocol}", protocol=level) if axis == "protocol" else setting(axis, level)
