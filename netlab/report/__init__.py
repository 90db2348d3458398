"""The report: run folder → tables, plots and one page, written into the run folder.

It reads the run and nothing else; the same run gives the same bytes.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netlab.frame import Run

CHARTS = "charts"
"""Folder of the pictures, inside the run folder; it is the report's own."""


def write_report(run: Run) -> Path:
    """Write tables.md, tables.csv, charts/*.png and *.svg and index.html; returns its path.

    What an earlier report drew and this one does not is removed. StoreError where the disk refuses.
    """
    from netlab.disk import write_file
    from netlab.report import writers
    from netlab.report.charts import charts
    from netlab.report.layout import lay_out
    from netlab.report.page import Contents, link_words, page
    from netlab.report.plots import draw
    from netlab.report.readings import readings
    from netlab.report.tables import overviews, sections

    found = readings(run)
    layout = lay_out(found)
    means = overviews(layout)
    parts = sections(layout, run.plan.link, imported=run.plan.source is not None)
    drawn, left_out = charts(layout, run.plan.link)
    pictures = draw(drawn)
    tables = [*means, *(table for part in parts for table in part.tables)]

    notes = [f"Link: {link_words(run.plan.link)}."]
    files = {
        "tables.md": writers.markdown(run.plan.title, tables, notes).encode("utf-8"),
        "tables.csv": writers.comma_separated(tables).encode("utf-8"),
        **{f"{CHARTS}/{picture.chart.name}.svg": picture.svg for picture in pictures},
        **{f"{CHARTS}/{picture.chart.name}.png": picture.png for picture in pictures},
    }
    _clear_pictures(run.path / CHARTS, keep=frozenset(files))
    for name, data in files.items():
        write_file(run.path / name, data, mode=0o644)
    # The page comes last: where it stands, everything beside it is of the same run.
    html = page(Contents(run, found, means, parts, pictures, left_out)).encode("utf-8")
    write_file(run.path / "index.html", html, mode=0o644)
    return run.path / "index.html"


def overview_text(run: Run) -> str:
    """The means of all pairings for a terminal, under a line that says how much was measured."""
    from netlab.report.coverage import summary
    from netlab.report.layout import lay_out
    from netlab.report.readings import readings
    from netlab.report.tables import overviews
    from netlab.report.words import printable
    from netlab.report.writers import plain

    found = readings(run)
    title = printable(f"{run.plan.title}, {summary(found)}")
    return "\n\n".join([title, *map(plain, overviews(lay_out(found)))])


def _clear_pictures(folder: Path, keep: frozenset[str]) -> None:
    """Make the folder, and remove the pictures in it that are not going to be written."""
    from netlab.disk import refused

    try:
        folder.mkdir(exist_ok=True)
        for path in folder.iterdir():
            if path.suffix in (".png", ".svg") and f"{folder.name}/{path.name}" not in keep:
                path.unlink()
    except OSError as error:
        raise refused(error, folder, "keep the charts there") from None
