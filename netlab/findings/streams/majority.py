"""Findings about cells if more than half of a cell's trials show the same kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.sample import StreamSample
from netlab.findings.streams.figures import evidence
from netlab.findings.trial_words import trials_of


def findings_of(
    samples: Iterable[StreamSample], kind_of: Callable[[StreamSample], Kind | None]
) -> Iterator[Finding]:
    """One finding per group and kind, over the cells where more than half of the trials show it."""
    groups: dict[Group, dict[str, list[StreamSample]]] = {}
    for sample in samples:
        groups.setdefault(sample.group, {}).setdefault(sample.cell, []).append(sample)
    for group, cells in groups.items():
        cells_of_kind: dict[Kind, dict[str, list[StreamSample]]] = {}
        for cell, trials in cells.items():
            kinds = [kind_of(trial) for trial in trials]
            main = max(kinds, key=kinds.count)
            if main is not None and 2 * kinds.count(main) > len(kinds):
                showing = [trial for trial, kind in zip(trials, kinds, strict=True) if kind is main]
                cells_of_kind.setdefault(main, {})[cell] = showing
        for kind, shown_cells in cells_of_kind.items():
            trials = [trial for showing in shown_cells.values() for trial in showing]
            yield finding(
                kind, group, tuple(shown_cells), evidence(kind, trials), trials=trials_of(trials)
            )
