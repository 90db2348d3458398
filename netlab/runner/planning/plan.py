"""What `netlab plan` says: the cells of a matrix, their time, and what runs at the same time."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from netlab.config.inventory_of import inventory_for
from netlab.config.matrix_file import load_matrix
from netlab.errors import UsageError
from netlab.experiment.cells import Cell
from netlab.experiment.estimate import Estimate, estimate
from netlab.experiment.hosts import HostPair, Inventory, kept_busy
from netlab.experiment.kinds import Stream
from netlab.experiment.matrix import Matrix, expand
from netlab.experiment.pairings import is_by_name, labels_of, role_of
from netlab.experiment.schedule import Round, Trial, rounds
from netlab.findings.finding import Kind
from netlab.measurement.common_window import is_common, lead_s
from netlab.measurement.ends import address_of
from netlab.runner.planning.ask_hosts import AskHosts, beyond_hosts
from netlab.runner.planning.choice import chosen_of
from netlab.runner.planning.possible import Possible, possible_of
from netlab.runner.progress import OVERHEAD_S
from netlab.runner.skip_reasons import beyond_server

MachinesByPairing = Mapping[str, tuple[str, str]]
"""Machines of server and client by pairing."""


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A matrix with its rounds, as it would run."""

    matrix: Matrix
    cells: tuple[Cell, ...]
    refused: Mapping[Cell, str]
    """Cells that the inventory or the hosts show cannot be measured, with a sentence; they take no
    time."""
    notes: tuple[str, ...] = ()
    """What the hosts said of the cells that they can measure, and who could not be asked."""
    rounds: tuple[Round, ...]
    """Of every trial; where they go on until they are tight, of as many as there may be."""
    fewest: tuple[Round, ...]
    """The same of as few as there may be."""
    ends: MachinesByPairing
    paired: frozenset[str]
    """Pairings that the inventory has hosts for; all of them where there is none."""
    shortfall: str = ""
    """What the inventory can do and what it lacks; empty where it lacks nothing."""
    inventory: str | None
    """File that the hosts come from; ``None`` where two of each system are assumed."""

    @property
    def trials(self) -> int:
        """How many, at most."""
        return sum(len(round_.trials) for round_ in self.rounds)

    @property
    def trials_at_least(self) -> int:
        """How many, at least."""
        return sum(len(round_.trials) for round_ in self.fewest)

    @cached_property
    def time(self) -> Estimate:
        """Of all trials."""
        return self._estimate(self.rounds)

    @cached_property
    def time_at_least(self) -> Estimate:
        """Of as few trials as there may be, and searches as short as they may be."""
        return self._estimate(self.fewest, at_least=True)

    def _estimate(self, planned: tuple[Round, ...], *, at_least: bool = False) -> Estimate:
        link, pause_s = self.matrix.link, self.matrix.pause_s
        found = estimate(planned, link, overhead_s=OVERHEAD_S, pause_s=pause_s, at_least=at_least)
        leads_s = (_lead_s(round_, common=self.matrix.common_window) for round_ in planned)
        return replace(found, time_s=found.time_s + sum(leads_s))

    @cached_property
    def time_one_by_one(self) -> Estimate:
        """Of all trials, if no two of them ran at the same time."""
        apart = tuple(Round((trial,)) for round_ in self.rounds for trial in round_.trials)
        return self._estimate(apart)

    @property
    def together(self) -> list[tuple[str, ...]]:
        """Pairings that share a round, each combination once."""
        combinations: dict[tuple[str, ...], None] = {}
        for round_ in self.rounds:
            if len(round_.trials) > 1:
                combinations[tuple(sorted(trial.cell.pairing for trial in round_.trials))] = None
        return list(combinations)

    def as_json(self) -> str:
        """The same and every cell, as one JSON document."""
        return json.dumps(plan_json(self), indent=2, allow_nan=False)


def plan_of(
    matrix_file: Path,
    hosts_file: Path | None,
    only: Iterable[str] = (),
    overrides: Mapping[str, str] | None = None,
    ask: AskHosts | None = None,
) -> Planned:
    """Plan a matrix, asking no host but by ``ask``, which tells what each can do.

    Raises MatrixError and UsageError as `netlab run` would. Without an inventory each system is
    taken to have two hosts: then LL and WW share none.
    """
    matrix = load_matrix(matrix_file, overrides, hosts_file, [*Kind])
    chosen = chosen_of(expand(matrix), only)
    source = hosts_file or (matrix_file if matrix.has_inventory else None)
    pairings = dict.fromkeys(cell.pairing for cell in chosen)
    inventory = None if source is None else inventory_for(matrix, source)
    pairs: dict[str, HostPair] = {}
    found = _Feasible({}, "", ())
    if inventory is not None:
        possible = possible_of(chosen, inventory)
        pairs = {each: inventory.pair(each) for each in pairings if each not in possible.lacking}
        found = _feasible(chosen, possible, inventory, pairs, ask)
    refused = found.refused
    ends = _ends(pairings, pairs)
    busy = {each: kept_busy(pair) for each, pair in pairs.items()}
    busy = busy or {each: frozenset(machines) for each, machines in ends.items()}
    measured = tuple(cell for cell in chosen if cell not in refused)
    meeting_of = None if inventory is None else inventory.match

    def drawn(times: Callable[[Cell], int]) -> tuple[Round, ...]:
        return rounds(
            _trials(measured, times),
            order=matrix.order,
            seed=matrix.seed,
            hosts_of=lambda cell: busy[cell.pairing],
            parallel=matrix.parallel,
            meeting_of=meeting_of,
            common=matrix.common_window,
        )

    most = drawn(matrix.repeats_of)
    return Planned(
        matrix=matrix,
        cells=chosen,
        refused=refused,
        notes=found.notes,
        paired=frozenset(pairs or pairings),
        shortfall=found.shortfall,
        rounds=most,
        fewest=most if matrix.until is None else drawn(matrix.fewest_of),
        ends=ends,
        inventory=None if source is None else str(source),
    )


