"""The report's parts: round trips, what they are made of, repeats, comparisons, payloads, time."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from made_readings import (
    MATRIX,
    drawn_ns,
    failure,
    of_round_trips,
    payload_run,
    plan_of,
    planned,
    result,
    round_trip_run,
)

from netlab.comparisons import Comparison
from netlab.frame import Run, load
from netlab.header import Link, Plan
from netlab.histogram import of_values
from netlab.records import Record
from netlab.repeats import Until
from netlab.report import (
    compared,
    overtime,
    overview_text,
    payloads,
    repeated,
    roundtrips,
    write_report,
)
from netlab.report.nouns import Chart, Part, Place, Sheet, Strip
from netlab.report.parts import parts_of
from netlab.report.quantities import names_of
from netlab.report.readings import Reading, readings
from netlab.report.splitting import wire_ns
from netlab.report.words import figure
from netlab.store import RunFolder

LINK = Link(1e8, 1500)
Make = Callable[[Plan, Sequence[Record]], Run]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Make a run folder out of a plan and its records, and read it."""

    def make_run(plan: Plan, records: Sequence[Record]) -> Run:
        path = tmp_path / f"run-{len(list(tmp_path.iterdir()))}"
        with RunFolder.open_for_writing(path, plan) as folder:
            for record in records:
                folder.append(record, durable=False)
        return load(path)

    return make_run


def part_of(run: Run, name: str) -> Part:
    return next(part for part in parts_of(run, readings(run)) if part.name == name)


def place(sheet: Sheet, row: str, column: str) -> Place:
    line = next(line for line in sheet.lines if line.label.startswith(row))
    return line.places[sheet.columns.index(column)]


def why(sheet: Sheet, found: Place) -> str:
    return " ".join(dict(sheet.footnotes)[letter] for letter in found.notes)


BLOCKING_18 = "UDP 18, server’s receive call blocking"
SPINNING_18 = "UDP 18, server’s receive call spinning"


def test_round_trips_have_their_mean_their_percentiles_and_transactions(make: Make) -> None:
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


def test_percentiles_are_those_of_all_trials_together_and_not_a_mean_of_percentiles(
    make: Make,
) -> None:
    cell = planned("round_trip", count=100, duration_s=None)
    fast, slow = of_round_trips([1000] * 98 + [9000] * 2), of_round_trips([1000] * 100)
    run = make(plan_of([cell], 2), [result(cell, 1, fast), result(cell, 2, slow)])
    (sheet,) = part_of(run, "round-trip").sheets
    assert place(sheet, "UDP 18", "99 %, µs").value == pytest.approx(1.0, rel=0.01)
    assert place(sheet, "UDP 18", "longest, µs").value == 9.0


def test_a_percentile_that_so_few_cannot_tell_is_blank_with_the_number_needed(make: Make) -> None:
    cell = planned("round_trip")
    run = make(plan_of([cell], 1), [result(cell, 1, of_round_trips([1000] * 500))])
    (sheet,) = part_of(run, "round-trip").sheets
    found = place(sheet, "UDP 18", "99.9 %, µs")
    assert (found.text, found.value) == ("", None)
    assert "99.9 % cannot be told from fewer than 1,000" in why(sheet, found)


def test_a_test_without_an_answer_is_blank_with_its_reason_and_never_a_number(make: Make) -> None:
    cell = planned("round_trip")
    run = make(plan_of([cell], 1), [failure(cell)])
    (sheet,) = part_of(run, "round-trip").sheets
    for column in sheet.columns[1:]:
        assert place(sheet, "UDP 18", column).value is None
    assert place(sheet, "UDP 18", "trials").text == "0/1"
    assert "(no-answer)" in why(sheet, place(sheet, "UDP 18", "trials"))
    page = write_report(run).read_text(encoding="utf-8")
    assert "(no-answer)" in page


