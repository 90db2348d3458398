"""A history as text, Markdown, CSV and JSON. No I/O.

A cell is one combination of test, pairing (server and client) and settings.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

from netlab.compare.history.history import CellHistory, History
from netlab.report.history.parts import part_of
from netlab.report.language.wording import Wording
from netlab.report.write.text import csv_value, markdown, plain
from netlab.terminal import printable

SCHEMA = 1
"""Version of the JSON format."""

_COLUMNS = (
    *("run", "started_at", "cell", "label", "quantity", "unit", "figure", "level"),
    *("change_point", "before", "after", "change_share", "p"),
)


def as_text(history: History, wording: Wording, width: int | None = None) -> str:
    """Text for a terminal: the table of change points, then sentences. Tables are no wider than
    ``width`` characters.
    """
    part = wording.of_part(part_of(history, with_charts=False))
    tables = [plain(table, width) for table in part.sheets]
    return "\n\n".join([*tables, "\n".join(map(printable, part.paragraphs))])


def as_markdown(history: History, wording: Wording) -> str:
    """The same in GitHub's Markdown."""
    part = wording.of_part(part_of(history, with_charts=False))
    return markdown(part.title, (), (), [part])


def as_csv(history: History) -> str:
    """CSV with a line for each run, cell and quantity. Unknown values are empty.

    ``change_point`` is true in the line of the first run after a change.
    """
    out = io.StringIO()
    writer = csv.DictWriter(out, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    for cell in history.cells:
        for row in _rows(history, cell):
            writer.writerow({name: csv_value(row.get(name)) for name in _COLUMNS})
    return out.getvalue()


def as_json(history: History) -> str:
    """One JSON object: the runs, and each cell with its figures and change points. Unknown values
    are absent.
    """
    document = {
        "schema": SCHEMA,
        "runs": [
            {"run": run.name, "path": str(run.path), "started_at": run.started_at.isoformat()}
            for run in history.runs
        ],
        "remarks": list(history.remarks),
        "histories": [
            {
                "cell": cell.cell,
                "label": cell.label,
                "quantity": cell.quantity.name,
                "unit": cell.quantity.unit,
                "figures": [
                    {name: row[name] for name in ("run", "figure", "level")}
                    for row in _rows(history, cell)
                    if row["figure"] is not None
                ],
                "change_points": [
                    {
                        "run": history.runs[point.index].name,
                        "started_at": history.runs[point.index].started_at.isoformat(),
                        "before": point.before,
                        "after": point.after,
                        "change_share": point.change_share,
                        "p": point.p_value,
                    }
                    for point in cell.course.change_points
                ],
            }
            for cell in history.cells
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _rows(history: History, cell: CellHistory) -> Iterator[dict[str, Any]]:
    points = {point.index: point for point in cell.course.change_points}
    for at, run in enumerate(history.runs):
        row = {
            "run": run.name,
            "started_at": run.started_at.isoformat(),
            "cell": cell.cell,
            "label": cell.label,
            "quantity": cell.quantity.name,
            "unit": cell.quantity.unit,
            "figure": cell.figures[at],
            "level": cell.course.levels[at],
            "change_point": at in points,
        }
        if point := points.get(at):
            row |= {
                "before": point.before,
                "after": point.after,
                "change_share": point.change_share,
                "p": point.p_value,
            }
        yield row
