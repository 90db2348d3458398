"""The rig: the hosts of a run with their agents, and what becomes of them while it lasts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from netlab.cells import Cell
from netlab.errors import HostError, HostGone, HostRefused, LockedError, UsageError
from netlab.hostlock import lock_hosts, same_host
from netlab.hosts import Host, Inventory
from netlab.measure import Ends, address_of
from netlab.preflight import Preflight, common_addresses, preflight
from netlab.probe import Agent
from netlab.records import Record, Status, Value, utc_now
from netlab.schedule import Trial
from netlab.store import RunFolder


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """Why a cell is not measured now."""

    status: Status
    reason: str
    detail: str
    server: str = ""
    client: str = ""

    def record(self, trial: Trial, attempt: int) -> Record:
        """The record that says so."""
        return Record(
            cell=trial.cell.key,
            trial=trial.number,
            attempt=attempt,
            status=self.status,
            pairing=trial.cell.pairing,
            server=self.server,
            client=self.client,
            test=trial.cell.test,
            started_at=utc_now(),
            settings=dict(trial.cell.settings),
            values={},
            reason=self.reason,
            detail=self.detail,
        )


class Rig:
    """Connects to every host that the pairings need, locks them, and tries each pair once.

    Raises ``HostError`` where no pairing can be measured, or where a host refuses us: a wrong
    key or a refused login is a person's to mend before anything runs.
    """

    def __init__(
        self,
        inventory: Inventory,
        pairings: Iterable[str],
        *,
        owner: str,
        wait_s: float,
        say: Callable[[str], None] | None = None,
    ) -> None:
        """``say`` hears what takes long, from several threads."""
        self._inventory = inventory
        self._pairings = tuple(pairings)
        self._owner = owner
        self._wait_s = wait_s
        self._say = say
        self._agents: dict[str, Agent] = {}
        self._away: dict[str, str] = {}
        self._pairs: dict[str, tuple[Host, Host]] = {}
        self._preflights: dict[str, Preflight] = {}
        self._holders: list[Agent] = []
        self._mending = threading.Lock()
        self._closing = False
        self.warnings: list[str] = []

    def __enter__(self) -> Self:
        try:
            self._connect()
            self._lock(self._agents.values(), self._wait_s)
            self._pair_up()
            self._try_pairs()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every agent; trials under way end with ``HostGone``. Safe to call again."""
        self._closing = True
        agents = list(self._agents.values())
        if agents:
            with ThreadPoolExecutor(max_workers=len(agents)) as executor:
                list(executor.map(Agent.close, agents))

    # What the spine asks

    @property
    def unreachable(self) -> tuple[str, ...]:
        """A sentence for each host that is away and that no system of its machine stands in for."""
        here = {host.machine for host in self._inventory.hosts if host.name in self._agents}
        return tuple(
            sentence
            for name, sentence in self._away.items()
            if (machine := self._inventory.host(name).machine) is None or machine not in here
        )

    @property
    def measures_here(self) -> bool:
        """Whether some host of the run shares this machine's cores."""
        from netlab.hosts import machine_id

        here = machine_id()
        return any(
            agent.host.local or (here is not None and agent.hello.get("machine_id") == here)
            for agent in self._agents.values()
        )

    def hosts_of(self, cell: Cell) -> frozenset[str]:
        """Names of the machines that a cell keeps busy."""
        pair = self._pairs.get(cell.pairing)
        if pair is None:
            return frozenset({f"nobody-{cell.pairing}"})
        return frozenset(host.machine or host.name for host in pair)

    def ends(self, cell: Cell) -> Ends:
        """The two agents that measure a cell, as they are now."""
        server, client = self._both(cell.pairing)
        addresses = address_of(server.host, cell), address_of(client.host, cell)
        return Ends(
            server=server,
            client=client,
            same_host=same_host(server, client),
            connected_by=self._preflights[cell.pairing].connected_by(*addresses),
        )

    def reason_not_to_measure(self, cell: Cell) -> Unmeasured | None:
        """Why ``cell`` cannot be measured now; ``None`` where it can."""
        pair = self._pairs.get(cell.pairing)
        if pair is None:
            missing = self._missing(cell.pairing)
            return Unmeasured(Status.PENDING, "host-away", missing)
        server, client = (host.name for host in pair)
        for name in (server, client):
            if name in self._away:
                return Unmeasured(Status.PENDING, "host-away", self._away[name], server, client)
        try:
            addresses = address_of(pair[0], cell), address_of(pair[1], cell)
        except UsageError as error:
            reason = "address-not-available"
            return Unmeasured(Status.FAILED, reason, str(error), server, client)
        for blocked in self._preflights[cell.pairing].blocked:
            between = (blocked.server_address, blocked.client_address)
            if blocked.protocol == cell.setup.protocol and between == addresses:
                return Unmeasured(Status.FAILED, "path-blocked", blocked.sentence, server, client)
        return None

    def lost(self, trial: Trial, attempt: int, gone: HostGone) -> Record:
        """A host was lost in mid-trial: try it once more, and say what became of the trial."""
        pair = self._pairs[trial.cell.pairing]
        names = [host.name for host in pair]
        with self._mending:
            for host in pair:
                if self._agents[host.name].gone and host.name not in self._away:
                    self._reconnect(host)
        away = [self._away[name] for name in names if name in self._away]
        if away:
            return Unmeasured(Status.PENDING, "host-away", away[0], *names).record(trial, attempt)
        return Unmeasured(Status.FAILED, "host-gone", str(gone), *names).record(trial, attempt)

    def described(self) -> dict[str, Any]:
        """Each host as it was found: what changes here between sessions is noted, not refused."""
        return {
            name: {
                "os": agent.host.os,
                "machine": agent.host.machine,
                "addresses": {key: list(value) for key, value in agent.host.addresses.items()},
                "local": agent.host.local,
                **{k: v for k, v in agent.hello.items() if k not in ("type", "id", "pid")},
            }
            for name, agent in self._agents.items()
        }

    def note_facts(self, folder: RunFolder, when: str) -> None:
        """Append the facts of each host, with the route to its peer."""
        for host, peer in self._peers().items():
            agent = self._agents[host]
            if agent.gone:
                continue
            try:
                facts = agent.facts(to=peer)
            except HostGone:
                continue
            kept: Mapping[str, Value] = {k: v for k, v in facts.items() if k not in ("type", "id")}
            folder.note("facts", host=host, when=when, facts=dict(kept))

    # How it comes to be

    def _connect(self) -> None:
        hosts = self._inventory.needed(self._pairings)
        refused: dict[str, HostRefused] = {}
        with ThreadPoolExecutor(max_workers=min(16, max(1, len(hosts)))) as executor:
            for host, found in zip(hosts, executor.map(self._open, hosts), strict=True):
                if isinstance(found, Agent):
                    self._agents[host.name] = found
                else:
                    self._away[host.name] = str(found)
                    if isinstance(found, HostRefused):
                        refused[host.name] = found
        here = {agent.host.machine for agent in self._agents.values()}
        for host in hosts:
            # The other system of a machine answers at the same address with a key of its own.
            if host.name in refused and (host.machine is None or host.machine not in here):
                raise refused[host.name]

    def _pair_up(self) -> None:
        for pairing in self._pairings:
            for server, client in self._inventory.candidates(pairing):
                if server.name in self._agents and client.name in self._agents:
                    self._pairs[pairing] = (server, client)
                    break
        if not self._pairs:
            reasons = list(dict.fromkeys(self._missing(pairing) for pairing in self._pairings))
            raise HostError("no pairing can be measured: " + "; ".join(reasons))

    def _missing(self, pairing: str) -> str:
        names = {h.name for pair in self._inventory.candidates(pairing) for h in pair}
        reasons = [self._away[name] for name in sorted(names) if name in self._away]
        return "; ".join(reasons) or f"{pairing}: the inventory has no two hosts for it"

    def _try_pairs(self) -> None:
        for pairing in self._pairs:
            found = preflight(*self._both(pairing))
            self._preflights[pairing] = found
            self.warnings += [each for each in found.warnings if each not in self.warnings]

    def _open(self, host: Host) -> Agent | HostError:
        try:
            return Agent.open(host, self._say)
        except HostError as error:
            return error

    def _both(self, pairing: str) -> tuple[Agent, Agent]:
        """Its server and its client."""
        server, client = self._pairs[pairing]
        return self._agents[server.name], self._agents[client.name]

    def _reconnect(self, host: Host) -> None:
        self._agents[host.name].close()
        if self._closing:
            self._away[host.name] = f"{host.name}: the run is ending"
            return
        found = self._open(host)
        if isinstance(found, Agent):
            self._agents[host.name] = found
            try:
                self._lock([found], 0.0)
            except LockedError as error:
                self._away[host.name] = str(error)
        else:
            self._away[host.name] = str(found)

    def _lock(self, agents: Iterable[Agent], wait_s: float) -> None:
        """Hold the hosts of these agents, but for those that another agent of ours holds."""
        held = {agent.identity for agent in self._holders if not agent.gone}
        free = [agent for agent in agents if agent.identity not in held]
        self._holders += lock_hosts(free, self._owner, wait_s=wait_s)

    def _peers(self) -> dict[str, str]:
        """For each host the test address of one it measures with."""
        peers: dict[str, str] = {}
        for server, client in self._pairs.values():
            there, here = common_addresses(server, client)[0]
            peers.setdefault(server.name, here)
            peers.setdefault(client.name, there)
        return peers
