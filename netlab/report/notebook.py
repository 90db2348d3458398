"""A run in a notebook: its summary, its tables and its charts."""

from __future__ import annotations

from functools import cached_property
from html import escape
from typing import TYPE_CHECKING

from netlab.findings.analysis import Analysis
from netlab.report import Report
from netlab.results.layout import axis_names
from netlab.results.quantities import core_names
from netlab.results.tcp_series import frame_of_series

if TYPE_CHECKING:
    from netlab.report.answer import RunAnswer
    from netlab.report.draw.plot import Drawn
    from netlab.results.frame import Frame

_WIDTH = 80
"""Columns of the text of a run."""
MOST_ROWS = 40
"""Maximum number of rows of the summary that a notebook shows."""


class LoadedRun(Analysis):
    """A run folder with its findings, as ``netlab.load`` returns it."""

    @cached_property
    def answer(self) -> RunAnswer:
        """Verdicts, tables of few rows, and warnings, as every report begins with."""
        from netlab.report.answer import answer_of

        return answer_of(self)

    @cached_property
    def core(self) -> Frame:
        """One row per trial, with the columns of ``quantities.core_names``; see ``core_of``."""
        from netlab.results.frame import core_of  # imports pandas, which takes 0.3 s

        return core_of(self.frame, core_names(self.plan.cells))

    def summary(self) -> Frame:
        """One row per cell and quantity: axes, mean, interval; see ``results.frame.summary_of``."""
        from netlab.results.frame import summary_of

        return summary_of(self.frame, ("message_bytes", *axis_names(self.plan.cells)))

    def series(self, cell: str, trial: int = 1) -> Frame:
        """The state of the sender's TCP every 10 ms of a trial, one row per sample.

        ``time_s`` counts from the start of the measured time. The further columns depend on the
        sender's system: ``cwnd_bytes``, ``rtt_us``, ``pacing_bit_per_s``, ``retransmissions``,
        ``delivered_bytes``. If data went both ways, ``flow`` names the direction. The frame is
        empty if the record has no such series. Raises KeyError for a trial that is not in the run.
        """
        return frame_of_series(self.latest[cell, trial].values)

    def plot(self, x: str | None = None, hue: str = "pairing", y: str | None = None) -> Drawn:
        """Draw means of ``y`` over ``x`` with their intervals, a line for each value of ``hue``,
        and of each kind of test that has ``y``.

        ``x`` and ``hue`` are columns of ``summary()``, ``x`` by default the first setting that
        varies; ``y`` is a quantity of the run, by default the first quantity. Raises ValueError for
        any other name, and if there is no mean to draw.
        """
        from netlab.report.draw.plot import quick_plot

        return quick_plot(self.summary(), x, hue, y)

    def __repr__(self) -> str:
        """The answer as a terminal shows it, and useful methods."""
        from netlab.report.language import Wording

        return (
            f"{Report(self, Wording()).overview_text(_WIDTH)}\n"
            "see .answer, .summary(), .core, .frame, .findings, .plot(), .series(cell)"
        )

    def _repr_html_(self) -> str:
        """The run as HTML: title, numbers of trials, verdicts, warnings, table of means."""
        from netlab.report.page.coverage import summary

        lines = (*self.answer.verdicts, *self.answer.warnings)
        items = "".join(f"<li>{escape(str(line.sentence))}</li>" for line in lines)
        table = self.summary()
        more = len(table) - MOST_ROWS
        note = f"<p>and {more} rows more: .summary()</p>" if more > 0 else ""
        return (
            f"<h3>{escape(self.plan.title)}</h3><p>{escape(str(summary(self.trials)))}</p><ul>{items}</ul>"
            + table.head(MOST_ROWS).to_html(index=False, na_rep="", float_format="{:.5g}".format)
            + note
        )
