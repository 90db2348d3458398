"""Agents of hosts that are only looked at: opened at the same time, no lock taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from netlab.errors import HostError
from netlab.experiment.hosts import OS_OF_PROBE, Host
from netlab.remote.agent import Agent
from netlab.run.daemon_executor import DaemonExecutor


class LookedAt:
    """The agents of some hosts, while they are asked. A context manager."""

    def __init__(self, hosts: Sequence[Host], say: Callable[[str], None]) -> None:
        self._hosts = {host.name: host for host in hosts if host.mirror is None}
        self._say = say
        self._agents: dict[str, Agent] = {}

    def __enter__(self) -> Self:
        """Log in to all of them; raises what became of the first that could not be."""
        with DaemonExecutor(max(1, len(self._hosts))) as executor:
            futures = {
                name: executor.submit(Agent.open, host, self._say)
                for name, host in self._hosts.items()
            }
            failed: list[Exception] = []
            for name, future in futures.items():
                try:
                    self._agents[name] = future.result()
                except Exception as error:  # the others are closed before it is raised
                    failed.append(error)
        if failed:
            self.__exit__()
            raise failed[0]
        return self

    def __exit__(self, *_: object) -> None:
        for agent in self._agents.values():
            agent.close()

    def hello(self, host: Host) -> Mapping[str, Any]:
        """How the host's probe greeted; empty of a mirror."""
        agent = self._agents.get(host.name)
        return {} if agent is None else agent.hello

    def seen(self, host: Host) -> Host:
        """The host with the system that its probe names."""
        if host.name not in self._agents:
            return host
        found = OS_OF_PROBE.get(str(self.hello(host).get("os")))
        if found is None:
            raise HostError(f"{host.name}: its probe names no system that netlab knows")
        return replace(host, os=found)

    def facts(self, host: Host, to: str | None = None) -> Mapping[str, Any]:
        """What the host says of itself, and (``to``) of its way to an address; none of a mirror."""
        agent = self._agents.get(host.name)
        if agent is None:
            return {}
        return agent.facts() if to is None else agent.facts(to=to)
