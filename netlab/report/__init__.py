"""Writes the report of a run into its folder: tables, charts and one HTML page.

The run folder is the only input. The same run with the same options gives the same bytes.
"""

from __future__ import annotations

import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from netlab.errors import MatrixError
from netlab.messages import _, counted
from netlab.report.language import Wording, wording_in

if TYPE_CHECKING:
    from netlab.findings.analysis import Analysis
    from netlab.report.answer import AnswerTable, RunAnswer
    from netlab.report.large import LargeReport
    from netlab.report.sections.comparisons import JudgedComparisons
    from netlab.report.tables.elements import (
        AnswerLine,
        Chart,
        GridTable,
        HeatMap,
        Part,
        Strip,
        Table,
    )
    from netlab.report.tables.tables import TableSection
    from netlab.results.layout import BinGrid
    from netlab.trial.record import Record

PAGE = "index.html"
CHARTS = "charts"
"""Folder of the pictures, inside the run folder; only the report writes there."""

COLUMN = "column"
"""Folder in ``CHARTS`` with the same pictures in the width of one column of a two-column page."""

TABLES = "tables.csv"
CELLS = "cells.csv"
"""File with the figures of every cell; only the report of a large run has it."""

CELLS_FOLDER = "cells"
"""Folder in the run folder for the report of single cells."""

FIGURES = "figures.csv"
"""File with the numbers in the tables of ``Report.parts``; only the report writes this file."""

_MANY_CELLS = 100
"""From this number of cells upwards, the processes that draw the charts start at once."""
_VERY_MANY_CELLS = 1000
"""From this number of cells upwards, a forked process makes the page's data meanwhile."""

_SCREEN_LINES = 23
"""Lines of a terminal for the answer of a run, besides the line with the place of the report."""

_BEFORE = '<meta charset="utf-8">\n'
_RELOAD = re.compile(r'<meta http-equiv="refresh" content="\d+">')

STREAM = "stream"
"""The test whose results are tables of throughput; other tests have sections of their own."""


_CAN_COPY = sys.platform == "linux" and hasattr(os, "fork")
"""On other systems a process cannot be forked, or not safely after it has loaded libraries."""


