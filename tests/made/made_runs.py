"""Plans and records made up for the tests of the rooms around the run folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from netlab.ethernet import Link
from netlab.store.plan import Plan, PlannedCell
from netlab.store.run_folder import RunFolder
from netlab.trial.record import Record, Status, Value

CONTENT: Mapping[str, Any] = {
    "link": {"rate_bit_per_s": 1e8, "mtu_bytes": 1500, "vlan": False},
    "pairings": ["LL", "WL"],
    "repeats": 2,
    "tests": [{"kind": "stream", "duration_s": 10, "message_bytes": [64, 1500]}],
}


def made_cell(pairing: str = "LL", message_bytes: int = 64) -> PlannedCell:
    return PlannedCell(
        key=f"{pairing}-stream-udp-{message_bytes}-auto-00000000",
        pairing=pairing,
        test="stream",
        settings={"protocol": "UDP", "message_bytes": message_bytes, "duration_s": 10.0},
    )


def made_plan(
    *,
    content: Mapping[str, Any] = CONTENT,
    cells: tuple[PlannedCell, ...] | None = None,
    repeats: int = 2,
    matrix_text: str = "title: made up\n",
) -> Plan:
    four = tuple(made_cell(pairing, size) for pairing in ("LL", "WL") for size in (64, 1500))
    return Plan(
        title="made up",
        content=content,
        content_hash="0" * 64,
        matrix_text=matrix_text,
        link=Link(1e8, 1500),
        cells=four if cells is None else cells,
        repeats=repeats,
    )


def made_record(
    cell: PlannedCell | None = None,
    trial: int = 1,
    *,
    attempt: int = 1,
    status: Status = Status.OK,
    reason: str | None = None,
    values: Mapping[str, Value] | None = None,
    detail: str | None = None,
    errno: int | None = None,
) -> Record:
    cell = cell or made_cell()
    default_values: Mapping[str, Value] = {"throughput_bit_per_s": 48_600_000.5, "lost_messages": 0}
    return Record(
        cell=cell.key,
        trial=trial,
        attempt=attempt,
        status=status,
        reason=reason,
        errno=errno,
        detail=detail,
        pairing=cell.pairing,
        server="alpha",
        client="beta",
        test=cell.test,
        started_at="2026-01-31T12:00:00.000000Z",
        settings=cell.settings,
        values=values if values is not None else (default_values if status is Status.OK else {}),
    )


def ticking(start: int = 0) -> Callable[[], str]:
    """A wall clock that goes on by one second a look."""
    seconds = iter(range(start, start + 10_000))

    def clock() -> str:
        now = next(seconds)
        return f"2026-01-31T{12 + now // 3600:02}:{now // 60 % 60:02}:{now % 60:02}.000000Z"

    return clock


LL, LL_LARGE, WL, WL_LARGE = made_plan().cells


def open_folder(path: Path, plan: Plan | None = None) -> RunFolder:
    return RunFolder.open_for_writing(path, plan or made_plan(), clock=ticking())


def lines_of(path: Path) -> list[bytes]:
    return (path / "journal.jsonl").read_bytes().splitlines(keepends=True)
