"""Notes what probes report about their hosts (facts): before and after a run, and after a loss.

A note is a line of the journal, the file in the run folder that also has the records of trials.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from netlab.errors import HostError, ProbeError
from netlab.experiment.records import Value
from netlab.remote.agent import Agent
from netlab.runner.daemon_executor import AT_ONCE, DaemonExecutor
from netlab.runner.ending import shielded
from netlab.runner.host_values import HostValues
from netlab.store.run_folder import RunFolder

NOT_KEPT = ("type", "id")
OF_ROUTE = ("route_", "interface_")
"""Prefixes of the facts that depend on the route to a peer."""


class FactNotes:
    """Notes the facts of hosts, and reports hosts that were restarted between two notes."""

    def __init__(self, notify: Callable[[str], None]) -> None:
        self._notify = notify
        self._boots: dict[str, object] = {}
        """Host name → the id of its last start."""
        self._interfaces: set[tuple[str, object]] = set()
        """(host, interface) whose facts were noted."""
        self.values: dict[str, HostValues] = {}
        """Host name → its values as last reported."""

    def note(
        self, folder: RunFolder, agents: Mapping[str, Agent], peers: Mapping[str, str], moment: str
    ) -> None:
        """Note the facts of each host, with the route to its peer.

        ``peers``: host → address of its peer. ``moment``: when this is, such as ``before`` the run.

        If a host does not report its facts, or if a note cannot hold their values, there is a
        warning instead.
        """
        answers = _facts_of({host: (agent, peers[host]) for host, agent in agents.items()})
        for host, agent in agents.items():
            facts = answers[host]
            if isinstance(facts, Exception):
                self._notify(f"warning: {host}: its facts cannot be read: {facts}")
                continue
            self.values[host] = HostValues.of(facts, agent.hello)
            noted: Mapping[str, Value] = {k: v for k, v in facts.items() if k not in NOT_KEPT}
            try:
                # The next durable line of the journal makes this line durable, too.
                with shielded():
                    folder.note("facts", durable=False, host=host, when=moment, facts=dict(noted))
            except ValueError as error:
                self._notify(f"warning: {host}: its facts cannot be saved: {error}")
                continue
            self._interfaces.add((host, facts.get("route_interface")))
            self._report_restart(host, facts.get("boot_id"))

    def note_routes(
        self,
        folder: RunFolder,
        agents: Mapping[str, Agent],
        routes: Mapping[str, Mapping[str, tuple[str, str]]],
        peers: Mapping[str, str],
    ) -> None:
        """Note the facts of each host's interfaces with test addresses that ``note`` left out.

        ``routes``: host → address → name and address of a peer. An interface is noted once.
        """
        requests = {
            (host, address, peer): (agent, peer_address)
            for host, agent in agents.items()
            for address, (peer, peer_address) in routes.get(host, {}).items()
            if peer_address != peers.get(host)
        }
        for (host, address, peer), answer in _facts_of(requests).items():
            try:
                if isinstance(answer, Exception):
                    raise answer
                if (host, answer.get("route_interface")) in self._interfaces:
                    continue
                self._interfaces.add((host, answer.get("route_interface")))
                facts = {k: v for k, v in answer.items() if k.startswith(OF_ROUTE)}
                data = {"host": host, "address": address, "peer": peer, "facts": facts}
                with shielded():
                    folder.note("route", durable=False, **data)
            except (HostError, ProbeError, ValueError) as error:
                words = f"the facts of its route to {peer} are not noted: {error}"
                self._notify(f"warning: {host}: {words}")

    def _report_restart(self, host: str, boot: object) -> None:
        last_boot = self._boots.get(host)
        if boot is not None:
            self._boots[host] = boot
        if last_boot is not None and boot is not None and last_boot != boot:
            self._notify(f"{host} was restarted: its boot id has changed")


Key = TypeVar("Key")


def _facts_of(
    requests: Mapping[Key, tuple[Agent, str]],
) -> dict[Key, Mapping[str, Any] | HostError | ProbeError]:
    """Key → the facts of the agent's host with its route to the address, or the error. All agents
    are asked at the same time.
    """

    def ask(agent: Agent, to: str) -> Mapping[str, Any] | HostError | ProbeError:
        try:
            return agent.facts(to=to)
        except (HostError, ProbeError) as error:
            return error

    executor = DaemonExecutor(AT_ONCE)
    futures = {key: executor.submit(ask, *request) for key, request in requests.items()}
    return {key: future.result() for key, future in futures.items()}
