"""The command line. Each command's body calls one package; errors are caught and printed here."""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import traceback
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from netlab.cli import lab, measure, options, output, report
from netlab.errors import Interrupted, NetlabError, UsageError
from netlab.interpreter import without_collector
from netlab.report import report_of
from netlab.runner.ending import interruptible, raise_swallowed
from netlab.units import parse_seconds
from netlab.version import VERSION

if TYPE_CHECKING:
    from netlab.runner.options import Options
    from netlab.runner.places import AskHosts

EXIT_CODES = """\b
Exit codes
  0    every cell is ok or impossible
  1    internal error; or cannot build the probe, use the run folder or write the output
  2    wrong usage, or an error in a matrix or inventory
  3    some cells failed, are pending or cannot be judged
  4    a host is unreachable, refused us, or is not fit
  5    an expectation is not met
  6    locked by another run
  130, 143, 129   interrupted, terminated, hung up
"""

COLLECTOR_THRESHOLDS = 50_000, 20, 100
"""The records of a run (its results) stay in memory until the command ends. With Python's default
thresholds the garbage collector would visit them so often that this takes a tenth of a report's
time."""


def main() -> NoReturn:
    """Run the command line. Every expected error is printed in one line and sets the exit code."""
    output.guard_streams()
    raise_swallowed()
    gc.set_threshold(*COLLECTOR_THRESHOLDS)
    try:
        if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        cli.main(standalone_mode=False)
    except click.exceptions.Exit as leaving:
        _leave(leaving.exit_code)
    except click.ClickException as error:
        output.show_usage(error)
        _leave(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _leave_at_once(130)
    except Interrupted as interrupt:
        # If the terminal was hung up, nobody can read the message.
        with suppress(OSError):
            output.show(f"netlab: {interrupt}", err=True)
        _leave_at_once(128 + interrupt.signal_number)
    except NetlabError as error:
        for line in str(error).splitlines():
            output.show(line if isinstance(error, UsageError) else f"netlab: {line}", err=True)
        _leave(error.exit_code)
    except Exception:
        # The traceback of a defect may quote any text, so it is cleaned like other output.
        output.show(traceback.format_exc().rstrip("\n"), err=True)
        _leave(1)
    _leave(0)


def _leave(code: int) -> NoReturn:
    gc.freeze()  # a last pass of the collector through all objects would free nothing in time
    sys.exit(output.settle_streams(code))


def _leave_at_once(code: int) -> NoReturn:
    """Exit without waiting for threads of libraries, or for threads that wait for a host."""
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

    A run is a folder. `netlab run` fills it and can be stopped at any moment; `netlab resume RUN`
    resumes it. Reports are made from the folder and from nothing else.
    """
    output.set_loudness(output.Loudness.NORMAL)


@cli.command()
@options.MATRIX
@options.HOSTS
@options.into_option("a new one in runs/")
@options.ONLY
@options.SET
@click.option(
    "--retries",
    type=click.IntRange(0, 10),
    default=1,
    show_default=True,
    help="How often a failed trial is repeated.",
)
@options.REDO
@options.figure_option(
    *("--wait wait_s", "TIME", parse_seconds),
    "Wait this long for hosts that another run is using.",
    default="0s",
)
@options.figure_option(
    *("--patience patience_s", "TIME", parse_seconds),
    "When only cells of absent hosts are left, wait until a host has been away this long.",
    default="10min",
    show_default=True,
)
@click.option(
    "--strict", is_flag=True, help="Measure nothing if a host is missing for any of the cells."
)
@click.option(
    "--cluster",
    metavar="WHERE",
    help="Measure at dask workers: tls://SCHEDULER:PORT, local:N on this machine, or dask "
    "(its configuration).",
)
@click.option("--insecure", is_flag=True, help="Allow a scheduler elsewhere without TLS.")
@options.JSON
@options.REPORT
@options.loudness_options
def run(as_json: bool, **asked: Any) -> None:
    """Measure every cell of MATRIX that has not been measured yet, and make the report.

    If the folder already has results of this matrix, only the missing cells are measured.
    """
    from netlab.runner.options import Options

    _measure(Options(**asked), as_json=as_json)  # each parameter has the name of a field


def _measure(asked: Options, *, as_json: bool) -> None:
    from netlab.runner.progress import Progress
    from netlab.runner.run import run as run_matrix

    progress = Progress(as_json=as_json, quiet=output.is_quiet(), verbose=output.is_verbose())
    try:
        with interruptible():
            outcome = run_matrix(asked, progress)
    finally:
        progress.end()
    if outcome.report is not None:
        report.show_written(outcome.report, as_json=as_json)
    elif output.has_output():
        report.show_answer(outcome.folder, as_json=as_json)
    outcome.raise_for_status()


@cli.command()
@options.RUN
@options.hosts_option("the one that the run was started with")
@options.REDO
@options.SET
@options.JSON
@options.REPORT
@options.loudness_options
def resume(folder: Path, as_json: bool, with_report: bool, **asked: Any) -> None:
    """Resume RUN with its own matrix and its original options.

    With --redo, only the cells named there are measured. --set sample.cells=N measures a larger
    sample.
    """
    from netlab.runner.options import options_to_resume

    _measure(replace(options_to_resume(folder, **asked), with_report=with_report), as_json=as_json)


@cli.command()
@options.MATRIX
@options.HOSTS
@options.ONLY
@options.SET
@click.option("--offline", is_flag=True, help="Do not contact the hosts of --hosts FILE.")
@click.option("--cells", "with_cells", is_flag=True, help="List every cell with its key.")
@options.JSON
@options.QUIET
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

    With --hosts, netlab asks each host what it can do, and names the cells that cannot be measured.
    """
    from netlab.runner.planning import plan_of, plan_text

    ask: AskHosts | None = None
    if hosts is not None and not offline:
        from netlab.runner.places import asking

        ask = asking(output.notify)
    with without_collector():
        expanded = plan_of(matrix, hosts, only, overrides, ask)
        text = (
            expanded.as_json()
            if as_json
            else plan_text(expanded, with_cells=with_cells, width=output.width())
        )
    (output.show_data if as_json else output.show)(text)
    if expanded.cells and len(expanded.refused) == len(expanded.cells):
        raise UsageError(f"{matrix}: no cell can be measured")


@cli.command()
@options.RUN
@options.JSON
def status(folder: Path, as_json: bool) -> None:
    """Print the progress of RUN, also while it is being measured."""
    from netlab.results.arrow.run_parts import is_large
    from netlab.results.value_types import RUN_CHECK
    from netlab.store.reader import status_of

    state = status_of(folder, RUN_CHECK)
    # That of a very large run takes longer than a status may take.
    contents = report_of(folder) if state.ok and not is_large(folder) else None
    answer = contents and contents.answer
    if as_json:
        data = {**state.as_dict(), "answer": answer and answer.as_dict()}
        output.show_data(json.dumps(data, indent=1))
    else:
        output.show(state.as_text())
        if contents and answer:
            output.show(f"\n{contents.overview_text(output.width())}")


@cli.command()
@click.argument("file", type=options.FILE)
@options.JSON
@options.loudness_options
def hosts(file: Path, as_json: bool) -> None:
    """Check each host of the inventory FILE, and report whether it is fit to measure.

    Settings of a host that an earlier run changed and did not put back are put back.
    """
    from netlab.runner.survey import survey

    result = survey(file, output.notify)
    if as_json:
        output.show_data(result.as_json())
    elif text := result.as_text(output.width(), only_unfit=output.is_quiet()):
        output.show(text)
    result.raise_for_unfit()


for command in (
    *(report.check, report.compare, report.effects, report.export, report.history, report.import_),
    report.report,
    *(lab.lab, lab.probes, measure.init, measure.measure),
):
    cli.add_command(command)
