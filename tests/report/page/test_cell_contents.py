"""An opened cell shows marks on its time axis, its effective settings and its repeat command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from folders import FIXTURES
from made_parts import Make
from made_readings import drawn_ns, of_round_trips, plan_of, planned, result
from made_tcp_series import MadePath, chance, flow

from netlab.findings.analysis import load
from netlab.findings.finding import Kind
from netlab.findings.tcp_series import recoveries_of
from netlab.report.page import INVENTORY, repeat_words
from netlab.report.page.cell_data import effective_settings
from netlab.report.page.small_charts import (
    MOST_MARKS,
    CellFinding,
    findings_by_cell,
    levels_of,
    marks_of,
    small_charts,
)
from netlab.stats import interval
from netlab.store.run_folder import RunFolder

MS = 1_000_000
PATH = MadePath(rate=12.5, base_us=40_000, room=50_000, losses=5e-6)


def with_gaps(*gaps_ms: tuple[int, int]) -> dict[str, Any]:
    """Values of a stream of 4 s whose data stopped."""
    return {
        "throughput_bit_per_s": 5e7,
        "elapsed_ns": 4_000 * MS,
        "receiver_elapsed_ns": 4_000 * MS,
        "receiver_gaps": [number * MS for gap in gaps_ms for number in gap],
        "receiver_gap_count": len(gaps_ms),
        "receiver_gap_total_ns": sum(length for _begin, length in gaps_ms) * MS,
        "receiver_interval_ns": 100 * MS,
        "receiver_interval_bytes": [600_000] * 40,
    }


def test_a_gap_in_a_stream_is_marked_on_the_cell_chart_with_its_time_and_length(make: Make) -> None:
    cell = planned("stream", protocol="UDP", message_bytes=1472)
    run = make(plan_of([cell], 1), [result(cell, 1, with_gaps((1100, 1200), (3000, 600)))])
    its = findings_by_cell(run)[cell.key]
    assert Kind.INTERRUPTION_FINAL in {finding.kind for finding in its}
    marks = marks_of([run.latest[cell.key, 1]], "", its)
    assert [(mark.from_s, mark.until_s, mark.words) for mark in marks] == [
        (1.1, 2.3, "no data for 1.2 s"),
        (3.0, 3.6, "no data for 600 ms"),
    ]
    assert marks_of([run.latest[cell.key, 1]], "", ()) == ()


def test_each_loss_recovery_is_marked_on_the_cell_chart_from_its_begin_to_its_end(
    make: Make,
) -> None:
    series = next(
        flow_series for seed in range(10) if recoveries_of(flow_series := flow(PATH, chance(seed)))
    )
    values = {
        f"sender_tcp_series_{name}": list(getattr(series, name))
        for name in ("time_us", "cwnd_bytes", "rtt_us", "retransmissions", "delivered_bytes")
    }
    cell = planned("stream", protocol="TCP")
    run = make(plan_of([cell], 1), [result(cell, 1, values)])
    marks = marks_of([run.latest[cell.key, 1]], "", [CellFinding("", Kind.LOSS_RECOVERY)])
    periods = [
        (recovery.from_us, recovery.from_us + recovery.length_us)
        for recovery in recoveries_of(series)
    ]
    assert len(periods) <= MOST_MARKS
    assert [(round(1e6 * mark.from_s), round(1e6 * mark.until_s)) for mark in marks] == periods


def test_a_rate_limit_that_several_findings_name_is_drawn_as_one_level() -> None:
    finding = CellFinding("", evidence={"rate_limit_bit_per_s": 4e7, "trials": 3})
    assert [*levels_of([finding, finding])] == [(40.0, "rate limit, 40 Mbit/s")]


def test_the_cell_chart_shows_trial_means_and_from_three_trials_the_95_percent_interval(
    make: Make,
) -> None:
    cell = planned("stream", protocol="UDP")
    rates = [90e6, 92e6, 97e6]
    records = [
        result(cell, number, {**with_gaps(), "throughput_bit_per_s": rate})
        for number, rate in enumerate(rates, start=1)
    ]
    run = make(plan_of([cell], 3), records)
    trials = run.trials
    (chart,) = small_charts(trials, {})
    assert chart.trials == ((0, 90.0), (1, 92.0), (2, 97.0))
    mean_interval = interval([90.0, 92.0, 97.0])
    assert chart.mean == pytest.approx((mean_interval.low, 93.0, mean_interval.high), rel=1e-5)
    (of_two,) = small_charts(trials[:2], {})
    assert of_two.mean is None


def test_a_cell_without_a_series_is_drawn_as_one_dot_per_trial_mean(make: Make) -> None:
    cell = planned("round_trip")
    records = [result(cell, n, of_round_trips(drawn_ns(200, 90, n))) for n in (1, 2, 3)]
    run = make(plan_of([cell], 3), records)
    trials = run.trials
    first = small_charts(trials, {})[0]
    assert (first.title, first.y_label) == ("Mean round trip, trial by trial", "µs")
    means = [record.values["rtt_mean_ns"] for record in records]
    assert [y for _x, y in first.lines[0].points] == pytest.approx(
        [value / 1e3 for value in means if isinstance(value, float)], rel=1e-5
    )


def test_an_opened_cell_marks_settings_whose_effective_and_requested_values_differ() -> None:
    settings = {
        "protocol": "TCP",
        "socket_buffer_bytes": 65536,
        "congestion": "bbr",
        "nodelay": True,
        "client_cpu": 1,
        "direction": "client-sends",
    }
    values = {
        "sender_send_buffer_bytes": 131072,
        "sender_receive_buffer_bytes": 65536,
        "sender_congestion": "cubic",
        "receiver_congestion": "reno",
        "sender_nodelay": 1,
        "sender_cpu": 1,
        "receiver_cpu": 0,
        "sender_dscp": 0,
        "mss_bytes": 1448,
    }
    by_name = {setting.name: setting for setting in effective_settings(settings, [values])}
    assert {name for name, setting in by_name.items() if setting.differs} == {
        "socket buffer",
        "congestion control",
    }
    assert by_name["socket buffer"].effective == "sender sends 128 KiB, sender receives 64 KiB"
    assert (by_name["congestion control"].asked, by_name["congestion control"].effective) == (
        "bbr",
        "cubic",
    )
    assert by_name["TCP_NODELAY"].effective == "yes"
    assert by_name["client’s CPU"].effective == "1"
    assert by_name["protocol"].effective == ""
    assert (by_name["DSCP"].asked, by_name["DSCP"].effective) == ("not set", "0")
    assert by_name["maximum segment size"].effective == "1448 B"


def test_an_opened_cell_names_the_version_and_the_deviations_of_another_tool() -> None:
    values = {
        "server_engine_version": "iperf 3.12",
        "client_engine_version": "iperf 3.16",
        "engine_remarks": "no warm-up",
    }
    by_name = {row.name: row for row in effective_settings({"engine": "iperf3"}, [values])}
    assert (by_name["engine"].asked, by_name["engine"].differs) == ("iperf3", False)
    assert by_name["version of the tool at the server"].effective == "iperf 3.12"
    assert by_name["version of the tool at the client"].effective == "iperf 3.16"
    assert by_name["what the tool did otherwise"].effective == "no warm-up"


def test_effective_cpu_lists_are_compared_with_those_requested_for_the_same_host() -> None:
    settings = {"direction": "client-sends", "client_cpus": "0,1", "server_cpus": "2,3"}
    values = {"sender_cpus": [0, 1], "receiver_cpus": [2, 4]}
    by_name = {setting.name: setting for setting in effective_settings(settings, [values])}
    assert (by_name["client’s CPUs"].asked, by_name["client’s CPUs"].effective) == ("0,1", "0,1")
    assert not by_name["client’s CPUs"].differs
    assert by_name["server’s CPUs"].effective == "2,4"
    assert by_name["server’s CPUs"].differs


def test_effective_values_that_differ_between_trials_are_listed_or_given_as_a_range() -> None:
    settings = {"socket_buffer_bytes": None}
    trials = [{"sender_send_buffer_bytes": size} for size in (46080, 87040, 46080)]
    (setting,) = effective_settings(settings, trials)
    assert setting.effective == "45 KiB / 85 KiB"
    assert not setting.differs
    many = [{"sender_send_buffer_bytes": 1024 * size} for size in (9, 3, 5, 7, 8)]
    assert effective_settings(settings, many)[0].effective == "3 KiB to 9 KiB"


def test_a_finding_in_a_cell_has_the_trials_of_this_cell_and_the_advice_of_the_finding() -> None:
    run = load(FIXTURES / "limits-linux")
    its = findings_by_cell(run)
    assert set(its) == {cell for finding in run.findings for cell in finding.cells}
    for finding in run.findings:
        for cell in finding.cells:
            (same,) = [own for own in its[cell] if own.evidence is finding.evidence]
            assert same.is_warning == (finding.severity == "warning")
            assert same.advice.rstrip(".").casefold() == finding.advice.casefold()
            assert same.trials == tuple(trial for key, trial in finding.trials if key == cell)


def test_the_repeat_command_resumes_a_new_run_repeats_an_old_run_and_is_absent_for_imports(
    tmp_path: Path, make: Make
) -> None:
    cell = planned("stream")
    plan = plan_of([cell], 1, matrix_text="title: t\n")
    with RunFolder.open_for_writing(tmp_path / "asked", plan) as folder:
        folder.note("asked", overrides={"scale": "0.1"})
    command = repeat_words(load(tmp_path / "asked"))
    assert command == ("netlab", "resume", "{folder}", "--redo", "{key}")
    with RunFolder.open_for_writing(tmp_path / "older", plan) as folder:
        folder.note("session", overrides={"scale": "0.1"})
    older = repeat_words(load(tmp_path / "older"))
    assert older[:5] == ("netlab", "run", "{folder}/matrix.yaml", "--hosts", INVENTORY)
    assert older[5:] == ("--into", "{folder}", "--set", "scale=0.1", "--redo", "{key}")
    imported = plan_of([cell], 1, matrix_text="title: t\n", source="table.csv")
    assert repeat_words(make(imported, [])) == ()
