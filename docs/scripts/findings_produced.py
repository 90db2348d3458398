"""Writes findings_produced.json: by what each kind of finding was produced at least once.

``python docs/scripts/findings_produced.py`` (``make docs``). Of each kind up to four origins::

    {"outlier": {
        "recorded": {"lab-report-lab": 3},
        "imported": {"lab-report": 2},
        "planted": {"stray": [12, 30]},
        "tested": ["tests/lab/test_lab_end.py::test_that_asserts_it"]}}

``recorded``: recorded run of a real probe → findings in it, counted by the rules of today;
``imported``: the same of a run that was read from a document. ``planted``: planted cause → its runs
in which the kind was stated and not wrong, of how many (``findings_measured/``). ``tested``: tests
against real probes, or against what such probes recorded, that assert the finding: they are marked
``@pytest.mark.produces("outlier")``.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from netlab.findings.analysis import load
from netlab.findings.catalogue import Kind

ROOT = Path(__file__).resolve().parent.parent.parent
PRODUCED = Path(__file__).resolve().parent / "findings_produced.json"
MEASURED = Path(__file__).resolve().parent / "findings_measured"
"""A file for each measurement of the planted causes, named by its date: cause → figures of its
runs, as ``make benchmark-truths WITH="--score --figures FILE"`` writes them."""
REPORTS, FIXTURES = ROOT / "reports", ROOT / "tests" / "fixtures"
FIRST = ROOT / "tests" / "recorded" / "runs"
"""What a newcomer measures first."""
RECORDED = (
    *("below-floor/nettest", "below-floor/udp-mirror", "limits-linux", "limits-wine", "two-modes"),
)
"""Runs of real probes among the tests' fixtures, besides ``reports/`` and the first ones."""
MARK = "produces"

Row = dict[str, Any]
Rows = dict[str, Row]


def measured() -> list[tuple[str, Mapping[str, Any]]]:
    """Each cause with the figures of its runs, of all measurements."""
    files = sorted(MEASURED.glob("*.json"))
    return [row for file in files for row in json.loads(file.read_text("utf-8")).items()]


def figures() -> dict[str, dict[str, int]]:
    """Kind → ``said``: runs with this claim, ``right`` of them correctly; ``planted``: runs with a
    cause whose best finding it is, ``found`` of them with this finding. Kinds without either are
    left out.
    """
    counts: dict[str, Counter[str]] = {}
    for _, row in measured():
        for kind, count in row["kinds"].items():
            said = count["right"] + count["wrong"]
            counts.setdefault(kind, Counter()).update(said=said, right=count["right"])
        if row["best"]:
            found = row["kinds"].get(row["best"], {"right": 0})["right"]
            counts.setdefault(row["best"], Counter()).update(planted=row["runs"], found=found)
    return {kind: dict(count) for kind, count in counts.items() if any(count.values())}


def _recorded(rows: Rows) -> None:
    files = (*REPORTS.glob("*/run.json"), *FIRST.glob("*/run.json"))
    folders = {path.parent.name: path.parent for path in files}
    folders |= {name: FIXTURES / name for name in RECORDED}
    for name, folder in sorted(folders.items()):
        run = load(folder)
        origin = "recorded" if run.plan.source is None else "imported"
        for kind, count in Counter(str(finding.kind) for finding in run.findings).items():
            rows[kind].setdefault(origin, {})[name] = count


def _planted(rows: Rows) -> None:
    for cause, row in measured():
        for kind, count in row["kinds"].items():
            if kind in rows and count["stated"] > count["wrong"]:
                causes = rows[kind].setdefault("planted", {})
                stated, runs = causes.get(cause, (0, 0))
                causes[cause] = [stated + count["stated"] - count["wrong"], runs + row["runs"]]


def marked() -> Iterator[tuple[str, ast.FunctionDef, list[str]]]:
    """The marked tests: pytest's name, the function, and the kinds that it says it produces."""
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text("utf-8")
        if f"mark.{MARK}(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                kinds = [kind for decorator in node.decorator_list for kind in _of(decorator)]
                if kinds:
                    yield f"{path.relative_to(ROOT).as_posix()}::{node.name}", node, kinds


def _of(decorator: ast.expr) -> list[str]:
    is_ours = (
        isinstance(decorator, ast.Call)
        and isinstance(decorator.func, ast.Attribute)
        and decorator.func.attr == MARK
    )
    return [ast.literal_eval(word) for word in decorator.args] if is_ours else []  # type: ignore[attr-defined]


def produced() -> Rows:
    """Kind → its origins. KeyError if an origin has a kind that the table lacks."""
    rows: Rows = {str(kind): {} for kind in Kind}
    _recorded(rows)
    _planted(rows)
    for name, _, kinds in marked():
        for kind in kinds:
            rows[kind].setdefault("tested", []).append(name)
    return rows


def text(rows: Rows) -> str:
    """The file, a line per origin."""
    lines = []
    for kind, row in rows.items():
        origins = [f"  {json.dumps(name)}: {json.dumps(origin)}" for name, origin in row.items()]
        body = "{\n" + ",\n".join(origins) + "}" if origins else "{}"
        lines.append(f" {json.dumps(kind)}: {body}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    PRODUCED.write_text(text(produced()), "utf-8")
