"""The commands that make a run folder out of results from elsewhere, and its report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlab.cli.options import FILE, FOLDER, rate_of
from netlab.cli.output import show

if TYPE_CHECKING:
    from netlab.imports import CommandOption, Importer


class _ImportGroup(click.Group):
    """A command for each importer that netlab.imports has; loaded when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from netlab.imports import importer_names

        return importer_names()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from netlab.imports import importer

        return (
            _command(cmd_name, importer(cmd_name)) if cmd_name in self.list_commands(ctx) else None
        )


@click.group("import", cls=_ImportGroup)
def import_() -> None:
    """Make a run folder out of results from elsewhere."""


def _common() -> list[click.Parameter]:
    """What every import takes, in the order of its help."""
    return [
        click.Argument(["table"], type=FILE),
        click.Option(
            ["--into"],
            type=FOLDER,
            metavar="DIR",
            help="The run folder to make.  [default: runs/ and the file's name]",
        ),
        click.Option(["--title"], help="What the table is.  [default: the file's name]"),
        click.Option(
            ["--rate"],
            default="100Mbit",
            show_default=True,
            help="Rate of the link it was measured on.",
        ),
        click.Option(["--mtu"], type=click.IntRange(68, 65535), default=1500, show_default=True),
        click.Option(
            ["--facts"],
            type=FILE,
            metavar="FILE",
            help="What the document states beside the table, as YAML: docs/run-folder.md.",
        ),
    ]


def _command(name: str, importer: Importer) -> click.Command:
    def run(table: Path, into: Path | None, rate: str, mtu: int, **known: Any) -> None:
        from netlab.experiment.matrix import Link

        link = Link(rate_of(rate), mtu)
        into = into or Path("runs") / table.stem
        show_report(importer.read(table, into, link=link, **known), quiet=False)

    params = [*_common(), *map(_option, importer.options)]
    return click.Command(name, callback=run, params=params, help=importer.help)


def _option(option: CommandOption) -> click.Option:
    def convert(_context: click.Context, _parameter: click.Parameter, given: Any) -> Any:
        try:
            return given if option.convert is None else option.convert(given)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return click.Option(
        [option.flag, option.name],
        type=click.STRING if option.limits is None else click.IntRange(*option.limits),
        default=option.default,
        show_default=option.default is not None,
        multiple=option.repeated,
        metavar=option.metavar,
        callback=convert,
        help=option.help,
    )


def show_overview(folder: Path) -> None:
    """The means of a run, and nothing on the disk."""
    from netlab.findings.analysis import load
    from netlab.report import overview_text

    show(overview_text(load(folder)))


def show_report(folder: Path, *, quiet: bool, language: str = "en") -> None:
    """Make the report of a run folder, and say where it is; not ``quiet``: with the means."""
    from netlab.findings.analysis import load
    from netlab.report import Report
    from netlab.report.language import wording_in

    loaded = load(folder)
    report = Report(loaded, wording_in(language))
    page = report.write()
    if quiet:
        show(page, err=True)
    else:
        show(report.overview_text())
        show(f"report: {page}")
