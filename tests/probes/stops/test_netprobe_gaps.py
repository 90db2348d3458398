"""Gaps to the tenth of a second: what receivers and askers say of times without data."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import pytest
from netprobe_agents import Agent, agents, netprobe, open_trial, trial
from stops import stop_process, stopped

pytestmark = [pytest.mark.night, pytest.mark.alone]

__all__ = ["agents", "netprobe"]

Agents = tuple[Agent, Agent]
RATE = {"tcp": {}, "udp": {"message_rate": 2000}}
LATE_NS = 100_000_000
"""By how much a busy machine may stretch or shorten a time that a test waits."""


def pairs(listed: list[int]) -> list[tuple[int, int]]:
    return list(zip(listed[::2], listed[1::2], strict=True))


def check_one_gap(record: dict[str, Any], at_s: float, long_s: float) -> None:
    assert record["gap_count"] == 1, record
    ((at_ns, long_ns),) = pairs(record["gaps"])
    assert record["gap_total_ns"] == long_ns
    assert abs(long_ns - long_s * 1e9) < LATE_NS
    assert abs(at_ns - at_s * 1e9) < 4 * LATE_NS  # agents take their time to open


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_steady_stream_has_no_gap(agents: Agents, protocol: str) -> None:
    outcome = trial(agents, proto=protocol, message=1448, seconds=1, **RATE[protocol])
    assert (outcome.received["gap_count"], outcome.received["gap_total_ns"]) == (0, 0)
    assert not {"gaps", "late_ticks", "gap_queue_full"} & outcome.received.keys()
    assert "late_ticks" not in outcome.sent
    assert outcome.received["interface_carrier_changes"] == 0
    assert max(outcome.sent["stalled_ns"], outcome.received["stalled_ns"]) < LATE_NS


def test_messages_at_a_low_rate_leave_no_gap(agents: Agents) -> None:
    outcome = trial(agents, proto="udp", message=64, seconds=3, message_rate=8)
    assert outcome.received["marks"] >= 20
    assert outcome.received["longest_gap_ns"] > 100_000_000
    assert outcome.received["gap_count"] == 0


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_stopped_receiver_reports_one_gap_and_an_equally_long_pause_of_its_thread(
    agents: Agents, protocol: str
) -> None:
    with stopped(agents[0].process.pid, 0.5, 0.4):
        outcome = trial(agents, proto=protocol, message=1448, seconds=1.5, **RATE[protocol])
    check_one_gap(outcome.received, 0.5, 0.4)
    # TCP's window may close long before the queue's memory is used up.
    assert outcome.received["gap_queue_full"] in ([[1]] if protocol == "udp" else [[0], [1]])
    ((at_ns, long_ns),) = pairs(outcome.received["late_ticks"])
    assert abs(at_ns - outcome.received["gaps"][0]) < LATE_NS
    assert abs(long_ns - 0.4e9) < LATE_NS
    assert "late_ticks" not in outcome.sent


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_stopped_sender_reports_a_pause_of_its_thread_and_its_receiver_reports_a_gap(
    agents: Agents, protocol: str
) -> None:
    with stopped(agents[1].process.pid, 0.5, 0.4):
        outcome = trial(agents, proto=protocol, message=1448, seconds=1.5, **RATE[protocol])
    check_one_gap(outcome.received, 0.5, 0.4)
    assert outcome.received["gap_queue_full"] == [0]
    assert "late_ticks" not in outcome.received
    ((at_ns, _),) = pairs(outcome.sent["late_ticks"])
    assert abs(at_ns - outcome.received["gaps"][0]) < LATE_NS


@pytest.mark.parametrize("end", [0, 1])
def test_short_pauses_of_a_process_are_added_up_but_not_reported_as_gaps(
    agents: Agents, end: int
) -> None:
    running_trial = open_trial(agents, proto="udp", message=1448, seconds=1.5, message_rate=2000)
    for _ in range(8):
        time.sleep(0.05)
        stop_process(agents[end].process.pid, 0.07)
    outcome = running_trial.finish()
    records = (outcome.received, outcome.sent)
    assert abs(records[end]["stalled_ns"] - 8 * 0.07e9) < 2 * LATE_NS
    assert records[1 - end]["stalled_ns"] < LATE_NS
    assert not {"gaps", "late_ticks"} & records[end].keys()


def test_parallel_streams_that_stop_together_have_one_gap(agents: Agents) -> None:
    with stopped(agents[1].process.pid, 0.5, 0.4):
        outcome = trial(
            agents, proto="udp", message=1448, seconds=1.5, streams=4, message_rate=2000
        )
    check_one_gap(outcome.received, 0.5, 0.4)


def test_the_ten_longest_gaps_are_listed_in_the_order_of_time(agents: Agents) -> None:
    running_trial = open_trial(agents, proto="udp", message=1448, seconds=3, message_rate=2000)
    for _ in range(12):
        time.sleep(0.06)
        stop_process(agents[1].process.pid, 0.13)
    receiver_record = running_trial.finish().received
    assert 10 < receiver_record["gap_count"] <= 12  # on a busy machine two stops may be one
    gaps = pairs(receiver_record["gaps"])
    assert len(gaps) == 10
    assert all(gap[0] + gap[1] <= next_gap[0] for gap, next_gap in pairwise(gaps))
    assert (
        0 < receiver_record["gap_total_ns"] - sum(long_ns for _, long_ns in gaps) < 2 * 200_000_000
    )


@pytest.mark.parametrize("end", [0, 1])
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_round_trips_have_a_gap_while_either_process_is_stopped(
    agents: Agents, protocol: str, end: int
) -> None:
    mirror, asker = agents
    keys: dict[str, Any] = {"proto": protocol, "message": 64, "token": "5a" * 16}
    mirroring = mirror.start("mirror", open="listen", bind="127.0.0.1", **keys)
    ready = mirror.next(mirroring, "ready")
    with stopped(agents[end].process.pid, 0.5, 0.4):
        asking = asker.start("ask", to=f"127.0.0.1:{ready['port']}", seconds=1.5, **keys)
        asker_record = asker.next(asking, "result", "error")
    mirror.ask("stop", test=mirroring)
    mirror_record = mirror.next(mirroring, "result", "error")
    check_one_gap(asker_record, 0.5, 0.4)
    records = (mirror_record, asker_record)
    assert "late_ticks" in records[end]
    assert "late_ticks" not in records[1 - end]
