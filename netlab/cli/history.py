"""The command that reads the same cells over many runs."""

from __future__ import annotations

from pathlib import Path

import click

from netlab.cli.compare import write_text
from netlab.cli.options import FOLDER, LANG, output_option
from netlab.cli.output import width, write_output
from netlab.cli.report import FORMAT_HELP
from netlab.errors import UsageError


@click.command()
@click.argument("folders", type=FOLDER, metavar="RUNS...", nargs=-1, required=True)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "csv", "json", "html"]),
    default="text",
    show_default=True,
    help=FORMAT_HELP,
)
@LANG
@output_option()
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
    from netlab.compare.history.history import history_of
    from netlab.compare.history.read_runs import read_runs
    from netlab.report.history.formats import as_csv, as_json, as_markdown, as_text
    from netlab.report.language import wording_in

    if form in ("csv", "json") and language != "en":
        raise UsageError(f"--lang is for texts; --format {form} is the same in every language")
    wording, result = wording_in(language), history_of(read_runs(folders))
    match form:
        case "text":
            write_text(as_text(result, wording, width() if output is None else None), output)
        case "html":
            from netlab.report.page.plain.history import history_page

            write_output(output, history_page(result, wording).encode("utf-8", "backslashreplace"))
        case "markdown":
            write_output(output, as_markdown(result, wording).encode())
        case _:
            write_output(output, (as_csv if form == "csv" else as_json)(result).encode())
