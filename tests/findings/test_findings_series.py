"""Cells are grouped into series along the socket buffer, and each point has its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from made_findings import LINK, plan_of, run_of

from netlab.ethernet import Link
from netlab.findings.analysis import Analysis
from netlab.findings.finding import Group
from netlab.findings.series import Point, series_of
from netlab.imports.common.csv_table import record_of
from netlab.store.plan import PlannedCell
from netlab.trial.record import Status, Value


def cell(key: str, test: str = "stream", pairing: str = "LL", **settings: Any) -> PlannedCell:
    defaults: dict[str, Value] = {"protocol": "TCP", "message_bytes": 64, "socket_buffer_bytes": 8}
    return PlannedCell(key, pairing, test, {**defaults, **settings})


def planned(*cells: PlannedCell) -> Analysis:
    return run_of(plan_of(cells), [])


def grouped(*cells: PlannedCell) -> list[tuple[Group, str, list[str]]]:
    all_series = series_of(planned(*cells))
    return [
        (one_series.group, one_series.test, [point.cell for point in one_series.points])
        for one_series in all_series
    ]


# ---- which cells belong together ----------------------------------------------------------------


def test_a_series_is_ordered_by_socket_buffer_with_automatic_buffers_last() -> None:
    sizes: list[Any] = [None, 32, 8, "auto", 16]
    (only,) = series_of(planned(*(cell(str(s), socket_buffer_bytes=s) for s in sizes)))
    assert [point.cell for point in only.points] == ["8", "16", "32", "None", "auto"]
    assert [point.buffer_bytes for point in only.points] == [8, 16, 32, None, None]
    assert [point.cell for point in only.on_axis] == ["8", "16", "32"]


def test_series_are_grouped_by_pairing_protocol_size_and_test_in_plan_order() -> None:
    groups = grouped(
        cell("a", pairing="WL"),
        cell("b"),
        cell("c", protocol="UDP"),
        cell("d", message_bytes=1500),
        cell("e", test="round_trip"),
        cell("f", test="connect"),
        cell("g", test="payload_search"),
        cell("h", pairing="WL", socket_buffer_bytes=4),
    )
    assert groups == [
        (Group("WL", "TCP", 64), "stream", ["h", "a"]),
        (Group("LL", "TCP", 64), "stream", ["b"]),
        (Group("LL", "UDP", 64), "stream", ["c"]),
        (Group("LL", "TCP", 1500), "stream", ["d"]),
        (Group("LL", "TCP", 64), "round_trip", ["e"]),
        (Group("LL", "TCP", 64), "connect", ["f"]),
    ]


def test_each_test_has_the_quantity_by_which_its_cells_are_compared() -> None:
    all_series = series_of(planned(cell("a"), cell("b", "round_trip"), cell("c", "connect")))
    quantities = ["throughput_bit_per_s", "rtt_mean_ns", "rtt_mean_ns"]
    assert [one_series.quantity for one_series in all_series] == quantities
    assert [one_series.points[0].quantity for one_series in all_series] == quantities


def test_series_are_separated_by_the_settings_that_differ_within_one_test() -> None:
    groups = grouped(
        cell("a", streams=1, tags=[1, 2], duration_s=10.0),
        cell("b", streams=2, tags=[1, 2], duration_s=10.0),
        cell("c", streams=2, tags=[1], duration_s=10.0, nagle=True),
        cell("d", protocol="UDP", streams=4),
        cell("e", test="connect", streams=5),
    )
    conditions = [dict(group.conditions) for group, _, _ in groups]
    assert conditions == [
        {"streams": 1, "tags": "[1, 2]", "nagle": None},
        {"streams": 2, "tags": "[1, 2]", "nagle": None},
        {"streams": 2, "tags": "[1]", "nagle": True},
        {},
        {},
    ]
    assert [name for name, _ in groups[0][0].conditions] == ["streams", "tags", "nagle"]


def test_a_number_and_the_same_digits_as_text_in_a_setting_make_separate_series() -> None:
    assert len(grouped(cell("a", x=1), cell("b", x="1"))) == 2
    assert len(grouped(cell("a", x=1), cell("b", x=1))) == 1


def test_a_stream_both_ways_has_a_series_per_direction_and_other_tests_have_one_series() -> None:
    groups = grouped(cell("a", direction="both"), cell("b", "round_trip", direction="both"))
    assert [(group.flow, test) for group, test, _ in groups] == [
        *(("to server", "stream"), ("to client", "stream"), ("", "round_trip")),
    ]
    points = [
        one_series.points[0].prefix
        for one_series in series_of(planned(cell("a", direction="both")))
    ]
    assert points == ["to_server_", "to_client_"]
    assert [group.flow for group, _, _ in grouped(cell("a", direction="server-sends"))] == [""]


def test_a_series_of_cells_without_size_and_protocol_has_a_group_with_the_pairing_only() -> None:
    all_series = series_of(planned(PlannedCell("a", "LL", "stream", {"message_bytes": "auto"})))
    assert [one_series.group for one_series in all_series] == [Group("LL")]


# ---- the result of a point ----------------------------------------------------------------------


def point_of(
    trials: Sequence[Mapping[str, Value] | Status | None],
    test: str = "stream",
    link: Link | None = LINK,
    **settings: Any,
) -> Point:
    """Values of each trial. A status means no result; ``None``: not measured yet."""
    of = cell("a", test, **settings)
    records = []
    for number, outcome in enumerate(trials, 1):
        if outcome is None:
            continue
        status = outcome if isinstance(outcome, Status) else Status.OK
        values = {} if isinstance(outcome, Status) else outcome
        record = record_of(of, values, printed="x", trial=number)
        records.append(replace(record, status=status))
    run = run_of(plan_of([of], link, repeats=len(trials)), records)
    return series_of(run)[0].points[0]


def said(bit_per_s: float | None, **more: Value) -> dict[str, Any]:
    return {"throughput_bit_per_s": bit_per_s, **more}


def test_a_point_of_a_series_has_figures_by_trial_and_their_median_and_mean() -> None:
    point = point_of([said(10.0), None, said(40.0), Status.FAILED, said(13), said(None)])
    assert point.figures == (10.0, None, 40.0, None, 13.0, None)
    assert point.values == (10.0, 40.0, 13.0)
    assert (point.middle, point.mean) == (13.0, 21.0)
    assert len(point.records) == 6
    assert point.records[1] is None


def test_a_point_of_a_series_without_figures_has_no_median_and_no_mean() -> None:
    empty: list[Any] = [None, Status.FAILED, said(None), said(True), {}]
    for trial in empty:
        point = point_of([trial])
        assert (point.values, point.middle, point.mean) == ((), None, None)
    (only,) = series_of(planned(cell("a")))
    assert only.measured == ()
    assert point_of([said(0.0)]).middle == 0.0


def test_a_failed_trial_has_no_figure_in_a_series_even_if_its_record_has_a_figure() -> None:
    of = cell("a")
    record = replace(record_of(of, said(5.0, x=1), printed="x"), status=Status.FAILED)
    (only,) = series_of(run_of(plan_of([of]), [record]))
    (point,) = only.points
    assert (point.values, point.of("x"), only.measured) == ((), (), ())


def test_a_point_of_a_series_reads_values_of_its_trials_and_its_direction() -> None:
    point = point_of([{"x": 1}, {"y": 2}, None, {"x": 3}])
    assert (point.of("x"), point.of_flow("x"), point.of("z")) == ((1, 3), (1, 3), ())
    two_way_point = point_of([{"x": 1, "to_server_x": 2, "to_client_x": 3}], direction="both")
    assert (two_way_point.of("x"), two_way_point.of_flow("x")) == ((1,), (2,))


def test_a_point_of_a_series_is_marked_as_paced_and_as_within_one_host() -> None:
    assert point_of([{}], rate_bit_per_s=1).paced is True
    assert point_of([{}], message_rate_per_s=1).paced is True
    assert point_of([{}]).paced is False
    assert point_of([{"same_host": False}, {"same_host": True}]).same_host is True
    assert point_of([{"same_host": False}, {}]).same_host is False


def test_the_print_resolution_of_a_point_is_the_coarsest_among_its_throughputs() -> None:
    steps: list[dict[str, Value]] = [
        {"printed_step_bit_per_s": 1e4},
        {"printed_step_bit_per_s": 10**5},
        {"printed_step_bit_per_s": "1e9"},
        {"printed_step_bit_per_s": True},
        {},
    ]
    assert point_of(steps).print_step == 1e5
    assert point_of([{}]).print_step == 0.0
    assert point_of(steps, "round_trip").print_step == 0.0


def test_the_wire_ceilings_of_a_point_come_from_its_first_ok_trial() -> None:
    trials: list[Any] = [None, Status.FAILED, {"tcp_timestamps": False}, {"tcp_timestamps": True}]
    point = point_of(trials)
    assert point.lowest_ceiling == point.highest_ceiling == pytest.approx(1e8 * 1460 / 1538)
    unknown = point_of([None])
    assert unknown.lowest_ceiling == pytest.approx(1e8 * 1448 / 1538)
    assert unknown.highest_ceiling == pytest.approx(1e8 * 1460 / 1538)


@pytest.mark.parametrize(
    ("test", "link", "settings"),
    [
        ("round_trip", LINK, {}),
        ("stream", None, {}),
        ("stream", LINK, {"message_bytes": None}),
        ("stream", LINK, {"message_bytes": "auto"}),
    ],
)
def test_a_point_without_a_link_or_message_size_or_of_round_trips_has_no_wire_ceiling(
    test: str, link: Link | None, settings: dict[str, Value]
) -> None:
    point = point_of([{}], test, link, **settings)
    assert (point.lowest_ceiling, point.highest_ceiling) == (None, None)


def test_each_direction_of_a_point_has_its_own_wire_ceiling() -> None:
    values: dict[str, Value] = {"to_server_tcp_timestamps": False, "to_client_tcp_timestamps": True}
    of = cell("a", direction="both")
    upload, download = series_of(run_of(plan_of([of]), [record_of(of, values, printed="x")]))
    assert upload.points[0].lowest_ceiling == pytest.approx(1e8 * 1460 / 1538)
    assert download.points[0].highest_ceiling == pytest.approx(1e8 * 1448 / 1538)


def test_each_record_counts_for_its_own_cell_and_trial_in_a_series() -> None:
    cells = [cell("a", socket_buffer_bytes=1), cell("b", socket_buffer_bytes=2)]
    records = [
        record_of(planned_cell, said(float(f"{at}{trial}")), printed="x", trial=trial)
        for trial in (2, 1)
        for at, planned_cell in enumerate(cells, 1)
    ]
    (only,) = series_of(run_of(plan_of(cells, repeats=2), records))
    assert [point.figures for point in only.points] == [(11.0, 12.0), (21.0, 22.0)]
