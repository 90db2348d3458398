"""Writes the report of a run with very many trials into its folder.

Its figures come from columns of the run's segments (parts.py); only the records that the findings
are about are read. The same run with the same options gives the same bytes.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from netlab.findings.analysis import Analysis, load_cells
from netlab.report import CELLS, FIGURES, reloading
from netlab.report.draw.parallel import drawing_of_several
from netlab.report.draw.sizes import COLUMN_WIDE, PAGE_WIDE
from netlab.report.language.wording import Wording
from netlab.report.large.axes import thinned
from netlab.report.large.means import FigureGroup
from netlab.report.large.parts import groups_of, parts_of
from netlab.report.page.places import with_drawings
from netlab.report.page.plain.large import large_page
from netlab.report.tables.elements import Part
from netlab.report.write import latex, text
from netlab.report.write.files import utf8, write_files
from netlab.results.arrow.large_run import LargeRun, large_run
from netlab.store.plan import Plan
from netlab.terminal import printable

SAMPLED_TRIALS = 5_000
"""Maximum number of trials that the findings are about."""
_FIGURES = ("trials", "mean", "standard_deviation", "lowest", "highest")


@dataclass(frozen=True)
class LargeReport:
    """The report of a large run in one language."""

    run: LargeRun
    wording: Wording
    narrow: bool = False
    """Whether each chart is also drawn in the width of one column of a page."""

    @cached_property
    def sample(self) -> Analysis:
        """Some cells with all their trials: the findings are about them."""
        return sample_of(self.run.folder, self.run.plan)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """All parts, not translated yet."""
        return parts_of(self.run, self.sample)

    @cached_property
    def _worded(self) -> tuple[Part, ...]:
        return tuple(map(self.wording.of_part, self.parts))

    def write(self, *, reload_s: int | None = None) -> Path:
        """Write index.html, the tables (.md, .tex, .csv), cells.csv and the charts. Returns the
        path of index.html. ``reload_s`` and errors as in ``Report.write``.
        """
        folder, title, worded = self.run.folder, self.run.plan.title, self.wording
        forms = (PAGE_WIDE, COLUMN_WIDE) if self.narrow else (PAGE_WIDE,)
        with drawing_of_several(forms) as drawing:
            pending = drawing(chart for part in self._worded for chart in part.charts)
            files = {
                "tables.md": utf8(text.markdown(title, (), (), self._worded)),
                "tables.tex": utf8(
                    latex.document(title, (), self._worded, words=latex.words_of(worded))
                ),
                FIGURES: utf8(text.figures(self.parts)),
                CELLS: utf8(cells_csv(self.run)),
            }
            html = large_page(title, self._worded, worded)
            pictures = pending()
        html = reloading(with_drawings(html, pictures), reload_s)
        return write_files(folder, files, pictures, html)

    def overview_text(self, width: int | None = None) -> str:
        """The tables for a terminal, below the run's title. Tables are no wider than ``width``."""
        sheets = [text.plain(sheet, width) for part in self._worded for sheet in part.sheets]
        return "\n\n".join([printable(self.run.plan.title), *sheets])


def report_of(folder: Path, wording: Wording, *, narrow: bool = False) -> LargeReport:
    """The report of the run in a folder. Raises UsageError and StoreError."""
    return LargeReport(large_run(folder), wording, narrow)


def sample_of(folder: Path, plan: Plan) -> Analysis:
    """Some cells of a run with all their trials: at most `SAMPLED_TRIALS` trials, or one cell.

    Raises UsageError and StoreError.
    """
    trials = max(1, sum(map(plan.most_of, plan.cells)) // max(1, len(plan.cells)))
    cells = thinned(plan.cells, max(1, SAMPLED_TRIALS // trials))
    return load_cells(folder, {cell.key for cell in cells})


def cells_csv(run: LargeRun) -> str:
    """CSV with a line for each cell and quantity, in the units of the run's table."""
    names = [*dict.fromkeys(name for cell in run.plan.cells for name in cell.settings)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["cell", "test", "pairing", *names, "column", *_FIGURES])
    for group in groups_of(run):
        writer.writerows(map(text.csv_value, line) for line in _lines(group, names))
    return out.getvalue()


def _lines(group: FigureGroup, names: list[str]) -> Iterator[list[object]]:
    for cell in group.cells:
        own = group.figures[cell.key]
        settings = [cell.settings.get(name) for name in names]
        figures = [own.trials, own.mean, own.deviation, own.least, own.most]
        yield [cell.key, cell.test, cell.pairing, *settings, group.column, *figures]
