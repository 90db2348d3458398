"""The figures of each block of a run, from trials that began within their block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from made_findings import plan_of, run_of
from made_runs import LL, made_record

from netlab.findings.finding import Group
from netlab.findings.over_time import BlockTable, _complete, lasted_s, tables, within_blocks
from netlab.findings.series import Point, Series
from netlab.trial.record import Record, Value

PACED: dict[str, Value] = {"rate_bit_per_s": 1e6}


def began(cell: str, trial: int, second: int, figure: float = 5.0) -> Record:
    """A result of a trial that began in this second of a run."""
    values: dict[str, Value] = {"throughput_bit_per_s": figure, "rtt_mean_ns": figure}
    record = made_record(LL, trial, values=values)
    return replace(record, cell=cell, started_at=f"2026-01-31T12:00:{second:02}.000000Z")


def point(records: Sequence[Record], quantity: str, settings: dict[str, Value]) -> Point:
    return Point(
        cell=records[0].cell,
        buffer_bytes=None,
        settings=settings,
        records=tuple(records),
        prefix="",
        quantity=quantity,
        link=None,
    )


def test_tables_hold_the_cells_with_a_figure_above_0_in_each_block_but_no_paced_streams() -> None:
    figures = {"paced": (4.0, 4.0, 4.0), "zero": (3.0, 0.0, 4.0), "a": (5.0, 0.5, 7.0)}
    records = {
        cell: [
            began(cell, trial, 10 * trial + place, figure)
            for trial, figure in enumerate(of_cell, start=1)
        ]
        for place, (cell, of_cell) in enumerate(figures.items())
    }
    run = run_of(plan_of([LL]), [record for of_cell in records.values() for record in of_cell])
    series = [
        Series(
            group=Group(),
            test=test,
            quantity=quantity,
            points=tuple(
                point(of_cell, quantity, PACED if cell == "paced" else {})
                for cell, of_cell in records.items()
            ),
        )
        for test, quantity in (("stream", "throughput_bit_per_s"), ("round_trip", "rtt_mean_ns"))
    ]
    a, paced = figures["a"], figures["paced"]
    assert tables(run, series) == (
        BlockTable("throughput_bit_per_s", {("a", ""): a}),
        BlockTable("rtt_mean_ns", {("paced", ""): paced, ("a", ""): a}),
    )


def test_a_trial_that_began_with_the_next_block_or_after_its_beginning_is_in_no_block() -> None:
    records = [
        *(began("a", 1, 0), began("b", 1, 1), began("c", 1, 2), began("d", 1, 3)),
        *(began("a", 2, 2), began("b", 2, 4), began("a", 3, 6)),
    ]
    assert within_blocks(run_of(plan_of([LL]), records)) == {
        *(("a", 1), ("b", 1), ("a", 2), ("b", 2), ("a", 3))
    }


def test_a_table_may_have_a_single_block_or_no_cell() -> None:
    assert _complete("rtt", {("a", ""): {1: 5.0}, ("b", ""): {2: 6.0}}) == BlockTable(
        "rtt", {("a", ""): (5.0,)}
    )
    assert _complete("rtt", {("b", ""): {2: 6.0}}) == BlockTable("rtt", {})


def test_trials_last_from_the_first_start_to_the_last_and_no_trials_have_no_time() -> None:
    run = run_of(plan_of([LL]), [began("a", 1, 7), began("b", 1, 3), began("a", 2, 12)])
    assert lasted_s(run, [("a", 1), ("b", 1)]) == 4
    assert lasted_s(run, [("a", 1), ("b", 1), ("a", 2), ("c", 1)]) == 9
    assert lasted_s(run, [("c", 1)]) is None
