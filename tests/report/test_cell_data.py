"""The page contains the data and small charts of each cell."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

import pytest
from folders import FIXTURES
from hypothesis import given
from hypothesis import strategies as st
from made_parts import Make, part_of
from made_readings import (
    drawn_ns,
    failure,
    of_round_trips,
    payload_run,
    plan_of,
    planned,
    result,
)

from netlab.findings.analysis import Analysis, load
from netlab.kinds.latency_under_load.phases import interval_rates
from netlab.report.language import Wording
from netlab.report.page.cell_data import PIECE_CHARACTERS, Piece, ceilings_of, packed, script_json
from netlab.report.page.small_charts import MAX_LINES, CellFinding, findings_by_cell, small_charts
from netlab.store.plan import PlannedCell

LIMITS = FIXTURES / "limits-linux"


def pieces_of(
    run: Analysis, findings: dict[str, tuple[CellFinding, ...]] | None = None
) -> tuple[Piece, ...]:
    return packed(run, findings or {}, Wording())


def unpacked(pieces: tuple[Piece, ...]) -> list[dict[str, Any]]:
    """The cells as the page's script sees them: values by their names again."""
    cells: list[dict[str, Any]] = []
    for piece in pieces:
        assert piece[0] == len(cells)
        data = json.loads(gzip.decompress(base64.b64decode(piece[1])))
        for cell in data["cells"]:
            for trial in cell["trials"]:
                if "values" in trial:
                    names = data["shapes"][trial["shape"]]
                    trial["values"] = dict(zip(names, trial["values"], strict=True))
            cells.append(cell)
    return cells


def streams(number: int) -> list[PlannedCell]:
    return [planned("stream", message_bytes=size) for size in range(64, 64 + number)]


def test_page_data_have_every_cell_of_the_plan_in_order_with_all_measured_values() -> None:
    run = load(LIMITS)
    cells = unpacked(pieces_of(run, {run.plan.cells[0].key: (CellFinding("It is full."),)}))
    assert [cell["key"] for cell in cells] == [cell.key for cell in run.plan.cells]
    assert [finding["text"] for finding in cells[0]["findings"]] == ["It is full."]
    for cell in cells:
        for trial in cell["trials"]:
            record = run.latest[cell["key"], trial["trial"]]
            assert trial["values"].keys() == record.values.keys()
            short = {n: v for n, v in record.values.items() if not isinstance(v, list)}
            assert {n: trial["values"][n] for n in short} == short
            assert trial["began"] == record.started_at


def test_a_trial_without_a_result_has_a_reason_and_no_figure_in_the_page_data(make: Make) -> None:
    cell = planned("stream")
    run = make(plan_of([cell], 2), [failure(cell, 1, "no-traffic", detail="alpha: nothing came")])
    (cell_data,) = unpacked(pieces_of(run))
    failed, pending = cell_data["trials"]
    assert failed["figures"] == pending["figures"] == [""]
    assert "(no-traffic)" in failed["why"]
    assert failed["detail"] == "alpha: nothing came"
    assert "(not-measured-yet)" in pending["why"]
    assert "values" not in pending
    assert cell_data["charts"] == []


