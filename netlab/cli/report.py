"""The commands that make a run folder out of other results, and those that read run folders."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlab.cli import options
from netlab.cli.output import (
    is_quiet,
    is_verbose,
    notify,
    output_file,
    show,
    show_data,
    width,
    write_output,
)
from netlab.errors import Interrupted, UsageError
from netlab.report import Report, WrittenReport, make_report, report_of
from netlab.report.language import wording_in
from netlab.runner.ending import interruptible
from netlab.units import format_seconds, many, parse_share

if TYPE_CHECKING:
    from netlab.compare.history import HeldRun
    from netlab.imports import CommandOption
    from netlab.report.large import LargeReport
    from netlab.results.effects import Scale
    from netlab.results.run import Run


class _ImportGroup(click.Group):
    """Has a command for each importer in netlab.imports. An importer is loaded when its command is
    called.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        from netlab.imports import importer_names

        return importer_names()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from netlab.imports import importer

        if cmd_name not in self.list_commands(ctx):
            return None
        chosen = importer(cmd_name)

        def run(
            into: Path | None, link: float | None, mtu: int, overhead: int, **context: Any
        ) -> None:
            from netlab.ethernet import Link

            source = context.pop("files") if chosen.is_of_files else context.pop("table")
            cable = None if link is None else Link(link, mtu, overhead_bytes=overhead)
            first: Path = source[0] if chosen.is_of_files else source
            into = into or Path("runs") / (first.stem or cmd_name)
            show_written(make_report(chosen.read(source, into, link=cable, **context)))

        rate = None if chosen.is_of_files else "100Mbit"
        facts = "Facts that the document states outside the table, as YAML: docs/run-folder.md."
        parameters: list[Callable[[Callable[..., None]], Callable[..., None]]] = [
            click.argument("files", type=options.PATH, nargs=-1, required=True, metavar="FILES...")
            if chosen.is_of_files
            else click.argument("table", type=options.FILE),
            options.into_option("runs/ and the file's name"),
            click.option("--title", help="Title of the run.  [default: the file's name]"),
            options.link_option(default=rate, show_default=not chosen.is_of_files),
            options.mtu_option(),
            options.overhead_option(),
            click.option("--facts", type=options.FILE, metavar="FILE", help=facts),
            *map(_option, chosen.options),
        ]
        # click lists the parameter that was added last as the first one.
        command = reduce(lambda function, add: add(function), reversed(parameters), run)
        return options.loudness_options(click.command(cmd_name, help=chosen.help)(command))


@click.group("import", cls=_ImportGroup)
def import_() -> None:
    """Make a run folder out of results of other tools or documents."""


def _option(option: CommandOption) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return click.option(
        option.flag,
        option.name,
        type=click.STRING if option.limits is None else click.IntRange(*option.limits),
        default=option.default,
        show_default=option.default is not None,
        multiple=option.repeated,
        metavar=option.metavar,
        callback=None if option.convert is None else options.read_by(option.convert),
        help=option.help,
    )


@click.command()
@options.RUN
@options.LANG
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
@options.JSON
@options.output_option("with --json standard output")
@options.loudness_options
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
        if narrow or watching or language != "en":
            raise UsageError("--lang, --narrow and --watch are for the report, not for --json")
        _write_findings(folder, output, cells)
        return
    if output is not None:
        raise UsageError("--output is only for --json; the report is written into the run folder")
    if cells and watching:
        raise UsageError("--watch is for the report of the whole run, without --cell")
    if not watching:
        show_written(make_report(folder, language, narrow=narrow, cells=cells))
        return
    from netlab.report.live import watch

    # This machine may also control the run, and the run has priority over the report.
    os.nice(19)  # the lowest priority
    try:
        with interruptible():
            watch(folder, language, notify, narrow=narrow)
    except Interrupted as interrupt:
        if interrupt.signal_number != signal.SIGINT:
            raise


def _write_findings(folder: Path, output: Path | None, cells: tuple[str, ...]) -> None:
    """Write the findings as JSON, always in English: of these cells or, without any, of the run."""
    from netlab.findings.analysis import load, load_cells
    from netlab.report.text.findings import findings_json
    from netlab.results.arrow.run_parts import is_large

    if cells:
        analysis = load_cells(folder, cells)
    elif is_large(folder):
        from netlab.report.large import sample_of
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
@options.RUN
@options.format_option("csv", "json", "parquet")
@click.option(
    "--columns",
    type=click.Choice(["all", "core"]),
    default="all",
    show_default=True,
    help="core: the axes and the most important columns.",
)
@options.output_option()
def export(folder: Path, form: str, columns: str, output: Path | None) -> None:
    """Write the table of RUN, one row per trial. Parquet needs --output FILE."""
    core = columns == "core"
    if form != "parquet":
        from netlab.results.export import export as export_run

        write_output(output, export_run(folder, form, core=core))
        return
    from netlab.results.arrow.run_parts import parquet_export

    if output is None or output == Path("-"):
        raise UsageError("parquet is binary: name a file with --output FILE")
    write = parquet_export(folder, core=core)
    with output_file(output) as file:
        write(file)


