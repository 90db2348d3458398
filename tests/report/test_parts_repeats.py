"""The report has sections on repeats and on drift over the time of the run."""

from __future__ import annotations

import pytest
from made_parts import LINK, Make, part_of, place, why
from made_readings import failure, of_round_trips, plan_of, planned, result, round_trip_run
from made_reports import write_undrawn

from netlab.experiment.matrix import StopRule
from netlab.report.sections import repeats, trial_times
from netlab.report.tables.elements import Strip


def test_every_repeat_has_a_column_followed_by_mean_and_deviations(make: Make) -> None:
    part = part_of(make(*round_trip_run(5)), "repeats")
    sheet = part.sheets[0]
    assert sheet.columns == (
        *("1", "2", "3", "4", "5"),
        *("mean", "standard deviation", "variance", "mean absolute deviation"),
    )
    labels = [line.label for line in sheet.lines]
    assert labels[0] == "elapsed, s"
    assert {"user time, client, s", "system time, client, s", "lost messages"} <= set(labels)
    assert place(sheet, "system time", "2").text == "0.345"


def test_a_failed_repeat_is_a_blank_column_with_its_reason_and_in_no_mean(
    make: Make,
) -> None:
    cell = planned("round_trip")
    records = [
        result(cell, 1, of_round_trips([1000] * 10)),
        failure(cell, 2),
        result(cell, 3, of_round_trips([3000] * 10)),
    ]
    sheet = part_of(make(plan_of([cell], 3), records), "repeats").sheets[0]
    blank = place(sheet, "elapsed / transactions", "2")
    assert blank.value is None
    assert "(no-answer)" in why(sheet, blank)
    assert place(sheet, "elapsed / transactions", "mean").value == pytest.approx(2.0)


def test_more_repeats_than_fit_continue_in_a_second_table(make: Make) -> None:
    cell = planned("round_trip")
    records = [result(cell, n, of_round_trips([1000 + n] * 10)) for n in range(1, 21)]
    sheets = part_of(make(plan_of([cell], 20), records), "repeats").sheets
    assert [len(sheet.columns) for sheet in sheets] == [15, 5 + 4]
    assert sheets[1].title.endswith("(continued)")
    assert place(sheets[1], "elapsed / transactions", "mean").value == pytest.approx(1.0105)


def test_a_run_without_repeats_has_no_sections_on_repeats_and_drift(make: Make) -> None:
    cell = planned("round_trip")
    run = make(plan_of([cell], 1), [result(cell, 1, of_round_trips([1000] * 9))])
    trials = run.trials
    assert repeats.part(trials, LINK, imported=False) is None
    assert trial_times.drift(trials) is None


def test_the_rate_of_a_stream_is_given_for_payload_for_frames_and_for_frames_with_gaps(
    make: Make,
) -> None:
    cell = planned("stream", message_bytes=1472, count=1000, duration_s=None)
    values = {"throughput_bit_per_s": 95e6, "elapsed_ns": 123_957_895, "sent_messages": 1000}
    run = make(
        plan_of([cell], 2), [result(cell, n, {**values, "lost_messages": 0}) for n in (1, 2)]
    )
    sheet = part_of(run, "repeats").sheets[1]
    assert [line.places[0].text for line in sheet.lines] == ["1,472", "1,526", "1,538"]
    shares = [line.places[3].value or 0 for line in sheet.lines]
    assert shares == pytest.approx([95.0, 95 * 1526 / 1472, 95 * 1538 / 1472], rel=1e-6)


def test_tcp_without_a_known_segment_size_has_no_frame_count_and_a_footnote_states_why(
    make: Make,
) -> None:
    cell = planned("stream", protocol="TCP", message_bytes=64)
    values = {"throughput_bit_per_s": 90e6, "elapsed_ns": 10**10}
    run = make(plan_of([cell], 2), [result(cell, n, values) for n in (1, 2)])
    sheet = part_of(run, "repeats").sheets[1]
    assert why(sheet, sheet.lines[1].places[1]).startswith("The segment size of TCP")
    assert sheet.lines[0].places[2].text == "90.00"


def test_only_a_cell_whose_mean_stayed_imprecise_after_all_trials_is_named(make: Make) -> None:
    cells = [planned("round_trip", message_bytes=size) for size in (18, 64)]
    until = StopRule(within=0.01, confidence=0.95, at_least=3, at_most=4)
    loose = [result(cells[0], n, of_round_trips([1000 * n] * 9)) for n in (1, 2, 3, 4)]
    precise = [result(cells[1], n, of_round_trips([1000] * 9)) for n in (1, 2, 3, 4)]
    run = make(plan_of(cells, 4, until=until), [*loose, *precise])
    (sentence,) = [
        text for text in part_of(run, "repeats").paragraphs if "most trials allowed" in text
    ]
    assert sentence.startswith("1 cell reached")
    assert sentence.endswith("requested: UDP 18.")
    page = write_undrawn(run).read_text("utf-8")
    assert "3 to 4, until the 95 % interval is within 1 % of the mean" in page


def test_the_section_on_repeats_counts_cells_that_reached_the_most_allowed_trials(
    make: Make,
) -> None:
    cell = planned("round_trip")
    run = make(plan_of([cell], 2), [result(cell, n, of_round_trips([1000] * 9)) for n in (1, 2)])
    part = repeats.part(run.trials, LINK, imported=False, never_tight=[cell.key])
    assert part is not None
    assert any("1 cell reached the most trials allowed" in text for text in part.paragraphs)


def test_values_that_are_equal_in_all_repeats_are_still_listed(make: Make) -> None:
    cell = planned("round_trip")
    values = of_round_trips([1000] * 9, client_user_ns=0, client_system_ns=0)
    run = make(plan_of([cell], 2), [result(cell, n, values) for n in (1, 2)])
    labels = [line.label for line in part_of(run, "repeats").sheets[0].lines]
    assert {"user time, client, s", "system time, client, s", "lost messages"} <= set(labels)


def test_rising_round_trips_are_drawn_as_a_rising_line_of_drift(make: Make) -> None:
    cell = planned("round_trip")
    records = [result(cell, n, of_round_trips([1000 * (100 + n)] * 9)) for n in range(1, 6)]
    (strip,) = part_of(make(plan_of([cell], 5), records), "over-time").charts
    assert isinstance(strip, Strip)
    (panel,) = strip.panels
    ((start, *_, end),) = (line.points for line in panel.lines)
    assert start[1] is not None
    assert end[1] is not None
    assert (start[0], end[0]) == (0.0, 240.0)
    assert start[1] == pytest.approx(100 * (101 / 103 - 1))
    assert end[1] == pytest.approx(100 * (105 / 103 - 1))
    assert strip.x_label.startswith("seconds")


def test_the_drift_chart_has_a_panel_per_group_of_cells_and_a_line_per_cell(make: Make) -> None:
    (strip,) = part_of(make(*round_trip_run(3)), "over-time").charts
    assert isinstance(strip, Strip)
    assert [len(panel.lines) for panel in strip.panels] == [2, 2]
    assert strip.panels[0].title == "LL UDP 18 mean round trip"


def test_trials_without_a_figure_are_no_points_of_the_drift_chart(make: Make) -> None:
    cell = planned("round_trip")
    records = [result(cell, n, of_round_trips([1000] * 9)) for n in (1, 2, 4)]
    run = make(plan_of([cell], 4), [*records, failure(cell, 3)])
    (strip,) = part_of(run, "over-time").charts
    assert isinstance(strip, Strip)
    assert [x for x, _ in strip.panels[0].lines[0].points] == [0.0, 60.0, 180.0]
