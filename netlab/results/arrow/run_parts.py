"""The table of a run in parts, its segments and the rest in memory; large runs and Parquet from it.

No record of a segment is read, so neither time nor memory depend on the length of the records.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from netlab.errors import StoreError, UsageError
from netlab.results.arrow.segment_writer import Columns
from netlab.results.columns import columns_of, describe
from netlab.results.quantities import core_names, figure_columns
from netlab.results.rows import row_of, rows_of
from netlab.results.run import read_checked
from netlab.results.value_types import RUN_CHECK
from netlab.store.files import disk_errors
from netlab.store.journal_reading import Gathered, LatestRecords
from netlab.store.plan import Plan
from netlab.store.reader import JOURNAL, gather, progress_in, read_plan
from netlab.store.segments import FOLDER, PRIVATE, Private, Segment, chain_of, parquet_file
from netlab.trial.record import Status

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 20_000
"""Maximum number of rows of a table."""


RUN = "run"
"""The column with the path of the run folder, in a table of several runs."""


def tests_in(*runs: RunParts) -> dict[str, None]:
    """The kinds of test of runs, each once."""
    return dict.fromkeys(cell.test for parts in runs for cell in parts.plan.cells)


def rest_of(*runs: RunParts, with_run: bool = False) -> pa.Table:
    """The rows that no segment has, with all their columns; ``with_run``: and the column `RUN`."""
    columns = Columns()
    for parts in runs:
        run = {RUN: str(parts.folder)} if with_run else {}
        for row in parts.rows:
            columns.add({**row, **run})
    return columns.table(columns_of(tests_in(*runs)), {RUN: "string"} if with_run else {})


def tables_of(parts: RunParts, rest: pa.Table, names: Sequence[str]) -> Iterator[pa.Table]:
    """The columns ``names`` of all rows of the table, part by part; absent columns are left out.

    ``rest``: see ``rest_of``. Raises StoreError for a segment that was damaged meanwhile.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    replaced = pa.array(sorted(parts.replaced), pa.int64())
    for segment in parts.segments:
        try:
            with parquet_file(parts.folder, segment.name) as file:
                present = set(file.schema_arrow.names)
                wanted = [Private.BEGIN, *(name for name in names if name in present)]
                for batch in file.iter_batches(batch_size=ROWS, columns=wanted):
                    table = pa.Table.from_batches([batch])
                    is_old = pc.is_in(table[Private.BEGIN], value_set=replaced)
                    yield table.filter(pc.invert(is_old)).drop_columns([Private.BEGIN])
        except ValueError as error:
            path = parts.folder / FOLDER / segment.name
            raise StoreError(f"{path}: {error}; remove it, and repeat the command") from None
    if rest.num_rows or not parts.segments:
        yield rest.select([name for name in names if name in rest.column_names])


@dataclass(frozen=True, slots=True)
class RunParts:
    """The table of a run: one row per trial."""

    folder: Path
    plan: Plan
    segments: tuple[Segment, ...]
    """Segments whose rows belong to the table, except for those that are ``replaced``."""
    replaced: frozenset[int]
    """Positions in the journal of the records that later ones replaced."""
    rows: Sequence[Mapping[str, Any]]
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
    if chain.segments:
        with disk_errors(folder / JOURNAL, "read the journal"):
            size_bytes = os.lstat(folder / JOURNAL).st_size
        replaced = frozenset(begin for segment in chain.segments for begin in segment.replaced)
        trials = sum(segment.rows for segment in chain.segments) - len(replaced)
        is_damaged = chain.remarks or any(segment.damages for segment in chain.segments)
        # The segments, undamaged, may cover the whole journal and all planned trials.
        covered = (chain.end_bytes, sum(map(plan.most_of, plan.cells)))
        if covered == (size_bytes, trials) and not is_damaged:
            return RunParts(folder, plan, chain.segments, replaced, [], ())
        gathered = gather(folder, plan, RUN_CHECK)
        if gathered.index is not None and isinstance(gathered.latest, LatestRecords):
            return _with_rest(folder, plan, gathered, gathered.latest)
    stored = read_checked(folder)
    remarks = tuple(f"{folder}: journal, {place}" for place in stored.damage)
    return RunParts(folder, stored.plan, (), frozenset(), rows_of(stored), remarks)


