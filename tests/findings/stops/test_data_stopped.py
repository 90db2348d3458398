"""Findings report interruptions of data with their causes and attempts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from made_readings import plan_of, planned, result
from made_streams import LINK, stream, stream_values

from netlab.findings.analysis import Analysis, load
from netlab.findings.finding import Finding, Group, Kind
from netlab.findings.over_time import group_of
from netlab.report.text.findings import RunIndex, sentence
from netlab.store.plan import PlannedCell
from netlab.store.run_folder import RunFolder
from netlab.trial.record import Record, Status, Value

MS, SECOND = 1_000_000, 1_000_000_000


def gap(mbit: float, *pairs_ms: int, **more: Value) -> dict[str, Value]:
    gaps = [milliseconds * MS for milliseconds in pairs_ms]
    return {
        **(stream_values(mbit) or {}),
        "elapsed_ns": 4 * SECOND,
        "receiver_elapsed_ns": 4 * SECOND,
        "receiver_gap_count": len(gaps) // 2,
        "receiver_gap_total_ns": sum(gaps[1::2]),
        **({"receiver_gaps": list(gaps)} if gaps else {}),
        **more,
    }


def run_with(folder: Path, cell: PlannedCell, repeats: int, *records: Record) -> Analysis:
    plan = plan_of([cell], repeats, link=LINK, matrix_text="title: made up\n")
    with RunFolder.open_for_writing(folder, plan) as into:
        for record in records:
            into.append(record, durable=False)
    return load(folder)


def about_stops(run: Analysis) -> list[Finding]:
    kinds = {Kind.INTERRUPTION_FINAL, Kind.INTERRUPTION_EARLIER, Kind.INTERRUPTION_ONE_STREAM}
    return [finding for finding in run.findings if finding.kind in kinds]


def sentence_of(run: Analysis) -> str:
    (finding,) = about_stops(run)
    return str(sentence(finding, RunIndex(run)))


CARRIER = {"receiver_interface_carrier_changes": 2}


def test_the_sentence_about_stopped_data_states_duration_time_and_cause(tmp_path: Path) -> None:
    cell = stream(duration_s=4.0)
    record = result(cell, 1, gap(46.4, 1100, 2000, **CARRIER))
    run = run_with(tmp_path / "run", cell, 1, record)
    assert sentence_of(run) == (
        "LL TCP 1448: no data arrived for 2 s of 4 s, at 1.1 s; carrier lost."
    )
    (finding,) = about_stops(run)
    assert (finding.kind, finding.severity, finding.cells) == (
        Kind.INTERRUPTION_FINAL,
        "warning",
        (cell.key,),
    )


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "the record does not show what stopped the data"),
        ({"sender_late_ticks": [SECOND, 2 * SECOND]}, "the sender’s process did not run"),
        ({"receiver_late_ticks": [SECOND, 2 * SECOND]}, "the receiver’s process did not run"),
        ({"receiver_suspended_ns": 60 * SECOND}, "the receiver was suspended"),
        ({"sender_wall_step_ns": -SECOND}, "the sender’s clock was set"),
    ],
)
def test_stopped_data_is_reported_with_the_recorded_cause(
    tmp_path: Path, more: Any, words: str
) -> None:
    cell = stream(duration_s=4.0)
    run = run_with(tmp_path / "run", cell, 1, result(cell, 1, gap(46.4, 1100, 2000, **more)))
    assert sentence_of(run).endswith(f"at 1.1 s; {words}.")


def test_trials_with_stopped_data_are_counted_and_the_worst_trial_is_described(
    tmp_path: Path,
) -> None:
    cell = stream(duration_s=4.0)
    run = run_with(
        tmp_path / "run",
        cell,
        3,
        result(cell, 1, gap(90.0, 500, 400)),
        result(cell, 2, gap(94.0)),
        result(cell, 3, gap(70.0, 200, 300, 1100, 900)),
    )
    assert sentence_of(run) == (
        "LL TCP 1448: in 2 of 3 trials: no data arrived for 1.2 s of 4 s, in 2 gaps, the longest "
        "at 1.1 s; the record does not show what stopped the data."
    )


def test_a_stopped_trial_without_a_later_result_is_not_reported_as_measured_again(
    tmp_path: Path,
) -> None:
    cell = stream(duration_s=4.0)
    record = result(cell, 1, gap(46.4, 1100, 2000, **CARRIER))
    for status, reason in ((Status.PENDING, "host-away"), (Status.FAILED, "no-peer")):
        later = replace(record, attempt=2, status=status, reason=reason, values={})
        assert about_stops(run_with(tmp_path / reason, cell, 1, record, later)) == []
    run_with(tmp_path / "more", cell, 2, replace(record, trial=2))
    journal = (tmp_path / "more" / "journal.jsonl").read_bytes()
    run_with(tmp_path / "less", cell, 1)
    (tmp_path / "less" / "journal.jsonl").write_bytes(journal)
    less = load(tmp_path / "less")
    assert len(less.records) == 1
    assert about_stops(less) == []


def test_all_attempts_are_listed_if_data_stopped_in_the_last_attempt_too(tmp_path: Path) -> None:
    cell = stream(duration_s=4.0)
    tries = [
        result(cell, 1, gap(mbit, 1100, 2000, **CARRIER), attempt=attempt)
        for attempt, mbit in enumerate((46.4, 47.0, 23.5), 1)
    ]
    assert sentence_of(run_with(tmp_path / "run", cell, 1, *tries)).endswith(
        "carrier lost; the attempts at the trial reached 46.40 Mbit/s, 47.00 Mbit/s, 23.50 Mbit/s."
    )


def test_a_trial_measured_again_without_interruption_is_a_note_with_all_its_attempts(
    tmp_path: Path,
) -> None:
    cell = stream(duration_s=4.0)
    run = run_with(
        tmp_path / "run",
        cell,
        1,
        result(cell, 1, gap(46.4, 1100, 2000, **CARRIER)),
        result(cell, 1, gap(94.1), attempt=2),
    )
    assert sentence_of(run) == (
        "LL TCP 1448: measured again, because no data arrived for 2 s of 4 s, at 1.1 s; carrier "
        "lost; the attempts at the trial reached 46.40 Mbit/s, 94.10 Mbit/s."
    )
    (finding,) = about_stops(run)
    assert (finding.kind, finding.severity) == (Kind.INTERRUPTION_EARLIER, "note")
    assert finding.evidence == {
        **{"stopped_ns": 2 * SECOND, "window_ns": 4 * SECOND, "at_ns": 1100 * MS, "gaps": 1},
        **{"trials": 1, "of_trials": 1, "paused_share": 0.5},
        "attempt_1_throughput_bit_per_s": pytest.approx(46.4e6),
        "attempt_2_throughput_bit_per_s": pytest.approx(94.1e6),
    }


def test_one_silent_stream_among_parallel_streams_is_reported(tmp_path: Path) -> None:
    cell = stream(duration_s=4.0, streams=4)
    silent = gap(94.0, receiver_longest_gap_ns=1500 * MS, receiver_marks=40_000)
    run = run_with(tmp_path / "silent", cell, 1, result(cell, 1, silent))
    assert sentence_of(run).endswith(
        "one of 4 streams had no data for 1.5 s of 4 s, while other streams had data."
    )
    for values in (
        silent | {"receiver_longest_gap_ns": 150 * MS},
        silent | {"receiver_marks": 150},
        {name: value for name, value in silent.items() if "gap_count" not in name},
    ):
        folder = tmp_path / f"quiet{len(list(tmp_path.iterdir()))}"
        assert about_stops(run_with(folder, cell, 1, result(cell, 1, values))) == []


def test_the_longest_silence_of_a_stream_in_several_trials_is_described(tmp_path: Path) -> None:
    cell = stream(duration_s=4.0, streams=4)
    silences = [
        gap(94.0, receiver_longest_gap_ns=silent_ms * MS, receiver_marks=40_000)
        for silent_ms in (1500, 2000, 1700)
    ]
    records = [result(cell, trial, values) for trial, values in enumerate(silences, 1)]
    (finding,) = about_stops(run_with(tmp_path / "silent", cell, 3, *records))
    assert (finding.evidence["stopped_ns"], finding.evidence["streams"]) == (2 * SECOND, 4)


def test_stopped_data_in_round_trips_is_reported_with_its_cause(tmp_path: Path) -> None:
    cell = planned("round_trip", message_bytes=64, duration_s=4.0)
    values: dict[str, Value] = {
        "rtt_mean_ns": 250_000.0,
        "elapsed_ns": 4 * SECOND,
        "client_gap_count": 1,
        "client_gap_total_ns": 900 * MS,
        "client_gaps": [SECOND, 900 * MS],
        "server_late_ticks": [SECOND, 890 * MS],
    }
    run = run_with(tmp_path / "run", cell, 1, result(cell, 1, values))
    assert sentence_of(run) == (
        "LL UDP 64: no data arrived for 900 ms of 4 s, at 1 s; the server’s process did not run."
    )


def test_a_clock_that_was_set_during_round_trips_is_reported(tmp_path: Path) -> None:
    cell = planned("round_trip", message_bytes=64, duration_s=4.0)
    values: dict[str, Value] = {"rtt_mean_ns": 250_000.0, "server_wall_step_ns": 5 * SECOND}
    run = run_with(tmp_path / "run", cell, 1, result(cell, 1, values))
    (finding,) = [finding for finding in run.findings if finding.kind is Kind.CLOCK_STEP]
    assert (finding.group.host, finding.cells) == ("alpha", (cell.key,))
    assert "its clock jumped by +5.0 s" in sentence(finding, RunIndex(run)).lower()


def test_the_group_of_a_flow_names_no_protocol_and_no_message_size_that_are_not_recorded() -> None:
    record = result(stream(), 1, {})
    settings: list[dict[str, Value]] = [
        {"protocol": "TCP", "message_bytes": 64},
        {},
        {"message_bytes": "64"},
    ]
    assert [group_of(replace(record, settings=each), "to_client_") for each in settings] == [
        Group(record.pairing, "TCP", 64, "to client"),
        Group(record.pairing, "", None, "to client"),
        Group(record.pairing, "", None, "to client"),
    ]
