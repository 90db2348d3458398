"""Agents on the hosts of a run: connected, locked, lost, asked again, and let go."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future, wait

from netlab.errors import (
    HostError,
    HostGone,
    HostKeyError,
    HostRefused,
    Interrupted,
    LockedError,
    NetlabError,
)
from netlab.experiment.hosts import Host, Inventory
from netlab.remote.agent import Agent
from netlab.remote.connections import Connections
from netlab.remote.host_lock import LockOwner, lock_hosts
from netlab.run.absence import FIRST_PAUSE_S, REFUSED_PAUSE_S, Absence
from netlab.run.daemon_executor import AT_ONCE, DaemonExecutor
from netlab.run.hosts.orphans import Orphans

LEASE_S = 12.0
"""A probe that hears nothing lets go of its host after this long."""

RETURN_S = LEASE_S + 3.0
"""What the lock of a host that came back is waited for."""

ORPHAN_S = 65.0
"""An agent of this run whose test goes on holds its host for up to this long."""

HARVEST_S = 1.0
"""What those that are asked again may take before the others are measured meanwhile."""

SAY_S = 1.0
"""Whatever takes longer at the end is said."""


class HostAgents:
    """One agent a host, and an ``Absence`` where there is none."""

    def __init__(
        self,
        inventory: Inventory,
        owner: LockOwner,
        *,
        wait_s: float,
        say: Callable[[str], None] | None = None,
    ) -> None:
        """``say`` hears what takes long, from several threads."""
        self.agents: dict[str, Agent] = {}
        """By name of the host; one that is lost stays until another takes its place."""
        self.absences: dict[str, Absence] = {}
        self.closing = False
        self._inventory = inventory
        self._owner = owner
        self._wait_s = wait_s
        self._say = say or (lambda _sentence: None)
        self._holders: list[Agent] = []
        self._orphans = Orphans()
        self._connections = Connections()
        self._executor = DaemonExecutor(AT_ONCE)
        self._asked: dict[str, Future[Agent | NetlabError]] = {}
        self._guard = threading.Lock()
        self._locking = threading.Lock()
        self._mending: dict[str, threading.Lock] = {}
        self._returned: list[str] = []
        self._came: list[str] = []
        self._told: set[str] = set()
        """Hosts of which it was said that a probe of ours still runs there."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of all hosts that are or were connected to, or should be."""
        return tuple({**self.agents, **self.absences})

    @property
    def all_there(self) -> bool:
        """Whether nobody is away, or on his way back."""
        gone = any(agent.gone for agent in self.agents.values())
        return not (gone or self.absences or self._asked or self._came)

    # At the beginning

    def open_all(self, hosts: Collection[Host]) -> dict[str, HostRefused]:
        """Connect to all of them at the same time; those that refuse us, with how they say it."""
        refused: dict[str, HostRefused] = {}
        for host, found in zip(hosts, self._executor.map(self.open, hosts), strict=True):
            if isinstance(found, Agent):
                self.agents[host.name] = found
                continue
            self._miss(host.name, found, final=isinstance(found, HostRefused))
            if isinstance(found, HostRefused):
                refused[host.name] = found
        return refused

    def open(self, host: Host) -> Agent | HostError:
        """An agent on a host, or why there is none."""
        try:
            agent = Agent.open(host, self._say, connections=self._connections)
        except HostError as error:
            return error
        except Interrupted:
            raise
        except Exception as error:
            # Whatever a host can say, it is that host's trouble alone.
            return HostError(f"{host.name}: {type(error).__name__}: {error}")
        if self.closing:
            agent.close()
            return HostError(f"{host.name}: the run is ending")
        return agent

    def lock_all(self, agents: Iterable[Agent]) -> None:
        """Hold every host; LockedError where another run does. A host lost meanwhile is away."""
        for agent in sorted(agents, key=lambda agent: agent.identity):
            try:
                self._lock(agent, self._wait_s)
            except LockedError:
                raise
            except HostError as error:
                self.agents.pop(agent.host.name, None)
                self._miss(agent.host.name, error)
                agent.close()

    # While the run lasts

    def lose(self, name: str) -> None:
        """Connect anew to a host whose agent was lost, once and now; else it is away."""
        with self._guard:
            mending = self._mending.setdefault(name, threading.Lock())
        with mending:
            agent = self.agents.get(name)
            if agent is None or not agent.gone or name in self.absences:
                return
            self._forget(agent)
            found = self._connect(name)
            if isinstance(found, Agent):
                self._take(name, found)
            else:
                self._miss(name, found)
                if not self.closing:
                    self._say(f"{found}; it is asked again")

    def ask_again(self, names: Iterable[str]) -> None:
        """Ask those of ``names`` that are away and due; takes up to a second.

        One that takes longer is taken when it is there: others are measured meanwhile.
        """
        fresh = False
        for name in names:
            self._notice_loss(name)
            absence, now_s = self.absences.get(name), time.monotonic()
            if absence is not None and absence.is_due(now_s) and name not in self._asked:
                self._asked[name] = self._executor.submit(self._connect, name)
                fresh = True
        wait(self._asked.values(), HARVEST_S if fresh else 0)
        for name in [name for name, future in self._asked.items() if future.done()]:
            found = self._asked.pop(name).result()
            if isinstance(found, Agent):
                self._take(name, found)
            else:
                self._miss(name, found)

    def next_ask_s(self, names: Iterable[str], patience_s: float) -> float | None:
        """Seconds until one of these hosts is worth asking; ``None`` where none is any more."""
        now_s = time.monotonic()
        found = [
            HARVEST_S if name in self._asked else absence.next_ask_s(now_s, patience_s)
            for name in names
            if (absence := self.absences.get(name)) is not None
        ]
        return min((each for each in found if each is not None), default=None)

    def came_back(self) -> frozenset[str]:
        """Names of the hosts that were connected to anew since this was asked last."""
        with self._guard:
            names, self._came = self._came, []
        return frozenset(names)

    def returned(self) -> frozenset[str]:
        """The same, for whoever writes down what they are now."""
        with self._guard:
            names, self._returned = self._returned, []
        return frozenset(names)

    # At the end

    def close(self, within_s: float) -> None:
        """End every agent, for so long at most; one that is being started ends when it is there."""
        self.closing = True
        agents = list(self.agents.values())
        executor = DaemonExecutor()
        ending = {executor.submit(agent.close): agent.host.name for agent in agents}
        left = wait(ending, min(SAY_S, within_s)).not_done
        if left:
            names = ", ".join(sorted({ending[each] for each in left}))
            left_s = within_s - SAY_S
            self._say(f"waits for {names} to end the probe there, {left_s:.1f} s at most")
            left = wait(left, left_s).not_done
        if left:
            names = ", ".join(sorted({ending[each] for each in left}))
            self._say(f"{names}: no answer; the probe there ends by itself")
        self._connections.close()

    # How

    def _connect(self, name: str) -> Agent | NetlabError:
        """A new agent that holds its host, or why there is none."""
        if self.closing:
            return HostGone(f"{name}: the run is ending")
        found = self.open(self._inventory.host(name))
        if not isinstance(found, Agent):
            return found
        try:
            self._orphans.end(found)
            self._lock(found, max(self._wait_s, RETURN_S))
        except Exception as error:
            found.close()
            if isinstance(error, NetlabError):
                return error
            return HostError(f"{name}: {type(error).__name__}: {error}")
        return found

    def _lock(self, agent: Agent, wait_s: float) -> None:
        """Hold an agent's host, unless another agent of ours does."""
        with self._locking:
            held = {each.identity for each in self._holders if not each.gone}
        if agent.identity in held:
            return
        found = lock_hosts([agent], self._owner, wait_s=wait_s, patience=self._patience)
        with self._locking:
            self._holders = [each for each in self._holders if not each.gone] + found

    def _patience(self, agent: Agent, holder: str) -> float:
        """Seconds to wait for who holds a host: one of our own is ended, or ends by itself."""
        if self.closing:
            return 0.0
        if self._owner.is_this_session(holder) or not holder:
            # One that is stopped does not even say whose it is.
            self._orphans.end(agent)
        if not self._owner.is_this_run(holder):
            return 0.0
        if agent.host.name not in self._told:
            self._told.add(agent.host.name)
            self._say(f"{agent.host.name}: waits for a probe of this run there to end")
        return ORPHAN_S

    def _notice_loss(self, name: str) -> None:
        """A host that was lost while nobody measured with it is asked at once."""
        agent = self.agents.get(name)
        if agent is not None and agent.gone and name not in self.absences:
            self._forget(agent)
            now_s = time.monotonic()
            self.absences[name] = Absence.begin("host-away", agent.why_gone, now_s, 0.0)

    def _forget(self, agent: Agent) -> None:
        self._orphans.add(agent)
        agent.close()

    def _take(self, name: str, agent: Agent) -> None:
        with self._guard:
            self.agents[name] = agent
            self.absences.pop(name, None)
            self._returned.append(name)
            self._came.append(name)
        if self.closing:
            agent.close()

    def _miss(self, name: str, error: NetlabError, *, final: bool = False) -> None:
        """A host is away, or still is."""
        final = final or isinstance(error, HostKeyError)
        reason = _reason_of(error)
        now_s = time.monotonic()
        with self._guard:
            before = self.absences.get(name)
            if before is not None:
                found = before.again(reason, str(error), now_s, final=final)
            else:
                refused = isinstance(error, HostRefused)
                pause_s = REFUSED_PAUSE_S if refused else FIRST_PAUSE_S
                found = Absence.begin(reason, str(error), now_s, None if final else pause_s)
            self.absences[name] = found


def _reason_of(error: NetlabError) -> str:
    if isinstance(error, LockedError):
        return "locked"
    return "host-refused" if isinstance(error, HostRefused) else "host-away"
