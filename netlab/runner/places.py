"""Where agents are opened and trials are measured: in this process, or at the workers of a cluster.

Agents of hosts that are asked before a measurement (`netlab plan`, `measure`, `init`) take no lock.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Self

from netlab.errors import HostError, NetlabError, UsageError
from netlab.experiment.cells import Cell, lacking
from netlab.experiment.hosts import OS_OF_PROBE, EndName, Host, Inventory
from netlab.measurement import engines
from netlab.remote import programs
from netlab.remote.agent import Agent
from netlab.remote.transport import Connections
from netlab.runner.ending import AT_ONCE, DaemonExecutor
from netlab.runner.trial_faults import HostValues, wrong_values
from netlab.terminal import printable


class AgentGroup:
    """Agents by host name; a context manager that closes all of its agents on exit."""

    def __init__(self, notify: Callable[[str], None]) -> None:
        """``notify`` gets messages about slow steps; several threads call it."""
        self.connections = Connections()
        self._notify = notify
        self._agents: dict[str, Agent] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with DaemonExecutor(AT_ONCE) as executor:
            for agent in self._agents.values():
                executor.submit(agent.close)
        self._agents = {}

    def log_in(self, hosts: Sequence[Host]) -> dict[str, Exception]:
        """Log in to the hosts that have no agent yet; returns host name → error."""
        failed: dict[str, Exception] = {}
        with DaemonExecutor(AT_ONCE) as executor:
            futures = {
                host.name: executor.submit(
                    Agent.open, host, self._notify, connections=self.connections
                )
                for host in hosts
                if host.has_agent and host.name not in self._agents
            }
            for name, future in futures.items():
                try:
                    self._agents[name] = future.result()
                except Exception as error:  # the other logins go on
                    failed[name] = error
        return failed

    def log_in_to_all(self, hosts: Sequence[Host]) -> None:
        """Log in to all hosts; raises the error of the first login that failed."""
        for error in self.log_in(hosts).values():
            raise error

    def hello(self, host: Host) -> Mapping[str, Any]:
        """The greeting of the host's probe; empty without an agent."""
        agent = self._agents.get(host.name)
        return {} if agent is None else agent.hello

    def seen(self, host: Host) -> Host:
        """The host with the operating system that its probe reports, if there is an agent."""
        if host.name not in self._agents:
            return host
        letter = OS_OF_PROBE.get(str(self.hello(host).get("os")))
        if letter is None:
            raise HostError(f"{host.name}: its probe reports a system that netlab does not know")
        return replace(host, os=letter)

    def facts(self, host: Host, to: str | None = None) -> Mapping[str, Any]:
        """The facts of the host, with its route to ``to`` if given. Empty without an agent."""
        agent = self._agents.get(host.name)
        return {} if agent is None else agent.facts(to)

    def ssh_address(self, host: Host) -> str:
        """The host's own address of its SSH connection, by ssh(1); else as it was named."""
        with suppress(NetlabError, LookupError):
            asked = programs.run_to_end(self._agents[host.name], ("printenv", "SSH_CONNECTION"), 3)
            return asked.text.split()[2].partition("%")[0]
        return "" if host.ssh is None else host.ssh.host

    def hand_over(self, host: Host) -> Agent | None:
        """The agent for a run, of ``host`` from now on, if it is there; the group closes it."""
        agent = self._agents.get(host.name)
        if agent is None or agent.gone:
            return None
        agent.host = host
        return agent


