"""Streams between two agents over loopback: every way to open them, and what both sides say."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest
from netprobe_agents import Agent, Trial, agents, netprobe, open_trial, trial

pytestmark = pytest.mark.alone

__all__ = ["agents", "netprobe"]

Agents = tuple[Agent, Agent]


def throughput_of(received: dict[str, Any]) -> float:
    return float(8e9 * received["received_bytes"] / received["elapsed_ns"])


def dropped_at_the_socket(received: dict[str, Any]) -> bool:
    """Over loopback nothing else loses; three end markers a stream may be among the drops."""
    drops, lost = received["queue_drops"], received["lost_messages"]
    return bool(0 <= drops - lost <= 3 * received["streams"])


def check_accounts(done: Trial, protocol: str) -> None:
    received, sent = done.received, done.sent
    assert received["throughput_bit_per_s"] == pytest.approx(throughput_of(received))
    assert received["window_close_ns"] - received["window_open_ns"] == received["elapsed_ns"]
    assert sum(received["interval_bytes"]) == received["received_bytes"]
    assert sent["sent_messages"] > 0
    assert received.get("sent_messages", sent["sent_messages"]) == sent["sent_messages"]
    if protocol == "udp":
        assert received["sent_messages"] == sent["sent_messages"]
        assert sent["sent_messages"] == received["total_messages"] + received["lost_messages"]
        assert dropped_at_the_socket(received)
        assert received["duplicate_messages"] == received["foreign_messages"] == 0


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("listener", ["receive", "send"])
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_role_and_who_listens_are_independent(
    agents: Agents, protocol: str, listener: str, address: str
) -> None:
    done = trial(
        agents, listener=listener, address=address, proto=protocol, message=1000, seconds=0.15
    )
    check_accounts(done, protocol)
    assert done.received["opened"] == ("listen" if listener == "receive" else "connect")
    assert done.sent["opened"] == ("connect" if listener == "receive" else "listen")
    assert done.received["peer_port"] == done.sent["local_port"]
    assert done.received["local_address"] == address


@pytest.mark.parametrize("listener", ["receive", "send"])
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_several_streams_share_one_window(agents: Agents, protocol: str, listener: str) -> None:
    done = trial(agents, listener=listener, proto=protocol, message=1200, seconds=0.15, streams=3)
    check_accounts(done, protocol)
    assert done.received["streams"] == done.sent["streams"] == 3


@pytest.mark.parametrize("message", [1, 15, 16, 23, 24, 48, 64, 1472, 9000, 65507])
def test_every_udp_datagram_of_a_paced_count_is_accounted_for(agents: Agents, message: int) -> None:
    done = trial(agents, proto="udp", message=message, count=200, message_rate=4000)
    assert done.sent["sent_messages"] == 200
    assert done.received["total_messages"] + done.received["lost_messages"] == 200
    assert dropped_at_the_socket(done.received)
    assert done.received["sequence"] == ("full" if message >= 16 else "none")
    assert ("jitter_ns" in done.received) == (message >= 24)
    assert ("duplicate_messages" in done.received) == (message >= 16)
    assert done.received["total_bytes"] == done.received["total_messages"] * message


@pytest.mark.parametrize("message", [1, 1448, 65536, 1048576])
def test_every_tcp_byte_of_a_count_arrives_and_the_connection_ends_in_order(
    agents: Agents, message: int
) -> None:
    done = trial(agents, proto="tcp", message=message, count=40, streams=2)
    assert done.received["total_bytes"] == 40 * message == done.sent["total_bytes"]
    assert done.sent["sent_messages"] == 40


def test_the_window_begins_after_the_warm_up(agents: Agents) -> None:
    began = time.monotonic()
    done = trial(agents, seconds=0.1, warm_up=0.2)
    assert time.monotonic() - began > 0.3
    assert done.sent["window_open_ns"] - done.sent["first_send_ns"] >= 0.2e9
    assert done.received["elapsed_ns"] == pytest.approx(0.1e9, rel=0.5)


def test_silence_is_time_and_is_not_cut_off(agents: Agents) -> None:
    done = trial(
        agents,
        proto="udp",
        message_rate=1000,
        receive={"seconds": 0.8},
        send={"seconds": 0.2},
        message=100,
    )
    assert done.received["closed_by_silence"] == 1
    assert done.received["elapsed_ns"] == pytest.approx(0.8e9, rel=0.05)
    assert done.received["received_messages"] < 400


def test_too_few_messages_are_no_figure(agents: Agents) -> None:
    done = open_trial(agents, proto="udp", message_rate=40, seconds=0.3, message=100).finish()
    assert done.received["type"] == "error"
    assert done.received["error"] == "too-few-messages"


PACED_PER_S = 2000
AT_MOST_AT_ONCE = 2
"""Messages that come due within a millisecond: so many are sent late, what is later is skipped."""


@pytest.mark.parametrize(("key", "value"), [("message_rate", PACED_PER_S), ("rate", 16_000_000)])
def test_a_paced_sender_keeps_its_rate(agents: Agents, key: str, value: int) -> None:
    """To 1 %, for as long as it had a CPU: what it waited for one its system tells, not its own
    schedule. What it could not send in time it skips, and the schedule goes on by the clock."""
    off_schedule = []
    for _ in range(3):
        done = trial(agents, proto="udp", message=1000, seconds=1, **{key: value})
        sent = done.sent
        kept = 1e9 * sent["sent_messages_window"] / sent["elapsed_ns"] / PACED_PER_S
        waited = sent["run_queue_delay_ns"] / sent["elapsed_ns"]
        stolen = sent["host_steal_share"] * (os.cpu_count() or 1)
        assert 0.99 * (1 - waited - stolen) <= kept <= 1.01
        arrived = done.received["throughput_bit_per_s"]
        assert arrived == pytest.approx(8000 * PACED_PER_S * kept, rel=0.2)
        assert sum(sent["late_histogram_ns"]) == sent["sent_messages"]
        assert 1 <= sent["largest_burst"] <= AT_MOST_AT_ONCE
        scheduled = sent["sent_messages"] + sent["skipped_messages"] + sent["local_drops"]
        spanned_s = (sent["last_send_ns"] - sent["first_send_ns"]) / 1e9
        off_schedule.append(abs(scheduled / (PACED_PER_S * spanned_s) - 1))
    # A sender that is held up at either end is off by that time.
    assert min(off_schedule) < 0.005


def test_an_unpaced_sender_says_nothing_of_pacing(agents: Agents) -> None:
    sent = trial(agents, proto="udp", seconds=0.1).sent
    assert not {"skipped_messages", "largest_burst", "late_histogram_ns"} & sent.keys()


def test_both_directions_share_one_common_window(agents: Agents) -> None:
    start = agents[0].ask("clock")["monotonic_ns"] + 150_000_000
    window = {
        "start_ns": start,
        "window_open_ns": start + 50_000_000,
        "window_close_ns": start + 250_000_000,
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
    for opened in (forth, back):
        done = opened.finish()
        assert done.received["type"] == done.sent["type"] == "result", done
        assert done.sent["first_send_ns"] >= start
        assert done.sent["first_send_ns"] <= window["window_open_ns"]
        assert done.sent["last_send_ns"] >= window["window_close_ns"]
        for side in (done.sent, done.received):
            assert 0 <= side["window_open_ns"] - window["window_open_ns"] < 50_000_000
            assert 0 <= side["window_close_ns"] - window["window_close_ns"] < 50_000_000


def test_two_tests_run_at_once_in_one_agent(agents: Agents) -> None:
    opened = [
        open_trial(agents, proto="udp", message=500, message_rate=rate, seconds=0.4)
        for rate in (1000, 3000)
    ]
    slow, fast = (one.finish() for one in opened)
    ratio = fast.received["throughput_bit_per_s"] / slow.received["throughput_bit_per_s"]
    assert ratio == pytest.approx(3, rel=0.4)


def test_progress_comes_once_a_second(agents: Agents) -> None:
    done = trial(agents, proto="udp", message_rate=1000, message=100, seconds=2.3)
    assert len(done.progress) == 2
    for record in done.progress:
        rate = 1e9 * record["messages"] / record["elapsed_ns"]
        assert 300 < rate < 1100  # a machine that is busy elsewhere skips messages
        assert record["bytes"] == 100 * record["messages"]


def test_the_series_has_the_intervals_that_were_asked_for(agents: Agents) -> None:
    received = trial(agents, message=1000, seconds=0.5, interval=0.05).received
    assert received["interval_ns"] == 50_000_000
    assert 9 <= len(received["interval_bytes"]) <= 11


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
@pytest.mark.parametrize("listener", ["receive", "send"])
def test_a_check_opens_the_streams_and_nothing_else(
    agents: Agents, protocol: str, listener: str
) -> None:
    done = trial(agents, kind="check", proto=protocol, listener=listener)
    assert "total_bytes" not in done.received
    assert done.sent["local_port"] == done.received["peer_port"]


def test_a_spinning_receiver_measures_as_well(agents: Agents) -> None:
    done = trial(agents, proto="udp", message=800, message_rate=2000, seconds=0.2,
                 receive={"spin": 1})  # fmt: skip
    assert done.received["spin"] == 1
    rate = done.sent["sent_bit_per_s"]
    assert done.received["throughput_bit_per_s"] == pytest.approx(rate, rel=0.2)
    check_accounts(done, "udp")


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_trial_costs_little_more_than_its_window(agents: Agents, protocol: str) -> None:
    costs = []
    for _ in range(5):
        began = time.monotonic()
        done = trial(agents, proto=protocol, message=1000, message_rate=5000, seconds=0.3)
        costs.append(time.monotonic() - began - done.received["elapsed_ns"] / 1e9)
    assert min(costs) < 0.05  # not a timer, a poll or a sleep anywhere on the way
