"""The plan of a matrix (`netlab plan`): its cells, their duration, and what runs in parallel.

It also names the commands that the variants of the matrix would run on its hosts. With ``until``, a
matrix asks for further trials of a cell until its mean is precise.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netlab.config.matrix_file import inventory_for, load_matrix
from netlab.errors import UsageError
from netlab.experiment.cells import Cell
from netlab.experiment.estimate import Estimate, Setups, estimate, same_setups
from netlab.experiment.hosts import (
    EndName,
    Host,
    HostPair,
    Inventory,
    Match,
    is_by_name,
    kept_busy,
    labels_of,
    match_of,
    role_of,
)
from netlab.experiment.matrix import Matrix, expand
from netlab.experiment.schedule import Round, Trial, rounds
from netlab.experiment.variants import KNOWN, Change, Variants, Words
from netlab.findings.kinds.catalogue import expect_words
from netlab.kinds import RoundTrip, Stream, TestSettings
from netlab.measurement.ends import address_of, is_common, lead_s
from netlab.runner.choice import Possible, chosen_of, possible_of
from netlab.runner.progress import OVERHEAD_S

if TYPE_CHECKING:
    from netlab.runner.ask_hosts import AskHosts

_ENDS: tuple[EndName, ...] = ("server", "client")


@dataclass(frozen=True, slots=True)
class VariantCommands:
    """The commands for one change on a host: to make the change, to check it and to undo it."""

    variant: str
    """The state of the host's settings that needs the change, such as ``offload=off``."""
    end: EndName
    enter: str
    check: str
    restore: tuple[str, ...]
    """The commands that undo the change. ``FOUND`` stands for a value that the host has before
    it."""


def commands_of(variants: Variants) -> Iterator[VariantCommands]:
    """Every command, as a POSIX shell would read it; placeholders are not filled."""
    for group, states in variants.items():
        for name, state in states.items():
            for end in _ENDS:
                for change in state.changes(end):
                    restore = tuple(map(_shown, _restoring(change)))
                    words = _shown(change.enter), _shown(change.check)
                    yield VariantCommands(f"{group}={name}", end, *words, restore)


def _restoring(change: Change) -> Iterator[Words]:
    if change.restore:
        yield from change.restore
        return
    for words in KNOWN[change.known].foreseen(dict(change.wanted)):
        yield (*change.prefix, *words)


def _shown(words: Words) -> str:
    """A command as text, without quotes around a placeholder, which stands for a plain word."""
    return re.sub(r"'(\{[a-z_]+\})'", r"\1", shlex.join(words))


def lines_of(variants: Variants) -> Iterator[str]:
    """The lines of a plan about its variants."""
    for commands in commands_of(variants):
        yield f"Variant {commands.variant}, on the {commands.end}: {commands.enter}"
        yield f"  checked before each trial: {commands.check}"
        for words in commands.restore:
            yield f"  put back: {words}"


