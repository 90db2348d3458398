"""Comparison of two runs, or of the levels of an axis of one run, cell by cell. No I/O.

An axis is a setting (or ``pairing``, ``test``) that varies in a run; its values are the levels.
A contender is a run or level that is compared with the baseline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netlab.compare.align import align_cells, align_runs, plain_cell
from netlab.compare.changes import changes
from netlab.compare.judge import Judged, Method, judge, judge_groups, method_of
from netlab.compare.matching import Agreement, agreement
from netlab.config.document import did_you_mean
from netlab.errors import UsageError
from netlab.experiment.cells import OF_A_CELL, Comparison
from netlab.experiment.records import Record, by_cell
from netlab.experiment.settings import Level
from netlab.results.labels import setting, setting_name, setting_value
from netlab.stats import MARGIN

if TYPE_CHECKING:
    from netlab.results.run import Run


@dataclass(frozen=True, slots=True)
class ComparedGroup:
    """The comparison of one contender with the baseline."""

    contender: str
    rows: tuple[Judged, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The result of a comparison: its baseline, contenders, method and verdicts."""

    baseline: str
    groups: tuple[ComparedGroup, ...]
    method: Method
    differences: tuple[str, ...] = ()
    """Differences that forbid a comparison, if the runs were compared nevertheless."""
    remarks: tuple[str, ...] = ()
    """Cells without a counterpart, and other known changes."""

    @property
    def rows(self) -> tuple[Judged, ...]:
        """The verdicts of all groups."""
        return tuple(row for group in self.groups for row in group.rows)


def compare_runs(
    baseline: Run, contender: Run, *, anyway: bool = False, margin: float = MARGIN
) -> Compared:
    """Compare every cell of two runs with its counterpart.

    UsageError, with the differences, if the runs do not agree (unless ``anyway``), and if no cell
    has a counterpart.
    """
    agreed = agreed_on(baseline, contender, anyway=anyway)
    rows = judge(align_runs(agreed.pairs, baseline.trials, contender.trials), margin)
    remarks = [f"changed between them: {change}" for change in changes(baseline, contender)]
    return Compared(
        baseline=str(baseline.path),
        groups=(ComparedGroup(str(contender.path), rows),),
        method=method_of(rows, margin, paired=False),
        differences=agreed.differences,
        remarks=(*agreed.alone, *remarks),
    )


def agreed_on(baseline: Run, contender: Run, *, anyway: bool = False) -> Agreement:
    """The matching cells of two runs; UsageError as in ``compare_runs``."""
    agreed = agreement(baseline.plan, contender.plan)
    if agreed.differences and not anyway:
        raise UsageError(
            f"{contender.path} cannot be compared with {baseline.path}: "
            f"{'; '.join(agreed.differences)}. To compare them nevertheless: compare --anyway "
            "(the output states these differences)"
        )
    if not agreed.pairs:
        raise UsageError(f"{contender.path} and {baseline.path} have no cell in common")
    return agreed


def compare_levels(
    run: Run, axis: str, against: str | None = None, *, margin: float = MARGIN
) -> Compared:
    """Compare every level of an axis with the baseline: the first level, or ``against``.

    UsageError for an axis that the run does not have, for an axis with a single level, and for an
    unknown level.
    """
    trials = run.trials
    name = _field_of(axis, trials)
    levels = _levels(name, trials)
    if len(levels) < 2:
        only = setting(name, levels[0]) if levels else f"no {setting_name(name)}"
        raise UsageError(f"--by {axis}: every cell of {run.path} has {only}; {_axes_words(trials)}")
    first = levels[0] if against is None else _level_named(against, name, levels)
    contenders = [level for level in levels if level != first]
    comparisons = [
        Comparison(setting(name, level), {name: first}, {name: level}) for level in contenders
    ]
    aligned = [align_cells(comparison, trials) for comparison in comparisons]
    if not any(aligned):
        raise UsageError(
            f"--by {axis}: no two cells of {run.path} differ only in {setting_name(name)}"
        )
    groups = [
        ComparedGroup(comparison.name, rows)
        for comparison, rows in zip(comparisons, judge_groups(aligned, margin), strict=True)
    ]
    all_rows = [row for group in groups for row in group.rows]
    reason = f"no cell differs only in it from a cell of {setting(name, first)}"
    return Compared(
        baseline=f"{run.path}, {setting(name, first)}",
        groups=tuple(group for group in groups if group.rows),
        method=method_of(all_rows, margin, paired=True),
        remarks=tuple(f"{group.contender}: {reason}" for group in groups if not group.rows),
    )


# Axes and their levels


def _field_of(axis: str, trials: Sequence[Record]) -> str:
    """The field of ``axis``, which is a field's name in records or in a matrix.

    UsageError if there is no such field.
    """
    from netlab.config.settings import FIELD_OF

    name = FIELD_OF.get(axis, axis)
    fields = {*OF_A_CELL, *(name for record in trials for name in record.settings)}
    if name not in fields and axis not in FIELD_OF:
        names = [*OF_A_CELL, *FIELD_OF]
        axes = ", ".join(sorted(fields))
        raise UsageError(
            f"--by {axis}: no such axis{did_you_mean(axis, names)}; this run has {axes}"
        )
    return name


def _levels(name: str, trials: Sequence[Record]) -> list[Level]:
    """The levels of a setting, in the plan's order.

    Absence is a level only if other cells of the same test and protocol have the setting. For
    example, no UDP cell has a congestion control.
    """
    cells = _cells(trials)
    kinds = {_kind(cell) for cell in cells if cell.get(name) is not None}
    return [*dict.fromkeys(cell.get(name) for cell in cells if _kind(cell) in kinds)]


def _cells(trials: Sequence[Record]) -> list[dict[str, Level]]:
    return [plain_cell(trials[0]) for trials in by_cell(trials).values()]


def _kind(cell: Mapping[str, Level]) -> tuple[Level, Level]:
    return cell["test"], cell.get("protocol")


def _axes_words(trials: Sequence[Record]) -> str:
    """A text about the axes that can be compared."""
    from netlab.config.settings import NAME_OF

    names = dict.fromkeys(name for cell in _cells(trials) for name in cell)
    axes = [NAME_OF.get(name, name) for name in names if len(_levels(name, trials)) > 1]
    return f"the axes of this run are {', '.join(axes)}" if axes else "this run has no axis"


def _level_named(word: str, name: str, levels: Sequence[Level]) -> Level:
    """The level that ``word`` names, written as in a matrix or as in the report."""
    for level in levels:
        if _folded(word) in {_folded(str(level)), _folded(setting_value(name, level))}:
            return level
    names = ", ".join(setting_value(name, level) for level in levels)
    raise UsageError(f"--against {word}: not a value of {setting_name(name)}; the run has {names}")


def _folded(text: str) -> str:
    return text.replace(" ", "").casefold()
