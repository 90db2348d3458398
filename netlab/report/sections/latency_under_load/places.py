"""Trials of a cell → one place of a table: the mean, or why the place is blank. No I/O.

A cell is one combination of test, pairing (server and client) and settings; a trial is one
measurement of a cell, and a record is the data of one trial.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from netlab.experiment.records import Record
from netlab.messages import _
from netlab.report.tables.elements import Notes, TableCell, blank
from netlab.report.tables.tables import FEW_TRIALS
from netlab.results.labels import figure
from netlab.stats import MIN_TRIALS, interval, mean

Figure = Callable[[Record], float | None]
"""Returns the figure of one trial, in the unit of the column."""
Why = Callable[[Record], str]
"""Returns the reason why a trial with a result has no such figure."""


def number(name: str, factor: float = 1) -> Figure:
    """A function that returns the measured number ``name`` of a record, times ``factor``."""

    def of(record: Record) -> float | None:
        value = record.number(name)
        return None if value is None else factor * value

    return of


def trials_place(trials: Sequence[Record], notes: Notes) -> TableCell:
    """``3/5`` if 3 of 5 planned trials have a result; ``notes`` get the reasons why others have
    none.
    """
    count = sum(trial.status == "ok" for trial in trials)
    why = [trial.why_blank for trial in trials if trial.status != "ok"]
    return TableCell(f"{count}/{len(trials)}", float(count), "", notes(why))


def mean_place(
    results: Sequence[Record], of: Figure, unit: str, why: Why, notes: Notes
) -> TableCell:
    """The mean of the trials; blank if any trial has no such figure.

    A mean of the others could mislead: the trial without a figure may have the longest time.
    """
    values, letters = _known(results, of, why, notes)
    if not values or letters:
        return blank(letters)
    return TableCell(figure(mean(values)), mean(values), unit)


def with_half_width(
    results: Sequence[Record], of: Figure, unit: str, why: Why, notes: Notes
) -> tuple[TableCell, TableCell]:
    """The mean, and the half-width of its 95 % interval."""
    values, letters = _known(results, of, why, notes)
    if not values or letters:
        return blank(letters), blank(letters)
    middle = TableCell(figure(mean(values)), mean(values), unit)
    if len(values) < MIN_TRIALS:
        return middle, blank(notes([FEW_TRIALS]))
    half = interval(values).half_width
    return middle, TableCell(figure(half), half, unit)


def longest_place(
    results: Sequence[Record], of: Figure, unit: str, why: Why, notes: Notes
) -> TableCell:
    """The largest figure of all trials."""
    values = [value for trial in results if (value := of(trial)) is not None]
    if not values:
        return blank(notes(why(trial) for trial in results))
    return TableCell(figure(max(values)), max(values), unit)


def share_place(
    results: Sequence[Record], some: Figure, every: Figure, why: Iterable[str], notes: Notes
) -> TableCell:
    """A share in per cent over all trials together; blank if nothing was counted."""
    pairs = [(some(trial), every(trial)) for trial in results]
    counts = [(part, total) for part, total in pairs if part is not None and total]
    if not counts:
        return blank(notes(why if results else ()))
    share = 100 * sum(part for part, _total in counts) / sum(total for _part, total in counts)
    return TableCell(figure(share), share, "%")


def _known(
    results: Sequence[Record], of: Figure, why: Why, notes: Notes
) -> tuple[list[float], tuple[str, ...]]:
    """The figures of the trials, and the letters of the notes on trials without a figure."""
    values, reasons = [], []
    for trial in results:
        value = of(trial)
        if value is None:
            reasons.append(why(trial))
        else:
            values.append(value)
    sentences = [
        _("{some} of {total} trials: {why}", some=len(reasons), total=len(results), why=reason)
        if values
        else reason
        for reason in dict.fromkeys(reasons)
    ]
    return values, notes(sentences)
