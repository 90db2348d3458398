"""Writes histories into run folders: one run a day, with three trials of each cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from netlab.ethernet import Link
from netlab.store.plan import Plan, PlannedCell
from netlab.store.run_folder import RunFolder
from netlab.trial.record import Record, Status, Value

FIRST_DAY = datetime(2025, 1, 1, 2, 30, tzinfo=UTC)
LINK = Link(1e8, 1500)
AROUND = (0.999, 1.0, 1.002)
"""The figures of a run's trials, in medians of the run."""


def stream_cell(message_bytes: int, pairing: str = "LL") -> PlannedCell:
    """A cell of a TCP stream."""
    return PlannedCell(
        key=f"{pairing}-stream-tcp-{message_bytes}-00000000",
        pairing=pairing,
        test="stream",
        settings={"protocol": "TCP", "message_bytes": message_bytes, "duration_s": 10.0},
    )


def round_trip_cell(message_bytes: int, pairing: str = "LL") -> PlannedCell:
    """A cell of UDP round trips."""
    return PlannedCell(
        key=f"{pairing}-round_trip-udp-{message_bytes}-00000000",
        pairing=pairing,
        test="round_trip",
        settings={"protocol": "UDP", "message_bytes": message_bytes, "duration_s": 10.0},
    )


def write_run(
    folder: Path,
    day: int,
    figures: Sequence[tuple[PlannedCell, float | None]],
    *,
    link: Link = LINK,
) -> Path:
    """A run that started on a day (from 0). ``figures``: median in Mbit/s for a stream, in µs for
    round trips; ``None``: every trial failed.
    """
    start = FIRST_DAY + timedelta(days=day)
    plan = Plan(
        title="nightly",
        content={},
        content_hash="0" * 64,
        matrix_text="",
        link=link,
        cells=tuple(cell for cell, _ in figures),
        repeats=len(AROUND),
    )
    with RunFolder.open_for_writing(folder, plan, clock=lambda: _words(start)) as run:
        for number, share in enumerate(AROUND, start=1):
            for cell, figure in figures:
                record = _record(cell, number, start, None if figure is None else figure * share)
                run.append(record, durable=False)
    return folder


def write_history(
    folder: Path, histories: Sequence[tuple[PlannedCell, Sequence[float | None]]]
) -> list[Path]:
    """A run per figure, one a day, in folders ``run-000``, ``run-001``, …"""
    days = len(histories[0][1])
    return [
        write_run(folder / f"run-{day:03}", day, [(cell, of[day]) for cell, of in histories])
        for day in range(days)
    ]


def _record(cell: PlannedCell, trial: int, start: datetime, figure: float | None) -> Record:
    values: Mapping[str, Value] = {}
    if figure is not None and cell.test == "stream":
        values = {"throughput_bit_per_s": figure * 1e6}
    elif figure is not None:
        values = {"rtt_mean_ns": figure * 1e3, "rtt_count": 1000}
    return Record(
        cell=cell.key,
        trial=trial,
        attempt=1,
        status=Status.FAILED if figure is None else Status.OK,
        reason="no-answer" if figure is None else None,
        pairing=cell.pairing,
        server="alpha",
        client="beta",
        test=cell.test,
        started_at=_words(start + timedelta(minutes=trial)),
        settings=cell.settings,
        values=values,
    )


def _words(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
