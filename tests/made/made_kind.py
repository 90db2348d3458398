"""A kind of test more in the table, put there before anything reads it: what becomes of it.

Run by itself, for the models of a process are built once; prints what was seen, as JSON.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
from pathlib import Path
from typing import Any, cast

from netlab import trial

IMPORT = "from bounce import BOUNCE\n"
ROW = "    BOUNCE,\n"

MATRIX = """\
title: made up
pairings: [LL]
tests:
  - {test: bounce, protocol: TCP, height: [2, 3], duration: 1s}
"""


def add_kind() -> None:
    """Load the table of kinds with the row in it."""
    file = Path(trial.__path__[0]).parent / "kinds" / "__init__.py"
    spec = importlib.util.spec_from_file_location("netlab.kinds", file)
    assert spec is not None and spec.origin is not None
    head, table, tail = file.read_text(encoding="utf-8").partition("_KINDS = (\n")
    assert table
    module = importlib.util.module_from_spec(spec)
    sys.modules["netlab.kinds"] = module
    text = head.replace("import annotations\n", f"import annotations\n{IMPORT}") + table + ROW
    exec(compile(text + tail, spec.origin, "exec"), module.__dict__)  # noqa: S102


def answer(verb: str, keys: dict[str, Any]) -> dict[str, Any]:
    """The result of an end: the higher the throw, the fewer the bounces."""
    bounced = {"bounces_per_s": 60.0 / keys["height"]} if verb == "ask" else {}
    return {"type": "result", **bounced, "user_ns": 5}


def seen(folder: Path) -> dict[str, object]:
    """The way of the kind of test from a matrix to a report."""
    from scripted_agent import run_with

    from netlab import load
    from netlab.config.matrix_file import load_matrix
    from netlab.config.schema import schema_text
    from netlab.experiment.cells import lacking
    from netlab.experiment.matrix import expand
    from netlab.experiment.schedule import Trial
    from netlab.measurement.engines import measure
    from netlab.report import Report, report_of
    from netlab.results.columns import describe
    from netlab.results.labels import setting
    from netlab.store.plan import plan_of
    from netlab.store.run_folder import RunFolder

    (folder / "m.yaml").write_text(MATRIX, encoding="utf-8")
    matrix = load_matrix(folder / "m.yaml")
    cells = expand(matrix)
    requests: list[list[object]] = []
    ends = {end: {"answer": answer} for end in ("server", "client")}
    with RunFolder.open_for_writing(folder / "run", plan_of(matrix, cells)) as run:
        for cell in cells:
            record, asked, _ = run_with(measure, Trial(cell, 1), **ends)
            run.append(record)
            words = ("kind", "proto", "height", "seconds")
            requests += [
                [end, verb, *(keys.get(word) for word in words)] for end, verb, keys in asked
            ]
    frame = load(folder / "run").frame
    report = cast(Report, report_of(folder / "run"))
    page = report.write().read_text(encoding="utf-8")
    return {
        "keys": [cell.key.rpartition("-")[0] for cell in cells],
        "lacking": [demand.what for demand in lacking(cells[0], {"client": {"tcp"}})],
        "in_schema": schema_text().count('"BounceTest": {'),
        "requests": requests,
        "frame": frame[["height", "bounces_per_s", "status"]].to_numpy().tolist(),
        "described": [describe(name).meaning for name in ("height", "bounces_per_s")],
        "label": setting("height", 2),
        "page": page,
        "first_lines": [line.sentence for line in report.answer.verdicts],
        "tables": [
            [
                sheet.title,
                sheet.columns,
                *([cell.text for cell in line.places] for line in sheet.lines),
            ]
            for part in report.parts
            for sheet in part.sheets
        ],
    }


if __name__ == "__main__":
    add_kind()
    with tempfile.TemporaryDirectory() as path:
        print(json.dumps(seen(Path(path))))