def test_lost_requests_are_a_share_of_all_that_ended(make: Make) -> None:
    cell = planned("round_trip")
    values = of_round_trips([1000] * 75, lost_messages=25)
    run = make(plan_of([cell], 1), [result(cell, 1, values)])
    (sheet,) = part_of(run, "round-trip").sheets
    assert place(sheet, "UDP 18", "lost, %").value == 25


def test_open_loop_times_are_said_to_count_from_when_a_request_was_due(make: Make) -> None:
    cell = planned("round_trip", message_rate_per_s=1000)
    values = of_round_trips([1000] * 9, client_latency_from="intended")
    run = make(plan_of([cell], 1), [result(cell, 1, values)])
    assert any("was due" in text for text in part_of(run, "round-trip").paragraphs)
    plain = planned("round_trip")
    other = make(plan_of([plain], 1), [result(plain, 1, of_round_trips([1000] * 9))])
    assert not any("was due" in text for text in part_of(other, "round-trip").paragraphs)


def test_the_percentile_curve_has_a_line_a_cell_and_ends_where_its_values_end(make: Make) -> None:
    (chart,) = part_of(make(*round_trip_run(3)), "round-trip").charts
    assert isinstance(chart, Chart)
    assert len(chart.lines) == 4
    last = {line.label: line.points[-1][0] for line in chart.lines}
    assert 30_000 < last[BLOCKING_18] <= 36_000
    assert 3_000 < last["UDP 1472, server’s receive call blocking"] <= 3_600
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


def test_connections_show_the_handshake_by_itself(make: Make) -> None:
    cell = planned("connect", protocol="TCP", message_bytes=100)
    values = of_round_trips([5000] * 20, client_connect_mean_ns=2000)
    run = make(plan_of([cell], 1), [result(cell, 1, values)])
    part = part_of(run, "connect")
    assert place(part.sheets[0], "TCP 100", "handshake, µs").value == 2.0
    assert part.title == "Connections"


# What a round trip is made of


def timed(
    protocol: str = "UDP",
    size: int = 1472,
    link: Link | None = LINK,
    values: dict[str, Any] | None = None,
    **settings: Any,
) -> float | str:
    made = Reading(
        cell="c",
        trial=1,
        attempt=1,
        status="ok",
        reason=None,
        errno=None,
        detail=None,
        pairing="LL",
        server=None,
        client=None,
        test="round_trip",
        same_host=settings.pop("same_host", False),
        settings={"protocol": protocol, "message_bytes": size, **settings},
        flows=readings_flow(values or {}),
    )
    return wire_ns(made, link)


def readings_flow(values: dict[str, Any]) -> Any:
    from netlab.report.readings import Flow

    return {"": Flow(**values)}


def test_the_time_on_the_wire_is_that_of_both_frames_with_their_preambles() -> None:
    assert timed() == pytest.approx(2 * 1526 * 80)
    assert timed(size=18) == pytest.approx(2 * 72 * 80)
    assert timed(response_bytes=18) == pytest.approx((1526 + 72) * 80)
    assert timed(link=Link(1e9, 1500)) == pytest.approx(2 * 1526 * 8)
    assert timed(link=Link(1e8, 1500, hops=1)) == pytest.approx(4 * 1526 * 80)
    assert timed("TCP", 1448, values={"mss_bytes": 1448, "tcp_timestamps": True}) == pytest.approx(
        2 * 1526 * 80
    )


def test_where_the_wire_has_no_part_or_is_not_known_a_sentence_says_why() -> None:
    assert "no cable" in str(timed(same_host=True))
    assert "not stated" in str(timed(link=None))
    assert "segment size" in str(timed("TCP"))
    assert "65508" in str(timed(size=65508))


