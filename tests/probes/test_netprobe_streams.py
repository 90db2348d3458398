"""Streams between two agents over loopback: every way to open them, and what both sides say."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from netprobe_agents import Agent, Trial, agents, netprobe, open_trial, trial

pytestmark = pytest.mark.lab

__all__ = ["agents", "netprobe"]

Agents = tuple[Agent, Agent]


def throughput_of(receiver_record: dict[str, Any]) -> float:
    return float(8e9 * receiver_record["received_bytes"] / receiver_record["elapsed_ns"])


def backlog_drops() -> int:
    """Packets that this machine was too busy to take in, since its start."""
    rows = Path("/proc/net/softnet_stat").read_text().splitlines()
    return sum(int(row.split()[1], 16) for row in rows)


@pytest.fixture(autouse=True)
def dropped_before() -> Iterator[None]:
    """What ``backlog_drops`` were at a test's begin."""
    BEFORE[0] = backlog_drops()
    yield


BEFORE = [0]


def dropped_at_the_socket(receiver_record: dict[str, Any]) -> bool:
    """Over loopback nothing else loses, but for a machine that is too busy to take packets in;
    three end markers a stream may be among the drops."""
    drops, losses = receiver_record["queue_drops"], receiver_record["lost_messages"]
    elsewhere = backlog_drops() - BEFORE[0]
    return bool(-elsewhere <= drops - losses <= 3 * receiver_record["streams"])


def check_accounts(outcome: Trial, protocol: str) -> None:
    receiver_record, sender_record = outcome.received, outcome.sent
    assert receiver_record["throughput_bit_per_s"] == pytest.approx(throughput_of(receiver_record))
    assert (
        receiver_record["window_close_ns"] - receiver_record["window_open_ns"]
        == receiver_record["elapsed_ns"]
    )
    assert sum(receiver_record["interval_bytes"]) == receiver_record["received_bytes"]
    assert sender_record["sent_messages"] > 0
    assert (
        receiver_record.get("sent_messages", sender_record["sent_messages"])
        == sender_record["sent_messages"]
    )
    if protocol == "udp":
        assert receiver_record["sent_messages"] == sender_record["sent_messages"]
        assert (
            sender_record["sent_messages"]
            == receiver_record["total_messages"] + receiver_record["lost_messages"]
        )
        assert dropped_at_the_socket(receiver_record)
        assert receiver_record["duplicate_messages"] == receiver_record["foreign_messages"] == 0


@pytest.mark.parametrize(
    ("protocol", "listener", "address"),
    [
        ("tcp", "receive", "127.0.0.1"),
        ("tcp", "send", "::1"),
        ("udp", "receive", "::1"),
        ("udp", "send", "127.0.0.1"),
    ],
)
def test_either_end_of_a_stream_can_listen_over_each_protocol(
    agents: Agents, protocol: str, listener: str, address: str
) -> None:
    outcome = trial(
        agents, listener=listener, address=address, proto=protocol, message=1000, seconds=0.15
    )
    check_accounts(outcome, protocol)
    assert outcome.received["opened"] == ("listen" if listener == "receive" else "connect")
    assert outcome.sent["opened"] == ("connect" if listener == "receive" else "listen")
    assert outcome.received["peer_port"] == outcome.sent["local_port"]
    assert outcome.received["local_address"] == address


@pytest.mark.parametrize(("protocol", "listener"), [("tcp", "receive"), ("udp", "send")])
def test_parallel_streams_share_one_window(agents: Agents, protocol: str, listener: str) -> None:
    outcome = trial(
        agents, listener=listener, proto=protocol, message=1200, seconds=0.15, streams=3
    )
    check_accounts(outcome, protocol)
    assert outcome.received["streams"] == outcome.sent["streams"] == 3


