"""The agents that a worker keeps for one run, and the channels through which others use them.

A worker is a dask worker; an agent is the running probe on a host. If the run falls silent, the
worker ends the agents: no probe outlives the run by more than ``LEASE_S``.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

from netlab.errors import HostGone
from netlab.experiment.hosts import Host
from netlab.remote.agent import Agent
from netlab.remote.connections import Connections
from netlab.remote.transport import Process
from netlab.runner.cluster.channels import AgentChannel, Mailbox, ProgramChannel
from netlab.runner.cluster.relay import Relay

LEASE_S = 12.0
"""A requester that takes nothing for this long is gone. It asks at least every 2 s."""
SPINE = "run"
"""Name of the requester that is the run itself; every other requester is a worker."""


class ResidentRun:
    """The agents of one run at one worker. Threads may share the object."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """``loop``: the event loop of the worker."""
        self.connections = Connections()
        self._loop = loop
        self._agents: dict[str, Agent] = {}
        self._mailboxes: dict[str, Mailbox] = {}
        self._heard_at_s: dict[str, float] = {}
        self._channels: dict[tuple[str, str], AgentChannel | ProgramChannel] = {}
        self._guard = threading.Lock()
        self._ended = threading.Event()
        self.peers: dict[str, Relay] = {}
        """Address of another worker → the relay to it."""
        self.far_agents: dict[tuple[str, str], Agent] = {}
        """(host's name, address of its worker) → the agent there, used over a relay."""
        self.hear(SPINE)
        threading.Thread(target=self._watch, daemon=True).start()

    def open(self, host: Host, on_event: Callable[[str], None]) -> Agent:
        """An agent on a host; an earlier agent of the same host is ended first. Raises HostError
        and its subclasses.
        """
        self._close_agent(host.name)
        agent = Agent.open(host, on_event, connections=self.connections)
        with self._guard:
            self._agents[host.name] = agent
        if self._ended.is_set():
            agent.close()
            raise HostGone(f"{host.name}: the run is ending")
        return agent

    def agent(self, name: str) -> Agent:
        """The agent on a host; HostGone if this worker has none."""
        agent = self._agents.get(name)
        if agent is None:
            raise HostGone(f"{name}: its worker has no agent there")
        return agent

    @property
    def ended(self) -> bool:
        """Whether the run has ended, or its lease."""
        return self._ended.is_set()

    # Requesters and their channels

    def hear(self, requester: str) -> None:
        """Renew the lease of a requester."""
        self._heard_at_s[requester] = time.monotonic()

    def mailbox(self, requester: str) -> Mailbox:
        """The mailbox of a requester."""
        with self._guard:
            if requester not in self._mailboxes:
                self._mailboxes[requester] = Mailbox(self._loop)
            return self._mailboxes[requester]

    def open_channel(
        self, requester: str, name: str, host_name: str, argv: Sequence[str] | None
    ) -> None:
        """Open a channel to a program on a host; ``argv`` ``None``: to its agent."""
        deliver = partial(self.mailbox(requester).put, name)
        channel: AgentChannel | ProgramChannel
        agent = self._agents.get(host_name)
        if agent is not None and argv is None:
            is_owner = requester == SPINE
            channel = AgentChannel(
                agent, deliver, partial(self._close_agent, host_name) if is_owner else _nothing
            )
        else:
            channel = ProgramChannel(partial(self._start, host_name, argv), deliver)
        self._channels[requester, name] = channel

    def channel(self, requester: str, name: str) -> AgentChannel | ProgramChannel | None:
        """An open channel; ``None`` if there is none."""
        return self._channels.get((requester, name))

    def _start(self, host_name: str, argv: Sequence[str] | None) -> Process:
        agent = self.agent(host_name)
        return agent.start_beside(tuple(argv or ()))

    # End

    def end(self) -> None:
        """End every agent, program and channel. Safe to call again."""
        if self._ended.is_set():
            return
        self._ended.set()
        for agent in list(self.far_agents.values()):
            agent.release()
        for relay in list(self.peers.values()):
            relay.close()
        for channel in list(self._channels.values()):
            channel.kill()
        for name in list(self._agents):
            self._close_agent(name)
        self.connections.close()
        for mailbox in list(self._mailboxes.values()):
            mailbox.close()

    def _close_agent(self, name: str) -> None:
        with self._guard:
            agent = self._agents.pop(name, None)
        if agent is not None:
            threading.Thread(target=agent.close, daemon=True).start()

    def _watch(self) -> None:
        """End the run if it falls silent, and the channels of a worker that does."""
        while not self._ended.wait(1.0):
            now_s = time.monotonic()
            for requester, heard_at_s in list(self._heard_at_s.items()):
                if now_s - heard_at_s <= LEASE_S:
                    continue
                if requester == SPINE:
                    self.end()
                    return
                self._drop(requester)

    def _drop(self, requester: str) -> None:
        del self._heard_at_s[requester]
        for key in [key for key in list(self._channels) if key[0] == requester]:
            self._channels.pop(key).kill()
        with self._guard:
            mailbox = self._mailboxes.pop(requester, None)
        if mailbox is not None:
            mailbox.close()


def _nothing() -> None:
    """What the end of a worker's channel does to the agent."""
