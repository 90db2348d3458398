"""Where agents are opened and trials are measured: in this process, or at the workers of a cluster.

An agent is the running probe on a host. A trial is one execution of a cell. The workers of a
cluster are in ``netlab.runner.cluster``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

from netlab.experiment.hosts import Host
from netlab.experiment.records import Record
from netlab.experiment.schedule import Trial
from netlab.measurement import engines
from netlab.measurement.ends import Ends, OnGoodput
from netlab.remote.agent import Agent
from netlab.remote.connections import Connections
from netlab.runner.hosts.agent_group import AgentGroup


class TrialPlace(Protocol):
    """What a run asks of the place where its trials are measured."""

    @property
    def connections(self) -> Connections:
        """The connections of all agents that were opened here."""

    def arrange(self, pairs: Iterable[tuple[Host, Host]]) -> None:
        """Prepare for the pairs of hosts that will measure."""

    def open_agent(self, host: Host, on_event: Callable[[str], None]) -> Agent:
        """Open an agent on a host; raises HostError and its subclasses. Several threads call
        ``on_event`` with messages about slow steps.
        """

    def measure(self, trial: Trial, ends: Ends, attempt: int, live: OnGoodput) -> Record:
        """Measure one attempt of a trial: see ``engines.measure``."""

    def check(self) -> None:
        """ClusterLost if nothing can be measured any more."""


class ThisProcess:
    """This process: it connects to the hosts and measures."""

    measure = staticmethod(engines.measure)

    def __init__(self, group: AgentGroup | None = None) -> None:
        """``group``: agents that are open already, so that their hosts need no new login."""
        self._group = group
        self.connections = Connections() if group is None else group.connections

    def arrange(self, pairs: Iterable[tuple[Host, Host]]) -> None:
        """Nothing to prepare."""

    def open_agent(self, host: Host, on_event: Callable[[str], None]) -> Agent:
        """See ``TrialPlace``."""
        agent = None if self._group is None else self._group.hand_over(host)
        return agent or Agent.open(host, on_event, connections=self.connections)

    def check(self) -> None:
        """Nothing to check: each host is checked by itself."""


def check_cluster(cluster: str | None, *, insecure: bool) -> None:
    """UsageError if the words of `--cluster` are wrong."""
    if cluster is not None:
        from netlab.runner.cluster.open import cluster_address

        cluster_address(cluster, insecure=insecure)


@contextmanager
def trial_place(
    cluster: str | None, *, insecure: bool = False, group: AgentGroup | None = None
) -> Iterator[TrialPlace]:
    """The workers of ``cluster`` (the words of `--cluster`) until the context ends; ``None``: this
    process, with the agents of ``group``. Raises HostError, and UsageError for wrong words.
    """
    if cluster is None:
        yield ThisProcess(group)
        return
    from netlab.runner.cluster.open import cluster_address, controllers_at

    with controllers_at(cluster_address(cluster, insecure=insecure)) as controllers:
        yield controllers
