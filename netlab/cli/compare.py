"""The commands that judge recorded runs: compared with each other, and with expectations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from netlab.cli.options import FILE, FOLDER, JSON, QUIET, RUN, output_option
from netlab.cli.output import Loudness, loudness, show, width, write_output
from netlab.cli.report import FORMAT_HELP
from netlab.errors import UsageError

if TYPE_CHECKING:
    from netlab.compare.history.held_against import HeldRun
    from netlab.results.run import Run

_HISTORY = "history:"
"""Beginning of a ``--baseline`` that names a history."""
_OF_A_RUN, _OF_A_HISTORY = 0.05, 0.005
"""Default of ``--no-worse-by``."""


def _share(_context: click.Context, _parameter: click.Parameter, text: str | None) -> float | None:
    from netlab.units import parse_share

    if text is None:
        return None
    try:
        share = parse_share(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    if not 0 < share < 1:
        raise click.BadParameter(f"{text} is not between 0 % and 100 %")
    return share


@click.command()
@click.argument("baseline", type=FOLDER, metavar="RUN")
@click.argument("contender", type=FOLDER, metavar="[RUN]", required=False)
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
@click.option(
    "--anyway",
    is_flag=True,
    help="Compare runs even if link, tests or settings differ; the output is marked.",
)
@click.option(
    "--margin",
    metavar="SHARE",
    default="0.5 %",
    show_default=True,
    callback=_share,
    help="The smallest difference that counts.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "csv", "json"]),
    default="text",
    show_default=True,
    help=FORMAT_HELP,
)
@output_option()
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
      2    wrong usage, or link, tests or settings of the runs differ
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
@RUN
@click.option(
    "--expect",
    "expect_file",
    type=FILE,
    metavar="FILE",
    help="A YAML file with an `expect:` list, used in place of the one in the matrix.",
)
@click.option(
    "--baseline",
    type=FOLDER,
    metavar="BASELINE",
    help="What `baseline:` expectations are compared with: a run, or history:RUNS, the runs in "
    "a folder.",
)
@click.option(
    "--no-worse-by",
    metavar="SHARE",
    callback=_share,
    help="How much worse than --baseline a cell may be, if the matrix sets no limit for it.  "
    "[default: 5 %; of a history 0.5 %]",
)
@JSON
@output_option()
@QUIET
def check(
    folder: Path,
    expect_file: Path | None,
    baseline: Path | None,
    no_worse_by: float | None,
    as_json: bool,
    output: Path | None,
) -> None:
    """Check RUN against the expectations of its matrix (`expect:`).

    A cell that cannot be judged does not pass, and the reason is printed.

    \b
    Exit codes
      0    every expectation is met in every cell that it applies to
      1    a run cannot be read
      2    wrong usage, no expectations, or a baseline that cannot be compared
      3    no expectation is missed, but some cells cannot be judged
      5    an expectation is not met
    """
    from netlab.compare.check import check as check_run
    from netlab.report.text.finding_sentences import finding_sentences
    from netlab.results.run import load

    run = load(folder)
    with_history = baseline is not None and str(baseline).startswith(_HISTORY)
    verdict = check_run(
        run,
        None if baseline is None else _held(run, baseline) if with_history else load(baseline),
        no_worse_by=no_worse_by or (_OF_A_HISTORY if with_history else _OF_A_RUN),
        expect=expect_file,
        say=finding_sentences,
    )
    if as_json:
        write_output(output, verdict.as_json().encode())
    elif output is not None or loudness() is not Loudness.QUIET:
        write_text(verdict.as_text(), output)
    verdict.raise_for_unmet()


def _held(run: Run, baseline: Path) -> HeldRun:
    """The run with the history that ``history:RUNS`` names."""
    from netlab.compare.history.held_against import HeldRun
    from netlab.compare.history.history import history_of
    from netlab.compare.history.read_runs import dated_run, read_runs

    folder = Path(str(baseline).removeprefix(_HISTORY))
    dated = dated_run(run)
    return HeldRun(baseline, dated, history_of(read_runs([folder], without=run.path), dated))


def write_text(text: str, output: Path | None) -> None:
    """Write UTF-8 with line feeds on every system; on a terminal, fit the lines to its width."""
    if output is None and width() is not None:
        show(text.rstrip("\n"))
    else:
        write_output(output, f"{text.rstrip(chr(10))}\n".encode())
