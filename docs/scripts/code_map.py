"""Makes the lists of the documentation: packages, files, commands, columns, faults, causes.

``python docs/scripts/code_map.py`` (``make docs``) updates ARCHITECTURE.md and the drawing of
docs/scripts/storeys.py; a test checks that they are current. ``make site`` puts the longer lists
into the pages whose marks name them (``filled``); with the name of a list as its argument, this
script prints it.
"""

from __future__ import annotations

import functools
import re
import runpy
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parent.parent.parent
BEGIN, END = "<!-- made by docs/scripts/code_map.py -->", "<!-- end -->"
HELP_WIDTH = 100
MARK = re.compile(r"^<!-- list: ([a-z_ ]+) -->$", re.MULTILINE)
"""In a page, the place of a list; the group is its name in ``LISTS``."""


def first_line(path: Path) -> str:
    """The first sentence of a file's docstring or first comment."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        match = re.match(r'\A(?:#!.*\n)?"""(.*?\.)(?:"""|\s)', text, re.DOTALL)
    else:
        # A comment's first sentence may have several lines.
        match = re.match(r"\A/\*\s*(.*?[.:])(?:\s|\*/)", text, re.DOTALL)
    return re.sub(r"\s+\*?\s*", " ", match[1]).strip() if match else ""


def folders() -> list[Path]:
    """The packages of netlab, then the folders of the probe."""
    packages = sorted(path.parent for path in (ROOT / "netlab").rglob("__init__.py"))
    source = ROOT / "probes" / "src"
    return [*packages, source, *sorted(path for path in source.rglob("*") if path.is_dir())]


def packages() -> str:
    """A table with one line per package."""
    lines = ["| package | what it is for |", "|---|---|"]
    for folder in folders():
        if (folder / "__init__.py").exists() and folder.parent == ROOT / "netlab":
            lines.append(f"| `{folder.name}/` | {first_line(folder / '__init__.py')} |")
    return "\n".join(lines) + "\n"


def files() -> str:
    """Tables with one line per file, by folder."""
    lines: list[str] = []
    for folder in folders():
        lines += [f"## `{folder.relative_to(ROOT).as_posix()}/`", "", "| file | what it is for |"]
        lines.append("|---|---|")
        for path in sorted([*folder.glob("*.py"), *folder.glob("*.[ch]")]):
            if path.suffix == ".c" and path.with_suffix(".h").exists():
                continue
            is_pair = path.suffix == ".h" and path.with_suffix(".c").exists()
            lines.append(
                f"| `{path.stem + '.c, .h' if is_pair else path.name}` | {first_line(path)} |"
            )
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

    return "\n".join(below(cli, ("netlab",)))


def columns(test: str = "") -> str:
    """A table of the columns that every run has, or that only runs with this kind of test have."""
    from netlab.results.columns import COLUMNS, COLUMNS_OF

    own = dict(COLUMNS_OF[test] if test else COLUMNS)
    if test == "connect":
        own = {name: column for name, column in own.items() if name not in COLUMNS_OF["round_trip"]}
    rows = [
        f"| `{name}` | {column.dtype} | {column.unit} | {column.meaning} |"
        for name, column in own.items()
    ]
    return "\n".join(["| column | dtype | unit | meaning |", "|---|---|---|---|", *rows])


def faults() -> str:
    """Tables of the faults that tests inject, with the figures of their last run."""
    suite = runpy.run_path(str(ROOT / "docs" / "scripts" / "reliability.py"))
    return str(suite["table"](suite["measured"]()))


def causes() -> str:
    """Tables of the causes that the benchmark of findings plants, and of those that it cannot."""
    sys.path.append(str(ROOT))
    from benchmarks.truths.causes import UNPLANTABLE
    from benchmarks.truths.rows import CAUSES

    lines = ["| cause | what it is | expected findings |", "|---|---|---|"]
    for cause in CAUSES.values():
        expected = ", ".join(f"`{kind}`" for kind in cause.expected) or "nothing"
        lines.append(f"| `{cause.name}` | {cause.what} | {expected} |")
    lines += ["", "A lab of namespaces cannot have these causes:", ""]
    lines += ["| cause | why not |", "|---|---|"]
    lines += [f"| {cause} | {reason} |" for cause, reason in UNPLANTABLE.items()]
    return "\n".join(lines)


def findings() -> str:
    """A part for each kind of finding: its whole rule, what to do, and how often it was right."""
    return str(runpy.run_path(str(ROOT / "docs" / "scripts" / "findings_list.py"))["listed"]())


TESTS = ("round_trip", "connect", "payload_search", "throughput_search", "latency_under_load")
"""Kinds of test with columns of their own."""
LISTS: Mapping[str, Callable[[], str]] = {
    "files": files,
    "commands": commands,
    "faults": faults,
    "causes": causes,
    "findings": findings,
    "columns": columns,
    **{f"columns of {test}": functools.partial(columns, test) for test in TESTS},
}


def filled(text: str) -> str:
    """A page with its lists in place of their marks; KeyError for a list that does not exist."""
    return MARK.sub(lambda mark: LISTS[mark[1]](), text)


def architecture() -> str:
    """ARCHITECTURE.md with packages that are true."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    head, _, remainder = text.partition(BEGIN)
    _, _, tail = remainder.partition(END)
    return f"{head}{BEGIN}\n{packages()}{END}{tail}"


def drawing() -> str:
    """The picture of who imports whom."""
    return str(runpy.run_path(str(ROOT / "docs" / "scripts" / "storeys.py"))["picture"]())


def main() -> None:
    """Write what lies in the checkout, or print a list."""
    if len(sys.argv) > 1:
        print(LISTS[" ".join(sys.argv[1:])]())
        return
    (ROOT / "ARCHITECTURE.md").write_text(architecture(), encoding="utf-8")
    (ROOT / "docs" / "pictures" / "storeys.svg").write_text(drawing(), encoding="utf-8")


if __name__ == "__main__":
    main()
