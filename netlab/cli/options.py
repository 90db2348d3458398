"""What several commands take: files, the options of a matrix, a rate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

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


def _pair(_context: click.Context, _parameter: click.Parameter, words: Any) -> dict[str, str]:
    pairs = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{word!r} is not NAME=VALUE, such as duration=1s")
        pairs[name] = value
    return pairs


SET = click.option(
    "--set",
    "overrides",
    metavar="NAME=VALUE",
    multiple=True,
    callback=_pair,
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
    help="Only these pairings or tests: ll, 'w*', nas+laptop,round_trip (may be given again).",
)
