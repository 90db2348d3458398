"""Counts what netlab consists of, and what one trial runs of it: `make benchmark-shape`.

One TCP cell on loopback is measured by `netlab run`, once without its report and once with it, and
each function of netlab that runs is noted, in all threads and in netlab's own further processes.
The rest is counted in the files of the repository. ``--before REF`` counts the same in another
commit, with the probe built from it, and prints both columns.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.stage import ROOT, table

EXECUTED = Path(__file__).with_name("executed")
MATRIX = """\
title: one cell
hosts: {a: {local: true, addresses: {test: 127.0.0.1}}}
pairings: [a+a]
tests:
  - {test: stream, protocol: TCP, duration: 200ms, message_size: 1500}
"""
COUNT_KINDS = """\
from netlab.findings.finding import Kind
print(len({str(kind).partition("/")[0] for kind in Kind}))
"""
"""A kind's value, such as an end or a cause, is after the slash."""
MOST_S = 600

Figures = Mapping[str, int]
"""What a figure counts → the figure."""


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--before", metavar="REF", help="count in this commit as well")
    arguments = words.parse_args()
    columns: list[tuple[str, Figures]] = []
    if arguments.before:
        with worktree(arguments.before) as tree:
            columns.append((arguments.before, figures(tree)))
    columns.append(("now", figures(ROOT)))
    rows = [[name, *(f"{column[name]:,}" for _head, column in columns)] for name in columns[-1][1]]
    print(table(["", *(head for head, _column in columns)], rows))
    now = columns[-1][1]
    print(
        f"shape: {now[LINES]:,} lines in {now[FILES]} files; one TCP cell runs {now[RUN_FILES]} of "
        f"them, with its report {now[REPORT_FILES]}; a request leaves {now[RECEIVE]} calls deep"
    )
    return 0


RUN_FUNCTIONS = "functions that run for one TCP cell, without its report"
RUN_FILES = "files in which a function, a lambda or the body of a class runs for it"
REPORT_FUNCTIONS = "functions that run for one TCP cell with its report"
REPORT_FILES = "files in which a function, a lambda or the body of a class runs for both"
RECEIVE = "calls from the start of the trial to the write of `receive`, both counted"
SEND = "calls from the start of the trial to the write of `send`, both counted"
FILES = "Python files in netlab/"
LINES = "lines of Python in netlab/"


def figures(tree: Path) -> Figures:
    """All figures of the repository in this folder."""
    without, _ = executed(tree, "--no-report")
    with_report, depths = executed(tree)
    return {
        RUN_FUNCTIONS: sum(without.values()),
        RUN_FILES: len({file for file, _name in without}),
        REPORT_FUNCTIONS: sum(with_report.values()),
        REPORT_FILES: len({file for file, _name in with_report}),
        RECEIVE: depths["receive"],
        SEND: depths["send"],
        **sizes(tree),
        "kinds of findings": int(python(tree, ["-c", COUNT_KINDS]).stdout),
    }


def executed(tree: Path, *options: str) -> tuple[dict[tuple[str, str], bool], dict[str, int]]:
    """The code that `netlab run` of one cell runs: file and name → whether it is a function with a
    name. And verb of a request to an agent → the largest number of calls on the stack.
    """
    with tempfile.TemporaryDirectory() as scratch:
        matrix, notes = Path(scratch) / "matrix.yaml", Path(scratch) / "notes"
        matrix.write_text(MATRIX, encoding="utf-8")
        words = ["run", str(matrix), "--into", f"{scratch}/run", "--quiet", *options]
        noted = {"NETLAB_EXECUTED": str(notes), "NETLAB_PACKAGE": str(tree / "netlab")}
        python(tree, ["-m", "netlab", *words], noted, EXECUTED)
        lines = [json.loads(line) for line in notes.read_text("utf-8").splitlines()]
    codes: dict[tuple[str, str], bool] = {}
    depths: dict[str, int] = {}
    for first, *rest in lines:
        if first.endswith(".py"):
            line, name, is_function = rest
            codes[first, f"{line} {name}"] = is_function
        elif rest:
            depths[first] = max(depths.get(first, 0), len(rest))
    return codes, depths


def python(
    tree: Path, words: Sequence[str], environment: Mapping[str, str] | None = None, *paths: Path
) -> subprocess.CompletedProcess[str]:
    """Run Python with the netlab of this folder. SystemExit if it fails."""
    path = os.pathsep.join(map(str, (tree, *paths)))
    process = subprocess.run(
        [sys.executable, "-P", *words],
        cwd=tree,
        env={**os.environ, **(environment or {}), "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=MOST_S,
        check=False,
    )
    if process.returncode:
        raise SystemExit(f"{tree}: {' '.join(words)}: {process.stderr.strip()}")
    return process


def sizes(tree: Path) -> Figures:
    """What the files of git in this folder have: files, lines and words."""
    docs = [text(path) for path in tracked(tree, "docs") if path.suffix == ".md"]
    package = tracked(tree, "netlab")
    sources = [path for path in tracked(tree, "probes/src") if path.suffix in {".c", ".h"}]
    schema = tree / "netlab" / "matrix.schema.json"
    modules = [path for path in package if path.suffix == ".py"]
    return {
        FILES: len(modules),
        LINES: sum(map(lines_of, modules)),
        ".c and .h files in probes/src": len(sources),
        "lines of other text in netlab/, without the schema": sum(
            lines_of(path) for path in package if path not in {schema, *modules}
        ),
        "lines of matrix.schema.json": lines_of(schema),
        "words in docs/*.md": sum(len(page.split()) for page in docs),
        "words of README.md": len(text(tree / "README.md").split()),
        "words of CHANGELOG.md": len(text(tree / "CHANGELOG.md").split()),
        "words of the longest paragraph in docs": longest(docs, paragraphs),
        "words of the longest table cell in docs": longest(docs, table_cells),
    }


def tracked(tree: Path, folder: str) -> list[Path]:
    """The files of a folder that git knows."""
    command = ["git", "ls-files", "-z", folder]
    names = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=True).stdout
    return [tree / name for name in names.split("\0") if name and (tree / name).exists()]


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def lines_of(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def longest(pages: Sequence[str], parts: Callable[[str], Iterator[str]]) -> int:
    return max(len(part.split()) for page in pages for part in parts(page))


def paragraphs(page: str) -> Iterator[str]:
    """The paragraphs and items of lists of a page, without code, tables and headings."""
    prose = re.sub(r"^(```|~~~).*?^\1", "", page, flags=re.S | re.M)
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", prose):
        if not block.lstrip().startswith(("|", "#", "<!--")):
            yield re.sub(r"^\s*(?:[-*]|\d+\.) ", "", block)


def table_cells(page: str) -> Iterator[str]:
    """The cells of a page's tables."""
    for line in page.splitlines():
        if line.startswith("|"):
            yield from re.split(r"(?<!\\)\|", line.strip("|"))


@contextmanager
def worktree(ref: str) -> Iterator[Path]:
    """The files of another commit in a folder of their own, with the probe built from them."""
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "before"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--detach", str(tree), ref], capture_output=True, check=True)
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], capture_output=True, check=True)


if __name__ == "__main__":
    sys.exit(main())
