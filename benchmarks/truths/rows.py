"""All causes, by name."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.truths import rows_hosts, rows_paths, rows_runs
from benchmarks.truths.causes import Cause

CAUSES: Mapping[str, Cause] = {
    cause.name: cause for cause in (*rows_hosts.ROWS, *rows_paths.ROWS, *rows_runs.ROWS)
}
