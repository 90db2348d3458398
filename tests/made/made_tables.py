"""The recorded table of the lab report, and small ones made up, for tests of importing."""

from __future__ import annotations

from pathlib import Path

from folders import ROOT

from netlab.imports.table import COLUMNS

TABLE = ROOT / "reports" / "lab-report" / "lab-report.csv"
HEADER = ",".join(COLUMNS)
NOW = "2026-01-31T12:00:00.000000Z"


def small_table(path: Path, *rows: str) -> Path:
    path.write_text("\n".join([HEADER, *rows]) + "\n", encoding="utf-8")
    return path
