"""Makes one finding per group of cells from the figures of single trials."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.sample import StreamSample
from netlab.findings.trial_words import in_trials


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialFigures:
    """The figures of one trial. The trial with the largest ``size`` counts as the worst."""

    size: float
    figures: Mapping[str, float]


def by_group(
    samples: Iterable[StreamSample],
    kind: Kind,
    judge: Callable[[StreamSample], TrialFigures | None],
) -> Iterator[Finding]:
    """One finding per group with affected trials, with the figures of the worst trial and the
    number of affected trials.

    ``judge`` returns the figures of a trial, or ``None`` if the trial is not affected.
    """
    groups: dict[Group, list[StreamSample]] = {}
    for sample in samples:
        if sample.tcp_series is not None:
            groups.setdefault(sample.group, []).append(sample)
    for group, of_group in groups.items():
        sample_figures = [
            (sample, trial_figures)
            for sample in of_group
            if (trial_figures := judge(sample)) is not None
        ]
        if not sample_figures:
            continue
        worst = max((figures for _, figures in sample_figures), key=lambda trial: trial.size)
        yield finding(
            kind,
            group,
            tuple(dict.fromkeys(sample.cell for sample, _ in sample_figures)),
            {**worst.figures, "trials": len(sample_figures), "of_trials": len(of_group)},
            in_trials(len(sample_figures), len(of_group)),
            tuple((sample.cell, sample.trial) for sample, _ in sample_figures),
        )
