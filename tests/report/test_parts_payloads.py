"""The report has a section on payload searches."""

from __future__ import annotations

from typing import Any

import pytest
from made_parts import Make, part_of, place, why
from made_readings import payload_run, plan_of, planned, result, round_trip_run

from netlab.report.sections import parts_of
from netlab.report.tables.elements import Chart


def test_a_payload_search_shows_payload_path_mtu_and_their_evidence_per_direction(
    make: Make,
) -> None:
    part = part_of(make(*payload_run()), "payload")
    (sheet,) = part.sheets
    assert place(sheet, "LL UDP", "payload").text == "1472"
    assert place(sheet, "LL UDP", "path MTU").text == "1500"
    assert place(sheet, "LL UDP", "known by").text == "the sender’s system"
    assert "silence" in place(sheet, "LL UDP", "known by (to client)").text
    assert place(sheet, "LL TCP", "payload").value is None
    assert "(unreachable)" in why(sheet, place(sheet, "LL TCP", "payload"))


def test_payload_searches_with_different_results_show_all_results(make: Make) -> None:
    cell = planned("payload_search")
    records = [result(cell, n, {"payload_bytes": size}) for n, size in ((1, 1472), (2, 1372))]
    run = make(plan_of([cell], 2), records)
    (sheet,) = part_of(run, "payload").sheets
    payload = place(sheet, "LL UDP", "payload")
    assert (payload.text, payload.value) == ("1372, 1472", None)


def test_captured_frames_are_shown_if_requested_and_a_footnote_states_why_none_were_seen(
    make: Make,
) -> None:
    cells = [planned("payload_search", capture=True, ip_version=version) for version in (4, 6)]
    values: dict[str, Any] = {
        "payload_bytes": 1472,
        "captured": True,
        "captured_frame_bytes": [1514],
    }
    records = [
        result(cells[0], 1, {**values, "captured_next_frame_bytes": [35, 1514]}),
        result(cells[1], 1, {"captured": False, "capture_reason": "beta: no tcpdump"}),
    ]
    (sheet,) = part_of(make(plan_of(cells, 1), records), "payload").sheets
    first, second = (line.label for line in sheet.lines)
    assert place(sheet, first, "frames seen").text == "1514"
    assert place(sheet, first, "frames seen, one byte more").text == "35 and 1514"
    assert "beta: no tcpdump" in why(sheet, place(sheet, second, "frames seen"))
    (plain,) = part_of(make(*payload_run()), "payload").sheets
    assert "frames seen" not in plain.columns


def test_fragments_of_a_message_one_byte_too_long_are_shown_if_counted(make: Make) -> None:
    cells = [planned("payload_search", ip_version=version) for version in (4, 6)]
    values: dict[str, Any] = {
        "payload_bytes": 1472,
        "next_passed": True,
        "next_client_ip_fragments_created": 6,
        "next_server_ip_reassembled": 3,
    }
    records = [
        result(cells[0], 1, values),
        result(cells[1], 1, {"payload_bytes": 1452, "next_passed": False}),
    ]
    (sheet,) = part_of(make(plan_of(cells, 1), records), "payload").sheets
    first, second = (line.label for line in sheet.lines)
    assert place(sheet, first, "fragments of one byte more").value == 6
    assert place(sheet, first, "reassembled from them").value == 3
    assert "did not arrive" in why(sheet, place(sheet, second, "reassembled from them"))
    (plain,) = part_of(make(*payload_run()), "payload").sheets
    assert "reassembled from them" not in plain.columns


def test_message_sizes_of_a_sweep_without_a_result_are_named(make: Make) -> None:
    plan, records = payload_run()
    values = {**records[0].values, "sweep_failed_message_bytes": [2944, 2945]}
    run = make(plan, [result(plan.cells[0], 1, values), records[1]])
    (sheet,) = part_of(run, "payload").sheets
    assert "no result at 2944, 2945" in why(sheet, place(sheet, "LL UDP", "sizes tried"))


def test_the_payload_chart_shows_the_ceiling_and_falls_after_the_largest_payload(
    make: Make,
) -> None:
    (chart,) = part_of(make(*payload_run()), "payload").charts
    assert isinstance(chart, Chart)
    points, ceiling = dict(chart.lines[0].points), dict(chart.ceilings[0].points)
    assert (points[1472] or 0) > 1.02 * (points[1473] or 0)
    assert ceiling[1472] == pytest.approx(95.709, abs=5e-4)
    assert ceiling[1473] == pytest.approx(100 * 1473 / 1622, abs=5e-4)
    assert not chart.lines[0].joined
    assert not chart.from_zero


def test_a_path_with_a_smaller_mtu_than_the_link_has_the_ceiling_of_the_path(make: Make) -> None:
    plan, records = payload_run()
    narrow = {**records[0].values, "payload_bytes": 1372, "path_mtu_bytes": 1400}
    run = make(plan, [result(plan.cells[0], 1, narrow), records[1]])
    (chart,) = part_of(run, "payload").charts
    assert isinstance(chart, Chart)
    ceiling = dict(chart.ceilings[0].points)
    assert ceiling[1472] == pytest.approx(100 * 1472 / sum((1396 + 38, 84 + 32 + 38)), abs=0.5)


def test_a_run_without_a_payload_search_has_no_section_on_payloads(make: Make) -> None:
    run = make(*round_trip_run(2))
    assert "payload" not in {part.name for part in parts_of(run, run.trials)}
