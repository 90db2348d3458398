"""A run with very many trials: figures of each cell, computed from columns of its segments.

A cell is one combination of test, pairing (server and client) and settings. No record is read, so
neither time nor memory depend on the length of the records. Needs pyarrow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from netlab.results.arrow.part_tables import rest_of, tables_of, tests_in
from netlab.results.arrow.run_parts import RunParts, parts_of
from netlab.results.quantities import figure_columns
from netlab.store.plan import Plan
from netlab.store.reader import JOURNAL
from netlab.store.segments import chain_of
from netlab.trial.record import Status

if TYPE_CHECKING:
    import pyarrow as pa

LARGE_TRIALS = 50_000
"""A run with segments and more trials than this is large."""


@dataclass(frozen=True, slots=True)
class CellFigures:
    """One quantity of one cell over its trials with a result."""

    trials: int
    mean: float
    deviation: float | None
    """Standard deviation of the trials; ``None`` with one trial."""
    least: float
    most: float

    @property
    def variation(self) -> float | None:
        """Coefficient of variation: the standard deviation as a share of the mean."""
        if self.deviation is None or not self.mean:
            return None
        return abs(self.deviation / self.mean)


@dataclass(frozen=True, slots=True)
class LargeRun:
    """The figures of a large run."""

    folder: Path
    plan: Plan
    statuses: Mapping[str, Mapping[Status, int]]
    """Cell → number of its trials by status."""
    figures: Mapping[str, Mapping[str, CellFigures]]
    """Column of the run's table → cell → its figures, in the unit of the column."""
    began_at: str
    """When the first trial began, UTC; empty: unknown."""
    ended_at: str
    """When the last trial began."""
    remarks: tuple[str, ...]
    """Damage of the journal, and segments that could not be used, in sentences."""


def is_large(folder: Path) -> bool:
    """Whether the segments of a run folder have more than ``LARGE_TRIALS`` rows."""
    chain = chain_of(folder, folder / JOURNAL)
    return sum(segment.rows for segment in chain.segments) > LARGE_TRIALS


def large_run(folder: Path) -> LargeRun:
    """The figures of a run folder. Raises UsageError and StoreError as ``parts_of``."""
    import pyarrow.compute as pc

    parts = parts_of(folder)
    names = dict.fromkeys(name for test in tests_in(parts) for name in figure_columns(test))
    table = _columns(parts, [*names])
    times = pc.min_max(table["started_at"]).as_py()
    return LargeRun(
        folder=folder,
        plan=parts.plan,
        statuses=_statuses(table),
        figures={
            name: figures
            for name in names
            if name in table.column_names and (figures := _figures(table, name))
        },
        began_at=times["min"] or "",
        ended_at=times["max"] or "",
        remarks=parts.remarks,
    )


def _columns(parts: RunParts, names: list[str]) -> pa.Table:
    import pyarrow as pa

    wanted = ["cell", "status", "started_at", *names]
    tables = tables_of(parts, rest_of(parts), wanted)
    return pa.concat_tables(tables, promote_options="permissive").combine_chunks()


def _statuses(table: pa.Table) -> dict[str, dict[Status, int]]:
    counted = table.group_by(["cell", "status"]).aggregate([([], "count_all")])
    statuses: dict[str, dict[Status, int]] = {}
    for row in counted.to_pylist():
        statuses.setdefault(row["cell"], {})[Status(row["status"])] = row["count_all"]
    return statuses


def _figures(table: pa.Table, name: str) -> dict[str, CellFigures]:
    import pyarrow.compute as pc

    own = table.select(["cell", "status", name])
    own = own.filter(pc.and_(pc.equal(own["status"], Status.OK), pc.is_finite(own[name])))
    kinds = ("count", "mean", "min", "max")
    of_sample = (name, "stddev", pc.VarianceOptions(ddof=1))
    summed = own.group_by("cell").aggregate([*((name, kind) for kind in kinds), of_sample])
    columns = (summed[f"{name}_{kind}"].to_pylist() for kind in (*kinds, "stddev"))
    return {
        cell: CellFigures(trials, mean, deviation, float(least), float(most))
        for cell, trials, mean, least, most, deviation in zip(
            summed["cell"].to_pylist(), *columns, strict=True
        )
    }
