"""The command line. Each command's body calls one room; only here errors are caught and printed."""

from __future__ import annotations

import gc
import os
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from netlab.cli.compare import check, compare
from netlab.cli.imports import import_
from netlab.cli.init import init
from netlab.cli.lab import lab
from netlab.cli.measure import measure
from netlab.cli.options import (
    FILE,
    HOSTS,
    JSON,
    MATRIX,
    ONLY,
    QUIET,
    REDO,
    REPORT,
    RUN,
    SET,
    Duration,
    hosts_option,
    into_option,
    loudness_options,
)
from netlab.cli.output import (
    Loudness,
    loudness,
    set_loudness,
    show,
    show_data,
    show_usage,
    tell,
    width,
)
from netlab.cli.probes import probes
from netlab.cli.report import export, report, show_overview, show_report
from netlab.cli.streams import guard_streams, has_output, settle_streams
from netlab.errors import Interrupted, NetlabError, UsageError
from netlab.runner.ending import interruptible, raise_swallowed
from netlab.version import VERSION

if TYPE_CHECKING:
    from netlab.runner.asked import Options

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

COLLECTOR_THRESHOLDS = 50_000, 20, 100
"""A run's records live until the command ends: to go through them as often as by default takes a
tenth of a report's time."""


def main() -> NoReturn:
    """Run the command line; every expected error is one line and an exit code of its own."""
    guard_streams()
    raise_swallowed()
    gc.set_threshold(*COLLECTOR_THRESHOLDS)
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

    A run is a folder. `netlab run` fills it and can be stopped at any moment: `netlab resume RUN`
    goes on with it. Reports are made from the folder and from nothing else.
    """
    set_loudness(Loudness.NORMAL)


@cli.command()
@MATRIX
@HOSTS
@into_option("a new one in runs/")
@ONLY
@SET
@click.option(
    "--retries",
    type=click.IntRange(0, 10),
    default=1,
    show_default=True,
    help="How often a trial that failed is tried again.",
)
@REDO
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
@loudness_options
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
    """Measure every cell of MATRIX that has not been measured yet, and make the report.

    Where the folder holds a part of this matrix already, only the rest is measured.
    """
    from netlab.runner.asked import Options

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
    from netlab.runner.progress import Progress
    from netlab.runner.run import run as run_matrix

    quiet = loudness() is Loudness.QUIET
    verbose = loudness() is Loudness.VERBOSE
    progress = Progress(as_json=as_json, quiet=quiet, verbose=verbose)
    try:
        with interruptible():
            outcome = run_matrix(options, progress)
    finally:
        progress.end()
    if with_report:
        show_report(outcome.folder, as_json=as_json)
    elif not as_json and has_output():
        show_overview(outcome.folder)
    outcome.raise_for_status()


@cli.command()
@RUN
@hosts_option("the one that the run was begun with")
@REDO
@JSON
@REPORT
@loudness_options
def resume(
    folder: Path, hosts: Path | None, redo: tuple[str, ...], as_json: bool, with_report: bool
) -> None:
    """Go on with RUN, by its own matrix and all that was asked of it.

    With --redo nothing else is measured.
    """
    from netlab.runner.asked import options_to_resume

    _measure(options_to_resume(folder, hosts, redo), as_json=as_json, with_report=with_report)


@cli.command()
@MATRIX
@HOSTS
@ONLY
@SET
@click.option(
    "--offline", is_flag=True, help="Do not ask the hosts of --hosts FILE what they can do."
)
@click.option("--cells", "with_cells", is_flag=True, help="List every cell with its key.")
@JSON
@QUIET
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
    from netlab.runner.planning.ask_hosts import asking
    from netlab.runner.planning.plan import plan_of
    from netlab.runner.planning.plan_text import plan_text

    ask = None if hosts is None or offline else asking(tell)
    made = plan_of(matrix, hosts, only, overrides, ask)
    if as_json:
        show_data(made.as_json())
    else:
        show(plan_text(made, with_cells=with_cells, width=width()))
    if made.cells and len(made.refused) == len(made.cells):
        raise UsageError(f"{matrix}: no cell can be measured")


@cli.command()
@RUN
@JSON
def status(folder: Path, as_json: bool) -> None:
    """Say how far RUN is, also while it goes on."""
    from netlab.results.value_types import RUN_CHECK
    from netlab.store.status import status_of

    state = status_of(folder, RUN_CHECK)
    if as_json:
        show_data(state.as_json())
    else:
        show(state.as_text())


@cli.command()
@click.argument("file", type=FILE)
@JSON
@loudness_options
def hosts(file: Path, as_json: bool) -> None:
    """Look at each host of the inventory FILE, and say whether it is fit to measure."""
    from netlab.runner.survey import survey

    seen = survey(file, tell)
    if as_json:
        show_data(seen.as_json())
    elif text := seen.as_text(width(), only_unfit=loudness() is Loudness.QUIET):
        show(text)
    seen.raise_for_unfit()


cli.add_command(check)
cli.add_command(compare)
cli.add_command(export)
cli.add_command(lab)
cli.add_command(import_)
cli.add_command(init)
cli.add_command(measure)
cli.add_command(probes)
cli.add_command(report)