def test_a_round_trip_is_cut_into_wire_stack_and_rest_that_add_up(make: Make) -> None:
    _, sheet = part_of(make(*round_trip_run(3)), "round-trip").sheets
    columns = ("on the wire, µs", "in the mirror’s stack, µs", "the rest, µs")
    shares = [place(sheet, BLOCKING_18, column).value or 0.0 for column in columns]
    assert all(share > 0 for share in shares)
    assert sum(shares) == pytest.approx(place(sheet, BLOCKING_18, "round trip, µs").value)
    assert place(sheet, BLOCKING_18, "stack, 99 % within, µs").value == pytest.approx(8.0, rel=0.01)
    assert place(sheet, BLOCKING_18, "stamps").text == "software"


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"stack_timed": False}, "takes no stamps (capability-missing)"),
        ({"agentless": True, "stack_timed": False}, "no agent"),
        ({"stack_timed": True}, "gave no stamps"),
    ],
)
def test_where_the_mirror_takes_no_stamps_its_share_and_the_rest_are_blank_with_the_reason(
    make: Make, values: dict[str, Any], reason: str
) -> None:
    cell = planned("round_trip", stack_time=True)
    run = make(plan_of([cell], 1), [result(cell, 1, of_round_trips([90_000] * 9, **values))])
    _, sheet = part_of(run, "round-trip").sheets
    for column in ("in the mirror’s stack, µs", "the rest, µs"):
        found = place(sheet, "UDP 18", column)
        assert found.value is None
        assert reason in why(sheet, found)
    assert place(sheet, "UDP 18", "on the wire, µs").value is not None


def test_a_round_trip_shorter_than_its_shares_leaves_no_rest_and_says_what_that_means(
    make: Make,
) -> None:
    cell = planned("round_trip", stack_time=True, message_bytes=1472)
    values = of_round_trips([90_000] * 9, server_stack_mean_ns=5000, stack_timed=True)
    run = make(plan_of([cell], 1), [result(cell, 1, values)])
    _, sheet = part_of(run, "round-trip").sheets
    found = place(sheet, "UDP 1472", "the rest, µs")
    assert found.value is None
    assert "the link is faster than stated" in why(sheet, found)


def test_the_stack_s_percentiles_are_those_of_all_trials_together(make: Make) -> None:
    cell = planned("round_trip", stack_time=True)

    def times(values_ns: list[int]) -> dict[str, Any]:
        pairs = of_values(values_ns).to_pairs()
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
    assert place(sheet, "UDP 18", "stack, 99 % within, µs").value == pytest.approx(9.0, rel=0.01)
    alone = make(plan_of([cell], 2), records[1:])
    _, sheet = part_of(alone, "round-trip").sheets
    found = place(sheet, "UDP 18", "stack, 99 % within, µs")
    assert found.value is None
    assert "fewer than 100" in why(sheet, found)


def test_without_stack_time_there_is_no_such_table(make: Make) -> None:
    cell = planned("round_trip")
    run = make(plan_of([cell], 1), [result(cell, 1, of_round_trips([90_000] * 9))])
    assert len(part_of(run, "round-trip").sheets) == 1


# Repeats


def test_every_repeat_has_a_column_and_the_deviations_stand_beside_them(make: Make) -> None:
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


def test_a_repeat_that_failed_is_a_blank_column_with_its_reason_and_in_no_mean(
    make: Make,
) -> None:
    cell = planned("round_trip")
    records = [
        result(cell, 1, of_round_trips([1000] * 10)),
        failure(cell, 2),
        result(cell, 3, of_round_trips([3000] * 10)),
    ]
    sheet = part_of(make(plan_of([cell], 3), records), "repeats").sheets[0]
    found = place(sheet, "elapsed / transactions", "2")
    assert found.value is None
    assert "(no-answer)" in why(sheet, found)
    assert place(sheet, "elapsed / transactions", "mean").value == pytest.approx(2.0)


