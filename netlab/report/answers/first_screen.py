"""A run → the lines at the top of the page: answers, comparisons, warnings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netlab.experiment.hosts import is_by_name
from netlab.report.answers import results, streams
from netlab.report.sections.comparisons import judged_of
from netlab.report.tables.elements import AnswerLine
from netlab.report.text import summary

if TYPE_CHECKING:
    from netlab.compare.align import Judged
    from netlab.experiment.cells import Comparison
    from netlab.findings.analysis import Analysis
    from netlab.results.layout import Layout
    from netlab.trial.record import Record

MOST_WARNINGS = 3
MOST_BESIDE = 4
"""Maximum number of comparisons and warnings together. If there are more, warnings are left out,
but the most important warning is always shown."""


@dataclass(frozen=True, slots=True)
class FirstLines:
    """The lines at the top of the page."""

    answers: tuple[AnswerLine, ...]
    comparisons: tuple[AnswerLine, ...]
    warnings: tuple[AnswerLine, ...]
    judged: tuple[tuple[Comparison, tuple[Judged, ...]], ...]
    """Each comparison with the verdict about each pair of its cells."""


def first_lines(run: Analysis, records: Sequence[Record], layout: Layout) -> FirstLines:
    """The results in the order of the report's sections; no lines for an empty run.

    ``layout`` arranges the records of streams, except the streams between named hosts, in tables.
    """
    link = run.plan.link
    by_name = [record for record in records if is_by_name(record.pairing)]
    by_system = [record for record in records if not is_by_name(record.pairing)]

    def of(*tests: str) -> list[Record]:
        return [record for record in by_system if record.test in tests]

    verdicts = judged_of(run.plan.matrix_text, records)
    answers = (
        *streams.answers(layout, link),
        *results.pair_answers(by_name),
        *results.trip_answers(of("round_trip", "connect")),
        *results.load_answers(records),
        *results.payload_answers(of("payload_search"), run.findings),
        *results.search_answers(of("throughput_search")),
    )
    compared = results.comparison_answers(verdicts)
    of_comparisons = sum(bool(rows) for _comparison, rows in verdicts)
    most_warnings = min(MOST_WARNINGS, max(1, MOST_BESIDE - of_comparisons))
    return FirstLines(answers, compared, _warnings(run, most_warnings), verdicts)


def _warnings(run: Analysis, most: int) -> tuple[AnswerLine, ...]:
    """The most important warnings; the section of findings has all warnings."""
    return tuple(
        AnswerLine(sentence, cells, summary.NAME)
        for sentence, cells in summary.leading_warnings(run)[:most]
    )
