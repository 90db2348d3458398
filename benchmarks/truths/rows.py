"""All causes, by name."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.truths import rows_hosts, rows_paths, rows_runs, rows_streams, rows_trips
from benchmarks.truths.causes import Cause

CAUSES: Mapping[str, Cause] = {
    cause.name: cause
    for rows in (rows_hosts, rows_paths, rows_runs, rows_streams, rows_trips)
    for cause in rows.ROWS
}
