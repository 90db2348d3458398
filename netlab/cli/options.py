"""What several commands take: files, the options of a matrix, a rate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from netlab.cli.completion import chosen_words
from netlab.errors import UsageError

FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)


def _matrix(_context: click.Context, _parameter: click.Parameter, given: Path) -> Path:
    from netlab.config.shipped import matrix_file

    return matrix_file(given)


MATRIX = click.argument("matrix", type=FILE, callback=_matrix)
"""A file, or the name of a matrix that netlab brings along."""


def rate_of(text: str, option: str = "--rate") -> float:
    """bit/s that an option says; UsageError where it is no rate."""
    from netlab.units import parse_rate

    try:
        return parse_rate(text)
    except ValueError as error:
        raise UsageError(f"{option} {text}: {error}") from None


class Duration(click.ParamType):  # type: ignore[type-arg]  # of click 8.2 and before none
    """A time as it is written everywhere, such as 10s or 2min; a bare number is in seconds."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Seconds."""
        from netlab.units import parse_seconds

        try:
            return parse_seconds(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def pairs_of(form: str, example: str, *, may_be_empty: bool) -> Callable[..., dict[str, str]]:
    """Reads words such as NAME=VALUE, the ``form``; whether the part behind ``=`` may be empty."""

    def read(_context: click.Context, _parameter: click.Parameter, words: Any) -> dict[str, str]:
        pairs = {}
        for word in words:
            name, equals, value = word.partition("=")
            if not (equals and name and (value or may_be_empty)):
                raise click.BadParameter(f"{word!r} is not {form}, such as {example}")
            pairs[name] = value
        return pairs

    return read


SET = click.option(
    "--set",
    "overrides",
    metavar="NAME=VALUE",
    multiple=True,
    callback=pairs_of("NAME=VALUE", "duration=1s", may_be_empty=True),
    help="Set a default of the matrix, such as duration=1s; recorded in the run.",
)
HOSTS = click.option(
    "--hosts",
    type=FILE,
    metavar="FILE",
    help="The inventory of hosts. Without it the matrix has a `hosts:` section of its own.",
)
ONLY = click.option(
    "--only",
    multiple=True,
    metavar="WORDS",
    shell_complete=chosen_words,
    help="Only these pairings or tests: ll, 'w*', nas+laptop,round_trip (may be given again).",
)
JSON = click.option(
    "--json", "as_json", is_flag=True, help="A JSON line a record on standard output."
)
REPORT = click.option(
    "--report/--no-report", "with_report", default=True, help="Make the report at the end."
)
