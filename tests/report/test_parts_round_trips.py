"""The report has a section on round trips, their percentiles and their parts."""

from __future__ import annotations

from typing import Any

import pytest
from made_grids import trial_of
from made_histograms import of_values, to_pairs
from made_parts import BLOCKING_18, LINK, Make, part_of, place, why
from made_readings import failure, of_round_trips, plan_of, planned, result, round_trip_run
from made_reports import write_undrawn

from netlab.ethernet import Link
from netlab.report.sections import round_trips
from netlab.report.sections.round_trips import wire_ns
from netlab.report.tables.elements import Chart


def test_round_trips_are_listed_with_mean_percentiles_and_losses(make: Make) -> None:
    plan, records = round_trip_run(3)
    (sheet, _) = part_of(make(plan, records), "round-trip").sheets
    means = [float(str(record.values["rtt_mean_ns"])) / 1e3 for record in records[:3]]
    assert place(sheet, BLOCKING_18, "trials").text == "3/3"
    assert place(sheet, BLOCKING_18, "mean, µs").value == pytest.approx(sum(means) / 3)
    half, late = (place(sheet, BLOCKING_18, f"{share} %, µs").value for share in ("50", "99.9"))
    assert half is not None
    assert late is not None
    assert 85 < half < means[0] < late
    assert place(sheet, BLOCKING_18, "lost, %").text == "0"


def test_percentiles_of_round_trips_are_computed_over_all_trials_together(
    make: Make,
) -> None:
    cell = planned("round_trip", count=100, duration_s=None)
    fast, slow = of_round_trips([1000] * 98 + [9000] * 2), of_round_trips([1000] * 100)
    run = make(plan_of([cell], 2), [result(cell, 1, fast), result(cell, 2, slow)])
    (sheet,) = part_of(run, "round-trip").sheets
    assert place(sheet, "UDP 18", "99 %, µs").value == pytest.approx(1.0, rel=0.01)
    assert place(sheet, "UDP 18", "longest, µs").value == 9.0


def test_a_percentile_of_too_few_round_trips_is_blank_with_the_number_needed(make: Make) -> None:
    cell = planned("round_trip")
    run = make(plan_of([cell], 1), [result(cell, 1, of_round_trips([1000] * 500))])
    (sheet,) = part_of(run, "round-trip").sheets
    percentile = place(sheet, "UDP 18", "99.9 %, µs")
    assert (percentile.text, percentile.value) == ("", None)
    assert "The 99.9 % percentile needs at least 1,000 round trips" in why(sheet, percentile)


def test_a_round_trip_cell_without_an_answer_is_blank_with_its_reason_and_never_a_number(
    make: Make,
) -> None:
    cell = planned("round_trip")
    run = make(plan_of([cell], 1), [failure(cell)])
    (sheet,) = part_of(run, "round-trip").sheets
    for column in sheet.columns[1:]:
        assert place(sheet, "UDP 18", column).value is None
    assert place(sheet, "UDP 18", "trials").text == "0/1"
    assert "(no-answer)" in why(sheet, place(sheet, "UDP 18", "trials"))
    page = write_undrawn(run).read_text(encoding="utf-8")
    assert "(no-answer)" in page


def test_lost_requests_are_a_share_of_all_requests(make: Make) -> None:
    cell = planned("round_trip")
    values = of_round_trips([1000] * 75, lost_messages=25)
    run = make(plan_of([cell], 1), [result(cell, 1, values)])
    (sheet,) = part_of(run, "round-trip").sheets
    assert place(sheet, "UDP 18", "lost, %").value == 25


def test_the_report_states_that_open_loop_times_count_from_the_due_time(make: Make) -> None:
    cell = planned("round_trip", message_rate_per_s=1000)
    values = of_round_trips([1000] * 9, client_latency_from="intended")
    run = make(plan_of([cell], 1), [result(cell, 1, values)])
    assert any("was due" in text for text in part_of(run, "round-trip").paragraphs)
    plain = planned("round_trip")
    plain_run = make(plan_of([plain], 1), [result(plain, 1, of_round_trips([1000] * 9))])
    assert not any("was due" in text for text in part_of(plain_run, "round-trip").paragraphs)


def test_the_percentile_chart_has_a_line_per_cell_that_ends_at_its_last_value(make: Make) -> None:
    (chart,) = part_of(make(*round_trip_run(3)), "round-trip").charts
    assert isinstance(chart, Chart)
    assert len(chart.lines) == 4
    last = {line.label: line.points[-1][0] for line in chart.lines}
    assert 30_000 < last["18 bytes, blocking"] <= 36_000
    assert 3_000 < last["1472 bytes, blocking"] <= 3_600
    for line in chart.lines:
        ys = [y for _, y in line.points if y is not None]
        assert ys == sorted(ys)
        assert len(ys) == len(line.points)
    assert [label for _, label in chart.x_ticks] == [
        "0",
        "50 %",
        "90 %",
        "99 %",
        "99.9 %",
        "99.99 %",
    ]


def test_connections_show_the_time_of_the_handshake(make: Make) -> None:
    cell = planned("connect", protocol="TCP", message_bytes=100)
    values = of_round_trips([5000] * 20, client_connect_mean_ns=2000)
    run = make(plan_of([cell], 1), [result(cell, 1, values)])
    part = part_of(run, "connect")
    assert place(part.sheets[0], "TCP 100", "handshake, µs").value == 2.0
    assert part.title == "Connections"


# The parts of a round trip


def timed(
    protocol: str = "UDP",
    size: int = 1472,
    link: Link | None = LINK,
    values: dict[str, Any] | None = None,
    **settings: Any,
) -> float | str:
    trial = trial_of(
        values,
        test="round_trip",
        same_host=settings.pop("same_host", False),
        settings={"protocol": protocol, "message_bytes": size, **settings},
    )
    return wire_ns(trial, link)