def _with_rest(folder: Path, plan: Plan, gathered: Gathered, latest: LatestRecords) -> RunParts:
    index = latest.index
    replaced = {index.last_bytes(trial) for trial in latest.added}
    replaced |= {begin for segment in index.chain.segments for begin in segment.replaced}
    rows = []  # of the trials that no segment has
    for cell in plan.cells:
        for trial in range(1, progress_in(plan, cell, latest).trials + 1):
            record = latest.added.get((cell.key, trial))
            if record is not None or (cell.key, trial) not in latest:
                rows.append(row_of(cell, trial, record))
    old = frozenset(begin for begin in replaced if begin >= 0)
    remarks = tuple(f"{folder}: journal, {place}" for place in gathered.damage)
    return RunParts(folder, plan, index.chain.segments, old, rows, remarks)


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
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = parts_of(folder)
    names = dict.fromkeys(name for test in tests_in(parts) for name in figure_columns(test))
    tables = tables_of(parts, rest_of(parts), ["cell", "status", "started_at", *names])
    table = pa.concat_tables(tables, promote_options="permissive").combine_chunks()
    statuses: dict[str, dict[Status, int]] = {}
    for row in table.group_by(["cell", "status"]).aggregate([([], "count_all")]).to_pylist():
        statuses.setdefault(row["cell"], {})[Status(row["status"])] = row["count_all"]
    times = pc.min_max(table["started_at"]).as_py()
    return LargeRun(
        folder=folder,
        plan=parts.plan,
        statuses=statuses,
        figures={
            name: figures
            for name in names
            if name in table.column_names and (figures := _figures(table, name))
        },
        began_at=times["min"] or "",
        ended_at=times["max"] or "",
        remarks=parts.remarks,
    )


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


def parquet_export(folder: Path, *, core: bool = False) -> Callable[[IO[bytes]], None]:
    """A function that writes the table of a run folder into a file as Parquet: the columns of
    ``frame``, with unit and meaning of each as metadata.

    ``core``: only the columns of ``quantities.core_names`` that have a value. The rows are in the
    plan's order; those of a run with segments are in the order in which they were measured.

    Raises UsageError for a folder that is not a run folder, and without pyarrow.
    """
    try:
        import pyarrow as pa
    except ModuleNotFoundError:
        raise UsageError(
            "parquet needs pyarrow; install it with: pip install 'netlab-matrix[parquet]'"
        ) from None
    parts = parts_of(folder)
    rest = rest_of(parts)
    types = _types(parts, rest)

    def has_values(name: str) -> bool:
        tables = tables_of(parts, rest, [name])
        columns = (table[name] for table in tables if name in table.column_names)
        return any(column.null_count < len(column) for column in columns)

    own = core_names(parts.plan.cells) if core else types
    names = [name for name in own if not core or (name in types and has_values(name))]
    schema = pa.schema(
        [
            pa.field(name, types[name], metadata={"unit": column.unit, "meaning": column.meaning})
            for name, column in zip(names, map(describe, names), strict=True)
        ]
    )

    def write(file: IO[bytes]) -> None:
        import pyarrow.parquet as pq

        with pq.ParquetWriter(file, schema, compression="zstd") as writer:
            for table in tables_of(parts, rest, schema.names):
                arrays = [
                    table[field.name].cast(field.type)
                    if field.name in table.column_names
                    else pa.nulls(table.num_rows, field.type)
                    for field in schema
                ]
                writer.write_table(pa.table(arrays, schema=schema), row_group_size=ROWS)

    return write


_WIDTHS = ("bool", "int64", "double", "string")
"""Types of columns, the narrowest first."""


def _types(parts: RunParts, rest: pa.Table) -> Mapping[str, pa.DataType]:
    """Name → the type of each column: the widest of those in the parts."""
    types: dict[str, pa.DataType] = {}
    schemas = [rest.schema]
    for segment in parts.segments:
        with parquet_file(parts.folder, segment.name) as file:
            schemas.append(file.schema_arrow)
    for field in (field for schema in schemas for field in schema if field.name not in PRIVATE):
        known = types.get(field.name, field.type)
        types[field.name] = max(known, field.type, key=lambda kind: _WIDTHS.index(str(kind)))
    always = columns_of(tests_in(parts))
    return {name: types[name] for name in [*always, *sorted(types.keys() - always.keys())]}
