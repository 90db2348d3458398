"""The findings of a run as English sentences, for programs: plain data, JSON, and checks.

A finding is a statement about a run that is computed from its records (stored results of trials).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from netlab.compare.check import FindingSentence, FindingSentences
from netlab.findings.finding import Finding
from netlab.findings.kinds.catalogue import expect_words, words_of
from netlab.report.text.findings import sentence
from netlab.report.text.run_index import RunIndex

if TYPE_CHECKING:
    from netlab.findings.analysis import Analysis
    from netlab.results.run import Run


def in_english(run: Run) -> Callable[[Finding], str]:
    """A function that turns a finding of this run into one English sentence."""
    index = RunIndex(run)
    return lambda finding: str(sentence(finding, index))


def finding_sentences(run: Run) -> FindingSentences:
    """All findings of a run, for ``netlab check``."""
    from netlab.findings.analysis import Analysis

    in_words = in_english(run)
    findings = run.findings if isinstance(run, Analysis) else Analysis(run.stored).findings
    return FindingSentences(
        expect_words(),
        [
            FindingSentence(
                str(finding.kind),
                finding.severity,
                finding.cells,
                in_words(finding),
                words_of(finding.kind),
            )
            for finding in findings
        ],
    )


def findings_json(run: Analysis) -> bytes:
    """An array with one object for each finding, warnings first.

    ``evidence`` maps names, which include the units, to numbers. A property that a finding does not
    depend on is absent from ``about``. The text is ASCII and ends with a line feed.
    """
    in_words = in_english(run)
    lines = (json.dumps(_plain(finding, in_words), allow_nan=False) for finding in run.findings)
    text = ",\n".join(lines)
    return (f"[\n{text}\n]\n" if text else "[]\n").encode("ascii")


def _plain(finding: Finding, in_words: Callable[[Finding], str]) -> Mapping[str, Any]:
    return {
        "kind": finding.kind.name,
        **({"value": finding.value} if finding.value else {}),
        "severity": finding.severity,
        "about": _about(finding),
        "cells": [*finding.cells],
        "trials": [{"cell": cell, "trial": trial} for cell, trial in finding.trials],
        "evidence": {name: n for name, n in finding.evidence.items() if math.isfinite(n)},
        "words": {name: str(text) for name, text in finding.words.items()},
        "sentence": in_words(finding),
        "advice": str(finding.advice),
    }


def _about(finding: Finding) -> Mapping[str, Any]:
    """The group of cells that the finding is about: only the properties that define the group."""
    group = finding.group
    properties = {
        "host": group.host or None,
        "pairing": group.pairing or None,
        "protocol": group.protocol or None,
        "message_bytes": group.message_bytes,
        "flow": group.flow or None,
    }
    bound = {name: value for name, value in properties.items() if value is not None}
    return {**bound, **({"settings": dict(group.conditions)} if group.conditions else {})}
