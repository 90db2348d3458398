"""Findings → the findings that the page shows for each cell, with their evidence. No I/O.

A cell is one combination of test, pairing (server and client) and settings; a trial is one
measurement of a cell. A finding is a statement about a run that is computed from its records (the
stored results of trials).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from netlab.findings.finding import Finding, Kind
from netlab.messages import Message, _, sentence_case
from netlab.report.text.findings import sentence
from netlab.report.text.run_index import RunIndex

if TYPE_CHECKING:
    from netlab.findings.analysis import Analysis


@dataclass(frozen=True, slots=True)
class CellFinding:
    """One finding as the page shows it among the details of a cell."""

    sentence: str
    kind: Kind | None = None
    advice: str = ""
    evidence: Mapping[str, float] = field(default_factory=dict)
    """Name → value; the name includes the unit, as in a record."""
    trials: tuple[int, ...] = ()
    """The trials of the cell that show the finding; empty if the finding is not about single
    trials."""

    @property
    def is_warning(self) -> bool:
        """Whether the kind of finding means that a figure should not be trusted without a check."""
        return self.kind is not None and self.kind.severity == "warning"


def findings_by_cell(run: Analysis) -> dict[str, tuple[CellFinding, ...]]:
    """Key of a cell → its findings, in the run's order: warnings first."""
    index = RunIndex(run)
    by_cell: dict[str, list[CellFinding]] = {}
    for finding in run.findings:
        words = sentence(finding, index)
        for cell in finding.cells:
            by_cell.setdefault(cell, []).append(_of_cell(finding, cell, words))
    return {cell: tuple(findings) for cell, findings in by_cell.items()}


def _of_cell(finding: Finding, cell: str, words: Message) -> CellFinding:
    return CellFinding(
        sentence=words,
        kind=finding.kind,
        advice=_("{statement}.", statement=sentence_case(finding.advice)),
        evidence=finding.evidence,
        trials=tuple(trial for key, trial in finding.trials if key == cell),
    )
