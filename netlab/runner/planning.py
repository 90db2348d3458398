"""The plan of a matrix (`netlab plan`): its cells, their duration, and what runs in parallel.

It also names the commands that the variants of the matrix would run on its hosts. With ``until``, a
matrix asks for further trials of a cell until its mean is precise.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netlab import units
from netlab.config.matrix_file import inventory_for, load_matrix
from netlab.errors import UsageError
from netlab.experiment import hosts
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import EndName, HostPair, Inventory, Match
from netlab.experiment.matrix import Matrix, expand
from netlab.experiment.schedule import Estimate, Round, Setups, Trial, estimate, rounds, same_setups
from netlab.experiment.variants import KNOWN, Variants, Words
from netlab.findings.catalogue import expect_words
from netlab.kinds import RoundTrip, Setup, Stream
from netlab.measurement.ends import address_of, is_common, lead_s
from netlab.results.labels import link_words
from netlab.runner.options import Possible, chosen_of, possible_of
from netlab.runner.progress import OVERHEAD_S
from netlab.terminal import table_lines
from netlab.trial.record import grouped

if TYPE_CHECKING:
    from netlab.runner.places import AskHosts

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
                    undoing = change.restore
                    if not undoing:
                        foreseen = KNOWN[change.known].foreseen(dict(change.wanted))
                        undoing = tuple((*change.prefix, *words) for words in foreseen)
                    made, checked = _shown(change.enter), _shown(change.check)
                    restore = tuple(map(_shown, undoing))
                    yield VariantCommands(f"{group}={name}", end, made, checked, restore)


def _shown(words: Words) -> str:
    """A command as text, without quotes around a placeholder, which stands for a plain word."""
    return re.sub(r"'(\{[a-z_]+\})'", r"\1", shlex.join(words))


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
        time_s = trials.time_s
        for setups, same in groups.items():
            # A common window (one measured time for all trials of a round) begins later.
            streams = [setup for setup in setups if isinstance(setup, Stream)]
            several = self.matrix.common_window and len(setups) > 1
            several = several or any(stream.direction == "both" for stream in streams)
            if several and is_common(setups):
                time_s += same * lead_s(streams)
        return replace(trials, time_s=time_s)

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
    """Plan a matrix; hosts are asked only if ``ask`` is given. MatrixError, UsageError. Without an
    inventory, two hosts of each system are assumed, and LL and WW share no host.
    """
    matrix = load_matrix(matrix_file, overrides, hosts_file, expect_words())
    cells = chosen_of(expand(matrix), only)
    source = hosts_file or (matrix_file if matrix.has_inventory else None)
    pairings = dict.fromkeys(cell.pairing for cell in cells)
    inventory = None if source is None else inventory_for(matrix, source)
    possible = None if inventory is None else possible_of(cells, inventory)
    pairs = {} if possible is None else possible.pairs
    refusals, notes = _refused(cells, possible, inventory, ask)
    matches = {pairing: hosts.match_of(pairing, pair) for pairing, pair in pairs.items()}
    ends = _ends(pairings, matches)

    cells_to_measure = tuple(cell for cell in cells if cell not in refusals) if refusals else cells

    def drawn(times: Callable[[Cell], int]) -> tuple[Round, ...]:
        counts = [(cell, times(cell)) for cell in cells_to_measure]
        # Block by block: a block has the trials with the same number.
        numbers = range(1, max((count for _, count in counts), default=0) + 1)
        return rounds(
            [Trial(cell, number) for number in numbers for cell, n in counts if number <= n],
            matrix,
            lambda cell: matches[cell.pairing].needs if matches else ends[cell.pairing],
            matches.__getitem__ if matches else None,
        )

    most = drawn(matrix.repeats_of)
    return Planned(
        matrix=matrix,
        cells=cells,
        refused=refusals,
        notes=notes,
        paired=frozenset(pairs or pairings),
        shortfall="" if possible is None else possible.sentence,
        rounds=most,
        fewest=most if matrix.until is None else drawn(matrix.fewest_of),
        ends=ends,
        inventory=None if source is None else str(source),
    )


def cannot(cell: Cell) -> str | None:
    """Why the engine that a cell names cannot measure the cell on any host; ``None`` if it can."""
    setup = cell.setup
    if not isinstance(setup, Stream | RoundTrip) or setup.engine is None:
        return None
    # Imported late, because most matrices name no tool.
    from netlab.measurement.tool import refusal
    from netlab.measurement.tools import TOOLS

    return refusal(TOOLS[setup.engine], setup)


def _refused(
    cells: tuple[Cell, ...],
    possible: Possible | None,
    inventory: Inventory | None,
    ask: AskHosts | None,
) -> tuple[dict[Cell, str], tuple[str, ...]]:
    """Cells beyond the inventory, its hosts or their engine, with a sentence; and notes."""
    refusals: dict[Cell, str] = {}
    notes: tuple[str, ...] = ()
    if possible is not None and inventory is not None:
        refusals = _beyond_inventory(possible.cells, possible.pairs)
        lacking = possible.lacking
        refusals |= {it: f"needs {lacking[it.pairing]}" for it in cells if it.pairing in lacking}
        if ask is not None:
            from netlab.runner.places import beyond_hosts  # a plan alone asks no hosts

            others = [cell for cell in cells if cell not in refusals]
            beyond, notes = beyond_hosts(others, inventory, ask(inventory.needed(possible.pairs)))
            refusals |= beyond
    for same in grouped(cells, lambda cell: cell.setup).values():
        if (sentence := cannot(same[0])) is not None:
            refusals = dict.fromkeys(same, sentence) | refusals
    in_order = [cell for cell in cells if cell in refusals] if refusals else ()
    return {cell: refusals[cell] for cell in in_order}, notes


def _beyond_inventory(cells: Collection[Cell], pairs: Mapping[str, HostPair]) -> dict[Cell, str]:
    """Cells that are impossible by the inventory, each with a sentence."""
    refusals: dict[Cell, str] = {}
    # A host has many peers, but few settings that decide about its address.
    known = {(host.name, host.only_network): host for pair in pairs.values() for host in pair}
    for same in grouped(cells, lambda cell: cell.setup).values():
        faults: dict[tuple[str, str | None], str] = {}
        for place, host in known.items():
            try:
                address_of(host, same[0])
            except UsageError as error:
                faults[place] = str(error)
        if not faults and all(host.has_agent for host in known.values()):
            continue
        for cell in same:
            server, client = pairs[cell.pairing]
            for host in (client, server):
                if (place := (host.name, host.only_network)) in faults:
                    refusals[cell] = faults[place]
            if not server.has_agent:
                from netlab.runner.trial_faults import beyond_server  # it loads what asks hosts

                if (beyond := beyond_server(cell, (server, client))) is not None:
                    refusals[cell] = beyond.detail
    return refusals


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
        **({} if matrix.sample is None else {"sample": asdict(matrix.sample)}),
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
        server, client = hosts.labels_of(pairing)
        if (match := matches.get(pairing)) is not None:
            ends[pairing] = match.server_machine, match.client_machine
        elif hosts.is_by_name(pairing):
            ends[pairing] = hosts.role_of(server).host, hosts.role_of(client).host
        else:
            ends[pairing] = (f"{server}1", f"{client}2" if client == server else f"{client}1")
    return ends


MAX_TOGETHER = 12
"""Maximum number of combinations of pairings that are listed; `--json` has all combinations."""


def plan_text(plan: Planned, *, with_cells: bool = False, width: int | None = None) -> str:
    """The plan as text: a table of pairings and protocols of at most ``width``, then the totals."""
    matrix, link, until, quiet = plan.matrix, plan.matrix.link, plan.matrix.until, plan.matrix.quiet
    lines = [matrix.title, f"{matrix.file}, content {matrix.content_hash[:8]}", ""]
    lines += _table(plan, width)
    if with_cells:
        lines.append("")
        for cell in plan.cells:
            settings = (f"{name}={value}" for name, value in cell.settings.items())
            lines.append(f"{cell.key}  {' '.join(settings)}")
    if matrix.scale != 1:
        scale = units.plain_figures(matrix.scale)
        lines += ["", f"Scaled: every `count` is multiplied by {scale} (at least 1)"]
    if link is not None:
        lines += ["", f"Link: {link_words(link)}"]
    lines.append("")
    if plan.shortfall:
        lines += [f"{plan.shortfall}; their cells stay pending (--strict refuses the run)", ""]
    lines += [*_refusals(plan), _sum(plan)]
    if until is not None:
        within, confidence = map(units.format_share, (until.within, until.confidence))
        lines.append(
            f"A cell is repeated until its mean is within ± {within} at {confidence} confidence: "
            f"{until.at_least} to {until.at_most} trials"
        )
    if quiet is not None:
        lines.append(
            f"If a hypervisor takes more than {units.format_share(quiet.steal)} of a host's CPU "
            f"time, the trial is repeated at the end, up to {quiet.tries} attempts in all"
        )
    if plan.rounds:
        lines += [_time(plan), *_simultaneity(plan)]
    for mirror in matrix.mirrors.values():
        if mirror.start:
            how = f"started on the server: {shlex.join(mirror.start)}"
        else:
            address = mirror.address or "the server's test address"
            how = f"runs already at {address}, port {mirror.port}"
        lines.append(f"Mirror {mirror.name}: {how}")
    for commands in commands_of(matrix.variants):
        lines.append(f"Variant {commands.variant}, on the {commands.end}: {commands.enter}")
        lines.append(f"  checked before each trial: {commands.check}")
        lines += [f"  put back: {words}" for words in commands.restore]
    lines += [f"Compared: {comparison.name}" for comparison in matrix.comparisons]
    return "\n".join(lines)


def _table(plan: Planned, width: int | None) -> list[str]:
    groups: dict[tuple[str, str, str], Counter[Setup]] = {}
    # More than ``MAX_TOGETHER`` pairings that name their hosts share one line.
    labels = {pairing: pairing for pairing in plan.ends}
    ends = {pairing: ", ".join(machines) for pairing, machines in plan.ends.items()}
    by_name = [pairing for pairing in plan.ends if hosts.is_by_name(pairing)]
    if len(by_name) > MAX_TOGETHER:
        shared = f"{len(by_name)} by name"
        labels |= dict.fromkeys(by_name, shared)
        roles = {role for pairing in by_name for role in hosts.labels_of(pairing)}
        ends[shared] = f"{len({hosts.role_of(role).host for role in roles})} hosts"
    for (label, test, setup), cells in Counter(
        (labels[cell.pairing], cell.test, cell.setup) for cell in plan.cells
    ).items():
        groups.setdefault((label, test, setup.protocol), Counter())[setup] += cells
    rows = [("pairing", "server, client", "test", "cells", "message sizes", "socket buffers")]
    for (pairing, test, protocol), setups in groups.items():
        sizes = dict.fromkeys(setup.settings().get("message_bytes") for setup in setups)
        sizes.pop(None, None)
        buffers = dict.fromkeys(setup.socket_buffer_bytes for setup in setups)
        size_words = _listed(list(map(str, sizes))) if sizes else "searched"
        words = ["auto" if size is None else units.format_bytes(size) for size in buffers]
        kind, count = f"{test} {protocol}", str(setups.total())
        rows.append((pairing, ends[pairing], kind, count, size_words, _listed(words)))
    return table_lines(rows, width)


def _listed(words: list[str]) -> str:
    """All words if there are at most 5, else the first two, the last one and their number."""
    if len(words) <= 5:
        return ", ".join(words)
    return f"{words[0]}, {words[1]}, … {words[-1]} ({len(words)})"


def _refusals(plan: Planned) -> list[str]:
    reasons: dict[str, list[Cell]] = {}
    for cell, sentence in plan.refused.items():
        if plan.shortfall and cell.pairing not in plan.paired:
            continue  # the line about the shortfall reports this cell
        reasons.setdefault(sentence, []).append(cell)
    lines = [
        f"Cannot be measured: {units.many(len(cells), 'cell')} of "
        f"{', '.join(dict.fromkeys(cell.pairing for cell in cells))}: {sentence}"
        for sentence, cells in reasons.items()
    ]
    lines += [f"Note: {note}" for note in plan.notes]
    return [*lines, ""] if lines else []


def _sum(plan: Planned) -> str:
    """The sample, if any, and numbers: ``416 cells x 1 trial = 416 trials in 416 rounds``."""
    matrix = plan.matrix
    sample = "" if matrix.sample is None else f"Sample: {matrix.sample}\n"
    cells = [cell for cell in plan.cells if cell not in plan.refused]
    differing = cells if matrix.own_repeats else cells[:1]
    numbers = dict.fromkeys((matrix.fewest_of(cell), matrix.repeats_of(cell)) for cell in differing)
    fewest, most = plan.trials_at_least, plan.trials
    per_cell = " or ".join(f"{low} to {high}" if low < high else str(high) for low, high in numbers)
    trials = f"{fewest} to {most} trials" if fewest < most else units.many(most, "trial")
    least, rounds_ = len(plan.fewest), units.many(len(plan.rounds), "round")
    rounds_ = rounds_ if least == len(plan.rounds) else f"{least} to {len(plan.rounds)} rounds"
    blocks = f", in shuffled order (seed {matrix.seed})" if matrix.order == "shuffled" else ""
    word = "trial" if per_cell == "1" else "trials"
    if not cells:
        return "No cell can be measured"
    number = units.many(len(cells), "cell")
    return f"{sample}{number} x {per_cell} {word} = {trials} in {rounds_}{blocks}"


def _time(plan: Planned) -> str:
    most, fewest = plan.time, plan.time_at_least
    sentences: list[str] = []
    limited = "limited by `count` and not by time: their time"
    if most.longest_s:
        least = "At least" if most.at_link_rate or most.searching else "About"
        text = f"{least} {units.format_seconds(fewest.time_s)}"
        if most.searching and most.time_s > fewest.time_s:
            text += f", at most {units.format_seconds(most.time_s)}"
        elif most.time_s > fewest.time_s:
            text += f", {units.format_seconds(most.time_s)} if every trial is needed"
        text += f"; the longest trial {units.format_seconds(most.longest_s)}"
        if plan.matrix.pause_s:
            text += f"; a pause of {units.format_seconds(plan.matrix.pause_s)} between two rounds"
        sentences.append(text)
    if most.at_link_rate:
        how = "is calculated from the link's rate, and hosts may take longer"
        sentences.append(f"{_are(most.at_link_rate)} {limited} {how}")
    if most.counted:
        sentences.append(f"{_are(most.counted)} {limited} cannot be predicted")
    if most.searching:
        verb = "searches" if most.searching == 1 else "search"
        sentences.append(
            f"{units.many(most.searching, 'trial')} {verb} the path: the maximum holds for a path "
            "with one fixed limit; a path with random loss takes longer"
        )
    if most.unbounded:
        sentences.append(
            f"The time of {units.many(most.unbounded, 'trial')} is not known: set the line rate "
            "with `link`"
        )
    return ". ".join(sentences)


def _are(trials: int) -> str:
    return f"{units.many(trials, 'trial')} {'is' if trials == 1 else 'are'}"


def _simultaneity(plan: Planned) -> list[str]:
    if not plan.matrix.parallel:
        return ["One trial at a time"]
    if not plan.together:
        return ["One trial at a time: any two pairings share a host"]
    words: list[str] = []
    for pairings in plan.together:
        others = len(pairings) - MAX_TOGETHER
        with_others = f" and {others} more" if others > 0 else ""
        words.append(" with ".join(pairings[:MAX_TOGETHER]) + with_others)
    note = "" if plan.inventory else " (if each system has two hosts; --hosts FILE names them)"
    more = f"; and {len(words) - MAX_TOGETHER} more" if len(words) > MAX_TOGETHER else ""
    lines = [f"At the same time: {'; '.join(words[:MAX_TOGETHER])}{more}{note}"]
    apart, time = plan.time_one_by_one, plan.time
    if apart.longest_s:  # else the time is not known
        most = max(len(round_.trials) for round_ in plan.rounds)
        lines.append(
            f"Up to {most} trials at once: {units.format_seconds(time.time_s)} instead of "
            f"{units.format_seconds(apart.time_s)} one by one"
        )
    return lines
