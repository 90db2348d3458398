"""Observed hosts: neither end of a test, but on its path, such as the device under test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netlab.remote.agent import Agent


def active_observers(ends: Sequence[Agent], observed: Mapping[str, Agent]) -> tuple[Agent, ...]:
    """The observed agents that are neither end and have not been lost."""
    names = {agent.host.name for agent in ends}
    return tuple(agent for name, agent in observed.items() if name not in names and not agent.gone)
