"""Counts how many small errors in the arithmetic its tests detect: `make mutants`.

mutmut makes one small change at a time in the modules named in pyproject.toml (a mutant), and runs
the tests of the arithmetic on each. A mutant survives if no test fails. This script reads mutmut's
results in ``mutants/``, and can be run alone. Mutants *of sentences*, which differ only in a text
or in the arguments of an error, do not count. A mutant that ran out of time counts as killed, a
mutant without a test as survived.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.stage import ROOT, Verdict, finish, table

LEAST_SCORE = 0.97
"""The least share of killed mutants in each group of files."""
GROUPS = {"findings": "netlab/findings/"}
"""Group of files → how their paths begin. All other files are in the first group."""
FIRST_GROUP = "arithmetic"

KILLED = {1, 3}
TIMEOUT = {24, -24, 36, 152, 255}
"""Exit statuses in mutmut's results: a test failed (``KILLED``), time ran out (``TIMEOUT``).
``null`` means that the mutant was not tried yet."""

MESSAGES = {"_", "counted", "joined"}
"""The functions of netlab/messages.py that make a message: a text with the values of its
placeholders."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Mutant:
    """One small change, and its outcome."""

    name: str
    room: str
    """The file that was altered."""
    fate: str
    """``killed``, ``timeout``, ``survived`` or ``untried``."""
    sentence: bool
    """Whether only a text differs, or the arguments of a raised error."""
    change: str
    """The statement before and after, on one line."""

    @property
    def group(self) -> str:
        """The group of files that the mutant is counted in."""
        groups = (name for name, start in GROUPS.items() if self.room.startswith(start))
        return next(groups, FIRST_GROUP)


class Textless(ast.NodeTransformer):
    """Removes from a function the texts that only people read."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant("") if isinstance(node.value, str) else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.Constant:
        del node
        return ast.Constant("")

    def visit_Call(self, node: ast.Call) -> ast.AST:
        message = isinstance(node.func, ast.Name) and node.func.id in MESSAGES
        return ast.Constant("") if message else self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.Raise:
        error = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        return ast.Raise(error, node.cause)


def fate(status: int | None) -> str:
    """The fate of a mutant that an exit status of mutmut stands for."""
    if status is None:
        return "untried"
    if status in TIMEOUT:
        return "timeout"
    return "killed" if status in KILLED else "survived"


def functions(body: Iterable[ast.stmt]) -> Iterator[Function]:
    """The functions of a module and of its classes."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from functions(node.body)
        elif isinstance(node, Function):
            yield node


def bare(function: Function) -> str:
    """The source of a function with the name ``_``, without decorators, and normalised by
    ``ast``.
    """
    copy = ast.parse(ast.unparse(function)).body[0]
    assert isinstance(copy, Function)
    copy.name, copy.decorator_list = "_", []
    return ast.unparse(copy)


def is_sentence(old_text: str, new_text: str) -> bool:
    """Whether two functions differ only in texts for people."""
    old, new = (ast.dump(Textless().visit(ast.parse(text))) for text in (old_text, new_text))
    return old == new


def change(old_text: str, new_text: str) -> str:
    """The difference of two texts: the removed lines → the added lines."""
    diff = difflib.unified_diff(old_text.splitlines(), new_text.splitlines(), n=0, lineterm="")
    lines = [*diff][2:]
    sides = [[line[1:].strip() for line in lines if line.startswith(sign)] for sign in "-+"]
    return " → ".join("; ".join(side) or "nothing" for side in sides)


def mutants_of(meta: Path, folder: Path) -> Iterator[Mutant]:
    """The mutants of one file, in mutmut's order."""
    room = meta.relative_to(folder).as_posix().removesuffix(".meta")
    statuses = json.loads(meta.read_text(encoding="utf-8"))["exit_code_by_key"]
    tree = ast.parse(meta.with_suffix("").read_text(encoding="utf-8"))
    texts = {function.name: bare(function) for function in functions(tree.body)}
    for name, status in statuses.items():
        key = name.rpartition(".")[2]
        old_text, new_text = texts[re.sub(r"__mutmut_\d+$", "__mutmut_orig", key)], texts[key]
        sentence = is_sentence(old_text, new_text)
        yield Mutant(name, room, fate(status), sentence, change(old_text, new_text))


def left_out(altered: Path) -> list[str]:
    """Functions that mutmut does not change: those with decorators. mutmut adds its own decorator
    to the functions that it changes.
    """
    words = {
        function.name: [ast.unparse(word) for word in function.decorator_list]
        for function in functions(ast.parse(altered.read_text(encoding="utf-8")).body)
        if "__mutmut_" not in function.name
    }
    return [
        name
        for name, decorators in words.items()
        if decorators and not any(word.startswith("_mutmut_mutated") for word in decorators)
    ]


def score(mutants: Sequence[Mutant]) -> float:
    """The share of the mutants that was killed. ValueError if there are no mutants."""
    if not mutants:
        raise ValueError("no mutants: nothing has a score")
    return sum(mutant.fate in ("killed", "timeout") for mutant in mutants) / len(mutants)


def row(name: str, mutants: Sequence[Mutant]) -> list[str]:
    """A row of the table."""
    code_mutants = [mutant for mutant in mutants if not mutant.sentence]
    fates = [mutant.fate for mutant in code_mutants]
    counts = [len(mutants), len(mutants) - len(code_mutants)]
    counts += [fates.count(word) for word in ("killed", "timeout", "survived", "untried")]
    return [name, *map(str, counts), f"{100 * score(code_mutants):.1f}" if code_mutants else "-"]


HEAD = ["room", "mutants", "sentences", "killed", "timeout", "survived", "untried", "score %"]


def main() -> int:
    """Count the mutants, print the tables and the verdicts. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "mutants")
    parser.add_argument("--group", choices=[FIRST_GROUP, *GROUPS], help="this one alone")
    arguments = parser.parse_args()
    mutants = [
        mutant
        for meta in sorted(arguments.folder.rglob("*.meta"))
        for mutant in mutants_of(meta, arguments.folder)
        if arguments.group in (None, mutant.group)
    ]
    groups = [FIRST_GROUP, *GROUPS] if arguments.group is None else [arguments.group]
    rooms = sorted({mutant.room for mutant in mutants})
    rows = [row(room, [mutant for mutant in mutants if mutant.room == room]) for room in rooms]
    rows += [row(f"all of {name}", [m for m in mutants if m.group == name]) for name in groups]
    print(table(HEAD, rows))
    print("\nleft out, because decorated:")
    for room in rooms:
        if names := left_out(arguments.folder / room):
            print(f"  {room}: {', '.join(names)}")
    print("\nsurvivors:")
    for mutant in mutants:
        if mutant.fate == "survived" and not mutant.sentence:
            print(f"  {mutant.name}: {mutant.change}")
    print()
    verdicts, figures = [], {}
    for name in groups:
        code_mutants = [m for m in mutants if m.group == name and not m.sentence]
        share = score(code_mutants) if code_mutants else 0.0
        figures[name] = round(share, 4)
        is_met = share >= LEAST_SCORE
        verdicts.append(Verdict(is_met, f"{name}: {LEAST_SCORE:.0%} killed", f"{share:.1%}"))
    return finish(verdicts, json.dumps(figures))


if __name__ == "__main__":
    sys.exit(main())
