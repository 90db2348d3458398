"""The command line. Each command's body calls one room; only here errors are caught and printed."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from netlab.cli.compare import check, compare
from netlab.cli.completion import chosen_words
from netlab.cli.imports import import_, show_overview, show_report
from netlab.cli.init import init
from netlab.cli.lab import lab
from netlab.cli.measure import measure
from netlab.cli.options import (
    FILE,
    FOLDER,
    HOSTS,
    JSON,
    MATRIX,
    ONLY,
    REPORT,
    SET,
    Duration,
)
from netlab.cli.output import show, show_usage, tell, write_bytes, write_output
from netlab.cli.probes import probes
from netlab.cli.streams import guard_streams, has_output, settle_streams
from netlab.errors import Interrupted, NetlabError, UsageError
from netlab.report.language.catalogues import languages
from netlab.run.ending import interruptible, raise_swallowed
from netlab.version import VERSION

if TYPE_CHECKING:
    from netlab.run.asked import Options

EXIT_CODES = """\b
Exit codes
  0    every cell is ok or impossible
  1    internal error, or the disk refused
  2    wrong usage, or a wrong matrix or inventory
  3    some cells failed or are pending, or cannot be judged
  4    a host is unreachable, refused us, or is not fit
  5    an expectation is not met
  6    locked by another run
  130, 143, 129   interrupted, terminated, hung up
"""


def main() -> NoReturn:
    """Run the command line; every expected error is one line and an exit code of its own."""
    guard_streams()
    raise_swallowed()
    try:
        if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        cli.main(standalone_mode=False)
    except click.exceptions.Exit as wish:
        _leave(wish.exit_code)
    except click.ClickException as error:
        show_usage(error)
        _leave(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _leave_at_once(130)
    except Interrupted as interrupt:
        # Where a terminal was hung up, nobody can be told.
        with suppress(OSError):
            show(f"netlab: {interrupt}", err=True)
        _leave_at_once(128 + interrupt.signal_number)
    except NetlabError as error:
        for line in str(error).splitlines():
            show(line if isinstance(error, UsageError) else f"netlab: {line}", err=True)
        _leave(error.exit_code)
    except Exception:
        # A defect: its traceback may quote anything.
        show(traceback.format_exc().rstrip("\n"), err=True)
        _leave(1)
    _leave(0)


def _leave(code: int) -> NoReturn:
    sys.exit(settle_streams(code))


def _leave_at_once(code: int) -> NoReturn:
    """Everything is written: no thread that waits on a host, and no library's, holds this up."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXIT_CODES,
)
@click.version_option(VERSION, prog_name="netlab")
def cli() -> None:
    """Measure what a network path and its hosts can do, over a whole matrix of conditions.

    A run is a folder. `netlab run` fills it and can be stopped at any moment: `netlab resume
    FOLDER` goes on with it. Reports are made from the folder and from nothing else.
    """


@cli.command()
@MATRIX
@HOSTS
@click.option(
    "--into",
    type=FOLDER,
    metavar="DIR",
    help="The run folder. One that holds a part of this matrix is resumed. "
    "[default: a new one in runs/]",
)
@ONLY
@SET
@click.option("--retries", type=click.IntRange(0, 10), default=1, show_default=True)
@click.option(
    "--redo",
    multiple=True,
    metavar="WORDS",
    shell_complete=chosen_words,
    help="Measure these cells again: keys, pairings, tests, or `failed`; the old records stay.",
)
@click.option(
    "--wait",
    type=Duration(),
    default=0.0,
    metavar="TIME",
    help="Wait for hosts that another run holds.",
)
@click.option(
    "--patience",
    type=Duration(),
    default="10min",
    show_default=True,
    metavar="TIME",
    help="Once nothing else is left, wait for a host that is away until it was so for this long.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Measure nothing where some cell cannot be measured for want of a host.",
)
@JSON
@REPORT
def run(
    matrix: Path,
    hosts: Path | None,
    into: Path | None,
    only: tuple[str, ...],
    overrides: dict[str, str],
    retries: int,
    redo: tuple[str, ...],
    wait: float,
    patience: float,
    strict: bool,
    as_json: bool,
    with_report: bool,
) -> None:
    """Measure every cell of MATRIX that has not been measured yet, and make the report."""
    from netlab.run.asked import Options

    options = Options(
        matrix=matrix,
        hosts=hosts,
        into=into,
        only=only,
        overrides=overrides,
        retries=retries,
        redo=redo,
        wait_s=wait,
        patience_s=patience,
        strict=strict,
    )
    _measure(options, as_json=as_json, with_report=with_report)


def _measure(options: Options, *, as_json: bool, with_report: bool) -> None:
    from netlab.run.progress import Progress
    from netlab.run.run import run as run_matrix

    progress = Progress(as_json=as_json)
    try:
        with interruptible():
            outcome = run_matrix(options, progress)
    finally:
        progress.end()
    if with_report:
        show_report(outcome.folder, quiet=as_json)
    elif not as_json and has_output():
        show_overview(outcome.folder)
    outcome.raise_for_status()


