"""Run folder → DataFrame: tidy, one row a trial; columns.py says what each column holds.

A trial that is not there yet is a row as well. A failure is a row with a reason and NA.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from netlab.experiment.records import Record, Status, Value
from netlab.results.column import Dtype
from netlab.results.columns import PERCENTILES, columns_of, describe, is_documented
from netlab.stats.histogram import from_pairs
from netlab.store.plan import PlannedCell
from netlab.store.reader import StoredRun


def frame_of(stored: StoredRun) -> pd.DataFrame:
    """One row a trial, in the plan's order; trials still to be measured as far as they are known.

    The columns: ``netlab.results.columns``.
    """
    return make_frame(
        (_row(cell, trial, record) for cell, trial, record in stored.trials()),
        tests=dict.fromkeys(cell.test for cell in stored.plan.cells),
    )


def _row(cell: PlannedCell, trial: int, record: Record | None) -> dict[str, Any]:
    """One row; what is absent is left out. Values never overwrite what names the trial."""
    row: dict[str, Any] = {
        "cell": cell.key,
        "trial": trial,
        "pairing": cell.pairing,
        "test": cell.test,
    }
    if record is None:
        return {
            **cell.settings,
            **row,
            "status": str(Status.PENDING),
            "reason": "not-measured-yet",
        }
    row |= {
        "attempt": record.attempt,
        "status": str(record.status),
        "reason": record.reason,
        "errno": record.errno,
        "detail": record.detail,
        "server": record.server or None,
        "client": record.client or None,
        "started_at": record.started_at or None,
    }
    elapsed = record.values.get("elapsed_ns")
    if isinstance(elapsed, int):
        row["elapsed_s"] = elapsed / 1e9
    return {
        **percentiles(record.values),
        **record.values,
        **cell.settings,
        **record.settings,
        **row,
    }


def percentiles(values: Mapping[str, Value]) -> dict[str, int]:
    """The percentiles of every ``…_histogram`` among a record's values: ``rtt_p99_ns`` and so on.

    One that so few values cannot tell is left out; so are all of a histogram that is damaged.
    """
    found: dict[str, int] = {}
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
                found[f"{stem}_{word}_ns"] = value
    return found


def make_frame(rows: Iterable[Mapping[str, Any]], *, tests: Iterable[str] = ()) -> pd.DataFrame:
    """A frame out of rows in which absent keys are NA, with all columns of these kinds of test."""
    kept = list(rows)
    always = columns_of(tests)
    extra = sorted({name for row in kept for name in row} - always.keys())
    return pd.DataFrame(
        {name: _series([row.get(name) for row in kept], name) for name in [*always, *extra]}
    )


def _series(values: list[Any], name: str) -> pd.Series[Any]:
    """A column of the documented dtype, or of the next wider one that changes no value."""
    known = [value for value in values if value is not None]
    kinds = set(map(type, known))
    wanted = describe(name).dtype
    free = wanted == "string" and not is_documented(name)
    start = 0 if free else _NARROW_FIRST.index(wanted)
    dtype = next(each for each in _NARROW_FIRST[start:] if _fit(known, kinds, each))
    held = [_text(value) for value in values] if dtype == "string" else values
    return pd.Series(held, dtype=dtype, name=name)


_NARROW_FIRST: tuple[Dtype, ...] = ("boolean", "Int64", "Float64", "string")


def _fit(values: list[Any], kinds: set[type], dtype: Dtype) -> bool:
    """Whether a column of that dtype holds the values, which are of these types, unchanged."""
    if dtype == "string" or not values:
        return True
    if dtype == "boolean":
        return kinds == {bool}
    if dtype == "Int64":
        return kinds == {int} and min(values) >= -(2**63) and max(values) < 2**63
    if not kinds <= {int, float}:
        return False
    whole = [value for value in values if type(value) is int] if int in kinds else []
    exact = all(abs(value) <= 2**53 for value in whole)
    return exact and all(map(math.isfinite, values))


def _text(value: Any) -> Any:
    """A value as a column of words holds it; series and numbers among words become JSON text."""
    if value is None:
        return pd.NA
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    if text.isascii():
        return text
    # Half a surrogate pair is no text that a file could hold.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