@dataclass(frozen=True)
class Report:
    """The report of a run in one language. Data that several outputs need is computed once."""

    run: Analysis
    wording: Wording
    narrow: bool = False
    """Whether each chart is also drawn in the width of one column of a page."""
    below: str = ""
    """Folder in the run folder for the files; empty: the run folder itself."""

    @cached_property
    def layout(self) -> tuple[BinGrid, ...]:
        """The arrangement of the trials in tables of throughput, see ``in_tables``."""
        from netlab.results.layout import lay_out

        return lay_out(in_tables(self.run.trials))

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The sections of the page except the tables of throughput, not translated yet."""
        from netlab.report.sections import parts_of

        return parts_of(self.run, self.run.trials)

    @cached_property
    def judged(self) -> JudgedComparisons:
        """The comparisons that the matrix requests; empty if the matrix cannot be read."""
        from netlab.report.sections.comparisons import judged_of

        try:
            return judged_of(self.run.plan.matrix_text, self.run.trials)
        except MatrixError:
            return ()

    @cached_property
    def compared(self) -> tuple[AnswerLine, ...]:
        """A line for each of these comparisons, below the answer."""
        from netlab.report.sections.comparisons import answers

        return answers(self.judged)

    @cached_property
    def answer(self) -> RunAnswer:
        """The answer of the run, which the page, Markdown and a terminal begin with."""
        from netlab.report.answer import answer_of

        return answer_of(self.run)

    @cached_property
    def answer_sheets(self) -> tuple[Table, ...]:
        """The tables of the answer in the report's language, with all their columns."""
        return tuple(self.wording.of(shown.sheets[0]) for shown in self.answer.tables)

    def write(self, *, reload_s: int | None = None) -> Path:
        """Write the tables (.md, .tex, .csv), the charts (.svg, .png, .pdf) and index.html.

        Returns the path of index.html. If ``parts`` have tables, figures.csv has their numbers.
        Charts of an earlier report that this report does not have are removed. With ``reload_s``
        the page asks the browser to load the page again after that many seconds. Raises StoreError
        if a file cannot be written.
        """
        from netlab.report.draw.parallel import drawing_of_several
        from netlab.report.draw.style import COLUMN_WIDE, PAGE_WIDE
        from netlab.report.page import Contents, cells_json, page
        from netlab.report.page.first import with_drawings
        from netlab.report.tables.charts import charts
        from netlab.report.tables.tables import overviews, sections
        from netlab.report.write import text, utf8, write_files

        run, worded, link = self.run, self.wording, self.run.plan.link
        forms = (PAGE_WIDE, COLUMN_WIDE) if self.narrow else (PAGE_WIDE,)
        many = len(run.plan.cells) >= _MANY_CELLS
        with ExitStack() as stack:
            drawing = stack.enter_context(drawing_of_several(forms, many=many))
            diagrams, left_out = charts(self.layout, link)
            worded_diagrams = tuple(map(worded.of, diagrams))
            of_tables = drawing(worded_diagrams)
            # The findings are computed while others draw, but before the fork, which inherits them.
            very_many = len(run.plan.cells) >= _VERY_MANY_CELLS and bool(run.findings)
            cells = stack.enter_context(
                forked_text(lambda: cells_json(run, worded), worth_it=very_many)
            )
            means = overviews(self.layout, link)
            tabled = sections(self.layout, link, imported=run.plan.source is not None)
            # Files for programs do not depend on the language, and always have the same units.
            tables = [*means, *(table for section in tabled for table in section.tables)]
            files = {TABLES: utf8(text.comma_separated(tables))}
            if any(part.sheets or part.details for part in self.parts):
                files[FIGURES] = utf8(text.figures(self.parts))
            means, tabled, further = self._for_eyes(means, tabled)
            of_further = tuple(chart for part in further for chart in part.charts)
            of_parts = drawing(of_further)
            files |= self._for_people(means, worded_diagrams, tabled, further)
            all_charts = [*diagrams, *(chart for part in self.parts for chart in part.charts)]
            contents = Contents(
                *(self, means, tabled, further, (*worded_diagrams, *of_further), left_out, cells),
                files=frozenset([*files, *([f"{CHARTS}/"] if all_charts else [])]),
            )
            html = page(contents)
            pictures = (*of_tables(), *of_parts())
        html = reloading(with_drawings(html, pictures), reload_s)
        return write_files(self._folder(), files, pictures, html)

    def _folder(self) -> Path:
        """The folder of the report's files; it is made if it is missing."""
        if not self.below:
            return self.run.path
        from netlab.store.files import disk_error, folder_inside

        try:
            with folder_inside(self.run.path, self.below, make=0o777):
                return self.run.path / self.below
        except OSError as error:
            raise disk_error(error, self.run.path, "keep the report there") from None

    def _for_eyes(
        self, means: Sequence[GridTable], tabled: Sequence[TableSection]
    ) -> tuple[tuple[GridTable, ...], tuple[TableSection, ...], tuple[Part, ...]]:
        """The tables and parts in the report's language, each table in one unit and few digits."""
        from netlab.report.tables.digits import (
            align_digits,
            align_part_digits,
            align_section_digits,
        )

        worded, parts = self.wording, self.parts
        # The figures of an imported run keep the unit and the digits of their document.
        if self.run.plan.source is None:
            means, tabled = [*map(align_digits, means)], [*map(align_section_digits, tabled)]
            parts = tuple(map(align_part_digits, parts))
        return (
            tuple(map(worded.of, means)),
            tuple(map(worded.of, tabled)),
            tuple(map(worded.of, parts)),
        )

    def _for_people(
        self,
        means: Sequence[GridTable],
        charts: Sequence[Chart | Strip | HeatMap],
        tabled: Sequence[TableSection],
        parts: Sequence[Part],
    ) -> dict[str, bytes]:
        """The Markdown and LaTeX files. ``charts``: those of the tables of throughput; the charts
        of the parts are in ``parts``. All are in the report's language.
        """
        from netlab.report.write import latex, text, utf8
        from netlab.results.labels import link_words

        title, worded, answer = self.run.plan.title, self.wording, self.answer
        tables = [table for section in tabled for table in section.tables]
        lists = (
            (_("Answers"), [line.sentence for line in (*answer.verdicts, *answer.matters)]),
            (_("What to change"), answer.advices),
            (_("Comparisons"), [line.sentence for line in self.compared]),
            (_("Warnings"), [line.sentence for line in answer.warnings]),
        )
        first = [(worded.text(name), [*map(worded.text, own)]) for name, own in lists]
        overviews = (*self.answer_sheets, *means)
        set_in_latex = latex.document(
            *(title, tables, parts, worded),
            first=first,
            overviews=overviews,
            charts=charts,
        )
        link = worded.text(_("Link: {link}.", link=link_words(self.run.plan.link)))
        in_markdown = text.markdown(
            *(title, tables, [link], parts), first=first, overviews=overviews, charts=charts
        )
        return {"tables.md": utf8(in_markdown), "tables.tex": utf8(set_in_latex)}

    def overview_text(self, width: int | None = None) -> str:
        """The answer for a terminal, no wider than ``width`` characters: verdicts, tables, what to
        change, warnings, how it was measured.
        """
        from netlab.report.page import coverage
        from netlab.report.page.first import strip
        from netlab.report.sections.latency_under_load import load_figures
        from netlab.terminal import fitted, printable_lines

        run, say, answer = self.run, self.wording.text, self.answer
        facts = strip(run, run.trials, coverage.hosts(run))
        warnings = [say(line.sentence) for line in answer.warnings]
        number = counted(
            "{number} warning: see the report.", "{number} warnings: see the report.", len(warnings)
        )
        head = [
            "\n".join([run.plan.title, *(say(line.sentence) for line in answer.verdicts)]),
            *(self._fitting(shown, width) for shown in answer.tables),
            "\n".join(load_figures(run)),
        ]
        about = "; ".join(f"{say(name)}: {_fact(map(say, values))}" for name, values in facts)
        advices = [*map(say, answer.advices)]
        matters = [say(line.sentence) for line in answer.matters]
        # Shorter and shorter versions of what follows the figures.
        for below in (
            ["\n".join(matters), "\n".join(advices), "\n".join(warnings), about],
            ["\n".join([*matters, *advices, *warnings[:1], about])],
            ["\n".join([*matters, *warnings[:1], about])],
            ["\n".join([*matters, *([say(number)] if warnings else []), about])],
            ["\n".join([*matters[:1], *([say(number)] if warnings else []), about])],
            ["\n".join([*([say(number)] if warnings else []), about])],
        ):
            text = fitted(printable_lines("\n\n".join(filter(None, (*head, *below)))), width)
            if width is None or text.count("\n") < _SCREEN_LINES:
                return text
        return text.replace("\n\n", "\n")  # without blank lines

    def _fitting(self, shown: AnswerTable, width: int | None) -> str:
        """A table of the answer, with as many of its columns as have room in ``width``."""
        from netlab.report.write.text import plain

        for sheet in map(self.wording.of, shown.sheets):
            whole = plain(sheet)
            if width is None or max(map(len, whole.split("\n")[1:])) <= width:
                return whole
        return plain(sheet, width)


