"""What runs at a dask worker: the agents that it keeps for a run, their channels, and its tasks.

Each function is called through dask, and takes and returns plain data. If the run falls silent, the
worker ends the agents: no probe outlives the run by more than ``LEASE_S``. A worker that was
restarted knows no run, so it measures nothing until the run has opened its hosts there again.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from netlab.errors import HostGone, NetlabError
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Host
from netlab.measurement import engines
from netlab.measurement.ends import SoFar
from netlab.remote.agent import Agent
from netlab.remote.transport import Connections
from netlab.runner.cluster import relay as relay_room
from netlab.trial.record import to_json
from netlab.version import VERSION

if TYPE_CHECKING:
    import distributed

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
        self._mailboxes: dict[str, relay_room.Mailbox] = {}
        self._heard_at_s: dict[str, float] = {}
        self.channels: dict[
            tuple[str, str], relay_room.AgentChannel | relay_room.ProgramChannel
        ] = {}
        self._guard = threading.Lock()
        self.ended = threading.Event()
        """Set when the run has ended, or its lease."""
        self.peers: dict[str, relay_room.Relay] = {}
        self.far_agents: dict[tuple[str, str], Agent] = {}
        """(host's name, address of its worker) → the agent there, used over a relay."""
        self.hear(SPINE)
        threading.Thread(target=self._watch, daemon=True).start()

    def open(self, host: Host, on_event: Callable[[str], None]) -> Agent:
        """A new agent on a host; an earlier one is ended. Raises HostError and its subclasses."""
        self._close_agent(host.name)
        agent = Agent.open(host, on_event, connections=self.connections)
        with self._guard:
            self._agents[host.name] = agent
        if self.ended.is_set():
            agent.close()
            raise HostGone(f"{host.name}: the run is ending")
        return agent

    def agent(self, name: str) -> Agent:
        """The agent on a host; HostGone if this worker has none."""
        agent = self._agents.get(name)
        if agent is None:
            raise HostGone(f"{name}: its worker has no agent there")
        return agent

    # Requesters and their channels

    def hear(self, requester: str) -> None:
        """Renew the lease of a requester."""
        self._heard_at_s[requester] = time.monotonic()

    def mailbox(self, requester: str) -> relay_room.Mailbox:
        """The mailbox of a requester."""
        with self._guard:
            if requester not in self._mailboxes:
                self._mailboxes[requester] = relay_room.Mailbox(self._loop)
            return self._mailboxes[requester]

    def open_channel(
        self, requester: str, name: str, host_name: str, argv: Sequence[str] | None
    ) -> None:
        """Open a channel to a program on a host; ``argv`` ``None``: to its agent."""
        deliver = partial(self.mailbox(requester).put, name)
        agent = self._agents.get(host_name)
        if agent is not None and argv is None:
            close = partial(self._close_agent, host_name) if requester == SPINE else None
            self.channels[requester, name] = relay_room.AgentChannel(agent, deliver, close)
            return
        words = tuple(argv or ())
        self.channels[requester, name] = relay_room.ProgramChannel(
            lambda: self.agent(host_name).start_beside(words), deliver
        )

    # End

    def end(self) -> None:
        """End every agent, program and channel. Safe to call again."""
        if self.ended.is_set():
            return
        self.ended.set()
        for agent in list(self.far_agents.values()):
            agent.release()
        for relay in list(self.peers.values()):
            relay.close()
        for channel in list(self.channels.values()):
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
        while not self.ended.wait(1.0):
            now_s = time.monotonic()
            for requester, heard_at_s in list(self._heard_at_s.items()):
                if now_s - heard_at_s <= LEASE_S:
                    continue
                if requester == SPINE:
                    self.end()
                    return
                del self._heard_at_s[requester]
                for key in [key for key in list(self.channels) if key[0] == requester]:
                    self.channels.pop(key).kill()
                with self._guard:
                    mailbox = self._mailboxes.pop(requester, None)
                if mailbox is not None:
                    mailbox.close()


_RUNS: dict[str, ResidentRun] = {}
"""Token of a run's session → its agents at this worker."""


def _is_no_relay(record: logging.LogRecord) -> bool:
    """Keeps the calls of relays, several each second, out of the worker's log."""
    return "relay_" not in record.getMessage()


async def begin(run: str) -> str:
    """Begin the session of a run at this worker; returns the version of netlab here."""
    logging.getLogger("distributed.worker").addFilter(_is_no_relay)
    if run not in _RUNS:
        _RUNS[run] = ResidentRun(asyncio.get_running_loop())
    return VERSION


async def end(run: str) -> None:
    """End the session of a run at this worker: its agents, programs and relays."""
    resident = _RUNS.pop(run, None)
    if resident is not None:
        await asyncio.to_thread(resident.end)


async def relay_write(run: str, requester: str, writes: Sequence[tuple[Any, ...]]) -> None:
    """Carry out writes, each ``(verb, channel, …)``. HostGone if the run is not known here."""
    resident = resident_of(run)
    resident.hear(requester)
    for verb, name, *words in writes:
        if verb == "open":
            resident.open_channel(requester, name, *words)
            continue
        channel = resident.channels.get((requester, name))
        if channel is None:
            continue
        if verb == "data":
            channel.feed(*words)
        elif verb == "close-input":
            channel.close_input()
        else:
            channel.kill()


async def relay_take(
    run: str, requester: str, wait_s: float
) -> list[tuple[str, relay_room.Delivery]]:
    """What the channels delivered, after up to ``wait_s``. HostGone if the run is not known."""
    resident = resident_of(run)
    resident.hear(requester)
    items = await resident.mailbox(requester).take(wait_s)
    resident.hear(requester)
    return items


def resident_of(run: str) -> ResidentRun:
    """The agents of a run's session at this worker; HostGone if it does not know the session."""
    resident = _RUNS.get(run)
    if resident is None or resident.ended.is_set():
        raise HostGone("it was restarted, or did not hear from the run")
    return resident


@dataclass(frozen=True, slots=True)
class WorkerCalls:
    """Calls for one session of a run at one worker; each raises an exception if it is lost."""

    client: distributed.Client
    address: str
    run: str

    def __call__(self, function: Callable[..., Any], *words: Any) -> Any:
        """The result of a function of this module at the worker."""
        return self.client.run(function, self.run, *words, workers=[self.address])[self.address]

    def write(self, requester: str, writes: Sequence[tuple[Any, ...]]) -> None:
        """See ``relay_write``."""
        self(relay_write, requester, writes)

    def take(self, requester: str, wait_s: float) -> Sequence[tuple[str, relay_room.Delivery]]:
        """See ``relay_take``."""
        items: Sequence[tuple[str, relay_room.Delivery]] = self(relay_take, requester, wait_s)
        return items


_GUARD = threading.Lock()


def open_host(run: str, host: Host) -> relay_room.Opened:
    """Open an agent on a host."""
    import distributed  # an extra: whoever calls this has it

    distributed.secede()  # a login may wait long: other calls need this thread
    events: list[str] = []
    try:
        agent = resident_of(run).open(host, events.append)
    except NetlabError as error:
        return relay_room.Opened(type(error).__name__, str(error), events=tuple(events))
    return relay_room.Opened(probe_path=agent.probe_path, events=tuple(events))


def measure(order: relay_room.TrialOrder) -> relay_room.Done:
    """Measure one trial."""
    import distributed  # an extra: whoever calls this has it

    distributed.secede()  # a worker with one thread still measures several pairs at once
    done = partial(relay_room.Done, order.token)
    try:
        resident = resident_of(order.run)
        ends = order.ends(partial(_agent_for, resident, order), distributed.get_worker().address)

        def live(_cell: Cell, so_far: SoFar) -> None:
            """Report the totals of the trial so far to the run."""
            resident.mailbox(SPINE).put("", relay_room.Totals(order.token, so_far))

        return done("record", to_json(engines.measure(order.trial, ends, order.attempt, live)))
    except HostGone as gone:
        return done("host-gone", str(gone))
    except Exception:
        return done("defect", traceback.format_exc())


def _agent_for(resident: ResidentRun, order: relay_room.TrialOrder, name: str) -> Agent:
    """The agent on a host: this worker's own, or that of another worker over a relay."""
    import distributed  # an extra: whoever calls this has it

    address = order.workers[name]
    if address == distributed.get_worker().address:
        return resident.agent(name)
    with _GUARD:
        agent = resident.far_agents.get((name, address))
        if agent is not None and not agent.gone:
            return agent
        relay = resident.peers.get(address)
        if relay is None or relay.why_lost is not None:
            calls = WorkerCalls(distributed.get_client(), address, order.run)
            relay = resident.peers[address] = relay_room.Relay(
                calls, f"worker-{uuid4().hex[:8]}", address
            )
        transport = relay_room.RelayedTransport(relay, name)
        agent = Agent(order.hosts[name], transport, transport.start(None))
        resident.far_agents[name, address] = agent
    agent.greet(None)
    return agent
