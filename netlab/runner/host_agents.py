"""Agents on the hosts of a run: connect, lock, reconnect after a loss, and close.

An agent holds the lock of its host, so that no other run measures with the host meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from pathlib import PurePosixPath
from typing import Literal

from netlab import clock, errors
from netlab.experiment.hosts import Host, Inventory
from netlab.remote.agent import Agent
from netlab.remote.programs import LockOwner, lock_host, run_to_end
from netlab.runner.ending import AT_ONCE, DaemonExecutor
from netlab.runner.places import TrialPlace
from netlab.runner.progress import counted
from netlab.runner.trial_faults import FIRST_PAUSE_S, REFUSED_PAUSE_S, Absence, KeepTraceback

LOOK_S = 5.0
"""Time limit for a command that looks at a process on a host, or ends it."""

AGENT_FILE_BEGINS = "netprobe"
"""How the name of an agent's program begins; another program may have the id by now."""

Identity = tuple[str, str]


class Orphans:
    """Lost agents that may still hold the lock of their host. Threads may share the object."""

    def __init__(self) -> None:
        self._pids: dict[Identity, set[int]] = {}
        self._guard = threading.Lock()

    def add(self, agent: Agent) -> None:
        """Remember an agent that was lost: it may still run."""
        pid = agent.hello.get("pid")
        # A child process on this machine never outlives its connection.
        if isinstance(pid, int) and not agent.host.local and agent.host.os == "L":
            with self._guard:
                self._pids.setdefault(agent.identity, set()).add(pid)

    def end(self, agent: Agent) -> None:
        """End the orphans on the host of ``agent``, also stopped ones; a later call tries again."""
        with self._guard:
            pids = sorted(self._pids.get(agent.identity, ()))
        for pid in pids:
            with suppress(errors.HostError, errors.ProbeError):
                # If there is no such process, there is no output.
                look = run_to_end(agent, ("readlink", f"/proc/{pid}/exe"), LOOK_S)
                if PurePosixPath(look.text).name.startswith(AGENT_FILE_BEGINS):
                    # A host may have no program `kill`, but each shell has the command.
                    look = run_to_end(agent, ("sh", "-c", f"kill -KILL {pid}"), LOOK_S)
                if not look.killed:
                    with self._guard:
                        self._pids[agent.identity].discard(pid)


LEASE_S = 12.0
"""A probe that receives nothing for this long releases the lock of its host."""

RETURN_S = LEASE_S + 3.0
"""How long to wait for the lock of a host that came back."""

ORPHAN_S = 65.0
"""Time for which an old agent of this run may hold the lock of its host, while its test runs."""

HARVEST_S = 1.0
"""Time that the run waits for hosts that it tries again, before it measures with other hosts."""

NOTIFY_S = 1.0
"""If the agents take longer than this to end, a message names their hosts."""


AfterReturn = Literal["check", "note"]
"""What a host that came back needs: a new check of its pairs, a new note of its facts."""


class HostDefect(errors.HostError):
    """A defect of netlab in the work with one host."""


