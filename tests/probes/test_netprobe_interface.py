"""What the interface of a test carried within its window, beside what its sockets did."""

from __future__ import annotations

import socket
import time
from threading import Event, Thread

import pytest
from netprobe_agents import Agent, agents, netprobe, trial

__all__ = ["agents", "netprobe"]

pytestmark = pytest.mark.lab

Agents = tuple[Agent, Agent]


def test_interface_counters_of_a_window_include_what_tcp_carried(agents: Agents) -> None:
    keys = {"proto": "tcp", "message": 1448, "warm_up": 0.3, "streams": 3}
    outcome = trial(agents, seconds=1.0, message_rate=1000, **keys)
    for end, way in ((outcome.received, "received"), (outcome.sent, "sent")):
        assert end["interface"] == "lo"
        assert abs(end["interface_window_ns"] - 1e9) < 5e8
        payload = end[f"tcp_window_{way}_bytes"]
        assert payload > 1e5
        # Each end's segments, with a header each at the most; others use the loopback as well.
        byte_count = end[f"interface_window_{way}_bytes"]
        # The two are read one after the other.
        assert byte_count >= 0.8 * payload
        assert end[f"interface_window_{way}_packets"] > 0
        assert 0 < end["interface_counter_step_ns"] < 5e8
        segments = end["tcp_window_segs_in"] + end["tcp_window_segs_out"]
        assert segments >= end["tcp_window_data_segs_in"] + end["tcp_window_data_segs_out"] > 0
    assert outcome.received["tcp_window_received_bytes"] == pytest.approx(
        outcome.sent["tcp_window_sent_bytes"], rel=0.5
    )


def test_interface_counters_of_a_window_include_traffic_of_others(agents: Agents) -> None:
    over, byte_count = Event(), [0]

    def send() -> None:
        with (
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sink,
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as source,
        ):
            sink.bind(("127.0.0.1", 0))
            while not over.is_set():
                byte_count[0] += source.sendto(bytes(8000), sink.getsockname())
                time.sleep(0.001)

    sender = Thread(target=send)
    sender.start()
    try:
        outcome = trial(agents, proto="udp", message=1000, seconds=1.0, message_rate=500)
    finally:
        over.set()
        sender.join()
    own = outcome.received["received_bytes"]
    assert outcome.received["interface_window_received_bytes"] - own > 0.2 * byte_count[0]
    assert "tcp_window_received_bytes" not in outcome.received
