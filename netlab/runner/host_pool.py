"""The hosts of a run with their agents: which pairs of hosts measure, and which hosts are away.

A pairing is two hosts between which cells (combinations of settings) are measured; a trial is one
execution of a cell. An agent is the program that netlab runs on a host.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from netlab.errors import HostError, HostGone
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Host, Inventory, Match, kept_busy
from netlab.experiment.records import Record, Status
from netlab.experiment.schedule import Trial
from netlab.measurement.ends import Ends, address_of, connected_as_set
from netlab.remote.agent import Agent
from netlab.remote.host_lock import LockOwner, same_host
from netlab.runner.absence import Absence
from netlab.runner.hosts.fact_notes import FactNotes
from netlab.runner.hosts.host_agents import HostAgents
from netlab.runner.hosts.host_notes import host_descriptions, peers_of, routes_of
from netlab.runner.hosts.leftovers import HostLeftovers, leftovers_of
from netlab.runner.hosts.path_checks import PathChecks, groups_without_overlap
from netlab.runner.hosts.trial_place import TrialPlace
from netlab.runner.observers import active_observers
from netlab.runner.preflight import Preflight, ends_without_agent, preflight, preflight_service
from netlab.runner.skip_reasons import (
    Unmeasured,
    beyond_account,
    beyond_server,
    host_away,
    interrupted,
)
from netlab.runner.trial_faults import KeepTraceback
from netlab.store.reader import machine_id
from netlab.store.run_folder import RunFolder

CLOSE_S = 3.0
"""Time for all hosts together to end their agents."""

NO_WAY = frozenset(
    [
        "connect-timeout",
        "deadline",
        "no-answer",
        "no-peer",
        "no-traffic",
        "peer-vanished",
        "unreachable",
    ]
)
"""Reasons of a failed trial after which the run checks whether packets still pass."""


class HostPool:
    """All hosts of a run. On entry, the pool connects to each host, locks it, and checks each pair.

    If a host of a pairing is away or refuses the login, the other pairings are measured.
    Entering the context raises ``HostError`` if no pairing can be measured, ``LockedError`` if
    another run measures with one of the hosts.
    """

    def __init__(
        self,
        inventory: Inventory,
        pairings: Iterable[str],
        *,
        owner: LockOwner,
        wait_s: float,
        keep: KeepTraceback,
        notify: Callable[[str], None] | None = None,
        place: TrialPlace | None = None,
    ) -> None:
        """See ``HostAgents``."""
        self._inventory = inventory
        self._pairings = tuple(pairings)
        self._notify = notify or (lambda _sentence: None)
        self._hosts = HostAgents(
            inventory, owner, wait_s=wait_s, keep=keep, notify=notify, place=place
        )
        self._pairs: dict[str, tuple[Host, Host]] = {}
        self._ways = PathChecks(self._pairs, self._try, self._notify, keep=keep)
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
            self.warnings += [*self.leftovers.warnings, *self.unreachable, *self._unobserved]
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
        """End every agent within 3 s; running trials end with ``HostGone``. Safe to call again."""
        if not self._hosts.closing:
            self._hosts.close(CLOSE_S)

    # State for run.py

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
        sentences = map(self._missing, unpaired)
        return tuple(dict.fromkeys([*sentences, *self._unchecked_at_first]))

    @property
    def measures_here(self) -> bool:
        """Whether a host of the run is this machine, so that a trial uses its CPU cores."""
        own_id = machine_id()
        return any(
            agent.host.local or (own_id is not None and agent.hello.get("machine_id") == own_id)
            for agent in self._hosts.agents.values()
        )

    def hosts_of(self, cell: Cell) -> frozenset[str]:
        """Names of the machines and shared links that a cell uses."""
        pair = self._pairs.get(cell.pairing)
        if pair is None:
            return frozenset({f"nobody-{cell.pairing}"})
        return kept_busy(pair)

    def match_of(self, pairing: str) -> Match:
        """The ``Match`` of a pairing: the machines and the links that no other trial may use
        while a trial of this pairing runs."""
        return self._inventory.match(pairing)

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
        server = self._hosts.agents[server_host.name]
        addresses = address_of(server_host, cell), address_of(client_host, cell)
        networks = {"server": server_host.only_network, "client": client_host.only_network}
        return Ends(
            server=server,
            client=client,
            networks={end: network for end, network in networks.items() if network},
            same_host=same_host(server, client),
            observed=active_observers((server, client), self._observed),
            connected_by=self._ways.of(cell.pairing).connected_by(*addresses)
            | connected_as_set(cell.setup),
        )

    def reason_not_to_measure(self, cell: Cell) -> Unmeasured | None:
        """Why ``cell`` cannot be measured now; ``None`` if it can.

        This call may check the path between the hosts of ``cell`` again. So the caller must keep
        other trials off these hosts during the call. Raises ``HostGone`` if a host is lost.
        """
        pair = self._pairs.get(cell.pairing)
        if pair is None:
            return self._unpaired(cell)
        return (
            host_away(pair, self._hosts.absences)
            or beyond_server(cell, pair)
            or beyond_account(cell, pair, self._facts.values)
            or self._ways.obstacle(cell)
        )

    def refusals(self, cells: Iterable[Cell]) -> Counter[str]:
        """Why the login's account is not allowed to measure some cells, with the number of cells
        for each reason. The facts that ``note_facts`` noted last decide.
        """
        obstacles = (
            beyond_account(cell, pair, self._facts.values)
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
            return interrupted(trial, attempt, *names)
        away = host_away(pair, self._hosts.absences)
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
        absent = any(host.name in self._hosts.absences for host in pair)
        return absent or self._ways.is_cut(cell)

    def check_path_again(self, record: Record, cell: Cell) -> None:
        """Check whether packets still pass, after a trial that received nothing from its peer."""
        if record.status is Status.FAILED and record.reason in NO_WAY:
            with suppress(HostGone):
                self._ways.look_again(cell)

    def reason_left(self, cell: Cell) -> Unmeasured | None:
        """Why ``cell`` was never tried, as far as is known; nothing is checked again. ``None`` if
        there is no obstacle."""
        pair = self._pairs.get(cell.pairing)
        if pair is None:
            return self._unpaired(cell)
        return host_away(pair, self._hosts.absences) or self._ways.reason_left(cell)

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
        awaited = [
            self._hosts.next_ask_s([host.name for host in pair], patience_s)
            for pairing in pairings
            for pair in self._pairs_of(pairing)
        ]
        awaited += self._ways.next_asks_s(cells, patience_s)
        return min((seconds for seconds in awaited if seconds is not None), default=None)

    def why_away(self, cells: Iterable[Cell]) -> tuple[str, ...]:
        """A sentence for each host or path that prevents the measurement of these cells."""
        pairings = dict.fromkeys(cell.pairing for cell in cells)
        away = [absence.sentence for pairing in pairings for absence in self._away_of(pairing)]
        return tuple(dict.fromkeys([*away, *self._ways.why_cut(pairings)]))

    # Notes of the run folder

    def host_descriptions(self) -> dict[str, Any]:
        """Host name → its data now. A host that changed between sessions is measured anyway."""
        return host_descriptions(self._pairs.values(), self._hosts.agents)

    def returned(self) -> frozenset[str]:
        """Names of the hosts that came back since the last call."""
        return self._hosts.take_unnoted()

    def note_facts(self, folder: RunFolder, at: str, only: frozenset[str] | None = None) -> None:
        """Note the facts of each host (or only of those in ``only``) and the route to its peer."""
        peers = peers_of(self._pairs.values())
        agents = {
            name: agent
            for name, agent in list(self._hosts.agents.items())
            if name in peers and not agent.gone and (only is None or name in only)
        }
        self._facts.note(folder, agents, peers, at)

    def note_routes(self, folder: RunFolder) -> None:
        """Note the routes from the test addresses of each host that ``note_facts`` leaves out."""
        pairs = tuple(self._pairs.values())
        agents = {name: agent for name, agent in list(self._hosts.agents.items()) if not agent.gone}
        self._facts.note_routes(folder, agents, routes_of(pairs), peers_of(pairs))

    # Pairs

    @property
    def _unobserved(self) -> tuple[str, ...]:
        """A sentence for each observed host that is away; the run measures without it."""
        absences = self._hosts.absences
        away = [absences[name] for name in sorted(self._onlookers) if name in absences]
        return tuple(f"not observed: {absence.sentence}" for absence in away)

    @property
    def _observed(self) -> dict[str, Agent]:
        agents = self._hosts.agents
        return {name: agents[name] for name in self._inventory.observed if name in agents}

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
        """Choose the two hosts of each pairing that has no hosts yet."""
        present = {name for name in self._hosts.agents if name not in self._hosts.absences}
        for pairing in self._pairings:
            for server, client in self._inventory.candidates(pairing):
                serves = not server.has_agent or server.name in present
                if pairing not in self._pairs and serves and client.name in present:
                    self._pairs[pairing] = (server, client)
                    self._ways.doubt([pairing])

    def _pair_returned(self) -> None:
        """Pair hosts that came back. Their routes may have changed, so they are checked again."""
        names = self._hosts.take_unpaired()
        if not names:
            return
        self._pair_up()
        pairs = self._pairs.items()
        self._ways.doubt(key for key, pair in pairs if any(host.name in names for host in pair))

    def _pairs_of(self, pairing: str) -> list[tuple[Host, Host]]:
        """The chosen hosts of a pairing, or all candidates if none are chosen yet. Hosts whose
        machine runs another system now are left out.
        """
        own_pair = self._pairs.get(pairing)
        pairs = self._inventory.candidates(pairing) if own_pair is None else (own_pair,)
        return [pair for pair in pairs if not any(self._is_replaced(host.name) for host in pair)]

    def _away_of(self, pairing: str) -> list[Absence]:
        absences = self._hosts.absences
        pairs = self._inventory.candidates(pairing)
        names = {host.name for pair in pairs for host in pair}
        return [absences[name] for name in sorted(names) if name in absences]

    def _unpaired(self, cell: Cell) -> Unmeasured:
        away = self._away_of(cell.pairing)
        reason = away[0].reason if away else "no-host"
        return Unmeasured(Status.PENDING, reason, self._missing(cell.pairing))

    def _missing(self, pairing: str) -> str:
        sentences = dict.fromkeys(absence.sentence for absence in self._away_of(pairing))
        return "; ".join(sentences) or self._inventory.why_not(pairing)

    def _try_pairs(self) -> None:
        # In parallel: there may be thousands of pairs.
        together = groups_without_overlap(self._pairs, self.match_of)
        warnings, self._unchecked_at_first = self._ways.try_all(together)
        self.warnings += [warning for warning in warnings if warning not in self.warnings]
        losses = any(agent.gone for agent in self._hosts.agents.values())
        defects = losses or self._ways.has_defects
        if not defects and all(map(self._ways.is_unchecked, self._pairs)):
            raise HostError("no pairing can be measured: " + "; ".join(self._unchecked_at_first))

    def _try(self, pairing: str) -> Preflight:
        server, client = self._pairs[pairing]
        agents = self._hosts.agents
        if not server.has_agent:
            return preflight_service(agents[client.name], server)
        return preflight(agents[server.name], agents[client.name], (server, client))
