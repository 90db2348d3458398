"""The commands that make a run folder out of results from elsewhere, and its report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlab.cli.options import (
    FILE,
    FOLDER,
    INTO_HELP,
    LINK_HELP,
    MTU_HELP,
    MTU_RANGE,
    PATH,
    loudness_options,
    rate_of,
    with_default,
)
from netlab.cli.report import show_report

if TYPE_CHECKING:
    from netlab.imports import CommandOption


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

        def run(into: Path | None, link: str | None, mtu: int, **context: Any) -> None:
            from netlab.ethernet import Link

            source = context.pop("files") if chosen.is_of_files else context.pop("table")
            cable = None if link is None else Link(rate_of(link, "--link"), mtu)
            first: Path = source[0] if chosen.is_of_files else source
            into = into or Path("runs") / (first.stem or cmd_name)
            show_report(chosen.read(source, into, link=cable, **context))

        params = [*_common(is_of_files=chosen.is_of_files), *map(_option, chosen.options)]
        command = click.Command(cmd_name, callback=run, params=params, help=chosen.help)
        return loudness_options(command)


@click.group("import", cls=_ImportGroup)
def import_() -> None:
    """Make a run folder out of results of other tools or documents."""


def _common(*, is_of_files: bool) -> list[click.Parameter]:
    """Parameters that every import takes, in the order of its help."""
    return [
        click.Argument(["files"], type=PATH, nargs=-1, required=True, metavar="FILES...")
        if is_of_files
        else click.Argument(["table"], type=FILE),
        click.Option(
            ["--into"],
            type=FOLDER,
            metavar="DIR",
            help=with_default(INTO_HELP, "runs/ and the file's name"),
        ),
        click.Option(["--title"], help="Title of the run.  [default: the file's name]"),
        click.Option(
            ["--link"],
            metavar="RATE",
            default=None if is_of_files else "100Mbit",
            show_default=not is_of_files,
            help=LINK_HELP,
        ),
        click.Option(["--mtu"], type=MTU_RANGE, default=1500, show_default=True, help=MTU_HELP),
        click.Option(
            ["--facts"],
            type=FILE,
            metavar="FILE",
            help="Facts that the document states outside the table, as YAML: docs/run-folder.md.",
        ),
    ]


def _option(option: CommandOption) -> click.Option:
    def convert(_context: click.Context, _parameter: click.Parameter, value: Any) -> Any:
        try:
            return value if option.convert is None else option.convert(value)
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
