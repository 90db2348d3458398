"""What a probe tells over time: TCP's own numbers; and how often a receiver found nothing."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from netprobe_agents import Agent, Reply, agents, netprobe, open_trial, trial

__all__ = ["agents", "netprobe"]

pytestmark = pytest.mark.alone

Agents = tuple[Agent, Agent]

COUNTED = ("tcp_series_retransmissions", "tcp_series_delivered_bytes")


def series(record: Reply) -> dict[str, list[int]]:
    return {name: value for name, value in record.items() if name.startswith("tcp_series_")}


@pytest.mark.needs("linux")
@pytest.mark.parametrize("bound", [{"seconds": 0.4}, {"count": 3000}])
@pytest.mark.parametrize("streams", [1, 3])
def test_a_tcp_sender_tells_tcps_numbers_every_10_ms_of_its_window(
    agents: Agents, bound: dict[str, Any], streams: int
) -> None:
    done = trial(agents, proto="tcp", message=65536, streams=streams, **bound)
    found, elapsed_us = series(done.sent), done.sent["elapsed_ns"] // 1000
    assert set(found) == {
        *(f"tcp_series_{name}" for name in ("time_us", "cwnd_bytes", "rtt_us")),
        *("tcp_series_pacing_bit_per_s", *COUNTED),
    }
    assert series(done.received) == {}
    times = found["tcp_series_time_us"]
    assert {len(each) for each in found.values()} == {len(times)}
    assert 0 <= times[0] <= elapsed_us // 2
    assert times[-1] <= elapsed_us
    # One may come late where this machine has other things to do, and shifts none that follow.
    assert len(times) >= elapsed_us // 10_000 // 4
    assert all(here < later for here, later in pairwise(times))
    for name in COUNTED:
        assert found[name][0] == 0
        assert found[name] == sorted(found[name])
    assert all(each > 0 for each in found["tcp_series_cwnd_bytes"])
    if streams == 1 and "seconds" in bound:
        assert 0 < found["tcp_series_delivered_bytes"][-1] <= done.sent["total_bytes"]


@pytest.mark.needs("linux")
def test_a_long_window_has_its_points_all_over_and_no_more_of_them(agents: Agents) -> None:
    # The sender's word alone: on a busy machine the receiver's window may end after its tail.
    done = open_trial(agents, proto="tcp", message=1448, message_rate=200, seconds=5.6).finish()
    times = series(done.sent)["tcp_series_time_us"]
    assert 150 <= len(times) <= 300
    assert times[-1] > 5_000_000


def test_over_udp_there_is_no_series(agents: Agents) -> None:
    done = trial(agents, proto="udp", message=1000, seconds=0.1)
    assert series(done.sent) == series(done.received) == {}


SPARSE = {"message": 400, "message_rate": 500}
LOOKS: dict[str, dict[str, Any]] = {"blocking": {}, "spinning": {"spin": 1}, "polling": {"poll": 1}}


@pytest.mark.parametrize("proto", ["tcp", "udp"])
@pytest.mark.parametrize("way", LOOKS)
def test_a_receiver_of_a_slow_stream_finds_nothing_most_times(
    agents: Agents, way: str, proto: str
) -> None:
    done = trial(agents, proto=proto, seconds=1, receive=LOOKS[way], **SPARSE)
    calls, empty = done.received["receive_calls"], done.received["empty_receives"]
    assert 0 < empty <= calls
    assert empty / calls > 0.6
    if way == "blocking":
        assert calls < done.received["marks"] / 16  # one in 64
    else:
        # The thread that reads the counters may do so later than the window opens or closes.
        assert calls - empty <= 1.5 * done.received["marks"]


def test_who_sends_tells_of_no_receives(agents: Agents) -> None:
    done = trial(agents, proto="tcp", message=1000, seconds=0.1)
    assert "receive_calls" not in done.sent
    assert {"receive_calls", "empty_receives"} <= set(done.received)


@pytest.mark.parametrize("asked", [{}, {"receive_call": "message"}], ids=["all", "message"])
def test_a_receive_call_takes_a_message_at_most_where_it_is_asked_to(
    agents: Agents, asked: dict[str, str]
) -> None:
    done = trial(agents, proto="tcp", message=200, seconds=0.2, receive=asked)
    largest, room = done.received["largest_receive_bytes"], done.received["receive_call_bytes"]
    assert (largest <= 200, room) == ((True, 200) if asked else (False, 262144))