def test_more_repeats_than_fit_go_on_in_a_table_below(make: Make) -> None:
    cell = planned("round_trip")
    records = [result(cell, n, of_round_trips([1000 + n] * 10)) for n in range(1, 21)]
    sheets = part_of(make(plan_of([cell], 20), records), "repeats").sheets
    assert [len(sheet.columns) for sheet in sheets] == [15, 5 + 4]
    assert sheets[1].title.endswith("(continued)")
    assert place(sheets[1], "elapsed / transactions", "mean").value == pytest.approx(1.0105)


def test_a_run_without_repeats_has_no_such_part(make: Make) -> None:
    cell = planned("round_trip")
    run = make(plan_of([cell], 1), [result(cell, 1, of_round_trips([1000] * 9))])
    found = readings(run)
    assert repeated.part(found, LINK, imported=False) is None
    assert overtime.part(found) is None


def test_the_frames_of_a_stream_are_counted_with_and_without_gaps(make: Make) -> None:
    cell = planned("stream", message_bytes=1472, count=1000, duration_s=None)
    values = {"throughput_bit_per_s": 95e6, "elapsed_ns": 123_957_895, "sent_messages": 1000}
    run = make(
        plan_of([cell], 2), [result(cell, n, {**values, "lost_messages": 0}) for n in (1, 2)]
    )
    sheet = part_of(run, "repeats").sheets[1]
    assert [line.places[0].text for line in sheet.lines] == ["1,472", "1,526", "1,538"]
    shares = [line.places[3].value or 0 for line in sheet.lines]
    assert shares == pytest.approx([95.0, 95 * 1526 / 1472, 95 * 1538 / 1472], rel=1e-6)


def test_tcp_without_its_segment_size_has_no_frames_and_says_so(make: Make) -> None:
    cell = planned("stream", protocol="TCP", message_bytes=64)
    values = {"throughput_bit_per_s": 90e6, "elapsed_ns": 10**10}
    run = make(plan_of([cell], 2), [result(cell, n, values) for n in (1, 2)])
    sheet = part_of(run, "repeats").sheets[1]
    assert why(sheet, sheet.lines[1].places[1]).startswith("The segment size of TCP")
    assert sheet.lines[0].places[2].text == "90.00"


def test_a_cell_whose_mean_never_got_tight_is_named_and_one_that_did_is_not(make: Make) -> None:
    cells = [planned("round_trip", message_bytes=size) for size in (18, 64)]
    until = Until(within=0.01, confidence=0.95, at_least=3, at_most=4)
    loose = [result(cells[0], n, of_round_trips([1000 * n] * 9)) for n in (1, 2, 3, 4)]
    tight = [result(cells[1], n, of_round_trips([1000] * 9)) for n in (1, 2, 3, 4)]
    run = make(plan_of(cells, 4, until=until), [*loose, *tight])
    (sentence,) = [text for text in part_of(run, "repeats").paragraphs if "as allowed" in text]
    assert sentence.startswith("1 cell was")
    assert sentence.endswith("asked for: UDP 18.")
    page = write_report(run).read_text("utf-8")
    assert "3 to 4, until the 95 % interval is within 1 % of the mean" in page


def test_cells_that_never_got_tight_are_named(make: Make) -> None:
    cell = planned("round_trip")
    run = make(plan_of([cell], 2), [result(cell, n, of_round_trips([1000] * 9)) for n in (1, 2)])
    part = repeated.part(readings(run), LINK, imported=False, never_tight=[cell.key])
    assert part is not None
    assert any("1 cell was measured as often as allowed" in text for text in part.paragraphs)


# Comparisons


def compare(run: Run, **named: Any) -> Part:
    asked = Comparison("asked", **named)
    part = compared.part(readings(run), [asked])
    assert part is not None
    return part


RECEIVE: dict[str, Any] = {
    "baseline": {"server_receive": "spinning"},
    "contender": {"server_receive": "blocking"},
}


