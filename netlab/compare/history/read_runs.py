"""Reads the runs of a history from their folders, and keeps one figure per cell and quantity.

A run that cannot be used is left out, and a remark states why. A cell is one combination of test,
pairing (server and client) and settings; a trial is one measurement of a cell.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from netlab.compare.matching import identities
from netlab.errors import NetlabError, UsageError
from netlab.experiment.matrix import Link
from netlab.experiment.records import Record, by_cell
from netlab.messages import _, counted
from netlab.results.quantities import STACK, quantities_of
from netlab.results.run import Run, load
from netlab.stats import median
from netlab.store.reader import holder_of, is_run_folder


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


@dataclass(frozen=True, slots=True)
class ReadRuns:
    """The usable runs in the order of their start, and one sentence for each other folder."""

    runs: tuple[DatedRun, ...]
    remarks: tuple[str, ...]


def read_runs(folders: Sequence[Path], *, without: Path | None = None) -> ReadRuns:
    """Read run folders, and all run folders in a folder that is none itself.

    ``without``: a run that is left out without a remark. UsageError if no run can be used.
    """
    runs: list[DatedRun] = []
    remarks: list[str] = []
    left_out = None if without is None else without.resolve()
    for path in dict.fromkeys(_run_folders(folders, remarks)):
        if path.resolve() == left_out:
            continue
        if (writer := holder_of(path)) is not None:
            remarks.append(
                _("{run} is being written by {writer}; left out.", run=path, writer=writer)
            )
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
    kept = [
        *_each_start_once(sorted(runs, key=lambda run: (run.started_at, str(run.path))), remarks)
    ]
    if not kept:
        reasons = " ".join(remarks)
        names = ", ".join(map(str, folders))
        raise UsageError(f"{names}: no run to make a history of. {reasons}".rstrip())
    return ReadRuns(tuple(kept), tuple(remarks))


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
    return DatedRun(
        path=run.path,
        started_at=_start_of(run),
        link=run.plan.link,
        cells=cells,
        medians=medians,
    )


def _run_folders(folders: Iterable[Path], remarks: list[str]) -> Iterator[Path]:
    for folder in folders:
        if is_run_folder(folder):
            yield folder
            continue
        try:
            subfolders = sorted(path for path in folder.iterdir() if path.is_dir())
        except OSError as error:
            remarks.append(
                _("{folder}: {error}; left out.", folder=folder, error=error.strerror or error)
            )
            continue
        if not subfolders:
            remarks.append(_("{folder} is not a run folder and has none in it.", folder=folder))
        for path in subfolders:
            if is_run_folder(path):
                yield path
            elif not path.name.startswith("."):
                remarks.append(_("{folder} is not a run folder; left out.", folder=path))


def _start_of(run: Run) -> datetime:
    starts = [start for record in run.records if (start := _time(record.started_at)) is not None]
    created = _time(run.stored.created_at) or datetime.fromtimestamp(0, UTC)
    return min(starts, default=created)


def _time(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _each_start_once(runs: Iterable[DatedRun], remarks: list[str]) -> Iterator[DatedRun]:
    """Runs with the same start are copies of one run: only the first one counts."""
    earlier: DatedRun | None = None
    for run in runs:
        if earlier is not None and run.started_at == earlier.started_at:
            remarks.append(
                _(
                    "{run} started at the same time as {other}; a copy, left out.",
                    run=run.path,
                    other=earlier.path,
                )
            )
            continue
        yield run
        earlier = run
