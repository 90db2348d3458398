"""Findings report stalled processes, left-out messages and steal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_findings import plan_of
from made_findings import run_of as run_of_records
from made_readings import planned
from made_runs import made_record
from made_streams import run_of, stream, stream_values

from netlab.findings.analysis import Analysis
from netlab.findings.finding import Kind
from netlab.findings.over_time import delayed_trials
from netlab.report.text.findings import RunIndex, sentence
from netlab.store.plan import PlannedCell
from netlab.trial.record import Value

MS, SECOND = 1_000_000, 1_000_000_000
KINDS = {
    Kind.HOST_DELAY_PROCESS,
    Kind.HOST_DELAY_HYPERVISOR,
    Kind.OFF_RATE_LESS,
    Kind.OFF_RATE_HELD,
    Kind.OFF_RATE_MORE,
}
PACED = stream(protocol="UDP", duration_s=1.0, rate_bit_per_s=1e7)


def values(
    more: Mapping[str, Value] | None = None, mbit: float = 94.0, prefix: str = ""
) -> dict[str, Value]:
    plain: dict[str, Value] = {
        "elapsed_ns": SECOND,
        "sender_elapsed_ns": SECOND,
        "receiver_elapsed_ns": SECOND,
        **(more or {}),
    }
    prefixed = {prefix + name: value for name, value in plain.items()}
    return {**(stream_values(mbit) or {}), **prefixed}


def paced(
    sent_count: int, skipped_count: int, mbit: float = 5.1, stalled_ns: int = 0
) -> dict[str, Value]:
    counts: dict[str, Value] = {
        "sender_sent_messages_window": sent_count,
        "sender_skipped_messages": skipped_count,
        "sender_stalled_ns": stalled_ns,
    }
    return values(counts, mbit)


def sentences_of(run: Analysis) -> list[str]:
    findings = [finding for finding in run.findings if finding.kind in KINDS]
    assert all(finding.severity == "warning" for finding in findings)
    return [str(sentence(finding, RunIndex(run))) for finding in findings]


def run(folder: Path, cell: PlannedCell, *trials: dict[str, Value]) -> Analysis:
    return run_of(folder / "run", (cell, trials))


@pytest.mark.parametrize("end", ["sender", "receiver"])
def test_short_pauses_of_a_process_are_reported_with_sender_or_receiver_and_total_time(
    tmp_path: Path, end: str
) -> None:
    own_window: dict[str, Value] = {f"{end}_stalled_ns": 400 * MS, f"{end}_elapsed_ns": 2 * SECOND}
    analysis = run(tmp_path, stream(), values(own_window))
    assert sentences_of(analysis) == [
        f"LL TCP 1448: the {end}’s process did not run for 400 ms of 2 s, in short pauses."
    ]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"sender_stalled_ns": 0},
        {"sender_stalled_ns": 29 * MS},
        # The sending thread always had a CPU; only the ticking thread had none.
        {"sender_stalled_ns": 400 * MS, "sender_thread_ns": 950 * MS},
        # Data stopped, which has its own finding.
        {
            "sender_stalled_ns": 400 * MS,
            "receiver_gap_count": 1,
            "receiver_gap_total_ns": 400 * MS,
            "receiver_gaps": [100 * MS, 400 * MS],
        },
    ],
)
def test_short_stalls_busy_threads_and_stopped_data_have_no_stall_finding(
    tmp_path: Path, more: dict[str, Value]
) -> None:
    assert sentences_of(run(tmp_path, stream(duration_s=1.0), values(more))) == []


def test_the_longest_stall_of_all_trials_is_described(tmp_path: Path) -> None:
    stalls: dict[str, Value] = {"sender_stalled_ns": 100 * MS, "receiver_stalled_ns": 300 * MS}
    analysis = run(
        tmp_path, stream(), values(), values({"sender_stalled_ns": 60 * MS}), values(stalls)
    )
    assert sentences_of(analysis) == [
        "LL TCP 1448: in 2 of 3 trials: the receiver’s process did not run for 300 ms of 1 s, in "
        "short pauses."
    ]


def test_stalled_processes_are_reported_for_each_flow_and_for_round_trips(tmp_path: Path) -> None:
    flow = run(tmp_path, stream(), values({"receiver_stalled_ns": 100 * MS}, prefix="to_client_"))
    assert sentences_of(flow) == [
        "LL TCP 1448 to client: the receiver’s process did not run for 100 ms of 1 s, in short "
        "pauses."
    ]
    cell = planned("round_trip", "LL", protocol="UDP", message_bytes=64)
    # A mirror does not report the length of its window.
    trips: dict[str, Value] = {"elapsed_ns": SECOND, "rtt_mean_ns": 1e5, "server_stalled_ns": 5e7}
    assert sentences_of(run(tmp_path / "trips", cell, trips)) == [
        "LL UDP 64: the server’s process did not run for 50 ms of 1 s, in short pauses."
    ]


def test_a_paced_sender_that_left_out_messages_is_reported_with_both_rates(tmp_path: Path) -> None:
    assert sentences_of(run(tmp_path, PACED, paced(442, 421))) == [
        "LL UDP 1448: the sender sent 5.12 Mbit/s of the requested 10 Mbit/s; it left out 421 "
        "messages that were due."
    ]


@pytest.mark.parametrize(
    ("cell", "trial"),
    [
        (PACED, paced(863, 0)),
        (PACED, paced(850, 13)),
        # It sent less but omitted nothing: some of its messages are outside this window.
        (PACED, paced(442, 0)),
        # The stream is at the wire ceiling.
        (stream(protocol="UDP", rate_bit_per_s=1.2e8), paced(8260, 2000, 95.6)),
        # Not paced.
        (stream(protocol="UDP"), paced(442, 421)),
    ],
)
def test_left_out_messages_of_unpaced_or_wire_limited_senders_are_not_reported(
    tmp_path: Path, cell: PlannedCell, trial: dict[str, Value]
) -> None:
    assert sentences_of(run(tmp_path, cell, trial)) == []


def test_a_stalled_sender_is_reported_instead_of_left_out_messages(tmp_path: Path) -> None:
    assert sentences_of(run(tmp_path, PACED, paced(442, 421, stalled_ns=450 * MS))) == [
        "LL UDP 1448: the sender’s process did not run for 450 ms of 1 s, in short pauses."
    ]


def held(on_cpu_ms: int = 50, ready_ms: int | None = 10, **more: Value) -> dict[str, Value]:
    """A sender that sent 450 of 863 messages of a second, 4.5 % short of half of them."""
    times: dict[str, Value] = {"sender_thread_ns": on_cpu_ms * MS, **more}
    times |= {} if ready_ms is None else {"sender_run_queue_delay_ns": ready_ms * MS}
    return paced(450, 413) | times


def test_a_sender_that_waited_for_room_is_told_with_the_time_and_not_called_slow(
    tmp_path: Path,
) -> None:
    """Of 94 % of the time without a need for a CPU it may have slept before 52 % of messages."""
    analysis = run(tmp_path, PACED, held())
    assert sentences_of(analysis) == [
        "LL UDP 1448: the sender sent 5.21 Mbit/s of the requested 10 Mbit/s; it left out 413 "
        "messages that were due, and waited at least 42 % of the time for room in its socket."
    ]
    (finding,) = (finding for finding in analysis.findings if finding.kind in KINDS)
    assert "sender limits" not in finding.advice and "took no more" in finding.advice


@pytest.mark.parametrize(
    "trial",
    [
        held(on_cpu_ms=300),  # 69 - 52 % of the time, less than half of the 48 % left out
        held(ready_ms=None),
        held(sender_stalled_ns=20 * MS, sender_host_steal_share=0.04, on_cpu_ms=200),
        held(sender_quota_throttled_ns=260 * MS),
    ],
)
def test_a_sender_that_may_have_slept_run_or_lacked_a_cpu_is_not_said_to_have_waited_for_room(
    tmp_path: Path, trial: dict[str, Value]
) -> None:
    (finding,) = (f for f in run(tmp_path, PACED, trial).findings if f.kind in KINDS)
    assert finding.kind is Kind.OFF_RATE_LESS


def test_a_sender_whose_limit_is_known_is_not_said_to_have_left_out_messages(
    tmp_path: Path,
) -> None:
    analysis = run(tmp_path, PACED, held(ready_ms=370))
    assert sentences_of(analysis) == []
    assert Kind.CPU_WAIT_SENDER_PROGRAMS in {finding.kind for finding in analysis.findings}


@given(
    offered=st.floats(1e6, 1e9),
    sent_share=st.floats(0.02, 0.97),
    busy_share=st.floats(0, 1),
    waits=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_in_drawn_paced_senders_only_those_that_waited_for_room_are_said_to_have(
    *, offered: float, sent_share: float, busy_share: float, waits: bool
) -> None:
    """The others sleep before each message that they send and lack a CPU for the rest."""
    lacking = 1 - sent_share
    away = busy_share * sent_share if waits else lacking + busy_share * sent_share
    cell = replace(PACED, settings={**PACED.settings, "rate_bit_per_s": offered})
    record = made_record(
        cell,
        values={
            "throughput_bit_per_s": sent_share * offered,
            "sender_elapsed_ns": SECOND,
            "sender_sent_messages_window": round(sent_share * offered / 8 / 1448),
            "sender_skipped_messages": 1 + round(lacking * offered / 8 / 1448),
            "sender_thread_ns": round(0.5 * away * SECOND),
            "sender_run_queue_delay_ns": round(0.5 * away * SECOND),
        },
    )
    (found,) = delayed_trials(run_of_records(plan_of([cell]), [record]), None)
    assert found.kind in (Kind.OFF_RATE_LESS, Kind.OFF_RATE_HELD)
    assert found.kind is Kind.OFF_RATE_LESS or waits
    # A sender that waited and hardly ran is recognized.
    assert found.kind is Kind.OFF_RATE_HELD or not waits or away > 0.45 * lacking


def test_throughput_above_the_offered_rate_is_reported_as_delayed_messages(tmp_path: Path) -> None:
    many = paced(863, 0, mbit=10.6)
    assert sentences_of(run(tmp_path, PACED, paced(863, 0, mbit=10.0), many)) == [
        "LL UDP 1448: in 1 of 2 trials: 10.60 Mbit/s arrived, but only 10 Mbit/s was offered: "
        "the window includes delayed messages."
    ]


@pytest.mark.parametrize(
    ("cell", "trial"),
    [
        (PACED, paced(863, 0, mbit=10.2)),
        (PACED, {**paced(863, 0, mbit=10.6), "receiver_coarse": 1}),
        (stream(protocol="UDP"), paced(863, 0, mbit=10.6)),
        (replace(PACED, settings={**PACED.settings, "engine": "iperf3"}), paced(863, 0, mbit=10.6)),
    ],
)
def test_no_delayed_messages_are_reported_for_small_excesses_unpaced_streams_or_other_tools(
    tmp_path: Path, cell: PlannedCell, trial: dict[str, Value]
) -> None:
    assert sentences_of(run(tmp_path, cell, trial)) == []


def test_a_trial_with_much_steal_is_reported_with_the_share_of_the_receiver(tmp_path: Path) -> None:
    steal_shares: dict[str, Value] = {
        "sender_host_steal_share": 0.02,
        "receiver_host_steal_share": 0.089,
    }
    assert sentences_of(run(tmp_path, stream(), values(), values(steal_shares))) == [
        "LL TCP 1448: in 1 of 2 trials: the receiver’s CPUs were given to other machines for 9 % "
        "of the time."
    ]


@pytest.mark.parametrize(
    "more",
    [
        {"receiver_host_steal_share": 0.05},
        # The kernel counts CPU time in ticks, so a short window has no usable shares.
        {"receiver_host_steal_share": 0.5, "receiver_elapsed_ns": 199 * MS},
        {"client_host_steal_share": 0.5, "client_elapsed_ns": SECOND},
    ],
)
def test_little_steal_or_steal_in_a_short_window_is_not_reported(
    tmp_path: Path, more: dict[str, Value]
) -> None:
    assert sentences_of(run(tmp_path, stream(), values(more))) == []
