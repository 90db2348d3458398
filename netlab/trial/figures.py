"""Columns of the report's tables, as declarations; and one figure of several trials.

A column is a figure of a row, its heading, its unit and its digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from netlab.messages import _, joined
from netlab.stats import MIN_TRIALS, interval, mean
from netlab.stats.histogram import Histogram, merge
from netlab.trial.record import Record

FEW_TRIALS = _(
    "fewer than {least} trials have a result, so there is no interval.", least=MIN_TRIALS
)
"""Why a mean of repeats has no interval."""

WHOLE = -1
"""Instead of a number of decimals: a whole number such as ``1,488,095``."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a column shows of a row."""

    value: float | None = None
    why: Iterable[str] = ()
    """Footnotes: why the place is blank, or what is to be known of its figure."""
    text: str | None = None
    """The text in place of the figure's digits."""
    unit: str = ""
    """The unit, if it is not that of the column."""
    cell: str = ""
    """Key of the run's cell that the place shows, if the line is not about one cell."""


Trials = Sequence[Record]
"""All trials of a cell, with and without a result: what most rows are about."""
Subject = TypeVar("Subject")
"""What a line of a table is about."""
ShownOf = Callable[[Subject], Shown | float | str | None]
"""Returns what a column shows of a row: words, or a figure in the column's unit."""
OfTrials = Callable[[Trials], Shown]
"""Returns one figure of several trials."""
Figure = Callable[[Record], float | None]
"""Returns the figure of one trial, in the unit of the column."""
Why = Callable[[Record], str]
"""Returns the reason why a trial with a result has no such figure."""


@dataclass(frozen=True, slots=True)
class FigureColumn(Generic[Subject]):
    """One column of a table."""

    heading: str
    of: ShownOf[Subject]
    unit: str = ""
    decimals: int = 2
    """At least so many; ``WHOLE`` for counts."""

    def shows(self, row: Subject) -> bool:
        """Whether it has a figure or words of a row."""
        shown = self.of(row)
        if isinstance(shown, Shown):
            return shown.value is not None or bool(shown.text)
        return shown not in (None, "")


def in_unit(unit: str, name: str) -> str:
    """A heading such as ``idle, ms``."""
    return joined(", ", [name, unit])


def results_of(trials: Trials) -> list[Record]:
    """The trials that have a result."""
    return [trial for trial in trials if trial.status == "ok"]


def blanks_of(trials: Trials) -> list[str]:
    """Why the other trials have none, a sentence each."""
    return [trial.why_blank for trial in trials if trial.status != "ok"]


def number(name: str, factor: float = 1) -> Figure:
    """A function that returns the measured number ``name`` of a record, times ``factor``."""

    def of(record: Record) -> float | None:
        value = record.number(name)
        return None if value is None else factor * value

    return of


def numbers(trials: Trials, name: str) -> list[float]:
    """The measured number ``name`` of the trials that have it."""
    return [value for trial in trials if (value := trial.number(name)) is not None]


def mean_of(name: str, trials: Trials, factor: float = 1) -> float | None:
    """Mean over the trials that have the figure, times ``factor``; ``None`` if no trial has it."""
    values = numbers(trials, name)
    return factor * mean(values) if values else None


def known(name: str, factor: float = 1) -> Callable[[Trials], float | None]:
    """A function that returns ``mean_of`` several trials."""
    return lambda trials: mean_of(name, trials, factor)


def pooled(trials: Trials, name: str = "rtt_histogram") -> Histogram | None:
    """The merged histograms of all trials; ``None`` if no trial has one that can be read.

    Percentiles of different trials cannot be averaged, but their histograms can be added up.
    """
    histograms = [one for trial in trials if (one := trial.histogram(name)) is not None]
    return merge(histograms) if histograms else None


def trials_shown(trials: Trials, why: Sequence[str] | None = None) -> Shown:
    """``3/5`` if 3 of 5 planned trials have a result, with the reasons why others have none."""
    count = len(results_of(trials))
    return Shown(float(count), blanks_of(trials) if why is None else why, f"{count}/{len(trials)}")


def mean_of_all(of: Figure, why: Why) -> OfTrials:
    """The mean of the trials; blank if any trial with a result has no such figure.

    A mean of the others could mislead: the trial without a figure may have the longest time.
    """

    def shown(trials: Trials) -> Shown:
        values, reasons = _known(trials, of, why)
        return Shown(why=reasons) if reasons or not values else Shown(mean(values))

    return shown


def half_width(of: Figure, why: Why) -> OfTrials:
    """The half-width of the 95 % interval of ``mean_of_all``."""

    def shown(trials: Trials) -> Shown:
        values, reasons = _known(trials, of, why)
        if reasons or not values:
            return Shown(why=reasons)
        if len(values) < MIN_TRIALS:
            return Shown(why=[FEW_TRIALS])
        return Shown(interval(values).half_width)

    return shown


def longest(of: Figure, why: Why) -> OfTrials:
    """The largest figure of all trials."""

    def shown(trials: Trials) -> Shown:
        results = results_of(trials)
        values = [value for trial in results if (value := of(trial)) is not None]
        return Shown(max(values)) if values else Shown(why=[why(trial) for trial in results])

    return shown


def share(some: Figure, every: Figure, why: str) -> OfTrials:
    """A share in per cent over all trials together; blank if nothing was counted."""

    def shown(trials: Trials) -> Shown:
        results = results_of(trials)
        pairs = [(some(trial), every(trial)) for trial in results]
        counts = [(part, total) for part, total in pairs if part is not None and total]
        if not counts:
            return Shown(why=[why] if results else ())
        parts, totals = zip(*counts, strict=True)
        return Shown(100 * sum(parts) / sum(totals))

    return shown


def _known(trials: Trials, of: Figure, why: Why) -> tuple[list[float], list[str]]:
    """The figures of the trials with a result, and why others of them have none."""
    values: list[float] = []
    reasons: list[str] = []
    for trial in results_of(trials):
        value = of(trial)
        if value is None:
            reasons.append(why(trial))
        else:
            values.append(value)
    total = len(values) + len(reasons)
    return values, [
        _("{some} of {total} trials: {why}", some=len(reasons), total=total, why=reason)
        if values
        else reason
        for reason in dict.fromkeys(reasons)
    ]