def show_answer(folder: Path, *, as_json: bool = False) -> None:
    """Print the answer of a run without writing files; with ``--quiet``, only the run's folder."""
    if is_quiet() and not as_json:
        show(folder)
        return
    contents = report_of(folder)
    if as_json:
        _show_answer_line(contents)
    else:
        show(contents.overview_text(width()))
        show(f"more: netlab report {folder}")


def _show_answer_line(contents: Report | LargeReport) -> None:
    """The answer as the last JSON line of a run."""
    if contents.answer:
        show_data(json.dumps({"type": "answer", **contents.answer.as_dict()}))


def show_written(report: WrittenReport, *, as_json: bool = False) -> None:
    """Print the answer and the path of a report; with ``--quiet``, only the path, which goes to
    standard error if standard output has JSON (``as_json``).
    """
    page = report.page
    if is_verbose():
        read, drawn = format_seconds(report.read_s), format_seconds(report.wrote_s)
        notify(f"{page.parent}: read in {read}, drawn in {drawn}")
    if as_json:
        _show_answer_line(report.contents)
        notify(str(page))
    elif is_quiet():
        show(page)
    else:
        show(report.contents.overview_text(width()))
        show(f"report: {page}")


_HISTORY = "history:"
"""Beginning of a ``--baseline`` that names a history."""
_OF_A_RUN, _OF_A_HISTORY = 0.05, 0.005
"""Default of ``--no-worse-by``."""


def _share(text: str) -> float:
    share = parse_share(text)
    if not 0 < share < 1:
        raise ValueError(f"{text} is not between 0 % and 100 %")
    return share


@click.command()
@click.argument("baseline", type=options.FOLDER, metavar="RUN")
@click.argument("contender", type=options.FOLDER, metavar="[RUN]", required=False)
@click.option(
    "--by",
    metavar="AXIS",
    help="Compare the levels of one axis within one run: pairing, congestion, …",
)
@click.option(
    "--against",
    metavar="LEVEL",
    help="With --by: the level that the others are compared with.  [default: the first]",
)
@options.ANYWAY
@options.figure_option(
    *("--margin", "SHARE", _share, "The smallest difference that counts."),
    default="0.5 %",
    show_default=True,
)
@options.format_option("text", "markdown", "csv", "json")
@options.output_option()
def compare(
    baseline: Path,
    contender: Path | None,
    by: str | None,
    against: str | None,
    anyway: bool,
    margin: float,
    form: str,
    output: Path | None,
) -> None:
    """Compare two runs cell by cell, the first as the baseline; or the levels of one run's axis.

    Each line has the ratio with its interval and a verdict: different, equivalent within the
    margin, inconclusive, or not judged (n = 1). The intervals hold for all lines together.

    \b
    Exit codes
      0    the runs were compared, whatever the result
      1    a run cannot be read
      2    wrong usage, or runs that differ or have no cell in common
    """
    if (contender is None) == (by is None):
        raise UsageError("compare two runs, or one run with --by AXIS")
    if against is not None and by is None:
        raise UsageError("--against is a value of the axis that --by names: give --by AXIS as well")
    if anyway and by is not None:
        raise UsageError("--anyway is for two runs; --by compares cells of one run")
    from netlab.compare.runs import compare_levels, compare_runs
    from netlab.report.comparison_text import WRITERS, as_text
    from netlab.results.run import load

    run = load(baseline)
    if contender is None:
        comparison = compare_levels(run, by or "", against, margin=margin)
    else:
        comparison = compare_runs(run, load(contender), anyway=anyway, margin=margin)
    if form == "text":
        write_text(as_text(comparison, width() if output is None else None), output)
    else:
        write_output(output, WRITERS[form](comparison).encode())


@click.command()
@options.RUN
@click.option(
    "--scale",
    type=click.Choice(["log", "linear"]),
    help="The scale of differences.  [default: log if all figures are above 0]",
)
@click.option("--quantity", metavar="NAME", help="Only this quantity, such as throughput.")
@options.JSON
def effects(folder: Path, scale: Scale | None, quantity: str | None, as_json: bool) -> None:
    """Print what matters in RUN: how much each setting changes the figures.

    For each kind of test, an analysis of variance divides the differences between the cells among
    the settings and their interactions. On the logarithmic scale, differences are ratios.
    """
    from netlab.experiment.sample import sample_in
    from netlab.report.sections.effects import as_text
    from netlab.results import effects as results
    from netlab.results.run import load

    run = load(folder)
    kinds = results.kind_effects(run.trials, scale, quantity, sample_in(run.plan.content))
    if as_json:
        write_output(None, results.as_json(kinds).encode())
    else:
        write_text(as_text(kinds), None)


