"""What the tests of the report's parts share: a run made of a plan, and a look into its sheets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from netlab.ethernet import Link
from netlab.findings.analysis import Analysis, load
from netlab.report.sections import parts_of
from netlab.report.tables.elements import Part, Table, TableCell
from netlab.store.plan import Plan
from netlab.store.run_folder import RunFolder
from netlab.trial.record import Record

LINK = Link(1e8, 1500)

BLOCKING_18 = "UDP 18, server’s receive call blocking"
SPINNING_18 = "UDP 18, server’s receive call spinning"

Make = Callable[[Plan, Sequence[Record]], Analysis]


def made_run(parent: Path, plan: Plan, records: Sequence[Record]) -> Analysis:
    """A run folder of its own in ``parent``, written and read again."""
    path = parent / f"run-{len(list(parent.iterdir()))}"
    with RunFolder.open_for_writing(path, plan) as folder:
        for record in records:
            folder.append(record, durable=False)
    return load(path)


def part_of(run: Analysis, name: str) -> Part:
    return next(part for part in parts_of(run, run.trials) if part.name == name)


def place(sheet: Table, row: str, column: str) -> TableCell:
    line = next(line for line in sheet.lines if line.label.startswith(row))
    return line.places[sheet.columns.index(column)]


def why(sheet: Table, cell: TableCell) -> str:
    return " ".join(dict(sheet.footnotes)[letter] for letter in cell.notes)