MachinesByPairing = Mapping[str, tuple[str, str]]
"""Pairing → machines of server and client."""


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A matrix with its rounds, as it would run."""

    matrix: Matrix
    cells: tuple[Cell, ...]
    refused: Mapping[Cell, str]
    """Cells that their engine, the inventory or the hosts cannot measure, each with a sentence;
    they take no time."""
    notes: tuple[str, ...] = ()
    """Sentences about hosts that measure without a setting, and hosts that could not be asked."""
    rounds: tuple[Round, ...]
    """Rounds of all trials; with ``until``, of the maximum number of trials."""
    fewest: tuple[Round, ...]
    """Rounds of the minimum number of trials."""
    ends: MachinesByPairing
    paired: frozenset[str]
    """Pairings that the inventory has hosts for; without an inventory, all pairings."""
    shortfall: str = ""
    """The pairings with hosts, and the hosts that are missing; empty if no host is missing."""
    inventory: str | None
    """File of the hosts; ``None``: two hosts of each system are assumed."""

    @property
    def trials(self) -> int:
        """Maximum number of trials."""
        return sum(len(round_.trials) for round_ in self.rounds)

    @property
    def trials_at_least(self) -> int:
        """Minimum number of trials."""
        return sum(len(round_.trials) for round_ in self.fewest)

    @cached_property
    def time(self) -> Estimate:
        """Estimated time of the maximum number of trials."""
        return self._estimate(self._same_setups)

    @cached_property
    def time_at_least(self) -> Estimate:
        """Estimated time of the minimum number of trials, with the shortest searches."""
        same = self._same_setups if self.fewest is self.rounds else same_setups(self.fewest)
        return self._estimate(same, at_least=True)

    @cached_property
    def time_one_by_one(self) -> Estimate:
        """Estimated time of all trials if no two ran at the same time."""
        alone: Counter[Setups] = Counter()
        for setups, rounds_ in self._same_setups.items():
            for setup, trials in Counter(setups).items():
                alone[setup,] += trials * rounds_
        return self._estimate(alone)

    @cached_property
    def _same_setups(self) -> Mapping[Setups, int]:
        return same_setups(self.rounds)

    def _estimate(self, groups: Mapping[Setups, int], *, at_least: bool = False) -> Estimate:
        link, pause_s = self.matrix.link, self.matrix.pause_s
        trials = estimate(groups, link, overhead_s=OVERHEAD_S, pause_s=pause_s, at_least=at_least)
        common = self.matrix.common_window
        leads_s = (same * _lead_s(setups, common=common) for setups, same in groups.items())
        return replace(trials, time_s=trials.time_s + sum(leads_s))

    @property
    def together(self) -> list[tuple[str, ...]]:
        """The combinations of pairings that are measured at the same time, each once."""
        combinations: dict[tuple[str, ...], None] = {}
        for round_ in self.rounds:
            if len(round_.trials) > 1:
                combinations[tuple(sorted(trial.cell.pairing for trial in round_.trials))] = None
        return list(combinations)

    def as_json(self) -> str:
        """The plan with every cell, as one JSON document."""
        return json.dumps(plan_json(self), indent=2, allow_nan=False)


def plan_of(
    matrix_file: Path,
    hosts_file: Path | None,
    only: Iterable[str] = (),
    overrides: Mapping[str, str] | None = None,
    ask: AskHosts | None = None,
) -> Planned:
    """Plan a matrix. Hosts are asked for their capabilities only if ``ask`` is given.

    Raises MatrixError and UsageError as `netlab run` does. Without an inventory, two hosts of each
    system are assumed. Then the pairings LL (both hosts run Linux) and WW (both run Windows) share
    no host.
    """
    matrix = load_matrix(matrix_file, overrides, hosts_file, expect_words())
    cells = chosen_of(expand(matrix), only)
    source = hosts_file or (matrix_file if matrix.has_inventory else None)
    pairings = dict.fromkeys(cell.pairing for cell in cells)
    inventory = None if source is None else inventory_for(matrix, source)
    pairs: Mapping[str, HostPair] = {}
    feasible = _Feasible({}, "", ())
    if inventory is not None:
        possible = possible_of(cells, inventory)
        feasible = _feasible(cells, possible, inventory, ask)
        pairs = possible.pairs
    refusals = _beyond_engines(cells) | dict(feasible.refused)
    refusals = {cell: refusals[cell] for cell in cells if cell in refusals} if refusals else {}
    matches = {pairing: match_of(pairing, pair) for pairing, pair in pairs.items()}
    ends = _ends(pairings, matches)

    def busy(cell: Cell) -> frozenset[str]:
        return kept_busy(pairs[cell.pairing]) if pairs else frozenset(ends[cell.pairing])

    cells_to_measure = tuple(cell for cell in cells if cell not in refusals) if refusals else cells

    def drawn(times: Callable[[Cell], int]) -> tuple[Round, ...]:
        return rounds(
            _trials(cells_to_measure, times),
            order=matrix.order,
            seed=matrix.seed,
            hosts_of=busy,
            parallel=matrix.parallel,
            match_of=matches.__getitem__ if matches else None,
            common=matrix.common_window,
            switching=matrix.switching,
        )

    most = drawn(matrix.repeats_of)
    return Planned(
        matrix=matrix,
        cells=cells,
        refused=refusals,
        notes=feasible.notes,
        paired=frozenset(pairs or pairings),
        shortfall=feasible.shortfall,
        rounds=most,
        fewest=most if matrix.until is None else drawn(matrix.fewest_of),
        ends=ends,
        inventory=None if source is None else str(source),
    )


@dataclass(frozen=True, slots=True)
class _Feasible:
    """The part of a matrix that an inventory and its hosts can measure."""

    refused: Mapping[Cell, str]
    shortfall: str
    notes: tuple[str, ...]


def _feasible(
    cells: tuple[Cell, ...],
    possible: Possible,
    inventory: Inventory,
    ask: AskHosts | None,
) -> _Feasible:
    lacking = possible.lacking
    refusals = _refused(possible.cells, possible.pairs)
    refusals |= {
        cell: f"needs {lacking[cell.pairing]}" for cell in cells if cell.pairing in lacking
    }
    if ask is None:
        return _Feasible(refusals, possible.sentence, ())

    from netlab.runner.ask_hosts import beyond_hosts  # a plan alone needs no code that asks hosts

    answers = ask(inventory.needed(possible.pairs))
    other_cells = [cell for cell in cells if cell not in refusals]
    beyond, notes = beyond_hosts(other_cells, inventory, answers)
    return _Feasible(refusals | beyond, possible.sentence, notes)


def cannot(cell: Cell) -> str | None:
    """Why the engine that a cell names cannot measure the cell on any host; ``None`` if it can."""
    setup = cell.setup
    if not isinstance(setup, Stream | RoundTrip) or setup.engine is None:
        return None
    # Imported late, because most matrices name no tool.
    from netlab.measurement.tool import refusal
    from netlab.measurement.tools import TOOLS

    refused = refusal(TOOLS[setup.engine], setup)
    return None if refused is None else str(refused)


def _beyond_engines(cells: Collection[Cell]) -> dict[Cell, str]:
    """Cells that the engine they name cannot measure on any host, each with a sentence."""
    refusals: dict[Cell, str] = {}
    for same in _by_setup(cells):
        sentence = cannot(same[0])
        if sentence is not None:
            refusals |= dict.fromkeys(same, sentence)
    return refusals


def _by_setup(cells: Iterable[Cell]) -> Iterable[list[Cell]]:
    """The cells, grouped by kind of test and settings."""
    groups: dict[TestSettings, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.setup, []).append(cell)
    return groups.values()


def _lead_s(setups: Sequence[TestSettings], *, common: bool) -> float:
    """Time in seconds that a common window (one measured time for all trials of a round) adds to a
    round with these settings; 0 if the round has no common window.
    """
    streams = [setup for setup in setups if isinstance(setup, Stream)]
    several = (common and len(setups) > 1) or any(s.direction == "both" for s in streams)
    return lead_s(streams) if several and is_common(setups) else 0.0


def _refused(cells: Collection[Cell], pairs: Mapping[str, HostPair]) -> dict[Cell, str]:
    """Cells that are impossible by the inventory: a host has no agent, or no address for the cell.

    Each is returned with a sentence.
    """
    refusals: dict[Cell, str] = {}
    # A host has many peers, but few settings that decide about its address.
    hosts = {(host.name, host.only_network): host for pair in pairs.values() for host in pair}
    for same in _by_setup(cells):
        faults = {place: _address_fault(host, same[0]) for place, host in hosts.items()}
        if not any(faults.values()) and all(host.has_agent for host in hosts.values()):
            continue
        for cell in same:
            server, client = pairs[cell.pairing]
            for host in (client, server):
                if (fault := faults[host.name, host.only_network]) is not None:
                    refusals[cell] = fault
            if not server.has_agent and (detail := _beyond_server(cell, (server, client))):
                refusals[cell] = detail
    return refusals


def _beyond_server(cell: Cell, pair: HostPair) -> str | None:
    """Why a server without an agent cannot serve a cell; ``None`` if it can."""
    from netlab.runner.trial_faults import beyond_server

    beyond = beyond_server(cell, pair)
    return None if beyond is None else beyond.detail


def _address_fault(host: Host, cell: Cell) -> str | None:
    """Why a host has no address for a cell; ``None`` if it has one."""
    try:
        address_of(host, cell)
    except UsageError as error:
        return str(error)
    return None


def _trials(cells: Collection[Cell], times: Callable[[Cell], int]) -> list[Trial]:
    """Every trial, block by block: a block has the trials with the same number."""
    counts = [times(cell) for cell in cells]
    blocks = range(1, max(counts, default=0) + 1)
    return [
        Trial(cell, number)
        for number in blocks
        for cell, count in zip(cells, counts, strict=True)
        if number <= count
    ]


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
        "variants": [asdict(commands) for commands in commands_of(matrix.variants)],
        "compare": [comparison.name for comparison in matrix.comparisons],
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


def _ends(pairings: Collection[str], matches: Mapping[str, Match]) -> dict[str, tuple[str, str]]:
    """Pairing → the machines that it uses; without known hosts, two machines of each system."""
    ends = {}
    for pairing in pairings:
        if (match := matches.get(pairing)) is not None:
            ends[pairing] = match.server_machine, match.client_machine
            continue
        server, client = labels_of(pairing)
        if is_by_name(pairing):
            ends[pairing] = role_of(server).host, role_of(client).host
        else:
            ends[pairing] = (f"{server}1", f"{client}2" if client == server else f"{client}1")
    return ends
