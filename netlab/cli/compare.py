"""The commands that judge recorded runs: beside each other, and against what was expected."""

from __future__ import annotations

from pathlib import Path

import click

from netlab.cli.options import FILE, FOLDER, JSON, QUIET, RUN, output_option
from netlab.cli.output import Loudness, loudness, show, width, write_output
from netlab.cli.report import FORMAT_HELP
from netlab.errors import UsageError


def _share(_context: click.Context, _parameter: click.Parameter, text: str) -> float:
    from netlab.units import parse_share

    try:
        share = parse_share(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    if not 0 < share < 1:
        raise click.BadParameter(f"{text}: between 0 % and 100 %")
    return share


@click.command()
@click.argument("baseline", type=FOLDER, metavar="RUN")
@click.argument("contender", type=FOLDER, metavar="[RUN]", required=False)
@click.option(
    "--by",
    metavar="AXIS",
    help="Compare the levels of an axis within the one run: pairing, congestion, …",
)
@click.option(
    "--against",
    metavar="LEVEL",
    help="With --by: the level that the others are compared with.  [default: the first]",
)
@click.option(
    "--anyway",
    is_flag=True,
    help="Compare runs that differ in what must agree; the output is marked.",
)
@click.option(
    "--margin",
    metavar="SHARE",
    default="0.5 %",
    show_default=True,
    callback=_share,
    help="Differences below this are not called different.",
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

    Each line has the ratio with its interval, and whether it is different, the same within the
    margin, not shown to be different, or cannot be told (n = 1), among all of them together.

    \b
    Exit codes
      0    compared, whatever came out
      1    a run cannot be read
      2    wrong usage, or runs that differ in what must agree (link, tests, settings)
    """
    if (contender is None) == (by is None):
        raise UsageError("compare two runs, or one run with --by AXIS")
    if against is not None and by is None:
        raise UsageError("--against names a level of the axis of --by")
    if anyway and by is not None:
        raise UsageError("--anyway is for two runs; the cells of one agree")
    from netlab.compare.runs import compare_levels, compare_runs
    from netlab.report.comparison_text import WRITERS, as_text
    from netlab.results.run import load

    run = load(baseline)
    if contender is None:
        found = compare_levels(run, by or "", against, margin=margin)
    else:
        found = compare_runs(run, load(contender), anyway=anyway, margin=margin)
    if form == "text":
        _write_text(as_text(found, width() if output is None else None), output)
    else:
        write_output(output, WRITERS[form](found).encode())


@click.command()
@RUN
@click.option(
    "--expect",
    "expect_file",
    type=FILE,
    metavar="FILE",
    help="What is expected, in place of the matrix's `expect:`: a YAML file with such a list.",
)
@click.option(
    "--baseline",
    type=FOLDER,
    metavar="RUN",
    help="The run that `baseline:` expectations are held against.",
)
@click.option(
    "--no-worse-by",
    metavar="SHARE",
    default="5 %",
    show_default=True,
    callback=_share,
    help="What --baseline means where the matrix expects nothing of one.",
)
@JSON
@output_option()
@QUIET
def check(
    folder: Path,
    expect_file: Path | None,
    baseline: Path | None,
    no_worse_by: float,
    as_json: bool,
    output: Path | None,
) -> None:
    """Check RUN against what its matrix expects (`expect:`).

    A cell that cannot be judged is not a pass, and its reason is said.

    \b
    Exit codes
      0    every expectation is met in every cell that it is about
      1    a run cannot be read
      2    wrong usage, nothing is expected, or a baseline that cannot be compared
      3    none is missed, but some cells cannot be judged
      5    an expectation is not met
    """
    from netlab.compare.check import check as check_run
    from netlab.report.text.said import said_findings
    from netlab.results.run import load

    found = check_run(
        load(folder),
        None if baseline is None else load(baseline),
        no_worse_by=no_worse_by,
        expect=expect_file,
        say=said_findings,
    )
    if as_json:
        write_output(output, found.as_json().encode())
    elif output is not None or loudness() is not Loudness.QUIET:
        _write_text(found.as_text(), output)
    found.raise_for_unmet()


def _write_text(text: str, output: Path | None) -> None:
    """UTF-8 with line feeds, whatever the system's own are; for a terminal as wide as that is."""
    if output is None and width() is not None:
        show(text.rstrip("\n"))
    else:
        write_output(output, f"{text.rstrip(chr(10))}\n".encode())
