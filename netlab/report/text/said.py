"""Findings in English, one by one, for programs: as plain data, as JSON, and to be held against."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from netlab.compare.forbidden import SaidFinding, SaidFindings
from netlab.findings.finding import Finding, Kind
from netlab.report.text.findings import sentence
from netlab.report.text.run_index import RunIndex

if TYPE_CHECKING:
    from netlab.findings.analysis import Analysis
    from netlab.results.run import Run


def in_english(run: Run) -> Callable[[Finding], str]:
    """Puts each finding of a run into one sentence."""
    index = RunIndex(run)
    return lambda finding: str(sentence(finding, index))


def said_findings(run: Run) -> SaidFindings:
    """All that is found in a run."""
    from netlab.findings.analysis import Analysis

    say = in_english(run)
    found = run.findings if isinstance(run, Analysis) else Analysis(run.stored).findings
    return SaidFindings(
        [*map(str, Kind)],
        [SaidFinding(str(each.kind), each.severity, each.cells, say(each)) for each in found],
    )


def findings_json(run: Analysis) -> bytes:
    """An array of objects, one a finding, warnings first: numbers as evidence, units in their keys.

    What a finding is not bound to is absent. ASCII, ends with a line feed.
    """
    say = in_english(run)
    lines = (json.dumps(_plain(each, say), allow_nan=False) for each in run.findings)
    text = ",\n".join(lines)
    return (f"[\n{text}\n]\n" if text else "[]\n").encode("ascii")


def _plain(finding: Finding, say: Callable[[Finding], str]) -> Mapping[str, Any]:
    return {
        "kind": str(finding.kind),
        "severity": finding.severity,
        "about": _about(finding),
        "cells": [*finding.cells],
        "trials": [{"cell": cell, "trial": trial} for cell, trial in finding.trials],
        "evidence": {name: n for name, n in finding.evidence.items() if math.isfinite(n)},
        "words": {name: str(text) for name, text in finding.words.items()},
        "sentence": say(finding),
        "advice": str(finding.advice),
    }


def _about(finding: Finding) -> Mapping[str, Any]:
    """Its group, without what it is not bound to; other settings by their names."""
    group = finding.group
    known = {
        "host": group.host or None,
        "pairing": group.pairing or None,
        "protocol": group.protocol or None,
        "message_bytes": group.message_bytes,
        "flow": group.flow or None,
    }
    named = {name: value for name, value in known.items() if value is not None}
    return {**named, **({"settings": dict(group.conditions)} if group.conditions else {})}
