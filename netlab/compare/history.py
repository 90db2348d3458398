"""A history: each cell and quantity of the newest run over many runs, with its change points.

A run may also be compared with the last segment of its history: it belongs to it, or it is worse.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from netlab.compare.align import WORST_FIRST, CheckVerdict, cell_labels
from netlab.compare.runs import identities, link_differences
from netlab.errors import NetlabError, UsageError
from netlab.ethernet import Link
from netlab.messages import _, counted, joined
from netlab.results.labels import figure
from netlab.results.quantities import STACK, quantities_of
from netlab.results.run import Run, load
from netlab.stats import median
from netlab.stats.breaks import LEAST_RUNS, ChangePoint, Course, course_of
from netlab.store.reader import holder_of, is_run_folder
from netlab.trial.column import Quantity
from netlab.trial.record import Record, by_cell

RECENT_RUNS = 2 * LEAST_RUNS
"""A change point in this number of last runs is recent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatedRun:
    """A run of a history: when it started, and its figures."""

    path: Path
    started_at: datetime
    """Start of its first trial by the clock of the machine that ran netlab; of an imported run
    without such times, the time of the import."""
    link: Link | None
    cells: Mapping[Hashable, Record]
    """What identifies a cell in every run → its first trial, without values."""
    medians: Mapping[tuple[Hashable, str], float]
    """(cell, name of a quantity) → the median of its trials, above 0, in the quantity's unit."""

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.path.name or str(self.path)


def _read_runs(folders: Sequence[Path], remarks: list[str], without: Path | None) -> list[DatedRun]:
    """Read run folders, and all run folders in a folder that is none itself, in the order of their
    start.

    A run that cannot be used is left out, and a remark states why. ``without``: a run that is left
    out without a remark. UsageError if no run can be used.
    """
    runs: list[DatedRun] = []
    left_out = None if without is None else without.resolve()
    for path in dict.fromkeys(_run_folders(folders, remarks)):
        if path.resolve() == left_out:
            continue
        if (writer := holder_of(path)) is not None:
            words = {"run": path, "writer": writer}
            remarks.append(_("{run} is being written by {writer}; left out.", **words))
            continue
        try:
            run = load(path)
        except NetlabError as error:
            remarks.append(_("{error}; left out.", error=error))
            continue
        if run.damage:
            remarks.append(
                counted(
                    "The journal of {run} is damaged in {number} place; intact records are used.",
                    "The journal of {run} is damaged in {number} places; intact records are used.",
                    len(run.damage),
                    run=path,
                )
            )
        runs.append(dated_run(run))
    kept: list[DatedRun] = []
    for dated in sorted(runs, key=lambda run: (run.started_at, str(run.path))):
        if not kept or dated.started_at != kept[-1].started_at:
            kept.append(dated)
            continue
        paths = {"run": dated.path, "other": kept[-1].path}
        remarks.append(_("{run} started at the same time as {other}; a copy, left out.", **paths))
    if not kept:
        reasons = " ".join(remarks)
        names = ", ".join(map(str, folders))
        raise UsageError(f"{names}: no run to make a history of. {reasons}".rstrip())
    return kept


def _run_folders(folders: Iterable[Path], remarks: list[str]) -> Iterator[Path]:
    for folder in folders:
        if is_run_folder(folder):
            yield folder
            continue
        try:
            subfolders = sorted(path for path in folder.iterdir() if path.is_dir())
        except OSError as error:
            why = error.strerror or error
            remarks.append(_("{folder}: {error}; left out.", folder=folder, error=why))
            continue
        if not subfolders:
            remarks.append(_("{folder} is not a run folder and has none in it.", folder=folder))
        for path in subfolders:
            if is_run_folder(path):
                yield path
            elif not path.name.startswith("."):
                remarks.append(_("{folder} is not a run folder; left out.", folder=path))


def dated_run(run: Run) -> DatedRun:
    """The figures of a run."""
    identity = identities(run.plan)
    cells: dict[Hashable, Record] = {}
    medians: dict[tuple[Hashable, str], float] = {}
    for key, trials in by_cell(run.trials).items():
        cells[identity[key]] = replace(trials[0], values={})
        for quantity in (*quantities_of(trials[0]), STACK):
            figures = [quantity.in_unit(trial) for trial in trials]
            known = [figure for figure in figures if figure is not None and 0 < figure < math.inf]
            if known:
                medians[identity[key], quantity.name] = median(known)
    starts = [start for record in run.records if (start := _time(record.started_at)) is not None]
    created = _time(run.stored.created_at) or datetime.fromtimestamp(0, UTC)
    start = min(starts, default=created)
    return DatedRun(
        path=run.path, started_at=start, link=run.plan.link, cells=cells, medians=medians
    )


