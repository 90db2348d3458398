"""The report: run folder → tables, plots and one page, written into the run folder.

It reads the run and nothing else; the same run gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netlab.frame import Run
    from netlab.report.readings import Reading

CHARTS = "charts"
"""Folder of the pictures, inside the run folder; it is the report's own."""

FIGURES = "figures.csv"
"""The figures of all sheets; it is the report's own as well."""

STREAM = "stream"
"""The test whose results are laid out as tables of throughput; others have parts of their own."""


def write_report(run: Run) -> Path:
    """Write tables.md, tables.csv, charts/*.png and *.svg and index.html; returns its path.

    figures.csv stands beside them where there are sheets. What an earlier report drew and this one
    does not is removed. StoreError where the disk refuses.
    """
    from netlab.disk import write_file
    from netlab.report import writers
    from netlab.report.charts import charts
    from netlab.report.layout import lay_out
    from netlab.report.page import Contents, link_words, page
    from netlab.report.parts import parts_of
    from netlab.report.plots import draw
    from netlab.report.readings import readings
    from netlab.report.tables import overviews, sections

    found = readings(run)
    layout = lay_out(in_tables(found))
    means = overviews(layout, run.plan.link)
    tabled = sections(layout, run.plan.link, imported=run.plan.source is not None)
    further = parts_of(run, found)
    drawn, left_out = charts(layout, run.plan.link)
    pictures = draw([*drawn, *(chart for part in further for chart in part.charts)])
    tables = [*means, *(table for section in tabled for table in section.tables)]

    notes = [f"Link: {link_words(run.plan.link)}."]
    files = {
        "tables.md": writers.markdown(run.plan.title, tables, notes, further).encode("utf-8"),
        "tables.csv": writers.comma_separated(tables).encode("utf-8"),
        FIGURES: writers.figures(further).encode("utf-8"),
        **{f"{CHARTS}/{picture.chart.name}.svg": picture.svg for picture in pictures},
        **{f"{CHARTS}/{picture.chart.name}.png": picture.png for picture in pictures},
    }
    if not any(part.sheets or part.details for part in further):
        del files[FIGURES]
    _clear(run.path, keep=frozenset(files))
    for name, data in files.items():
        write_file(run.path / name, data, mode=0o644)
    # The page comes last: where it stands, everything beside it is of the same run.
    html = page(Contents(run, found, means, tabled, further, pictures, left_out)).encode("utf-8")
    write_file(run.path / "index.html", html, mode=0o644)
    return run.path / "index.html"


def overview_text(run: Run) -> str:
    """The means of all pairings for a terminal, under a line that says how much was measured."""
    from netlab.report.coverage import summary
    from netlab.report.layout import lay_out
    from netlab.report.parts import parts_of
    from netlab.report.readings import readings
    from netlab.report.tables import overviews
    from netlab.report.words import printable
    from netlab.report.writers import plain, plain_sheet

    found = readings(run)
    title = printable(f"{run.plan.title}, {summary(found)}")
    means = overviews(lay_out(in_tables(found)))
    sheets = [sheet for part in parts_of(run, found) for sheet in part.sheets]
    return "\n\n".join([title, *map(plain, means), *map(plain_sheet, sheets)])


def in_tables(readings: Iterable[Reading]) -> list[Reading]:
    """Those laid out as tables of throughput: the streams, but for those of hosts by name."""
    from netlab.pairings import is_by_name

    return [each for each in readings if each.test == STREAM and not is_by_name(each.pairing)]


def _clear(folder: Path, keep: frozenset[str]) -> None:
    """Make the charts' folder, and remove what an earlier report wrote and this one does not."""
    from netlab.disk import refused

    charts = folder / CHARTS
    try:
        charts.mkdir(exist_ok=True)
        for path in charts.iterdir():
            if path.suffix in (".png", ".svg") and f"{CHARTS}/{path.name}" not in keep:
                path.unlink()
        if FIGURES not in keep:
            (folder / FIGURES).unlink(missing_ok=True)
    except OSError as error:
        raise refused(error, folder, "keep the report there") from None
