"""The commands that write results of a run folder: the report, the findings, the table."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from netlab.cli.options import JSON, LANG, RUN, loudness_options, output_option
from netlab.cli.output import Loudness, loudness, notify, output_file, show, width, write_output
from netlab.errors import Interrupted, UsageError
from netlab.runner.ending import interruptible
from netlab.units import many

if TYPE_CHECKING:
    from netlab.report import Report
    from netlab.report.large.write import LargeReport

LOWEST_PRIORITY = 19
CELLS = "cells"
"""Folder in the run folder for the report of single cells."""
FORMAT_HELP = "Output format."


@click.command()
@RUN
@LANG
@click.option(
    "--narrow",
    is_flag=True,
    help="Also draw each chart 8.5 cm wide, for a two-column page: charts/column.",
)
@click.option(
    "--watch",
    "watching",
    is_flag=True,
    help="Keep the report current during the run; ends with the run or with Ctrl-C.",
)
@click.option(
    "--cell",
    "cells",
    metavar="KEY",
    multiple=True,
    help="Only these cells, into the folder `cells` in RUN (may be repeated).",
)
@JSON
@output_option("with --json standard output")
@loudness_options
def report(
    folder: Path,
    language: str,
    narrow: bool,
    watching: bool,
    cells: tuple[str, ...],
    as_json: bool,
    output: Path | None,
) -> None:
    """Make the report of RUN: tables, plots and index.html, in its folder.

    With --json, print the findings as an array of objects instead. If this machine takes part in
    the measurement, --watch draws the page only after the run: drawing takes CPU time. The report
    of a run with more than 50,000 trials has means, findings and heat maps; --cell makes the whole
    report of single cells.
    """
    if as_json:
        given = narrow or watching or language != "en"
        _write_findings(folder, output, cells, page_words=given)
        return
    if output is not None:
        raise UsageError("--output is only for --json; the report is written into the run folder")
    if cells and watching:
        raise UsageError("--watch is for the report of the whole run, without --cell")
    if not watching:
        show_report(folder, language=language, narrow=narrow, cells=cells)
        return
    from netlab.report.live import watch

    # This machine may also control the run, and the run has priority over the report.
    os.nice(LOWEST_PRIORITY)
    try:
        with interruptible():
            watch(folder, language, notify, narrow=narrow)
    except Interrupted as interrupt:
        if interrupt.signal_number != signal.SIGINT:
            raise


def _write_findings(
    folder: Path, output: Path | None, cells: tuple[str, ...], *, page_words: bool
) -> None:
    """Write the findings as JSON, always in English: of these cells or, without any, of the run.

    ``page_words``: whether the user gave options that are for the report only, which is an error.
    """
    if page_words:
        raise UsageError("--lang, --narrow and --watch are for the report, not for --json")
    from netlab.findings.analysis import load, load_cells
    from netlab.report.text.finding_sentences import findings_json
    from netlab.results.arrow.large_run import is_large

    if cells:
        analysis = load_cells(folder, cells)
    elif is_large(folder):
        from netlab.report.large.write import sample_of
        from netlab.store.reader import read_plan

        plan, _ = read_plan(folder)
        analysis = sample_of(folder, plan)
        notify(
            f"{folder}: the findings are about {many(len(analysis.plan.cells), 'cell')} of "
            f"{len(plan.cells)}, evenly spaced on the axes"
        )
    else:
        analysis = load(folder)
    write_output(output, findings_json(analysis))


@click.command()
@RUN
@click.option(
    "--format",
    "form",
    type=click.Choice(["csv", "json", "parquet"]),
    default="csv",
    show_default=True,
    help=FORMAT_HELP,
)
@click.option(
    "--columns",
    type=click.Choice(["all", "core"]),
    default="all",
    show_default=True,
    help="core: the 25 or so most important columns.",
)
@output_option()
def export(folder: Path, form: str, columns: str, output: Path | None) -> None:
    """Write the table of RUN, one row per trial. Parquet needs --output FILE."""
    core = columns == "core"
    if form != "parquet":
        from netlab.results.export import export as export_run

        write_output(output, export_run(folder, form, core=core))
        return
    from netlab.results.arrow.parquet_export import parquet_export

    if output is None or output == Path("-"):
        raise UsageError("parquet is binary: name a file with --output FILE")
    write = parquet_export(folder, core=core)
    with output_file(output) as file:
        write(file)


def show_overview(folder: Path) -> None:
    """Print the means of a run without writing files; with ``--quiet``, only the run's folder."""
    if loudness() is Loudness.QUIET:
        show(folder)
        return
    show(_report_of(folder).overview_text(width()))


def show_report(
    folder: Path,
    *,
    as_json: bool = False,
    language: str = "en",
    narrow: bool = False,
    cells: tuple[str, ...] = (),
) -> None:
    """Make the report of a run folder, and print the means and the path of the report.

    ``cells``: keys of the only cells of the report; none: all cells. With ``--quiet``, only the
    path is printed. If standard output has JSON (``as_json``), the path goes to standard error.
    """
    from netlab.units import format_seconds

    start_s = time.monotonic()
    result = _report_of(folder, language, narrow=narrow, cells=cells)
    read_s = time.monotonic() - start_s
    page = result.write()
    wrote_s = time.monotonic() - start_s - read_s
    if loudness() is Loudness.VERBOSE:
        notify(f"{folder}: read in {format_seconds(read_s)}, drawn in {format_seconds(wrote_s)}")
    if as_json:
        notify(str(page))
    elif loudness() is Loudness.QUIET:
        show(page)
    else:
        show(result.overview_text(width()))
        show(f"report: {page}")


def _report_of(
    folder: Path, language: str = "en", *, narrow: bool = False, cells: tuple[str, ...] = ()
) -> Report | LargeReport:
    """The report of a run, of some cells of it, or of a run with very many trials."""
    from netlab.report.language import wording_in
    from netlab.results.arrow.large_run import is_large

    wording = wording_in(language)
    if not cells and is_large(folder):
        from netlab.report.large.write import report_of

        return report_of(folder, wording, narrow=narrow)
    from netlab.findings.analysis import load, load_cells
    from netlab.report import Report

    if cells:
        return Report(load_cells(folder, cells), wording, narrow, CELLS)
    return Report(load(folder), wording, narrow)