def test_a_comparison_says_20_percent_for_short_and_twice_for_long(make: Make) -> None:
    part = compare(make(*round_trip_run(5)), **RECEIVE)
    (sheet,) = part.sheets
    short = place(sheet, "UDP 18, mean round trip", "in words").text
    long = place(sheet, "UDP 1472, mean round trip", "in words").text
    assert short.startswith("2") and "% longer (+" in short
    assert long.startswith("twice as long (1.9") or long.startswith("twice as long (2.0")
    sentence = next(text for text in part.paragraphs if "mean round trip" in text)
    assert f"{short} for UDP 18" in sentence
    assert f"{long} for UDP 1472" in sentence


def test_the_same_is_said_to_be_the_same_and_not_to_differ(make: Make) -> None:
    (sheet,) = compare(make(*round_trip_run(5)), **RECEIVE).sheets
    words = place(sheet, "UDP 18, mean time in the mirror’s stack", "in words").text
    assert words.startswith("the same to within 0.5 %")


def test_what_scatters_is_not_shown_to_be_different_and_says_what_would_have_shown(
    make: Make,
) -> None:
    run = make(*scattered([100, 130, 90, 120], [110, 95, 125, 101]))
    (sheet,) = compare(run, **RECEIVE).sheets
    words = place(sheet, "UDP 18", "in words").text
    assert words.startswith("not shown to be different (")
    assert "% and more would have shown in four of five such runs" in words


def test_what_is_different_by_itself_and_not_among_many_is_said_as_that(make: Make) -> None:
    sizes = range(100, 112)
    cells = [
        planned("round_trip", message_bytes=size, server_receive=word)
        for size in sizes
        for word in ("spinning", "blocking")
    ]
    base, same, apart = (100, 104, 102), (102, 100, 104), (104, 109, 105.5)
    records = [
        result(cell, trial, of_round_trips([round(1000 * us)] * 9))
        for cell in cells
        for trial, us in enumerate(
            base
            if cell.settings["server_receive"] == "spinning"
            else apart
            if cell.settings["message_bytes"] == 100
            else same,
            start=1,
        )
    ]
    (sheet,) = compare(make(plan_of(cells, 3), records), **RECEIVE).sheets
    words = place(sheet, "UDP 100", "in words").text
    assert words.startswith("not shown to be different among so many comparisons (+")


def test_one_trial_cannot_tell(make: Make) -> None:
    (sheet,) = compare(make(*scattered([100], [200])), **RECEIVE).sheets
    assert place(sheet, "UDP 18", "in words").text.startswith("cannot tell")
    assert place(sheet, "UDP 18", "95 % interval").text == ""
    assert place(sheet, "UDP 18", "ratio").text == "2.000"


def test_trials_are_paired_by_their_number_and_one_that_failed_leaves_its_pair_out(
    make: Make,
) -> None:
    plan, records = scattered([100, 110, 120], [200, 220, 240])
    broken = failure(plan.cells[1], 2)
    kept = [r for r in records if not (r.cell == broken.cell and r.trial == 2)]
    (sheet,) = compare(make(plan, [*kept, broken]), **RECEIVE).sheets
    assert place(sheet, "UDP 18", "pairs").text == "2"
    assert place(sheet, "UDP 18", "ratio").value == pytest.approx(2.0)
    assert "(no-answer)" in why(sheet, place(sheet, "UDP 18", "baseline"))


def test_pairings_can_be_compared_as_any_setting(make: Make) -> None:
    cells = [planned("round_trip", pairing) for pairing in ("LL", "WL")]
    records = [
        result(cell, trial, of_round_trips([(1000 if cell.pairing == "LL" else 1500) + trial] * 9))
        for cell in cells
        for trial in (1, 2, 3)
    ]
    part = compare(
        make(plan_of(cells, 3), records), baseline={"pairing": "LL"}, contender={"pairing": "WL"}
    )
    assert place(part.sheets[0], "UDP 18", "in words").text.startswith("50 % longer")


