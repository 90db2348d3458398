"""Export of a run's table as Parquet, in row groups, so that a large run needs little memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

from netlab.errors import UsageError
from netlab.results.arrow.part_tables import ROWS, rest_of, tables_of, tests_in
from netlab.results.arrow.run_parts import RunParts, parts_of
from netlab.results.columns import columns_of, describe
from netlab.results.core import CORE
from netlab.store.segments import PRIVATE, parquet_file

if TYPE_CHECKING:
    import pyarrow as pa


def parquet_export(folder: Path, *, core: bool = False) -> Callable[[IO[bytes]], None]:
    """A function that writes the table of a run folder into a file as Parquet: the columns of
    ``frame``, with unit and meaning of each as metadata.

    ``core``: only the columns of ``netlab.results.core.CORE`` that the run has. The rows are in the
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
    names = [*types]
    if core:
        names = [name for name in CORE if name in types and _has_values(parts, rest, name)]
    schema = pa.schema([pa.field(name, types[name], metadata=_metadata(name)) for name in names])
    return partial(_write, parts, rest, schema)


def _write(parts: RunParts, rest: pa.Table, schema: pa.Schema, file: IO[bytes]) -> None:
    import pyarrow as pa
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


def _types(parts: RunParts, rest: pa.Table) -> Mapping[str, pa.DataType]:
    """Name → the type of each column: the widest of those in the parts."""
    types: dict[str, pa.DataType] = {}
    schemas = [rest.schema]
    for segment in parts.segments:
        with parquet_file(parts.folder, segment.name) as file:
            schemas.append(file.schema_arrow)
    for field in (field for schema in schemas for field in schema if field.name not in PRIVATE):
        known = types.get(field.name, field.type)
        types[field.name] = max(known, field.type, key=_width)
    always = columns_of(tests_in(parts))
    return {name: types[name] for name in [*always, *sorted(types.keys() - always.keys())]}


def _width(kind: pa.DataType) -> int:
    return ("bool", "int64", "double", "string").index(str(kind))


def _has_values(parts: RunParts, rest: pa.Table, name: str) -> bool:
    tables = tables_of(parts, rest, [name])
    return any(
        name in table.column_names and table[name].null_count < table.num_rows for table in tables
    )


def _metadata(name: str) -> dict[str, str]:
    column = describe(name)
    return {"unit": column.unit, "meaning": column.meaning}
