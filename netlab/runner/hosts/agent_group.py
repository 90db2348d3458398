"""Agents of hosts that are asked before they measure: opened at the same time, no lock taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from netlab.errors import HostError
from netlab.experiment.hosts import OS_OF_PROBE, Host
from netlab.remote.agent import Agent
from netlab.remote.connections import Connections
from netlab.runner.daemon_executor import AT_ONCE, DaemonExecutor


class AgentGroup:
    """A context manager, which lets go of all hosts at its end."""

    def __init__(self, say: Callable[[str], None]) -> None:
        """``say`` hears what takes long, from several threads."""
        self.connections = Connections()
        self._say = say
        self._agents: dict[str, Agent] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with DaemonExecutor(AT_ONCE) as executor:
            for agent in self._agents.values():
                executor.submit(agent.close)
        self._agents = {}

    def log_in(self, hosts: Sequence[Host]) -> dict[str, Exception]:
        """Log in to those that it has no agent of; host → what became of it, where that failed."""
        failed: dict[str, Exception] = {}
        with DaemonExecutor(AT_ONCE) as executor:
            futures = {
                host.name: executor.submit(
                    Agent.open, host, self._say, connections=self.connections
                )
                for host in hosts
                if host.mirror is None and host.name not in self._agents
            }
            for name, future in futures.items():
                try:
                    self._agents[name] = future.result()
                except Exception as error:  # the others are logged in to first
                    failed[name] = error
        return failed

    def log_in_to_all(self, hosts: Sequence[Host]) -> None:
        """The same; raises what became of the first that let nobody in."""
        for error in self.log_in(hosts).values():
            raise error

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

    def hand_over(self, host: Host) -> Agent | None:
        """The agent of that name, for a run that measures with it by what ``host`` now says;
        ``None`` where there is none, or it is lost. The group still ends it.
        """
        agent = self._agents.get(host.name)
        if agent is None or agent.gone:
            return None
        agent.host = host
        return agent
