"""Makes the manual page of netlab, docs/man/netlab.1, from the commands' help.

``python docs/scripts/man_page.py`` (``make docs``) updates it; a test checks that it is current.
Each command is a section of this one page: open `man netlab` and search for its name.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

from netlab.cli import cli
from netlab.version import VERSION

PAGE = Path(__file__).resolve().parent.parent / "man" / "netlab.1"
ENVIRONMENT = {
    "NO_COLOR": "If it is set and not empty, output has no colours (https://no-color.org).",
    "COLUMNS": "Overrides the width of the terminal.",
    "TERM": "If it is dumb, there are neither progress bars nor colours.",
    "XDG_CACHE_HOME": "Built probes are kept in netlab/ there; default: ~/.cache.",
}
FILES = {
    "runs/": "Run folders, unless --into names another place.",
    "lab.yaml": "The inventory that init writes and measure looks for.",
}


def page() -> str:
    """The whole page, with the macros of man(7)."""
    context = click.Context(cli, info_name="netlab")
    lines = [
        ".\\\" Made by docs/scripts/man_page.py from the commands' own help.",
        f'.TH NETLAB 1 "" "netlab {VERSION}" "User Commands"',
        ".SH NAME",
        escaped("netlab") + r" \- measures what a network path and its hosts can do",
        ".SH SYNOPSIS",
        r".B netlab",
        escaped("COMMAND [OPTIONS] [ARGUMENTS]"),
        ".SH DESCRIPTION",
        *paragraphs(cli.help or ""),
        ".SH COMMANDS",
    ]
    for words, command, inner in commands(context, ("netlab",)):
        lines += of_command(words, command, inner)
    lines += [".SH EXIT STATUS", *paragraphs(cli.epilog or "")]
    for title, rows in (("ENVIRONMENT", ENVIRONMENT), ("FILES", FILES)):
        lines += [f".SH {title}", *(line for row in rows.items() for line in entry(*row))]
    return "\n".join(lines) + "\n"


def commands(
    context: click.Context, path: tuple[str, ...]
) -> Iterator[tuple[str, click.Command, click.Context]]:
    """Every command that is not a group, by its words."""
    group = context.command
    assert isinstance(group, click.Group)  # noqa: S101  (told to the type checker)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None:
            continue
        inner = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            yield from commands(inner, (*path, name))
        else:
            yield " ".join((*path, name)), command, inner


def of_command(words: str, command: click.Command, context: click.Context) -> Iterator[str]:
    """A command's section: its usage, its help, its options."""
    pieces = command.collect_usage_pieces(context)
    yield f".SS {escaped(' '.join([words, *pieces]))}"
    yield from paragraphs(command.help or "")
    for parameter in command.get_params(context):
        # The usage line has the arguments; -h is the same everywhere.
        if isinstance(parameter, click.Option) and "--help" not in parameter.opts:
            record = parameter.get_help_record(context)
            yield from () if record is None else entry(*record)


def entry(name: str, description: str) -> Iterator[str]:
    """An option, a variable or a file, with its description."""
    yield ".TP"
    yield f".B {escaped(name)}"
    yield escaped(" ".join(description.split())) or r"\&"


def paragraphs(text: str) -> Iterator[str]:
    """Paragraphs of a help text; one that begins with the sign ``\\b`` keeps its lines."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        yield ".PP"
        if paragraph.lstrip().startswith("\b"):
            yield from (".nf", *map(escaped, paragraph.lstrip("\b\n").splitlines()), ".fi")
        else:
            yield escaped(" ".join(paragraph.split()))


def escaped(text: str) -> str:
    """Text that troff prints unchanged: without requests and special characters."""
    plain = text.replace("\\", r"\e").replace("-", r"\-").replace("`", r"\`")
    ascii_only = "".join(c if c.isascii() else f"\\[u{ord(c):04X}]" for c in plain)
    return rf"\&{ascii_only}" if ascii_only[:1] in (".", "'") else ascii_only


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="ascii")


if __name__ == "__main__":
    main()
