"""Brings both hosts of a trial into the state of their settings that the trial's variant names.

A state is a set of values of a host's own settings. A cell is one combination of a pairing (two
hosts), a kind of test and its settings; a trial is one execution of a cell.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping

from netlab.errors import HostGone, ProbeError
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import EndName
from netlab.experiment.records import Value
from netlab.experiment.variants import Change, Variants, chosen
from netlab.measurement.ends import Ends
from netlab.measurement.variants.host_state import NOT_REACHED, HostState
from netlab.remote.agent import Agent

_DEVICE = re.compile(r"[A-Za-z0-9_.:@-]{1,15}")
_ENDS: tuple[EndName, ...] = ("server", "client")


class HostStates:
    """The states of all hosts of a run, which change as trials enter them. Several threads may call
    ``enter`` at the same time, if their trials share no host.
    """

    def __init__(self, variants: Variants) -> None:
        self.variants = variants
        self._states: dict[str, HostState] = {}
        """Name of a host → its state."""
        self._guard = threading.Lock()

    def enter(self, cell: Cell, ends: Ends) -> dict[str, Value]:
        """Bring both hosts into the state that the cell names; returns values for its record.

        Changes that another cell made on a host are undone first. Raises ProbeError
        (``state-not-reached``), and HostGone.
        """
        values: dict[str, Value] = {}
        states = chosen(self.variants, cell.setup.variant)
        settle_s = max((state.settle_s for state in states), default=0.0)
        for agent, changes in self._changes(cell, ends):
            host_changes = tuple(change for _, change in changes)
            places = _places(cell, ends, changes)
            text = self._state_of(agent).enter(agent, host_changes, places, settle_s)
            values |= {f"{end}_state": text for end, _ in changes}
        return values

    def _changes(
        self, cell: Cell, ends: Ends
    ) -> Iterator[tuple[Agent, list[tuple[EndName, Change]]]]:
        """The agent of each host and the changes on it; both ends may be one host."""
        states = chosen(self.variants, cell.setup.variant)
        by_host: dict[str, tuple[Agent, list[tuple[EndName, Change]]]] = {}
        for end in _ENDS:
            changes = [(end, change) for state in states for change in state.changes(end)]
            if end == "server" and ends.server is None:
                if changes:
                    detail = "it runs no probe, so its settings cannot be changed"
                    raise ProbeError(ends.server_name, NOT_REACHED, detail=detail)
                continue
            agent = ends.agent_of(end)
            by_host.setdefault(agent.host.name, (agent, []))[1].extend(changes)
        yield from by_host.values()

    def _state_of(self, agent: Agent) -> HostState:
        with self._guard:
            return self._states.setdefault(agent.host.name, HostState())

    def restore(self) -> list[str]:
        """Undo the changes on all hosts; returns a sentence for each host on which this failed."""
        sentences = []
        for name, state in sorted(self._states.items()):
            try:
                state.restore()
            except HostGone as gone:
                sentences.append(f"{gone}; its probe puts its settings back")
            except ProbeError as error:
                sentences.append(f"{name}: {error.detail or error.word}")
        return sentences

    @property
    def changed(self) -> list[str]:
        """Names of the hosts whose settings are changed now."""
        return sorted(name for name, state in self._states.items() if state.is_changed)


def _places(cell: Cell, ends: Ends, changes: list[tuple[EndName, Change]]) -> Mapping[str, str]:
    """The values of the placeholders that the changes of one host use."""
    uses = {name for _, change in changes for name in change.uses}
    if not uses:
        return {}
    end = changes[0][0]
    other = "client" if end == "server" else "server"
    places = {"address": ends.address(end, cell.setup)}
    if other == "client" or ends.server is not None:
        places["peer_address"] = ends.address(other, cell.setup)
    elif service := ends.mirror or next(iter(ends.served.values()), None):
        places["peer_address"] = service.address
    if "interface" in uses:
        agent = ends.agent_of(end)
        device = str(agent.facts(to=places.get("peer_address")).get("route_interface", ""))
        if not _DEVICE.fullmatch(device):
            detail = "its system does not report which interface the traffic uses"
            raise ProbeError(agent.host.name, NOT_REACHED, detail=detail)
        places["interface"] = device
    return places
