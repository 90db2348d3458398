"""A pool of two hosts in network namespaces, with a test cable between them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest
from wires import TEST_CLIENT, TEST_SERVER, Wires, wired

from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Host, Inventory
from netlab.kinds import Stream
from netlab.remote.agent import Agent
from netlab.remote.programs import LockOwner
from netlab.runner.host_agents import HostAgents
from netlab.runner.host_pool import HostPool

CELL = Cell(
    pairing="LL",
    test="stream",
    setup=Stream(protocol="TCP", message_bytes=1448, duration_s=0.1),
)


@pytest.fixture
def wires(monkeypatch: pytest.MonkeyPatch) -> Iterator[Wires]:
    with wired(monkeypatch) as new_wires:
        yield new_wires


@pytest.fixture
def pool(wires: Wires, monkeypatch: pytest.MonkeyPatch) -> Iterator[HostPool]:
    """Both hosts of the wires, entered."""
    namespaces = {"left": wires.server, "right": wires.client}
    addresses = {"left": TEST_SERVER, "right": TEST_CLIENT}

    def opened(host: Host, _say: object, **_connections: object) -> Agent:
        return wires.agent(host.name, namespaces[host.name], addresses[host.name])

    monkeypatch.setattr(Agent, "open", opened)
    hosts = tuple(
        Host(name=name, os="L", local=True, addresses={"test": (address,)})
        for name, address in addresses.items()
    )
    inventory = Inventory("hosts.yaml", hosts, {"LL": ("left", "right")})
    owner = LockOwner("test", "here", "nowhere")
    agents = HostAgents(inventory, owner, wait_s=0.0, keep=lambda *_: "")
    with HostPool(agents, ["LL"]) as entered:
        yield entered


def lose(pool: HostPool, name: str) -> None:
    """Kill a host's agent, as a reboot of the host does."""
    ends = pool.ends(CELL)
    agent = ends.client if ends.client.host.name == name else ends.agent_of_server
    os.kill(int(agent.hello["pid"]), signal.SIGKILL)
    give_up = time.monotonic() + 10
    while not agent.gone:
        assert time.monotonic() < give_up
        time.sleep(0.01)
