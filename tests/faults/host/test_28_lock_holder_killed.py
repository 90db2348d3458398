"""The lock of a host is free at once when its holder is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from draws import drawn
from sshd import until

from netlab.build.binaries import local_probe
from netlab.experiment.hosts import Host
from netlab.remote.agent import Agent
from netlab.remote.programs import LockOwner, lock_host
from netlab.remote.transport import LocalTransport

pytestmark = pytest.mark.needs("root")


@pytest.fixture
def start() -> Iterator[Callable[[str], Agent]]:
    """Starts agents in a network namespace of the test's own: a run may hold this machine's."""
    namespace = f"netlab-28-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", namespace], check=True)
    agents: list[Agent] = []

    def start(name: str) -> Agent:
        transport = LocalTransport(Host(name=name, os="L", local=True))
        words = ["ip", "netns", "exec", namespace, str(local_probe()), "agent"]
        agents.append(Agent(Host(name=name, os="L"), transport, transport.start(words)))
        agents[-1].greet(None)
        return agents[-1]

    yield start
    for agent in agents:
        agent.close()
    subprocess.run(["ip", "netns", "delete", namespace], check=True)


def test_the_lock_of_a_host_is_free_as_soon_as_its_holder_is_killed(
    start: Callable[[str], Agent], record_property: Callable[[str, object], None]
) -> None:
    next_one = start("next")
    kills = drawn(few=5, many=20)
    for count in range(kills):
        holder = start(f"holder-{count}")
        lock_host(holder, LockOwner("ada", "1", "out"), give_up_s=time.monotonic() + 60)
        os.kill(int(holder.hello["pid"]), signal.SIGKILL)
        assert until(partial(getattr, holder, "gone"))
        lock_host(next_one, LockOwner("bob", "1", "out"), give_up_s=0.0)
        next_one.ask("unlock")
    record_property("figure", "free at once")
    record_property("n", kills)
