"""Run folder → tidy DataFrame with one row per trial, and the table of it that people read first.

A pending trial is a row as well. A failed trial is a row with a reason, and NA for its result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import pandas as pd

from netlab.results.columns import CORE, columns_of, describe
from netlab.results.rows import column_of
from netlab.stats import MIN_TRIALS, interval
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

QUANTITIES = ("throughput_bit_per_s", "transactions_per_s", "rtt_mean_ns", "frames_per_s")
"""The columns whose means are in ``summary_of``."""


def core_names(frame: pd.DataFrame) -> list[str]:
    """The columns of ``CORE`` that have a value in at least one row."""
    return [name for name in CORE if name in frame.columns and frame[name].notna().any()]


def core_of(frame: pd.DataFrame) -> pd.DataFrame:
    """The core columns that the run has, with the rows of ``frame``.

    ``started_at`` is a timestamp in UTC; columns with few different words are categories.
    """
    core = frame[core_names(frame)].copy()
    if "started_at" in core:
        core["started_at"] = pd.to_datetime(core["started_at"], utc=True, errors="coerce")
    for name in ("pairing", "server", "client", "test", "protocol", "direction", "status"):
        if name in core:
            core[name] = core[name].astype("category")
    return core


def summary_of(frame: pd.DataFrame, settings: Sequence[str]) -> pd.DataFrame:
    """One row per cell and quantity, with the ``settings`` in which the cells differ.

    A row has ``n`` (trials with a result) and ``mean``, and if ``n`` is at least three, ``low`` and
    ``high``: the bounds of Student's 95 % interval.
    """
    with_result = frame[frame["status"] == str(Status.OK)]
    cells = with_result.groupby("cell", sort=False, observed=True)
    rows = [row for _, trials in cells for row in _rows(trials, settings)]
    return pd.DataFrame(rows).convert_dtypes() if rows else pd.DataFrame()


def _rows(trials: pd.DataFrame, settings: Sequence[str]) -> Iterator[dict[str, Any]]:
    of_cell = {name: trials[name].iloc[0] for name in ("pairing", "test", "protocol", *settings)}
    for quantity in QUANTITIES:
        values = [float(value) for value in trials[quantity].dropna()] if quantity in trials else []
        if values:
            bounds = interval(values) if len(values) >= MIN_TRIALS else None
            yield of_cell | {
                "quantity": quantity,
                "unit": describe(quantity).unit,
                "n": len(values),
                "mean": sum(values) / len(values),
                "low": bounds and bounds.low,
                "high": bounds and bounds.high,
            }