@pytest.mark.parametrize("message", [1, 15, 16, 23, 24, 1472, 65507])
def test_every_datagram_of_a_fixed_number_is_counted_as_received_or_lost(
    agents: Agents, message: int
) -> None:
    outcome = trial(agents, proto="udp", message=message, count=200, message_rate=4000)
    assert outcome.sent["sent_messages"] == 200
    assert outcome.received["total_messages"] + outcome.received["lost_messages"] == 200
    assert dropped_at_the_socket(outcome.received)
    assert outcome.received["sequence"] == ("full" if message >= 16 else "none")
    assert ("jitter_ns" in outcome.received) == (message >= 24)
    assert ("duplicate_messages" in outcome.received) == (message >= 16)
    assert outcome.received["total_bytes"] == outcome.received["total_messages"] * message


@pytest.mark.parametrize("message", [1, 1448, 1048576])
def test_every_byte_of_a_fixed_number_of_tcp_messages_arrives(agents: Agents, message: int) -> None:
    outcome = trial(agents, proto="tcp", message=message, count=40, streams=2)
    assert outcome.received["total_bytes"] == 40 * message == outcome.sent["total_bytes"]
    assert outcome.sent["sent_messages"] == 40


def test_the_window_of_a_stream_begins_after_the_warm_up(agents: Agents) -> None:
    outcome = trial(agents, seconds=0.5, warm_up=2.5)
    assert outcome.sent["window_open_ns"] - outcome.sent["first_send_ns"] >= 2.5e9
    assert 0 < outcome.received["elapsed_ns"] < 2.5e9


def test_the_window_of_a_receiver_includes_silence_at_its_end(agents: Agents) -> None:
    outcome = trial(
        agents,
        proto="udp",
        message_rate=1000,
        receive={"seconds": 0.8},
        send={"seconds": 0.2},
        message=100,
    )
    assert outcome.received["closed_by_silence"] == 1
    assert outcome.received["elapsed_ns"] > 0.6e9
    assert outcome.received["received_messages"] < 600


def test_a_receiver_of_too_few_messages_reports_an_error(agents: Agents) -> None:
    outcome = open_trial(agents, proto="udp", message_rate=40, seconds=0.3, message=100).finish()
    assert outcome.received["type"] == "error"
    assert outcome.received["error"] == "too-few-messages"


PACED_PER_S = 2000
AT_MOST_AT_ONCE = 2
"""Messages that come due within a millisecond: so many are sent late, what is later is skipped."""


@pytest.mark.alone
@pytest.mark.night
@pytest.mark.parametrize(("key", "value"), [("message_rate", PACED_PER_S), ("rate", 16_000_000)])
def test_a_paced_sender_keeps_its_rate(agents: Agents, key: str, value: int) -> None:
    """To 1 %, for as long as it had a CPU: what it waited for one its system tells, not its own
    schedule. What it could not send in time it skips, and the schedule goes on by the clock."""
    off_schedule = []
    for _ in range(3):
        outcome = trial(agents, proto="udp", message=1000, seconds=1, **{key: value})
        sender_record = outcome.sent
        rate_share = (
            1e9 * sender_record["sent_messages_window"] / sender_record["elapsed_ns"] / PACED_PER_S
        )
        waited = sender_record["run_queue_delay_ns"] / sender_record["elapsed_ns"]
        stolen = sender_record["host_steal_share"] * (os.cpu_count() or 1)
        assert 0.99 * (1 - waited - stolen) <= rate_share <= 1.01
        arrived = outcome.received["throughput_bit_per_s"]
        assert arrived == pytest.approx(8000 * PACED_PER_S * rate_share, rel=0.2)
        assert sum(sender_record["late_histogram_ns"]) == sender_record["sent_messages"]
        assert 1 <= sender_record["largest_burst"] <= AT_MOST_AT_ONCE
        scheduled = (
            sender_record["sent_messages"]
            + sender_record["skipped_messages"]
            + sender_record["local_drops"]
        )
        spanned_s = (sender_record["last_send_ns"] - sender_record["first_send_ns"]) / 1e9
        off_schedule.append(abs(scheduled / (PACED_PER_S * spanned_s) - 1))
    # A sender that is held up at either end is off by that time.
    assert min(off_schedule) < 0.005


