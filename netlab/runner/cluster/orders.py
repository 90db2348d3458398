"""The order of one trial: what a worker needs to measure it, as plain data.

A trial is one execution of a cell. A worker is a dask worker that reaches hosts; the run holds the
plan and writes the records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from netlab.experiment.hosts import Host, Mirror, Service
from netlab.experiment.matrix import NamedMirror
from netlab.experiment.schedule import Trial
from netlab.measurement.common_window import CommonWindow
from netlab.measurement.ends import Ends
from netlab.remote.agent import Agent
from netlab.remote.upkeep.clock import ClockOffset


@dataclass(frozen=True, slots=True)
class WindowOrder:
    """A common window of several trials, by the clock of the run's own machine."""

    start_ns: int
    open_ns: int
    close_ns: int
    offsets: tuple[ClockOffset, ClockOffset]
    """Offsets of the server's and of the client's clock from that clock."""
    trials: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialOrder:
    """One attempt of a trial at one worker."""

    run: str
    """Token of the session of the run; a worker that does not know it measures nothing."""
    token: str
    """Token of this attempt. The run discards a record with any other token."""
    trial: Trial
    attempt: int
    hosts: Mapping[str, Host]
    """Name → each host with an agent that the trial uses."""
    workers: Mapping[str, str]
    """Name of such a host → address of its worker."""
    server: str | None
    """Name of the server's host; ``None`` if it runs no agent."""
    client: str
    same_host: bool
    connected_by: Mapping[str, str]
    mirror: Mirror | None
    served: Mapping[str, Service]
    mirrors: Mapping[str, NamedMirror]
    mirror_name: str
    networks: Mapping[str, str]
    window: WindowOrder | None
    link_rate_bit_per_s: float | None
    observed: tuple[str, ...] = ()
    """Names of the observed hosts."""

    def ends(self, agent_of: Callable[[str], Agent], worker: str) -> Ends:
        """The two ends of the trial, with agents of the worker that measures it, by its address.
        Raises HostGone if a host is lost.
        """
        server = None if self.server is None else agent_of(self.server)
        client = agent_of(self.client)
        return Ends(
            server=server,
            client=client,
            same_host=self.same_host,
            connected_by=self.connected_by,
            mirror=self.mirror,
            served=self.served,
            mirrors=self.mirrors,
            mirror_name=self.mirror_name,
            networks=self.networks,
            window=self._window(server, client, worker),
            link_rate_bit_per_s=self.link_rate_bit_per_s,
            observed=tuple(map(agent_of, self.observed)),
        )

    def _window(self, server: Agent | None, client: Agent, worker: str) -> CommonWindow | None:
        window = self.window
        if window is None or server is None:
            return None
        agents = (server, client)
        return CommonWindow(
            window.start_ns,
            window.open_ns,
            window.close_ns,
            agents,
            window.offsets,
            window.trials,
            # An exchange with another worker's agent takes too long before the window opens.
            drift_offsets=[
                agent.clock_offset() if self.workers[agent.host.name] == worker else None
                for agent in agents
            ],
        )


@dataclass(frozen=True, slots=True)
class Done:
    """What became of an order."""

    token: str
    outcome: Literal["record", "host-gone", "defect"]
    text: str
    """The record as JSON, the sentence about the lost host, or the traceback of a defect."""


@dataclass(frozen=True, slots=True)
class Opened:
    """What became of the request to open an agent."""

    error: str = ""
    """Name of the error's class in ``netlab.errors``; empty if the agent is open."""
    sentence: str = ""
    probe_path: str = ""
    events: tuple[str, ...] = field(default=())
    """Messages about slow steps."""


def order_of(
    trial: Trial,
    attempt: int,
    ends: Ends,
    *,
    run: str,
    token: str,
    worker_of: Callable[[str], str],
) -> TrialOrder:
    """The order of a trial whose ends the run knows; ``worker_of``: host's name → worker."""
    agents = [agent for agent in (ends.server, ends.client) if agent is not None]
    hosts = {agent.host.name: agent.host for agent in (*agents, *ends.observed)}
    return TrialOrder(
        run=run,
        token=token,
        trial=trial,
        attempt=attempt,
        hosts=hosts,
        workers={name: worker_of(name) for name in hosts},
        server=None if ends.server is None else ends.server.host.name,
        client=ends.client.host.name,
        same_host=ends.same_host,
        connected_by=dict(ends.connected_by),
        mirror=ends.mirror,
        served=dict(ends.served),
        mirrors=dict(ends.mirrors),
        mirror_name=ends.mirror_name,
        networks=dict(ends.networks),
        window=_window_of(ends),
        link_rate_bit_per_s=ends.link_rate_bit_per_s,
        observed=tuple(agent.host.name for agent in ends.observed),
    )


def _window_of(ends: Ends) -> WindowOrder | None:
    window, server = ends.window, ends.server
    if window is None or server is None or not window.knows(server, ends.client):
        return None
    return WindowOrder(
        window.start_ns,
        window.open_ns,
        window.close_ns,
        (window.offset_of(server), window.offset_of(ends.client)),
        window.trials,
    )
