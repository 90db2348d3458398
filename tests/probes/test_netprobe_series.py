"""What a probe tells over time: TCP's own numbers; and how often a receiver found nothing."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from netprobe_agents import Agent, Reply, agents, netprobe, open_trial, trial

__all__ = ["agents", "netprobe"]

pytestmark = pytest.mark.lab

Agents = tuple[Agent, Agent]

COUNTED = ("tcp_series_retransmissions", "tcp_series_delivered_bytes")


def series(record: Reply) -> dict[str, list[int]]:
    return {name: value for name, value in record.items() if name.startswith("tcp_series_")}


@pytest.mark.needs("linux")
@pytest.mark.parametrize(
    ("bound", "streams"),
    [({"seconds": 0.4}, 1), ({"seconds": 0.4}, 3), ({"count": 30_000}, 1)],
    ids=str,
)
def test_a_tcp_sender_records_the_counters_of_tcp_over_its_window(
    agents: Agents, bound: dict[str, Any], streams: int
) -> None:
    outcome = trial(agents, proto="tcp", message=65536, streams=streams, **bound)
    columns, elapsed_us = series(outcome.sent), outcome.sent["elapsed_ns"] // 1000
    assert set(columns) == {
        *(f"tcp_series_{name}" for name in ("time_us", "cwnd_bytes", "rtt_us")),
        *("tcp_series_pacing_bit_per_s", *COUNTED),
    }
    assert series(outcome.received) == {}
    times = columns["tcp_series_time_us"]
    assert {len(column) for column in columns.values()} == {len(times)}
    assert 0 <= times[0] <= times[-1] <= elapsed_us
    # Each 10 ms; some are missing where this machine has other things to do.
    assert len(times) >= elapsed_us // 10_000 // 40
    assert all(time_us < next_us for time_us, next_us in pairwise(times))
    for name in COUNTED:
        assert columns[name][0] == 0
        assert columns[name] == sorted(columns[name])
    assert all(window > 0 for window in columns["tcp_series_cwnd_bytes"])
    if streams == 1 and "seconds" in bound:
        assert 0 < columns["tcp_series_delivered_bytes"][-1] <= outcome.sent["total_bytes"]


@pytest.mark.night
@pytest.mark.needs("linux")
def test_a_long_window_has_at_most_300_points_of_tcp_counters(agents: Agents) -> None:
    # The sender's word alone: on a busy machine the receiver's window may end after its tail.
    outcome = open_trial(agents, proto="tcp", message=1448, message_rate=200, seconds=5.6).finish()
    times = series(outcome.sent)["tcp_series_time_us"]
    assert 150 <= len(times) <= 300
    assert times[-1] > 5_000_000


def test_a_udp_trial_has_no_series_of_tcp_counters(agents: Agents) -> None:
    outcome = trial(agents, proto="udp", message=1000, seconds=0.1)
    assert series(outcome.sent) == series(outcome.received) == {}


SPARSE = {"message": 400, "message_rate": 500}
LOOKS: dict[str, dict[str, Any]] = {"blocking": {}, "spinning": {"spin": 1}, "polling": {"poll": 1}}


@pytest.mark.alone
@pytest.mark.night
@pytest.mark.parametrize("proto", ["tcp", "udp"])
@pytest.mark.parametrize("way", LOOKS)
def test_most_receive_calls_of_a_slow_stream_are_empty(
    agents: Agents, way: str, proto: str
) -> None:
    outcome = trial(agents, proto=proto, seconds=1, receive=LOOKS[way], **SPARSE)
    calls, empty = outcome.received["receive_calls"], outcome.received["empty_receives"]
    assert 0 < empty <= calls
    assert empty / calls > 0.6
    if way == "blocking":
        assert calls < outcome.received["marks"] / 16  # one in 64
    else:
        # The thread that reads the counters may do so later than the window opens or closes.
        assert calls - empty <= 1.5 * outcome.received["marks"]


def test_only_the_receiver_counts_receive_calls(agents: Agents) -> None:
    outcome = trial(agents, proto="tcp", message=1000, seconds=0.5)
    assert "receive_calls" not in outcome.sent
    assert {"receive_calls", "empty_receives"} <= set(outcome.received)


@pytest.mark.parametrize("receive_keys", [{}, {"receive_call": "message"}], ids=["all", "message"])
def test_a_receive_call_takes_at_most_one_message_on_request(
    agents: Agents, receive_keys: dict[str, str]
) -> None:
    outcome = trial(agents, proto="tcp", message=200, seconds=0.2, receive=receive_keys)
    largest, room = (
        outcome.received["largest_receive_bytes"],
        outcome.received["receive_call_bytes"],
    )
    assert (largest <= 200, room) == ((True, 200) if receive_keys else (False, 262144))