def test_a_comparison_without_two_such_cells_says_so(make: Make) -> None:
    part = compare(
        make(*scattered([100], [200])),
        baseline={"udp_checksum": True},
        contender={"udp_checksum": False},
    )
    assert "no two cells of this run differ" in part.paragraphs[0]
    assert part.sheets == ()


def test_the_matrix_of_the_run_says_what_is_compared(make: Make) -> None:
    part = part_of(make(*round_trip_run(3)), "comparisons")
    assert part.sheets[0].title.startswith("A mirror that never sleeps: ")


def test_a_comparison_may_be_added_after_the_run(make: Make) -> None:
    plan, records = round_trip_run(2)
    run = make(plan_of(plan.cells, 2, matrix_text="title: made up\n"), records)
    assert "comparisons" not in [part.name for part in parts_of(run, readings(run))]
    (run.path / "matrix.yaml").write_text(MATRIX)
    part = part_of(load(run.path), "comparisons")
    assert len(part.sheets[0].lines) == 4


@pytest.mark.parametrize("text", ["compare: [", MATRIX.replace("baseline", "base"), "compare: 3"])
def test_a_matrix_that_cannot_be_read_compares_nothing_and_says_why(make: Make, text: str) -> None:
    plan, records = scattered([100], [200])
    run = make(plan_of(plan.cells, 1, matrix_text=text), records)
    part = part_of(run, "comparisons")
    assert part.sheets == ()
    assert part.paragraphs[0].startswith(
        "Nothing is compared: the run’s matrix.yaml cannot be read"
    )
    assert "matrix.yaml:" in part.paragraphs[0]


def scattered(baseline: Sequence[int], contender: Sequence[int]) -> tuple[Plan, list[Record]]:
    """A spinning and a blocking mirror with these mean round trips in µs, a trial each."""
    cells = [planned("round_trip", server_receive=word) for word in ("spinning", "blocking")]
    records = [
        result(cell, trial, of_round_trips([1000 * us] * 9))
        for cell, times in zip(cells, (baseline, contender), strict=True)
        for trial, us in enumerate(times, start=1)
    ]
    return plan_of(cells, len(baseline)), records


# Payloads


def test_a_search_shows_payload_path_mtu_and_how_it_is_known_each_way(make: Make) -> None:
    part = part_of(make(*payload_run()), "payload")
    (sheet,) = part.sheets
    assert place(sheet, "LL UDP", "payload").text == "1472"
    assert place(sheet, "LL UDP", "path MTU").text == "1500"
    assert place(sheet, "LL UDP", "known by").text == "the sender’s system"
    assert "silence" in place(sheet, "LL UDP", "known by (to client)").text
    assert place(sheet, "LL TCP", "payload").value is None
    assert "(unreachable)" in why(sheet, place(sheet, "LL TCP", "payload"))


def test_searches_that_differ_show_all_that_they_found(make: Make) -> None:
    cell = planned("payload_search")
    records = [result(cell, n, {"payload_bytes": size}) for n, size in ((1, 1472), (2, 1372))]
    run = make(plan_of([cell], 2), records)
    (sheet,) = part_of(run, "payload").sheets
    found = place(sheet, "LL UDP", "payload")
    assert (found.text, found.value) == ("1372, 1472", None)


def test_captured_frames_are_shown_where_they_were_asked_for_and_else_why_not(
    make: Make,
) -> None:
    cells = [planned("payload_search", capture=True, ip_version=version) for version in (4, 6)]
    found: dict[str, Any] = {
        "payload_bytes": 1472,
        "captured": True,
        "captured_frame_bytes": [1514],
    }
    records = [
        result(cells[0], 1, {**found, "captured_next_frame_bytes": [35, 1514]}),
        result(cells[1], 1, {"captured": False, "capture_reason": "beta: no tcpdump"}),
    ]
    (sheet,) = part_of(make(plan_of(cells, 1), records), "payload").sheets
    first, second = (line.label for line in sheet.lines)
    assert place(sheet, first, "frames seen").text == "1514"
    assert place(sheet, first, "frames seen, one byte more").text == "35 and 1514"
    assert "beta: no tcpdump" in why(sheet, place(sheet, second, "frames seen"))
    (plain,) = part_of(make(*payload_run()), "payload").sheets
    assert "frames seen" not in plain.columns


