"""Agents that a lost connection left are found and ended, within a time limit."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import sshd
from sshd import Site, host_at, is_alive, site, until

from netlab.errors import HostError
from netlab.remote.agent import Agent, connect
from netlab.remote.transport import Transport
from netlab.runner import host_agents
from netlab.runner.host_agents import Orphans

__all__ = ["site"]

pytestmark = sshd.needs_sshd

# What a `.bashrc` may do: it holds the output of each command open.
BACKGROUND = "sleep 600 &"
NO_PROCESS = (1 << 22) + 1
"""Beyond the highest number of a process."""


@pytest.fixture
def left(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process whose file is named as an agent's."""
    file = tmp_path / "netprobe-0123456789abcdef"
    shutil.copy(shutil.which("sleep") or "", file)
    with subprocess.Popen([file, "600"]) as child:
        yield child
        child.kill()


def agent_on(transport: Transport, pid: int) -> Agent:
    stand_in: Any = SimpleNamespace(
        host=SimpleNamespace(local=False, os="L"),
        hello={"pid": pid},
        identity=("machine", "network"),
        start_beside=transport.start,
    )
    return cast(Agent, stand_in)


@pytest.fixture
def transport(site: Site) -> Iterator[Transport]:
    server = site.server()
    server.says(at_first=BACKGROUND)
    connection = connect(host_at(server))
    yield connection
    connection.close()


def ended_in_s(registry: Orphans, agent: Agent) -> float:
    start_s = time.monotonic()
    registry.end(agent)
    return time.monotonic() - start_s


def test_netlab_does_not_wait_for_an_ended_orphaned_agent_although_its_output_is_open(
    transport: Transport,
) -> None:
    agent = agent_on(transport, NO_PROCESS)
    registry = Orphans()
    registry.add(agent)
    assert ended_in_s(registry, agent) < 300


def test_an_orphaned_agent_that_still_runs_is_killed(
    transport: Transport, left: subprocess.Popen[bytes]
) -> None:
    agent = agent_on(transport, left.pid)
    registry = Orphans()
    registry.add(agent)
    assert ended_in_s(registry, agent) < 300
    assert left.wait(60) == -9


def test_another_program_with_the_process_number_of_an_orphaned_agent_is_left_alone(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_agents, "LOOK_S", 0.5)
    parent = os.getppid()
    agent = agent_on(transport, parent)
    registry = Orphans()
    registry.add(agent)
    assert ended_in_s(registry, agent) < 300
    assert is_alive(parent)


def test_an_orphaned_agent_that_could_not_be_ended_is_ended_the_next_time(
    transport: Transport, left: subprocess.Popen[bytes]
) -> None:
    def full(_words: object) -> None:
        raise HostError("far: it opens no further channel")

    agent = agent_on(transport, left.pid)
    registry = Orphans()
    registry.add(agent)
    registry.end(cast(Agent, SimpleNamespace(identity=agent.identity, start_beside=full)))
    registry.end(agent)
    assert until(lambda: left.poll() is not None)
