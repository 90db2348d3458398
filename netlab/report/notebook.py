"""A run in a notebook: what it says of itself, its tables and its charts."""

from __future__ import annotations

from functools import cached_property
from html import escape
from typing import TYPE_CHECKING

from netlab.experiment.records import Status
from netlab.findings.analysis import Analysis
from netlab.units import many

if TYPE_CHECKING:
    from netlab.report.draw.quick_plot import Drawn
    from netlab.results.core import Frame

MOST_LEADING = 3
MOST_ROWS = 40
"""Of the summary, in a notebook's answer."""
ALWAYS = frozenset({"protocol", "pairing", "test"})


class LoadedRun(Analysis):
    """A run folder with its findings, as ``netlab.load`` returns it."""

    @cached_property
    def core(self) -> Frame:
        """One row a trial, the columns of ``netlab.results.core.CORE``; see ``core_of``."""
        from netlab.results.core import core_of  # with pandas, which takes 0.3 s

        return core_of(self.frame)

    def summary(self) -> Frame:
        """One row a cell and quantity, with its interval; see ``results.core.summary_of``."""
        from netlab.results.core import summary_of

        return summary_of(self.frame, self._varied)

    def series(self, cell: str, trial: int = 1) -> Frame:
        """What the sender's TCP said of itself every 10 ms of a trial, a row a point.

        ``time_s`` from the opening of the window on; further columns as far as its system tells:
        ``cwnd_bytes``, ``rtt_us``, ``pacing_bit_per_s``, ``retransmissions``, ``delivered_bytes``;
        ``flow`` where data went both ways. Empty where nothing was said. KeyError for a trial that
        the run does not have.
        """
        from netlab.results.tcp_series import frame_of_series

        return frame_of_series(self.latest[cell, trial].values)

    def plot(self, x: str = "message_bytes", hue: str = "pairing", y: str | None = None) -> Drawn:
        """Means of ``y`` over ``x``, a line for each level of ``hue``, with their intervals.

        ``x`` and ``hue`` are columns of ``summary()``, ``y`` a quantity of it: the first that the
        run has. ValueError for another.
        """
        from netlab.report.draw.quick_plot import quick_plot

        return quick_plot(self.summary(), x, hue, y)

    @cached_property
    def _varied(self) -> list[str]:
        """The settings in which cells differ."""
        seen: dict[str, set[object]] = {}
        for cell in self.plan.cells:
            for name, value in cell.settings.items():
                seen.setdefault(name, set()).add(value)
        columns = set(self.frame.columns)
        varied = [name for name, levels in seen.items() if len(levels) > 1 and name not in ALWAYS]
        always = [] if "message_bytes" in varied else ["message_bytes"]
        return [name for name in (*always, *varied) if name in columns]

    @property
    def _counted(self) -> str:
        found: dict[str, int] = {}
        for _, _, record in self.stored.trials():
            word = str(Status.PENDING if record is None else record.status)
            found[word] = found.get(word, 0) + 1
        trials = ", ".join(f"{count} {word}" for word, count in found.items())
        return f"{many(len(self.plan.cells), 'cell')}; trials: {trials or 'none'}"

    def __repr__(self) -> str:
        """Five lines: what it is, how far it is, what matters most, what else there is."""
        warnings = sum(each.severity == "warning" for each in self.findings)
        notes = len(self.findings) - warnings
        first = next(iter(self._leading), "no findings")
        return "\n".join(
            [
                f"{self.plan.title} ({self.path})",
                self._counted,
                first,
                f"findings: {many(warnings, 'warning')}, {many(notes, 'note')}",
                "see .summary(), .core, .frame, .findings, .plot(), .series(cell)",
            ]
        )

    def _repr_html_(self) -> str:
        """The answer first, then the means."""
        said = "".join(f"<li>{escape(each)}</li>" for each in self._leading)
        table = self.summary()
        more = len(table) - MOST_ROWS
        rest = f"<p>and {more} rows more: .summary()</p>" if more > 0 else ""
        return (
            f"<h3>{escape(self.plan.title)}</h3><p>{escape(self._counted)}</p><ul>{said}</ul>"
            + table.head(MOST_ROWS).to_html(index=False, na_rep="", float_format="{:.5g}".format)
            + rest
        )

    @cached_property
    def _leading(self) -> tuple[str, ...]:
        from netlab.report.text.summary import leading

        return tuple(str(each) for each in leading(self)[:MOST_LEADING])
