"""Observed hosts: hosts on the path of a test that are not its ends, such as the tested device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netlab.remote.agent import Agent


def active_observers(ends: Sequence[Agent], observed: Mapping[str, Agent]) -> tuple[Agent, ...]:
    """The agents of the observed hosts that are not among ``ends`` and that have not been lost."""
    names = {agent.host.name for agent in ends}
    return tuple(agent for name, agent in observed.items() if name not in names and not agent.gone)