class TrialPlace:
    """Where the agents of a run are opened and its trials are measured: here, in this process."""

    measure = staticmethod(engines.measure)

    def __init__(self, group: AgentGroup | None = None) -> None:
        """``group``: agents that are open already, so that their hosts need no new login."""
        self._group = group
        self.connections = Connections() if group is None else group.connections
        """The connections of all agents that were opened here."""

    def arrange(self, pairs: Iterable[tuple[Host, Host]]) -> None:
        """Prepare for the pairs of hosts that will measure."""

    def open_agent(self, host: Host, on_event: Callable[[str], None]) -> Agent:
        """Open an agent; HostError. Threads call ``on_event`` if a step is slow."""
        agent = None if self._group is None else self._group.hand_over(host)
        return agent or Agent.open(host, on_event, connections=self.connections)

    def check(self) -> None:
        """ClusterLost if nothing can be measured any more."""


@dataclass(frozen=True, slots=True)
class HostAnswer:
    """The capabilities and values of one host, or why it could not be asked."""

    capabilities: frozenset[str] | None
    """Words for capabilities from docs/protocol.md; ``None``: unknown."""
    fault: str | None = None
    """A sentence with the reason why the host could not be asked."""
    values: HostValues = field(default_factory=HostValues)


AskHosts = Callable[[Sequence[Host]], Mapping[str, HostAnswer]]
"""Asks hosts; returns host name → answer."""


def asking(notify: Callable[[str], None]) -> AskHosts:
    """A function that asks all hosts at the same time; several threads call ``notify``."""

    def ask(hosts: Sequence[Host]) -> Mapping[str, HostAnswer]:
        with AgentGroup(notify) as agents, DaemonExecutor(AT_ONCE) as executor:
            failed = agents.log_in(hosts)

            def answer(host: Host) -> HostAnswer:
                failure = failed.get(host.name)
                if isinstance(failure, UsageError):
                    raise failure
                if failure is not None:
                    return HostAnswer(None, in_a_sentence(host, failure))
                if not host.has_agent:
                    return HostAnswer(None)
                try:
                    hello = agents.hello(host)
                    capabilities = frozenset(str(hello.get("capabilities", "")).split(","))
                    return HostAnswer(capabilities, values=HostValues.of(agents.facts(host), hello))
                except NetlabError as error:
                    return HostAnswer(None, in_a_sentence(host, error))

            answers = executor.map(answer, hosts)
            return {host.name: it for host, it in zip(hosts, answers, strict=True)}

    return ask


def in_a_sentence(host: Host, error: Exception) -> str:
    """The error of a host on one line; with its type, if netlab does not expect it."""
    if isinstance(error, NetlabError):
        return printable(str(error))
    return printable(f"{host.name}: {type(error).__name__}: {error}")


def beyond_hosts(
    cells: Collection[Cell], inventory: Inventory, answers: Mapping[str, HostAnswer]
) -> tuple[dict[Cell, str], tuple[str, ...]]:
    """Cells that a host cannot run, each with a sentence; and notes about the other cells."""
    refusals: dict[Cell, str] = {}
    notes = dict.fromkeys(
        f"capabilities unknown: {answer.fault}" for answer in answers.values() if answer.fault
    )
    values = {name: answer.values for name, answer in answers.items()}
    for cell in cells:
        server, client = inventory.pair(cell.pairing)
        ends: Mapping[EndName, Host] = {"server": server, "client": client}
        capabilities = {role: answers[host.name].capabilities for role, host in ends.items()}
        lacks = lacking(cell, capabilities)
        needed = [demand for demand in lacks if demand.needed]
        wrong = [*wrong_values(cell, ends, values)]
        if wrong:
            refusals[cell] = "; ".join(dict.fromkeys(wrong))
        elif needed:
            by_what: dict[str, list[str]] = {}
            for demand in needed:
                by_what.setdefault(demand.what, []).append(ends[demand.role].name)
            refusals[cell] = "; ".join(
                f"not supported by {' and '.join(dict.fromkeys(names))} ({setting_words})"
                for setting_words, names in by_what.items()
            )
        else:
            for demand in lacks:
                name, what = ends[demand.role].name, demand.what
                note = f"{name} is measured without `{what}`: its system does not support it"
                notes[note] = None
    return refusals, tuple(notes)
