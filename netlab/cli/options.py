"""Parameters of several commands, each defined once, with their shell completion."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from netlab.cli.output import Loudness, set_loudness
from netlab.errors import NetlabError, UsageError
from netlab.report.language import languages
from netlab.units import parse_rate

INVENTORY = Path("lab.yaml")
"""The inventory that `netlab init` writes and `measure` looks for."""


def host_names(context: click.Context, _parameter: click.Parameter, prefix: str) -> list[str]:
    """Names of the hosts in the file of ``--hosts``, or in ``lab.yaml`` without that option."""
    from netlab.config.inventory import load_inventory

    try:
        hosts = load_inventory(Path(context.params.get("hosts") or INVENTORY)).hosts
    except NetlabError:
        return []
    return _beginning(prefix, (host.name for host in hosts))


def chosen_words(context: click.Context, parameter: click.Parameter, prefix: str) -> list[str]:
    """Pairings and kinds of test in the matrix or the run that the command line names.

    For ``--redo``, also the keys of the cells, and ``failed``.
    """
    from netlab.config.matrix_file import load_matrix, matrix_file
    from netlab.experiment.matrix import expand

    # While an option's value is being typed, click has not parsed the arguments.
    unread = (word for word in context.args if not word.startswith("-"))
    options = (context.params.get(name) for name in ("matrix", "folder"))
    source = next(filter(None, options), None) or next(unread, None)
    if source is None:
        return []
    matrix = Path(source)
    if matrix.is_dir():
        matrix /= "matrix.yaml"
    try:
        cells = expand(load_matrix(matrix_file(matrix), None, context.params.get("hosts")))
    except NetlabError:
        return []
    words = [word for cell in cells for word in (cell.pairing, cell.test)]
    if parameter.name == "redo":
        words += ["failed", *(cell.key for cell in cells)]
    # In a list, only the last word is being typed.
    head, comma, last = prefix.rpartition(",")
    return [head + comma + word for word in _beginning(last, dict.fromkeys(words))]


def _beginning(prefix: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.casefold().startswith(prefix.casefold())]


Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Command = TypeVar("Command", bound="Callable[..., Any] | click.Command")

FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)
PATH = click.Path(path_type=Path)
RUN = click.argument("folder", type=FOLDER, metavar="RUN")
"""The folder of a run."""


def _matrix(_context: click.Context, _parameter: click.Parameter, path: Path) -> Path:
    from netlab.config.matrix_file import matrix_file

    return matrix_file(path)


MATRIX = click.argument("matrix", type=FILE, callback=_matrix)
"""A file, or the name of a matrix that is installed with netlab."""


def read_by(parse: Callable[[Any], Any]) -> Callable[..., Any]:
    """A callback that reads what was typed, such as 2min; UsageError with the option's name."""

    def read(_context: click.Context, parameter: click.Parameter, text: Any) -> Any:
        try:
            return None if text is None else parse(text)
        except ValueError as error:
            raise UsageError(f"{parameter.opts[0]}: {error}") from None

    return read


def figure_option(
    names: str, metavar: str, parse: Callable[[str], Any], words: str, **more: Any
) -> Callable[[Decorated], Decorated]:
    """An option with a figure; ``names``: as click takes them; ``words``: its help."""
    reads = read_by(parse)
    return click.option(*names.split(), metavar=metavar, callback=reads, help=words, **more)


def pairs_of(form: str, example: str, *, may_be_empty: bool) -> Callable[..., dict[str, str]]:
    """A callback that reads words such as NAME=VALUE (the ``form``) into a dict.

    ``may_be_empty``: whether the part after ``=`` may be empty.
    """

    def read(_context: click.Context, _parameter: click.Parameter, words: Any) -> dict[str, str]:
        pairs = {}
        for word in words:
            name, equals, value = word.partition("=")
            if not (equals and name and (value or may_be_empty)):
                raise click.BadParameter(f"{word!r} is not {form}, such as {example}")
            pairs[name] = value
        return pairs

    return read


def with_default(sentence: str, default: str) -> str:
    """An option's help with its default, in click's form."""
    return f"{sentence}  [default: {default}]" if default else sentence


def hosts_option(words: str = "", **more: Any) -> Callable[[Decorated], Decorated]:
    """The option ``--hosts FILE``; ``words`` describe its default."""
    help_ = with_default("The inventory of hosts.", words)
    return click.option("--hosts", type=FILE, metavar="FILE", help=help_, **more)


