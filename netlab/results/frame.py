"""Run folder → tidy DataFrame with one row per trial; columns.py documents the columns.

A trial is one measurement between two hosts with given settings. A pending trial (not measured yet)
is a row as well. A failed trial is a row with a reason, and NA for its result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from netlab.results.columns import columns_of
from netlab.results.rows import column_of, percentiles, rows_of
from netlab.store.reader import StoredRun


def frame_of(stored: StoredRun) -> pd.DataFrame:
    """One row per trial, in the plan's order.

    Pending trials are included as far as their number is known. The columns are documented
    in ``netlab.results.columns``.
    """
    return make_frame(
        ({**percentiles(row), **row} for row in rows_of(stored)),
        tests=dict.fromkeys(cell.test for cell in stored.plan.cells),
    )


def make_frame(rows: Iterable[Mapping[str, Any]], *, tests: Iterable[str] = ()) -> pd.DataFrame:
    """A frame from rows, with all columns of the kinds of test ``tests``; absent keys become NA."""
    row_list = list(rows)
    always = columns_of(tests)
    extra = sorted({name for row in row_list for name in row} - always.keys())
    return pd.DataFrame(
        {name: _series([row.get(name) for row in row_list], name) for name in [*always, *extra]}
    )


def _series(values: list[Any], name: str) -> pd.Series[Any]:
    """A column of the documented dtype, or of the next wider dtype that changes no value."""
    dtype, fitted = column_of(values, name)
    return pd.Series(fitted, dtype=dtype, name=name)
