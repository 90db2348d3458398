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
from netlab.messages import _
from netlab.report import CHARTS, FIGURES, PAGE, clear_charts
from netlab.report.draw.parallel import drawing_of_several
from netlab.report.draw.sizes import COLUMN_WIDE, PAGE_WIDE
from netlab.report.language.wording import Wording
from netlab.report.large.axes import thinned
from netlab.report.large.means import FigureGroup
from netlab.report.large.parts import groups_of, parts_of
from netlab.report.page.large import large_page
from netlab.report.page.places import with_drawings
from netlab.report.tables.elements import Part
from netlab.report.write import latex, text
from netlab.results.arrow.large_run import LargeRun, large_run
from netlab.spreadsheet import harmless
from netlab.store.files import disk_error, write_inside
from netlab.terminal import printable

CELLS = "cells.csv"
"""File with the figures of every cell; only the report of a large run writes it."""
_OTHERS = ("tables.csv",)
"""Files of an earlier report, when the run had fewer trials."""
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
        plan = self.run.plan
        trials = max(1, sum(map(plan.most_of, plan.cells)) // max(1, len(plan.cells)))
        cells = thinned(plan.cells, max(1, SAMPLED_TRIALS // trials))
        keys = {cell.key for cell in cells}
        return load_cells(self.run.folder, keys)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The parts in the report's language."""
        return tuple(map(self.wording.of_part, parts_of(self.run, self.sample)))

    def write(self) -> Path:
        """Write index.html, the tables (.md, .tex, .csv), cells.csv and the charts. Returns the
        path of index.html. Raises StoreError if a file cannot be written.
        """
        folder, title, worded = self.run.folder, self.run.plan.title, self.wording
        forms = (PAGE_WIDE, COLUMN_WIDE) if self.narrow else (PAGE_WIDE,)
        with drawing_of_several(forms) as drawing:
            pending = drawing(chart for part in self.parts for chart in part.charts)
            words = latex.LatexWords(
                language=worded.language.replace("_", "-"),
                decimal_marker=worded.decimal_marker,
                table=worded.table,
                figure=worded.text(_("Figure")),
            )
            files = {
                "tables.md": _utf8(text.markdown(title, (), (), self.parts)),
                "tables.tex": _utf8(latex.document(title, (), self.parts, words=words)),
                FIGURES: _utf8(text.figures(parts_of(self.run, self.sample))),
                CELLS: _utf8(cells_csv(self.run)),
            }
            html = large_page(title, self.parts, worded)
            pictures = pending()
        for picture in pictures:
            files |= {f"{CHARTS}/{name}": data for name, data in picture.files().items()}
        clear_charts(folder, keep=frozenset(files))
        for name in _OTHERS:
            _remove(folder / name)
        for name, data in files.items():
            write_inside(folder, name, data, mode=0o644)
        write_inside(folder, PAGE, _utf8(with_drawings(html, pictures)), mode=0o644)
        return folder / PAGE

    def overview_text(self, width: int | None = None) -> str:
        """The tables for a terminal, below the run's title. Tables are no wider than ``width``."""
        sheets = [text.plain(sheet, width) for part in self.parts for sheet in part.sheets]
        return "\n\n".join([printable(self.run.plan.title), *sheets])


def report_of(folder: Path, wording: Wording, *, narrow: bool = False) -> LargeReport:
    """The report of the run in a folder. Raises UsageError and StoreError."""
    return LargeReport(large_run(folder), wording, narrow)


def cells_csv(run: LargeRun) -> str:
    """CSV with a line for each cell and quantity, in the units of the run's table."""
    names = [*dict.fromkeys(name for cell in run.plan.cells for name in cell.settings)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["cell", "test", "pairing", *names, "column", *_FIGURES])
    for group in groups_of(run):
        writer.writerows(_lines(group, names))
    return out.getvalue()


def _lines(group: FigureGroup, names: list[str]) -> Iterator[list[object]]:
    for cell in group.cells:
        own = group.figures[cell.key]
        settings = [_cell_text(cell.settings.get(name)) for name in names]
        deviation = "" if own.deviation is None else own.deviation
        head = [cell.key, cell.test, harmless(printable(cell.pairing))]
        yield [*head, *settings, group.column, own.trials, own.mean, deviation, own.least, own.most]


def _cell_text(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or isinstance(value, int | float):
        return "" if value is None else value
    return harmless(printable(str(value)))


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise disk_error(error, path.parent, "keep the report there") from None


def _utf8(content: str) -> bytes:
    return content.encode("utf-8", "backslashreplace")
