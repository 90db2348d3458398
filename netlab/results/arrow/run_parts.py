"""The table of a run in parts: the segments as they are, and the rest as rows in memory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netlab.results.rows import percentiles, row_of
from netlab.results.run import read_checked
from netlab.results.value_types import RUN_CHECK
from netlab.store.files import disk_error
from netlab.store.journal_reading import Gathered, LatestRecords
from netlab.store.plan import Plan, PlannedCell
from netlab.store.reader import JOURNAL, gather, progress_in, read_plan
from netlab.store.segments import Segment, SegmentChain, chain_of
from netlab.trial.record import Record

TrialRow = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunParts:
    """The table of a run: one row per trial."""

    folder: Path
    plan: Plan
    segments: tuple[Segment, ...]
    """Segments whose rows belong to the table, except for those that are ``replaced``."""
    replaced: frozenset[int]
    """Positions in the journal of the records that later ones replaced."""
    rows: list[TrialRow]
    """The rows of trials that no segment has: recorded since, or not measured yet."""
    remarks: tuple[str, ...]
    """Damage of the journal, and segments that could not be used, in sentences."""


def parts_of(folder: Path) -> RunParts:
    """The table of a run folder, also while another process writes to it.

    The rows that are in memory are few if the run has segments. Raises UsageError if it is not a
    run folder, StoreError if it is unusable.
    """
    plan, _ = read_plan(folder, RUN_CHECK)
    chain = chain_of(folder, folder / JOURNAL)
    if chain.segments and _is_whole(folder, plan, chain):
        return RunParts(folder, plan, chain.segments, _replaced(chain), [], ())
    if chain.segments:
        gathered = gather(folder, plan, RUN_CHECK)
        if gathered.index is not None and isinstance(gathered.latest, LatestRecords):
            return _with_rest(folder, plan, gathered, gathered.latest)
    stored = read_checked(folder)
    rows = [_row(*trial) for trial in stored.trials()]
    remarks = tuple(f"{folder}: journal, {place}" for place in stored.damage)
    return RunParts(folder, stored.plan, (), frozenset(), rows, remarks)


def _is_whole(folder: Path, plan: Plan, chain: SegmentChain) -> bool:
    """Whether the segments cover the whole journal, without damage, and every planned trial has a
    record.
    """
    try:
        size_bytes = os.lstat(folder / JOURNAL).st_size
    except OSError as error:
        raise disk_error(error, folder / JOURNAL, "read the journal") from None
    trials = sum(segment.rows for segment in chain.segments) - len(_replaced(chain))
    planned = sum(map(plan.most_of, plan.cells))
    is_damaged = chain.remarks or any(segment.damages for segment in chain.segments)
    return size_bytes == chain.end_bytes and trials == planned and not is_damaged


def _replaced(chain: SegmentChain) -> frozenset[int]:
    return frozenset(begin for segment in chain.segments for begin in segment.replaced)


def _with_rest(folder: Path, plan: Plan, gathered: Gathered, latest: LatestRecords) -> RunParts:
    index = latest.index
    replaced = {index.last_bytes(trial) for trial in latest.added}
    return RunParts(
        folder,
        plan,
        index.chain.segments,
        _replaced(index.chain) | frozenset(begin for begin in replaced if begin >= 0),
        [*_rest(plan, latest)],
        tuple(f"{folder}: journal, {place}" for place in gathered.damage),
    )


def _rest(plan: Plan, latest: LatestRecords) -> Iterator[TrialRow]:
    """The rows of the trials that no segment has."""
    for cell in plan.cells:
        for trial in range(1, progress_in(plan, cell, latest).trials + 1):
            record = latest.added.get((cell.key, trial))
            if record is not None or (cell.key, trial) not in latest:
                yield _row(cell, trial, record)


def _row(cell: PlannedCell, trial: int, record: Record | None) -> TrialRow:
    row = row_of(cell, trial, record)
    return {**percentiles(row), **row}
