"""The agent end to end, built with the sanitizers: of threads, and of addresses and undefined
behaviour. Streams, round trips and connections, both ways, and ends that come too early."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from folders import PROBES
from netprobe_agents import Agent, open_trial
from round_trip_peers import TOKEN, round_trips
from two_networks import HERE, THERE, Networks, networks

__all__ = ["networks"]

pytestmark = [pytest.mark.night, pytest.mark.needs("root", "unshare", "cc")]

BUILDS = {"race": "netprobe-race", "sanitize": "netprobe-sanitize"}
PATIENCE_S = 60.0


@pytest.fixture(params=BUILDS)
def netprobe(request: pytest.FixtureRequest) -> Path:
    """The probe, built so; what its sanitizer says is on its standard error, which is looked at."""
    subprocess.run(["make", "-s", "-C", str(PROBES), request.param], check=True)
    return PROBES / "build" / BUILDS[request.param]


Agents = tuple[Agent, Agent]


@contextmanager
def both(networks: Networks) -> Iterator[Agents]:
    """Agents of the two networks; one with a finding fails the test at its end."""
    with networks.agent(0) as first_agent, networks.agent(1) as second_agent:
        for agent in (first_agent, second_agent):
            agent.ask("lock", owner="sanitized")
            agent.ask("facts", to="10.78.1.1", cpu_times=1)
        yield first_agent, second_agent


STREAMS: list[dict[str, Any]] = [
    {"proto": "tcp", "streams": 3},
    {"proto": "tcp", "spin": 0, "message": 100, "message_rate": 3000, "listener": "send"},
    {"proto": "tcp", "count": 300, "nodelay": 1},
    {"proto": "udp", "message_rate": 3000, "streams": 2, "message": 200},
    {"proto": "udp", "message_rate": 2000, "message": 12, "listener": "send"},
    {"proto": "udp", "message_rate": 2000, "count": 400, "send": {"method": "batch"}},
    {"proto": "udp", "message_rate": 2000, "send": {"method": "packet"}, "receive": {"poll": 1}},
    {"proto": "udp", "message_rate": 2000, "send": {"method": "xdp"}, "message": 200},
    {"proto": "udp", "receive": {"spin": 1}, "dscp": 10},
]


def test_the_sanitizers_find_no_fault_in_streams(networks: Networks) -> None:
    with both(networks) as (receiver, sender):
        for keys in STREAMS:
            times: dict[str, Any] = {} if "count" in keys else {"seconds": 0.3, "warm_up": 0.05}
            at = THERE if keys.get("listener") == "send" else HERE
            outcome = open_trial((receiver, sender), address=at, **times, **keys).finish()
            assert outcome.received["type"] == "result", (keys, outcome.received)
            assert outcome.sent["type"] == "result", (keys, outcome.sent)


ROUND_TRIPS: list[dict[str, Any]] = [
    {"proto": "tcp"},
    {"proto": "tcp", "ask": {"outstanding": 8}},
    {"proto": "udp", "message": 64, "mirror": {"stamps": 1}},
    {"proto": "udp", "message": 12, "ask": {"message_rate": 500}},
    {"proto": "udp", "listener": "ask", "message": 64},
    {"proto": "tcp", "kind": "connect", "message": 64},
    {"proto": "udp", "message": 64, "ask": {"message_rate": 9000, "outstanding": 99, "trips": 1}},
    {"proto": "tcp", "message": 64, "ask": {"message_rate": 900, "outstanding": 99, "trips": 1}},
    {"kind": "connect", "message": 64, "ask": {"message_rate": 50, "trips": 1}},
]


def test_the_sanitizers_find_no_fault_in_round_trips(networks: Networks) -> None:
    with both(networks) as agents:
        for keys in ROUND_TRIPS:
            at = THERE if keys.get("listener") == "ask" else HERE
            outcome = round_trips(agents, address=at, seconds=0.3, **keys)
            assert outcome.asked["type"] == "result", (keys, outcome.asked)
            assert outcome.mirrored["type"] == "result", (keys, outcome.mirrored)


def test_the_sanitizers_find_no_fault_in_streams_that_end_early(networks: Networks) -> None:
    """A cut, an abort, the peer's death, a stop before the end, and the end of input."""
    with both(networks) as agents:
        for protocol in ("tcp", "udp"):
            keys: dict[str, Any] = {
                "address": HERE,
                "proto": protocol,
                "message_rate": 2000,
                "seconds": 1.2,
            }
            running_trial = open_trial(agents, **keys)
            time.sleep(0.2)
            networks.ip(1, "link set one down")
            time.sleep(0.3)
            networks.ip(1, "link set one up")
            outcome = running_trial.finish()
            assert outcome.sent["type"] == outcome.received["type"] == "result", outcome
            running_trial = open_trial(agents, **keys)
            time.sleep(0.2)
            agents[1].ask("stop", test=running_trial.sample)
            agents[1].next(running_trial.sample, "result", "error", patience_s=PATIENCE_S)
            agents[0].ask("stop", test=running_trial.receiving, abort=1)
            assert agents[0].next(running_trial.receiving, "error")["error"] in (
                "stopped",
                "peer-vanished",
            )
        with networks.agent(1) as dies:
            running_trial = open_trial(
                (agents[0], dies), address=HERE, seconds=20, message_rate=1000
            )
            time.sleep(0.2)
            dies.ask("quit")
            assert agents[0].next(running_trial.receiving, "error")["error"] == "peer-vanished"
        kinds: list[dict[str, Any]] = [{"proto": "udp"}, {"kind": "connect"}]
        for more in kinds:
            words = {"token": TOKEN, "message": 64} | more
            mirroring = agents[0].start("mirror", bind=HERE, **words)
            to = f"{HERE}:{agents[0].next(mirroring)['port']}"
            asking = agents[1].start("ask", to=to, seconds=20, **words)
            time.sleep(0.3)
            agents[0].ask("stop", test=mirroring)
            agents[1].ask("stop", test=asking)
            agents[1].next(asking, "result", "error")
        open_trial(agents, address=HERE, seconds=20, streams=4)
        time.sleep(0.2)
