"""Findings → what the page says in each cell, with the figures that each rests on. Pure."""

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
    """One finding as a cell shows it."""

    sentence: str
    kind: Kind | None = None
    advice: str = ""
    evidence: Mapping[str, float] = field(default_factory=dict)
    """Units in the names, as in a record."""
    trials: tuple[int, ...] = ()
    """Those of the cell in which it was seen; empty: it is not about single trials."""

    @property
    def is_warning(self) -> bool:
        """Whether its kind says that a figure is not to be believed as it stands."""
        return self.kind is not None and self.kind.severity == "warning"


def findings_by_cell(run: Analysis) -> dict[str, tuple[CellFinding, ...]]:
    """Key of a cell → its findings, warnings first, as the run has them."""
    index = RunIndex(run)
    found: dict[str, list[CellFinding]] = {}
    for each in run.findings:
        words = sentence(each, index)
        for cell in each.cells:
            found.setdefault(cell, []).append(_of_cell(each, cell, words))
    return {cell: tuple(its) for cell, its in found.items()}


def _of_cell(finding: Finding, cell: str, words: Message) -> CellFinding:
    return CellFinding(
        sentence=words,
        kind=finding.kind,
        advice=_("{statement}.", statement=sentence_case(finding.advice)),
        evidence=finding.evidence,
        trials=tuple(trial for key, trial in finding.trials if key == cell),
    )
