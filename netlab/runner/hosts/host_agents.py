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
    UsageError,
)
from netlab.experiment.hosts import Host, Inventory
from netlab.remote.agent import Agent
from netlab.remote.connections import Connections
from netlab.remote.host_lock import LockOwner, lock_host
from netlab.runner.absence import FIRST_PAUSE_S, REFUSED_PAUSE_S, Absence
from netlab.runner.daemon_executor import AT_ONCE, DaemonExecutor
from netlab.runner.hosts.agent_group import AgentGroup
from netlab.runner.hosts.orphans import Identity, Orphans
from netlab.runner.trial_faults import KeepTraceback

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


class HostDefect(HostError):
    """netlab itself failed while it dealt with a host."""


class HostAgents:
    """One agent a host, and an ``Absence`` where there is none."""

    def __init__(
        self,
        inventory: Inventory,
        owner: LockOwner,
        *,
        wait_s: float,
        keep: KeepTraceback,
        say: Callable[[str], None] | None = None,
        opened: AgentGroup | None = None,
    ) -> None:
        """``say`` hears what takes long, and ``keep`` gets defects, both from several threads.
        ``opened``: agents that need no login at the beginning.
        """
        self.agents: dict[str, Agent] = {}
        """By name of the host; one that is lost stays until another takes its place."""
        self.absences: dict[str, Absence] = {}
        self.closing = False
        self._inventory = inventory
        self._owner = owner
        self._wait_s = wait_s
        self._keep = keep
        self._say = say or (lambda _sentence: None)
        self._holders: list[Agent] = []
        self._turns: dict[Identity, threading.Lock] = {}
        """Whose turn it is to lock a host: it may have several names."""
        self._orphans = Orphans()
        self._opened = opened
        self._connections = opened.connections if opened else Connections()
        self._executor = DaemonExecutor(AT_ONCE)
        self._asked: dict[str, Future[Agent | NetlabError]] = {}
        self._guard = threading.Lock()
        self._mending: dict[str, threading.Lock] = {}
        self._unnoted: list[str] = []
        self._unpaired: list[str] = []
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
        return not (gone or self.absences or self._asked or self._unpaired)

    # At the beginning

    def open_all(self, hosts: Collection[Host]) -> dict[str, HostRefused]:
        """Connect to all of them at the same time; those that refuse us, with how they say it.

        Raises UsageError where this machine lacks what all of netlab needs, such as a compiler.
        """
        refused: dict[str, HostRefused] = {}
        lacking: list[UsageError] = []
        for host, found in zip(hosts, self._executor.map(self._first, hosts), strict=True):
            if isinstance(found, Agent):
                self.agents[host.name] = found
                continue
            self._miss(host.name, found, final=isinstance(found, HostRefused))
            if isinstance(found, HostRefused):
                refused[host.name] = found
            if isinstance(found, UsageError):
                lacking.append(found)
        if lacking:
            raise lacking[0]
        return refused

    def _first(self, host: Host) -> Agent | HostError | UsageError:
        agent = self._opened.hand_over(host) if self._opened else None
        return agent or self._open(host)

    def _open(self, host: Host) -> Agent | HostError | UsageError:
        """An agent on a host, or why there is none."""
        try:
            agent = Agent.open(host, self._say, connections=self._connections)
        except (HostError, UsageError) as error:
            return error
        except Interrupted:
            raise
        except NetlabError as error:
            return HostError(f"{host.name}: {error}")
        except Exception as error:
            return self._defect(error, host.name)
        if self.closing:
            agent.close()
            return HostError(f"{host.name}: the run is ending")
        return agent

    def lock_all(self, agents: Iterable[Agent]) -> None:
        """Hold every host; LockedError where another run does, however many are waited for. A host
        lost meanwhile is away.
        """
        give_up_s = time.monotonic() + self._wait_s
        for agent in sorted(agents, key=lambda agent: agent.identity):
            try:
                self._lock(agent, give_up_s)
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
            # Others measure meanwhile, or wait for this: whoever locked the host is waited for
            # beside the run.
            found = self._connect(name, RETURN_S)
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
                wait_s = max(self._wait_s, RETURN_S)
                self._asked[name] = self._executor.submit(self._connect, name, wait_s)
                fresh = True
        wait(self._asked.values(), HARVEST_S if fresh else 0)
        for name in [name for name, future in self._asked.items() if future.done()]:
            found = self._asked.pop(name).result()
            if isinstance(found, Agent):
                self._take(name, found)
            else:
                self._miss(name, found)

    def next_ask_s(self, names: Iterable[str], patience_s: float) -> float | None:
        """Seconds until one of these hosts, which are needed together, is worth asking; ``None``
        where none is away, or one of them is not worth it any more.
        """
        now_s = time.monotonic()
        found = [
            HARVEST_S if name in self._asked else absence.next_ask_s(now_s, patience_s)
            for name in names
            if (absence := self.absences.get(name)) is not None
        ]
        waits_s = [each for each in found if each is not None]
        return min(waits_s) if waits_s and len(waits_s) == len(found) else None

    def take_unpaired(self) -> frozenset[str]:
        """Names of the hosts that came back since this was asked last: their pairs are in doubt."""
        with self._guard:
            names, self._unpaired = self._unpaired, []
        return frozenset(names)

    def take_unnoted(self) -> frozenset[str]:
        """The same for whoever writes down what they are now."""
        with self._guard:
            names, self._unnoted = self._unnoted, []
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

    def _defect(self, error: Exception, name: str) -> HostDefect:
        return HostDefect(f"{name}: {self._keep(error, f'host-{name}')}")

    def _connect(self, name: str, wait_s: float) -> Agent | NetlabError:
        """A new agent that holds its host, or why there is none."""
        if self.closing:
            return HostGone(f"{name}: the run is ending")
        found = self._open(self._inventory.host(name))
        if not isinstance(found, Agent):
            return found
        try:
            self._orphans.end(found)
            self._lock(found, time.monotonic() + wait_s)
        except Exception as error:
            found.close()
            return error if isinstance(error, NetlabError) else self._defect(error, name)
        return found

    def _lock(self, agent: Agent, give_up_s: float) -> None:
        """Hold an agent's host, unless another agent of ours does."""
        with self._guard:
            turn = self._turns.setdefault(agent.identity, threading.Lock())
        # Two names of one host at once: the second would wait for the first, which is our own.
        if not turn.acquire(timeout=max(0.0, give_up_s - time.monotonic())):
            raise LockedError(f"{agent.host.name}: its host is being locked under another name")
        try:
            with self._guard:
                self._holders = [each for each in self._holders if not each.gone]
                held = {each.identity for each in self._holders}
            if agent.identity in held:
                return
            lock_host(agent, self._owner, give_up_s=give_up_s, patience=self._patience)
            with self._guard:
                self._holders.append(agent)
        finally:
            turn.release()

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
            self._unnoted.append(name)
            self._unpaired.append(name)
        if self.closing:
            agent.close()

    def _miss(self, name: str, error: NetlabError, *, final: bool = False) -> None:
        """A host is away, or still is."""
        final = final or isinstance(error, HostKeyError | UsageError)
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
    if isinstance(error, HostDefect):
        return "internal"
    return "host-refused" if isinstance(error, HostRefused) else "host-away"
