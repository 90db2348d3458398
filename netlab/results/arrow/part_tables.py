"""Columns of a run's table, part by part: from its segments, and from the rest in memory. Needs
pyarrow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from netlab.errors import StoreError
from netlab.results.arrow.arrow_columns import Columns
from netlab.results.arrow.run_parts import RunParts
from netlab.results.columns import columns_of
from netlab.store.segments import FOLDER, Private, parquet_file

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
