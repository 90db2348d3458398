"""Tasks of a dask worker: opens the agent of a host, measures a trial.

Tasks take plain data and return plain data. A trial uses the agents that the worker keeps for the
run (resident.py), and over a relay those of another worker.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from functools import partial
from threading import Lock
from uuid import uuid4

import distributed

from netlab.errors import HostGone, NetlabError
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Host
from netlab.experiment.records import to_json
from netlab.measurement import engines
from netlab.measurement.ends import SoFar
from netlab.remote.agent import Agent
from netlab.runner.cluster.calls import WorkerCalls
from netlab.runner.cluster.channels import Totals
from netlab.runner.cluster.orders import Done, Opened, TrialOrder
from netlab.runner.cluster.relay import Relay, RelayedTransport
from netlab.runner.cluster.resident import SPINE, ResidentRun
from netlab.runner.cluster.sessions import resident_of

_GUARD = Lock()


def open_host(run: str, host: Host) -> Opened:
    """Open an agent on a host."""
    distributed.secede()  # a login may wait long: other calls need this thread
    events: list[str] = []
    try:
        agent = resident_of(run).open(host, events.append)
    except NetlabError as error:
        return Opened(type(error).__name__, str(error), events=tuple(events))
    return Opened(probe_path=agent.probe_path, events=tuple(events))


def measure(order: TrialOrder) -> Done:
    """Measure one trial."""
    distributed.secede()  # a worker with one thread still measures several pairs at once
    done = partial(Done, order.token)
    try:
        resident = resident_of(order.run)
        worker = distributed.get_worker().address
        ends = order.ends(partial(_agent_for, resident, order), worker)
        live = _Live(resident, order.token)
        record = engines.measure(order.trial, ends, order.attempt, live)
        return done("record", to_json(record))
    except HostGone as gone:
        return done("host-gone", str(gone))
    except Exception:
        return done("defect", traceback.format_exc())


@dataclass(frozen=True, slots=True)
class _Live:
    """Reports the totals of a trial so far to the run."""

    resident: ResidentRun
    token: str

    def __call__(self, _cell: Cell, so_far: SoFar) -> None:
        totals = Totals(
            self.token, so_far.flow, so_far.payload_bytes, so_far.elapsed_s, so_far.messages
        )
        self.resident.mailbox(SPINE).put("", totals)


def _agent_for(resident: ResidentRun, order: TrialOrder, name: str) -> Agent:
    """The agent on a host: this worker's own, or that of another worker over a relay."""
    address = order.workers[name]
    if address == distributed.get_worker().address:
        return resident.agent(name)
    with _GUARD:
        agent = resident.far_agents.get((name, address))
        if agent is not None and not agent.gone:
            return agent
        transport = RelayedTransport(_peer(resident, order.run, address), name)
        agent = Agent(order.hosts[name], transport, transport.start(None))
        resident.far_agents[name, address] = agent
    agent.greet(None)
    return agent


def _peer(resident: ResidentRun, run: str, address: str) -> Relay:
    """The relay to another worker."""
    relay = resident.peers.get(address)
    if relay is None or relay.why_lost is not None:
        calls = WorkerCalls(distributed.get_client(), address, run)
        relay = resident.peers[address] = Relay(calls, f"worker-{uuid4().hex[:8]}", address)
    return relay