def test_sizes_of_a_sweep_without_a_result_are_named(make: Make) -> None:
    plan, records = payload_run()
    values = {**records[0].values, "sweep_failed_message_bytes": [2944, 2945]}
    run = make(plan, [result(plan.cells[0], 1, values), records[1]])
    (sheet,) = part_of(run, "payload").sheets
    assert "no result at 2944, 2945" in why(sheet, place(sheet, "LL UDP", "sizes tried"))


def test_the_saw_tooth_has_its_ceiling_drawn_in_and_falls_at_the_payload(make: Make) -> None:
    (chart,) = part_of(make(*payload_run()), "payload").charts
    assert isinstance(chart, Chart)
    points, ceiling = dict(chart.lines[0].points), dict(chart.ceilings[0].points)
    assert (points[1472] or 0) > 1.02 * (points[1473] or 0)
    assert ceiling[1472] == pytest.approx(95.709, abs=5e-4)
    assert ceiling[1473] == pytest.approx(100 * 1473 / 1622, abs=5e-4)
    assert not chart.lines[0].joined
    assert not chart.from_zero


def test_a_path_narrower_than_the_link_has_the_ceiling_of_the_path(make: Make) -> None:
    plan, records = payload_run()
    narrow = {**records[0].values, "payload_bytes": 1372, "path_mtu_bytes": 1400}
    run = make(plan, [result(plan.cells[0], 1, narrow), records[1]])
    (chart,) = part_of(run, "payload").charts
    assert isinstance(chart, Chart)
    ceiling = dict(chart.ceilings[0].points)
    assert ceiling[1472] == pytest.approx(100 * 1472 / sum((1396 + 38, 84 + 32 + 38)), abs=0.5)


def test_a_run_without_a_search_has_no_such_part(make: Make) -> None:
    assert payloads.part(readings(make(*round_trip_run(2))), LINK) is None


# Over time


def test_drift_shows_as_a_line_that_rises_over_the_run(make: Make) -> None:
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


def test_a_panel_is_a_group_of_cells_and_a_line_is_a_cell(make: Make) -> None:
    (strip,) = part_of(make(*round_trip_run(3)), "over-time").charts
    assert isinstance(strip, Strip)
    assert [len(panel.lines) for panel in strip.panels] == [2, 2]
    assert strip.panels[0].title == "LL UDP 18 mean round trip"


def test_trials_without_a_figure_are_no_points(make: Make) -> None:
    cell = planned("round_trip")
    records = [result(cell, n, of_round_trips([1000] * 9)) for n in (1, 2, 4)]
    run = make(plan_of([cell], 4), [*records, failure(cell, 3)])
    (strip,) = part_of(run, "over-time").charts
    assert isinstance(strip, Strip)
    assert [x for x, _ in strip.panels[0].lines[0].points] == [0.0, 60.0, 180.0]


# The whole


def test_the_report_has_every_part_its_pictures_and_its_figures(make: Make) -> None:
    run = make(*round_trip_run(3))
    page = write_report(run).read_text(encoding="utf-8")
    for name in ("round-trip", "comparisons", "repeats", "over-time"):
        assert f'<h2 id="{name}">' in page
        assert f'<a href="#{name}">' in page
    assert '<h2 id="means">' not in page
    written = {path.name for path in (run.path / "charts").iterdir()}
    assert {"round-trip-udp-1.png", "over-time-1.svg"} <= written
    rows = list(csv.DictReader(io.StringIO((run.path / "figures.csv").read_text("utf-8"))))
    found = [
        row
        for row in rows
        if (row["table"], row["column"]) == ("LL: time of a round trip", "mean, µs")
    ]
    assert len(found) == 4
    assert all(row["unit"] == "µs" and float(row["value"]) > 50 for row in found)
    markdown = (run.path / "tables.md").read_text("utf-8")
    assert "## Round trips" in markdown
    assert "### LL: time of a round trip" in markdown


