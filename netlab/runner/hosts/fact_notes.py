"""The facts of hosts as a run notes them: before, after, and when one came back."""

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
"""How the names of facts begin that follow the route to a peer."""


class FactNotes:
    """Notes facts, and says where a host was restarted meanwhile."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._boots: dict[str, object] = {}
        """Name of a host → the id of its last start."""
        self._interfaces: set[tuple[str, object]] = set()
        """(host, interface) of which facts were noted."""
        self.values: dict[str, HostValues] = {}
        """Name of a host → what it has and allows, as it said last."""

    def note(
        self, folder: RunFolder, agents: Mapping[str, Agent], peers: Mapping[str, str], when: str
    ) -> None:
        """Append the facts of each host, with the route to its peer.

        A host that does not tell them, or tells what no note can hold, has none.
        """
        told = _facts_of({host: (agent, peers[host]) for host, agent in agents.items()})
        for host, agent in agents.items():
            facts = told[host]
            if isinstance(facts, Exception):
                self._say(f"warning: {host}: no facts: {facts}")
                continue
            self.values[host] = HostValues.of(facts, agent.hello)
            kept: Mapping[str, Value] = {k: v for k, v in facts.items() if k not in NOT_KEPT}
            try:
                # Whatever is made durable behind it makes it durable, too.
                with shielded():
                    folder.note("facts", durable=False, host=host, when=when, facts=dict(kept))
            except ValueError as error:
                self._say(f"warning: {host}: its facts cannot be kept: {error}")
                continue
            self._interfaces.add((host, facts.get("route_interface")))
            self._tell_restart(host, facts.get("boot_id"))

    def note_routes(
        self,
        folder: RunFolder,
        agents: Mapping[str, Agent],
        routes: Mapping[str, Mapping[str, tuple[str, str]]],
        peers: Mapping[str, str],
    ) -> None:
        """Append the facts of each interface behind the test addresses of each host of which none
        are noted; ``routes`` is host → address → a peer's name and address.
        """
        wanted = {
            (host, address, peer): (agent, there)
            for host, agent in agents.items()
            for address, (peer, there) in routes.get(host, {}).items()
            if there != peers.get(host)
        }
        for (host, address, peer), told in _facts_of(wanted).items():
            try:
                if isinstance(told, Exception):
                    raise told
                if (host, told.get("route_interface")) in self._interfaces:
                    continue
                self._interfaces.add((host, told.get("route_interface")))
                facts = {k: v for k, v in told.items() if k.startswith(OF_ROUTE)}
                data = {"host": host, "address": address, "peer": peer, "facts": facts}
                with shielded():
                    folder.note("route", durable=False, **data)
            except (HostError, ProbeError, ValueError) as error:
                self._say(f"warning: {host}: no facts of its way to {peer}: {error}")

    def _tell_restart(self, host: str, boot: object) -> None:
        before = self._boots.get(host)
        if boot is not None:
            self._boots[host] = boot
        if before is not None and boot is not None and before != boot:
            self._say(f"{host} was restarted: it has another boot id")


Key = TypeVar("Key")


def _facts_of(
    wanted: Mapping[Key, tuple[Agent, str]],
) -> dict[Key, Mapping[str, Any] | HostError | ProbeError]:
    """The facts of each agent with its way to an address, or why there are none; all of them are
    asked at the same time.
    """

    def ask(agent: Agent, to: str) -> Mapping[str, Any] | HostError | ProbeError:
        try:
            return agent.facts(to=to)
        except (HostError, ProbeError) as error:
            return error

    executor = DaemonExecutor(AT_ONCE)
    futures = {key: executor.submit(ask, *each) for key, each in wanted.items()}
    return {key: future.result() for key, future in futures.items()}
