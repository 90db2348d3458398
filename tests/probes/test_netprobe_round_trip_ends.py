"""How round trips end: told, by hand, at a deadline, when the other side dies."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from netprobe_agents import Agent, agents, at, netprobe
from round_trip_peers import TOKEN, Agents, check_times

__all__ = ["agents", "netprobe"]


def begin(agents: Agents, **keys: Any) -> tuple[str, str]:
    """The ids of a mirror and its asker, under way."""
    keys |= {"token": TOKEN}
    mirroring = agents[0].start("mirror", bind="127.0.0.1", **keys)
    asking = agents[1].start("ask", to=at("127.0.0.1", agents[0].next(mirroring)), **keys)
    time.sleep(0.3)
    return mirroring, asking


KINDS: list[dict[str, Any]] = [
    {"proto": "tcp"},
    {"proto": "udp", "message": 100},
    {"proto": "udp", "message": 12},
    {"kind": "connect", "message": 100},
]


@pytest.mark.parametrize("keys", KINDS, ids=str)
def test_an_asker_that_is_told_to_stop_says_what_it_has(
    agents: Agents, keys: dict[str, Any]
) -> None:
    mirroring, asking = begin(agents, seconds=20, **keys)
    began = time.monotonic()
    agents[1].ask("stop", test=asking)
    asker_record = agents[1].next(asking, "result", "error")
    assert time.monotonic() - began < 1
    assert asker_record["type"] == "result", asker_record
    check_times(asker_record)
    assert 0 < asker_record["elapsed_ns"] < 5_000_000_000
    agents[0].ask("stop", test=mirroring)
    mirror_record = agents[0].next(mirroring, "result", "error")
    assert mirror_record["answered_messages"] >= asker_record["transactions"]


@pytest.mark.parametrize("keys", KINDS, ids=str)
def test_an_abort_ends_either_side_at_once(agents: Agents, keys: dict[str, Any]) -> None:
    mirroring, asking = begin(agents, seconds=20, **keys)
    for agent, name in ((agents[1], asking), (agents[0], mirroring)):
        began = time.monotonic()
        agent.ask("stop", test=name, abort=1)
        assert agent.next(name, "error")["error"] == "stopped"
        assert time.monotonic() - began < 1


@pytest.mark.parametrize("keys", KINDS, ids=str)
def test_a_killed_mirror_is_a_vanished_peer(netprobe: Path, keys: dict[str, Any]) -> None:
    with Agent(netprobe) as mirror, Agent(netprobe) as asker:
        _, asking = begin((mirror, asker), seconds=20, **keys)
        began = time.monotonic()
        mirror.process.kill()
        word = asker.next(asking, "error")["error"]
        assert word in (
            {"peer-vanished", "connect-refused"} if "kind" in keys else {"peer-vanished"}
        )
        assert time.monotonic() - began < 5


@pytest.mark.parametrize("keys", KINDS, ids=str)
def test_a_mirror_that_nobody_stops_ends_with_a_result_at_its_deadline(
    netprobe: Path, keys: dict[str, Any]
) -> None:
    with Agent(netprobe) as mirror, Agent(netprobe) as asker:
        keys = keys | {"token": TOKEN}
        mirroring = mirror.start("mirror", bind="127.0.0.1", deadline=1, **keys)
        to = at("127.0.0.1", mirror.next(mirroring))
        began = time.monotonic()
        asker_record = asker.next(asker.start("ask", to=to, count=20, **keys), "result", "error")
        assert asker_record["type"] == "result", asker_record
        asker.process.kill()
        mirror_record = mirror.next(mirroring, "result", "error")
        assert mirror_record["type"] == "result", mirror_record
        assert mirror_record["answered_messages"] == 20
        assert 0.5 < time.monotonic() - began < 3


def test_an_asker_that_waits_for_ever_ends_at_its_deadline(agents: Agents) -> None:
    keys: dict[str, Any] = {"token": TOKEN, "proto": "tcp"}
    mirroring = agents[0].start("mirror", bind="127.0.0.1", message=2000, **keys)
    to = at("127.0.0.1", agents[0].next(mirroring))
    asking = agents[1].start("ask", to=to, message=1000, count=5, deadline=0.5, **keys)
    assert agents[1].next(asking, "error")["error"] == "deadline"


@pytest.mark.parametrize("keys", [KINDS[0], KINDS[1]], ids=str)
def test_by_hand_a_mirror_ends_when_its_asker_has(netprobe: Path, keys: dict[str, Any]) -> None:
    environment = os.environ | {"NETPROBE_TOKEN": TOKEN}
    words = [f"{key}={value}" for key, value in keys.items()]
    with subprocess.Popen(
        [netprobe, "mirror", "deadline=20", *words],
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    ) as mirror:
        assert mirror.stdout is not None
        port = json.loads(mirror.stdout.readline())["port"]
        began = time.monotonic()
        process = subprocess.run(
            [netprobe, "ask", f"to=127.0.0.1:{port}", "count=100", *words],
            capture_output=True, env=environment, text=True, timeout=20, check=True,
        )  # fmt: skip
        assert json.loads(process.stdout.splitlines()[-1])["transactions"] == 100
        assert json.loads(mirror.stdout.readlines()[-1])["answered_messages"] == 100
        assert time.monotonic() - began < 5
    assert mirror.returncode == 0
