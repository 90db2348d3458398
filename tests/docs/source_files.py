"""What the checks of the checkout ask of each Python file, which is read and parsed once a session.

Trees are not kept: they would take hundreds of megabytes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from folders import ROOT

FOLDERS = ("netlab", "tests", "benchmarks", "docs")


@dataclass(frozen=True)
class SourceFile:
    """One Python file."""

    path: str
    """Below the checkout, with slashes."""
    lines: int
    functions: list[tuple[str, int, int]]
    """Name, first line and number of lines of each function."""
    imported: list[str]
    """Modules that its imports name."""
    types: list[str]
    """Classes and aliases of types that it defines at the top."""
    texts: list[str]
    """Each text that stands in it, once its lines are put together; ``{}`` stands for each place
    where an f-string puts something in."""


@cache
def source_files() -> tuple[SourceFile, ...]:
    """Every Python file of the checkout."""
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    return tuple(map(_read, paths))


def _read(path: Path) -> SourceFile:
    text = path.read_text("utf-8")
    tree = ast.parse(text)
    functions: list[tuple[str, int, int]] = []
    imported: list[str] = []
    texts: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or 0) - node.lineno + 1
            functions.append((node.name, node.lineno, lines))
        elif isinstance(node, ast.ImportFrom):
            imported.append(node.module or "")
        elif isinstance(node, ast.Import):
            imported += [name.name for name in node.names]
        elif isinstance(node, ast.JoinedStr):
            parts = node.values
            texts.append(
                "".join(
                    str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts
                )
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.append(node.value)
    return SourceFile(
        path=path.relative_to(ROOT).as_posix(),
        lines=len(text.splitlines()),
        functions=functions,
        imported=imported,
        types=[*_types(tree)],
        texts=texts,
    )


def _types(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            name = target.id if isinstance(target, ast.Name) else ""
            if name.lstrip("_")[:1].isupper() and not name.isupper():
                yield name