@dataclass(frozen=True, slots=True)
class _Feasible:
    """What an inventory and its hosts can do of a matrix."""

    refused: Mapping[Cell, str]
    shortfall: str
    notes: tuple[str, ...]


def _feasible(
    cells: tuple[Cell, ...],
    possible: Possible,
    inventory: Inventory,
    pairs: Mapping[str, HostPair],
    ask: AskHosts | None,
) -> _Feasible:
    lacking = possible.lacking
    refused = _refused(possible.cells, pairs)
    refused |= {cell: f"needs {lacking[cell.pairing]}" for cell in cells if cell.pairing in lacking}
    if ask is None:
        return _Feasible(refused, possible.sentence, ())
    told = ask(inventory.needed(pairs))
    left = [cell for cell in cells if cell not in refused]
    beyond, notes = beyond_hosts(left, inventory, told)
    return _Feasible(refused | beyond, possible.sentence, notes)


def _lead_s(round_: Round, *, common: bool) -> float:
    """What the common window of a round costs, where it has one."""
    streams = [s for trial in round_.trials if isinstance(s := trial.cell.setup, Stream)]
    several = (common and len(round_.trials) > 1) or any(s.direction == "both" for s in streams)
    together = several and is_common([trial.cell.setup for trial in round_.trials])
    return lead_s(streams) if together else 0.0


def _refused(cells: Collection[Cell], pairs: Mapping[str, HostPair]) -> dict[Cell, str]:
    """What needs no asking: a host without an agent, and one without an address for the cell."""
    refused = {}
    for cell in cells:
        pair = pairs[cell.pairing]
        beyond = beyond_server(cell, pair)
        try:
            _ = address_of(pair[0], cell), address_of(pair[1], cell)
        except UsageError as error:
            refused[cell] = str(error)
        if beyond is not None:
            refused[cell] = beyond.detail
    return refused


def _trials(cells: Collection[Cell], times: Callable[[Cell], int]) -> list[Trial]:
    """Every trial, block by block."""
    last = max(map(times, cells), default=0)
    return [Trial(c, number) for number in range(1, last + 1) for c in cells if number <= times(c)]


def plan_json(plan: Planned) -> dict[str, Any]:
    """The plan as plain data: ``cells`` and ``rounds`` are numbers, ``cell_list`` has each cell."""
    matrix = plan.matrix
    counts = Counter(cell.pairing for cell in plan.cells)
    link = matrix.content["link"]
    return {
        "title": matrix.title,
        "file": matrix.file,
        "content_hash": matrix.content_hash,
        **({} if link is None else {"link": link}),
        "cells": len(plan.cells),
        "cells_refused": len(plan.refused),
        **({"shortfall": plan.shortfall} if plan.shortfall else {}),
        "notes": list(plan.notes),
        "repeats": matrix.repeats,
        **({} if matrix.until is None else {"until": asdict(matrix.until)}),
        "trials": plan.trials,
        "trials_at_least": plan.trials_at_least,
        "rounds": len(plan.rounds),
        "seconds": round(plan.time.time_s, 3),
        "seconds_at_least": round(plan.time_at_least.time_s, 3),
        "seconds_one_by_one": round(plan.time_one_by_one.time_s, 3),
        "trials_at_link_rate": plan.time.at_link_rate,
        "trials_of_unknown_length": plan.time.counted + plan.time.unbounded,
        "trials_that_search": plan.time.searching,
        **({} if matrix.quiet is None else {"quiet": asdict(matrix.quiet)}),
        "pause_s": matrix.pause_s,
        "scale": matrix.scale,
        "order": matrix.order,
        "seed": matrix.seed,
        "parallel": matrix.parallel,
        "hosts_assumed": plan.inventory is None,
        "pairings": [
            {"pairing": p, "server": server, "client": client, "cells": counts[p]}
            for p, (server, client) in plan.ends.items()
        ],
        "at_the_same_time": [list(together) for together in plan.together],
        "compare": [each.name for each in matrix.comparisons],
        "cell_list": [
            {
                "key": c.key,
                "pairing": c.pairing,
                "test": c.test,
                "trials": matrix.repeats_of(c),
                "settings": dict(c.settings),
                **({"refused": plan.refused[c]} if c in plan.refused else {}),
            }
            for c in plan.cells
        ],
    }


def _ends(pairings: Collection[str], pairs: Mapping[str, HostPair]) -> dict[str, tuple[str, str]]:
    """The machines that each pairing keeps busy; where no hosts are known, two of each system."""
    ends = {}
    for pairing in pairings:
        server, client = labels_of(pairing)
        if pairing in pairs:
            first, second = pairs[pairing]
            ends[pairing] = first.machine_name, second.machine_name
        elif is_by_name(pairing):
            ends[pairing] = role_of(server).host, role_of(client).host
        else:
            ends[pairing] = (f"{server}1", f"{client}2" if client == server else f"{client}1")
    return ends
