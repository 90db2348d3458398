"""Rows of a run's table as Arrow columns, with the types of the table. Needs pyarrow."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from netlab.results.column import Dtype
from netlab.results.rows import column_of, text_of

if TYPE_CHECKING:
    import pyarrow as pa


class Columns:
    """Rows that are collected column by column, which takes less memory than row by row."""

    def __init__(self) -> None:
        self.rows = 0
        self._columns: dict[str, list[Any]] = {}

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row; absent names are NULL."""
        columns = self._columns
        for name, value in row.items():
            column = columns.get(name)
            if column is None:
                column = columns[name] = [None] * self.rows
            # A series becomes text now, because its numbers take more memory.
            column.append(text_of(value) if type(value) is list else value)
        self.rows += 1
        if len(row) < len(columns):
            for column in columns.values():
                if len(column) < self.rows:
                    column.append(None)

    def table(self, always: Collection[str], own: Mapping[str, Dtype]) -> pa.Table:
        """The rows as a table: the columns ``always``, the others, sorted by name, and ``own``.

        ``own``: columns that the run's table does not have, and their types.
        """
        import pyarrow as pa

        extra = sorted(self._columns.keys() - {*always, *own})
        nothing = [None] * self.rows
        arrays = {}
        for name in (*always, *extra):
            dtype, values = column_of(self._columns.get(name, nothing), name)
            arrays[name] = pa.array(values, arrow_type(dtype))
        for name, dtype in own.items():
            arrays[name] = pa.array(self._columns.get(name, nothing), arrow_type(dtype))
        return pa.table(arrays)


def arrow_type(dtype: Dtype) -> pa.DataType:
    """The type of a column in Arrow."""
    import pyarrow as pa

    types = {
        "boolean": pa.bool_(),
        "Int64": pa.int64(),
        "Float64": pa.float64(),
        "string": pa.string(),
    }
    return types[dtype]
