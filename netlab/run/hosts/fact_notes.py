"""The facts of hosts as a run notes them: before, after, and when one came back."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from netlab.errors import HostError, ProbeError
from netlab.experiment.records import Value
from netlab.remote.agent import Agent
from netlab.run.ending import shielded
from netlab.store.run_folder import RunFolder

NOT_KEPT = ("type", "id")


class FactNotes:
    """Notes facts, and says where a host was restarted meanwhile."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._boots: dict[str, object] = {}
        """Name of a host → the id of its last start."""

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
            kept: Mapping[str, Value] = {k: v for k, v in facts.items() if k not in NOT_KEPT}
            try:
                with shielded():
                    folder.note("facts", host=host, when=when, facts=dict(kept))
            except ValueError as error:
                self._say(f"warning: {host}: its facts cannot be kept: {error}")
                continue
            self._tell_restart(host, facts.get("boot_id"))

    def _tell_restart(self, host: str, boot: object) -> None:
        before = self._boots.get(host)
        if boot is not None:
            self._boots[host] = boot
        if before is not None and boot is not None and before != boot:
            self._say(f"{host} was restarted: it has another boot id")
