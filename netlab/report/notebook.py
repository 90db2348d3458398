"""A run in a notebook: its summary, its tables and its charts."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING

from netlab.findings.analysis import Analysis
from netlab.trial.record import Status
from netlab.units import many

if TYPE_CHECKING:
    from netlab.report.draw.plot import Drawn
    from netlab.results.frame import Frame

MOST_LEADING = 3
MOST_ROWS = 40
"""Maximum number of rows of the summary that a notebook shows."""
ALWAYS = frozenset({"protocol", "pairing", "test"})


class LoadedRun(Analysis):
    """A run folder with its findings, as ``netlab.load`` returns it."""

    @cached_property
    def core(self) -> Frame:
        """One row per trial, with the columns of ``columns.CORE``; see ``core_of``."""
        from netlab.results.frame import core_of  # imports pandas, which takes 0.3 s

        return core_of(self.frame)

    def summary(self) -> Frame:
        """One row per cell and quantity: mean and interval; see ``results.frame.summary_of``."""
        from netlab.results.frame import summary_of

        return summary_of(self.frame, self._varied)

    def series(self, cell: str, trial: int = 1) -> Frame:
        """The state of the sender's TCP every 10 ms of a trial, one row per sample.

        ``time_s`` counts from the start of the measured time. The further columns depend on the
        sender's system: ``cwnd_bytes``, ``rtt_us``, ``pacing_bit_per_s``, ``retransmissions``,
        ``delivered_bytes``. If data went both ways, ``flow`` names the direction. The frame is
        empty if the record has no such series. Raises KeyError for a trial that is not in the run.
        """
        from netlab.results.tcp_series import frame_of_series

        return frame_of_series(self.latest[cell, trial].values)

    def plot(self, x: str = "message_bytes", hue: str = "pairing", y: str | None = None) -> Drawn:
        """Draw means of ``y`` over ``x`` with their intervals, a line for each value of ``hue``.

        ``x`` and ``hue`` are columns of ``summary()``; ``y`` is a quantity of the run, by default
        the first quantity. Raises ValueError for any other name.
        """
        from netlab.report.draw.plot import quick_plot

        return quick_plot(self.summary(), x, hue, y)

    @cached_property
    def _varied(self) -> list[str]:
        """The frame's columns of settings in which cells differ, and ``message_bytes``."""
        by_name: dict[str, set[object]] = {}
        for cell in self.plan.cells:
            for name, value in cell.settings.items():
                by_name.setdefault(name, set()).add(value)
        columns = set(self.frame.columns)
        varied = [name for name, own in by_name.items() if len(own) > 1 and name not in ALWAYS]
        always = [] if "message_bytes" in varied else ["message_bytes"]
        return [name for name in (*always, *varied) if name in columns]

    @property
    def _counted(self) -> str:
        records = (record for _, _, record in self.stored.trials())
        counts = Counter(str(Status.PENDING if r is None else r.status) for r in records)
        trials = ", ".join(f"{count} {word}" for word, count in counts.items())
        return f"{many(len(self.plan.cells), 'cell')}; trials: {trials or 'none'}"

    def __repr__(self) -> str:
        """Five lines: title, progress, the first finding, numbers of findings, useful methods."""
        warnings = sum(finding.severity == "warning" for finding in self.findings)
        notes = len(self.findings) - warnings
        first = next(iter(self._leading), "no findings")
        return (
            f"{self.plan.title} ({self.path})\n{self._counted}\n{first}\n"
            f"findings: {many(warnings, 'warning')}, {many(notes, 'note')}\n"
            "see .summary(), .core, .frame, .findings, .plot(), .series(cell)"
        )

    def _repr_html_(self) -> str:
        """The run as HTML: title, numbers of trials, main findings, table of means."""
        items = "".join(f"<li>{escape(sentence)}</li>" for sentence in self._leading)
        table = self.summary()
        more = len(table) - MOST_ROWS
        note = f"<p>and {more} rows more: .summary()</p>" if more > 0 else ""
        return (
            f"<h3>{escape(self.plan.title)}</h3><p>{escape(self._counted)}</p><ul>{items}</ul>"
            + table.head(MOST_ROWS).to_html(index=False, na_rep="", float_format="{:.5g}".format)
            + note
        )

    @cached_property
    def _leading(self) -> tuple[str, ...]:
        from netlab.report.text.summary import leading

        return tuple(str(sentence) for sentence in leading(self)[:MOST_LEADING])
