"""Makes the manual page of netlab, docs/man/netlab.1, out of the commands' own help.

``python docs/scripts/man_page.py`` (``make docs``) brings it up to date; a test checks that it is.
Each command is a section of the one page: `man netlab`, and there a search for its name.
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
    "NO_COLOR": "Where it is set and not empty nothing is in colour (https://no-color.org).",
    "COLUMNS": "The width of the terminal, in its place.",
    "TERM": "Where it is dumb neither a bar nor colours are drawn.",
    "XDG_CACHE_HOME": "Probes that were built are kept in netlab/ there; otherwise in ~/.cache.",
}
FILES = {
    "runs/": "Run folders, where no --into names another place.",
    "lab.yaml": "The inventory that init writes, and measure looks for.",
}


def page() -> str:
    """The whole page, in the macros of man(7)."""
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
    """Every command that does something, by its words."""
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
    """A command's section: how it is called, what it does, its options."""
    pieces = command.collect_usage_pieces(context)
    yield f".SS {escaped(' '.join([words, *pieces]))}"
    yield from paragraphs(command.help or "")
    for parameter in command.get_params(context):
        # Arguments stand in the line above; -h is the same everywhere.
        if isinstance(parameter, click.Option) and "--help" not in parameter.opts:
            record = parameter.get_help_record(context)
            yield from () if record is None else entry(*record)


def entry(name: str, said: str) -> Iterator[str]:
    """An option, a variable or a file, with what it is."""
    yield ".TP"
    yield f".B {escaped(name)}"
    yield escaped(" ".join(said.split())) or r"\&"


def paragraphs(text: str) -> Iterator[str]:
    """Paragraphs of a help text; one that begins with the sign ``\\b`` keeps its lines."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        yield ".PP"
        if paragraph.lstrip().startswith("\b"):
            yield from (".nf", *map(escaped, paragraph.lstrip("\b\n").splitlines()), ".fi")
        else:
            yield escaped(" ".join(paragraph.split()))


def escaped(text: str) -> str:
    """Text that troff prints as it stands: nothing in it is a request or a special character."""
    plain = text.replace("\\", r"\e").replace("-", r"\-").replace("`", r"\`")
    ascii_only = "".join(each if each.isascii() else f"\\[u{ord(each):04X}]" for each in plain)
    return rf"\&{ascii_only}" if ascii_only[:1] in (".", "'") else ascii_only


def main() -> None:
    """Write it."""
    PAGE.write_text(page(), encoding="ascii")


if __name__ == "__main__":
    main()
