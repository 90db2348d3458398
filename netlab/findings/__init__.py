"""Findings: run → what may be said about it, in typed statements with their evidence. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netlab.findings.evidence import sendings
from netlab.findings.limits import limits
from netlab.findings.nouns import Finding

if TYPE_CHECKING:
    from netlab.frame import Run


def findings(run: Run) -> tuple[Finding, ...]:
    """All findings of a run, warnings first, else in the order of the rooms that make them."""
    found = (*limits(sendings(run)),)
    return tuple(sorted(found, key=lambda each: each.severity != "warning"))
