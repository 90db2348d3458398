"""The rig: the hosts of a run with their agents, and what becomes of them while it lasts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from netlab.errors import (
    HostError,
    HostGone,
    HostRefused,
    LockedError,
    ProbeError,
)
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Host, Inventory, kept_busy
from netlab.experiment.pairings import is_by_name
from netlab.experiment.records import Record, Status, Value, reason_of
from netlab.experiment.round_robin import Match, rounds_of
from netlab.experiment.schedule import Trial
from netlab.measure.ends import Ends, address_of
from netlab.remote.agent import Agent
from netlab.remote.host_lock import lock_hosts, same_host
from netlab.run.host_notes import described, peers_of
from netlab.run.observers import active_observers, look_on
from netlab.run.preflight import Preflight, is_own_address, preflight, preflight_mirror
from netlab.run.skip_reasons import Unmeasured, beyond_server, host_away, no_way
from netlab.store.run_folder import RunFolder


class HostPool:
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
        self._observed: dict[str, Agent] = {}
        """Those of hosts that only look on, by name."""
        self._away: dict[str, str] = {}
        self._pairs: dict[str, tuple[Host, Host]] = {}
        self._preflights: dict[str, Preflight] = {}
        self._unchecked: set[str] = set()
        """Pairings with a host that came back: it may have another route, or another firewall."""
        self._returned: list[str] = []
        self._holders: list[Agent] = []
        self._mending = threading.Lock()
        self._closing = False
        self.warnings: list[str] = []

    def __enter__(self) -> Self:
        try:
            self._connect()
            self._observed, away = look_on(self._inventory, self._agents, self._open)
            self.warnings += away
            self._lock([*self._agents.values(), *self._observed.values()], self._wait_s)
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
        agents = [*self._agents.values(), *self._observed.values()]
        if agents:
            with ThreadPoolExecutor(max_workers=len(agents)) as executor:
                list(executor.map(Agent.close, agents))

    # What the spine asks

    @property
    def unreachable(self) -> tuple[str, ...]:
        """A sentence for each host that is away and not replaced by a system of its machine."""
        here = {host.machine for host in self._inventory.hosts if host.name in self._agents}
        return tuple(
            sentence
            for name, sentence in self._away.items()
            if (machine := self._inventory.host(name).machine) is None or machine not in here
        )

    @property
    def measures_here(self) -> bool:
        """Whether some host of the run shares this machine's cores."""
        here = machine_id()
        return any(
            agent.host.local or (here is not None and agent.hello.get("machine_id") == here)
            for agent in self._agents.values()
        )

    def hosts_of(self, cell: Cell) -> frozenset[str]:
        """Names of the machines and shared links that a cell keeps busy."""
        pair = self._pairs.get(cell.pairing)
        if pair is None:
            return frozenset({f"nobody-{cell.pairing}"})
        return kept_busy(pair)

    def meeting_of(self, pairing: str) -> Match:
        """What a pairing by name needs to itself."""
        return self._inventory.match(pairing)

    def agents_of(self, cell: Cell) -> tuple[Agent, ...]:
        """The agents at both ends of a cell, as they are now; none where one of them is missing."""
        pair = self._pairs.get(cell.pairing, ())
        names = [host.name for host in pair if host.name not in self._away]
        agents = tuple(self._agents[name] for name in names if name in self._agents)
        return agents if len(agents) == 2 else ()

    def ends(self, cell: Cell) -> Ends:
        """The two hosts that measure a cell, with their agents as they are now."""
        server_host, client_host = self._pairs[cell.pairing]
        client = self._agents[client_host.name]
        mirror = server_host.mirror
        if mirror is not None:
            return Ends(
                server=None,
                client=client,
                same_host=is_own_address(client_host, mirror.address),
                mirror=mirror,
                mirror_name=server_host.name,
            )
        server = self._agents[server_host.name]
        addresses = address_of(server_host, cell), address_of(client_host, cell)
        networks = {"server": server_host.only_network, "client": client_host.only_network}
        return Ends(
            server=server,
            client=client,
            networks={whose: network for whose, network in networks.items() if network},
            same_host=same_host(server, client),
            observed=active_observers((server, client), self._observed),
            connected_by=self._preflights[cell.pairing].connected_by(*addresses),
        )

    def reason_not_to_measure(self, cell: Cell) -> Unmeasured | None:
        """Why ``cell`` cannot be measured now; ``None`` where it can.

        Its hosts must be free: where one of them came back, the pair is tried again before it is
        measured with. Raises ``HostGone`` when one is lost meanwhile.
        """
        pair = self._pairs.get(cell.pairing)
        if pair is None:
            missing = self._missing(cell.pairing)
            return Unmeasured(Status.PENDING, "host-away", missing)
        return (
            host_away(pair, self._away)
            or beyond_server(cell, pair)
            or self._check_again(cell.pairing)
            or no_way(cell, pair, self._preflights[cell.pairing])
        )

    def lost(self, trial: Trial, attempt: int, gone: HostGone) -> Record:
        """A host was lost in mid-trial: try it once more, and say what became of the trial."""
        pair = self._pairs[trial.cell.pairing]
        names = [host.name for host in pair]
        with self._mending:
            for host in pair:
                agent = self._agents.get(host.name)
                if agent is not None and agent.gone and host.name not in self._away:
                    self._reconnect(host)
        away = [self._away[name] for name in names if name in self._away]
        if away:
            return Unmeasured(Status.PENDING, "host-away", away[0], *names).record(trial, attempt)
        return Unmeasured(Status.FAILED, "host-gone", str(gone), *names).record(trial, attempt)

    def described(self) -> dict[str, Any]:
        """Each host as it was found: what changes here between sessions is noted, not refused."""
        return described(self._pairs.values(), self._agents | self._observed)

    def returned(self) -> frozenset[str]:
        """Names of the hosts that were lost and came back since this was asked last."""
        with self._mending:
            names, self._returned = self._returned, []
        return frozenset(names)

    def note_facts(self, folder: RunFolder, when: str, only: frozenset[str] | None = None) -> None:
        """Append the facts of each host (or of some), with the route to its peer."""
        for host, peer in peers_of(self._pairs.values()).items():
            agent = self._agents.get(host)
            if agent is None or agent.gone or (only is not None and host not in only):
                continue
            try:
                facts = agent.facts(to=peer)
            except HostGone:
                continue
            kept: Mapping[str, Value] = {k: v for k, v in facts.items() if k not in ("type", "id")}
            folder.note("facts", host=host, when=when, facts=dict(kept))

    # How it comes to be

    def _connect(self) -> None:
        needed = self._inventory.needed(self._pairings)
        hosts = [host for host in needed if host.mirror is None]
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
                there = server.mirror is not None or server.name in self._agents
                if there and client.name in self._agents:
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
        by_letter = [(pairing,) for pairing in self._pairs if not is_by_name(pairing)]
        by_name = rounds_of([self.meeting_of(each) for each in self._pairs if is_by_name(each)])
        # Pairs that share no machine are tried at the same time: there may be thousands.
        together = [*by_letter, *(tuple(match.pairing for match in one) for one in by_name)]
        with ThreadPoolExecutor(max_workers=max([1, *map(len, together)])) as executor:
            for pairings in together:
                found = dict(zip(pairings, executor.map(self._first_try, pairings), strict=True))
                self._preflights |= found
                new = dict.fromkeys(each for one in found.values() for each in one.warnings)
                self.warnings += [each for each in new if each not in self.warnings]
        if self._unchecked.issuperset(self._pairs):
            raise HostError("no pairing can be measured: " + "; ".join(self.warnings))

    def _first_try(self, pairing: str) -> Preflight:
        """Of pairs by name that cross each other's networks some may have no way that is theirs:
        they are retried when their turn comes, and the others are measured.
        """
        try:
            return self._try(pairing)
        except HostGone:
            raise
        except HostError as error:
            if not is_by_name(pairing):
                raise
            self._unchecked.add(pairing)
            return Preflight(blocked=(), warnings=(str(error),))

    def _try(self, pairing: str) -> Preflight:
        server, client = self._pairs[pairing]
        if server.mirror is not None:
            return preflight_mirror(self._agents[client.name], server)
        return preflight(self._agents[server.name], self._agents[client.name], (server, client))

    def _check_again(self, pairing: str) -> Unmeasured | None:
        """Retry a pair of which a host came back; why it cannot be measured, if so.

        Until that goes well it is done before each trial: what is mended is measured at once.
        """
        if pairing not in self._unchecked:
            return None
        server, client = (host.name for host in self._pairs[pairing])
        try:
            found = self._try(pairing)
        except HostGone:
            raise
        except HostError as error:
            return Unmeasured(Status.FAILED, "wrong-path", str(error), server, client)
        except ProbeError as error:
            reason = reason_of(error.word)
            return Unmeasured(Status.FAILED, reason, str(error), server, client)
        told = self._preflights[pairing].warnings
        self._preflights[pairing] = found
        self._unchecked.discard(pairing)
        for each in found.warnings:
            if each not in told and self._say is not None:
                self._say(f"warning: {each}")
        return None

    def _open(self, host: Host) -> Agent | HostError:
        try:
            return Agent.open(host, self._say)
        except HostError as error:
            return error

    def _reconnect(self, host: Host) -> None:
        self._agents[host.name].close()
        if self._closing:
            self._away[host.name] = f"{host.name}: the run is ending"
            return
        found = self._open(host)
        if isinstance(found, Agent):
            self._agents[host.name] = found
            self._unchecked |= {
                pairing
                for pairing, pair in self._pairs.items()
                if any(each.name == host.name for each in pair)
            }
            try:
                self._lock([found], 0.0)
            except LockedError as error:
                self._away[host.name] = str(error)
            else:
                self._returned.append(host.name)
        else:
            self._away[host.name] = str(found)

    def _lock(self, agents: Iterable[Agent], wait_s: float) -> None:
        """Hold the hosts of these agents, but for those that another agent of ours holds."""
        held = {agent.identity for agent in self._holders if not agent.gone}
        free = [agent for agent in agents if agent.identity not in held]
        self._holders += lock_hosts(free, self._owner, wait_s=wait_s)


def machine_id() -> str | None:
    """This machine's id, where it has one (machine-id(5))."""
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            return Path(path).read_text(encoding="ascii").strip() or None
        except (OSError, UnicodeDecodeError):
            continue
    return None
