"""Rows of a run's table as Arrow columns, with the types of the table. Needs pyarrow."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from netlab.results.rows import column_of, text_of
from netlab.trial.column import Dtype

if TYPE_CHECKING:
    import pyarrow as pa


class Columns:
    """Rows that are collected column by column, which takes less memory than row by row."""

    def __init__(self) -> None:
        self.rows = 0
        self._columns: dict[str, list[Any]] = {}
        self._of_names: dict[tuple[str, ...], list[list[Any]]] = {}
        """The columns of rows with these names, because many rows have the same names."""

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row; absent names are NULL."""
        names = tuple(row)
        columns = self._of_names.get(names)
        if columns is None:
            columns = [self._columns.setdefault(name, []) for name in names]
            self._of_names[names] = columns
        for column, value in zip(columns, row.values(), strict=True):
            if len(column) < self.rows:
                column.extend([None] * (self.rows - len(column)))
            # A series becomes text now, because its numbers take more memory.
            column.append(text_of(value) if type(value) is list else value)
        self.rows += 1

    def table(self, always: Collection[str], own: Mapping[str, Dtype]) -> pa.Table:
        """The rows as a table: the columns ``always``, the others, sorted by name, and ``own``.

        ``own``: columns that the run's table does not have, and their types.
        """
        import pyarrow as pa

        extra = sorted(self._columns.keys() - {*always, *own})
        for column in self._columns.values():
            column.extend([None] * (self.rows - len(column)))
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