def test_the_time_on_the_wire_is_that_of_both_frames_with_their_preambles() -> None:
    assert timed() == pytest.approx(2 * 1526 * 80)
    assert timed(size=18) == pytest.approx(2 * 72 * 80)
    assert timed(response_bytes=18) == pytest.approx((1526 + 72) * 80)
    assert timed(link=Link(1e9, 1500)) == pytest.approx(2 * 1526 * 8)
    assert timed(link=Link(1e8, 1500, hops=1)) == pytest.approx(4 * 1526 * 80)
    assert timed("TCP", 1448, values={"mss_bytes": 1448, "tcp_timestamps": True}) == pytest.approx(
        2 * 1526 * 80
    )


def test_an_unknown_time_on_the_wire_has_a_sentence_with_the_reason() -> None:
    assert "no cable" in str(timed(same_host=True))
    assert "not stated" in str(timed(link=None))
    assert "segment size" in str(timed("TCP"))
    assert "65508" in str(timed(size=65508))


def test_a_round_trip_is_divided_into_wire_stack_and_rest_that_add_up(make: Make) -> None:
    _, sheet = part_of(make(*round_trip_run(3)), "round-trip").sheets
    columns = ("on the wire, µs", "in the mirror’s stack, µs", "the rest, µs")
    shares = [place(sheet, BLOCKING_18, column).value or 0.0 for column in columns]
    assert all(share > 0 for share in shares)
    assert sum(shares) == pytest.approx(place(sheet, BLOCKING_18, "round trip, µs").value)
    assert place(sheet, BLOCKING_18, "stack, 99 %, µs").value == pytest.approx(8.0, rel=0.01)
    assert place(sheet, BLOCKING_18, "timestamps").text == "software"


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"stack_timed": False}, "takes no timestamps (capability-missing)"),
        ({"agentless": True, "stack_timed": False}, "no agent"),
        ({"stack_timed": True}, "returned no timestamps"),
    ],
)
def test_stack_time_and_rest_are_blank_with_the_reason_if_the_mirror_takes_no_timestamps(
    make: Make, values: dict[str, Any], reason: str
) -> None:
    cell = planned("round_trip", stack_time=True)
    run = make(plan_of([cell], 1), [result(cell, 1, of_round_trips([90_000] * 9, **values))])
    _, sheet = part_of(run, "round-trip").sheets
    for column in ("in the mirror’s stack, µs", "the rest, µs"):
        blank = place(sheet, "UDP 18", column)
        assert blank.value is None
        assert reason in why(sheet, blank)
    assert place(sheet, "UDP 18", "on the wire, µs").value is not None


def test_a_round_trip_shorter_than_its_computed_parts_has_no_rest_and_a_footnote(
    make: Make,
) -> None:
    cell = planned("round_trip", stack_time=True, message_bytes=1472)
    values = of_round_trips([90_000] * 9, server_stack_mean_ns=5000, stack_timed=True)
    run = make(plan_of([cell], 1), [result(cell, 1, values)])
    _, sheet = part_of(run, "round-trip").sheets
    blank = place(sheet, "UDP 1472", "the rest, µs")
    assert blank.value is None
    assert "the link is faster than stated" in why(sheet, blank)


def test_stack_time_percentiles_are_computed_over_all_trials_together(make: Make) -> None:
    cell = planned("round_trip", stack_time=True)

    def times(values_ns: list[int]) -> dict[str, Any]:
        pairs = to_pairs(of_values(values_ns))
        stack: dict[str, Any] = {
            "server_stack_histogram": pairs,
            "server_stack_histogram_bits": 7,
        }
        return of_round_trips([90_000] * 60, **stack, server_stack_mean_ns=3000)

    records = [
        result(cell, 1, times([2000] * 58 + [9000] * 2)),
        result(cell, 2, times([2000] * 60)),
    ]
    run = make(plan_of([cell], 2), records)
    _, sheet = part_of(run, "round-trip").sheets
    assert place(sheet, "UDP 18", "stack, 99 %, µs").value == pytest.approx(9.0, rel=0.01)
    single_run = make(plan_of([cell], 2), records[1:])
    _, sheet = part_of(single_run, "round-trip").sheets
    blank = place(sheet, "UDP 18", "stack, 99 %, µs")
    assert blank.value is None
    assert "at least 100" in why(sheet, blank)


def test_a_run_without_stack_time_has_no_table_of_stack_times(make: Make) -> None:
    cell = planned("round_trip")
    run = make(plan_of([cell], 1), [result(cell, 1, of_round_trips([90_000] * 9))])
    assert len(part_of(run, "round-trip").sheets) == 1


def test_an_unreadable_histogram_blanks_the_percentiles_but_not_the_mean(make: Make) -> None:
    cell = planned("round_trip")
    values = of_round_trips([1000] * 500) | {"rtt_histogram": [3, 1, 2, 1]}
    run = make(plan_of([cell], 1), [result(cell, 1, values)])
    part = part_of(run, "round-trip")
    assert part.charts == ()
    assert place(part.sheets[0], "UDP 18", "mean, µs").text == "1.00"
    assert place(part.sheets[0], "UDP 18", "50 %, µs").value is None


def test_a_run_of_streams_has_no_section_on_round_trips(make: Make) -> None:
    cell = planned("stream")
    run = make(plan_of([cell], 1), [result(cell, 1, {"throughput_bit_per_s": 1e6})])
    assert round_trips.parts(run.trials, LINK, imported=False) == ()
