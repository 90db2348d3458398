"""A run against the last segment of a history: it belongs to the segment, or it is worse. No I/O.

A cell is one combination of test, pairing (server and client) and settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from netlab.compare.check_verdict import WORST_FIRST, CheckVerdict
from netlab.compare.history.history import CellHistory, History
from netlab.compare.history.read_runs import DatedRun
from netlab.messages import _, joined
from netlab.results.labels import figure
from netlab.results.quantities import STACK
from netlab.stats.breaks import LEAST_RUNS, ChangePoint, Expected


@dataclass(frozen=True, slots=True)
class HeldRun:
    """A run, and the histories of its cells over earlier runs."""

    path: Path
    """The folder of the history, as the user named it."""
    run: DatedRun
    history: History

    @property
    def remarks(self) -> tuple[str, ...]:
        """Change points in the last runs of the history, then the remarks about its runs."""
        points = [
            _recent_words(history, point, self.history)
            for history in self.history.cells
            if (point := history.recent) is not None
        ]
        return (*points, *self.history.remarks)

    def judged(self, cell: str, worse_by: float) -> tuple[CheckVerdict, str]:
        """Whether a cell of the run is no worse than the last segment of its history.

        It is worse if a figure is outside of the range that the segment lets expect, and worse than
        the segment's level by more than ``worse_by`` (a share). All figures of the run are judged
        together.
        """
        histories = [history for history in self.history.cells if history.quantity is not STACK]
        own = [history for history in histories if history.cell == cell]
        figures = self._figures()
        verdicts = [
            _judge(history, figures.get((cell, history.quantity.name)), len(histories), worse_by)
            for history in own
        ]
        for verdict in WORST_FIRST:
            sentences = [words for own_verdict, words in verdicts if own_verdict == verdict]
            if sentences:
                return verdict, joined("; ", sentences)
        return "cannot be judged", _("it has no figure to compare")

    def _figures(self) -> Mapping[tuple[str, str], float]:
        return {
            (self.run.cells[identity].cell, name): value
            for (identity, name), value in self.run.medians.items()
        }


def _judge(
    history: CellHistory, value: float | None, judged: int, worse_by: float
) -> tuple[CheckVerdict, str]:
    quantity = history.quantity
    if value is None:
        return "cannot be judged", _("{quantity}: the run has no figure", quantity=quantity.name)
    expected = history.course.expected(judged)
    if expected is None:
        return "cannot be judged", _(
            "{quantity}: fewer than {least} runs since the last change",
            quantity=quantity.name,
            least=LEAST_RUNS,
        )
    change = value / expected.level - 1
    words = _words(history, value, expected)
    if quantity.more_is_worse:
        is_worse = value > expected.high and change > worse_by
    else:
        is_worse = value < expected.low and -change > worse_by
    return ("not met" if is_worse else "met"), words


def _words(history: CellHistory, value: float, expected: Expected) -> str:
    return _(
        "{quantity} {value} {unit}, {change} % ({low} to {high} {unit} expected by {runs} runs)",
        quantity=history.quantity.name,
        value=figure(value),
        unit=history.quantity.unit,
        change=signed_percent(value / expected.level - 1),
        low=figure(expected.low),
        high=figure(expected.high),
        runs=expected.runs,
    )


def _recent_words(history: CellHistory, point: ChangePoint, whole: History) -> str:
    run = whole.runs[point.index]
    return _(
        "The history of {cell} changed recently: {quantity} {change} % since {run} ({day}).",
        cell=history.label,
        quantity=history.quantity.name,
        change=signed_percent(point.change_share),
        run=run.name,
        day=run.started_at.date(),
    )


def signed_percent(share: float) -> str:
    """A change in per cent, such as ``−2.04`` or ``+12.5``, without the sign of per cent."""
    decimals = 1 if abs(share) >= 0.1 else 2
    return f"{100 * share:+.{decimals}f}".replace("-", "−")
