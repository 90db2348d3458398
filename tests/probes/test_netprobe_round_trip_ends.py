"""How round trips end: told, by hand, at a deadline, when the other side dies."""

from __future__ import annotations

import json
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from netprobe_agents import Agent, agents, at, netprobe
from round_trip_peers import TOKEN, Agents, check_times, patient

__all__ = ["agents", "netprobe"]

pytestmark = pytest.mark.lab


KINDS: list[dict[str, Any]] = [
    {"proto": "tcp"},
    {"proto": "udp", "message": 100},
    {"proto": "udp", "message": 12},
    {"kind": "connect", "message": 100},
]


@dataclass(frozen=True)
class Pair:
    """The ids of a mirror and its asker."""

    keys: dict[str, Any]
    mirroring: str
    asking: str


def begun(agents: Agents, **more: Any) -> list[Pair]:
    """Round trips of each kind, all under way at the same time."""
    pairs = []
    for kind in KINDS:
        keys: dict[str, Any] = {"token": TOKEN, "seconds": 20, **kind}
        mirroring = agents[0].start("mirror", bind="127.0.0.1", **keys, **more)
        to = at("127.0.0.1", agents[0].next(mirroring))
        pairs.append(Pair(keys, mirroring, agents[1].start("ask", to=to, **keys)))
    time.sleep(0.5)
    return pairs


def test_a_stopped_asker_reports_its_completed_round_trips(agents: Agents) -> None:
    for pair in begun(agents):
        agents[1].ask("stop", test=pair.asking)
        asker_record = agents[1].next(pair.asking, "result", "error")
        assert asker_record["type"] == "result", asker_record
        check_times(asker_record)
        assert 0 < asker_record["elapsed_ns"] < 15_000_000_000
        agents[0].ask("stop", test=pair.mirroring)
        mirror_record = agents[0].next(pair.mirroring, "result", "error")
        assert mirror_record["answered_messages"] >= asker_record["transactions"], pair.keys


def test_an_abort_ends_asker_and_mirror(agents: Agents) -> None:
    for pair in begun(agents):
        for agent, name in ((agents[1], pair.asking), (agents[0], pair.mirroring)):
            agent.ask("stop", test=name, abort=1)
            assert agent.next(name, "error")["error"] == "stopped", pair.keys


def test_an_asker_reports_a_killed_mirror_as_vanished(netprobe: Path) -> None:
    with Agent(netprobe) as mirror, Agent(netprobe) as asker:
        pairs = begun((mirror, asker))
        mirror.process.kill()
        for pair in pairs:
            words = {"peer-vanished"} | ({"connect-refused"} if "kind" in pair.keys else set())
            assert asker.next(pair.asking, "error")["error"] in words, pair.keys


def test_a_mirror_ends_with_a_result_at_its_deadline(netprobe: Path) -> None:
    with Agent(netprobe) as mirror, Agent(netprobe) as asker:
        began = time.monotonic()
        mirrors = []
        for kind in KINDS:
            keys = kind | {"token": TOKEN}
            mirroring = mirror.start("mirror", bind="127.0.0.1", deadline=4, **keys)
            to = at("127.0.0.1", mirror.next(mirroring))
            asking = asker.start("ask", to=to, count=20, **keys)
            asker_record = asker.next(asking, "result", "error")
            assert asker_record["type"] == "result", asker_record
            mirrors.append(mirroring)
        asker.process.kill()
        for mirroring in mirrors:
            mirror_record = mirror.next(mirroring, "result", "error")
            assert mirror_record["type"] == "result", mirror_record
            assert mirror_record["answered_messages"] == 20
        assert time.monotonic() - began > 3


def test_an_asker_without_an_answer_ends_at_its_deadline(agents: Agents) -> None:
    keys: dict[str, Any] = {"token": TOKEN, "proto": "tcp"}
    mirroring = agents[0].start("mirror", bind="127.0.0.1", message=2000, **keys)
    to = at("127.0.0.1", agents[0].next(mirroring))
    asking = agents[1].start("ask", to=to, message=1000, count=5, deadline=2, **keys)
    assert agents[1].next(asking, "error")["error"] == "deadline"


@pytest.mark.parametrize("keys", [KINDS[0], KINDS[1]], ids=str)
def test_a_mirror_without_a_controller_ends_after_its_asker(
    netprobe: Path, keys: dict[str, Any]
) -> None:
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
        process = subprocess.run(
            [netprobe, "ask", f"to=127.0.0.1:{port}", "count=100", *words,
             *(f"{key}={value}" for key, value in patient(keys).items())],
            capture_output=True, env=environment, text=True, timeout=60, check=True,
        )  # fmt: skip
        assert json.loads(process.stdout.splitlines()[-1])["transactions"] == 100
        assert json.loads(mirror.stdout.readlines()[-1])["answered_messages"] == 100
    assert mirror.returncode == 0
