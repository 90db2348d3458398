"""Trials of a cell → one place of a table: their mean, or why there is none. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from netlab.messages import _
from netlab.report.tables.elements import Notes, TableCell, blank
from netlab.report.tables.tables import FEW_TRIALS
from netlab.results.labels import figure
from netlab.results.readings import Reading
from netlab.stats import MIN_TRIALS, interval, mean

Figure = Callable[[Reading], float | None]
"""Of one trial, in the unit of its column."""
Why = Callable[[Reading], str]
"""Why a trial with a result has none."""


def number(name: str, factor: float = 1) -> Figure:
    """A measured number by the name of its column, times ``factor``."""

    def of(reading: Reading) -> float | None:
        value = reading.number(name)
        return None if value is None else factor * value

    return of


def trials_place(trials: Sequence[Reading], notes: Notes) -> TableCell:
    """``3/5``: those with a result, of those planned; why the others have none."""
    measured = sum(each.status == "ok" for each in trials)
    why = [each.why_blank for each in trials if each.status != "ok"]
    return TableCell(f"{measured}/{len(trials)}", float(measured), "", notes(why))


def mean_place(
    measured: Sequence[Reading], of: Figure, unit: str, why: Why, notes: Notes
) -> TableCell:
    """The mean of the trials; blank where any has no such figure, for what is left out of a mean
    may be the longest of all.
    """
    values, letters = _known(measured, of, why, notes)
    if not values or letters:
        return blank(letters)
    return TableCell(figure(mean(values)), mean(values), unit)


def with_half_width(
    measured: Sequence[Reading], of: Figure, unit: str, why: Why, notes: Notes
) -> tuple[TableCell, TableCell]:
    """The mean, and how far it is certain."""
    values, letters = _known(measured, of, why, notes)
    if not values or letters:
        return blank(letters), blank(letters)
    middle = TableCell(figure(mean(values)), mean(values), unit)
    if len(values) < MIN_TRIALS:
        return middle, blank(notes([FEW_TRIALS]))
    half = interval(values).half_width
    return middle, TableCell(figure(half), half, unit)


def longest_place(
    measured: Sequence[Reading], of: Figure, unit: str, why: Why, notes: Notes
) -> TableCell:
    """The largest figure of all trials."""
    values = [value for each in measured if (value := of(each)) is not None]
    if not values:
        return blank(notes(why(each) for each in measured))
    return TableCell(figure(max(values)), max(values), unit)


def share_place(
    measured: Sequence[Reading], some: Figure, every: Figure, why: Iterable[str], notes: Notes
) -> TableCell:
    """Per cent, of all trials together; blank where nothing was counted."""
    pairs = [(some(each), every(each)) for each in measured]
    known = [(part, whole) for part, whole in pairs if part is not None and whole]
    if not known:
        return blank(notes(why if measured else ()))
    share = 100 * sum(part for part, _whole in known) / sum(whole for _part, whole in known)
    return TableCell(figure(share), share, "%")


def _known(
    measured: Sequence[Reading], of: Figure, why: Why, notes: Notes
) -> tuple[list[float], tuple[str, ...]]:
    """The figures of the trials, and the letters of why some have none."""
    values, reasons = [], []
    for each in measured:
        value = of(each)
        if value is None:
            reasons.append(why(each))
        else:
            values.append(value)
    said = [
        _("{some} of {total} trials: {why}", some=len(reasons), total=len(measured), why=reason)
        if values
        else reason
        for reason in dict.fromkeys(reasons)
    ]
    return values, notes(said)
