"""Run folder → rows: one per trial, as plain values of the types that columns.py documents."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from netlab.kinds.round_trip.settings import PERCENTILES
from netlab.results.columns import describe, is_documented
from netlab.store.plan import PlannedCell
from netlab.store.reader import StoredRun
from netlab.trial.column import Dtype
from netlab.trial.record import Record, Status, histogram_of


def rows_of(stored: StoredRun) -> list[dict[str, Any]]:
    """One row per trial, in the plan's order; pending trials as far as their number is known."""
    return [row_of(*trial) for trial in stored.trials()]


def column_of(values: list[Any], name: str) -> tuple[Dtype, list[Any]]:
    """The dtype of a column and its values in this dtype; ``None``: absent.

    The dtype is the documented one, or the next wider one that changes no value.
    """
    entries = [value for value in values if value is not None]
    kinds = set(map(type, entries))
    column_dtype = describe(name).dtype
    free = column_dtype == "string" and not is_documented(name)
    start = 0 if free else _NARROW_FIRST.index(column_dtype)
    dtype = next(
        candidate for candidate in _NARROW_FIRST[start:] if _fit(entries, kinds, candidate)
    )
    if dtype == "string":
        return dtype, list(map(text_of, values))
    if dtype == "Float64" and int in kinds:
        return dtype, [None if value is None else float(value) for value in values]
    return dtype, values


def row_of(cell: PlannedCell, trial: int, record: Record | None) -> dict[str, Any]:
    """One row: what was measured, requested and named, the percentiles of every ``…_histogram``
    (such as ``rtt_p99_ns``), and the CPU time of a stream for its payload. Measured values never
    overwrite the settings or names of the trial.

    Absent values are left out. The names are documented in ``netlab.results.columns``. A percentile
    is absent if there are too few values for it, or if the histogram is damaged.
    """
    names = {"cell": cell.key, "trial": trial, "pairing": cell.pairing, "test": cell.test}
    row: dict[str, Any]
    if record is None:
        status = str(Status.PENDING)
        row = {**cell.settings, **names, "status": status, "reason": "not-measured-yet"}
    else:
        row = {**record.values, **cell.settings, **record.settings, **names} | {
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
    derived: dict[str, float] = {} if record is None else dict(cpu_s_per_gbit(record))
    for name in names_ending(tuple(row), "_histogram"):
        histogram = histogram_of(row[name], row.get(f"{name}_bits"))
        if histogram is not None:
            found = zip(PERCENTILES, histogram.percentiles([*PERCENTILES.values()]), strict=True)
            stem = name.removesuffix("_histogram")
            derived |= {f"{stem}_{word}_ns": ns for word, ns in found if ns is not None}
    return {**derived, **row}


def cpu_s_per_gbit(record: Record) -> Iterator[tuple[str, float]]:
    """CPU seconds per 10^9 bits of payload at each end of a stream; see ``columns.COLUMNS``."""
    # A probe reports the CPU time of its process, which both ends share on one host.
    if record.test == "stream" and record.server != record.client:
        for end, carried in (("sender", "sent_bytes"), ("receiver", "received_bytes")):
            names = (f"{end}_{name}" for name in ("user_ns", "system_ns", carried))
            user_ns, system_ns, payload_bytes = map(record.number, names)
            if user_ns is not None and system_ns is not None and payload_bytes:
                # Nanoseconds per bit are seconds per 10^9 bits.
                yield f"{end}_cpu_s_per_gbit", (user_ns + system_ns) / (8 * payload_bytes)


@lru_cache(maxsize=512)
def names_ending(names: tuple[str, ...], ending: str) -> tuple[str, ...]:
    """Those of the names that end so: most rows of a run have the same names."""
    return tuple(name for name in names if name.endswith(ending))


_NARROW_FIRST: tuple[Dtype, ...] = ("boolean", "Int64", "Float64", "string")


def _fit(values: list[Any], kinds: set[type], dtype: Dtype) -> bool:
    """Whether a column of this dtype can hold the values unchanged; ``kinds``: their types."""
    if dtype == "string" or not values:
        return True
    if dtype == "boolean":
        return kinds == {bool}
    if dtype == "Int64":
        return kinds == {int} and min(values) >= -(2**63) and max(values) < 2**63
    if not kinds <= {int, float}:
        return False
    integers = [value for value in values if type(value) is int] if int in kinds else []
    exact = all(abs(value) <= 2**53 for value in integers)
    return exact and all(map(math.isfinite, values))


def text_of(value: Any) -> Any:
    """A value in a column of strings; series and numbers become JSON text."""
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    if text.isascii():
        return text
    # Half a surrogate pair cannot be encoded in a file.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