def _fact(values: Iterable[str]) -> str:
    """The values of a fact: of hosts names and system in turn, such as ``a, b (Debian 12)``."""
    name, *more = values
    systems = [f" ({system})" if system else "" for system in more[::2]]
    return ", ".join(map("".join, zip_longest((name, *more[1::2]), systems, fillvalue="")))


@dataclass(frozen=True, slots=True)
class WrittenReport:
    """A report and where it was written."""

    page: Path
    contents: Report | LargeReport
    read_s: float
    wrote_s: float


def make_report(
    folder: Path, language: str = "en", *, narrow: bool = False, cells: Sequence[str] = ()
) -> WrittenReport:
    """Write the report of a run folder: see ``report_of`` and ``Report.write``."""
    start_s = time.monotonic()
    contents = report_of(folder, language, narrow=narrow, cells=cells)
    read_s = time.monotonic() - start_s
    page = contents.write()
    return WrittenReport(page, contents, read_s, time.monotonic() - start_s - read_s)


def report_of(
    folder: Path, language: str = "en", *, narrow: bool = False, cells: Sequence[str] = ()
) -> Report | LargeReport:
    """The report of a run (a very large one, too), or of some cells by key; nothing is written."""
    from netlab.findings.analysis import load, load_cells
    from netlab.results.arrow.run_parts import is_large, large_run

    wording = wording_in(language)
    if not cells and is_large(folder):
        from netlab.report.large import LargeReport

        return LargeReport(large_run(folder), wording, narrow)
    if cells:
        return Report(load_cells(folder, cells), wording, narrow, CELLS_FOLDER)
    return Report(load(folder), wording, narrow)


def write_report(
    run: Analysis,
    wording: Wording | None = None,
    *,
    narrow: bool = False,
    reload_s: int | None = None,
) -> Path:
    """Write the report of a run: see ``Report.write``."""
    return Report(run, wording or Wording(), narrow).write(reload_s=reload_s)


def reloading(html: str, seconds: int | None) -> str:
    """The page with a request to load it again after ``seconds``, or without any request."""
    quiet = _RELOAD.sub("", html)
    if seconds is None:
        return quiet
    wish = f'<meta http-equiv="refresh" content="{seconds}">'
    return quiet.replace(_BEFORE, f"{_BEFORE}{wish}", 1)


def in_tables(records: Iterable[Record]) -> list[Record]:
    """The records that tables of throughput show: streams, except those of a mesh of hosts."""
    from netlab.results.layout import tabled

    return tabled([record for record in records if record.test == STREAM])


@contextmanager
def forked_text(make: Callable[[], str], *, worth_it: bool) -> Iterator[Callable[[], str]]:
    """Call ``make`` in a fork while the block runs; the block gets a function for the text.

    The fork has the state of this process at the beginning of the block. If it cannot be made, is
    not ``worth_it``, or fails, the function calls ``make`` here. No process outlives the block.
    """
    if not (_CAN_COPY and worth_it):
        yield make
        return
    import multiprocessing

    copies = multiprocessing.get_context("fork")
    reader, writer = copies.Pipe(duplex=False)

    def send() -> None:
        with suppress(Exception):  # this process raises it
            writer.send_bytes(make().encode("utf-8", "surrogatepass"))

    child = copies.Process(target=send)
    with warnings.catch_warnings(), suppress(OSError):
        # Python warns about locks that another thread may hold; the fork takes none of them.
        warnings.simplefilter("ignore", DeprecationWarning)
        child.start()
    writer.close()

    def result() -> str:
        try:
            return reader.recv_bytes().decode("utf-8", "surrogatepass")
        except EOFError:
            return make()

    try:
        yield result
    finally:
        reader.close()
        if child.pid is not None:
            child.kill()
            child.join()
