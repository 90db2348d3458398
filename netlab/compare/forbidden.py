"""Check of a run against forbidden kinds of findings. No I/O.

A finding is a statement that netlab derives from a run's results. Findings are computed and worded
elsewhere, and arrive here as plain data.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from netlab.experiment.cells import Expectation
from netlab.experiment.records import Record, Status
from netlab.messages import counted

NOT_LOOKED_FOR = "the findings were not computed"


@dataclass(frozen=True, slots=True)
class FindingSentence:
    """One finding: its kind, severity, cells and sentence."""

    kind: str
    severity: str
    cells: tuple[str, ...]
    """Keys of the cells; empty if the finding is about a host or the whole run."""
    sentence: str
    other_words: Collection[str] = ()
    """Further words that mean its kind."""


@dataclass(frozen=True, slots=True)
class FindingSentences:
    """All findings of a run, and the words for all kinds that exist."""

    kinds: Collection[str]
    findings: Sequence[FindingSentence]


def held_against_findings(
    expectation: Expectation,
    cells: Mapping[str, Sequence[Record]],
    computed: FindingSentences | None,
) -> Iterator[tuple[str, bool | None, str]]:
    """Yields (key of a cell, whether the expectation is met or ``None`` if unknown, why).

    A finding about a host or the whole run has no cell, so its key is empty. Such a finding counts
    only if the expectation applies to every cell.
    """
    if computed is None:
        yield from ((cell, None, NOT_LOOKED_FOR) for cell in cells)
        return
    forbidden = [
        finding
        for finding in computed.findings
        if expectation.forbidden in (finding.kind, finding.severity, *finding.other_words)
    ]
    if not expectation.when and not expectation.unless:
        yield from (("", False, _words(finding)) for finding in forbidden if not finding.cells)
    for cell, trials in cells.items():
        sentences = [_words(finding) for finding in forbidden if cell in finding.cells]
        blank = sum(trial.status != Status.OK for trial in trials)
        if sentences:
            yield cell, False, " ".join(sentences)
        elif blank:
            yield cell, None, f"{blank} of {len(trials)} trials without a result"
        else:
            yield cell, True, counted("{number} trial", "{number} trials", len(trials))


def _words(finding: FindingSentence) -> str:
    return f"{finding.sentence} ({finding.kind})"
