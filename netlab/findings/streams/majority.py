"""Findings of cells, by what more than half of their trials show. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.sample import StreamSample
from netlab.findings.streams.figures import evidence
from netlab.findings.streams.trial_counts import trials_of


def findings_of(
    samples: Iterable[StreamSample], kind_of: Callable[[StreamSample], Kind | None]
) -> Iterator[Finding]:
    """One finding a group and kind, over the cells where more than half of the trials show it."""
    groups: dict[Group, dict[str, list[StreamSample]]] = {}
    for each in samples:
        groups.setdefault(each.group, {}).setdefault(each.cell, []).append(each)
    for group, cells in groups.items():
        shown: dict[Kind, dict[str, list[StreamSample]]] = {}
        for cell, trials in cells.items():
            kinds = [kind_of(trial) for trial in trials]
            most = max(kinds, key=kinds.count)
            if most is not None and 2 * kinds.count(most) > len(kinds):
                its = [trial for trial, kind in zip(trials, kinds, strict=True) if kind is most]
                shown.setdefault(most, {})[cell] = its
        for kind, those in shown.items():
            trials = [trial for its in those.values() for trial in its]
            yield finding(
                kind, group, tuple(those), evidence(kind, trials), trials=trials_of(trials)
            )
