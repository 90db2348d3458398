"""Runs made up for the tests of findings: the lab report's figures turned, and measured series."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from folders import REPORTS

from netlab.ethernet import Link
from netlab.findings.analysis import Analysis
from netlab.findings.finding import Finding, Kind
from netlab.findings.series import Series, series_of
from netlab.imports.common.csv_table import parse, record_of
from netlab.imports.table import FORM
from netlab.store.journal import Note
from netlab.store.plan import Plan, PlannedCell, StatedFacts
from netlab.store.reader import StoredRun
from netlab.trial.record import Record, Status, Value

FOLDER = REPORTS / "lab-report"
TABLE = FOLDER / "lab-report.csv"
KIB = 1024
CLEAN_MBIT = [94.02, 94.05, 94.01, 94.06, 94.03, 94.04, 94.02, 94.05]
BUFFERS = [size * KIB for size in (16, 20, 24, 28, 32, 36, 40, 44)]
LINK = Link(1e8, 1500)


def run_of(plan: Plan, records: Iterable[Record], notes: Sequence[Note] = ()) -> Analysis:
    run_records = tuple(records)
    return Analysis(
        StoredRun(
            path=Path("nowhere"),
            plan=plan,
            created_at="",
            read_records=lambda: run_records,
            notes=tuple(notes),
            damage=(),
            latest={(record.cell, record.trial): record for record in run_records},
            unfinished={},
        )
    )


def plan_of(cells: Sequence[PlannedCell], link: Link | None = LINK, **keys: Any) -> Plan:
    fields: dict[str, Any] = {"content": {}, "repeats": 1, "source": None, **keys}
    return Plan(
        title="made up",
        content_hash="0" * 64,
        matrix_text="",
        link=link,
        cells=tuple(cells),
        **fields,
    )


def of_kind(findings: Iterable[Finding], *kinds: Kind) -> list[Finding]:
    return [finding for finding in findings if finding.kind in kinds]


def kinds_of(findings: Iterable[Finding]) -> set[Kind]:
    return {finding.kind for finding in findings}


def places(run: Analysis, findings: Iterable[Finding]) -> set[tuple[str, int]]:
    """Group in words, and the socket buffer of each cell in KiB."""
    by_key = {cell.key: cell for cell in run.plan.cells}
    return {
        (str(finding.group), int(str(by_key[cell].settings["socket_buffer_bytes"])) // KIB)
        for finding in findings
        for cell in finding.cells
    }


Figures = dict[tuple[str, str, int], list[float | None]]


@cache
def figures() -> Figures:
    """(pairing, protocol, message size) → Mbit/s by socket buffer, 16 to 64 KiB."""
    columns: Figures = {}
    for row in parse(TABLE.read_text("utf-8"), "t", FORM):
        settings = row.cell.settings
        key = (row.cell.pairing, str(settings["protocol"]), int(str(settings["message_bytes"])))
        column = columns.setdefault(key, [])
        column.append(float(row.printed) if row.printed else None)
    return columns


def lab_report(
    columns: Figures | None = None,
    *,
    names: Mapping[str, str] | None = None,
    scale: float = 1.0,
    link: bool = True,
    statements: StatedFacts | None = None,
    extra_values: Mapping[str, Value] | None = None,
) -> Analysis:
    """The recorded run with other figures, other names of its pairings, another link."""
    columns = figures() if columns is None else columns
    cells, records = [], []
    for (pairing, protocol, size), column in columns.items():
        for at, figure in enumerate(column):
            name = (names or {}).get(pairing, pairing)
            buffer_bytes = (16 + 4 * at) * KIB
            cell = PlannedCell(
                f"{name}-{protocol}-{size}-{buffer_bytes}",
                name,
                "stream",
                {
                    "protocol": protocol,
                    "message_bytes": size,
                    "socket_buffer_bytes": buffer_bytes,
                },
            )
            values: dict[str, Value] = {}
            if figure is not None:
                step = {"printed_step_bit_per_s": 1e4 * scale}
                values = {
                    "throughput_bit_per_s": figure * 1e6 * scale,
                    **step,
                    **(extra_values or {}),
                }
            cells.append(cell)
            records.append(record_of(cell, values, printed="x" if values else ""))
    content = {} if statements is None else {"stated": statements.data()}
    rate = Link(1e8 * scale, 1500) if link else None
    return run_of(plan_of(cells, rate, source="lab-report.csv", content=content), records)


def stream(protocol: str = "TCP", size: int = 1500, **more: Value) -> dict[str, Value]:
    return {"protocol": protocol, "message_bytes": size, "duration_s": 10.0, **more}


def measured(
    series: Mapping[int, Sequence[float | None]],
    *,
    pairing: str = "LL",
    asked: Mapping[str, Value] | None = None,
    values: Mapping[str, Value] | None = None,
    effective: Mapping[int, Mapping[str, Value]] | None = None,
    link: Link | None = LINK,
    notes: Sequence[Note] = (),
) -> Analysis:
    """Socket buffer → Mbit/s of each trial; ``None`` failed."""
    cells, records = [], []
    for size, trials in series.items():
        cell_settings = {**stream(), **(asked or {}), "socket_buffer_bytes": size}
        cell = PlannedCell(f"{pairing}-{size}", pairing, "stream", cell_settings)
        cells.append(cell)
        for number, mbit in enumerate(trials, 1):
            trial_values: dict[str, Value] = {
                "same_host": False,
                "elapsed_ns": 10_000_400_000,
                "tcp_timestamps": True,
                **(values or {}),
                **((effective or {}).get(size, {})),
            }
            if mbit is not None:
                trial_values["throughput_bit_per_s"] = mbit * 1e6
            record = replace(
                record_of(cell, trial_values, printed="x", trial=number, server="a", client="b"),
                status=Status.OK if mbit is not None else Status.FAILED,
                reason=None if mbit is not None else "no-peer",
                values=trial_values if mbit is not None else {},
            )
            records.append(record)
    repeats = max(map(len, series.values()))
    return run_of(plan_of(cells, link, repeats=repeats), records, notes)


def clean(**more: Any) -> Analysis:
    """Eight buffers, five trials each, all at the wire's ceiling."""
    trials = [[mbit + 0.01 * n for n in range(5)] for mbit in CLEAN_MBIT]
    return measured(dict(zip(BUFFERS, trials, strict=True)), **more)


def of(findings: Iterable[Finding], kind: Kind) -> list[Finding]:
    return [finding for finding in findings if finding.kind is kind]


def cells_of(sizes: Sequence[int], pairing: str = "LL") -> tuple[str, ...]:
    return tuple(f"{pairing}-{size}" for size in sizes)


def flat(**more: Any) -> Analysis:
    return measured({size: [94.0] for size in BUFFERS}, **more)


def joined(*runs: Analysis) -> tuple[Series, ...]:
    cells = [cell for run in runs for cell in run.plan.cells]
    records = [record for run in runs for record in run.records]
    return series_of(run_of(replace(runs[0].plan, cells=tuple(cells)), records))
