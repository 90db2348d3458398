"""What single trials show → a finding a group of cells, which says in how many of them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.sample import StreamSample
from netlab.findings.trial_words import in_trials


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialFigures:
    """The figures of one trial, and by what it is the worst of several."""

    size: float
    figures: Mapping[str, float]


def by_group(
    samples: Iterable[StreamSample],
    kind: Kind,
    judged: Callable[[StreamSample], TrialFigures | None],
) -> Iterator[Finding]:
    """A finding a group with a trial that shows it: the figures are those of its worst trial."""
    groups: dict[Group, list[StreamSample]] = {}
    for each in samples:
        if each.tcp_series is not None:
            groups.setdefault(each.group, []).append(each)
    for group, those in groups.items():
        shown = [(each, found) for each in those if (found := judged(each)) is not None]
        if not shown:
            continue
        worst = max((found for _, found in shown), key=lambda each: each.size)
        yield finding(
            kind,
            group,
            tuple(dict.fromkeys(each.cell for each, _ in shown)),
            {**worst.figures, "trials": len(shown), "of_trials": len(those)},
            in_trials(len(shown), len(those)),
            tuple((each.cell, each.trial) for each, _ in shown),
        )
