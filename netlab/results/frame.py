"""Run folder → tidy DataFrame with one row per trial; columns.py documents the columns.

A trial is one measurement between two hosts with given settings. A pending trial (not measured yet)
is a row as well. A failed trial is a row with a reason, and NA for its result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from netlab.experiment.records import Value
from netlab.results.columns import PERCENTILES, columns_of
from netlab.results.rows import column_of, rows_of
from netlab.stats.histogram import from_pairs
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


def percentiles(values: Mapping[str, Value]) -> dict[str, int]:
    """The percentiles of every ``…_histogram`` among a trial's values, such as ``rtt_p99_ns``.

    A percentile is absent if there are too few values for it, or if the histogram is damaged.
    """
    by_column: dict[str, int] = {}
    for name, pairs in values.items():
        if not name.endswith("_histogram"):
            continue
        bits = values.get(f"{name}_bits")
        if not isinstance(pairs, list) or type(bits) is not int:
            continue
        try:
            histogram = from_pairs([*map(int, pairs)], bits)
        except ValueError:
            continue
        stem = name.removesuffix("_histogram")
        all_of_them = histogram.percentiles([*PERCENTILES.values()])
        for word, value in zip(PERCENTILES, all_of_them, strict=True):
            if value is not None:
                by_column[f"{stem}_{word}_ns"] = value
    return by_column


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