def test_page_data_of_many_cells_are_cut_into_pieces_that_can_be_read_alone(make: Make) -> None:
    cells = streams(40)
    values: dict[str, Any] = {"throughput_bit_per_s": 48e6, "note": "x" * (PIECE_CHARACTERS // 15)}
    run = make(plan_of(cells, 1), [result(cell, 1, values) for cell in cells])
    pieces = pieces_of(run)
    assert 3 <= len(pieces) <= 5
    assert [cell["key"] for cell in unpacked(pieces)] == [cell.key for cell in cells]
    assert pieces == pieces_of(run)


def test_no_text_of_a_host_ends_the_script_element_of_the_page_data(make: Make) -> None:
    cell = planned("stream", interface="</script>")
    run = make(plan_of([cell], 1), [result(cell, 1, {"server_note": "</script><!--\u2028&"})])
    text = script_json(pieces_of(run))
    assert not set("<>&\u2028\u2029") & set(text)
    ((_, data),) = json.loads(text)
    assert "</script><!--" in gzip.decompress(base64.b64decode(data)).decode()


def test_a_histogram_is_replaced_by_its_length_in_the_page_data_and_drawn_as_a_chart(
    make: Make,
) -> None:
    cell = planned("round_trip")
    run = make(plan_of([cell], 1), [result(cell, 1, of_round_trips(drawn_ns(300, 90, 1)))])
    (cell_data,) = unpacked(pieces_of(run))
    record = run.latest[cell.key, 1]
    pairs = record.values["rtt_histogram"]
    assert isinstance(pairs, list)
    assert cell_data["trials"][0]["values"]["rtt_histogram"] == f"{len(pairs):,} numbers"
    (chart,) = cell_data["charts"]
    ys = [y for _, y in chart["lines"][0]["points"]]
    assert ys == sorted(ys)
    assert 70 < ys[0] < ys[-1] < 150


# Small charts


@given(
    interval_ns=st.integers(1_000_000, 10**9),
    counts=st.lists(st.integers(0, 10**9), min_size=1, max_size=50),
    last_share=st.floats(0.5, 1.499),
)
def test_the_interval_rates_of_a_stream_add_up_to_its_received_bytes(
    interval_ns: int, counts: list[int], last_share: float
) -> None:
    last_ns = interval_ns * last_share
    elapsed_ns = interval_ns * (len(counts) - 1) + last_ns
    points = interval_rates(counts, interval_ns, elapsed_ns)
    lengths = [float(interval_ns)] * (len(counts) - 1) + [last_ns]
    for (_, rate), length_ns, count in zip(points, lengths, counts, strict=True):
        assert rate is not None
        assert rate * length_ns / 8e3 == pytest.approx(count, rel=1e-4, abs=1e-3)
    times = [x for x, _ in points]
    assert times == sorted(times)
    assert times[-1] <= elapsed_ns / 1e9 * (1 + 1e-5)


def test_a_stream_in_both_directions_has_a_small_chart_per_direction(make: Make) -> None:
    cell = planned("stream", direction="both")
    values: dict[str, Any] = {
        f"{flow}receiver_{name}": value
        for flow in ("to_server_", "to_client_")
        for name, value in (("interval_ns", 10**8), ("interval_bytes", [1, 2]))
    }
    run = make(plan_of([cell], 1), [result(cell, 1, values)])
    (cell_data,) = unpacked(pieces_of(run))
    titles = [chart["title"] for chart in cell_data["charts"]]
    assert titles == [
        "Throughput to server within the window",
        "Throughput to client within the window",
    ]


SERIES: dict[str, Any] = {
    "time_us": [0, 10_000, 20_000, 30_000],
    "cwnd_bytes": [10_240, 20_480, 30_720, 21_504],
    "rtt_us": [1_000, 2_000, 3_000, 2_100],
    "retransmissions": [0, 0, 0, 2],
}


def test_congestion_window_round_trip_and_retransmissions_of_tcp_are_drawn_over_time(
    make: Make,
) -> None:
    cell = planned("stream", protocol="TCP")
    values = {f"sender_tcp_series_{name}": value for name, value in SERIES.items()}
    run = make(plan_of([cell], 2), [result(cell, n, values) for n in (1, 2)])
    (cell_data,) = unpacked(pieces_of(run))
    window, round_trip, again = cell_data["charts"]
    assert (window["title"], window["y"]) == ("TCP’s congestion window", "KiB")
    assert window["x"] == round_trip["x"] == "seconds since the window opened"
    assert [(line["label"], line["joined"]) for line in window["lines"]] == [
        *(("trial 1", True), ("trial 2", True), ("retransmitted segments", False)),
    ]
    assert window["lines"][0]["points"] == [[0, 10], [0.01, 20], [0.02, 30], [0.03, 21]]
    assert window["lines"][2]["points"] == [[0.03, 21], [0.03, 21]]
    assert (round_trip["title"], round_trip["y"]) == ("TCP’s round trip", "ms")
    assert round_trip["lines"][1]["points"] == [[0, 1], [0.01, 2], [0.02, 3], [0.03, 2.1]]
    assert (again["title"], again["y"]) == ("Segments retransmitted by TCP", "segments in total")
    assert [y for _x, y in again["lines"][0]["points"]] == SERIES["retransmissions"]


def test_only_reported_tcp_series_are_drawn_and_each_direction_has_charts_of_its_own(
    make: Make,
) -> None:
    cell = planned("stream", protocol="TCP", direction="both")
    series = {name: SERIES[name] for name in ("time_us", "rtt_us")}
    values = {f"to_client_sender_tcp_series_{name}": value for name, value in series.items()}
    values |= {
        f"to_server_sender_tcp_series_{name}": SERIES[name] for name in ("time_us", "cwnd_bytes")
    }
    run = make(plan_of([cell], 1), [result(cell, 1, values)])
    titles = [chart["title"] for chart in unpacked(pieces_of(run))[0]["charts"]]
    assert titles == ["TCP’s congestion window to server", "TCP’s round trip to client"]


def test_a_long_tcp_series_is_thinned_and_its_points_stay_at_their_times(make: Make) -> None:
    cell = planned("stream", protocol="TCP")
    count = 512
    values: dict[str, Any] = {
        "sender_tcp_series_time_us": [10_000 * place for place in range(count)],
        "sender_tcp_series_cwnd_bytes": [1024 * place for place in range(count)],
        "sender_tcp_series_retransmissions": list(range(count)),
    }
    run = make(plan_of([cell], 1), [result(cell, 1, values)])
    chart, _again = unpacked(pieces_of(run))[0]["charts"]
    line, marks = chart["lines"]
    assert 100 <= len(line["points"]) <= 200
    assert len(marks["points"]) <= 200
    assert all(y == pytest.approx(100 * x) for x, y in [*line["points"], *marks["points"]])


def test_the_wire_ceiling_is_drawn_in_a_cell_chart_if_the_link_is_known_and_used(
    make: Make,
) -> None:
    cell = planned("stream", message_bytes=64)
    values: dict[str, Any] = {
        "receiver_interval_ns": 10**8,
        "receiver_interval_bytes": [600_000] * 3,
    }
    run = make(plan_of([cell], 1), [result(cell, 1, values)])
    assert unpacked(pieces_of(run))[0]["charts"][0]["level"] == pytest.approx(49.231, abs=1e-3)
    inside = make(plan_of([cell], 1), [result(cell, 1, {**values, "same_host": True})])
    assert unpacked(pieces_of(inside))[0]["charts"][0]["level"] is None
    unknown = make(plan_of([cell], 1, link=None), [result(cell, 1, values)])
    assert unpacked(pieces_of(unknown))[0]["charts"][0]["level"] is None


def test_a_cell_of_a_kind_of_test_that_this_netlab_does_not_know_is_shown_without_a_ceiling(
    make: Make,
) -> None:
    cell = PlannedCell("a", "LL", "of_tomorrow", {"message_bytes": 64})
    run = make(plan_of([cell], 1), [result(cell, 1, {"throughput_bit_per_s": 9e6})])
    assert unpacked(pieces_of(run))[0]["trials"]
    assert ceilings_of(run.trials, run.plan.link) == {}


def test_a_throughput_search_chart_shows_every_rate_tried_by_its_verdict(make: Make) -> None:
    cell = planned("throughput_search", frame_bytes=64)
    values: dict[str, Any] = {"trial_line_share": [1.0, 0.5, 0.75], "trial_verdict": [1, 0, 2]}
    run = make(plan_of([cell], 1), [result(cell, 1, values)])
    (chart,) = unpacked(pieces_of(run))[0]["charts"]
    assert [(line["label"], line["points"]) for line in chart["lines"]] == [
        ("passed", [[2, 50]]),
        ("did not pass", [[1, 100], [3, 75]]),
    ]


def test_a_payload_sweep_is_drawn_as_separate_points_over_message_size(make: Make) -> None:
    (swept, _) = unpacked(pieces_of(make(*payload_run())))
    (chart,) = swept["charts"]
    assert chart["x"] == "message size, bytes"
    assert not chart["lines"][0]["joined"]


@pytest.mark.parametrize(
    "damage",
    [
        {"receiver_interval_bytes": [1, "2"], "receiver_interval_ns": 10},
        {"receiver_interval_bytes": [1, 2]},
        {"receiver_interval_bytes": 7, "receiver_interval_ns": 10},
        {"rtt_histogram": [3, 1, 2, 1], "rtt_histogram_bits": 7},
        {"rtt_histogram": [3, 1], "rtt_histogram_bits": "seven"},
        {"trial_line_share": [1.0], "trial_verdict": []},
        {"sweep_message_bytes": [1], "sweep_throughput_bit_per_s": []},
        {"sender_tcp_series_time_us": [2, 1], "sender_tcp_series_rtt_us": [5, 5]},
        {"sender_tcp_series_time_us": [1, 2], "sender_tcp_series_rtt_us": [5]},
        {"sender_tcp_series_rtt_us": [5]},
    ],
)
def test_a_damaged_series_is_not_drawn(damage: dict[str, Any]) -> None:
    cell = planned("stream")
    trial = result(cell, 1, {"throughput_bit_per_s": 1e6, **damage})
    assert small_charts([trial], {}) == ()


def test_a_cell_chart_draws_a_limited_number_of_trials(make: Make) -> None:
    cell = planned("stream")
    values: dict[str, Any] = {"receiver_interval_ns": 10**8, "receiver_interval_bytes": [1, 2]}
    run = make(plan_of([cell], 20), [result(cell, n, values) for n in range(1, 21)])
    (cell_data,) = unpacked(pieces_of(run))
    assert len(cell_data["charts"][0]["lines"]) == MAX_LINES
    assert len(cell_data["trials"]) == 20


def test_a_finding_about_several_cells_says_in_each_that_its_figures_are_of_all() -> None:
    run = load(FIXTURES / "limits-linux")
    assert {len(finding.cells) > 1 for finding in run.findings if finding.cells} == {True, False}
    for cell, shown in findings_by_cell(run).items():
        own = [finding for finding in run.findings if cell in finding.cells]
        for words, finding in zip(shown, own, strict=True):
            number = len(finding.cells)
            said = words.sentence.endswith(f" These figures are of {number} cells.")
            assert said == (number > 1)


# Loss and CPU


def test_loss_and_cpu_of_both_hosts_are_in_one_table_and_drawn(make: Make) -> None:
    cells = [planned("stream", message_bytes=size) for size in (64, 1472)]
    records = [
        result(
            cell,
            1,
            {
                "throughput_bit_per_s": 48e6,
                "sent_messages": 1000,
                "lost_messages": losses,
                "sender_user_ns": 10**8,
                "sender_system_ns": 8 * 10**8,
                "sender_elapsed_ns": 10**9,
                "receiver_host_busy_share": 0.25,
            },
        )
        for cell, losses in zip(cells, (0, 50), strict=True)
    ]
    part = part_of(make(plan_of(cells, 1), records), "loss-cpu")
    (sheet,) = part.sheets
    assert sheet.columns == ("lost, %", "sender’s CPU, %", "receiver’s host busy, %")
    lines = {line.label: [place.value for place in line.places] for line in sheet.lines}
    assert lines == {"LL UDP 64": [0, 90, 25], "LL UDP 1472": [5, 90, 25]}
    assert [chart.title for chart in part.charts] == ["UDP: CPU time", "UDP: messages lost"]


def test_lost_messages_are_listed_by_the_place_where_the_hosts_counted_them(make: Make) -> None:
    cells = [planned("stream", message_bytes=size) for size in (64, 576, 1472)]
    drops = {
        "client_interface_dropped_frames": 3,
        "client_queue_dropped_frames": 4,
        "server_interface_dropped_frames": 5,
        "receiver_queue_drops": 40,
        "sender_local_drops": 7,
    }
    records = [
        result(
            cell,
            1,
            {"throughput_bit_per_s": 48e6, "sent_messages": 1000, "lost_messages": losses, **more},
        )
        for cell, losses, more in zip(cells, (0, 50, 60), ({}, drops, {}), strict=True)
    ]
    _, sheet = part_of(make(plan_of(cells, 1), records), "loss-cpu").sheets
    assert sheet.columns == (
        *("messages lost", "never sent", "receiving socket", "receiver’s backlog"),
        *("receiver’s interface", "sender’s interface", "sender’s queue"),
    )
    lines = {line.label: [place.value for place in line.places] for line in sheet.lines}
    assert lines == {"LL UDP 576": [50, 7, 40, None, 5, 3, 4]}


def test_a_run_without_loss_and_cpu_counts_has_no_section_on_loss_and_cpu(make: Make) -> None:
    cell = planned("stream", protocol="TCP")
    run = make(plan_of([cell], 1), [result(cell, 1, {"throughput_bit_per_s": 48e6})])
    with pytest.raises(StopIteration):
        part_of(run, "loss-cpu")