@click.command()
@options.RUN
@click.option(
    "--expect",
    "expect_file",
    type=options.FILE,
    metavar="FILE",
    help="A YAML file with an `expect:` list, used in place of the one in the matrix.",
)
@click.option(
    "--baseline",
    type=options.FOLDER,
    metavar="BASELINE",
    help="What `baseline:` expectations are compared with: a run, or history:RUNS, the runs in "
    "a folder.",
)
@options.figure_option(
    *("--no-worse-by", "SHARE", _share),
    "How much worse than --baseline a cell may be, if the matrix sets no limit for it.  "
    "[default: 5 %; of a history 0.5 %]",
)
@options.ANYWAY
@options.JSON
@options.output_option()
@options.QUIET
def check(
    folder: Path,
    expect_file: Path | None,
    baseline: Path | None,
    no_worse_by: float | None,
    anyway: bool,
    as_json: bool,
    output: Path | None,
) -> None:
    """Check RUN against the expectations of its matrix (`expect:`).

    A cell that cannot be judged does not pass, and the reason is printed. The exit codes are the
    same with --anyway: a cell that the baseline lacks cannot be judged.

    \b
    Exit codes
      0    every expectation is met in every cell that it applies to
      1    a run cannot be read
      2    wrong usage, no expectations, or a baseline that differs or has no cell in common
      3    no expectation is missed, but some cells cannot be judged
      5    an expectation is not met
    """
    from netlab.compare.check import check as check_run
    from netlab.report.text.findings import finding_sentences
    from netlab.results.run import load

    if anyway and (baseline is None or str(baseline).startswith(_HISTORY)):
        raise UsageError("--anyway is for a run as --baseline")
    run = load(folder)
    held: Run | HeldRun | None = None
    if with_history := baseline is not None and str(baseline).startswith(_HISTORY):
        from netlab.compare.history import HeldRun, dated_run, history_of

        dated, past = dated_run(run), Path(str(baseline).removeprefix(_HISTORY))
        held = HeldRun(baseline, dated, history_of([past], dated))
    elif baseline is not None:
        held = load(baseline)
    verdict = check_run(
        run,
        held,
        no_worse_by=no_worse_by or (_OF_A_HISTORY if with_history else _OF_A_RUN),
        expect=expect_file,
        say=finding_sentences,
        anyway=anyway,
    )
    if as_json:
        write_output(output, verdict.as_json().encode())
    elif output is not None or not is_quiet():
        write_text(verdict.as_text(), output)
    verdict.raise_for_unmet()


def write_text(text: str, output: Path | None) -> None:
    """Write UTF-8 with line feeds on every system; on a terminal, fit the lines to its width."""
    if output is None and width() is not None:
        show(text.rstrip("\n"))
    else:
        write_output(output, f"{text.rstrip(chr(10))}\n".encode())


@click.command()
@click.argument("folders", type=options.FOLDER, metavar="RUNS...", nargs=-1, required=True)
@options.format_option("text", "markdown", "csv", "json", "html")
@options.LANG
@options.output_option()
def history(folders: tuple[Path, ...], form: str, language: str, output: Path | None) -> None:
    """Find when the cells of many runs changed: nightly runs, or the runs of releases.

    RUNS are run folders, or folders with run folders in them. The runs are ordered by their start.
    The output has each sudden change with its run; `--format html` also has a chart for each cell.

    \b
    Exit codes
      0    the runs were read, whatever the result
      1    a file cannot be written
      2    wrong usage, no run can be read, or ruptures is not installed
    """
    from netlab.compare.history import history_of
    from netlab.report.history import as_csv, as_html, as_json, as_markdown, as_text

    if form in ("csv", "json") and language != "en":
        raise UsageError(f"--lang is for texts; --format {form} is the same in every language")
    wording, result = wording_in(language), history_of(folders)
    match form:
        case "text":
            write_text(as_text(result, wording, width() if output is None else None), output)
        case "html":
            write_output(output, as_html(result, wording).encode("utf-8", "backslashreplace"))
        case "markdown":
            write_output(output, as_markdown(result, wording).encode())
        case _:
            write_output(output, (as_csv if form == "csv" else as_json)(result).encode())
