"""Agents that a lost connection left are found and ended, within a time limit."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sshd
from sshd import Site, host_at, is_alive, site, until

from netlab.errors import ProbeError
from netlab.remote.agent import Agent
from netlab.runner import host_agents
from netlab.runner.host_agents import Orphans

__all__ = ["site"]

pytestmark = sshd.needs_sshd

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


def orphans_of(agent: Agent, pid: int) -> Orphans:
    """An earlier agent on the same host was lost: the process with this number."""
    lost: Any = SimpleNamespace(host=agent.host, hello={"pid": pid}, identity=agent.identity)
    registry = Orphans()
    registry.add(lost)
    return registry


@pytest.fixture
def agent(site: Site) -> Iterator[Agent]:
    opened = Agent.open(host_at(site.server()))
    yield opened
    opened.close()


def test_an_orphaned_agent_that_has_ended_is_forgotten(agent: Agent) -> None:
    registry = orphans_of(agent, NO_PROCESS)
    registry.end(agent)
    assert registry._pids == {agent.identity: set()}


def test_an_orphaned_agent_that_still_runs_is_killed(
    agent: Agent, left: subprocess.Popen[bytes]
) -> None:
    orphans_of(agent, left.pid).end(agent)
    assert left.wait(60) == -9


def test_another_program_with_the_process_number_of_an_orphaned_agent_is_left_alone(
    agent: Agent,
) -> None:
    parent = os.getppid()
    orphans_of(agent, parent).end(agent)
    assert is_alive(parent)


def test_an_orphaned_agent_that_could_not_be_ended_is_ended_the_next_time(
    agent: Agent, left: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_words: object) -> None:
        raise ProbeError("far", "too-many-tests")

    registry = orphans_of(agent, left.pid)
    with monkeypatch.context() as context:
        context.setattr(host_agents, "run_to_end", full)
        registry.end(agent)
    registry.end(agent)
    assert until(lambda: left.poll() is not None)
