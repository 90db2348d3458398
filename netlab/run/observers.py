"""Hosts that only look on: neither end of a test, but in its way, such as the device under test."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from netlab.errors import HostError
from netlab.experiment.hosts import Host, Inventory
from netlab.remote.agent import Agent


def look_on(
    inventory: Inventory,
    there: Mapping[str, Agent],
    connect: Callable[[Host], Agent | HostError],
) -> tuple[dict[str, Agent], tuple[str, ...]]:
    """The agents of the hosts that an inventory observes, and a sentence for each that is away.

    ``there``: agents that serve already, by name of their hosts. All is measured without a host
    that is away, but for what it would have counted.
    """
    agents: dict[str, Agent] = {}
    away: list[str] = []
    for name in inventory.observed:
        found = there.get(name) or connect(inventory.host(name))
        if isinstance(found, Agent):
            agents[name] = found
        else:
            away.append(f"not observed: {found}")
    return agents, tuple(away)


def active_observers(ends: Sequence[Agent], observed: Mapping[str, Agent]) -> tuple[Agent, ...]:
    """Those that are neither end, and have not been lost."""
    names = {agent.host.name for agent in ends}
    return tuple(agent for name, agent in observed.items() if name not in names and not agent.gone)