def into_option(default: str = "") -> Callable[[Decorated], Decorated]:
    """The option ``--into DIR``; ``default`` describes its default."""
    help_ = with_default("The folder to write into.", default)
    return click.option("--into", type=FOLDER, metavar="DIR", help=help_)


def link_option(words: str = "", **more: Any) -> Callable[[Decorated], Decorated]:
    """The option ``--link RATE`` in bit/s; ``words`` describe its default."""
    help_ = with_default("Rate of the link between the hosts, such as 100Mbit.", words)
    return figure_option("--link", "RATE", parse_rate, help_, **more)


def mtu_option(words: str = "") -> Callable[[Decorated], Decorated]:
    """The option ``--mtu``; ``words`` describe its default if that is not 1500."""
    help_ = with_default("MTU of the link in bytes.", words)
    shown: dict[str, Any] = {} if words else {"default": 1500, "show_default": True}
    return click.option("--mtu", type=click.IntRange(68, 65535), help=help_, **shown)


def overhead_option() -> Callable[[Decorated], Decorated]:
    """The option ``--overhead`` of a link through a tunnel, in bytes."""
    help_ = "Bytes that a tunnel adds to each packet, such as 60 (WireGuard)."
    sizes = click.IntRange(0, 1000)
    return click.option("--overhead", metavar="BYTES", type=sizes, default=0, help=help_)


def format_option(*forms: str) -> Callable[[Decorated], Decorated]:
    """The option ``--format``; the first form is the default."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(forms),
        default=forms[0],
        show_default=True,
        help="Output format.",
    )


def output_option(default: str = "standard output") -> Callable[[Decorated], Decorated]:
    """The option ``-o FILE`` (``-`` is standard output); ``default`` describes its default."""
    help_ = with_default("The file to write; - is standard output.", default)
    return click.option("--output", "-o", type=FILE, metavar="FILE", help=help_)


SET = click.option(
    "--set",
    "overrides",
    metavar="NAME=VALUE",
    multiple=True,
    callback=pairs_of("NAME=VALUE", "duration=1s", may_be_empty=True),
    help="Override a setting of the matrix, such as duration=1s; recorded in the run.",
)
HOSTS = hosts_option("the `hosts:` section of the matrix")
ONLY = click.option(
    "--only",
    multiple=True,
    metavar="WORDS",
    shell_complete=chosen_words,
    help="Only these pairings or tests: ll, 'w*', nas+laptop,round_trip (may be repeated).",
)
ANYWAY = click.option(
    "--anyway",
    is_flag=True,
    help="Compare runs even if link, tests or settings differ; the output is marked.",
)
JSON = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print JSON instead of text; while measuring, one line per record.",
)
LANG = click.option(
    "--lang",
    "language",
    type=click.Choice(languages()),
    default="en",
    show_default=True,
    help="Language of the tables and charts: headings, axes, decimal marker.",
)
REDO = click.option(
    "--redo",
    multiple=True,
    metavar="WORDS",
    shell_complete=chosen_words,
    help="Measure these cells again: keys, pairings, tests, or `failed`. Old records are kept.",
)
REPORT = click.option(
    "--report/--no-report", "with_report", default=True, help="Make the report at the end."
)


def _loud(loudness: Loudness, words: str) -> Callable[[Command], Command]:
    name = loudness.name.lower()
    opposite = {"quiet": "verbose", "verbose": "quiet"}[name]

    def read(context: click.Context, parameter: click.Parameter, flag: bool) -> None:
        if not flag:
            return
        if context.meta.setdefault(__name__, parameter.name) != parameter.name:
            raise click.UsageError(
                f"--{parameter.name} and --{opposite} exclude each other", context
            )
        set_loudness(loudness)

    return click.option(
        f"--{name}", f"-{name[0]}", is_flag=True, expose_value=False, callback=read, help=words
    )


QUIET = _loud(Loudness.QUIET, "Print only the result, such as the path of the report, and errors.")
VERBOSE = _loud(
    Loudness.VERBOSE,
    "Print each request to a host with its duration; while measuring, every trial.",
)


def loudness_options(command: Command) -> Command:
    """The options ``--quiet`` and ``--verbose``, for commands that print more than their result."""
    return QUIET(VERBOSE(command))