def test_a_sender_without_a_rate_reports_nothing_of_pacing(agents: Agents) -> None:
    sender_record = trial(agents, proto="udp", seconds=0.1).sent
    assert not {"skipped_messages", "largest_burst", "late_histogram_ns"} & sender_record.keys()


def test_streams_in_both_directions_share_one_window(agents: Agents) -> None:
    start = agents[0].ask("clock")["monotonic_ns"] + 2_000_000_000
    window = {
        "start_ns": start,
        "window_open_ns": start + 1_500_000_000,
        "window_close_ns": start + 1_800_000_000,
    }
    forth = open_trial(agents, message=1000, message_rate=5000, proto="udp", **window)
    back = open_trial(
        (agents[1], agents[0]),
        message=1000,
        message_rate=5000,
        proto="udp",
        listener="send",
        **window,
    )
    for running_trial in (forth, back):
        outcome = running_trial.finish()
        assert outcome.received["type"] == outcome.sent["type"] == "result", outcome
        assert outcome.sent["first_send_ns"] >= start
        assert outcome.sent["first_send_ns"] <= window["window_open_ns"]
        assert outcome.sent["last_send_ns"] >= window["window_close_ns"]
        for side in (outcome.sent, outcome.received):
            # A thread may come late to either edge, and never before it.
            assert 0 <= side["window_open_ns"] - window["window_open_ns"] < 10_000_000_000
            assert 0 <= side["window_close_ns"] - window["window_close_ns"] < 10_000_000_000


def test_two_streams_run_in_one_agent_at_the_same_time(agents: Agents) -> None:
    running_trials = [
        open_trial(agents, proto="udp", message=500, message_rate=rate, seconds=0.4)
        for rate in (1000, 3000)
    ]
    slow, fast = (running_trial.finish() for running_trial in running_trials)
    assert fast.received["throughput_bit_per_s"] > 1.2 * slow.received["throughput_bit_per_s"]


def test_a_receiver_reports_its_progress_each_second(agents: Agents) -> None:
    outcome = trial(agents, proto="udp", message_rate=1000, message=100, seconds=4.5)
    assert 2 <= len(outcome.progress) <= 4  # a machine that stands still skips one
    for record in outcome.progress:
        rate = 1e9 * record["messages"] / record["elapsed_ns"]
        assert 10 < rate < 10_000  # a machine that is busy elsewhere skips messages
        assert record["bytes"] == 100 * record["messages"]


def test_a_receiver_reports_bytes_in_intervals_of_the_requested_length(agents: Agents) -> None:
    receiver_record = trial(agents, message=1000, seconds=0.5, interval=0.05).received
    assert receiver_record["interval_ns"] == 50_000_000
    elapsed = receiver_record["elapsed_ns"] / receiver_record["interval_ns"]
    assert abs(len(receiver_record["interval_bytes"]) - elapsed) <= 4


@pytest.mark.parametrize(("protocol", "listener"), [("tcp", "send"), ("udp", "receive")])
def test_a_check_opens_a_stream_and_sends_no_data(
    agents: Agents, protocol: str, listener: str
) -> None:
    outcome = trial(agents, kind="check", proto=protocol, listener=listener)
    assert "total_bytes" not in outcome.received
    assert outcome.sent["local_port"] == outcome.received["peer_port"]


def test_a_spinning_receiver_counts_each_datagram_as_received_or_lost(agents: Agents) -> None:
    outcome = trial(
        agents, proto="udp", message=800, message_rate=2000, seconds=1, receive={"spin": 1}
    )
    assert outcome.received["spin"] == 1
    check_accounts(outcome, "udp")


@pytest.mark.alone
@pytest.mark.night
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_trial_takes_little_longer_than_its_window(agents: Agents, protocol: str) -> None:
    costs = []
    for _ in range(5):
        began = time.monotonic()
        outcome = trial(agents, proto=protocol, message=1000, message_rate=5000, seconds=0.3)
        costs.append(time.monotonic() - began - outcome.received["elapsed_ns"] / 1e9)
    assert min(costs) < 0.05  # not a timer, a poll or a sleep anywhere on the way
