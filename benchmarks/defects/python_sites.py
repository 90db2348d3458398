"""Places in Python code where a defect can be planted, by the syntax around them.

Each kind of defect is a function from a statement to the places in it: pairs of a pattern, the
text of the syntax that the defect alters, and the statement as it is with the defect.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

SWAPPED = {
    "client": "server",
    "send": "receive",
    "sender": "receiver",
    "min": "max",
    "first": "last",
}
SWAPPED |= {after: before for before, after in SWAPPED.items()}
UNITS = {1e3, 1e6, 1e9, 8, 1024, 60}
LOCK = re.compile(r"lock|guard|condition|mutex", re.IGNORECASE)
CLEANERS = {"escape", "printable", "shown", "quote", "sorted", "abs"}
COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
Sites = Iterator[tuple[str, list[ast.stmt]]]


@dataclass(frozen=True, slots=True)
class Place:
    """One place where one kind of defect can be planted."""

    kind: str
    function: str
    """Qualified name of the innermost function around it."""
    pattern: str
    """The syntax that is altered, as `ast.unparse` writes it."""
    line: int
    end_line: int
    """First and last line of the statement, from 1."""
    altered: str
    """The statement with the defect, indented as the first one."""
    begins_line: bool
    """Whether another statement can stand before it."""


def _without_finally(statement: ast.stmt) -> Sites:
    if isinstance(statement, ast.Try) and statement.finalbody:
        pattern = "finally: " + "; ".join(map(ast.unparse, statement.finalbody))
        altered = copy.deepcopy(statement)
        altered.finalbody = []
        yield pattern, [altered] if altered.handlers else altered.body


def _without_lock(statement: ast.stmt) -> Sites:
    if isinstance(statement, ast.With):
        header = ", ".join(ast.unparse(item) for item in statement.items)
        if LOCK.search(header) and "(" not in header and " as " not in header:
            yield f"with {header}", copy.deepcopy(statement.body)


def _without_check(statement: ast.stmt) -> Sites:
    match statement:
        case ast.If(test=test, body=[*_, ast.Raise() | ast.Return() | ast.Continue()], orelse=[]):
            yield f"if {ast.unparse(test)}", [ast.Pass()]


def _without_call(statement: ast.stmt) -> Sites:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        yield ast.unparse(statement), [ast.Pass()]


def _expressions(
    alter: Callable[[ast.expr], Iterator[tuple[ast.AST, ast.expr]]],
) -> Callable[[ast.stmt], Sites]:
    """Places in the expressions of a statement, the bodies of compound statements left out."""

    def sites(statement: ast.stmt) -> Sites:
        count = sum(1 for node in _own(statement) for _ in alter(node))
        for number in range(count):
            altered = copy.deepcopy(statement)
            pairs = [(node, *pair) for node in _own(altered) for pair in alter(node)]
            node, before, after = pairs[number]
            pattern = ast.unparse(before)
            yield pattern, [cast(ast.stmt, _Replaced(node, after).visit(altered))]

    return sites


def _own(statement: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of a statement that are not in a statement within it."""
    todo: list[ast.AST] = [
        child for child in ast.iter_child_nodes(statement) if not isinstance(child, ast.stmt)
    ]
    while todo:
        node = todo.pop(0)
        if isinstance(node, ast.expr) and not isinstance(node, ast.JoinedStr):
            yield node
        if not isinstance(node, ast.ExceptHandler | ast.JoinedStr):
            todo += [c for c in ast.iter_child_nodes(node) if not isinstance(c, ast.stmt)]


class _Replaced(ast.NodeTransformer):
    def __init__(self, before: ast.AST, after: ast.expr) -> None:
        self._before, self._after = before, after

    def visit(self, node: ast.AST) -> ast.AST:
        return self._after if node is self._before else self.generic_visit(node)


def _swap(node: ast.expr) -> Iterator[tuple[ast.AST, ast.expr]]:
    match node:
        case ast.Constant(value=str(word)) if word in SWAPPED:
            yield node, ast.Constant(SWAPPED[word])
        case ast.Attribute(attr=word) if word in SWAPPED:
            yield node, ast.Attribute(node.value, SWAPPED[word], node.ctx)
        case ast.Name(id="min" | "max" as word):
            yield node, ast.Name(SWAPPED[word], node.ctx)


