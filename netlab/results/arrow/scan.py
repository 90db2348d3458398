"""The tables of one or many runs as one lazy relation of DuckDB: SQL, and pandas out.

Segments are read only as far as a query needs them; the rest of each run is in memory.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netlab.errors import UsageError
from netlab.interpreter import without_collector
from netlab.results.arrow.run_parts import RUN, RunParts, parts_of, rest_of, tests_in
from netlab.results.columns import columns_of
from netlab.store.reader import is_run_folder
from netlab.store.segments import FOLDER, Private

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

_SEGMENTS = (
    "SELECT * EXCLUDE (filename, _begin_bytes, _line_bytes, _started, _stopped, _steal), "
    "left(filename, length(filename) - {below}) AS run "
    "FROM read_parquet([{paths}], union_by_name=true, filename=true)"
)
"""``below``: number of characters by which a segment's path is longer than that of its run."""
_EXCEPT_REPLACED = " ANTI JOIN replaced USING (filename, _begin_bytes)"


@dataclass(frozen=True)
class Scan:
    """The tables of runs: a row per trial, the columns of ``frame``, and ``run`` (the folder)."""

    relation: duckdb.DuckDBPyRelation
    """The whole table. It is read when a result is asked for, with its methods or in ``sql``."""
    remarks: tuple[str, ...]
    """Damage of journals, and segments that could not be used, in sentences."""

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.relation.columns)

    def sql(self, query: str) -> duckdb.DuckDBPyRelation:
        """The result of a query of the table ``runs``, lazily; ``.df()`` makes it a DataFrame.

        Raises duckdb.Error for a wrong query.
        """
        result = self.relation.query("runs", query)
        if result is None:
            raise UsageError("netlab.scan: the query has no result; it should be a SELECT")
        return result

    def frame(self) -> pd.DataFrame:
        """The whole table as a DataFrame with the data types of ``frame``."""
        import pandas as pd

        types = {
            "bool": pd.BooleanDtype(),
            "int64": pd.Int64Dtype(),
            "double": pd.Float64Dtype(),
            "string": pd.StringDtype(),
        }
        table = self.relation.to_arrow_table()
        frame: pd.DataFrame = table.to_pandas(types_mapper=lambda kind: types.get(str(kind)))
        return frame


def scan(folders: Sequence[Path]) -> Scan:
    """The tables of run folders, and of the run folders in folders, as one relation.

    Raises UsageError without duckdb and pyarrow, and for a folder without a run; StoreError for an
    unusable run.
    """
    try:
        import duckdb
        import pyarrow as pa
    except ModuleNotFoundError:
        raise UsageError(
            "netlab.scan needs duckdb and pyarrow; install them with: "
            "pip install 'netlab-matrix[scan]'"
        ) from None
    with without_collector():
        parts = [parts_of(run) for folder in folders for run in _runs_in(folder)]
    if not parts:
        raise UsageError("netlab.scan needs a run folder")
    connection = duckdb.connect()
    selects = [*_of_segments(connection, parts, pa)]
    rest = rest_of(*parts, with_run=True)
    if rest.num_rows or not selects:
        connection.register("rest", rest)
        selects.append("SELECT * FROM rest")
    both = connection.sql(" UNION ALL BY NAME ".join(selects))
    always = [RUN, *columns_of(tests_in(*parts))]
    names = [*always, *sorted(set(both.columns) - set(always))]
    relation = both.project(", ".join('"' + name.replace('"', '""') + '"' for name in names))
    return Scan(relation, tuple(remark for part in parts for remark in part.remarks))


def _runs_in(folder: Path) -> Iterator[Path]:
    """The folder itself, if it is a run folder or does not exist; else the runs in it."""
    if is_run_folder(folder) or not folder.is_dir():
        yield folder
        return
    runs = [run for run in sorted(folder.iterdir()) if is_run_folder(run)]
    if not runs:
        raise UsageError(f"{folder}: not a run folder, and no run folder is in it")
    yield from runs


def _of_segments(
    connection: duckdb.DuckDBPyConnection, parts: Sequence[RunParts], pa: Any
) -> Iterator[str]:
    """A query for the rows in segments, if there are segments."""
    files = [str(part.folder / FOLDER / s.name) for part in parts for s in part.segments]
    if not files:
        return
    # The files are in the query itself: a view of them would read their columns twice more.
    paths = [re.sub(r"([*?[])", r"[\1]", path) for path in files]  # no patterns
    quoted = ["'" + path.replace("'", "''") + "'" for path in paths]
    replaced = [place for part in parts for place in _replaced_in(part)]
    # All names of segments have the same length.
    name = next(segment.name for part in parts for segment in part.segments)
    query = _SEGMENTS.format(below=len(f"/{FOLDER}/{name}"), paths=", ".join(quoted))
    if replaced:
        connection.register(
            "replaced",
            pa.table(
                {
                    "filename": [path for path, _ in replaced],
                    Private.BEGIN: [begin for _, begin in replaced],
                }
            ),
        )
        query += _EXCEPT_REPLACED
    yield query


def _replaced_in(part: RunParts) -> Iterator[tuple[str, int]]:
    """The file and the position of each record in a segment that a later record replaced."""
    begins = [segment.begin_bytes for segment in part.segments]
    paths = [str(part.folder / FOLDER / segment.name) for segment in part.segments]
    for begin in part.replaced:
        place = bisect_right(begins, begin) - 1
        if place >= 0 and begin < part.segments[place].end_bytes:
            yield paths[place], begin
