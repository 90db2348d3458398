"""Run folder → rows: one a trial, as plain values of the types that columns.py says.

A trial that is not there yet is a row as well. A failure is a row with a reason and ``None``.
"""

from __future__ import annotations

import json
import math
from typing import Any

from netlab.experiment.records import Record, Status
from netlab.results.column import Dtype
from netlab.results.columns import describe, is_documented
from netlab.store.plan import PlannedCell
from netlab.store.reader import StoredRun


def rows_of(stored: StoredRun) -> list[dict[str, Any]]:
    """One row a trial, in the plan's order; trials still to be measured as far as they are known.

    What is absent is left out. The names: ``netlab.results.columns``.
    """
    return [_row(cell, trial, record) for cell, trial, record in stored.trials()]


def column_of(values: list[Any], name: str) -> tuple[Dtype, list[Any]]:
    """A column's type and its values as one of that type: the documented one, or the next wider
    that changes no value. ``None`` is absent.
    """
    known = [value for value in values if value is not None]
    kinds = set(map(type, known))
    wanted = describe(name).dtype
    free = wanted == "string" and not is_documented(name)
    start = 0 if free else _NARROW_FIRST.index(wanted)
    dtype = next(each for each in _NARROW_FIRST[start:] if _fit(known, kinds, each))
    if dtype == "string":
        return dtype, list(map(_text, values))
    if dtype == "Float64" and int in kinds:
        return dtype, [None if value is None else float(value) for value in values]
    return dtype, values


def _row(cell: PlannedCell, trial: int, record: Record | None) -> dict[str, Any]:
    """One row. Values never overwrite what names the trial."""
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
        **record.values,
        **cell.settings,
        **record.settings,
        **row,
    }


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
        return None
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    if text.isascii():
        return text
    # Half a surrogate pair is no text that a file could hold.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