def _unit(node: ast.expr) -> Iterator[tuple[ast.AST, ast.expr]]:
    match node:
        case ast.BinOp(left=one, op=ast.Mult() | ast.Div() | ast.FloorDiv(), right=other):
            for factor, kept in ((one, other), (other, one)):
                if isinstance(factor, ast.Constant) and factor.value in UNITS:
                    yield node, kept


def _deadline(node: ast.expr) -> Iterator[tuple[ast.AST, ast.expr]]:
    if isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg and re.search(r"timeout|deadline|limit_s|wait_s|most_s", keyword.arg):
                altered = copy.copy(node)
                altered.keywords = [
                    ast.keyword(k.arg, ast.Constant(None)) if k is keyword else k
                    for k in node.keywords
                ]
                yield node, altered


def _uncleaned(node: ast.expr) -> Iterator[tuple[ast.AST, ast.expr]]:
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[only], keywords=[]):
            if name in CLEANERS and not isinstance(only, ast.Starred):
                yield node, only


def _compare(node: ast.expr) -> Iterator[tuple[ast.AST, ast.expr]]:
    match node:
        case ast.Compare(ops=[operation]) if type(operation) in COMPARED:
            yield node, ast.Compare(node.left, [COMPARED[type(operation)]()], node.comparators)


def _logic(node: ast.expr) -> Iterator[tuple[ast.AST, ast.expr]]:
    match node:
        case ast.BoolOp(op=ast.And(), values=values):
            yield node, ast.BoolOp(ast.Or(), values)
        case ast.BoolOp(op=ast.Or(), values=values):
            yield node, ast.BoolOp(ast.And(), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, operand
        case ast.IfExp():
            yield node, ast.IfExp(node.test, node.orelse, node.body)


def _sum(node: ast.expr) -> Iterator[tuple[ast.AST, ast.expr]]:
    match node:
        case ast.BinOp(left=one, op=ast.Add(), right=other):
            if not any(_is_text(part) for part in (one, other)):
                yield node, ast.BinOp(node.left, ast.Sub(), node.right)
        case ast.BinOp(op=ast.Sub()):
            yield node, ast.BinOp(node.left, ast.Add(), node.right)


def _is_text(node: ast.expr) -> bool:
    return any(
        isinstance(part, ast.JoinedStr | ast.List)
        or (isinstance(part, ast.Constant) and isinstance(part.value, str))
        for part in ast.walk(node)
    )


KINDS: dict[str, Callable[[ast.stmt], Sites]] = {
    "finally dropped": _without_finally,
    "lock dropped": _without_lock,
    "check dropped": _without_check,
    "call dropped": _without_call,
    "direction swapped": _expressions(_swap),
    "unit dropped": _expressions(_unit),
    "deadline never set": _expressions(_deadline),
    "text not cleaned": _expressions(_uncleaned),
    "comparison altered": _expressions(_compare),
    "condition inverted": _expressions(_logic),
    "sign swapped": _expressions(_sum),
}


def places(source: str) -> Iterator[Place]:
    """All places of a module, in the order of its lines within each kind."""
    yield from _places(ast.parse(source).body, "", "")


def _places(body: list[ast.stmt], function: str, path: str) -> Iterator[Place]:
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{path}.{statement.name}".lstrip(".")
            is_class = isinstance(statement, ast.ClassDef)
            yield from _places(statement.body, function if is_class else inner, inner)
            continue
        for kind, sites in KINDS.items() if function else ():
            for pattern, altered in sites(statement):
                indent = " " * statement.col_offset
                module = ast.fix_missing_locations(ast.Module(altered, []))
                lines = ast.unparse(module).splitlines()
                yield Place(
                    kind,
                    function,
                    pattern,
                    statement.lineno,
                    statement.end_lineno or statement.lineno,
                    "\n".join(indent + line for line in lines),
                    begins_line=True,
                )
        for block in ("body", "orelse", "finalbody"):
            yield from _places(getattr(statement, block, []), function, path)
        for handler in getattr(statement, "handlers", []):
            yield from _places(handler.body, function, path)
