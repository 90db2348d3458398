"""The report: run folder → tables, plots and one page, written into the run folder.

It reads the run and nothing else; the same run gives the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netlab.frame import Run
    from netlab.report.nouns import Table
    from netlab.report.readings import Reading
    from netlab.report.tables import Section
    from netlab.report.wording import Wording

LANGUAGES = ("en", "de")
"""Of a report's labels."""

PAGE = "index.html"
CHARTS = "charts"
"""Folder of the pictures, inside the run folder; it is the report's own."""

COLUMN = "column"
"""Folder in that one of the same pictures as wide as one column of a page with two."""

_PICTURES = (".png", ".svg", ".pdf")

FIGURES = "figures.csv"
"""The figures of all sheets; it is the report's own as well."""

_BEFORE = '<meta charset="utf-8">\n'
_RELOAD = re.compile(r'<meta http-equiv="refresh" content="\d+">')

STREAM = "stream"
"""The test whose results are laid out as tables of throughput; others have parts of their own."""


def write_report(run: Run, wording: Wording | None = None, *, reload_s: int | None = None) -> Path:
    """Write the tables (.md, .tex, .csv), the charts (.svg, .png, .pdf) and index.html; its path.

    figures.csv stands beside them where there are sheets. What an earlier report drew and this one
    does not is removed. With ``reload_s`` the page asks a browser to load it again after so many
    seconds. StoreError where the disk refuses.
    """
    from netlab.disk import write_file
    from netlab.report import latex, writers
    from netlab.report.charts import charts
    from netlab.report.layout import lay_out
    from netlab.report.page import Contents, link_words, page
    from netlab.report.parts import parts_of
    from netlab.report.plots import draw
    from netlab.report.readings import readings
    from netlab.report.tables import overviews, sections
    from netlab.report.wording import Wording

    worded = wording or Wording()
    link, imported = run.plan.link, run.plan.source is not None
    found = readings(run)
    layout = lay_out(in_tables(found))
    means = overviews(layout, link)
    tabled = sections(layout, link, imported=imported)
    further = parts_of(run, found)
    drawn, left_out = charts(layout, link)
    # What programs read is the same in every language.
    files = {
        "tables.csv": writers.comma_separated([*means, *_tables(tabled)]).encode("utf-8"),
        FIGURES: writers.figures(further).encode("utf-8"),
    }
    if not any(part.sheets or part.details for part in further):
        del files[FIGURES]

    means = tuple(map(worded.of_table, means))
    tabled = tuple(map(worded.of_section, tabled))
    further = tuple(map(worded.of_part, further))
    diagrams = [*map(worded.of_chart, drawn), *(c for part in further for c in part.charts)]
    pictures = draw(diagrams)
    tables = [*means, *_tables(tabled)]
    notes = [worded.text(f"Link: {link_words(link)}.")]
    files |= {
        "tables.md": writers.markdown(run.plan.title, tables, notes, further).encode("utf-8"),
        "tables.tex": latex.document(
            *(run.plan.title, tables, further),
            decimal_marker=worded.decimal_marker,
            table=worded.table,
        ).encode("utf-8"),
        **{f"{CHARTS}/{name}": data for each in pictures for name, data in each.files().items()},
    }
    _clear(run.path, keep=frozenset(files))
    for name, data in files.items():
        write_file(run.path / name, data, mode=0o644)
    # The page comes last: where it stands, everything beside it is of the same run.
    html = page(Contents(run, found, means, tabled, further, pictures, left_out))
    write_file(run.path / PAGE, reloading(html, reload_s).encode("utf-8"), mode=0o644)
    return run.path / PAGE


def reloading(html: str, seconds: int | None) -> str:
    """The page with a wish to the browser to load it again, or without any."""
    quiet = _RELOAD.sub("", html)
    if seconds is None:
        return quiet
    wish = f'<meta http-equiv="refresh" content="{seconds}">'
    return quiet.replace(_BEFORE, f"{_BEFORE}{wish}", 1)


def overview_text(run: Run, wording: Wording | None = None) -> str:
    """The means of all pairings for a terminal, under a line that says how much was measured."""
    from netlab.report.coverage import summary
    from netlab.report.layout import lay_out
    from netlab.report.parts import parts_of
    from netlab.report.readings import readings
    from netlab.report.tables import overviews
    from netlab.report.wording import Wording
    from netlab.report.words import printable
    from netlab.report.writers import plain, plain_sheet

    worded = wording or Wording()
    found = readings(run)
    title = printable(f"{run.plan.title}, {summary(found)}")
    means = map(worded.of_table, overviews(lay_out(in_tables(found))))
    parts = map(worded.of_part, parts_of(run, found))
    sheets = [sheet for part in parts for sheet in part.sheets]
    return "\n\n".join([title, *map(plain, means), *map(plain_sheet, sheets)])


def _tables(sections: Iterable[Section]) -> list[Table]:
    return [table for section in sections for table in section.tables]


def in_tables(readings: Iterable[Reading]) -> list[Reading]:
    """Those laid out as tables of throughput: the streams, but for those of hosts by name."""
    from netlab.pairings import is_by_name

    return [each for each in readings if each.test == STREAM and not is_by_name(each.pairing)]


def _clear(folder: Path, keep: frozenset[str]) -> None:
    """Make the charts' folders, and remove what an earlier report wrote and this one does not."""
    from netlab.disk import refused

    charts = folder / CHARTS
    try:
        for each in (charts, charts / COLUMN):
            each.mkdir(exist_ok=True)
            for path in each.iterdir():
                if path.suffix in _PICTURES and str(path.relative_to(folder)) not in keep:
                    path.unlink(missing_ok=True)
        if FIGURES not in keep:
            (folder / FIGURES).unlink(missing_ok=True)
    except OSError as error:
        raise refused(error, folder, "keep the report there") from None