@cli.command()
@click.argument("folder", type=FOLDER)
@click.option(
    "--hosts",
    type=FILE,
    metavar="FILE",
    help="The inventory of hosts.  [default: the one that the run was begun with]",
)
@JSON
@REPORT
def resume(folder: Path, hosts: Path | None, as_json: bool, with_report: bool) -> None:
    """Go on with the run in FOLDER, by its own matrix and all that was asked of it."""
    from netlab.run.asked import options_to_resume

    _measure(options_to_resume(folder, hosts), as_json=as_json, with_report=with_report)


@cli.command()
@MATRIX
@HOSTS
@ONLY
@SET
@click.option(
    "--offline", is_flag=True, help="Do not ask the hosts of --hosts FILE what they can do."
)
@click.option("--cells", "with_cells", is_flag=True, help="List every cell with its key.")
@click.option("--json", "as_json", is_flag=True, help="The same as JSON on standard output.")
def plan(
    matrix: Path,
    hosts: Path | None,
    only: tuple[str, ...],
    overrides: dict[str, str],
    offline: bool,
    with_cells: bool,
    as_json: bool,
) -> None:
    """Print the cells of MATRIX, the time they take, and what runs at the same time.

    With --hosts each host is asked what it can do, and cells that it cannot measure are named.
    """
    from netlab.run.planning.ask_hosts import asking
    from netlab.run.planning.plan import plan_of
    from netlab.run.planning.plan_text import plan_text

    ask = None if hosts is None or offline else asking(tell)
    made = plan_of(matrix, hosts, only, overrides, ask)
    show(made.as_json() if as_json else plan_text(made, with_cells=with_cells))
    if made.cells and len(made.refused) == len(made.cells):
        raise UsageError(f"{matrix}: no cell can be measured")


@cli.command()
@click.argument("folder", type=FOLDER)
@click.option("--json", "as_json", is_flag=True)
def status(folder: Path, as_json: bool) -> None:
    """Say how far the run in FOLDER is, also while it goes on."""
    from netlab.results.value_types import RUN_CHECK
    from netlab.store.status import status_of

    state = status_of(folder, RUN_CHECK)
    show(state.as_json() if as_json else state.as_text())


@cli.command()
@click.argument("folder", type=FOLDER)
@click.option(
    "--lang",
    "language",
    type=click.Choice(languages()),
    default="en",
    show_default=True,
    help="Language of the tables and charts: headings, axes, decimal marker.",
)
@click.option(
    "--watch",
    "watching",
    is_flag=True,
    help="Keep it current while the run goes on; ends with the run, or by Ctrl-C.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["page", "json"]),
    default="page",
    show_default=True,
    help="json: the findings alone, as an array of objects, instead of the report.",
)
@click.option(
    "--output",
    "-o",
    type=FILE,
    metavar="FILE",
    help="With --format json.  [default: standard output]",
)
def report(folder: Path, language: str, watching: bool, form: str, output: Path | None) -> None:
    """Make the report of the run in FOLDER: tables, plots and index.html, in that folder."""
    if form == "json":
        _write_findings(folder, output, page_words=watching or language != "en")
        return
    if output is not None:
        raise UsageError("--output is of --format json; the report goes into the run folder")
    if not watching:
        show_report(folder, quiet=False, language=language)
        return
    from netlab.report.live import watch

    try:
        with interruptible():
            watch(folder, language, tell)
    except Interrupted as interrupt:
        if interrupt.signal_number != signal.SIGINT:
            raise


def _write_findings(folder: Path, output: Path | None, *, page_words: bool) -> None:
    """The findings for programs: English, whatever the report's language."""
    if page_words:
        raise UsageError("--lang and --watch are of the report; --format json is for programs")
    from netlab.findings.analysis import load
    from netlab.report.text.said import findings_json

    written = findings_json(load(folder))
    if output is not None:
        write_output(output, written)
    else:
        write_bytes(written)


@cli.command()
@click.argument("folder", type=FOLDER)
@click.option(
    "--format",
    "form",
    type=click.Choice(["csv", "json", "parquet"]),
    default="csv",
    show_default=True,
)
@click.option(
    "--columns",
    type=click.Choice(["all", "core"]),
    default="all",
    show_default=True,
    help="core: some 25 that a person looks at first.",
)
@click.option(
    "--output",
    "-o",
    type=FILE,
    metavar="FILE",
    help="[default: standard output, also as -; parquet needs a file]",
)
def export(folder: Path, form: str, columns: str, output: Path | None) -> None:
    """Write the run's table, one row a trial."""
    from netlab.results.export import export as export_run

    if output is None and form == "parquet":
        raise UsageError("parquet is binary: name a file with --output FILE")
    written = export_run(folder, form, core=columns == "core")
    if output is not None:
        write_output(output, written)
    else:
        write_bytes(written)


@cli.command()
@click.argument("file", type=FILE)
@click.option("--json", "as_json", is_flag=True, help="The same as JSON on standard output.")
def hosts(file: Path, as_json: bool) -> None:
    """Look at each host of the inventory FILE, and say whether it is fit to measure."""
    from netlab.run.survey import survey

    seen = survey(file, tell)
    show(seen.as_json() if as_json else seen.as_text())
    seen.raise_for_unfit()


cli.add_command(check)
cli.add_command(compare)
cli.add_command(lab)
cli.add_command(import_)
cli.add_command(init)
cli.add_command(measure)
cli.add_command(probes)
