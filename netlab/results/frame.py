"""Run folder → tidy DataFrame with one row per trial, and the table of it that people read first.

A pending trial is a row as well. A failed trial is a row with a reason, and NA for its result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import pandas as pd

from netlab.results.columns import columns_of, describe
from netlab.results.quantities import summary_columns
from netlab.results.rows import column_of
from netlab.stats import MIN_TRIALS, interval, mean
from netlab.trial.column import Dtype
from netlab.trial.record import Status


def make_frame(rows: Iterable[Mapping[str, Any]], *, tests: Iterable[str] = ()) -> pd.DataFrame:
    """A frame from rows, with all columns of the kinds of test ``tests``; absent keys become NA."""
    row_list = list(rows)
    always = columns_of(tests)
    columns = {}
    for name in [*always, *sorted({name for row in row_list for name in row} - always.keys())]:
        dtype, values = column_of([row.get(name) for row in row_list], name)
        columns[name] = pd.Series(values, dtype=dtype, name=name)
    return pd.DataFrame(columns)


Frame: TypeAlias = pd.DataFrame
"""Type of a table, for callers that do not import pandas."""

_CELL = ("cell", "pairing", "test", "protocol")
_FIGURES: Mapping[str, Dtype] = {
    **{"cell": "string", "quantity": "string", "unit": "string"},
    **{"n": "Int64", "mean": "Float64", "low": "Float64", "high": "Float64"},
}
"""The columns of a summary that the frame does not have, and the cell."""


def present(frame: pd.DataFrame, names: Iterable[str]) -> list[str]:
    """Those of the columns ``names`` that have a value in at least one row."""
    return [name for name in names if name in frame.columns and frame[name].notna().any()]


def core_of(frame: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """Those of the columns ``names`` that have a value; ``started_at`` as a time in UTC, in µs."""
    core = frame[present(frame, names)].copy()
    if "started_at" in core:
        times = pd.to_datetime(core["started_at"], utc=True, errors="coerce", format="ISO8601")
        core["started_at"] = times.dt.as_unit("us")
    return core


def summary_of(frame: pd.DataFrame, settings: Iterable[str]) -> pd.DataFrame:
    """One row per cell with a result and quantity of its test, with the columns ``settings``.

    A row has ``n`` (trials with this figure) and ``mean`` (arithmetic, over these trials), and if
    ``n`` is at least three, ``low`` and ``high``: the bounds of Student's 95 % interval. A cell
    without any figure has a row for its first quantity, with ``n`` 0.
    """
    with_result = frame["status"] == str(Status.OK)
    names = [name for name in dict.fromkeys(settings) if name in frame and name not in _FIGURES]
    cells = frame.loc[with_result, [*dict.fromkeys((*_CELL, *names))]].drop_duplicates("cell")
    quantities = {test: summary_columns(test) for test in cells["test"].unique()}
    values: dict[tuple[str, str], list[float]] = {}
    for quantity in {name for its in quantities.values() for name in its if name in frame}:
        figures = frame.loc[with_result, ["cell", quantity]].dropna()
        for cell, value in zip(*(figures[name].tolist() for name in figures), strict=True):
            values.setdefault((cell, quantity), []).append(float(value))
    rows = [
        _row(cell, quantity, values.get((cell, quantity), ()))
        for cell, test in zip(cells["cell"], cells["test"], strict=True)
        for quantity in [q for q in quantities[test] if (cell, q) in values] or quantities[test][:1]
    ]
    means = pd.DataFrame(rows, columns=[*_FIGURES]).astype(dict(_FIGURES))
    return cells.merge(means, how="left", on="cell")


def _row(cell: str, quantity: str, values: Sequence[float]) -> tuple[Any, ...]:
    """The row of a quantity, in the order of ``_FIGURES``."""
    named = cell, quantity, describe(quantity).unit, len(values)
    if len(values) >= MIN_TRIALS:
        bounds = interval(values)
        return *named, bounds.mean, bounds.low, bounds.high
    return *named, mean(values) if values else None, None, None
