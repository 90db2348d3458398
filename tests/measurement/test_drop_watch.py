"""The drops of both hosts of a stream are computed from complete and incomplete readings."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from netlab.errors import HostGone
from netlab.kinds import Stream
from netlab.measurement.ends import Ends
from netlab.measurement.host_watch import DropWatch
from netlab.trial.host_counters import drops_in

pytestmark = pytest.mark.agents

SETUP = Stream(protocol="UDP", message_bytes=64)
CABLE = {
    "route_interface": "test",
    "interface_qdisc": "noqueue",
    "interface_dropped_packets": 5,
    "interface_errors": 1,
    "softnet_dropped_packets": 7,
}


class Agent:
    """An agent with readings in order; an error among them is raised."""

    def __init__(self, *readings: dict[str, Any] | Exception, machine: str = "m") -> None:
        self.hello = {"capabilities": "stream,facts", "machine_id": machine}
        self.host = SimpleNamespace(address=lambda _network, _version: "10.0.0.1")
        self._readings = list(readings)

    def start(self, verb: str, **keys: Any) -> Any:
        assert verb == "facts"
        reading = self._readings.pop(0)
        if isinstance(reading, dict) and "interface" in keys:
            reading = reading | {"route_interface": keys["interface"]}

        def record(_timeout_s: float) -> dict[str, Any]:
            if isinstance(reading, Exception):
                raise reading
            return reading

        return SimpleNamespace(record=record)


def watched(client: Agent, server: Agent, setup: Stream = SETUP) -> dict[str, Any]:
    ends = Ends(server=cast(Any, server), client=cast(Any, client), same_host=False)
    watch = DropWatch(ends, setup)
    watch.ask()
    watch.ask_again()
    return watch.end()


def test_drops_during_a_stream_are_reported_by_host_and_place() -> None:
    later = CABLE | {"interface_dropped_packets": 9, "softnet_dropped_packets": 8}
    counts = watched(Agent(CABLE, later), Agent(CABLE, CABLE, machine="n"))
    assert counts == {
        "client_interface_dropped_frames": 4,
        "client_queue_dropped_frames": 0,
        "client_softnet_dropped_frames": 1,
        "server_interface_dropped_frames": 0,
        "server_queue_dropped_frames": 0,
        "server_softnet_dropped_frames": 0,
    }


def test_the_drop_count_of_a_backlog_shared_by_two_hosts_is_stored_only_if_zero() -> None:
    later = CABLE | {"softnet_dropped_packets": 8}
    counts = watched(Agent(CABLE, later), Agent(CABLE, CABLE))
    assert "client_softnet_dropped_frames" not in counts
    assert counts["server_softnet_dropped_frames"] == 0


@pytest.mark.parametrize(
    ("facts", "places"),
    [
        (CABLE, {"interface": 6, "queue": 0, "softnet": 7}),
        (CABLE | {"interface_qdisc": "tbf"}, {"interface": 6, "softnet": 7}),
        (CABLE | {"interface_driver": "802.1Q VLAN Support"}, {"softnet": 7}),
        (CABLE | {"interface_driver": "wireguard"}, {"softnet": 7}),
        (CABLE | {"interface_driver": "tun"}, {"softnet": 7}),
        ({"route_interface": "Ethernet", "interface_dropped_packets": 2}, {"interface": 2}),
        ({}, {}),
    ],
)
def test_drop_counters_that_may_hide_drops_are_ignored(
    facts: dict[str, Any], places: dict[str, int]
) -> None:
    assert drops_in(facts).dropped == places


def test_pause_frames_are_reported_if_both_readings_have_the_counters() -> None:
    facts = CABLE | {"interface_pause_frames_sent": 3, "interface_pause_frames_received": 5}
    later = facts | {"interface_pause_frames_received": 9}
    counts = watched(Agent(facts, later), Agent(CABLE, facts, machine="n"))
    assert {name: n for name, n in counts.items() if "pause" in name} == {
        "client_pause_frames_sent": 0,
        "client_pause_frames_received": 4,
    }


def test_drops_of_a_changed_interface_and_of_a_lost_host_are_left_out() -> None:
    facts = CABLE | {"interface_pause_frames_sent": 3}
    other_facts = facts | {"route_interface": "other"}
    counts = watched(Agent(facts, other_facts), Agent(CABLE, HostGone("gone"), machine="n"))
    assert counts == {"client_softnet_dropped_frames": 0}


def test_drops_are_read_at_the_bound_interface_and_not_at_the_route() -> None:
    bound = Stream(protocol="UDP", message_bytes=64, interface="else0")
    later = CABLE | {"interface_dropped_packets": 9}
    counts = watched(Agent(CABLE, later), Agent(CABLE, CABLE, machine="n"), bound)
    assert counts["client_interface_dropped_frames"] == 4
    assert counts["server_interface_dropped_frames"] == 0
