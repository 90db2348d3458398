"""The report has tables and charts of latency under load."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from made_parts import Make, part_of, place, why
from made_readings import failure, plan_of, result
from made_reports import write_undrawn
from made_under_load import (
    connections,
    losing,
    trips,
    under_load_cell,
    under_load_records,
    under_load_values,
)

from netlab.findings.analysis import Analysis
from netlab.report.sections.latency_under_load import MOST_STRIPS
from netlab.report.tables.elements import Chart, Part, Strip
from netlab.stats import interval

NAME = "latency-under-load"


def part_with(make: Make, values: dict[str, Any], **settings: Any) -> Part:
    cell = under_load_cell(**settings)
    return part_of(make(plan_of([cell], 1), [result(cell, 1, values)]), NAME)


def strips_of(part: Part) -> list[Strip]:
    return [chart for chart in part.charts if isinstance(chart, Strip)]


def two_loads(make: Make, trials: int = 4) -> Analysis:
    """Up at 100 ms, down at 40 ms."""
    up, down = under_load_cell(), under_load_cell(direction="server-sends")
    records = [
        record
        for cell, time in ((up, 100.0), (down, 40.0))
        for record in under_load_records(cell, [time + number for number in range(trials)])
    ]
    return make(plan_of([up, down], trials), records)


def test_each_load_has_a_row_with_the_median_round_trip_per_phase_and_the_increase(
    make: Make,
) -> None:
    sheet, load, _rates = part_of(two_loads(make), NAME).sheets
    assert [line.label for line in sheet.lines] == ["TCP up", "TCP down"]
    assert place(sheet, "TCP up", "trials").text == "4/4"
    assert place(sheet, "TCP up", "idle, ms").value == pytest.approx(0.1, rel=1e-3)
    assert place(sheet, "TCP up", "loaded, ms").value == pytest.approx(101.5, rel=1e-3)
    assert place(sheet, "TCP up", "after, ms").value == pytest.approx(0.1, rel=0.01)
    assert place(sheet, "TCP down", "increase, ms").value == pytest.approx(41.4, rel=1e-3)
    half = interval([100.0, 101.0, 102.0, 103.0]).half_width
    assert place(sheet, "TCP up", "± 95 %, ms").value == pytest.approx(half, rel=1e-3)
    assert place(sheet, "TCP up", "lost under load, %").text == "0"
    assert place(sheet, "TCP up", "throughput to server, Mbit/s").value == 90
    blank = place(sheet, "TCP up", "throughput to client, Mbit/s")
    assert (blank.value, why(sheet, blank)) == (None, "The load went the other way.")
    assert place(sheet, "TCP down", "throughput to client, Mbit/s").value == 90
    assert place(load, "TCP up", "of the wire ceiling, %").value == pytest.approx(94.81, rel=1e-3)


def test_two_trials_of_a_load_have_no_interval_and_a_footnote_states_why(make: Make) -> None:
    sheet = part_of(two_loads(make, 2), NAME).sheets[0]
    cell_place = place(sheet, "TCP up", "± 95 %, ms")
    assert (cell_place.value, "Fewer than 3 trials" in why(sheet, cell_place)) == (None, True)


def test_a_percentile_that_falls_among_lost_requests_is_blank_with_a_footnote(make: Make) -> None:
    sheet = part_with(make, under_load_values(losing(trips(), 50))).sheets[0]
    late = place(sheet, "TCP up", "loaded, 99 %, ms")
    assert late.value is None
    assert why(sheet, late).startswith("More than 1 % of the requests were lost")
    assert place(sheet, "TCP up", "loaded, ms").value == pytest.approx(100, rel=1e-3)
    assert place(sheet, "TCP up", "lost under load, %").value == 2


def test_a_mean_is_blank_if_one_trial_lost_at_least_half_of_its_requests(make: Make) -> None:
    cell = under_load_cell()
    records = [
        *under_load_records(cell, [100.0]),
        result(cell, 2, under_load_values(trips(loaded_ms=None))),
    ]
    sheet = part_of(make(plan_of([cell], 2), records), NAME).sheets[0]
    for column in ("loaded, ms", "increase, ms"):
        cell_place = place(sheet, "TCP up", column)
        assert cell_place.value is None
        assert "1 of 2 trials: at least half of the requests were lost" in why(sheet, cell_place)
    assert place(sheet, "TCP up", "idle, ms").value == pytest.approx(0.1, rel=1e-3)
    assert place(sheet, "TCP up", "lost under load, %").value == 50


def test_a_failed_load_is_blank_with_its_reason_and_never_a_number(make: Make) -> None:
    cell = under_load_cell()
    run = make(plan_of([cell], 1), [failure(cell, reason="peer-vanished")])
    part = part_of(run, NAME)
    (sheet,) = part.sheets
    assert part.charts == ()
    assert all(blank.value is None for blank in sheet.lines[0].places[1:])
    trial_count = place(sheet, "TCP up", "trials")
    assert (trial_count.text, "(peer-vanished)" in why(sheet, trial_count)) == ("0/1", True)
    assert "(peer-vanished)" in write_undrawn(run).read_text(encoding="utf-8")


def test_a_load_in_both_directions_shows_throughput_loss_and_fairness_per_direction(
    make: Make,
) -> None:
    flows = {"to_server_": 90.0, "to_client_": 45.0}
    values = under_load_values(trips(), flows=flows)
    for flow, losses in (("to_server_", 0), ("to_client_", 5)):
        values |= {f"{flow}sent_messages": 100, f"{flow}lost_messages": losses}
        values |= {f"{flow}fairness_index": 0.9}
    settings = {"protocol": "UDP", "rate_bit_per_s": 1e8, "streams": 2}
    part = part_with(make, values, direction="both", **settings)
    sheet, load, _rates = part.sheets
    assert place(sheet, "UDP both ways", "throughput to server, Mbit/s").value == 90
    assert place(sheet, "UDP both ways", "throughput to client, Mbit/s").value == 45
    assert [line.label for line in load.lines] == [
        "UDP both ways, to server",
        "UDP both ways, to client",
    ]
    assert place(load, "UDP both ways, to client", "messages lost, %").value == 5
    assert place(load, "UDP both ways, to server", "fairness").value == 0.9
    (strip,) = strips_of(part)
    assert [line.label for line in strip.panels[1].lines] == [
        "throughput to server",
        "throughput to client",
    ]


def test_tables_of_tcp_and_udp_loads_state_which_values_a_protocol_lacks(make: Make) -> None:
    tcp, udp = under_load_cell(), under_load_cell(protocol="UDP", rate_bit_per_s=1e8, streams=2)
    counts = {"sent_messages": 200, "lost_messages": 3, "fairness_index": 0.8}
    records = [
        *under_load_records(tcp, [100.0]),
        result(udp, 1, under_load_values(trips()) | counts),
    ]
    load = part_of(make(plan_of([tcp, udp], 1), records), NAME).sheets[1]
    assert place(load, "UDP up", "messages lost, %").value == 1.5
    assert why(load, place(load, "TCP up", "messages lost, %")) == "TCP retransmits what is lost."
    assert why(load, place(load, "TCP up", "fairness")) == "There is only one stream."


# Connections


def test_connections_under_load_have_a_table_with_times_losses_and_rates_per_minute(
    make: Make,
) -> None:
    values = under_load_values(trips()) | connections()
    part = part_with(make, values | {"responsiveness_per_minute": 432.1})
    sheet = part.sheets[2]
    assert sheet.title == "LL: connections up to their first answer"
    assert place(sheet, "TCP up", "idle, median, ms").value == pytest.approx(0.3)
    assert place(sheet, "TCP up", "loaded, longest, ms").value == pytest.approx(200)
    assert place(sheet, "TCP up", "lost, %").value == pytest.approx(100 / 9)
    assert place(sheet, "TCP up", "RPM").value == 432.1
    rate = place(sheet, "TCP up", "round trips per minute, loaded").value
    assert rate == pytest.approx(600, rel=1e-3)
    assert any("draft-ietf-ippm-responsiveness-09" in text for text in part.paragraphs)


def test_an_unknown_rpm_has_a_footnote_with_the_reason(make: Make) -> None:
    long, short = under_load_cell(), under_load_cell(duration_s=10.0)
    udp = under_load_cell(protocol="UDP", rate_bit_per_s=1e8)
    values = under_load_values(trips()) | connections()
    records = [
        result(long, 1, values | {"responsiveness_per_minute": 432.1}),
        result(short, 1, values),
        result(udp, 1, values),
    ]
    sheet = part_of(make(plan_of([long, short, udp], 1), records), NAME).sheets[2]
    assert why(sheet, place(sheet, "UDP", "RPM")) == "RPM needs a load over TCP."
    lines = [line for line in sheet.lines if line.cell == short.key]
    (letter,) = lines[0].places[-1].notes
    assert dict(sheet.footnotes)[letter] == "RPM needs a load of at least 20 s."


def test_a_load_without_connections_shows_only_the_round_trips_per_minute(make: Make) -> None:
    part = part_with(make, under_load_values(trips()), connect_rate_per_s=None)
    assert part.sheets[2].title == "LL: round trips per minute"
    assert part.sheets[2].columns == ("round trips per minute, loaded",)


# Charts


def test_round_trips_and_the_load_are_drawn_on_one_time_axis_with_shaded_phases(make: Make) -> None:
    (strip,) = strips_of(part_with(make, under_load_values(losing(trips(), 100))))
    assert [(band.label, band.from_x, band.until_x) for band in strip.bands] == [
        ("idle", 0, 1),
        ("loaded", 2, 5),
        ("after", 5.1, 6.1),
    ]
    trip, load = strip.panels
    assert (trip.unit, load.unit) == ("ms", "Mbit/s")
    line, loss_marks = trip.lines
    assert max(y for _x, y in line.points if y is not None) == pytest.approx(100, rel=1e-3)
    assert not loss_marks.joined
    assert [x for x, _y in loss_marks.points] == [1.0, 2.0, 3.0, 4.0]
    assert (load.lines[0].points[0][0], load.lines[0].points[-1][0]) == (1.05, 4.95)
    assert "Shaded: idle, loaded, after." in strip.alt


def test_the_line_of_round_trips_has_a_gap_where_no_answer_arrived(make: Make) -> None:
    (strip,) = strips_of(part_with(make, under_load_values(trips(loaded_ms=None))))
    line = strip.panels[0].lines[0]
    assert [x for x, y in line.points if y is None] == [1.0]
    assert strip.panels[0].unit == "µs"


def test_the_trial_nearest_the_median_is_drawn_and_named(make: Make) -> None:
    cell = under_load_cell()
    run = make(plan_of([cell], 3), under_load_records(cell, [120.0, 100.0, 104.0]))
    (strip,) = strips_of(part_of(run, NAME))
    assert strip.title == (
        "TCP up: round trips and load over time (trial 3 of 3, nearest the median)"
    )


def test_a_load_that_never_drained_has_no_phase_after_the_load(make: Make) -> None:
    values = under_load_values(trips())
    drain_names = ("drained_ns", "after_close_ns", "after_rtt_p50_ns")
    values = {name: value for name, value in values.items() if name not in drain_names}
    part = part_with(make, values | {"after_rtt_count": 0})
    (strip,) = strips_of(part)
    assert [band.label for band in strip.bands] == ["idle", "loaded"]
    blank = place(part.sheets[0], "TCP up", "after, ms")
    assert why(part.sheets[0], blank).startswith("No request was due after the load")


def test_round_trips_are_drawn_alone_if_the_load_has_no_series(make: Make) -> None:
    values = under_load_values(trips())
    del values["receiver_interval_bytes"]
    (strip,) = strips_of(part_with(make, values))
    assert [panel.title for panel in strip.panels] == ["round trip"]


def test_a_load_record_without_single_round_trips_has_figures_but_no_chart(make: Make) -> None:
    values = under_load_values(trips())
    del values["trip_ns"]
    part = part_with(make, values)
    assert part.charts == ()
    assert place(part.sheets[0], "TCP up", "loaded, ms").value == pytest.approx(100, rel=1e-3)
    assert any("1 trial did not record single round trips" in text for text in part.paragraphs)


def test_a_limited_number_of_loads_is_drawn_and_the_others_are_counted(make: Make) -> None:
    cells = [under_load_cell(streams=number) for number in range(1, MOST_STRIPS + 3)]
    records = [record for cell in cells for record in under_load_records(cell, [100.0])]
    part = part_of(make(plan_of(cells, 1), records), NAME)
    strips = strips_of(part)
    assert [strip.name for strip in strips[:2]] == ["latency-over-time-1", "latency-over-time-2"]
    assert len(strips) == MOST_STRIPS
    assert any("2 further cells have no chart over time here" in text for text in part.paragraphs)


def test_the_distribution_of_round_trips_ends_below_100_percent_after_losses(make: Make) -> None:
    part = part_with(make, under_load_values(losing(trips(), 10)))
    chart = part.charts[-1]
    assert isinstance(chart, Chart)
    ends = {line.label: line.points[-1][1] for line in chart.lines}
    assert ends == {"idle": 100, "loaded": 90, "after": 100}
    for line in chart.lines:
        xs = [x for x, _y in line.points]
        assert xs == sorted(set(xs))


def test_each_of_several_loads_is_drawn_in_its_own_panel_with_a_line_per_phase(make: Make) -> None:
    chart = part_of(two_loads(make), NAME).charts[-1]
    assert isinstance(chart, Chart)
    assert [panel.title for panel in chart.panels] == ["TCP up", "TCP down"]
    assert [line.label for line in chart.panels[0].lines] == ["idle", "loaded", "after"]


# Files


def test_all_files_of_a_report_have_the_section_on_latency_under_load(make: Make) -> None:
    run = two_loads(make)
    page = write_undrawn(run).read_text(encoding="utf-8")
    assert f'<h2 id="{NAME}">' in page
    files = {path.name for path in (run.path / "charts").iterdir()}
    assert {"latency-over-time-1.pdf", "latency-by-phase-1.png"} <= files
    rows = list(csv.DictReader(io.StringIO((run.path / "figures.csv").read_text("utf-8"))))
    (row,) = (r for r in rows if (r["row"], r["column"]) == ("TCP up", "increase, ms"))
    assert float(row["value"]) == pytest.approx(101.4, rel=1e-3)
    assert row["unit"] == "ms"
    assert "|   TCP up |    4/4 |" in (run.path / "tables.md").read_text("utf-8")
    assert "{charts/latency-over-time-2.pdf}" in (run.path / "tables.tex").read_text("utf-8")


def test_short_times_are_in_microseconds_for_people_and_in_milliseconds_for_programs(
    make: Make,
) -> None:
    cell = under_load_cell()
    values = under_load_values(trips(loaded_ms=0.25))
    run = make(plan_of([cell], 1), [result(cell, 1, values)])
    write_undrawn(run)
    assert "increase, µs" in (run.path / "tables.md").read_text("utf-8")
    assert "increase, ms" in (run.path / "figures.csv").read_text("utf-8")
