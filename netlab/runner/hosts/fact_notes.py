"""The facts of hosts as a run notes them: before, after, and when one came back."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from netlab.errors import HostError, ProbeError
from netlab.experiment.records import Value
from netlab.remote.agent import Agent
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
        for host, agent in agents.items():
            try:
                facts = agent.facts(to=peers[host])
            except (HostError, ProbeError) as error:
                self._say(f"warning: {host}: no facts: {error}")
                continue
            self.values[host] = HostValues.of(facts, agent.hello)
            kept: Mapping[str, Value] = {k: v for k, v in facts.items() if k not in NOT_KEPT}
            try:
                with shielded():
                    folder.note("facts", host=host, when=when, facts=dict(kept))
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
        for host, agent in agents.items():
            for address, (peer, there) in routes.get(host, {}).items():
                if there == peers.get(host):
                    continue
                try:
                    told = agent.facts(to=there)
                    if (host, told.get("route_interface")) in self._interfaces:
                        continue
                    self._interfaces.add((host, told.get("route_interface")))
                    facts = {k: v for k, v in told.items() if k.startswith(OF_ROUTE)}
                    with shielded():
                        folder.note("route", host=host, address=address, peer=peer, facts=facts)
                except (HostError, ProbeError, ValueError) as error:
                    self._say(f"warning: {host}: no facts of its way to {peer}: {error}")

    def _tell_restart(self, host: str, boot: object) -> None:
        before = self._boots.get(host)
        if boot is not None:
            self._boots[host] = boot
        if before is not None and boot is not None and before != boot:
            self._say(f"{host} was restarted: it has another boot id")