@dataclass(eq=False)
class HostAgents:
    """One agent per host, or an ``Absence`` if there is none."""

    inventory: Inventory
    owner: LockOwner
    _: KW_ONLY
    wait_s: float
    keep: KeepTraceback
    """Gets exceptions that are defects of netlab; several threads call it."""
    notify: Callable[[str], None] = lambda _sentence: None
    """Gets messages about slow steps; several threads call it."""
    place: TrialPlace = field(default_factory=TrialPlace)

    def __post_init__(self) -> None:
        self.agents: dict[str, Agent] = {}
        """Host name → agent; a lost agent stays until a new one replaces it."""
        self.absences: dict[str, Absence] = {}
        self.closing = False
        self._holders: list[Agent] = []
        self._turns: dict[Identity, threading.Lock] = {}
        """Host, whatever its names → a mutex, so that one thread at a time locks it."""
        self._orphans = Orphans()
        self._executor = DaemonExecutor(AT_ONCE)
        self._asked: dict[str, Future[Agent | errors.NetlabError]] = {}
        self._guard = threading.Lock()
        self._mending: dict[str, threading.Lock] = {}
        self._returned: dict[AfterReturn, set[str]] = {"check": set(), "note": set()}
        self._reported: set[str] = set()
        """Hosts for which the wait for an old probe was already reported."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all hosts that are, were or should be connected."""
        return tuple({**self.agents, **self.absences})

    @property
    def all_there(self) -> bool:
        """Whether no host is away or coming back."""
        any_gone = any(agent.gone for agent in self.agents.values())
        return not (any_gone or self.absences or self._asked or self._returned["check"])

    # Start

    def open_all(self, hosts: Collection[Host]) -> dict[str, errors.HostRefused]:
        """Connect to all hosts at once: host → refused login. UsageError without a compiler."""
        refusals: dict[str, errors.HostRefused] = {}
        usage_errors: list[errors.UsageError] = []
        results = self._executor.map(self._open, hosts)
        results = counted(results, len(hosts), "connecting: {} hosts", self.notify)
        for host, result in zip(hosts, results, strict=True):
            if isinstance(result, Agent):
                self.agents[host.name] = result
                continue
            self._mark_away(host.name, result, final=isinstance(result, errors.HostRefused))
            if isinstance(result, errors.HostRefused):
                refusals[host.name] = result
            if isinstance(result, errors.UsageError):
                usage_errors.append(result)
        if usage_errors:
            raise usage_errors[0]
        return refusals

    def _open(self, host: Host) -> Agent | errors.HostError | errors.UsageError:
        try:
            agent = self.place.open_agent(host, self.notify)
        except (errors.HostError, errors.UsageError) as error:
            return error
        except errors.Interrupted:
            raise
        except errors.NetlabError as error:
            return errors.HostError(f"{host.name}: {error}")
        except Exception as error:
            return self._defect(error, host.name)
        if self.closing:
            agent.close()
            return errors.HostError(f"{host.name}: the run is ending")
        return agent

    def lock_all(self, agents: Iterable[Agent]) -> None:
        """Lock every host within one time limit; LockedError if another run holds a lock."""
        give_up_s = clock.monotonic() + self.wait_s
        for agent in sorted(agents, key=lambda agent: agent.identity):
            try:
                self._lock(agent, give_up_s)
            except errors.LockedError:
                raise
            except errors.HostError as error:
                self.agents.pop(agent.host.name, None)
                self._mark_away(agent.host.name, error)
                agent.close()

    # While the run lasts

    def lose(self, name: str) -> None:
        """Reconnect at once to a host whose agent was lost; if this fails, the host is away."""
        with self._guard:
            mending = self._mending.setdefault(name, threading.Lock())
        with mending:
            agent = self.agents.get(name)
            if agent is None or not agent.gone or name in self.absences:
                return
            self._forget(agent)
            # Meanwhile other trials run, or wait for the trial that lost the host. If somebody else
            # has locked the host, `ask_again` waits longer without stopping the run.
            result = self._connect(name, RETURN_S)
            if isinstance(result, Agent):
                self._add(name, result)
            else:
                self._mark_away(name, result)
                if not self.closing:
                    self.notify(f"{result}; the run tries it again later")

    def ask_again(self, names: Iterable[str]) -> None:
        """Try those of ``names`` that are due, for up to 1 s; a later call uses a slow answer."""
        fresh = False
        for name in names:
            now_s, agent = clock.monotonic(), self.agents.get(name)
            if agent is not None and agent.gone and name not in self.absences:
                # No trial used this host when it was lost; the next try is due at once.
                self._forget(agent)
                self.absences[name] = Absence.begin("host-away", agent.why_gone, now_s, 0.0)
            absence = self.absences.get(name)
            if absence is not None and absence.is_due(now_s) and name not in self._asked:
                wait_s = max(self.wait_s, RETURN_S)
                self._asked[name] = self._executor.submit(self._connect, name, wait_s)
                fresh = True
        clock.wait_futures(self._asked.values(), HARVEST_S if fresh else 0)
        for name in [name for name, future in self._asked.items() if future.done()]:
            result = self._asked.pop(name).result()
            if isinstance(result, Agent):
                self._add(name, result)
            else:
                self._mark_away(name, result)

    def next_ask_s(self, names: Iterable[str], patience_s: float) -> float | None:
        """Seconds to the next try of hosts needed together; ``None``: none away or one given up."""
        now_s = clock.monotonic()
        asks_s = [
            HARVEST_S if name in self._asked else absence.next_ask_s(now_s, patience_s)
            for name in names
            if (absence := self.absences.get(name)) is not None
        ]
        waits_s = [seconds for seconds in asks_s if seconds is not None]
        return min(waits_s) if waits_s and len(waits_s) == len(asks_s) else None

    def take_returned(self, need: AfterReturn) -> frozenset[str]:
        """Names of the hosts that came back since the last call for this need."""
        with self._guard:
            names, self._returned[need] = self._returned[need], set()
        return frozenset(names)

    # End

    def close(self, within_s: float) -> None:
        """End every agent within ``within_s``. An agent that is starting is closed afterwards."""
        self.closing = True
        agents = list(self.agents.values())
        executor = DaemonExecutor()
        ending = {executor.submit(agent.close): agent.host.name for agent in agents}

        def late_within(seconds: float) -> str:
            return ", ".join(sorted({ending[future] for future in wait(ending, seconds).not_done}))

        left_s = within_s - NOTIFY_S
        if names := late_within(min(NOTIFY_S, within_s)):
            self.notify(f"waiting for {names} to end the probe, {left_s:.1f} s at most")
            if names := late_within(left_s):
                self.notify(f"{names}: no answer; the probe there ends by itself")
        self.place.connections.close()

    # Connections and locks

    def _defect(self, error: Exception, name: str) -> HostDefect:
        return HostDefect(f"{name}: {self.keep(error, f'host-{name}')}")

    def _connect(self, name: str, wait_s: float) -> Agent | errors.NetlabError:
        if self.closing:
            return errors.HostGone(f"{name}: the run is ending")
        result = self._open(self.inventory.host(name))
        if not isinstance(result, Agent):
            return result
        try:
            self._orphans.end(result)
            self._lock(result, clock.monotonic() + wait_s)
        except Exception as error:
            result.close()
            return error if isinstance(error, errors.NetlabError) else self._defect(error, name)
        return result

    def _lock(self, agent: Agent, give_up_s: float) -> None:
        """Lock the host of an agent, unless another agent of this run holds the lock."""
        with self._guard:
            turn = self._turns.setdefault(agent.identity, threading.Lock())
        # Without this mutex, if a host has two names, the thread of one name would wait for the
        # lock that the thread of the other name has taken.
        if not turn.acquire(timeout=max(0.0, give_up_s - clock.monotonic())):
            raise errors.LockedError(
                f"{agent.host.name}: this run locks the same host under another name"
            )
        try:
            with self._guard:
                self._holders = [holder for holder in self._holders if not holder.gone]
                identities = {holder.identity for holder in self._holders}
            if agent.identity in identities:
                return
            lock_host(agent, self.owner, give_up_s=give_up_s, patience=self._patience)
            with self._guard:
                self._holders.append(agent)
        finally:
            turn.release()

    def _patience(self, agent: Agent, holder: str) -> float:
        """Seconds to wait for the holder of a lock; an old agent of this session is killed."""
        if self.closing:
            return 0.0
        if self.owner.is_this_session(holder) or not holder:
            # A stopped agent (SIGSTOP) cannot report its owner, so ``holder`` is empty.
            self._orphans.end(agent)
        if not self.owner.is_this_run(holder):
            return 0.0
        if agent.host.name not in self._reported:
            self._reported.add(agent.host.name)
            self.notify(f"{agent.host.name}: waiting for an old probe of this run to end")
        return ORPHAN_S

    def _forget(self, agent: Agent) -> None:
        self._orphans.add(agent)
        agent.close()

    def _add(self, name: str, agent: Agent) -> None:
        with self._guard:
            self.agents[name] = agent
            self.absences.pop(name, None)
            for names in self._returned.values():
                names.add(name)
        if self.closing:
            agent.close()

    def _mark_away(self, name: str, error: errors.NetlabError, *, final: bool = False) -> None:
        final = final or isinstance(error, errors.HostKeyError | errors.UsageError)
        reasons = {
            errors.LockedError: "locked",
            HostDefect: "internal",
            errors.HostRefused: "host-refused",
        }
        of_error = (reason for kind, reason in reasons.items() if isinstance(error, kind))
        reason, now_s = next(of_error, "host-away"), clock.monotonic()
        with self._guard:
            absence = self.absences.get(name)
            if absence is not None:
                absence = absence.again(reason, str(error), now_s, final=final)
            else:
                is_refusal = isinstance(error, errors.HostRefused)
                pause_s = REFUSED_PAUSE_S if is_refusal else FIRST_PAUSE_S
                absence = Absence.begin(reason, str(error), now_s, None if final else pause_s)
            self.absences[name] = absence
