"""Each kind of finding was produced once by a real probe; docs/findings.md says by what."""

from __future__ import annotations

import ast
import json
import runpy
from pathlib import Path
from typing import Any

import pytest
from folders import ROOT

from netlab.findings.catalogue import Kind


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "docs" / "scripts" / "findings_produced.py"))


@pytest.fixture(scope="module")
def origins(script: dict[str, Any]) -> dict[str, dict[str, Any]]:
    origins: dict[str, dict[str, Any]] = json.loads(script["PRODUCED"].read_text("utf-8"))
    return origins


def test_the_file_of_what_produced_each_finding_agrees_with_the_recorded_runs_and_tests(
    script: dict[str, Any],
) -> None:
    assert script["PRODUCED"].read_text("utf-8") == script["text"](script["produced"]()), (
        "run `make docs`"
    )


def test_every_kind_of_finding_with_every_value_was_produced_by_something(
    origins: dict[str, dict[str, Any]],
) -> None:
    assert [*origins] == [str(kind) for kind in Kind]
    assert [kind for kind, origin in origins.items() if not origin] == []


def test_a_test_that_produces_a_finding_names_its_kind(script: dict[str, Any]) -> None:
    marked = [*script["marked"]()]
    assert len(marked) > 10
    for name, function, kinds in marked:
        path = Path(ROOT / name.split("::")[0])
        assert kinds_in(function, ast.parse(path.read_text("utf-8"))) >= {*kinds}, name


def kinds_in(function: ast.FunctionDef, module: ast.Module) -> set[str]:
    """The kinds that a test or what it uses of its module names, its marks left out."""
    defined = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}
    kinds, seen, due = set[str](), set[str](), [function.name]
    while due:
        name = due.pop()
        seen.add(name)
        for node in (each for part in defined[name].body for each in ast.walk(part)):
            if isinstance(node, ast.Constant):
                kinds.add(str(node.value))
            elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "Kind":
                kinds.add(str(getattr(Kind, node.attr)))
            elif isinstance(node, ast.Name) and node.id in defined.keys() - seen:
                due.append(node.id)
    return kinds


def test_the_figures_of_a_kind_are_the_sums_of_the_measured_causes(
    script: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Worked by hand; a cause of which two files tell is counted in both."""
    right = {"stated": 9, "right": 8, "wrong": 1}
    other = {"stated": 3, "right": 0, "wrong": 0}
    rows = {
        "stray": {
            "best": "deviation/trial",
            "runs": 10,
            "kinds": {"deviation/trial": right, "deviation/step": other},
        }
    }
    for day in ("2026-11-23", "2026-11-29"):
        (tmp_path / f"{day}.json").write_text(json.dumps(rows))
    monkeypatch.setitem(script["figures"].__globals__, "MEASURED", tmp_path)
    assert script["figures"]() == {
        "deviation/trial": {"said": 18, "right": 16, "planted": 20, "found": 16}
    }
    counted: dict[str, dict[str, Any]] = {"deviation/trial": {}, "deviation/step": {}}
    script["_planted"](counted)
    assert counted == {
        "deviation/trial": {"planted": {"stray": [16, 20]}},
        "deviation/step": {"planted": {"stray": [6, 20]}},
    }
