"""Findings report missing cells, means over fewer cells and wrong durations of trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from made_findings import BUFFERS, plan_of, run_of

from netlab.findings.analysis import Analysis
from netlab.findings.finding import Group, Kind
from netlab.findings.runs import fewer_cells, missing, off_time
from netlab.findings.series import series_of
from netlab.imports.common.csv_table import record_of
from netlab.store.plan import PlannedCell, StatedDuration, StatedFacts
from netlab.trial.record import Record, Status, Value


def cell(
    key: str, pairing: str = "LL", protocol: str = "TCP", size: Value = 64, **more: Value
) -> PlannedCell:
    settings = {"protocol": protocol, "message_bytes": size, "duration_s": 10.0, **more}
    return PlannedCell(key, pairing, "stream", settings)


def ok(of: PlannedCell, trial: int = 1, **values: Value) -> Record:
    return record_of(of, {"throughput_bit_per_s": 9e7, **values}, printed="x", trial=trial)


def not_ok(of: PlannedCell, status: Status, reason: str | None, trial: int = 1) -> Record:
    record = record_of(of, {}, printed="x", trial=trial)
    return Record(
        **{**{n: getattr(record, n) for n in record.__slots__}, "status": status, "reason": reason}
    )


def said_of_missing(run: Analysis) -> list[tuple[Kind, Group, tuple[str, ...], dict[str, Any]]]:
    return [
        (finding.kind, finding.group, finding.cells, {**finding.evidence, **finding.words})
        for finding in missing(run)
    ]


def told(cells: int, of_cells: int, trials: int, reason: str, sizes: str = "64") -> dict[str, Any]:
    return {
        **{"cells": cells, "of_cells": of_cells, "trials": trials},
        **{"reason": reason, "message_bytes": sizes},
    }


# ---- without a result ----------------------------------------------------------------------------


def test_a_run_with_a_result_in_each_cell_has_no_missing_cells() -> None:
    a, b = cell("a"), cell("b")
    assert [*missing(run_of(plan_of([a, b]), [ok(a), ok(b)]))] == []


def test_missing_cells_are_grouped_by_pairing_protocol_and_reason() -> None:
    cells = [cell("a"), cell("b"), cell("c"), cell("d", "WL"), cell("e", protocol="UDP"), cell("f")]
    a, b, c, d, e, _ = cells
    records = [
        not_ok(a, Status.PENDING, "not-recorded"),
        not_ok(b, Status.IMPOSSIBLE, "unsupported"),
        not_ok(c, Status.PENDING, "not-recorded"),
        not_ok(d, Status.PENDING, "not-recorded"),
        not_ok(e, Status.PENDING, "not-recorded"),
    ]
    assert said_of_missing(run_of(plan_of(cells), records)) == [
        (Kind.NO_RESULT_CELLS, Group("LL", "TCP"), ("a", "c"), told(2, 4, 2, "not-recorded")),
        (Kind.NO_RESULT_CELLS, Group("LL", "TCP"), ("b",), told(1, 4, 1, "unsupported")),
        (Kind.NO_RESULT_CELLS, Group("WL", "TCP"), ("d",), told(1, 1, 1, "not-recorded")),
        (Kind.NO_RESULT_CELLS, Group("LL", "UDP"), ("e",), told(1, 1, 1, "not-recorded")),
        (Kind.NO_RESULT_CELLS, Group("LL", "TCP"), ("f",), told(1, 4, 1, "not-measured-yet")),
    ]


def test_a_failed_trial_is_reported_even_if_its_cell_has_a_result() -> None:
    a, b = cell("a"), cell("b")
    failed, blank = (
        not_ok(a, Status.FAILED, "no-peer", 2),
        not_ok(b, Status.PENDING, "not-recorded", 2),
    )
    run = run_of(plan_of([b, a], repeats=2), [ok(b), blank, ok(a), failed])
    assert said_of_missing(run) == [
        (Kind.NO_RESULT_TRIALS, Group("LL", "TCP"), ("a",), told(1, 2, 1, "no-peer"))
    ]


def test_failed_trials_are_counted_one_by_one_and_their_cells_once() -> None:
    a, b = cell("a"), cell("b")
    records = [
        not_ok(cell_of_run, Status.FAILED, "no-peer", t)
        for cell_of_run in (a, b)
        for t in (1, 2, 3)
    ]
    assert said_of_missing(run_of(plan_of([a, b], repeats=3), records)) == [
        (Kind.NO_RESULT_TRIALS, Group("LL", "TCP"), ("a", "b"), told(2, 2, 6, "no-peer"))
    ]


def test_a_cell_of_which_no_message_ever_arrives_though_others_do_will_fail_again() -> None:
    a, b = cell("a"), cell("b")
    for reason, kind in (
        ("no-traffic", Kind.NO_RESULT_EACH),
        ("connect-timeout", Kind.NO_RESULT_EACH),
        ("no-peer", Kind.NO_RESULT_TRIALS),
    ):
        failed = [not_ok(a, Status.FAILED, reason, trial) for trial in (1, 2)]
        alone = run_of(plan_of([a], repeats=2), failed)
        assert [said[0] for said in said_of_missing(alone)] == [Kind.NO_RESULT_TRIALS]
        beside = run_of(plan_of([a, b], repeats=2), [*failed, ok(b), ok(b, 2)])
        assert [said[0] for said in said_of_missing(beside)] == [kind]


def test_a_failed_trial_without_a_reason_is_reported_as_no_reason_given() -> None:
    a = cell("a")
    for reason in (None, ""):
        run = run_of(plan_of([a]), [not_ok(a, Status.FAILED, reason)])
        assert said_of_missing(run) == [
            (Kind.NO_RESULT_TRIALS, Group("LL", "TCP"), ("a",), told(1, 1, 1, "no-reason-given"))
        ]


def test_a_missing_cells_finding_lists_each_message_size_once_and_in_order() -> None:
    cells = [cell(str(at), size=size) for at, size in enumerate((1500, 64, 9000, 64))]
    (sizes_finding,) = missing(run_of(plan_of(cells), []))
    assert sizes_finding.words["message_bytes"] == "64, 1500, 9000"
    assert (sizes_finding.evidence["cells"], sizes_finding.evidence["trials"]) == (4, 4)
    odd = [cell("a", size="auto"), PlannedCell("b", "LL", "connect", {})]
    without = [*missing(run_of(plan_of(odd), []))]
    assert [finding.words["message_bytes"] for finding in without] == ["", ""]
    assert [finding.group for finding in without] == [Group("LL", "TCP"), Group("LL", "")]


# ---- means over fewer cells ----------------------------------------------------------------------


def column(
    pairing: str, has: Sequence[bool], *, test: str = "stream", size: int = 64, **more: Value
) -> tuple[list[PlannedCell], list[Record]]:
    cells, records = [], []
    for buffer, presence in zip(BUFFERS, has, strict=False):
        key = f"{pairing}-{test}-{size}-{buffer}-{more}"
        settings: dict[str, Any] = {
            **{"protocol": "TCP", "message_bytes": size, "socket_buffer_bytes": buffer},
            **more,
        }
        planned_cell = PlannedCell(key, pairing, test, settings)
        quantity = "throughput_bit_per_s" if test == "stream" else "rtt_mean_ns"
        cells.append(planned_cell)
        if presence:
            records.append(record_of(planned_cell, {quantity: 9e7}, printed="x"))
    return cells, records


def fewer(*columns: tuple[list[PlannedCell], list[Record]]) -> list[tuple[str, dict[str, float]]]:
    cells = [cell for cells, _ in columns for cell in cells]
    records = [record for _, records in columns for record in records]
    findings = [*fewer_cells(series_of(run_of(plan_of(cells), records)))]
    assert {finding.kind for finding in findings} <= {Kind.FEWER_CELLS}
    return [(str(finding.group), dict(finding.evidence)) for finding in findings]


def test_a_mean_over_fewer_cells_than_comparable_means_names_the_missing_cells() -> None:
    full_column, short_column = column("LL", [True] * 3), column("WL", [True, False, True])
    assert fewer(full_column, short_column) == [
        ("WL TCP 64", {"cells": 2, "most_cells": 3, "of_cells": 3})
    ]
    cells, records = full_column[0] + short_column[0], full_column[1] + short_column[1]
    (finding,) = fewer_cells(series_of(run_of(plan_of(cells), records)))
    assert finding.cells == (short_column[0][1].key,)


def test_columns_with_equally_many_or_no_results_have_no_finding_about_fewer_cells() -> None:
    assert fewer(column("LL", [True] * 3), column("WL", [False] * 3)) == []
    assert fewer(column("LL", [True, False]), column("WL", [False, True])) == []
    flags = [True, False, False]
    assert fewer(column("LL", [True] * 3), column("WL", flags)) == [
        ("WL TCP 64", {"cells": 1, "most_cells": 3, "of_cells": 3})
    ]


def test_columns_of_other_tests_or_other_socket_buffers_are_not_compared_for_missing_cells() -> (
    None
):
    short = column("WL", [True, False])
    assert fewer(column("LL", [True] * 3), short) == []
    assert fewer(column("LL", [True] * 2, test="connect"), short) == []
    assert fewer(column("LL", [True] * 2, size=1500), short) != []


def test_each_column_with_missing_cells_is_compared_with_the_fullest_column() -> None:
    short_columns = fewer(
        column("LL", [True, True, False]),
        column("WL", [True] * 3),
        column("LW", [True, False, False]),
    )
    assert [
        (name, evidence["cells"], evidence["most_cells"]) for name, evidence in short_columns
    ] == [
        ("LL TCP 64", 2, 3),
        ("LW TCP 64", 1, 3),
    ]


# ---- how long trials ran -------------------------------------------------------------------------


def timed(
    took_s: Mapping[str, Sequence[float]],
    *,
    settings: Mapping[str, Any] | None = None,
    prefix: str = "",
    **values: Value,
) -> list[Any]:
    cells, records = [], []
    for key, trials in took_s.items():
        of = cell(key, key[:2], **(settings or {}))
        cells.append(of)
        for number, seconds in enumerate(trials, 1):
            its: dict[str, Value] = {f"{prefix}elapsed_ns": round(seconds * 1e9), **values}
            records.append(ok(of, number, **its))
    most = max(map(len, took_s.values()))
    return list(off_time(series_of(run_of(plan_of(cells, repeats=most), records)), StatedFacts()))


@pytest.mark.parametrize(
    ("took_s", "values", "off"),
    [
        (10.2, {}, False),
        (10.201, {}, True),
        (9.8, {}, False),
        (9.799, {}, True),
        (10.7, {"receiver_longest_gap_ns": 500_000_000}, False),
        (10.701, {"receiver_longest_gap_ns": 500_000_000}, True),
        (10.7, {"rtt_max_ns": 500_000_000}, False),
        (10.7, {"rtt_max_ns": 500_000_000, "receiver_longest_gap_ns": 1}, False),
        (10.701, {"rtt_max_ns": 400_000_000, "receiver_longest_gap_ns": 500_000_000}, True),
        (10.7, {"rtt_max_ns": -500_000_000}, True),
        (10.7, {"rtt_max_ns": True}, True),
    ],
)
def test_a_duration_is_reported_if_wrong_by_more_than_2_percent_beyond_the_longest_gap(
    took_s: float, values: dict[str, Any], off: bool
) -> None:
    assert len(timed({"LL": [took_s]}, **values)) == off


def test_a_trial_exactly_2_percent_off_its_duration_is_not_reported() -> None:
    settings: dict[str, Value] = {"duration_s": 100.0}
    assert (
        timed({"LL": [102.0]}, settings=settings) == timed({"LL": [98.0]}, settings=settings) == []
    )
    timeout_settings: dict[str, Value] = {**settings, "timeout_s": 2.0}
    assert timed({"LL": [104.0]}, settings=timeout_settings) == []
    assert len(timed({"LL": [104.000000001]}, settings=timeout_settings)) == 1


def test_a_trial_of_half_a_second_is_reported_if_its_duration_is_wrong() -> None:
    assert len(timed({"LL": [0.6]}, settings={"duration_s": 0.5})) == 1


def test_a_trial_without_a_duration_does_not_hide_a_later_trial_of_wrong_duration() -> None:
    cells = [cell("a"), cell("b")]
    late = ok(cells[0], 3, elapsed_ns=15 * 10**9)
    run = run_of(plan_of(cells, repeats=3), [ok(cells[0]), late])
    (finding,) = off_time(series_of(run), StatedFacts())
    assert (finding.evidence["trials"], finding.evidence["of_trials"]) == (1, 1)


def test_a_trial_may_exceed_its_duration_by_its_time_out() -> None:
    settings: dict[str, Value] = {"timeout_s": 2.0}
    assert timed({"LL": [12.2]}, settings=settings) == []
    assert len(timed({"LL": [12.201]}, settings=settings)) == 1


@pytest.mark.parametrize("lacking", [{"duration_s": None}, {"duration_s": 0}, {"duration_s": "10"}])
def test_a_trial_without_a_requested_duration_is_not_reported_for_its_duration(
    lacking: dict[str, Value],
) -> None:
    assert timed({"LL": [15.0]}, settings=lacking) == []


def test_a_trial_without_a_recorded_duration_is_not_reported_for_its_duration() -> None:
    of = cell("a")
    values: Any
    for values in (None, True, "15000000000", -1, 0):
        run = run_of(plan_of([of]), [ok(of, elapsed_ns=values)])
        assert off_time(series_of(run), StatedFacts()) == ()
    assert off_time(series_of(run_of(plan_of([of]), [])), StatedFacts()) == ()


def test_wrong_durations_are_counted_for_each_pairing_with_the_range_of_durations() -> None:
    findings = timed(
        {"LL-a": [10.0, 15.0], "WL-b": [10.0, 10.0], "LL-c": [11.0, 12.0], "LL-d": [10.0]}
    )
    (of_ll,) = findings
    assert (of_ll.kind, of_ll.group, of_ll.cells) == (Kind.OFF_TIME, Group("LL"), ("LL-a", "LL-c"))
    assert of_ll.evidence == {
        "trials": 3,
        "of_trials": 5,
        "asked_s": 10.0,
        "shortest_s": 11.0,
        "longest_s": 15.0,
    }


def test_failed_trials_are_not_reported_for_their_duration() -> None:
    of = cell("a")
    late = ok(of, elapsed_ns=15 * 10**9)
    failed = Record(
        **{
            **{name: getattr(late, name) for name in late.__slots__},
            "status": Status.FAILED,
            "reason": "no-peer",
        }
    )
    assert off_time(series_of(run_of(plan_of([of]), [failed])), StatedFacts()) == ()
    assert len(off_time(series_of(run_of(plan_of([of]), [late])), StatedFacts())) == 1


def test_each_direction_of_a_stream_both_ways_is_judged_by_its_own_duration() -> None:
    settings: dict[str, Value] = {"direction": "both"}
    (finding,) = timed(
        {"LL": [15.0]}, settings=settings, prefix="to_client_", to_server_elapsed_ns=10**10
    )
    assert (finding.evidence["trials"], finding.evidence["of_trials"]) == (1, 2)


@pytest.mark.parametrize(
    ("shortest_s", "longest_s", "off"),
    [(98, 102, False), (97.9, 100, True), (100, 102.1, True), (100, 100, False)],
)
def test_durations_that_a_document_states_are_reported_for_its_pairings_with_the_source(
    shortest_s: float, longest_s: float, off: bool
) -> None:
    duration = StatedDuration(
        pairings=("LL",), asked_s=100, shortest_s=shortest_s, longest_s=longest_s, source="page 7"
    )
    cells = [cell("a"), cell("b", "WL"), cell("c"), cell("d")]
    records = [ok(cells[0]), ok(cells[1]), ok(cells[3])]
    findings = off_time(
        series_of(run_of(plan_of(cells), records)), StatedFacts(durations=(duration,))
    )
    assert len(findings) == off
    for finding in findings:
        assert (finding.kind, finding.group, finding.cells) == (
            Kind.OFF_TIME,
            Group("LL"),
            ("a", "d"),
        )
        assert finding.evidence == {
            **{"asked_s": 100, "shortest_s": shortest_s, "longest_s": longest_s},
        }
        assert finding.words == {"source": "page 7"}


def test_a_second_stated_duration_is_reported_even_if_the_first_is_within_bounds() -> None:
    near, far = (
        StatedDuration(pairings=(), asked_s=10, shortest_s=10, longest_s=s, source=str(s))
        for s in (10, 20)
    )
    cells = [cell("a"), cell("b", "WL")]
    run = run_of(plan_of(cells), [ok(planned_cell) for planned_cell in cells])
    findings = off_time(series_of(run), StatedFacts(durations=(near, far)))
    assert [(finding.group.pairing, finding.words["source"]) for finding in findings] == [
        *(("LL", "20"), ("WL", "20")),
    ]
