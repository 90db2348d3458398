"""The hosts of a run: which pairs of them measure, which are away, and the notes of their facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Self

from netlab.errors import HostError, HostGone, ProbeError
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Host, Match, match_of
from netlab.experiment.schedule import Trial
from netlab.measurement.ends import Ends, address_of, connected_as_set
from netlab.remote.agent import Agent
from netlab.remote.programs import same_host
from netlab.runner import trial_faults
from netlab.runner.ending import ask_all, shielded
from netlab.runner.host_agents import HostAgents
from netlab.runner.preflight import (
    Preflight,
    common_addresses,
    ends_without_agent,
    preflight,
    preflight_service,
)
from netlab.runner.survey import HostLeftovers, leftovers_of
from netlab.runner.trial_faults import Absence, HostValues, PathChecks, Unmeasured
from netlab.store.reader import machine_id
from netlab.store.run_folder import RunFolder
from netlab.trial.record import Record, Status, Value

Pairs = Collection[tuple[Host, Host]]
"""Server and client of each pairing."""


Routes = Mapping[str, Mapping[str, tuple[str, str]]]
"""Host name → its test address → name and address of one peer that is reached from this address:
enough to find each interface, however many hosts are behind it. The first peer of a host is on
another machine, if possible. If this peer runs no agent, the test address is empty."""


def routes_of(pairs: Pairs) -> Routes:
    """The routes of all hosts of these pairs that run an agent."""
    routes: dict[str, dict[str, tuple[str, str]]] = {}
    for server, client in sorted(pairs, key=lambda it: it[0].machine_name == it[1].machine_name):
        if not server.has_agent:
            to_server = server.name, server.service_addresses[0]
            routes.setdefault(client.name, {}).setdefault("", to_server)
            continue
        # Without a common network there is no route. The trials of the pairing report this.
        with suppress(HostError):
            for server_address, client_address in common_addresses(server, client):
                to_client, to_server = (client.name, client_address), (server.name, server_address)
                routes.setdefault(server.name, {}).setdefault(server_address, to_client)
                routes.setdefault(client.name, {}).setdefault(client_address, to_server)
    return routes


def _first_peer(routes: Routes, host: str) -> str:
    return next(iter(routes[host].values()))[1]


NOT_KEPT = ("type", "id")
OF_ROUTE = ("route_", "interface_")
"""Prefixes of the facts that depend on the route to a peer."""


class FactNotes:
    """Notes the facts of hosts, and reports hosts that were restarted between two notes."""

    def __init__(self, notify: Callable[[str], None]) -> None:
        self._notify = notify
        self._boots: dict[str, object] = {}
        self._interfaces: set[tuple[str, object]] = set()
        """(host, interface) whose facts were noted."""
        self.values: dict[str, HostValues] = {}

    def note(
        self, folder: RunFolder, agents: Mapping[str, Agent], routes: Routes, moment: str
    ) -> None:
        """Note the facts of each host, with the route to its first peer; a warning if that is
        impossible. ``moment``: when this is, such as ``before`` the run.
        """
        answers = ask_all(
            {host: partial(it.facts, to=_first_peer(routes, host)) for host, it in agents.items()}
        )
        for host, agent in agents.items():
            facts = answers[host]
            if isinstance(facts, Exception):
                self._notify(f"warning: {host}: its facts cannot be read: {facts}")
                continue
            self.values[host] = HostValues.of(facts, agent.hello)
            noted: Mapping[str, Value] = {k: v for k, v in facts.items() if k not in NOT_KEPT}
            try:
                # The next durable line of the journal makes this line durable, too.
                with shielded():
                    folder.note("facts", durable=False, host=host, when=moment, facts=dict(noted))
            except ValueError as error:
                self._notify(f"warning: {host}: its facts cannot be saved: {error}")
                continue
            self._interfaces.add((host, facts.get("route_interface")))
            if (boot := facts.get("boot_id")) is not None:
                if self._boots.setdefault(host, boot) != boot:
                    self._notify(f"{host} was restarted: its boot id has changed")
                self._boots[host] = boot

    def note_routes(self, folder: RunFolder, agents: Mapping[str, Agent], routes: Routes) -> None:
        """Note the facts of each interface with a test address that ``note`` left out, once."""
        requests = {
            (host, address, peer): partial(agent.facts, to=peer_address)
            for host, agent in agents.items()
            for address, (peer, peer_address) in routes.get(host, {}).items()
            if address and peer_address != _first_peer(routes, host)
        }
        for (host, address, peer), answer in ask_all(requests).items():
            try:
                if isinstance(answer, Exception):
                    raise answer
                if (host, answer.get("route_interface")) in self._interfaces:
                    continue
                self._interfaces.add((host, answer.get("route_interface")))
                facts = {k: v for k, v in answer.items() if k.startswith(OF_ROUTE)}
                data = {"host": host, "address": address, "peer": peer, "facts": facts}
                with shielded():
                    folder.note("route", durable=False, **data)
            except (HostError, ProbeError, ValueError) as error:
                words = f"the facts of its route to {peer} are not noted: {error}"
                self._notify(f"warning: {host}: {words}")


CLOSE_S = 3.0
"""Time for all hosts together to end their agents."""

NO_WAY = (
    *("connect-timeout", "deadline", "no-answer", "no-peer"),
    *("no-traffic", "peer-vanished", "too-few-messages", "unreachable"),
)
"""Reasons of a failed trial after which the run checks whether packets still pass."""


class HostPool:
    """All hosts of a run. On entry, the pool connects to each host, locks it, and checks each pair.

    It raises HostError if no pairing can be measured, LockedError if another run measures with one
    of the hosts. If only some hosts are away or refuse the login, the other pairings are measured.
    """

    def __init__(self, hosts: HostAgents, pairings: Iterable[str]) -> None:
        """``hosts``: of which none is connected yet."""
        self._hosts, self._inventory, self._notify = hosts, hosts.inventory, hosts.notify
        self._pairings = tuple(pairings)
        self._pairs: dict[str, tuple[Host, Host]] = {}
        self._ways = PathChecks(self._pairs, self._try, self._notify, keep=hosts.keep)
        self._facts = FactNotes(self._notify)
        self._unchecked_at_first: list[str] = []
        self._onlookers: frozenset[str] = frozenset()
        """Names of the observed hosts (their counters are read) that are no end of a pairing."""
        self.warnings: list[str] = []
        self.leftovers = HostLeftovers()
        """The settings that earlier runs changed and did not put back."""

    def __enter__(self) -> Self:
        try:
            needed = self._inventory.needed(self._pairings)
            ends = {host.name: host for host in needed if host.has_agent}
            self._onlookers = frozenset(self._inventory.observed) - ends.keys()
            observed = {name: self._inventory.host(name) for name in self._onlookers}
            errors = self._hosts.open_all((ends | observed).values())
            self._hosts.lock_all(list(self._hosts.agents.values()))
            self._pair_up()
            refusals = [error for name, error in errors.items() if name in ends]
            if not self._pairs and refusals:
                # A person must correct a wrong key or a refused login; the error explains how.
                raise refusals[0]
            if not self._pairs:
                raise HostError("no pairing can be measured: " + "; ".join(self.missing))
            self.leftovers = leftovers_of(self._hosts.agents)
            absences = self._hosts.absences
            away = [absences[name] for name in sorted(self._onlookers) if name in absences]
            unobserved = [f"not observed: {absence.sentence}" for absence in away]
            self.warnings += [*self.leftovers.warnings, *self.unreachable, *unobserved]
            self._try_pairs()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End every agent within 3 s; running trials end with ``HostGone``. Safe to call again."""
        if not self._hosts.closing:
            self._hosts.close(CLOSE_S)

    @property
    def unreachable(self) -> tuple[str, ...]:
        """A sentence for each host of a pairing that is away, unless replaced (`_is_replaced`)."""
        return tuple(
            absence.sentence
            for name, absence in list(self._hosts.absences.items())
            if not self._is_replaced(name) and name not in self._onlookers
        )

    @property
    def missing(self) -> tuple[str, ...]:
        """A sentence for each pairing that lacks a host, or whose path could not be checked."""
        unpaired = [pairing for pairing in self._pairings if pairing not in self._pairs]
        return tuple(dict.fromkeys([*map(self._missing, unpaired), *self._unchecked_at_first]))

    @property
    def measures_here(self) -> bool:
        """Whether a host of the run is this machine, so that a trial uses its CPU cores."""
        own_id = machine_id()
        return any(
            agent.host.local or (own_id is not None and agent.hello.get("machine_id") == own_id)
            for agent in self._hosts.agents.values()
        )

    def hosts_of(self, cell: Cell) -> Collection[Hashable]:
        """The machines and shared links that a cell uses: ``Match.needs``."""
        pair = self._pairs.get(cell.pairing)
        return [f"nobody-{cell.pairing}"] if pair is None else match_of(cell.pairing, pair).needs

    def match_of(self, pairing: str) -> Match:
        """The machines and links that no other trial may use while one of this pairing runs."""
        return match_of(pairing, self._inventory.pair(pairing))

    def agents_of(self, cell: Cell) -> tuple[Agent, ...]:
        """The current agents at both ends of a cell; empty if one of them is missing."""
        pair = self._pairs.get(cell.pairing, ())
        names = [host.name for host in pair if host.name not in self._hosts.absences]
        agents = tuple(self._hosts.agents[name] for name in names if name in self._hosts.agents)
        return agents if len(agents) == 2 else ()

    def ends(self, cell: Cell) -> Ends:
        """The two ends of a cell, with the agents that their hosts have now."""
        server_host, client_host = self._pairs[cell.pairing]
        client = self._hosts.agents[client_host.name]
        if not server_host.has_agent:
            return ends_without_agent(server_host, client)
        agents = self._hosts.agents
        server = agents[server_host.name]
        observed = {name: agents[name] for name in self._inventory.observed if name in agents}
        addresses = address_of(server_host, cell), address_of(client_host, cell)
        networks = {"server": server_host.only_network, "client": client_host.only_network}
        return Ends(
            server=server,
            client=client,
            networks={end: network for end, network in networks.items() if network},
            same_host=same_host(server, client),
            observed=active_observers((server, client), observed),
            connected_by=self._ways.of(cell.pairing).connected_by(*addresses)
            | connected_as_set(cell.setup),
        )

    def reason_not_to_measure(self, cell: Cell) -> Unmeasured | None:
        """Why ``cell`` cannot be measured now; ``None`` if it can. Raises HostGone. The path may be
        checked again: keep other trials off the hosts meanwhile.
        """
        pair = self._pairs.get(cell.pairing)
        if pair is None:
            return self._unpaired(cell)
        return (
            trial_faults.host_away(pair, self._hosts.absences)
            or trial_faults.beyond_server(cell, pair)
            or trial_faults.beyond_account(cell, pair, self._facts.values)
            or self._ways.obstacle(cell)
        )

    def refusals(self, cells: Iterable[Cell]) -> Counter[str]:
        """Reason why the login's account may not measure cells → their number."""
        obstacles = (
            trial_faults.beyond_account(cell, pair, self._facts.values)
            for cell in cells
            if (pair := self._pairs.get(cell.pairing)) is not None
        )
        return Counter(obstacle.detail for obstacle in obstacles if obstacle is not None)

    def lost(self, trial: Trial, attempt: int, error: HostGone) -> Record:
        """Try to connect to each lost host again; return the record of the trial that lost it."""
        pair = self._pairs[trial.cell.pairing]
        names = [host.name for host in pair]
        agents = [self._hosts.agents[name] for name in names if name in self._hosts.agents]
        died = any(agent.gone and agent.died for agent in agents)
        for agent in agents:
            self._hosts.lose(agent.host.name)
        self._pair_returned()
        if self._hosts.closing:
            return trial_faults.interrupted(trial, attempt, *names)
        away = trial_faults.host_away(pair, self._hosts.absences)
        if away is not None:
            return away.record(trial, attempt)
        reason = "probe-died" if died else "host-gone"
        return Unmeasured(Status.FAILED, reason, str(error), *names).record(trial, attempt)

    # Hosts that are away

    def is_away(self, cell: Cell) -> bool:
        """Whether a host of a cell is away, or their path is cut (passes no packets)."""
        pair = self._pairs.get(cell.pairing)
        if pair is None:
            return True
        return any(host.name in self._hosts.absences for host in pair) or self._ways.is_cut(cell)

    def check_path_again(self, record: Record, cell: Cell) -> Record:
        """Check whether packets still pass, after a trial that received nothing from its peer. The
        record is returned, with this reason if its packets are longer than the path carries now.
        """
        found = None
        if record.status is Status.FAILED and record.reason in NO_WAY:
            with suppress(HostGone):
                found = self._ways.look_again(cell)
        if found is None or found.reason != trial_faults.PATH_MTU:
            return record
        values = {**record.values, **found.values}
        return replace(
            record, status=found.status, reason=found.reason, detail=found.detail, values=values
        )

    def reason_left(self, cell: Cell) -> Unmeasured | None:
        """Why ``cell`` was never tried, as far as is known; nothing is checked again. ``None`` if
        there is no obstacle."""
        pair = self._pairs.get(cell.pairing)
        if pair is None:
            return self._unpaired(cell)
        return trial_faults.host_away(pair, self._hosts.absences) or self._ways.reason_left(cell)

    def ask_again(self) -> None:
        """Try again to reach each absent host, and check each cut path, if its next try is due."""
        if self._hosts.all_there and not self._ways.cut:
            return
        self._hosts.ask_again([name for name in self._hosts.names if not self._is_replaced(name)])
        self._pair_returned()
        self._ways.ask_again()

    def next_ask_s(self, cells: Collection[Cell], patience_s: float) -> float | None:
        """Seconds until a host or path of these cells is tried again; ``None`` if none will be."""
        pairings = dict.fromkeys(cell.pairing for cell in cells)
        awaited = self._ways.next_asks_s(cells, patience_s)
        for pairing in pairings:
            own_pair = self._pairs.get(pairing)
            pairs = self._inventory.candidates(pairing) if own_pair is None else (own_pair,)
            for names in ([host.name for host in pair] for pair in pairs):
                if not any(map(self._is_replaced, names)):
                    awaited.append(self._hosts.next_ask_s(names, patience_s))
        return min((seconds for seconds in awaited if seconds is not None), default=None)

    def why_away(self, cells: Iterable[Cell]) -> tuple[str, ...]:
        """A sentence for each host or path that prevents the measurement of these cells."""
        pairings = dict.fromkeys(cell.pairing for cell in cells)
        away = [absence.sentence for pairing in pairings for absence in self._away_of(pairing)]
        cuts = [it.sentence for way, it in list(self._ways.cut.items()) if way[0] in pairings]
        return tuple(dict.fromkeys([*away, *cuts]))

    # Notes of the run folder

    def host_descriptions(self) -> dict[str, Any]:
        """Host name → its data from the inventory and from the greeting (``hello``) of its agent. A
        host without an agent has the address and the port of its echo and of each of its servers. A
        host that changed between sessions is measured anyway.
        """
        without_agent: dict[str, Any] = {}
        for server, _ in self._pairs.values():
            if not server.has_agent:
                mirror = {} if server.mirror is None else {"mirror": server.mirror}
                services = {**server.serves, **mirror}
                places = {name: f"{at.address} port {at.port}" for name, at in services.items()}
                own = {"os": server.os, "machine": server.machine}
                without_agent[server.name] = {**own, **places}
        return without_agent | {
            name: {
                "os": agent.host.os,
                "machine": agent.host.machine,
                "addresses": {key: list(value) for key, value in agent.host.addresses.items()},
                "local": agent.host.local,
                **{k: v for k, v in agent.hello.items() if k not in ("type", "id", "pid")},
            }
            for name, agent in self._hosts.agents.items()
        }

    def returned(self) -> frozenset[str]:
        """Names of the hosts that came back since the last call."""
        return self._hosts.take_returned("note")

    def note_facts(self, folder: RunFolder, at: str, only: frozenset[str] | None = None) -> None:
        """Note the facts of each host (or only of those in ``only``) and the route to its peer."""
        routes = routes_of(self._pairs.values())
        agents = {
            name: agent
            for name, agent in list(self._hosts.agents.items())
            if name in routes and not agent.gone and (only is None or name in only)
        }
        self._facts.note(folder, agents, routes, at)

    def note_routes(self, folder: RunFolder) -> None:
        """Note the routes from the test addresses of each host that ``note_facts`` leaves out."""
        agents = {name: agent for name, agent in list(self._hosts.agents.items()) if not agent.gone}
        self._facts.note_routes(folder, agents, routes_of(self._pairs.values()))

    # Pairs

    def _is_replaced(self, name: str) -> bool:
        """Whether the host's machine runs another system now, so that the host cannot come back."""
        machine = self._inventory.host(name).machine
        return machine is not None and any(
            agent.host.machine == machine
            and other_name != name
            and other_name not in self._hosts.absences
            for other_name, agent in list(self._hosts.agents.items())
        )

    def _pair_up(self) -> None:
        present = {name for name in self._hosts.agents if name not in self._hosts.absences}
        for pairing in self._pairings:
            for server, client in self._inventory.candidates(pairing):
                serves = not server.has_agent or server.name in present
                if pairing not in self._pairs and serves and client.name in present:
                    self._pairs[pairing] = (server, client)
                    self._ways.doubt([pairing])

    def _pair_returned(self) -> None:
        """Pair hosts that came back. Their routes may have changed, so they are checked again."""
        names = self._hosts.take_returned("check")
        if not names:
            return
        self._pair_up()
        pairs = self._pairs.items()
        self._ways.doubt(key for key, pair in pairs if any(host.name in names for host in pair))

    def _away_of(self, pairing: str) -> list[Absence]:
        absences = self._hosts.absences
        names = {host.name for pair in self._inventory.candidates(pairing) for host in pair}
        return [absences[name] for name in sorted(names) if name in absences]

    def _unpaired(self, cell: Cell) -> Unmeasured:
        away = self._away_of(cell.pairing)
        reason = away[0].reason if away else "no-host"
        return Unmeasured(Status.PENDING, reason, self._missing(cell.pairing))

    def _missing(self, pairing: str) -> str:
        sentences = dict.fromkeys(absence.sentence for absence in self._away_of(pairing))
        return "; ".join(sentences) or self._inventory.why_not(pairing)

    def _try_pairs(self) -> None:
        together = trial_faults.groups_without_overlap(self._pairs, self.match_of)
        warnings, self._unchecked_at_first = self._ways.try_all(together)
        self.warnings += [warning for warning in warnings if warning not in self.warnings]
        defects = any(agent.gone for agent in self._hosts.agents.values()) or self._ways.has_defects
        if not defects and self._ways.unchecked.issuperset(self._pairs):
            raise HostError("no pairing can be measured: " + "; ".join(self._unchecked_at_first))

    def _try(self, pairing: str) -> Preflight:
        server, client = self._pairs[pairing]
        agents = self._hosts.agents
        if not server.has_agent:
            return preflight_service(agents[client.name], server)
        return preflight(agents[server.name], agents[client.name], (server, client))


def active_observers(ends: Sequence[Agent], observed: Mapping[str, Agent]) -> tuple[Agent, ...]:
    """The agents of the observed hosts that are not among ``ends`` and that have not been lost."""
    names = {agent.host.name for agent in ends}
    return tuple(agent for name, agent in observed.items() if name not in names and not agent.gone)
