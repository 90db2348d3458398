"""Two network namespaces with a test cable and another one between them, and agents in them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from netlab.build.binaries import local_probe
from netlab.experiment.hosts import Host
from netlab.remote import programs
from netlab.remote.agent import Agent
from netlab.remote.transport import LocalTransport, Process
from netlab.runner import preflight
from netlab.runner.survey import InspectedHost, inspect

IP = shutil.which("ip")
TEST_SERVER, TEST_CLIENT = "10.213.1.1", "10.213.1.2"
OTHER_SERVER, OTHER_CLIENT = "10.213.2.1", "10.213.2.2"


def ip(*words: str) -> None:
    assert IP is not None
    subprocess.run([IP, *words], check=True)


class Inside(LocalTransport):
    """Starts programs inside a network namespace."""

    def __init__(self, host: Host, namespace: str) -> None:
        super().__init__(host)
        self._namespace = namespace

    def start(self, argv: Any) -> Process:
        assert IP is not None
        return super().start([IP, "netns", "exec", self._namespace, *argv])


@dataclass
class Wires:
    """Two namespaces with a test cable and another one between them."""

    server: str
    client: str
    agents: list[Agent] = field(default_factory=list)

    def make(self) -> None:
        for name in (self.server, self.client):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        for device, server_address, client_address, ipv6_prefix in (
            ("test0", TEST_SERVER, TEST_CLIENT, "fd13::"),
            ("other0", OTHER_SERVER, OTHER_CLIENT, "fd14::"),
        ):
            ip("-n", self.server, "link", "add", device, "type", "veth",
               "peer", "name", device, "netns", self.client)  # fmt: skip
            for name, address, last in (
                (self.server, server_address, "1"),
                (self.client, client_address, "2"),
            ):
                ip("-n", name, "address", "add", f"{address}/24", "dev", device)
                ip("-n", name, "address", "add", f"{ipv6_prefix}{last}/64", "dev", device, "nodad")
                ip("-n", name, "link", "set", device, "up")

    def drop(self, namespace: str, *match: str) -> None:
        """Drop what comes in over the test cable, as a firewall does: over IPv4, in silence."""
        ip("-n", namespace, "rule", "add", "preference", "100", "lookup", "local")
        ip("-n", namespace, "rule", "delete", "preference", "0")
        ip("-n", namespace, "rule", "add", "preference", "10", "iif", "test0", *match, "blackhole")

    def remove(self) -> None:
        for agent in self.agents:
            agent.close()
        for name in (self.server, self.client):
            ip("netns", "delete", name)

    def agent(self, name: str, namespace: str, *addresses: str, **keys: Any) -> Agent:
        settings: dict[str, Any] = {
            "os": "L",
            "local": True,
            "addresses": {"test": addresses},
        } | keys
        host = Host(name=name, **settings)
        transport = Inside(host, namespace)
        agent = Agent(host, transport, transport.start([str(local_probe()), "agent"]))
        self.agents.append(agent)
        agent.greet(None)
        return agent

    def inspected(self, monkeypatch: pytest.MonkeyPatch, *addresses: str) -> InspectedHost:
        """What `netlab hosts` says of the server."""
        agent = self.agent("left", self.server, *addresses)
        monkeypatch.setattr(Agent, "open", lambda _host, _say, **_: agent)
        return inspect(agent.host)

    def both(self, **keys: Any) -> tuple[Agent, Agent]:
        return (
            self.agent("left", self.server, TEST_SERVER, "fd13::1", **keys),
            self.agent("right", self.client, TEST_CLIENT, "fd13::2"),
        )


@contextmanager
def wired(monkeypatch: pytest.MonkeyPatch) -> Iterator[Wires]:
    """Wires for one test, with checks that give up soon."""
    monkeypatch.setattr(preflight, "CHECK_S", 2.0)
    monkeypatch.setattr(programs, "COUNTERS_S", 0.2)
    new_wires = Wires(f"netlab-pf-{os.getpid()}-a", f"netlab-pf-{os.getpid()}-b")
    try:
        new_wires.make()
        yield new_wires
    finally:
        new_wires.remove()