def _time(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


# Cells over many runs


@dataclass(frozen=True)
class CellHistory:
    """One quantity of one cell over all runs of a history."""

    label: str
    cell: str
    """Key of the cell in the newest run."""
    quantity: Quantity
    figures: tuple[float | None, ...]
    """One per run, in the quantity's unit; ``None`` if the run lacks the cell or its figure."""

    @cached_property
    def course(self) -> Course:
        """The figures divided into segments."""
        return course_of(self.figures)

    @property
    def recent(self) -> ChangePoint | None:
        """The last change point, if it is in the last runs."""
        points = self.course.change_points
        near_end = points and points[-1].index >= len(self.figures) - RECENT_RUNS
        return points[-1] if near_end else None


@dataclass(frozen=True, slots=True)
class History:
    """The runs in the order of their start, and the cells of the newest one."""

    runs: tuple[DatedRun, ...]
    cells: tuple[CellHistory, ...]
    remarks: tuple[str, ...]


def history_of(folders: Sequence[Path], judged: DatedRun | None = None) -> History:
    """The history of every cell of the newest run in these folders, or of ``judged`` over the runs
    before it. UsageError if no run can be used.

    A run whose link differs is left out, and a remark states the difference. A cell of another run
    is the same cell if all of its settings are the same.
    """
    remarks, runs = list[str](), []
    read = _read_runs(folders, remarks, None if judged is None else judged.path)
    newest = judged or read[-1]
    for run in read:
        if judged is not None and run.started_at >= judged.started_at:
            continue
        differences = joined("; ", link_differences(newest.link, run.link))
        if not differences:
            runs.append(run)
            continue
        words = {"run": run.path, "differences": differences, "newest": newest.path}
        text = _("{run} is left out: {differences} (the baseline is {newest}).", **words)
        remarks.append(text)
    others = {cell for run in runs for cell in run.cells if cell not in newest.cells}
    if others:
        remarks.append(
            counted(
                "{number} cell of older runs is not in {newest}; it is left out.",
                "{number} cells of older runs are not in {newest}; they are left out.",
                len(others),
                newest=newest.path,
            )
        )
    labels = cell_labels([*newest.cells.values()])
    cells = []
    for cell, first in newest.cells.items():
        has_stack = any((cell, STACK.name) in run.medians for run in (*runs, newest))
        for quantity in (*quantities_of(first), *([STACK] if has_stack else [])):
            figures = tuple(run.medians.get((cell, quantity.name)) for run in runs)
            cells.append(CellHistory(labels[first.cell], first.cell, quantity, figures))
    return History(tuple(runs), tuple(cells), tuple(remarks))


# A run against its history


@dataclass(frozen=True, slots=True)
class HeldRun:
    """A run, and the histories of its cells over earlier runs."""

    path: Path
    """The folder of the history, as the user named it."""
    run: DatedRun
    history: History

    @property
    def remarks(self) -> tuple[str, ...]:
        """Change points in the last runs of the history, then the remarks about its runs."""
        recent = [(history, point) for history in self.history.cells if (point := history.recent)]
        points = [
            _(
                "The history of {cell} changed recently: {quantity} {change} % since {run} "
                "({day}).",
                cell=history.label,
                quantity=history.quantity.name,
                change=signed_percent(point.change_share),
                run=self.history.runs[point.index].name,
                day=self.history.runs[point.index].started_at.date(),
            )
            for history, point in recent
        ]
        return (*points, *self.history.remarks)

    def judged(self, cell: str, worse_by: float) -> tuple[CheckVerdict, str]:
        """Whether a cell of the run is no worse than the last segment of its history: within the
        range that the segment lets expect, or worse than its level by ``worse_by`` (a share) at
        most. All figures of the run are judged together.
        """
        histories = [history for history in self.history.cells if history.quantity is not STACK]
        figures = {
            (self.run.cells[identity].cell, name): value
            for (identity, name), value in self.run.medians.items()
        }
        verdicts = [
            _judge(history, figures.get((cell, history.quantity.name)), len(histories), worse_by)
            for history in histories
            if history.cell == cell
        ]
        for verdict in WORST_FIRST:
            sentences = [words for own_verdict, words in verdicts if own_verdict == verdict]
            if sentences:
                return verdict, joined("; ", sentences)
        return "cannot be judged", _("it has no figure to compare")


def _judge(
    history: CellHistory, value: float | None, judged: int, worse_by: float
) -> tuple[CheckVerdict, str]:
    quantity = history.quantity
    if value is None:
        return "cannot be judged", _("{quantity}: the run has no figure", quantity=quantity.name)
    expected = history.course.expected(judged)
    if expected is None:
        words = {"quantity": quantity.name, "least": LEAST_RUNS}
        text = _("{quantity}: fewer than {least} runs since the last change", **words)
        return "cannot be judged", text
    change = value / expected.level - 1
    if quantity.more_is_worse:
        is_worse = value > expected.high and change > worse_by
    else:
        is_worse = value < expected.low and -change > worse_by
    return ("not met" if is_worse else "met"), _(
        "{quantity}, median {value} {unit}, {change} % "
        "({low} to {high} {unit} expected by {runs} runs)",
        quantity=quantity.name,
        value=figure(value),
        unit=quantity.unit,
        change=signed_percent(change),
        low=figure(expected.low),
        high=figure(expected.high),
        runs=expected.runs,
    )


def signed_percent(share: float) -> str:
    """A change in per cent, such as ``−2.04`` or ``+12.5``, without the sign of per cent."""
    decimals = 1 if abs(share) >= 0.1 else 2
    return f"{100 * share:+.{decimals}f}".replace("-", "−")
