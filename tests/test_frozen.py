"""A frozen class changes nothing: neither its fields nor what is in them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from folders import ROOT

CHANGING = (
    *("acquire", "add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop"),
    *("popitem", "popleft", "put", "remove", "setdefault", "sort", "subtract", "update"),
)
"""Methods that change the object that they belong to."""


def is_frozen(node: ast.ClassDef) -> bool:
    return any(
        isinstance(decorator, ast.Call)
        and any(
            keyword.arg == "frozen" and ast.unparse(keyword.value) == "True"
            for keyword in decorator.keywords
        )
        for decorator in node.decorator_list
    )


def own_field(node: ast.expr) -> str | None:
    """The field of ``self`` that an expression is, or is an item of."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self":
        return node.attr
    return None


def changed_fields(method: ast.AST) -> Iterator[str]:
    """The fields that a method changes, or whose content it changes."""
    for node in ast.walk(method):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign | ast.Delete):
            targets = node.targets
        elif isinstance(node, ast.AugAssign):
            targets = [node.target]
        elif isinstance(node, ast.With):
            targets = [item.context_expr for item in node.items]
        elif isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Attribute) and function.attr in CHANGING:
                targets = [function.value]
            elif ast.unparse(function) == "object.__setattr__":
                yield ast.unparse(node.args[1])
        for target in targets:
            if (name := own_field(target)) is not None:
                yield name


def changes(text: str) -> Iterator[str]:
    """``Class.field`` for each field that a frozen class changes after it was made."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.ClassDef) or not is_frozen(node):
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and method.name != "__post_init__":
                yield from (f"{node.name}.{name}" for name in changed_fields(method))


def test_no_frozen_class_changes_a_field_or_what_is_in_it() -> None:
    files = sorted((ROOT / "netlab").rglob("*.py"))
    assert len(files) > 100
    found = [f"{file.name}: {name}" for file in files for name in changes(file.read_text("utf-8"))]
    assert found == []


def test_each_way_to_change_a_field_of_a_frozen_class_is_found() -> None:
    ways = {
        "self.a = 1": "a",
        "self.b[1] = 2": "b",
        "self.c[1][2] += 1": "c",
        "del self.d[0]": "d",
        "self.e.append(1)": "e",
        "with self.f: pass": "f",
        "self.g[0].update(x)": "g",
        'object.__setattr__(self, "h", 1)': "'h'",
    }
    for way, field in ways.items():
        text = f"@dataclass(frozen=True)\nclass A:\n    def m(self):\n        {way}\n"
        assert list(changes(text)) == [f"A.{field}"]
    assert list(changes("@dataclass\nclass A:\n    def m(self): self.a = 1\n")) == []
    made = "@dataclass(frozen=True)\nclass A:\n    def __post_init__(self): self.a = 1\n"
    assert list(changes(made)) == []
