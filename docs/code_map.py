"""Writes what is made from the code into the texts: the code map, and the commands' help.

``python docs/code_map.py`` (``make docs``) brings ARCHITECTURE.md and docs/commands.md up to date;
the tests check that they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- code map: made by docs/code_map.py -->", "<!-- end of the code map -->"
HELP_WIDTH = 100


def first_line(path: Path) -> str:
    """What a file says of itself in its first sentence."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        found = re.match(r'\A(?:#!.*\n)?"""(.*?)(?:"""|\n)', text)
    else:
        # A comment's first sentence, which may go over several lines.
        found = re.match(r"\A/\*\s*(.*?[.:])(?:\s|\*/)", text, re.DOTALL)
    return re.sub(r"\s+\*?\s*", " ", found[1]).strip() if found else ""


def code_map() -> str:
    """A line a file: the rooms of netlab, then those of the probe."""
    lines = []
    packages = [ROOT / "netlab"]
    packages += sorted(path.parent for path in (ROOT / "netlab").glob("*/**/__init__.py"))
    for package in packages:
        name = package.relative_to(ROOT).as_posix()
        lines += [f"### `{name}/`", "", "| file | what it is for |", "|---|---|"]
        lines += [
            f"| `{path.name}` | {first_line(path)} |"
            for path in sorted(package.glob("*.py"))
            if path.name != "__main__.py"
        ]
        lines.append("")
    source = ROOT / "probes" / "src"
    for folder in [source, *sorted(path for path in source.rglob("*") if path.is_dir())]:
        name = folder.relative_to(ROOT).as_posix()
        lines += [f"### `{name}/`", "", "| file | what it is for |", "|---|---|"]
        for path in sorted(folder.glob("*.[ch]")):
            if path.suffix == ".h" or not path.with_suffix(".h").exists():
                both = path.suffix == ".h" and path.with_suffix(".c").exists()
                ending = ".c, .h" if both else path.suffix
                lines.append(f"| `{path.stem}{ending}` | {first_line(path)} |")
        lines.append("")
    return "\n".join(lines)


def commands() -> str:
    """Every command's ``--help``."""
    from netlab.cli import cli

    def below(command: click.Command, names: tuple[str, ...]) -> Iterator[str]:
        context = click.Context(
            command,
            info_name=" ".join(names),
            terminal_width=HELP_WIDTH,
            max_content_width=HELP_WIDTH,
            help_option_names=cli.context_settings["help_option_names"],
        )
        yield f"## {' '.join(names)}\n\n```\n{command.get_help(context)}\n```\n"
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                inner = command.get_command(context, name)
                if inner is not None:
                    yield from below(inner, (*names, name))

    head = "# The commands\n\nMade from the commands' own help by `make docs`.\n\n"
    return head + "\n".join(below(cli, ("netlab",)))


def architecture() -> str:
    """ARCHITECTURE.md with a code map that is true."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{code_map()}{END}{after}"


def main() -> None:
    """Write both."""
    (ROOT / "ARCHITECTURE.md").write_text(architecture(), encoding="utf-8")
    (ROOT / "docs" / "commands.md").write_text(commands(), encoding="utf-8")


if __name__ == "__main__":
    main()
