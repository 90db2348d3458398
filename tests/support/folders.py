"""The folders of the checkout that tests read."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "fixtures"
MADE = ROOT / "tests" / "made"
SUPPORT = ROOT / "tests" / "support"
PLAYED = ROOT / "tests" / "played"
INJECTION = ROOT / "tests" / "injection"
REPORTS = ROOT / "reports"
MATRICES = ROOT / "matrices"
DOCS = ROOT / "docs"
PROBES = ROOT / "probes"