def test_a_report_without_parts_leaves_no_figures_of_an_earlier_one(make: Make) -> None:
    cell = planned("stream")
    run = make(plan_of([cell], 1), [result(cell, 1, {"throughput_bit_per_s": 1e6})])
    (run.path / "figures.csv").write_text("old")
    write_report(run)
    assert not (run.path / "figures.csv").exists()


def test_streams_and_round_trips_of_one_run_each_have_their_own_tables(make: Make) -> None:
    cells = [planned("stream"), planned("round_trip")]
    records = [
        result(cells[0], 1, {"throughput_bit_per_s": 48e6}),
        result(cells[1], 1, of_round_trips([1000] * 9)),
    ]
    run = make(plan_of(cells, 1), records)
    text = overview_text(run)
    assert "48.00 (1)" in text
    assert "LL: time of a round trip" in text
    page = write_report(run).read_text(encoding="utf-8")
    assert '<h2 id="means">' in page
    assert '<h2 id="round-trip">' in page


def test_the_page_says_what_limited_a_run_s_streams() -> None:
    run = load(Path(__file__).parent / "fixtures" / "limits-linux")
    assert parts_of(run, readings(run))[0].name == "limits"


def test_rendering_the_parts_twice_gives_the_same_bytes(make: Make) -> None:
    run = make(*round_trip_run(2))

    def render() -> dict[str, bytes]:
        write_report(run)
        return {str(p): p.read_bytes() for p in run.path.rglob("*") if p.is_file()}

    assert render() == render()


def test_names_tell_cells_apart_by_no_more_than_it_takes(make: Make) -> None:
    plan, records = round_trip_run(1)
    names = names_of(readings(make(plan, records)))
    assert names[plan.cells[0].key] == BLOCKING_18
    assert names[plan.cells[1].key] == SPINNING_18
    assert len(set(names.values())) == len(names)


def test_an_unreadable_histogram_blanks_the_percentiles_and_keeps_the_mean(make: Make) -> None:
    cell = planned("round_trip")
    values = of_round_trips([1000] * 500) | {"rtt_histogram": [3, 1, 2, 1]}
    run = make(plan_of([cell], 1), [result(cell, 1, values)])
    part = part_of(run, "round-trip")
    assert part.charts == ()
    assert place(part.sheets[0], "UDP 18", "mean, µs").text == "1.00"
    assert place(part.sheets[0], "UDP 18", "50 %, µs").value is None


def test_round_trips_have_no_part_in_a_run_of_streams(make: Make) -> None:
    cell = planned("stream")
    run = make(plan_of([cell], 1), [result(cell, 1, {"throughput_bit_per_s": 1e6})])
    assert roundtrips.parts(readings(run), LINK, imported=False) == ()


def test_rows_that_happen_to_be_equal_are_all_there(make: Make) -> None:
    cell = planned("round_trip")
    values = of_round_trips([1000] * 9, client_user_ns=0, client_system_ns=0)
    run = make(plan_of([cell], 2), [result(cell, n, values) for n in (1, 2)])
    labels = [line.label for line in part_of(run, "repeats").sheets[0].lines]
    assert {"user time, client, s", "system time, client, s", "lost messages"} <= set(labels)


def test_whole_numbers_are_printed_as_such() -> None:
    assert figure(1.6e-7, 4) == "0.00000016"
    assert figure(5, 0) == "5"
    assert figure(0.0, 0) == "0"
    assert len(drawn_ns(3, 10, 1)) == 3
